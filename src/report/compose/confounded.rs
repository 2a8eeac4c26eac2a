//! Options that changed together: a difference between two candidates, or two runs, then belongs to none of them alone.

use crate::analysis::changes::Pair;
use crate::report::view::number::{count, list, named};
use crate::schema::change::{Changes, Difference, Reach};
use crate::schema::plan::{Candidate, Plan};
use crate::schema::setup::Variant;

/// At most this many pairs get their own sentence.
const NAMED: usize = 3;

/// Candidates of one kind that differ from every other one of it in several options at once, one sentence a pair.
pub fn in_run(plan: &Plan, takes_part: impl Fn(&str) -> bool) -> Vec<String> {
    let all: Vec<&Candidate> = plan.candidates.iter().filter(|c| takes_part(&c.label)).collect();
    let mut pairs: Vec<([&str; 2], Vec<String>)> = Vec::new();
    for one in &all {
        let others = all.iter().filter(|other| other.kind == one.kind && other.label != one.label);
        let differing = others.map(|other| (other, between(plan, one, other)));
        let Some((nearest, whats)) = differing.min_by_key(|(_, whats)| whats.len()) else { continue };
        let is_known = pairs.iter().any(|(pair, _)| *pair == [nearest.label.as_str(), one.label.as_str()]);
        if whats.len() > 1 && !is_known {
            pairs.push(([&one.label, &nearest.label], whats));
        }
    }
    let more = pairs.len().saturating_sub(NAMED);
    let said = |([a, b], whats): ([&str; 2], Vec<String>)| {
        let (n, to) = (count(whats.len(), "option"), to_none(whats.len()));
        format!(
            "{one} and {other} differ in {n} at once: {options}. A difference between these two cannot be \
             attributed to {to}.",
            one = named(a),
            other = named(b),
            options = listed(&whats)
        )
    };
    let mut said: Vec<String> = pairs.into_iter().take(NAMED).map(said).collect();
    if more > 0 {
        said.push(format!("The same holds for {}.", count(more, "more pair")));
    }
    said
}

/// Candidates for which several things changed between two runs, one sentence for all with the same ones.
pub fn in_two_runs(pair: &Pair<'_>, changes: &Changes) -> Vec<String> {
    let mut found: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for label in changes.findings.iter().map(|change| &change.candidate) {
        let reaches = |d: &&Difference| match &d.reach {
            Reach::Chance => false,
            Reach::Candidate(own) => own == label,
            Reach::All => true,
        };
        let differ =
            |d: &Difference| format!("{} ({}, then {})", d.what, or_none(&d.before), or_none(&d.after));
        let mut whats: Vec<String> = changes.differences.iter().filter(reaches).map(differ).collect();
        if let ([_], Some(options)) = (whats.as_slice(), changed(pair, label)) {
            whats = options;
        }
        match found.iter_mut().find(|(known, _)| *known == whats) {
            Some((_, labels)) if labels.contains(label) => {}
            Some((_, labels)) => labels.push(label.clone()),
            None if whats.len() > 1 => found.push((whats, vec![label.clone()])),
            None => {}
        }
    }
    let said = |(whats, labels): (Vec<String>, Vec<String>)| {
        format!(
            "{number} things changed at once for {candidates}: {changes}. A difference between the runs \
             cannot be attributed to {cause}.",
            number = whats.len(),
            candidates = list(&labels.iter().map(|label| named(label)).collect::<Vec<String>>()),
            changes = listed(&whats),
            cause = to_none(whats.len())
        )
    };
    found.into_iter().map(said).collect()
}

/// The options of this candidate that differ between the runs; `None` if one of the plans lacks it.
fn changed(pair: &Pair<'_>, label: &str) -> Option<Vec<String>> {
    let of = |plan: &'_ Plan| plan.candidates.iter().find(|c| c.label == label).cloned();
    let [before, after] = [of(&pair.before.plan)?, of(&pair.after.plan)?];
    Some(options(&before.variant, &after.variant))
}

fn to_none(n: usize) -> &'static str {
    if n == 2 { "either one alone" } else { "any one of them alone" }
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

/// `a`, `a and b`; options need no quotes.
fn listed(whats: &[String]) -> String {
    match whats {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => whats.concat(),
    }
}

/// Everything in which two candidates of one kind differ.
fn between(plan: &Plan, a: &Candidate, b: &Candidate) -> Vec<String> {
    let mut whats = match a.era == b.era {
        true => options(&a.variant, &b.variant),
        // An era is one choice of many options.
        false => vec!["the era".to_owned()],
    };
    let [a, b] = [a, b].map(|candidate| plan.setup(candidate));
    let factors = [
        ("the testbed", a.testbed != b.testbed),
        ("the memory", a.memory != b.memory),
        ("the number of CPUs", a.cpus != b.cpus),
        ("the layers", a.layers != b.layers),
        ("the state", a.state != b.state),
    ];
    whats.extend(factors.into_iter().filter(|(_, differs)| *differs).map(|(what, _)| what.to_owned()));
    whats
}

