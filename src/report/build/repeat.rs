//! The command that expands to the same plan, and what of the plan no command line can say.

use crate::filesystems;
use crate::report::view::repeat::Repeat;
use crate::runner::experiment::{Experiment, FilesystemEntry, SHIPPED};
use crate::schema::plan::{Candidate, Plan, Rounds};
use crate::schema::setup::{ImageState, Variant};
use crate::schema::units::Bytes;
use crate::workloads;

/// `makes_filesystem` is the testbed's trait: where nothing is made, the one row is what is there.
pub fn of(plan: &Plan, makes_filesystem: bool) -> Repeat {
    let candidates = if makes_filesystem { plan.candidates.as_slice() } else { &[] };
    Repeat {
        command: command(plan, candidates),
        beyond: beyond(plan, candidates),
        unnamed: shipped(plan).is_none(),
    }
}

fn command(plan: &Plan, candidates: &[Candidate]) -> String {
    let mut words = vec!["fsderby run".to_owned()];
    words.extend(shipped(plan).map(str::to_owned));
    words.extend(filesystems_of(candidates));
    let works: Vec<&str> = plan.workloads.iter().map(|w| w.label.as_str()).collect();
    words.push(format!("--workloads {}", quoted(&works.join(","))));
    words.push(format!("--on {}", quoted(&plan.testbed)));
    words.push(format!("--size {}", size(plan.size)));
    words.push(format!("--memory {}", plan.memory.map_or_else(|| "none".to_owned(), size)));
    if plan.image != ImageState::default() {
        words.push(format!("--image {}", plan.image.name()));
    }
    if plan.cold {
        words.push("--cold".to_owned());
    }
    words.extend(plan.power_cut.map(|cut| format!("--power-cut {cut}")));
    words.push(match plan.rounds {
        Rounds::Exactly(n) => format!("--rounds {n}"),
        Rounds::AtLeast(n) => format!("--rounds auto --at-least {n}"),
    });
    if let (Rounds::AtLeast(_), Some(budget)) = (plan.rounds, plan.budget) {
        words.push(format!("--budget {budget}"));
    }
    words.push(format!("--margin {}", plan.margin));
    words.push(format!("--seed {}", plan.plan_seed));
    words.join(" ")
}

/// The ready experiment that has this plan's words.
fn shipped(plan: &Plan) -> Option<&'static str> {
    let same = |text: &str, name: &str| Experiment::parse(text, name).is_ok_and(|e| e.describes(plan));
    SHIPPED.iter().find(|(name, text)| same(text, name)).map(|(name, _)| *name)
}

/// `--filesystems` with the leading kinds that have no options, `--filesystem` with each of the rest: the order is part of
/// the plan.
fn filesystems_of(candidates: &[Candidate]) -> Vec<String> {
    let all = filesystems::TABLE.iter().map(|kind| kind.name());
    let plain = candidates.iter().take_while(|e| is_plain(e)).map(|e| e.kind.as_str());
    let plain: Vec<&str> = plain.collect();
    let (names, taken) = match all.clone().eq(plain.iter().copied().take(all.len())) {
        true => ("all".to_owned(), all.len()),
        false => (plain.join(","), plain.len()),
    };
    let mut words = Vec::new();
    if taken > 0 {
        words.push(format!("--filesystems {}", quoted(&names)));
    }
    words.extend(candidates[taken..].iter().map(|e| format!("--filesystem {}", quoted(&candidate(e)))));
    words
}

fn is_plain(candidate: &Candidate) -> bool {
    candidate.label == candidate.kind && candidate.variant == Variant::default()
}

/// `KIND label="no atime" mount=noatime`
fn candidate(candidate: &Candidate) -> String {
    let Variant { mkfs, mount, conversion } = &candidate.variant;
    let mut words = vec![candidate.kind.clone()];
    if candidate.label != candidate.kind {
        words.push(format!("label={}", in_quotes(&candidate.label)));
    }
    if !mount.is_empty() {
        words.push(format!("mount={}", in_quotes(&mount.join(","))));
    }
    if !mkfs.is_empty() {
        words.push(format!("mkfs={}", in_quotes(&mkfs.join(" "))));
    }
    if *conversion {
        words.push("conversion".to_owned());
    }
    words.join(" ")
}

fn in_quotes(text: &str) -> String {
    if text.contains(char::is_whitespace) { format!("\"{text}\"") } else { text.to_owned() }
}

fn beyond(plan: &Plan, candidates: &[Candidate]) -> Vec<String> {
    let mut beyond = Vec::new();
    let unsaid = candidates.iter().filter(|e| candidate(e).parse() != Ok(entry(e)));
    beyond.extend(unsaid.map(|e| format!("the options of {}", e.label)));
    let changed = plan.workloads.iter().filter(|w| {
        let ready = workloads::find(&w.label).map(|(engine, set)| (engine.name(), set.file().parameters));
        ready.as_ref().map(|(engine, parameters)| (*engine, parameters))
            != Some((w.work.engine.as_str(), &w.work.parameters))
    });
    beyond.extend(changed.map(|w| format!("the parameters of {}", w.label)));
    if plan.workload_seed != plan.plan_seed {
        beyond.push(format!("the workload's seed {}", plan.workload_seed));
    }
    beyond
}

/// What the candidate must be read as.
fn entry(candidate: &Candidate) -> FilesystemEntry {
    let Candidate { label, kind, variant: Variant { mkfs, mount, conversion } } = candidate.clone();
    FilesystemEntry { label: (label != kind).then_some(label), kind, mkfs, mount, conversion }
}

/// `2g`: the units of the command line.
fn size(bytes: Bytes) -> String {
    const STEPS: [(u32, &str); 4] = [(40, "t"), (30, "g"), (20, "m"), (10, "k")];
    let step = STEPS.iter().find(|(power, _)| bytes.0 > 0 && bytes.0.is_multiple_of(1 << power));
    step.map_or_else(|| bytes.0.to_string(), |(power, unit)| format!("{}{unit}", bytes.0 >> power))
}

/// For a shell: in single quotes where it needs them.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=%+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell_only_where_needed() {
        assert_eq!(quoted("a,b-c"), "a,b-c");
        assert_eq!(quoted("it's here"), r"'it'\''s here'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn sizes_are_written_as_they_are_typed() {
        assert_eq!(size(Bytes(2 << 30)), "2g");
        assert_eq!(size(Bytes(512 << 20)), "512m");
        assert_eq!(size(Bytes(2_147_450_880)), "2097120k");
        assert_eq!(size(Bytes(1001)), "1001");
    }
}
