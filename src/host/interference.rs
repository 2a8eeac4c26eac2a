//! Interference with a trial: other processes, CPU quotas, heat, and the time that processes waited. The machine's counters are
//! read before and after the trial.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use procfs::process::{Stat, StatFlags};
use procfs::{CurrentSI, KernelStats};

use crate::schema::record::Interference;

const CPUS: &str = "/sys/devices/system/cpu";

/// The machine's counters at one point in time.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    cpus: u64,
    others_ns: Option<u64>,
    /// Time that processes waited for CPU, disk and memory.
    pressure_ns: [Option<u64>; 3],
    quota_ns: Option<u64>,
    heat: Option<u64>,
    khz: Option<[u64; 2]>,
}

impl Reading {
    pub fn now() -> Self {
        let stats = KernelStats::current().ok();
        Reading {
            cpus: stats.map_or(1, |stats| stats.cpu_time.len() as u64),
            others_ns: others_ns(),
            pressure_ns: ["cpu", "io", "memory"].map(pressure_ns),
            quota_ns: quota_ns(),
            heat: heat(),
            khz: khz(),
        }
    }

    /// The difference to an earlier reading.
    pub fn since(&self, earlier: &Reading) -> Interference {
        let difference = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        let pressure = |at: usize| difference(self.pressure_ns[at], earlier.pressure_ns[at]);
        let khz = self.khz.zip(earlier.khz).map(|(a, b)| [a[0].min(b[0]), a[1].max(b[1])]);
        Interference {
            cpus: self.cpus,
            others_ns: difference(self.others_ns, earlier.others_ns),
            pressure_cpu_ns: pressure(0),
            pressure_io_ns: pressure(1),
            pressure_memory_ns: pressure(2),
            quota_ns: difference(self.quota_ns, earlier.quota_ns),
            heat: difference(self.heat, earlier.heat),
            khz,
        }
    }
}

/// A process, and the CPU time that it and its ended children took, so that short-lived children are counted with their parent.
struct One {
    parent: i32,
    is_kernels: bool,
    ticks: u64,
}

impl One {
    fn of(stat: &Stat) -> Self {
        let ended = stat.cutime.max(0).cast_unsigned() + stat.cstime.max(0).cast_unsigned();
        let is_kernels = StatFlags::from_bits_retain(stat.flags).contains(StatFlags::PF_KTHREAD);
        One { parent: stat.ppid, is_kernels, ticks: stat.utime + stat.stime + ended }
    }
}

/// CPU time of all processes except fsderby's own and kernel threads.
fn others_ns() -> Option<u64> {
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
    let all = procfs::process::all_processes().ok()?.filter_map(|process| process.ok()?.stat().ok());
    let all = all.map(|stat| (stat.pid, One::of(&stat))).collect();
    Some(of_others(&all, std::process::id().cast_signed()) * tick_ns)
}

fn of_others(all: &HashMap<i32, One>, own: i32) -> u64 {
    let parent = |pid: i32| all.get(&pid).map(|one| one.parent);
    let others = all.iter().filter(|(pid, one)| !one.is_kernels && !is_below(**pid, own, parent));
    others.map(|(_, one)| one.ticks).sum()
}

/// Whether `pid` is the process `own` or a descendant of it.
fn is_below(pid: i32, own: i32, parent: impl Fn(i32) -> Option<i32>) -> bool {
    // A process may end and its number be reused during the reading, so there may be cycles.
    const DEEPEST: usize = 1000;
    let line = std::iter::successors(Some(pid), |pid| parent(*pid).filter(|parent| *parent > 0));
    line.take(DEEPEST).any(|ancestor| ancestor == own)
}

/// Time that some process waited for this resource (`Documentation/accounting/psi.rst`).
fn pressure_ns(what: &str) -> Option<u64> {
    total_ns(&fs::read_to_string(format!("/proc/pressure/{what}")).ok()?)
}

fn total_ns(text: &str) -> Option<u64> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    let micros: u64 = some.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()?;
    Some(micros * 1000)
}

