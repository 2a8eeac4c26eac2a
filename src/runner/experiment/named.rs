//! Filesystems named on the command line instead of the experiment's; matching entries of the experiment stay.

use super::entry::FilesystemEntry;
use super::{ALL, Experiment};
use crate::filesystems;

impl Experiment {
    /// Takes exactly these kinds in this order, then those given with options. A kind of the experiment keeps its entry:
    /// conversion, options, setup. If the experiment has the kind only under other labels, all of these are taken.
    pub fn take_filesystems(&mut self, names: &[String], given: &[FilesystemEntry]) {
        if names.is_empty() && given.is_empty() {
            return;
        }
        let as_they_come = names.iter().any(|name| name == ALL);
        let every = || filesystems::TABLE.iter().map(|kind| kind.name().to_owned()).collect();
        let kinds = names.iter().flat_map(|name| if name == ALL { every() } else { vec![name.clone()] });
        let entries: Vec<FilesystemEntry> = kinds.flat_map(|name| self.entries_of(&name)).collect();
        if entries.iter().all(|entry| *entry == FilesystemEntry::of_kind(&entry.kind)) {
            self.filesystems = names.to_vec();
            self.filesystem = given.to_vec();
        } else {
            self.filesystems.clear();
            self.filesystem = entries.into_iter().chain(given.iter().cloned()).collect();
        }
        self.as_they_come = as_they_come;
    }

    /// The entries for this name on the command line.
    fn entries_of(&self, name: &str) -> Vec<FilesystemEntry> {
        let named = |is: &dyn Fn(&FilesystemEntry) -> bool| -> Vec<FilesystemEntry> {
            self.filesystem.iter().filter(|entry| is(entry)).cloned().collect()
        };
        let by_label = named(&|entry| entry.label() == name);
        let has_kind = self.filesystems.iter().any(|kind| kind == name || kind == ALL);
        let by_kind = if by_label.is_empty() && !has_kind { named(&|e| e.kind == name) } else { Vec::new() };
        let entries = [by_label, by_kind].concat();
        // An explicitly named kind is not optional.
        let wanted = |entry| FilesystemEntry { optional: false, ..entry };
        match entries.is_empty() {
            true => vec![FilesystemEntry::of_kind(name)],
            false => entries.into_iter().map(wanted).collect(),
        }
    }

    /// Whether this name on the command line yields the plain kind.
    pub fn gives_plain(&self, name: &str) -> bool {
        self.entries_of(name) == [FilesystemEntry::of_kind(name)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::experiment::SHIPPED;

    const OWN: &str = "filesystems = ['btrfs']\nworkloads = ['postmark-quick']\n\
                       [[filesystem]]\nkind = 'ext3-journal'\nconversion = true\n\
                       [[filesystem]]\nkind = 'fat16'\nmkfs = ['-s', '64']\n\
                       [[filesystem]]\nkind = 'xfs'\nlabel = 'a'\nmemory = '64m'\n\
                       [[filesystem]]\nkind = 'xfs'\nlabel = 'b'\n\
                       [[filesystem]]\nkind = 'ext4'\n\
                       [[filesystem]]\nkind = 'ext4'\nlabel = 'ext4, bare'\nmount = ['noatime']\n";

    fn labels(names: &[&str], given: &[&str]) -> Vec<String> {
        let mut experiment = Experiment::parse(OWN, "test").unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let given: Vec<FilesystemEntry> = given.iter().map(|text| text.parse().unwrap()).collect();
        experiment.take_filesystems(&names, &given);
        let said = |c: crate::schema::plan::Candidate| {
            let conversion = if c.variant.conversion { ", conversion" } else { "" };
            format!("{}{conversion} {:?} {:?}", c.label, c.variant.mkfs, c.own.memory.map(|m| m.written()))
        };
        experiment.candidates().unwrap().into_iter().map(said).collect()
    }

    #[test]
    fn a_kind_keeps_what_the_experiment_says_of_it_in_the_order_of_the_command_line() {
        assert_eq!(
            labels(&["ext4", "fat16", "ext3-journal", "jfs"], &[]),
            [
                "ext4 [] None",
                "fat16 [\"-s\", \"64\"] None",
                "ext3-journal, conversion [] None",
                "jfs [] None"
            ]
        );
        assert_eq!(labels(&["xfs"], &[]), ["a [] Some(\"64m\")", "b [] None"], "under other labels alone");
        assert_eq!(labels(&[], &["ext3-journal"]), ["ext3-journal [] None"], "given with its options: none");
    }

    #[test]
    fn all_kinds_keep_it_too_and_one_that_is_missing_is_no_mistake() {
        let mut experiment = Experiment::parse(OWN, "test").unwrap();
        experiment.take_filesystems(&["all".to_owned()], &[]);
        let candidates = experiment.candidates().unwrap();
        assert!(candidates.iter().any(|c| c.label == "ext3-journal" && c.variant.conversion));
        assert!(candidates.len() > filesystems::TABLE.len() && experiment.takes_all());
    }

    #[test]
    fn every_shipped_experiment_keeps_its_candidates_by_name() {
        for (name, text) in SHIPPED {
            let own = Experiment::parse(text, name).unwrap();
            let whole = own.candidates().unwrap();
            for candidate in whole.iter().filter(|c| c.label == c.kind) {
                let mut named = own.clone();
                named.take_filesystems(std::slice::from_ref(&candidate.kind), &[]);
                let named = named.candidates().unwrap();
                assert!(named.contains(candidate), "{name}: {}", candidate.label);
            }
        }
    }
}
