//! Statistical power of a plan: before a run from earlier rounds or an assumption, and after a run's first rounds.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use fsderby_stats::looks::{Interim, Looks};
use fsderby_stats::power::{Expected, Which};
use serde::Serialize;

use crate::analysis::dataset::Dataset;
use crate::analysis::elapsed::elapsed;
use crate::analysis::metrics;
use crate::analysis::rounds::{self, POWER, Scatter};
use crate::runner::preflight::pace::Time;
use crate::runner::preflight::skips::Skip;
use crate::schema::declared::{Declared, Section};
use crate::schema::job::Purpose;
use crate::schema::plan::{Plan, Rounds};
use crate::schema::reason::Outcome;
use crate::schema::units::{Percent, Span};
use crate::store::{self, Run};
use crate::testbeds::Place;
use crate::workloads;

/// Standard deviation of a single value, as a share: typical of workloads that reach a disk. This value is assumed if there are
/// no earlier rounds.
const SCATTER: f64 = 0.05;
/// A difference that a user would want to detect.
const DIFFERENCE: f64 = 0.10;
const USUAL: [u32; 4] = [6, 10, 14, 20];

/// Results of earlier rounds of the same experiment.
#[derive(Clone, Debug)]
pub struct Known {
    /// The run's folder.
    pub from: String,
    pub scatter: Scatter,
    pub time: Time,
    /// When a run is resumed: the run's number of rounds so far, and the interim analyses that the run has used.
    pub before: Option<(u32, Vec<Interim>)>,
}

/// A possible number of rounds, and after which rounds the results are analysed.
struct Due {
    rounds: u32,
    /// Whether the plan asks for this number of rounds, directly or through its time budget. The other numbers are [`USUAL`] ones.
    is_planned: bool,
    /// What is printed after the number to explain it, such as `, the number that fits into 1h`; empty if not needed.
    why: String,
    looks: Looks,
}

impl Known {
    /// Results of the run that is being resumed.
    pub fn of_itself(run: &Run) -> Option<Known> {
        let looks = run.seal.as_ref().map(|seal| seal.looks.as_slice()).unwrap_or_default();
        let looks = looks.iter().map(|look| Interim { rounds: look.rounds as usize, alpha: look.alpha });
        let had = run.records.iter().map(|record| record.round).max().unwrap_or(0);
        Some(Known { before: Some((had, looks.collect())), ..Known::of(run)? })
    }

    /// Results of the run whose stored plan is this experiment, if both plans measure the same.
    pub fn beside(experiment: &str, plan: &Plan) -> Option<Known> {
        let file = Path::new(experiment);
        if file.file_name()? != store::PLAN {
            return None;
        }
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let run = store::read(folder.unwrap_or(Path::new("."))).ok()?;
        (run.damage.is_empty() && measures_the_same(plan, &run.plan)).then(|| Known::of(&run))?
    }

    fn of(run: &Run) -> Option<Known> {
        let scatter = rounds::scatter(&run.plan, &Dataset::of(run))?;
        Some(Known { from: run.folder.display().to_string(), scatter, time: taken(run), before: None })
    }
}

/// Whether two plans differ only in number, order and purpose of rounds.
fn measures_the_same(plan: &Plan, other: &Plan) -> bool {
    let measured = |plan: &Plan| {
        let is_copy = |label: &str| plan.guard.as_ref().is_some_and(|twice| twice.copy == label);
        Plan {
            candidates: plan.candidates.iter().filter(|c| !is_copy(&c.label)).cloned().collect(),
            guard: None,
            rounds: Rounds::Auto,
            budget: None,
            plan_seed: 0,
            workload_seed: 0,
            needs: None,
            name: String::new(),
            analysis: String::new(),
            margin: Percent(0.0),
            ..plan.clone()
        }
    };
    measured(plan) == measured(other)
}

/// All trials of the run, including void attempts.
fn taken(run: &Run) -> Time {
    let of = |purpose: Purpose| {
        let all = run.records.iter().filter(move |r| r.purpose == purpose && r.outcome != Outcome::Skipped);
        let names: BTreeSet<&str> = all.clone().map(|r| r.trial.as_str()).collect();
        (names.len(), elapsed(all))
    };
    let (trials, measuring) = of(Purpose::Measure);
    let (cells, checks) = of(Purpose::Integrity);
    let a_trial = measuring.checked_div(u32::try_from(trials).unwrap_or(u32::MAX)).unwrap_or_default();
    Time { checks, a_round: a_trial.saturating_mul(u32::try_from(cells).unwrap_or(u32::MAX)) }
}

