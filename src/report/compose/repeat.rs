//! The command that expands to the same plan, and the parts of the plan that no command can express.

use shell_words::quote;

use crate::filesystems;
use crate::report::view::repeat::Repeat;
use crate::runner::experiment::entry::FilesystemEntry;
use crate::runner::experiment::{Experiment, SHIPPED};
use crate::runner::experiment::{options, own_command, profiles};
use crate::runner::plan::scenarios;
use crate::schema::plan::{Candidate, Factors, Plan};
use crate::schema::setup::Variant;
use crate::workloads;

/// `makes_filesystem` is a property of the testbed: without mkfs each candidate is a directory, and a single one needs no name.
pub fn of(plan: &Plan, makes_filesystem: bool) -> Repeat {
    let is_named = makes_filesystem || plan.candidates.len() > 1;
    let of = if is_named { plan.candidates.as_slice() } else { &[] };
    let is_copy = |c: &Candidate| plan.guard.as_ref().is_some_and(|twice| twice.copy == c.label);
    let candidates: Vec<Candidate> = of.iter().filter(|c| !is_copy(c)).cloned().collect();
    let candidates = candidates.as_slice();
    Repeat {
        command: command(plan, candidates, makes_filesystem),
        beyond: beyond(plan, candidates),
        unnamed: shipped(plan).is_none(),
    }
}

fn command(plan: &Plan, candidates: &[Candidate], makes_filesystem: bool) -> String {
    let mut words = vec!["fsderby run".to_owned()];
    words.extend(shipped(plan).map(str::to_owned));
    let own = shipped(plan).and_then(|name| Experiment::load(name).ok()).unwrap_or_default();
    match makes_filesystem {
        true => words.extend(filesystems_of(candidates, &own)),
        false => {
            words.extend(candidates.iter().map(|c| format!("--filesystem {}", quote(&directory(plan, c)))))
        }
    }
    let works: Vec<&str> = plan.workloads.iter().map(|w| w.label.as_str()).collect();
    words.push(match own_command::options(plan) {
        Some(options) => shell_words::join(options),
        None => format!("--workloads {}", quote(&works.join(","))),
    });
    // Directories stand with their candidates.
    let says_testbed = makes_filesystem || candidates.is_empty();
    let settings = options::all().filter(|setting| setting.name != options::TESTBED || says_testbed);
    words.extend(settings.flat_map(|setting| (setting.printed)(plan)));
    words.join(" ")
}

/// The shipped experiment that describes this plan.
fn shipped(plan: &Plan) -> Option<&'static str> {
    let same = |text: &str, name: &str| Experiment::parse(text, name).is_ok_and(|e| e.describes(plan));
    SHIPPED.iter().find(|(name, text)| same(text, name)).map(|(name, _)| *name)
}

/// `--filesystems` for the leading kinds without options (for which the experiment gives none either), then `--filesystem` for
/// each of the rest: the order is part of the plan.
fn filesystems_of(candidates: &[Candidate], own: &Experiment) -> Vec<String> {
    let all = filesystems::TABLE.iter().map(|kind| kind.name());
    let plain =
        candidates.iter().take_while(|e| is_plain(e) && own.gives_plain(&e.kind)).map(|e| e.kind.as_str());
    let plain: Vec<&str> = plain.collect();
    let (names, taken) = match all.clone().eq(plain.iter().copied().take(all.len())) {
        true => ("all".to_owned(), all.len()),
        false => (plain.join(","), plain.len()),
    };
    let mut words = Vec::new();
    if taken > 0 {
        words.push(format!("--filesystems {}", quote(&names)));
    }
    words.extend(candidates[taken..].iter().map(|e| format!("--filesystem {}", quote(&candidate(e)))));
    words
}

fn is_plain(candidate: &Candidate) -> bool {
    candidate.label == candidate.kind
        && candidate.own == Factors::default()
        && candidate.variant == Variant::default()
}

