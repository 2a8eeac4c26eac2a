//! The rate of a work over its duration: operations completed, read while it ran, over all rounds.

use std::collections::BTreeMap;

use serde::Serialize;

use super::dataset::Work;
use crate::schema::event::Series;
use crate::schema::record::Record;

/// Each trial's time is divided into this many parts.
const PARTS: usize = 60;
/// If a work has fewer readings, reports show no chart of it.
const LOOKS: usize = 10;
/// The time of two readings: a shorter stall is not visible.
const STALL_LEAST_MS: u64 = 200;

/// One measured work of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct OverTime {
    /// The work and its part; empty if the scenario has only one.
    pub work: String,
    /// One row per candidate, in plan order, without candidates that have no readings.
    pub rows: Vec<Course>,
}

/// One candidate's rate over the time of the work.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Course {
    pub filesystem: String,
    pub n: usize,
    /// Operations per second in each equal part of the work's time: the median over the rounds.
    pub rates: Vec<f64>,
    /// The median time of the work.
    pub seconds: f64,
    /// The longest time without a completed operation, over all rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall: Option<Stall>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Stall {
    pub round: u32,
    /// Start of the stall, in seconds since the start of that round's work.
    pub from_s: f64,
    pub seconds: f64,
    /// Start and end of the stall, as shares of that round's time.
    pub from: f64,
    pub to: f64,
}

/// A stage's readings, by round.
type Rounds<'r> = Vec<(u32, &'r Series)>;
/// A stage's readings, by filesystem.
type Stage<'r> = BTreeMap<&'r str, Rounds<'r>>;

/// One chart for each stage with readings; none in virtual time.
pub fn of(work: &Work<'_>, filesystems: &[String]) -> Vec<OverTime> {
    let mut by_stage: BTreeMap<(usize, String), Stage<'_>> = BTreeMap::new();
    for record in &work.counted {
        for (at, stage) in record.measured().enumerate() {
            // All series have the same operations, so the first suffices.
            let Some(series) = stage.series.values().next().filter(|series| series.len() >= LOOKS) else {
                continue;
            };
            let of_stage = by_stage.entry((at, name(record, at))).or_default();
            of_stage.entry(&record.filesystem).or_default().push((record.round, series));
        }
    }
    let row = |rounds: &Stage<'_>, label: &String| course(label, rounds.get(label.as_str())?);
    let one = |((_, work), rounds): ((usize, String), Stage<'_>)| OverTime {
        work,
        rows: filesystems.iter().filter_map(|label| row(&rounds, label)).collect(),
    };
    by_stage.into_iter().map(one).filter(|one| !one.rows.is_empty()).collect()
}