/// How many complete rounds fit into the time.
fn rounds_in(time: Time, budget: Duration) -> u32 {
    let rounds = budget.saturating_sub(time.checks).as_nanos() / time.a_round.as_nanos().max(1);
    u32::try_from(rounds).unwrap_or(u32::MAX)
}

/// The smallest difference that a run can detect, for each number of rounds.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Foresight {
    /// Folder and number of rounds that the standard deviations come from; absent if they are assumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<(String, u32)>,
    /// Smallest and largest standard deviation of a candidate, as shares.
    pub scatter: (f64, f64),
    pub pairs: usize,
    /// Largest number of counters that replace a workload's headline metrics when times are not judged; absent if times
    /// are judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standing_in: Option<usize>,
    pub rows: Vec<Row>,
    pub margin: Percent,
    /// Number of rounds after which a typical pair without a difference is called equivalent.
    pub equivalent: Option<usize>,
}

/// A run with this number of rounds.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Row {
    pub rounds: u32,
    /// Whether the plan asks for this number of rounds, directly or through its time budget.
    pub is_planned: bool,
    /// What is printed after the number to explain it; empty if not needed.
    #[serde(skip)]
    pub why: String,
    /// The difference, as a share, that is detected with a power of 80 % between a typical pair of candidates (half of
    /// the pairs are noisier); none if nothing can be detected.
    pub usual: Option<f64>,
    /// The difference, as a share, that is detected with a power of 80 % between the noisiest pair.
    pub noisiest: Option<f64>,
    /// The power to detect a difference of 10 % in a typical pair.
    pub ten_percent: f64,
    pub seconds: u64,
}

/// Assumptions if there are no earlier rounds: durations, and whether times are judged.
#[derive(Clone, Copy, Default)]
pub struct Guess {
    pub time: Time,
    pub is_timeless: bool,
}

/// Returns `None` on modelled disks, whose results do not vary between rounds, and with only one candidate.
pub fn of(plan: &Plan, skips: &[Skip], guess: Guess, known: Option<&Known>) -> Option<Foresight> {
    let scatters = Place::parse(&plan.testbed).is_ok_and(|place| place.scatters());
    let assumed = || {
        let tables = families(plan, skips, guess.is_timeless).into_iter().map(|n| vec![SCATTER; n]).collect();
        Scatter { rounds: 0, seen: Expected { tables }, noise: None }
    };
    let scatter = known.map_or_else(assumed, |known| known.scatter.clone());
    let expected = &scatter.seen;
    let mut pairs = pairs(expected);
    if !scatters || pairs.is_empty() {
        return None;
    }
    pairs.sort_by(|x, y| noise(expected, *x).total_cmp(&noise(expected, *y)));
    let (usual, last) = (pairs[(pairs.len() - 1) / 2], pairs[pairs.len() - 1]);
    let noisiest = if noise(expected, last) > noise(expected, usual) { last } else { usual };
    let time = known.map_or(guess.time, |known| known.time);
    let (had, shown) = known.and_then(|known| known.before.clone()).unwrap_or_default();
    let mut rows = Vec::new();
    for Due { rounds, is_planned, why, looks } in due(plan, time, had, &shown) {
        let found = scatter.finds(&looks, &[usual, noisiest], DIFFERENCE.ln_1p());
        let checks = if had == 0 { time.checks } else { Duration::ZERO };
        rows.push(Row {
            rounds,
            is_planned,
            why,
            usual: found[0].0.map(f64::exp_m1),
            noisiest: found[1].0.map(f64::exp_m1),
            ten_percent: found[0].1,
            seconds: time.a_round.saturating_mul(rounds - had).saturating_add(checks).as_secs(),
        });
    }
    let each = || expected.tables.iter().flatten().copied();
    Some(Foresight {
        seen: known.map(|known| (known.from.clone(), known.scatter.rounds)),
        scatter: (each().fold(f64::INFINITY, f64::min), each().fold(0.0, f64::max)),
        pairs: pairs.len(),
        standing_in: (guess.is_timeless && known.is_none()).then(|| metrics::standing_in().len()),
        rows,
        margin: plan.margin,
        equivalent: expected.rounds_to_be_equivalent(usual, rounds::log(plan.margin), POWER),
    })
}

