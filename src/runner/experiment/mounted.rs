//! Mounted filesystems as candidates: one for each directory. Nothing is formatted, so a candidate has no mkfs and no mount
//! options of its own, and its kind is what is found mounted there.

use std::path::Path;

use super::crossing;
use super::entry::{FilesystemEntry, MOUNTED};
use crate::exit::Failure;
use crate::filesystems;
use crate::runner::preflight::machine;
use crate::schema::plan::{Candidate, Plan};
use crate::testbeds::{Testbeds, is_directory};

/// The rows of an experiment whose common testbeds are these: on directories all entries without one of their own are a single
/// row. `listed` are names alone, `own` are tables with options.
///
/// # Errors
/// If a listed name is no filesystem.
pub fn rows(
    listed: Vec<FilesystemEntry>,
    own: Vec<FilesystemEntry>,
    common: &[&str],
) -> Result<Vec<FilesystemEntry>, Failure> {
    if common.is_empty() || !common.iter().all(|on| is_directory(on)) {
        return Ok(told_apart([listed, own].concat()));
    }
    if let Some(unknown) = listed.iter().find(|entry| filesystems::find(&entry.kind).is_none()) {
        return Err(Failure::usage(filesystems::unknown(&unknown.kind)));
    }
    let (placed, others): (Vec<_>, Vec<_>) = own.into_iter().partition(|entry| entry.on.is_some());
    let is_alone = listed.is_empty() && others.len() == 1;
    // With options of its own it is a filesystem that would be made, and its label says which.
    let is_named = |entry: &&FilesystemEntry| entry.label.is_some() && takes(entry).is_ok();
    if let Some(named) = others.iter().find(is_named).filter(|_| !is_alone) {
        return Err(Failure::usage(format!(
            "the label '{}' has no effect on a directory: a directory is a single candidate, whichever \
             filesystems are named\n  try: on = \"directory:PATH\" in its [[filesystem]], or no other \
             filesystem",
            named.label()
        )));
    }
    let row = match others.as_slice() {
        // Its label, and its kind, which must be the one that is mounted.
        [one] if listed.is_empty() => Some(one.clone()),
        [] if listed.is_empty() && !placed.is_empty() => None,
        _ => Some(FilesystemEntry::of_kind(MOUNTED)),
    };
    Ok(told_apart(row.into_iter().chain(placed).collect()))
}

/// If there are several candidates, a directory without a label is labelled with the end of its path.
fn told_apart(mut entries: Vec<FilesystemEntry>) -> Vec<FilesystemEntry> {
    let is_unnamed = |entry: &FilesystemEntry| {
        entry.label.is_none() && entry.kind == MOUNTED && entry.on.as_deref().is_some_and(is_directory)
    };
    if entries.len() > 1 {
        let paths = entries.iter().filter(|entry| is_unnamed(entry)).filter_map(|entry| entry.on.clone());
        let names = crossing::in_labels(paths.map(|on| path(&on).to_owned()).collect());
        for (entry, name) in entries.iter_mut().filter(|entry| is_unnamed(entry)).zip(names) {
            entry.label = Some(format!("{MOUNTED}, on {name}"));
        }
    }
    entries
}

/// The text after the colon, which is the directory's path.
fn path(on: &str) -> &str {
    on.split_once(':').map_or(on, |(_, path)| path)
}

/// A candidate on a directory.
///
/// # Errors
/// If the entry has an option that only mkfs or mount could apply.
pub fn takes(entry: &FilesystemEntry) -> Result<(), String> {
    let asked = [
        ("mkfs options have", !entry.mkfs.is_empty()),
        ("mount options have", !entry.mount.is_empty()),
        ("a conversion has", entry.conversion),
        ("layers have", entry.layers.as_ref().is_some_and(|layers| !layers.is_empty())),
    ];
    match asked.iter().find(|(_, is_asked)| *is_asked) {
        Some((what, _)) => Err(format!(
            "{what} no effect on a directory, whose filesystem is mounted already\n  try: --on loop, or leave \
             them out"
        )),
        None => Ok(()),
    }
}

