//! How many trials in virtual time this machine can run in parallel. A guest's memory and its disks' content are in this
//! machine's memory.

use procfs::Current;

use crate::runner::plan::resolved::Resolved;
use crate::runner::plan::written::Amounts;
use crate::schema::plan::Trial;
use crate::schema::units::{Bytes, GIB, MIB};
use crate::testbeds::Testbeds;

/// Memory that a guest needs in addition to the memory of the workload: for kernel, programs, and QEMU.
const BESIDE: u64 = 256 * MIB;
/// Copies of each written byte that a guest's memory may hold: in a journal, in the file's blocks, and on the source disk.
const HELD: u64 = 3;

/// The number of parallel trials that this machine's CPUs and memory allow.
pub fn here(plan: &Resolved<'_>, testbeds: &Testbeds<'_>) -> usize {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let available = procfs::Meminfo::current().ok().and_then(|memory| memory.mem_available);
    available.map_or(cpus, |bytes| cpus.min(fit(plan, testbeds, Bytes(bytes))))
}

/// The number of trials (at least one) that fit into three quarters of the available memory, as far as known beforehand.
fn fit(plan: &Resolved<'_>, testbeds: &Testbeds<'_>, available: Bytes) -> usize {
    let fit = (available.0 / 4 * 3) / memory(plan, testbeds).0;
    usize::try_from(fit).unwrap_or(usize::MAX).max(1)
}

/// The most memory that a trial needs, as far as known beforehand.
pub fn memory(plan: &Resolved<'_>, testbeds: &Testbeds<'_>) -> Bytes {
    let mut amounts = Amounts::default();
    let most = plan.integrity_checks().map(|trial| taken(plan, &trial, testbeds, &mut amounts)).max();
    Bytes(most.unwrap_or(BESIDE))
}

/// The most memory that a trial of this cell needs.
fn taken(plan: &Resolved<'_>, trial: &Trial<'_>, testbeds: &Testbeds<'_>, amounts: &mut Amounts) -> u64 {
    let testbed = testbeds.of(plan, trial.candidate);
    let (setup, state) = (plan.setup(trial.candidate), &plan.of_candidate(trial.candidate).state);
    let written = amounts.of(plan, trial).bytes_written;
    // The amount of work that fills a volume is known only afterwards.
    let is_known = written > 0 && !state.has_content();
    let held = if is_known { written.saturating_mul(HELD).min(setup.size.0) } else { setup.size.0 };
    let memory = setup.memory.map_or(GIB, |memory| memory.0);
    // The disk's content at the power cut is kept beside its later content.
    let images = if plan.cuts_power() { 2 } else { 1 };
    let disks = held.saturating_mul(testbed.disks() as u64).saturating_mul(images);
    disks.saturating_add(memory).saturating_add(BESIDE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::experiment::Experiment;
    use crate::testbeds::Made;

    /// With 64 GiB available.
    fn fit(keys: &str) -> usize {
        let text = format!("on = 'model:ssd-sata'\nfilesystems = ['ext4']\n{keys}");
        let experiment = Experiment::parse(&text, "test").unwrap();
        let plan = experiment.plan(experiment.on.clone().unwrap(), 7).unwrap();
        let made = Made::of(&plan).unwrap();
        super::fit(&Resolved::of(&plan).unwrap(), &made.testbeds(), Bytes(64 * GIB))
    }

    #[test]
    fn memory_and_what_is_written_decide_and_not_the_size_of_the_volume() {
        let quick = fit("workloads = ['postmark-quick']\nmemory = '24m'\nsize = '1g'");
        assert!((40..150).contains(&quick), "{quick}");
        assert_eq!(fit("workloads = ['postmark-quick']\nmemory = '24m'\nsize = '1000g'"), quick);
        let with_memory = fit("workloads = ['postmark-quick']\nmemory = '8g'\nsize = '1g'");
        assert!((4..6).contains(&with_memory), "{with_memory}");
    }

    #[test]
    fn what_is_filled_is_held_whole_what_is_allocated_is_not_and_one_trial_is_always_tried() {
        let allocated =
            "workloads = ['postmark-quick']\nmemory = '24m'\nsize = '1000g'\nstate = 'allocated 80%'";
        assert!(fit(allocated) >= 40, "what is allocated is held nowhere");
        assert!(
            fit("workloads = ['postmark-quick']\nmemory = '24m'\nsize = '20g'\nstate = 'filled 80%'") <= 2
        );
        assert_eq!(fit("workloads = ['postmark-quick']\nmemory = '100g'\nsize = '1g'"), 1);
    }

    #[test]
    fn a_power_cut_keeps_what_is_written_twice() {
        let filled = "workloads = ['postmark-quick']\nmemory = '24m'\nsize = '4g'\nstate = 'filled 80%'\n";
        let cut = format!("{filled}power_cut = '50%'");
        let (once, twice) = (fit(filled), fit(&cut));
        assert!(twice <= once / 2 + 1, "{once} without, {twice} with a cut");
    }
}
