//! Candidates that compress, and what the workload's content means for them.

use crate::analysis::compression::{self, Stored};
use crate::report::view::entry::Entry;
use crate::report::view::workload::Label;
use crate::schema::record::Record;
use crate::store::Run;
use crate::workloads::{self, Content};

/// A candidate that compresses the files of a workload.
pub struct Compressing {
    pub filesystem: String,
    /// The mount option that makes it compress; empty if only its files show it.
    option: String,
    /// Bytes on the device ÷ bytes written, in the integrity check.
    pub share: Option<f64>,
    /// Whether the share is only an upper bound.
    is_at_most: bool,
    content: Vec<Content>,
}

/// By mount option, or because the integrity check found compressed files.
pub fn of(run: &Run, scenario: &str, filesystems: &[Entry]) -> Vec<Compressing> {
    let current = run.current();
    let one = |entry: &Entry| {
        let mine =
            || current.iter().copied().filter(|r| r.scenario == scenario && r.filesystem == entry.label);
        let option = mine().find_map(compression::option).unwrap_or_default().to_owned();
        let stored = mine().find_map(Stored::of);
        if option.is_empty() && !stored.is_some_and(|stored| stored.has_compressed) {
            return None;
        }
        let share = stored.map(Stored::share);
        let is_at_most = stored.is_some_and(|stored| stored.is_at_most);
        let (filesystem, content) = (entry.label.clone(), content(mine()));
        Some(Compressing { filesystem, option, share, is_at_most, content })
    };
    filesystems.iter().filter_map(one).collect()
}

/// The content of the measured works, each kind once.
fn content<'r>(records: impl Iterator<Item = &'r Record>) -> Vec<Content> {
    let works = records.flat_map(|record| &record.works).filter(|work| work.measured);
    let mut all = Vec::new();
    for content in
        works.filter_map(|work| workloads::engine(&work.work.engine)).map(|engine| engine.content())
    {
        if !all.contains(&content) {
            all.push(content);
        }
    }
    all
}

impl Compressing {
    /// `compresses (compress=zstd:3), 17% of the bytes stored: the workload writes generated text, …`
    pub fn label(&self) -> Label {
        let by = if self.option.is_empty() { String::new() } else { format!(" ({})", self.option) };
        let stored = self.share.map_or_else(String::new, |share| {
            format!(", with {:.0}% of the written bytes on the device in the integrity check", share * 100.0)
        });
        // Then nothing is said of its gain.
        let has_gain = self.is_at_most || self.share.is_none_or(|share| share < 1.0);
        if !has_gain {
            let text = format!(
                "compresses{by}{stored}: the compression saved no space, so the figures show only its cost"
            );
            return Label { filesystem: self.filesystem.clone(), text, page_cache: false };
        }
        let warnings: Vec<&str> = self.content.iter().map(|content| content.warning()).collect();
        let warned = if warnings.is_empty() { String::new() } else { format!(": {}", warnings.join("; ")) };
        let text = format!("compresses{by}{stored}{warned}");
        Label { filesystem: self.filesystem.clone(), text, page_cache: false }
    }
}

#[cfg(test)]
mod tests {
    use crate::report::examples::{self, Example};
    use crate::schema::event::{Encoding, Tree};
    use crate::schema::job::{At, Purpose};

    /// The example with its third candidate as Btrfs with this option, doing this engine's work; its device took this share.
    fn with(engine: &str, option: &str, stored: Option<u64>) -> Example {
        let mut example = examples::example();
        for record in example.run.records.iter_mut().filter(|r| r.filesystem == "birchfs") {
            record.kind = "btrfs".into();
            record.variant.mount = vec![option.to_owned()];
            record.works.iter_mut().for_each(|work| work.work.engine = engine.to_owned());
            let ratio = record.metrics.iter_mut().find(|m| m.name == "device.written_ratio");
            ratio.into_iter().for_each(|m| m.value = 0.17);
        }
        let one = example.run.records.iter().find(|r| r.filesystem == "birchfs").cloned();
        let mut check = one.expect("it has trials");
        (check.purpose, check.trial, check.round) = (Purpose::Integrity, "integrity/birchfs".into(), 0);
        check.works.iter_mut().for_each(|work| work.amount.bytes_peak = 1000);
        let (hash, expected) = (String::new(), None);
        check.trees.extend(stored.map(|stored| Tree {
            at: At::Filled,
            files: 1,
            bytes: 1000,
            stored,
            encoding: Some(if stored < 1000 { Encoding::Compressed } else { Encoding::Plain }),
            hash,
            expected,
            free: None,
        }));
        example.run.records.push(check);
        example
    }

    fn notes(example: &Example) -> (Vec<String>, bool) {
        let work = &example.report().summary.workloads[0];
        (work.notes(), work.marked("birchfs"))
    }

    #[test]
    fn compressed_content_did_not_stay_in_memory_and_its_kind_is_told() {
        let words = [
            ("postmark", "far better than real mail"),
            ("bonnie", "almost nothing"),
            ("iozone", "random bytes"),
        ];
        for (engine, word) in words {
            for option in ["compress=zstd", "compress-force=lzo", "compress=zlib:9"] {
                let (notes, is_marked) = notes(&with(engine, option, Some(170)));
                let told =
                    notes.iter().find(|note| note.starts_with("birchfs: compresses")).expect("it is told");
                assert!(told.contains(option) && told.contains(word) && told.contains("17%"), "{told}");
                assert!(!is_marked, "{engine} {option}: 17% arrived of 17%");
            }
        }
    }

    #[test]
    fn without_compression_the_same_share_is_the_page_caches() {
        let (notes, is_marked) = notes(&with("postmark", "noatime", Some(1000)));
        assert!(is_marked && !notes.iter().any(|note| note.contains("compresses")), "{notes:?}");
        let (notes, is_marked) = self::notes(&with("postmark", "compress=zstd", Some(1000)));
        assert!(is_marked, "nothing was compressed, so 17% is little: {notes:?}");
        let (notes, is_marked) = self::notes(&with("postmark", "compress=zstd", None));
        assert!(
            !is_marked && notes.iter().any(|note| note.contains("compresses (compress=zstd):")),
            "{notes:?}"
        );
    }

    #[test]
    fn where_nothing_was_saved_no_gain_is_overstated() {
        let (notes, _) = notes(&with("postmark", "compress=zstd", Some(1040)));
        let told = notes.iter().find(|note| note.contains("compresses")).expect("it is told");
        assert!(told.contains("104% of the written bytes") && told.contains("saved no space"), "{told}");
        assert!(!told.contains("overstated"), "{told}");
    }

    #[test]
    fn a_property_of_a_folder_compresses_without_any_option() {
        let (notes, is_marked) = notes(&with("postmark", "noatime", Some(170)));
        assert!(notes.iter().any(|note| note.starts_with("birchfs: compresses, with 17%")), "{notes:?}");
        assert!(!is_marked);
    }
}