/// A sentence about the differences that the remaining rounds can detect, estimated from the first rounds of the run.
pub fn after_first_rounds(run: &Run) -> Option<String> {
    let mut known = Known::of(run)?;
    let had = known.scatter.rounds;
    let taken = known.time.of_rounds(had);
    let budget = run.plan.budget.map(|Span(all)| Span(all.saturating_sub(taken)));
    known.before = Some((had, Vec::new()));
    let foresight = of(&Plan { budget, ..run.plan.clone() }, &[], Guess::default(), Some(&known))?;
    let planned = foresight.rows.iter().rfind(|row| row.is_planned)?;
    let (range, found) = (foresight.range(), planned.found());
    Some(format!(
        "after {had} rounds, figures vary by {range} between rounds; with {planned} rounds, {found}",
        planned = planned.rounds
    ))
}

/// Possible numbers of rounds (the defaults and the plan's), the reason for each, and the rounds after which results are analysed.
fn due(plan: &Plan, time: Time, had: u32, shown: &[Interim]) -> Vec<Due> {
    let own = rounds::looks(plan);
    let once = |n: u32| match shown {
        [] => Looks::once(n as usize),
        shown => Looks::at(n as usize, own.available(n as usize, shown)),
    };
    let fits = plan.budget.map(|budget| {
        let new = if had == 0 { time } else { Time { checks: Duration::ZERO, ..time } };
        let new = rounds_in(new, budget.0);
        (had.saturating_add(new), format!(", the number that fits into {budget}"))
    });
    let planned = match (plan.rounds, fits) {
        (Rounds::Auto, _) => None,
        (Rounds::AtLeast(n), Some((fits, why))) if fits >= n => Some((fits, why)),
        (Rounds::AtLeast(n), Some(_)) => {
            Some((n, ", the minimum, although it takes longer than the budget".to_owned()))
        }
        (Rounds::Exactly(n) | Rounds::AtLeast(n), _) => Some((n, String::new())),
    };
    let is_planned = |n: u32| planned.as_ref().is_some_and(|(rounds, _)| *rounds == n);
    let usual = USUAL.into_iter().filter(|n| !is_planned(*n)).map(|n| (n, String::new(), false));
    let planned = planned.iter().map(|(n, why)| (*n, why.clone(), true));
    let all = usual.chain(planned).filter(|(n, ..)| *n > had);
    let mut due: Vec<Due> =
        all.map(|(rounds, why, is_planned)| Due { rounds, is_planned, why, looks: once(rounds) }).collect();
    due.sort_by_key(|due| due.rounds);
    let looks = own.to_come(shown);
    if let (Rounds::Auto, Some(last)) = (plan.rounds, looks.planned().last()) {
        let (rounds, why) = (last.rounds as u32, " at most, fewer if fewer are enough".to_owned());
        due.push(Due { rounds, is_planned: true, why, looks: looks.clone() });
    }
    due
}

impl Foresight {
    pub fn lines(&self) -> Vec<String> {
        let Foresight { pairs, rows, margin, .. } = self;
        let mut lines = vec![format!(
            "This forecast is for {pairs} pairwise comparison{}, and for figures that vary by {}.",
            if *pairs == 1 { "" } else { "s that are judged together" },
            self.of_what()
        )];
        if let Some(most) = self.standing_in {
            lines.push(format!(
                "  Times on an emulated CPU are not judged. For each workload, up to {most} counters of the block \
                    layer are judged instead, if they are large enough."
            ));
        }
        if rows.iter().any(|row| row.usual.is_none() && row.rounds >= rounds::FEWEST) {
            lines.push(
                "  Earlier interim analyses have used up the error rate of 5 %, so more rounds can detect nothing more."
                    .to_owned(),
            );
        }
        lines.extend(rows.iter().map(Row::line));
        lines.push(match self.equivalent {
            Some(rounds) => format!(
                "  If two candidates do not differ, equivalence within {margin} is found after about {rounds} rounds."
            ),
            None => format!("  To find equivalence within {margin} takes more rounds than are practical."),
        });
        lines
    }

