//! What a comparison says, in a sentence: which one, by how much, how sure.

use super::pairs::{Pair, Pairs};
use crate::report::view::comparison::{Comparison, Lead};
use crate::report::view::number::{list, named, ratio};
use crate::report::view::row::Row;
use crate::schema::finding::{Basis, Evidence, Found, Verdict};
use crate::schema::metric::Of as Quantity;

/// More candidates than these are not named one by one.
const NAMED: usize = 4;

/// What a comparison is about, and what its findings rest on.
pub struct Of<'r> {
    pub row: &'r Row,
    pub verdict: &'r Verdict,
}

pub fn of(comparison: &Comparison, pairs: &Pairs, about: &Of<'_>) -> String {
    if comparison.is_preliminary {
        return so_far(comparison).map_or_else(String::new, |ahead| {
            format!("So far {ahead} in {}; no difference is established.", about.row.title)
        });
    }
    let leaders = &comparison.leaders;
    let won = comparison.lead.as_ref().map(|lead| won(lead, about));
    match (leaders.as_slice(), won) {
        ([_], Some(won)) => format!("{won}."),
        (_, None) => nothing_found(comparison, pairs, about) + ".",
        (_, Some(won)) => format!("{}; {won}.", not_told_apart(leaders, pairs, about)),
    }
}

/// `alderfs is ahead, 1.42 times birchfs`; whether that is chance is open.
pub fn so_far(comparison: &Comparison) -> Option<String> {
    let [first, second, ..] = comparison.lines.as_slice() else { return None };
    let times = ratio(first.ratio / second.ratio);
    if comparison.is_of_amounts() {
        let (first, second, many) = (named(&first.candidate), named(&second.candidate), comparison.times_as);
        return Some(format!("{first} has the least, {times} times as {many} as {second}"));
    }
    Some(format!("{} is ahead, {times} times {}", named(&first.candidate), named(&second.candidate)))
}

/// `alderfs created files 1.42 times as fast as the next, birchfs (1.36 to 1.49, simultaneous 95 %)`
fn won(lead: &Lead, about: &Of<'_>) -> String {
    let Lead { low, high, .. } = lead;
    let (leader, next) = (named(&lead.leader), named(&lead.next));
    let times = ratio(lead.ratio);
    let sure = format!("({} to {}, {})", ratio(*low), ratio(*high), certainty(about.verdict));
    let did = about.row.declared.map_or("", |declared| declared.did);
    match (did, about.row.of) {
        _ if about.row.stands_in => {
            format!("{leader} needed {times} times as {} as the next, {next} {sure}", amount(about.row))
        }
        ("", Quantity::Time) => {
            format!("{leader} was {times} times as fast as the next, {next}, in {} {sure}", about.row.title)
        }
        ("", _) => {
            format!("{leader} was {times} times as good as the next, {next}, in {} {sure}", about.row.title)
        }
        (did, _) => format!("{leader} {did} {times} times as fast as the next, {next} {sure}"),
    }
}

/// `many write requests`, `many bytes written to the device`
fn amount(row: &Row) -> String {
    let bytes = if row.of == Quantity::Bytes { "bytes " } else { "" };
    format!("many {bytes}{}", row.title)
}

/// What the ends of an interval are: `simultaneous 95 %`, `over 12 samples of the disk model`.
pub fn certainty(verdict: &Verdict) -> String {
    match &verdict.basis {
        Basis::Rounds { alpha, .. } => format!("simultaneous {} %", digits(100.0 * (1.0 - alpha))),
        Basis::Samples { complete, .. } => format!("over {complete} samples of the disk model"),
    }
}

/// `95`, `98.5`
fn digits(percent: f64) -> String {
    let text = format!("{percent:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

fn not_told_apart(leaders: &[String], pairs: &Pairs, about: &Of<'_>) -> String {
    let what = match pairs.all_of(leaders, Found::Equivalent) {
        true => format!("are equivalent within the margin of {}", about.verdict.margin),
        false => "were not told apart".to_owned(),
    };
    let pair = if let [first, second] = leaders { pairs.between(first, second) } else { None };
    let seen = pair.map_or_else(String::new, |pair| bracketed(&pair, about));
    format!("{} lead and {what}{seen}", list(leaders))
}

/// ` (ratio 1.02; 0.97 to 1.07, simultaneous 95 %)`
fn bracketed(pair: &Pair, about: &Of<'_>) -> String {
    let times = ratio(pair.ratio);
    match (pair.low, pair.high) {
        (Some(low), Some(high)) => {
            format!(" (ratio {times}; {} to {}, {})", ratio(low), ratio(high), certainty(about.verdict))
        }
        _ => format!(" (ratio {times})"),
    }
}

/// Of no two one is better.
fn nothing_found(comparison: &Comparison, pairs: &Pairs, about: &Of<'_>) -> String {
    let [first, .., last] = comparison.lines.as_slice() else { return String::new() };
    let names: Vec<String> = comparison.lines.iter().map(|line| line.candidate.clone()).collect();
    let far = pairs.between(&first.candidate, &last.candidate);
    let seen = far.map_or_else(String::new, |pair| bracketed(&pair, about));
    let far = if names.len() > 2 { ", not even first and last" } else { "" };
    let who =
        if names.len() > NAMED { format!("No two of {} candidates", names.len()) } else { list(&names) };
    match pairs.all_of(&names, Found::Equivalent) {
        true => format!("{} are equivalent within the margin of {}", list(&names), about.verdict.margin),
        false => format!(
            "{who} were {} in {}{far}{seen}{}",
            if names.len() > NAMED { "told apart" } else { "not told apart" },
            about.row.title,
            smallest(comparison, about)
        ),
    }
}

/// What would have been found, had it been there.
fn smallest(comparison: &Comparison, about: &Of<'_>) -> String {
    let findings = about.verdict.of(&comparison.scenario, &comparison.metric, &comparison.dimensions);
    let smallest = findings.filter_map(|finding| match finding.evidence {
        Evidence::Rounds { smallest, .. } => smallest,
        Evidence::Samples { .. } => None,
    });
    let most = smallest.fold(0.0, f64::max);
    if most <= 0.0 {
        return String::new();
    }
    format!("; a ratio of {} would have been found with a probability of 80 %", ratio(most))
}