/// `directory:PATH label="old disk"`
fn directory(plan: &Plan, of: &Candidate) -> String {
    let own = Factors { on: None, ..of.own.clone() };
    let kind = plan.setup(of).testbed.to_owned();
    candidate(&Candidate { kind, own, ..of.clone() })
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
    let Factors { layers, .. } = &candidate.own;
    let own = Factors { layers: None, ..candidate.own.clone() };
    words.extend(own.said().iter().map(|(key, value)| format!("{key}={}", in_quotes(value))));
    words.extend(layers.iter().flat_map(|layers| layer_words(layers)));
    if *conversion {
        words.push("conversion".to_owned());
    }
    words.join(" ")
}

/// One word for each layer; a candidate without layers says so.
fn layer_words(layers: &[String]) -> Vec<String> {
    match layers {
        [] => vec!["layer=none".to_owned()],
        layers => layers.iter().map(|layer| format!("layer={}", in_quotes(layer))).collect(),
    }
}

/// A word of an entry: in double quotes if needed, since the whole entry may be in single quotes.
fn in_quotes(word: &str) -> String {
    if shell_words::split(word).is_ok_and(|words| words == [word]) {
        return word.to_owned();
    }
    format!("\"{}\"", word.replace('\\', r"\\").replace('"', r#"\""#))
}

fn beyond(plan: &Plan, candidates: &[Candidate]) -> Vec<String> {
    let mut beyond = Vec::new();
    let unsaid = candidates.iter().filter(|e| candidate(e).parse() != Ok(entry(e)));
    beyond.extend(unsaid.map(|e| format!("the options of {}", e.label)));
    let as_options = own_command::options(plan).is_some();
    let changed = plan.workloads.iter().filter(|_| !as_options).filter(|w| {
        let ready = workloads::find(&w.label).map(|(engine, set)| (engine.name(), set.file().parameters));
        ready.as_ref().map(|(engine, parameters)| (*engine, parameters))
            != Some((w.work.engine.as_str(), &w.work.parameters))
    });
    beyond.extend(changed.map(|w| format!("the parameters of {}", w.label)));
    let (scenarios, _) = scenarios::given(plan);
    beyond.extend(scenarios.iter().map(|scenario| format!("the stages of {}", scenario.label)));
    let own = plan.workloads.iter().filter(|w| w.clients.is_some());
    beyond.extend(own.map(|w| format!("the number of clients of {workload}", workload = w.label)));
    if plan.needs.as_ref().is_some_and(|needs| profiles::equal_to(needs).is_none()) {
        beyond.push("the needs".to_owned());
    }
    if plan.shard.as_ref().is_some_and(|shard| !shard.due.is_empty()) {
        beyond.push("the trials of the shard".to_owned());
    }
    if plan.workload_seed != plan.plan_seed {
        beyond.push(format!("the workload's seed {}", plan.workload_seed));
    }
    beyond
}

/// The entry that the command line must yield for this candidate.
fn entry(candidate: &Candidate) -> FilesystemEntry {
    let has_own_label = candidate.label != candidate.kind;
    let entry = FilesystemEntry::of_candidate(candidate.clone());
    FilesystemEntry { label: entry.label.filter(|_| has_own_label), ..entry }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candidate_is_read_as_it_was_written_whatever_its_label() {
        for label in ["no atime", "", "it's", r#"a "quick" one"#, r"back\slash", "#1", "two  blanks"] {
            let variant = Variant { mkfs: vec!["-O".into(), "^has_journal".into()], ..Variant::default() };
            let own = Factors { on: Some("vm:images=/srv/a b".into()), cpus: Some(2), ..Factors::default() };
            for own in [Factors::default(), own] {
                let variant = variant.clone();
                let one = Candidate { label: label.into(), kind: "kind".into(), own, variant, era: None };
                assert_eq!(candidate(&one).parse(), Ok(entry(&one)), "{}", candidate(&one));
            }
        }
    }
}