/// Time that CPU quotas of our cgroup and its parents kept processes from running.
fn quota_ns() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let texts = groups
        .lines()
        .flat_map(group_folders)
        .filter_map(|folder| fs::read_to_string(folder.join("cpu.stat")).ok());
    texts.filter_map(|text| throttled_ns(&text)).reduce(u64::saturating_add)
}

/// The folders of a line of /proc/self/cgroup and of its parents, if the line is about CPU time.
fn group_folders(line: &str) -> Vec<PathBuf> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let roots: Vec<PathBuf> = match controllers {
        "" => vec!["/sys/fs/cgroup".into(), "/sys/fs/cgroup/unified".into()],
        some if some.split(',').any(|name| name == "cpu") => {
            vec![Path::new("/sys/fs/cgroup").join(some), "/sys/fs/cgroup/cpu".into()]
        }
        _ => Vec::new(),
    };
    // Two names of the controller may lead to the same folder.
    let root = roots.into_iter().find(|root| root.join("cpu.stat").exists());
    let inside = path.trim_start_matches('/');
    root.iter().flat_map(|root| Path::new(inside).ancestors().map(|folder| root.join(folder))).collect()
}

/// The throttled time in a `cpu.stat` file: cgroup version 2 states microseconds, version 1 nanoseconds.
fn throttled_ns(text: &str) -> Option<u64> {
    let value =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    value("throttled_usec ").map(|micros| micros * 1000).or_else(|| value("throttled_time "))
}

fn heat() -> Option<u64> {
    let counts = ["core_throttle_count", "package_throttle_count"];
    let read = |cpu: &PathBuf| {
        counts
            .iter()
            .filter_map(|count| number(&cpu.join("thermal_throttle").join(count)))
            .reduce(|a, b| a + b)
    };
    cpus().iter().filter_map(read).reduce(u64::saturating_add)
}

fn khz() -> Option<[u64; 2]> {
    let all: Vec<u64> =
        cpus().iter().filter_map(|cpu| number(&cpu.join("cpufreq/scaling_cur_freq"))).collect();
    Some([*all.iter().min()?, *all.iter().max()?])
}

fn cpus() -> Vec<PathBuf> {
    let entries = fs::read_dir(CPUS).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let is_cpu = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()?.strip_prefix("cpu"));
        name.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    entries.filter(is_cpu).collect()
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_as_the_kernel_writes_them() {
        let psi = "some avg10=1.31 avg60=11.87 avg300=6.63 total=567771868\nfull avg10=0.30 avg60=7.09 avg300=4.13 total=245939842\n";
        assert_eq!(total_ns(psi), Some(567_771_868_000));
        assert_eq!(throttled_ns("nr_periods 0\nnr_throttled 0\nthrottled_time 7\n"), Some(7));
        assert_eq!(throttled_ns("usage_usec 5\nnr_throttled 2\nthrottled_usec 7\n"), Some(7000));
        assert_eq!(throttled_ns("usage_usec 5\n"), None, "no quota can be set in the root group");
    }

    #[test]
    fn neither_what_is_ours_nor_what_is_the_kernels_is_done_by_others() {
        let one = |parent, is_kernels, ticks| One { parent, is_kernels, ticks };
        let all = [
            (1, one(0, false, 1)),
            (2, one(0, true, 10)),
            (3, one(2, true, 100)),
            // This process, its children and their children.
            (7, one(1, false, 1000)),
            (8, one(7, false, 10_000)),
            (9, one(8, false, 100_000)),
            (20, one(1, false, 1_000_000)),
            // Process numbers that were reused while /proc was read.
            (30, one(31, false, 10_000_000)),
            (31, one(30, false, 10_000_000)),
        ];
        assert_eq!(of_others(&all.into(), 7), 1 + 1_000_000 + 20_000_000);
    }

    #[test]
    fn this_machine_says_of_its_processes() {
        let reading = Reading::now();
        assert!(reading.cpus > 0 && reading.others_ns.is_some(), "{reading:?}");
    }
}
