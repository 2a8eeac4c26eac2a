//! Elapsed host time of launches.

use std::time::Duration;

use crate::schema::record::Record;

/// Host time in which at least one of these launches ran: in virtual time several launches run at once.
pub fn elapsed<'r>(records: impl Iterator<Item = &'r Record>) -> Duration {
    let launch = |r: &Record| {
        let started: jiff::Timestamp = r.circumstances.started.parse().ok()?;
        let begin = started.as_nanosecond();
        Some((begin, begin + i128::from(r.circumstances.host_ns)))
    };
    let mut launches: Vec<(i128, i128)> = records.filter_map(launch).collect();
    launches.sort_unstable();
    let (mut covered, mut reached) = (0, i128::MIN);
    for (begin, end) in launches {
        covered += (end - begin.max(reached)).max(0);
        reached = reached.max(end);
    }
    Duration::from_nanos(u64::try_from(covered).unwrap_or(u64::MAX))
}