/// Checks that mounted directories are compared only with each other, and that each directory has one kind of filesystem.
///
/// # Errors
/// Names two candidates that cannot both take part.
pub fn comparable(candidates: &[Candidate], common: &str) -> Result<(), Failure> {
    let on = |candidate: &'_ Candidate| candidate.own.on.clone().unwrap_or_else(|| common.to_owned());
    let (there, made): (Vec<_>, Vec<_>) = candidates.iter().partition(|c| is_directory(&on(c)));
    if let (Some(there), Some(made)) = (there.first(), made.first()) {
        return Err(Failure::usage(format!(
            "{} is mounted already, and {} would be a new filesystem: they differ in age, device and memory, \
             so they cannot be compared\n  try: directories alone, or --on loop for all",
            there.label, made.label
        )));
    }
    let is_known = |candidate: &Candidate| candidate.kind != MOUNTED;
    for (at, one) in there.iter().enumerate().filter(|(_, one)| is_known(one)) {
        let differs = |other: &&&Candidate| is_known(other) && on(other) == on(one) && other.kind != one.kind;
        if let Some(other) = there[at + 1..].iter().find(differs) {
            return Err(Failure::usage(format!(
                "{one} and {other} are on {place}, which cannot have both {kind} and {other_kind}\n  try: \
                 leave out the kinds",
                one = one.label,
                other = other.label,
                place = on(one),
                kind = one.kind,
                other_kind = other.kind
            )));
        }
    }
    Ok(())
}

/// The plan, completed with the kinds of filesystem mounted on its directories, and with default labels that name these kinds.
///
/// # Errors
/// If another kind was expected.
pub fn seen(mut plan: Plan, testbeds: &Testbeds<'_>) -> Result<Plan, Failure> {
    let texts: Vec<String> =
        plan.candidates.iter().map(|candidate| plan.setup(candidate).testbed.to_owned()).collect();
    for (candidate, text) in plan.candidates.iter_mut().zip(texts).filter(|(_, text)| is_directory(text)) {
        let Some(testbed) = testbeds.named(&text) else { continue };
        let fstype = fstype(testbed.folder());
        if candidate.kind == MOUNTED {
            candidate.label = match candidate.label.strip_prefix(MOUNTED) {
                Some("") => format!("{fstype}, as mounted"),
                Some(rest) => format!("{fstype}{}", rest.trim_start_matches(',')),
                None => std::mem::take(&mut candidate.label),
            };
        } else if !is_of_kind(&candidate.kind, &fstype) {
            return Err(Failure::usage(format!(
                "{label}: {kind} is expected in {folder}, but {fstype} is mounted there\n  try: another \
                 directory, or no kind",
                label = candidate.label,
                kind = candidate.kind,
                folder = testbed.folder().display()
            )));
        }
        candidate.kind = fstype;
    }
    Ok(plan)
}

fn fstype(folder: &Path) -> String {
    machine::below(folder).map_or_else(|| "unknown".to_owned(), |(fstype, _)| fstype)
}

/// Whether the type of a mounted filesystem, as the kernel names it, belongs to this kind, which may have another name.
fn is_of_kind(kind: &str, fstype: &str) -> bool {
    kind == fstype || filesystems::find(kind).is_some_and(|kind| kind.kernel().types.contains(&fstype))
}

#[cfg(test)]
mod tests {
    use crate::runner::experiment::Experiment;

    fn labels(text: &str) -> Vec<String> {
        let text = format!("name = 'x'\nworkloads = ['postmark-quick']\nrounds = 2\n{text}");
        let plan = Experiment::parse(&text, "test").unwrap().plan("directory:/mnt/a".into(), 1).unwrap();
        plan.candidates.iter().map(|c| format!("{} on {}", c.label, plan.setup(c).testbed)).collect()
    }

    fn refusal(text: &str) -> String {
        let text = format!("name = 'x'\nworkloads = ['postmark-quick']\nrounds = 2\n{text}");
        let experiment = Experiment::parse(&text, "test");
        experiment.and_then(|e| e.plan("loop".into(), 1)).unwrap_err().to_string()
    }

