//! A candidate as it is typed: the way back from a plan's candidate to `--filesystem 'KIND label="no atime" mount=noatime'`.

use shell_words::quote;

use super::entry::FilesystemEntry;
use super::{Experiment, eras};
use crate::filesystems::TABLE;
use crate::schema::plan::{Candidate, Factors, Plan};
use crate::schema::setup::Variant;

/// `--filesystems` for the leading kinds without options (for which the experiment gives none either), then `--filesystem` for
/// each of the rest: the order is part of the plan.
pub fn filesystems(candidates: &[Candidate], own: &Experiment) -> Vec<String> {
    let all = TABLE.iter().map(|kind| kind.name());
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

/// On directories: `--filesystem 'directory:PATH label="old disk"'` for each.
pub fn directories(plan: &Plan, candidates: &[Candidate]) -> Vec<String> {
    candidates.iter().map(|c| format!("--filesystem {}", quote(&directory(plan, c)))).collect()
}

/// Whether what is typed for this candidate gives all of it.
pub fn is_whole(of: &Candidate) -> bool {
    candidate(of).parse() == Ok(entry(of))
}

/// The candidates that a user gave: all but the copy that shows what a difference of nothing looks like.
pub fn given(plan: &Plan) -> Vec<Candidate> {
    let is_copy = |c: &&Candidate| plan.guard.as_ref().is_some_and(|twice| twice.copy == c.label);
    plan.candidates.iter().filter(|c| !is_copy(c)).cloned().collect()
}

/// `directory:PATH label="old disk"`
fn directory(plan: &Plan, of: &Candidate) -> String {
    let own = Factors { on: None, ..of.own.clone() };
    let kind = plan.setup(of).testbed.to_owned();
    candidate(&Candidate { kind, own, ..of.clone() })
}

/// `KIND label="no atime" mount=noatime`
fn candidate(candidate: &Candidate) -> String {
    let mut words = vec![candidate.kind.clone()];
    if candidate.label != candidate.kind {
        words.push(format!("label={}", in_quotes(&candidate.label)));
    }
    match of_its_era(candidate) {
        Some((era, own)) => {
            words.push(format!("era={}", in_quotes(era)));
            words.extend(options(&own));
        }
        None => words.extend(options(candidate)),
    }
    words.join(" ")
}

/// The era of a candidate, and the candidate with its own options alone; `None` without an era, or with other options than its
/// era's now.
fn of_its_era(candidate: &Candidate) -> Option<(&str, Candidate)> {
    let (era, variant) = (candidate.era.as_deref()?, eras::own_options(candidate)?);
    Some((era, Candidate { variant, era: None, ..candidate.clone() }))
}

/// What is typed after kind and label: `mount=noatime`, `mkfs="-O quota"`, `memory=64m`.
pub fn options(candidate: &Candidate) -> Vec<String> {
    let Variant { mkfs, mount, conversion } = &candidate.variant;
    let mut words = Vec::new();
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
    words
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

/// The entry that the command line must yield for this candidate.
fn entry(candidate: &Candidate) -> FilesystemEntry {
    let has_own_label = candidate.label != candidate.kind;
    let of = |candidate: &Candidate| FilesystemEntry::of_candidate(candidate.clone());
    let entry = match of_its_era(candidate) {
        Some((era, own)) => FilesystemEntry { era: Some(era.to_owned()), ..of(&own) },
        None => of(candidate),
    };
    FilesystemEntry { label: entry.label.filter(|_| has_own_label), ..entry }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_era_is_typed_instead_of_its_options() {
        let typed = |text: &str| {
            let entry: FilesystemEntry = text.parse().unwrap();
            let FilesystemEntry { label, kind, mkfs, mount, has_era: era, .. } =
                entry.of_its_era(None).unwrap();
            let variant = Variant { mkfs, mount, conversion: false };
            candidate(&Candidate { label: label.unwrap(), kind, variant, era, ..Candidate::default() })
        };
        let text = r#"ext2 label="ext2, 2006" era=2006 mount=nodev"#;
        assert_eq!(typed(text), text);
        assert_eq!(typed("ext2 era=2006 mount=nodev"), text);
    }

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