    /// `3.1% to 8.9% between rounds (from 10 rounds in results/x)`
    fn of_what(&self) -> String {
        match &self.seen {
            Some((from, rounds)) => {
                format!("{range} between rounds (from {rounds} rounds in {from})", range = self.range())
            }
            None => format!(
                "{range} between rounds (assumed: no earlier rounds of this experiment were found)",
                range = self.range()
            ),
        }
    }

    /// `3.1% to 8.9%`
    fn range(&self) -> String {
        let (least, most) = (percent(self.scatter.0), percent(self.scatter.1));
        if least == most { least.to_string() } else { format!("{least} to {most}") }
    }
}

impl Row {
    fn line(&self) -> String {
        let Row { rounds, why, ten_percent, seconds, .. } = self;
        let s = if *rounds == 1 { "" } else { "s" };
        let (found, power, minutes) = (self.found(), 100.0 * ten_percent, seconds.div_ceil(60));
        format!(
            "  {rounds:>3} round{s}{why} (about {minutes} min): {found}; {power:.0} % of runs detect a difference \
                of 10%."
        )
    }

    fn found(&self) -> String {
        match (self.usual.map(percent), self.noisiest.map(percent)) {
            (Some(usual), Some(noisiest)) if noisiest.0 > usual.0 => {
                format!("80 % of runs detect a difference of {usual} ({noisiest} for the noisiest pair)")
            }
            (Some(usual), _) => format!("80 % of runs detect a difference of {usual}"),
            (None, _) => "no difference is detected".to_owned(),
        }
    }
}

/// Values from 10 % on are printed without decimals, smaller ones with one: more digits would be false precision.
fn percent(share: f64) -> Percent {
    Percent(if share < 0.1 { (share * 1000.0).round() / 10.0 } else { (share * 100.0).round() })
}

fn pairs(expected: &Expected) -> Vec<Which> {
    let of = |(table, noise): (usize, &Vec<f64>)| {
        let n = noise.len();
        (0..n).flat_map(move |a| (a + 1..n).map(move |b| Which { table, a, b }))
    };
    expected.tables.iter().enumerate().flat_map(of).collect()
}

/// Variance of a single difference.
fn noise(expected: &Expected, Which { table, a, b }: Which) -> f64 {
    let of = |at: usize| expected.tables[table][at].powi(2);
    of(a) + of(b)
}