fn name(record: &Record, at: usize) -> String {
    let mut stages = record.measured();
    if record.measured().count() < 2 {
        return String::new();
    }
    let stage = stages.nth(at);
    let work = stage.and_then(|stage| record.works.get(stage.of)).map(|work| work.name.clone());
    let part = stage.and_then(|stage| stage.part.clone());
    [work, part].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn course(label: &str, rounds: &[(u32, &Series)]) -> Option<Course> {
    let each: Vec<Vec<f64>> = rounds.iter().filter_map(|(_, series)| rates(series)).collect();
    let of_part =
        |part: usize| fsderby_stats::median(&each.iter().map(|rates| rates[part]).collect::<Vec<f64>>());
    let seconds: Vec<f64> = rounds.iter().map(|(_, series)| total_ms(series) as f64 / 1000.0).collect();
    let stalls = rounds.iter().filter_map(|(round, series)| stall(*round, series));
    Some(Course {
        filesystem: label.to_owned(),
        n: each.len(),
        rates: (0..PARTS).map(of_part).collect::<Option<Vec<f64>>>()?,
        seconds: fsderby_stats::median(&seconds)?,
        stall: stalls.max_by(|a, b| a.seconds.total_cmp(&b.seconds)),
    })
}

fn total_ms(series: &Series) -> u64 {
    series.iter().fold(0, |all, [ms, _]| all.saturating_add(*ms))
}

/// Operations per second in each part; a reading's operations are spread evenly over its time. `None` if no time elapsed.
fn rates(series: &Series) -> Option<Vec<f64>> {
    let part_ms = total_ms(series) as f64 / PARTS as f64;
    let mut parts = vec![0.0; PARTS];
    let mut begin = 0.0;
    for [ms, done] in series {
        let (ms, done) = (*ms as f64, *done as f64);
        let end = begin + ms;
        let first = ((begin / part_ms) as usize).min(PARTS - 1);
        let last = ((end / part_ms).ceil() as usize).clamp(first + 1, PARTS);
        for (part, sum) in parts.iter_mut().enumerate().take(last).skip(first) {
            let (from, to) = (part as f64 * part_ms, (part + 1) as f64 * part_ms);
            let within = (to.min(end) - from.max(begin)).max(0.0);
            *sum += if ms > 0.0 { done * within / ms } else { done };
        }
        begin = end;
    }
    (part_ms > 0.0).then(|| parts.into_iter().map(|done| done / part_ms * 1000.0).collect())
}

/// The longest run of readings without any operation.
fn stall(round: u32, series: &Series) -> Option<Stall> {
    let total = total_ms(series) as f64;
    let (mut at, mut since, mut longest) = (0_u64, None, (0, 0));
    for [ms, done] in series {
        let from = if *done == 0 { Some(since.unwrap_or(at)) } else { None };
        at = at.saturating_add(*ms);
        if let Some(from) = from.filter(|from| at - from > longest.1) {
            longest = (from, at - from);
        }
        since = from;
    }
    let (from, length) = longest;
    (length >= STALL_LEAST_MS).then(|| Stall {
        round,
        from_s: from as f64 / 1000.0,
        seconds: length as f64 / 1000.0,
        from: from as f64 / total,
        to: (from + length) as f64 / total,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(ours: f64, known: f64) {
        assert!((ours - known).abs() < 1e-6 * known.max(1.0), "{ours} is not {known}");
    }

    #[test]
    fn no_operation_is_lost_however_the_looks_fall() {
        for points in [10, 59, 60, 61, 240_u64] {
            let series: Series = (1..=points).map(|n| [100 + n % 3, n * 7 % 13]).collect();
            let all: u64 = series.iter().map(|point| point[1]).sum();
            let part_s = total_ms(&series) as f64 / 1000.0 / PARTS as f64;
            near(rates(&series).expect("time went by").iter().sum::<f64>() * part_s, all as f64);
        }
        assert_eq!(rates(&vec![[0, 5]; 10]), None);
    }

    #[test]
    fn what_is_steady_is_level_and_what_ends_slowly_falls() {
        let steady = rates(&vec![[100, 50]; 37]).expect("time went by");
        steady.iter().for_each(|rate| near(*rate, 500.0));
        let falling: Series = (0..60).map(|n| [100, 60 - n]).collect();
        let rates = rates(&falling).expect("time went by");
        near(rates[0], 600.0);
        near(rates[59], 10.0);
    }

    #[test]
    fn the_longest_stall_is_found_with_its_place() {
        let mut series: Series = vec![[100, 5]; 20];
        series[3][1] = 0;
        (10..14).for_each(|at| series[at][1] = 0);
        let found = stall(3, &series).expect("there is one");
        assert_eq!((found.round, found.from_s, found.seconds), (3, 1.0, 0.4));
        near(found.from, 0.5);
        near(found.to, 0.7);
        series[10..14].iter_mut().for_each(|point| point[1] = 1);
        assert_eq!(stall(3, &series), None, "one look without an operation is none");
    }

    #[test]
    fn over_the_rounds_it_is_the_median_of_each_part() {
        let [slow, fast, other]: [Series; 3] = [vec![[100, 10]; 40], vec![[50, 10]; 40], vec![[100, 11]; 40]];
        let course = course("alderfs", &[(1, &slow), (2, &fast), (3, &other)]).expect("there are rounds");
        course.rates.iter().for_each(|rate| near(*rate, 110.0));
        assert_eq!((course.seconds, course.n, course.stall), (4.0, 3, None));
    }
}
