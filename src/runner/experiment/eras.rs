//! Default options of a period: how mkfs and mount created and mounted each kind then, as far as today's tools and drivers
//! support it.
//!
//! ```toml
//! [[filesystem]]
//! kind = "KIND"
//! era = "2006"
//! ```

use serde::{Deserialize, Serialize};

use crate::filesystems;
use crate::schema::plan::Candidate;
use crate::schema::setup::Variant;
use crate::text::names;

/// The shipped option sets by name.
pub static TABLE: &[(&str, &str)] = &[
    // One row a line.
    ("2006", include_str!("../../../eras/2006.toml")),
];

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Era {
    /// The systems of that period, and how these options differ from the systems' defaults.
    pub story: String,
    pub source: String,
    /// `[[kind]]`
    #[serde(rename = "kind")]
    pub kinds: Vec<Options>,
}

/// Options that several kinds share.
#[derive(Clone, Debug, Default, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    pub names: Vec<String>,
    pub mkfs: Vec<String>,
    pub mount: Vec<String>,
    /// Options that today's tools and drivers no longer support.
    pub lost: String,
}

/// # Errors
/// Names the nearest one.
pub fn find(name: &str) -> Result<Era, String> {
    let found = TABLE.iter().find(|(known, _)| *known == name);
    let (known, text) =
        found.ok_or_else(|| names::unknown("era", name, TABLE.iter().map(|(known, _)| *known)))?;
    toml::from_str(text).map_err(|e| format!("the era {known}: {e}"))
}

/// This kind's options of that period.
///
/// # Errors
/// If there is no such era, or it does not cover that kind.
pub fn options(name: &str, kind: &str) -> Result<Options, String> {
    let era = find(name)?;
    let known = || era.kinds.iter().flat_map(|options| options.names.clone()).collect::<Vec<_>>().join(", ");
    let found = era.kinds.iter().find(|options| options.names.iter().any(|known| known == kind)).cloned();
    found.ok_or_else(|| {
        let text = format!("the era {name} has no options for {kind}, only for {}", known());
        let is_kind = filesystems::find(kind).is_some();
        if is_kind { format!("{text}\n  try: without era = \"{name}\"") } else { text }
    })
}

/// Refuses an era whose options no filesystem has, given the era of each.
///
/// # Errors
/// If there is no such era, or it is none of these.
pub fn is_among<'e>(name: &str, mut eras: impl Iterator<Item = Option<&'e str>>) -> Result<(), String> {
    let known: Vec<String> = find(name)?.kinds.into_iter().flat_map(|options| options.names).collect();
    match eras.any(|era| era == Some(name)) {
        true => Ok(()),
        false => {
            Err(format!("the era {name} has options only for {}\n  try: without --era", known.join(", ")))
        }
    }
}

/// The candidate's own options, without those of its era; `None` if its plan states other options of this era.
pub fn own_options(candidate: &Candidate) -> Option<Variant> {
    let Some(era) = &candidate.era else { return Some(candidate.variant.clone()) };
    let of = options(era, &candidate.kind).ok()?;
    let Variant { mkfs, mount, conversion } = &candidate.variant;
    let (mkfs, mount) = (mkfs.strip_prefix(&of.mkfs[..])?, mount.strip_prefix(&of.mount[..])?);
    Some(Variant { mkfs: mkfs.to_vec(), mount: mount.to_vec(), conversion: *conversion })
}

/// The options of this candidate's era that today's tools and drivers no longer support; `None` if it has no era, or differs from
/// what its plan states.
pub fn lost(candidate: &Candidate) -> Option<String> {
    let of = options(candidate.era.as_deref()?, &candidate.kind).ok()?;
    own_options(candidate).map(|_| of.lost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filesystems::accept;
    use crate::runner::experiment::Experiment;

    #[test]
    fn every_era_has_a_source_and_options_that_its_kinds_accept() {
        for (name, _) in TABLE {
            let Era { story, source, kinds } = find(name).unwrap();
            assert!(story.len() > 100 && source.len() > 100, "{name}");
            let mut seen = Vec::new();
            for Options { names, mkfs, mount, lost } in kinds {
                assert!(lost.ends_with('.') && !names.is_empty(), "{name}");
                for kind in names {
                    let variant = Variant { mkfs: mkfs.clone(), mount: mount.clone(), conversion: false };
                    let found = filesystems::find(&kind).unwrap_or_else(|| panic!("{name}: no kind {kind}"));
                    accept(found, &variant).unwrap_or_else(|e| panic!("{name}: {e}"));
                    assert!(!seen.contains(&kind), "{name} has {kind} twice");
                    seen.push(kind);
                }
            }
        }
    }

    #[test]
    fn what_is_lost_is_said_of_whoever_has_the_options_of_that_time() {
        let Options { mkfs, mount, .. } = options("2006", "jfs").unwrap();
        let candidate = |era: Option<&str>, mount: Vec<String>| Candidate {
            kind: "jfs".into(),
            era: era.map(str::to_owned),
            variant: Variant { mkfs: mkfs.clone(), mount, conversion: false },
            ..Candidate::default()
        };
        let more = [mount.clone(), vec!["discard".into()]].concat();
        assert!(lost(&candidate(Some("2006"), more)).is_some_and(|lost| lost.contains("no write barriers")));
        assert_eq!(lost(&candidate(None, mount.clone())), None);
        assert_eq!(
            lost(&candidate(Some("2006"), Vec::new())),
            None,
            "it has not the options that it should have"
        );
        assert_eq!(lost(&candidate(Some("2060"), mount)), None);
    }

    #[test]
    fn a_common_era_gives_its_options_to_what_it_covers_and_states_no_other() {
        let plan = |text: &str| {
            let experiment =
                Experiment::parse(&format!("rounds = 1\nworkloads = ['postmark-quick']\n{text}"), "test")
                    .unwrap();
            experiment.plan("loop".into(), 1)
        };
        let text = "era = '2006'\nfilesystems = ['ext2', 'ext4']\n[[filesystem]]\nkind = 'xfs'\nmkfs = ['-d', 'agcount=2']";
        let candidates = plan(text).unwrap().candidates;
        let eras: Vec<Option<&str>> = candidates.iter().map(|candidate| candidate.era.as_deref()).collect();
        assert_eq!(eras, [Some("2006"), None, Some("2006")]);
        assert_eq!((candidates[0].label.as_str(), candidates[1].label.as_str()), ("ext2, 2006", "ext4"));
        let own = own_options(&candidates[2]).unwrap();
        assert_eq!((own.mkfs, own.mount), (vec!["-d".to_owned(), "agcount=2".to_owned()], Vec::new()));
        let refused = |text: &str| plan(text).unwrap_err().to_string();
        assert!(refused("era = '2006'\nfilesystems = ['ext4']").contains("has options only for ext2"));
        assert!(refused("era = '1999'\nfilesystems = ['ext2']").contains("unknown era '1999'"));
    }

    #[test]
    fn what_an_era_does_not_know_is_said_with_what_it_knows() {
        assert!(options("2060", "ext3-ordered").is_err_and(|e| e.contains("did you mean '2006'?")));
        assert!(
            options("2006", "btrfs")
                .is_err_and(|e| e.contains("has no options for btrfs") && e.contains("xfs"))
        );
    }
}