    #[test]
    fn a_directory_is_one_row_whatever_filesystems_the_experiment_names() {
        let names = "on = 'directory:/mnt/a'\nfilesystems = ['ext4', 'xfs']";
        assert_eq!(labels(names), ["mounted on directory:/mnt/a"]);
        assert!(refusal("on = 'directory:/mnt/a'\nfilesystems = ['ext5']").contains("unknown filesystem"));
    }

    #[test]
    fn several_directories_are_a_row_each_and_one_twice_is_told_apart() {
        let two = "filesystems = ['ext4', 'xfs']\ncross = { on = ['directory:/mnt/a', 'directory:/srv/b'] }";
        assert_eq!(labels(two), ["mounted, on a on directory:/mnt/a", "mounted, on b on directory:/srv/b"]);
        let same =
            "filesystems = ['ext4']\ncross = { on = ['directory:/a/x', 'directory:/b/x', 'directory:/b/x'] }";
        assert_eq!(
            labels(same),
            [
                "mounted, on a-x on directory:/a/x",
                "mounted, on b-x on directory:/b/x",
                "mounted, on b-x, again on directory:/b/x"
            ]
        );
    }

    #[test]
    fn a_table_gives_its_label_and_its_kind_is_not_ignored() {
        let own = "[[filesystem]]\non = 'directory:/mnt/a'\nlabel = 'old disk'\n\
                   [[filesystem]]\non = 'directory:/mnt/b'\nlabel = 'new disk'\nkind = 'xfs'";
        assert_eq!(labels(own), ["old disk on directory:/mnt/a", "new disk on directory:/mnt/b"]);
        let one = "on = 'directory:/mnt/a'\n[[filesystem]]\nkind = 'ext4'\nlabel = 'mine'";
        assert_eq!(labels(one), ["mine on directory:/mnt/a"]);
        let options = "[[filesystem]]\non = 'directory:/mnt/a'\nkind = 'ext4'\nmount = ['noatime']";
        assert!(refusal(options).contains("mount options have no effect on a directory"));
        let both = "[[filesystem]]\non = 'directory:/mnt/a'\nkind = 'ext4'\nlabel = 'a'\n\
                    [[filesystem]]\non = 'directory:/mnt/a'\nkind = 'xfs'\nlabel = 'b'";
        assert!(refusal(both).contains("cannot have both ext4 and xfs"));
        assert!(refusal("[[filesystem]]\nlabel = 'a'").contains("the kind of a [[filesystem]] is missing"));
    }

    #[test]
    fn whatever_a_table_of_a_directory_says_is_taken_or_refused_by_name() {
        let on = "[[filesystem]]\non = 'directory:/mnt/a'";
        for (keys, words) in [
            ("kind = 'xfs'\nera = '2006'", "no effect on a directory"),
            ("kind = 'ext4'\nmkfs = ['-O', 'quota']", "mkfs options have no effect on a directory"),
            ("kind = 'ext3-journal'\nconversion = true", "a conversion has no effect on a directory"),
            ("kind = 'ext4'\nlayers = ['crypt']", "layers have no effect on a directory"),
            ("label = 'a'\n[[filesystem]]\non = 'directory:/mnt/b'\nlabel = 'a'", "label"),
            ("label = ''", "label"),
            ("lable = 'a'", "lable"),
        ] {
            let said = refusal(&format!("{on}\n{keys}"));
            assert!(said.contains(words), "{keys}: {said}");
        }
        let several = format!("{on}\nkind = 'ext4'\nlabel = 'old'\n{on}\nkind = 'ext4'\nlabel = 'again'");
        assert_eq!(labels(&several), ["old on directory:/mnt/a", "again on directory:/mnt/a"]);
    }

    #[test]
    fn what_is_mounted_is_not_compared_with_what_is_made() {
        let mixed = "filesystems = ['ext4']\n[[filesystem]]\non = 'directory:/mnt/a'\nlabel = 'mine'";
        assert!(refusal(mixed).contains("they cannot be compared"));
    }
}