fn options(a: &Variant, b: &Variant) -> Vec<String> {
    let mut whats = unlike(&of_mkfs(&a.mkfs), &of_mkfs(&b.mkfs));
    whats.extend(unlike(&of_mount(&a.mount), &of_mount(&b.mount)));
    whats.extend((a.conversion != b.conversion).then(|| "conversion from another kind".to_owned()));
    whats
}

/// An option on a command line: `-O ^has_journal`, `-b 4096`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Opt {
    /// `mkfs -O`
    flag: String,
    /// `has_journal`, `size`; empty for a plain value.
    key: String,
    value: String,
}

/// Each part of a list after a flag is an option: `-O a,b` has two.
fn of_mkfs(words: &[String]) -> Vec<Opt> {
    let mut all: Vec<Opt> = Vec::new();
    let mut flag = "mkfs".to_owned();
    for (at, word) in words.iter().enumerate() {
        if word.starts_with('-') {
            flag = format!("mkfs {word}");
            if words.get(at + 1).is_none_or(|next| next.starts_with('-')) {
                all.push(Opt { flag: flag.clone(), key: String::new(), value: String::new() });
            }
        } else {
            all.extend(word.split(',').map(|part| opt(&flag, part)));
        }
    }
    all
}

fn of_mount(options: &[String]) -> Vec<Opt> {
    options.iter().flat_map(|option| option.split(',')).map(|part| opt("mount -o", part)).collect()
}

fn opt(flag: &str, part: &str) -> Opt {
    let is_number = part.starts_with(|c: char| c.is_ascii_digit());
    let name = part.split_once('=').map_or(part, |(name, _)| name).trim_start_matches('^');
    let key = if is_number { String::new() } else { name.to_owned() };
    Opt { flag: flag.to_owned(), key, value: part.to_owned() }
}

/// The options that only one side has, or that have another value there, each once.
fn unlike(a: &[Opt], b: &[Opt]) -> Vec<String> {
    let only = |these: &[Opt], those: &[Opt]| -> Vec<Opt> {
        these.iter().filter(|one| !those.contains(one)).cloned().collect()
    };
    let (left, mut right) = (only(a, b), only(b, a));
    let mut whats = Vec::new();
    for one in left {
        let same = right.iter().position(|other| (&other.flag, &other.key) == (&one.flag, &one.key));
        let other = same.map(|at| right.remove(at));
        whats.push(match other {
            Some(other) => format!("{} against {}", one.said(), other.value),
            None => one.said(),
        });
    }
    whats.extend(right.iter().map(Opt::said));
    whats
}

impl Opt {
    fn said(&self) -> String {
        format!("{} {}", self.flag, self.value).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn differ(a: (&str, &str), b: (&str, &str)) -> Vec<String> {
        let variant =
            |(mkfs, mount)| Variant { mkfs: words(mkfs), mount: words(mount), ..Variant::default() };
        options(&variant(a), &variant(b))
    }

    #[test]
    fn each_part_of_a_list_is_an_option_and_another_value_is_one_change() {
        assert_eq!(differ(("", ""), ("-O ^has_journal", "")), ["mkfs -O ^has_journal"]);
        assert_eq!(
            differ(("", ""), ("-O ^has_journal,bigalloc", "noatime")),
            ["mkfs -O ^has_journal", "mkfs -O bigalloc", "mount -o noatime"]
        );
        assert_eq!(differ(("-b 1024", ""), ("-b 4096", "")), ["mkfs -b 1024 against 4096"]);
        assert_eq!(differ(("-O ^x", ""), ("-O x", "")), ["mkfs -O ^x against x"]);
        assert_eq!(
            differ(("", "data=journal,noatime"), ("", "data=ordered,noatime")),
            ["mount -o data=journal against data=ordered"]
        );
        assert_eq!(differ(("-f -K", "a"), ("-K -f", "a")), Vec::<String>::new());
    }

    /// The plan with these candidates of one kind.
    fn said(candidates: &[(&str, &str)]) -> Vec<String> {
        let mut plan = examples::example().run.plan;
        let like = plan.candidates[0].clone();
        let of = |(label, mount): &(&str, &str)| {
            let variant = Variant { mount: words(mount), ..Variant::default() };
            Candidate { label: (*label).to_owned(), variant, ..like.clone() }
        };
        plan.candidates = candidates.iter().map(of).collect();
        in_run(&plan, |_| true)
    }

    #[test]
    fn two_options_at_once_are_named_unless_another_candidate_tells_them_apart() {
        assert_eq!(
            said(&[("base", ""), ("tuned", "noatime commit=60")]),
            ["base and tuned differ in 2 options at once: mount -o noatime and mount -o commit=60. A \
              difference between these two cannot be attributed to either one alone."]
        );
        assert!(said(&[("base", ""), ("tuned", "noatime")]).is_empty());
        assert!(said(&[("base", ""), ("half", "noatime"), ("tuned", "noatime commit=60")]).is_empty());
        assert!(said(&[("one", "noatime x"), ("two", "noatime x")]).is_empty(), "an A/A pair");
        assert!(said(&[("base", ""), ("tuned", "a b c")])[0].ends_with("to any one of them alone."));
    }
}
