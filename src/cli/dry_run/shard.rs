//! The dry run of a shard, and of one that is resumed: its own trials, and nothing of the others.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::said::{LACKS_ONE, Shown, VERBOSE, about, besides, guessed, lines_of, notes, reasons, verbose};
use crate::cli::output::{print_json, print_line};
use crate::cli::pages::{DryRun, DryShare, VERSION};
use crate::report::view::number::count;
use crate::runner::plan::resolved::Resolved;
use crate::runner::plan::written::{Amounts, Expected};
use crate::runner::plan::{jobs, sharded};
use crate::runner::preflight::pace::{Pace, Time, is_skipped};
use crate::runner::preflight::skips::Skip;
use crate::schema::job::Purpose;
use crate::schema::plan::Trial;
use crate::schema::reason::Outcome;
use crate::schema::shard::Shard;
use crate::schema::units::Bytes;
use crate::storage;
use crate::store::Run;
use crate::testbeds::Testbeds;

/// A dry run of a shard: its own trials, and nothing of the others.
pub struct OfShard<'a, 'p> {
    pub plan: &'a Resolved<'p>,
    pub testbeds: &'a Testbeds<'a>,
    pub skips: &'a [Skip],
    pub at_once: usize,
}

impl OfShard<'_, '_> {
    pub fn print(&self, shard: &Shard, Shown { as_json, is_verbose }: Shown) -> anyhow::Result<()> {
        let OfShard { plan, testbeds, skips, .. } = self;
        let trials: Vec<Trial<'_>> =
            sharded::share(plan).into_iter().filter(|trial| !is_skipped(trial, skips)).collect();
        let of = |purpose: Purpose| trials.iter().filter(|trial| trial.purpose == purpose).count();
        let (checks, measured) = (of(Purpose::Integrity), of(Purpose::Measure));
        let mut jobs = Vec::new();
        let (mut amounts, mut written, mut filled, mut resets) = (Amounts::default(), 0_u64, 0_u64, 0_u64);
        let mut paces: Vec<&Pace> = Vec::new();
        let mut time = Duration::ZERO;
        // A trial's amounts depend on its seed, and take time to find: those of a cell's first trial stand for all.
        let mut known: HashMap<(&str, &str, bool), (Expected, u64)> = HashMap::new();
        for trial in &trials {
            let testbed = testbeds.of(plan, trial.candidate);
            let job = || jobs::job(plan, trial, 1, testbed, "dry-run");
            let kind = (&*trial.candidate.label, &*trial.scenario.label, trial.purpose == Purpose::Integrity);
            let (work, reset) = *known.entry(kind).or_insert_with(|| {
                let job = job();
                let reset = storage::find(&job.storage).map_or(0, |storage| storage.reset_writes(&job));
                (amounts.of(plan, trial), reset)
            });
            let pace = Pace::of(testbed.traits().fidelity);
            written = written.saturating_add(work.bytes_written);
            filled = filled.saturating_add(work.filled);
            resets = resets.saturating_add(reset);
            time = time.saturating_add(pace.time(trial.purpose, &work));
            if !paces.contains(&pace) {
                paces.push(pace);
            }
            if as_json {
                jobs.push(job());
            } else if is_verbose {
                print_line(&verbose(plan, trial, testbeds, &job()))?;
            }
        }
        let seconds = (time / u32::try_from(self.at_once).unwrap_or(u32::MAX).max(1)).as_secs();
        let extra_trials = trials.len() - checks - measured;
        let notes = notes(plan, Time::default());
        if as_json {
            let share = DryShare {
                trials: trials.len(),
                integrity_checks: checks,
                extra_trials,
                bytes_written: written,
                seconds: Some(seconds),
            };
            return print_json(&DryRun {
                schema_version: VERSION,
                plan: plan.plan,
                jobs: Some(jobs),
                skipped: reasons(skips),
                foresight: None,
                notes: Some(notes),
                share: Some(share),
            });
        }
        let mut lines = about(plan, testbeds, skips);
        let whose = if plan.share.is_of_named() { " of the trials that results called for" } else { "" };
        lines.push(format!(
            "Shard {shard}{whose}: {} in all: {}, {} of the rounds, and {}.",
            count(trials.len(), "trial"),
            count(checks, "integrity check"),
            count(measured, "trial"),
            count(extra_trials, "extra trial"),
        ));
        lines.push(format!(
            "Expected for this shard: {} written by the workloads{}, about {} min.",
            Bytes(written),
            besides(filled, resets),
            seconds.div_ceil(60)
        ));
        lines.push(guessed(&paces, plan.copies_from_beside(), self.at_once));
        lines.extend(notes);
        lines.extend(amounts.lack_one().then(|| LACKS_ONE.to_owned()));
        let commands = if is_verbose { "" } else { VERBOSE };
        print_line(&format!("{}\nNothing was done.{commands}", lines.join("\n")))
    }
}

/// The trials that a resumed shard still carries out. What others measured decides nothing of them.
pub fn print_rest(
    run: &Run,
    plan: &Resolved<'_>,
    shard: &Shard,
    skips: &[Skip],
    as_json: bool,
) -> anyhow::Result<()> {
    let over: HashSet<&str> = run
        .current()
        .into_iter()
        .filter(|record| matches!(record.outcome, Outcome::Done | Outcome::Failed))
        .map(|record| record.trial.as_str())
        .collect();
    let all: Vec<Trial<'_>> =
        sharded::share(plan).into_iter().filter(|trial| !is_skipped(trial, skips)).collect();
    let left: Vec<&Trial<'_>> = all.iter().filter(|trial| !over.contains(trial.name().as_str())).collect();
    if as_json {
        let of = |purpose: Purpose| left.iter().filter(|trial| trial.purpose == purpose).count();
        let (mut amounts, mut known) = (Amounts::default(), HashMap::new());
        let mut written = |trial: &Trial<'_>| {
            let (candidate, scenario) = (trial.candidate.label.clone(), trial.scenario.label.clone());
            let kind = (candidate, scenario, trial.purpose == Purpose::Integrity);
            *known.entry(kind).or_insert_with(|| amounts.of(plan, trial).bytes_written)
        };
        let share = DryShare {
            trials: left.len(),
            integrity_checks: of(Purpose::Integrity),
            extra_trials: left.len() - of(Purpose::Integrity) - of(Purpose::Measure),
            bytes_written: left.iter().map(|trial| written(trial)).fold(0, u64::saturating_add),
            seconds: None,
        };
        return print_json(&DryRun {
            schema_version: VERSION,
            plan: plan.plan,
            jobs: None,
            skipped: reasons(skips),
            foresight: None,
            notes: None,
            share: Some(share),
        });
    }
    let remain = format!("Shard {shard}: {} of {} remain.", left.len(), count(all.len(), "trial"));
    let lines: Vec<String> = lines_of(skips).chain([remain]).collect();
    print_line(&format!("{}\nNothing was done.", lines.join("\n")))
}