/// Number of candidates per headline metric of each scenario. If times are not judged and all headline metrics of a
/// scenario are times, counters replace them; all counters are taken, although some may turn out too small to be
/// judged.
fn families(plan: &Plan, skips: &[Skip], is_timeless: bool) -> Vec<usize> {
    let is_headline = |declared: &&&Declared| {
        declared.section == Section::Headline && !(is_timeless && declared.of.is_time())
    };
    let is_copy = |label: &str| plan.guard.as_ref().is_some_and(|twice| twice.copy == label);
    let mut families = Vec::new();
    for scenario in &plan.scenarios {
        let is_skipped =
            |label: &str| skips.iter().any(|s| s.filesystem == label && s.scenario == scenario.label);
        let taking = plan.candidates.iter().map(|c| c.label.as_str());
        let candidates = taking.filter(|label| !is_copy(label) && !is_skipped(label)).count();
        let measured = scenario.works().filter(|work| work.measured);
        let engines = measured.filter_map(|work| plan.workload(&work.work));
        let headlines: usize = engines
            .filter_map(|work| workloads::engine(&work.work.engine))
            .map(|engine| engine.declared().iter().filter(is_headline).count())
            .sum();
        let headlines = if is_timeless && headlines == 0 { metrics::standing_in().len() } else { headlines };
        families.extend(std::iter::repeat_n(candidates, if candidates > 1 { headlines } else { 0 }));
    }
    families
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::experiment::Experiment;

    const GUESS: Guess = Guess {
        time: Time { checks: Duration::from_secs(30), a_round: Duration::from_secs(60) },
        is_timeless: false,
    };

    fn plan(keys: &str) -> Plan {
        let text = format!(
            "filesystems = ['ext2', 'ext4', 'xfs']\nworkloads = ['postmark-quick']\nseed = 7\n{keys}"
        );
        Experiment::parse(&text, "test").unwrap().plan("loop".into(), 7).unwrap()
    }

    fn foreseen(keys: &str, known: Option<&Known>) -> Foresight {
        of(&plan(keys), &[], GUESS, known).unwrap()
    }

    fn known(noise: [f64; 3], before: Option<(u32, Vec<Interim>)>) -> Known {
        let time = Time { checks: Duration::from_secs(9), a_round: Duration::from_secs(10) };
        let seen = Expected { tables: vec![noise.to_vec()] };
        Known { from: "results/x".into(), scatter: Scatter { rounds: 8, seen, noise: None }, time, before }
    }

    fn rounds(foresight: &Foresight) -> Vec<u32> {
        foresight.rows.iter().map(|row| row.rounds).collect()
    }

    fn row(foresight: &Foresight, rounds: u32) -> &Row {
        foresight.rows.iter().find(|row| row.rounds == rounds).unwrap()
    }

    #[test]
    fn where_nothing_is_measured_a_scatter_is_assumed_and_said_so() {
        let foresight = foreseen("rounds = 12", None);
        assert_eq!(
            (foresight.pairs, foresight.scatter, rounds(&foresight)),
            (3, (0.05, 0.05), vec![6, 10, 12, 14, 20])
        );
        assert_eq!(row(&foresight, 12).seconds, 30 + 12 * 60);
        let told = foresight.lines().join("\n");
        assert!(
            told.contains("3 pairwise comparisons")
                && told
                    .contains("5% between rounds (assumed: no earlier rounds of this experiment were found)"),
            "{told}"
        );
        assert!(!told.contains("noisiest"), "all are alike: {told}");
    }

    #[test]
    fn where_no_time_counts_the_family_is_that_of_the_counts_that_stand_in() {
        let timeless = Guess { is_timeless: true, ..GUESS };
        let (times, counts) =
            [GUESS, timeless].map(|guess| of(&plan("rounds = 12"), &[], guess, None).unwrap()).into();
        let most = metrics::standing_in().len();
        assert!(most > 1);
        assert_eq!((times.pairs, times.standing_in), (3, None));
        assert_eq!((counts.pairs, counts.standing_in), (3 * most, Some(most)), "three pairs of each");
        assert!(row(&counts, 12).usual > row(&times, 12).usual, "a larger family finds less");
        assert!(counts.lines()[1].contains(&format!("up to {most} counters of the block layer are judged")));
        let seen = of(&plan("rounds = 12"), &[], timeless, Some(&known([0.02; 3], None))).unwrap();
        assert_eq!((seen.pairs, seen.standing_in), (3, None), "what was measured is the family itself");
    }

    #[test]
    fn what_was_measured_is_taken_in_place_of_what_is_assumed() {
        let known = known([0.02, 0.02, 0.08], None);
        let (seen, assumed) = (foreseen("rounds = 12", Some(&known)), foreseen("rounds = 12", None));
        assert_eq!(seen.scatter, (0.02, 0.08));
        let (seen_row, assumed_row) = (row(&seen, 12), row(&assumed, 12));
        // Of the three pairs two are as noisy as the noisiest.
        assert!(seen_row.usual == seen_row.noisiest && seen_row.usual > assumed_row.usual, "{seen_row:?}");
        assert!(seen_row.ten_percent < assumed_row.ten_percent);
        assert_eq!(seen_row.seconds, 9 + 120, "by the time that its rounds took");
        assert!(
            seen.lines()[0].contains("2% to 8% between rounds (from 8 rounds in results/x)"),
            "{:?}",
            seen.lines()
        );
    }

    #[test]
    fn the_usual_pair_is_less_noisy_than_half_of_them_and_the_noisiest_is_named_beside_it() {
        let line = foreseen("rounds = 12", Some(&known([0.01, 0.05, 0.06], None))).lines().remove(3);
        let shown: Vec<f64> =
            line.split('%').filter_map(|part| part.rsplit([' ', '(']).next()?.parse().ok()).collect();
        assert!(line.contains("for the noisiest pair") && shown[0] < shown[1], "{line}");
    }

    #[test]
    fn a_budget_is_turned_into_the_whole_rounds_that_fit_and_what_they_find() {
        let budget =
            |text: &str| foreseen(&format!("rounds = 'auto'\nat_least = 6\nbudget = '{text}'"), None);
        let hour = budget("1h");
        // 59 rounds and a half, after half a minute of integrity checks.
        assert_eq!(rounds(&hour), [6, 10, 14, 20, 59]);
        let fits = row(&hour, 59);
        assert!(fits.is_planned && fits.seconds <= 3600 && fits.usual < row(&hour, 20).usual);
        assert!(fits.line().contains("59 rounds, the number that fits into 1h"), "{}", fits.line());
        let short = budget("2m");
        assert_eq!(rounds(&short), [6, 10, 14, 20]);
        assert!(
            row(&short, 6).line().contains("the minimum, although it takes longer than"),
            "{}",
            row(&short, 6).line()
        );
        assert!(!row(&short, 10).is_planned);
    }

    #[test]
    fn a_run_that_goes_on_has_its_own_rounds_behind_it() {
        let known = known([0.05; 3], Some((8, Vec::new())));
        let foresight = foreseen("rounds = 'auto'\nat_least = 1\nbudget = '100s'", Some(&known));
        assert_eq!(rounds(&foresight), [10, 14, 18, 20]);
        assert_eq!((row(&foresight, 10).seconds, row(&foresight, 18).seconds), (20, 100));
    }

    #[test]
    fn what_was_spent_at_a_look_finds_nothing_more() {
        let looks = |looks: &[(usize, f64)]| {
            looks
                .iter()
                .map(|(rounds, alpha)| Interim { rounds: *rounds, alpha: *alpha })
                .collect::<Vec<Interim>>()
        };
        let spent = known([0.05; 3], Some((8, looks(&[(8, 0.05)]))));
        let foresight = foreseen("rounds = 20", Some(&spent));
        assert!(
            foresight.rows.iter().all(|row| row.usual.is_none() && row.ten_percent == 0.0),
            "{foresight:?}"
        );
        assert!(
            foresight.lines()[1].contains("more rounds can detect nothing more"),
            "{:?}",
            foresight.lines()
        );
        let half = known([0.05; 3], Some((12, looks(&[(10, 0.01)]))));
        let foresight = foreseen("rounds = 'auto'", Some(&half));
        let last = foresight.rows.last().unwrap();
        assert!(last.is_planned && last.rounds == 20 && last.usual.is_some(), "{last:?}");
        let fresh = foreseen("rounds = 'auto'", Some(&known([0.05; 3], None)));
        assert!(last.usual >= fresh.rows.last().unwrap().usual, "a look has been spent: {last:?}");
    }

    #[test]
    fn only_rounds_of_the_same_work_in_the_same_place_are_taken() {
        let same = |keys: &str, other: &str| measures_the_same(&plan(keys), &plan(other));
        assert!(same("rounds = 6", "rounds = 'auto'\nguard = true\nmargin = '1%'"));
        for other in ["memory = '64m'", "size = '1g'", "cold = true", "scale = '1/2'"] {
            assert!(!same("rounds = 6", &format!("rounds = 6\n{other}")), "{other}");
        }
    }

    #[test]
    fn one_candidate_and_modelled_disks_have_nothing_to_foresee() {
        let alone = Plan { candidates: plan("rounds = 6").candidates[..1].to_vec(), ..plan("rounds = 6") };
        assert_eq!(of(&alone, &[], GUESS, None), None);
        let modelled = Plan { testbed: "model:hdd-16tb".into(), ..plan("rounds = 6") };
        assert_eq!(of(&modelled, &[], GUESS, None), None);
    }

    /// Adding up the time of an impossibly large plan must not overflow.
    #[test]
    fn no_length_of_time_is_too_long() {
        let forever = Guess { time: Time { checks: Duration::MAX, a_round: Duration::MAX }, ..GUESS };
        let foresight = of(&plan("rounds = 100000"), &[], forever, None).unwrap();
        assert_eq!(row(&foresight, 100_000).seconds, u64::MAX);
    }
}
