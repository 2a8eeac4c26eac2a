//! The user's input: an experiment file and flags, and how they become a plan.

pub(super) mod changed;
pub mod crossing;
pub mod entry;
pub mod eras;
pub mod judgeable;
pub mod longer;
pub mod mounted;
pub(super) mod named;
pub mod needs;
pub mod options;
pub mod own_command;
pub mod planned;
pub mod profiles;
pub mod scaled;
pub mod typed;
pub mod usual;

use std::path::Path;

use serde::Deserialize;
use toml::{Table, Value};

use self::crossing::{CROSS_KEYS, Cross};
use self::entry::{FILESYSTEM_KEYS, FilesystemEntry, WorkloadEntry};
use crate::analysis::ensemble::SAMPLES_NEEDED;
use crate::exit::Failure;
use crate::filesystems;
use crate::host::given;
use crate::runner::plan::resolved::Resolved;
use crate::runner::plan::{bounds, floor, labels, sharded};
use crate::runner::plan::{scenarios, values};
use crate::schema::job::WorkSpec;
use crate::schema::needs::Needs;
use crate::schema::plan::{
    self, Candidate, FIRST_LOOK, Factors, Plan, PlannedWork, Rounds, SCHEMA, Shortfall, Twice,
};
use crate::schema::power_cut::PowerCut;
use crate::schema::scenario::Scenario;
use crate::schema::setup::{ImageState, Variant};
use crate::schema::shard::Shard;
use crate::schema::units::{Bytes, GIB, MIB, Percent, Scale, Span};
use crate::testbeds::Usual;
use crate::text::{mistakes, names};
use crate::{store, testbeds, workloads};

/// Largest experiment file; a larger one is something else.
const LONGEST_FILE: Bytes = Bytes(MIB);
/// Default size of a volume. Below 512 MiB some kinds choose other block sizes; some kinds cannot be larger than a little less than
/// 2 GiB.
pub(super) const SIZE: Bytes = Bytes(2 * GIB);
const ROUNDS: u32 = 10;
const AT_LEAST: u32 = 6;
const MARGIN: Percent = Percent(3.0);
/// Stands for every kind where a list of filesystems is expected.
pub(super) const ALL: &str = "all";

/// The shipped experiments by name.
pub static SHIPPED: &[(&str, &str)] = &[
    ("quick", include_str!("../../../experiments/quick.toml")),
    ("mailserver", include_str!("../../../experiments/mailserver.toml")),
    ("fileserver", include_str!("../../../experiments/fileserver.toml")),
    ("desktop", include_str!("../../../experiments/desktop.toml")),
    ("hard-disk", include_str!("../../../experiments/hard-disk.toml")),
    ("mail-2008", include_str!("../../../experiments/mail-2008.toml")),
    ("fileserver-2002", include_str!("../../../experiments/fileserver-2002.toml")),
    ("mailserver-2002", include_str!("../../../experiments/mailserver-2002.toml")),
    ("mbox-2002", include_str!("../../../experiments/mbox-2002.toml")),
    ("fileserver-2006", include_str!("../../../experiments/fileserver-2006.toml")),
    ("einsatzgebiete", include_str!("../../../experiments/einsatzgebiete.toml")),
    ("raid-backup", include_str!("../../../experiments/raid-backup.toml")),
    ("raid-backup-as-published", include_str!("../../../experiments/raid-backup-as-published.toml")),
    ("raid-recovery", include_str!("../../../experiments/raid-recovery.toml")),
    ("provao", include_str!("../../../experiments/provao.toml")),
    ("provao-literal", include_str!("../../../experiments/provao-literal.toml")),
];

/// An experiment from a file or from flags.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Experiment {
    pub name: String,
    pub analysis: String,
    /// Testbed and storage: `loop`, `model:DISK`.
    pub on: Option<String>,
    pub size: Option<Bytes>,
    pub memory: Option<Bytes>,
    pub cpus: Option<u32>,
    pub image: Option<ImageState>,
    /// Layers between disks and filesystem, from the disks up: `md:raid5,chunk=64k`.
    pub layers: Vec<String>,
    /// Initial content of the filesystem: `filled 80%`, `aged by SET`.
    pub state: Option<String>,
    /// The era whose options all filesystems get that it covers and that state no era of their own.
    pub era: Option<String>,
    pub cold: Option<bool>,
    pub power_cut: Option<PowerCut>,
    pub clients: Option<u32>,
    pub workloads: Vec<String>,
    pub filesystems: Vec<String>,
    pub rounds: Option<RoundsAsked>,
    /// With `rounds = "auto"`: the least number of rounds.
    pub at_least: Option<u32>,
    pub budget: Option<Span>,
    pub margin: Option<Percent>,
    /// Whether the first candidate takes part twice (A/A check).
    pub guard: Option<bool>,
    pub seed: Option<u64>,
    pub scale: Option<Scale>,
    pub filesystem: Vec<FilesystemEntry>,
    pub workload: Vec<WorkloadEntry>,
    /// Stages; a workload in no scenario is its own scenario.
    pub scenario: Vec<Scenario>,
    pub cross: Cross,
    pub needs: Option<Needs>,
    /// Workloads of a stored plan, with all their parameters.
    #[serde(skip)]
    pub planned: Vec<PlannedWork>,
    /// The workload seed of a stored plan, if this seed differs from `seed`.
    #[serde(skip)]
    pub workload_seed: Option<u64>,
    /// From a stored plan: see [`Plan::floor`].
    #[serde(skip)]
    pub floor: Option<bool>,
    /// See [`Plan::shortfall`].
    #[serde(skip)]
    pub shortfall: Option<Shortfall>,
    /// The share of the trials to carry out; absent: all.
    #[serde(skip)]
    pub shard: Option<Shard>,
    /// Whether the user asked for all available kinds, although the plan lists each of them.
    #[serde(skip)]
    pub as_they_come: bool,
    /// From the configuration.
    #[serde(skip)]
    pub usual: Usual,
}

/// The keys without a row among the [`options`].
const OWN_KEYS: [&str; 7] =
    ["name", "analysis", "workloads", "filesystems", "filesystem", "workload", "cross"];

/// All keys of an experiment's file.
pub fn keys() -> Vec<&'static str> {
    OWN_KEYS.into_iter().chain(options::keys()).collect()
}

/// `rounds = 10` or `rounds = "auto"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundsAsked {
    Exactly(u32),
    Auto,
}

impl std::str::FromStr for RoundsAsked {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "auto" => Ok(RoundsAsked::Auto),
            Ok(n @ 1..) => Ok(RoundsAsked::Exactly(n)),
            _ => Err(format!("'{text}' is not a number of rounds; write 10 or auto")),
        }
    }
}

impl<'de> Deserialize<'de> for RoundsAsked {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Experiment {
    /// Loads an experiment by the path of its file, or by the name of a shipped experiment.
    pub fn load(named: &str) -> anyhow::Result<Self> {
        if let Some((name, text)) = SHIPPED.iter().find(|(name, _)| *name == named) {
            return Ok(Self::parse(text, name)?);
        }
        let path = Path::new(named);
        let looks_like_a_file = named.contains('/') || path.extension().is_some_and(|e| e == "toml");
        if !looks_like_a_file && !path.exists() {
            let unknown = names::unknown("experiment", named, SHIPPED.iter().map(|(name, _)| *name));
            return Err(
                Failure::usage(format!("{unknown}\n  try: a path to an experiment's .toml file")).into()
            );
        }
        let mut experiment = Self::parse(&read(path)?, named)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for entry in experiment.workload.iter_mut().filter(|entry| entry.set.is_empty()) {
            own_command::resolve(entry, folder)?;
        }
        Ok(experiment)
    }

    /// An experiment's text, or a stored plan's.
    ///
    /// # Errors
    /// Names the line, or the key and the nearest right one.
    pub fn parse(text: &str, from: &str) -> Result<Self, Failure> {
        let fault = |e: toml::de::Error| {
            Failure::usage(format!("could not parse {from}: {}", mistakes::in_words(&e)))
        };
        let table: Table = toml::from_str(text).map_err(fault)?;
        if table.contains_key(plan::MARK) {
            let damaged = |e: Failure| Failure::new(e.code, format!("{from} is damaged: {e}"));
            return store::plan::parse(text, from)?.try_into().map_err(damaged);
        }
        known_keys(&table, "key", &keys(), from)?;
        for (key, instead) in [("filesystem", "filesystems"), ("workload", "workloads")] {
            let is_list_of_tables = |v: &Value| v.as_array().is_some_and(|a| a.iter().all(Value::is_table));
            if table.get(key).is_some_and(|v| !is_list_of_tables(v)) {
                let text = format!(
                    "{from}: {key} is not a list of tables\n  try: [[{key}]], or {instead} = [\"…\"]"
                );
                return Err(Failure::usage(text));
            }
        }
        for entry in tables(&table, "filesystem") {
            known_keys(entry, "key of a filesystem", &FILESYSTEM_KEYS, from)?;
            let is_mounted = entry.get("on").and_then(Value::as_str).is_some_and(testbeds::is_directory);
            if !entry.contains_key("kind") && !is_mounted {
                let text = format!(
                    "{from}: the kind of a [[filesystem]] is missing\n  try: kind = \"…\", one of fsderby list \
                        filesystems"
                );
                return Err(Failure::usage(text));
            }
        }
        if let Some(Value::Table(cross)) = table.get("cross") {
            known_keys(cross, "factor", &CROSS_KEYS, from)?;
        }
        if let Some(Value::Table(needs)) = table.get("needs") {
            needs::misspelt(needs).map_err(|e| Failure::usage(format!("{from}: {e}")))?;
        }
        toml::from_str(text).map_err(fault)
    }

    /// The plan; `testbed` is for candidates that state none, `seed` for experiments without one.
    pub fn plan(&self, testbed: String, seed: u64) -> Result<Plan, Failure> {
        let seed = self.seed.unwrap_or(seed);
        if self.at_least == Some(0) {
            return Err(Failure::usage("at_least = 0: at least one round is needed\n  try: at_least = 6"));
        }
        let mut candidates = self.candidates()?;
        let place = |candidate: &Candidate| {
            let on = candidate.own.on.as_deref().unwrap_or(&testbed);
            values::asked(on).map(|place| place.samples()).map_err(Failure::usage)
        };
        let sampled: Vec<bool> = candidates.iter().map(place).collect::<Result<_, _>>()?;
        let all_sampled = !sampled.is_empty() && sampled.iter().all(|sampled| *sampled);
        // On modelled disks fewer rounds find nothing.
        let fewest = if all_sampled { SAMPLES_NEEDED as u32 } else { 1 };
        let at_least = self.at_least.unwrap_or(AT_LEAST).max(fewest);
        let rounds = match (self.rounds, self.budget) {
            (Some(RoundsAsked::Exactly(n)), _) => Rounds::Exactly(n),
            (_, Some(_)) => Rounds::AtLeast(at_least),
            // Without noise an interim analysis is useless: the ensemble is full, or it is not.
            (_, None) if all_sampled => Rounds::Exactly(at_least),
            (Some(RoundsAsked::Auto), None) if self.at_least.is_none() => Rounds::Auto,
            (_, None) => Rounds::Exactly(ROUNDS.max(at_least)),
        };
        if rounds.at_least() == 0 {
            return Err(Failure::usage("0 rounds are not possible\n  try: --rounds 1"));
        }
        let guard = self.guard(&testbed, rounds, &candidates)?;
        candidates.extend(guard.clone().map(|(_, copy)| copy));
        let workloads = self.planned_workloads(self.scale)?;
        let scenarios = scenarios::with_those_of_works(&self.scenario, &workloads, self.power_cut);
        let mut plan = Plan {
            schema: SCHEMA,
            name: if self.name.is_empty() { "unnamed".into() } else { self.name.clone() },
            analysis: self.analysis.clone(),
            testbed,
            rounds,
            guard: guard.map(|(twice, _)| twice),
            shortfall: self.shortfall,
            plan_seed: seed,
            workload_seed: self.workload_seed.unwrap_or(seed),
            candidates,
            workloads,
            scenarios,
            ..Plan::default()
        };
        self.put_into(&mut plan)?;
        plan.settle();
        bounds::check(&plan)?;
        let has_floor = !floor::trials(&Resolved::of(&plan)?).is_empty();
        plan.floor = self.floor.unwrap_or(has_floor);
        sharded::check(&Resolved::of(&plan)?)?;
        needs::check(&plan)?;
        labels::distinct("filesystem", plan.candidates.iter().map(|e| e.label.as_str()))?;
        labels::distinct("workload", plan.workloads.iter().map(|w| w.label.as_str()))?;
        labels::distinct("scenario", plan.scenarios.iter().map(|s| s.label.as_str()))?;
        Ok(plan)
    }

    /// The copy of the first candidate, if the A/A check is on.
    fn guard(
        &self,
        testbed: &str,
        rounds: Rounds,
        candidates: &[Candidate],
    ) -> Result<Option<(Twice, Candidate)>, Failure> {
        // The testbed of that candidate. `auto` is not chosen yet and counts as no modelled disk.
        let testbed = candidates.first().and_then(|first| first.own.on.as_deref()).unwrap_or(testbed);
        let place = values::asked(testbed).map_err(Failure::usage)?;
        let is_of_use = place.makes_filesystem() && place.scatters();
        let is_due = place.is_always_guarded() || (rounds.at_least() >= FIRST_LOOK && candidates.len() > 1);
        if self.guard == Some(true) && !is_of_use {
            let why =
                "an A/A copy would give identical figures there, or would be the same mounted filesystem";
            return Err(Failure::usage(format!(
                "guard is of no use on {testbed}: {why}\n  try: --guard=false"
            )));
        }
        let first = candidates.first().filter(|_| self.guard.unwrap_or(is_of_use && is_due));
        Ok(first.map(|first| {
            let copy = Candidate { label: format!("{}, again", first.label), ..first.clone() };
            (Twice { of: first.label.clone(), copy: copy.label.clone() }, copy)
        }))
    }

    /// A stored plan's needs are complete already; their profile may have changed.
    pub(super) fn whole_needs(&self) -> Result<Option<Needs>, Failure> {
        match self.is_stored() {
            true => Ok(self.needs.clone()),
            false => self.needs.clone().map(needs::whole).transpose(),
        }
    }

    /// The experiment's layers, each with all its settings.
    pub(super) fn written_layers(&self) -> Result<Vec<String>, Failure> {
        written(&self.layers).map_err(Failure::usage)
    }

    /// Whether kinds were taken as available, or from a stored plan, so that a kind that cannot take part is no user error.
    pub fn takes_all(&self) -> bool {
        let all_optional = !self.filesystem.is_empty() && self.filesystem.iter().all(|entry| entry.optional);
        let is_all = self.filesystems.iter().any(|f| f == ALL);
        self.as_they_come || is_all || self.is_stored() || self.filesystems.is_empty() && all_optional
    }

    /// Whether this candidate takes part only if the testbed has its requirements.
    pub fn is_optional(&self, candidate: &Candidate) -> bool {
        self.filesystem.iter().any(|entry| entry.optional && entry.kind == candidate.kind)
    }

    pub(super) fn candidates(&self) -> Result<Vec<Candidate>, Failure> {
        let mut listed = Vec::new();
        for name in &self.filesystems {
            if name == ALL {
                listed.extend(filesystems::TABLE.iter().map(|kind| FilesystemEntry::of_kind(kind.name())));
            } else {
                listed.push(FilesystemEntry::of_kind(name));
            }
        }
        let era = self.era.as_deref();
        let in_era = |entries: Vec<FilesystemEntry>| {
            let entries = entries.into_iter().map(|entry| entry.of_its_era(era));
            entries.collect::<Result<Vec<_>, _>>().map_err(Failure::usage)
        };
        let (listed, own) = (in_era(listed)?, in_era(self.filesystem.clone())?);
        let crossed = self.cross.on.iter().map(String::as_str);
        let common: Vec<&str> = self.on.as_deref().into_iter().chain(crossed).collect();
        let entries = self.cross.apply(mounted::rows(listed, own, &common)?)?;
        let candidates: Vec<Candidate> =
            entries.into_iter().map(|entry| self.candidate(entry)).collect::<Result<_, _>>()?;
        if let Some(era) = era {
            let eras = candidates.iter().map(|candidate| candidate.era.as_deref());
            eras::is_among(era, eras).map_err(Failure::usage)?;
        }
        mounted::comparable(&candidates, self.on.as_deref().unwrap_or(testbeds::AUTO))?;
        Ok(candidates)
    }

    fn candidate(&self, entry: FilesystemEntry) -> Result<Candidate, Failure> {
        let label = entry.label().to_owned();
        labels::usable("filesystem", &label)?;
        let fault = |e: String| Failure::usage(format!("{label}: {e}"));
        let is_mounted = entry.on.as_ref().or(self.on.as_ref()).is_some_and(|on| testbeds::is_directory(on));
        let kind = filesystems::find(&entry.kind);
        if is_mounted {
            mounted::takes(&entry).map_err(fault)?;
            labels::usable("filesystem", &entry.kind)?;
        } else if kind.is_none() {
            return Err(Failure::usage(filesystems::unknown(&entry.kind)));
        }
        let on = match self.is_stored() {
            // A stored plan's names were resolved, and may no longer exist.
            true => entry.on.clone().map(|on| values::place(&on).map(drop).map(|()| on)).transpose(),
            false => crossing::testbed_of(&entry, self.on.as_deref().unwrap_or(testbeds::AUTO), &self.usual),
        };
        let layers = entry.layers.as_deref().map(written).transpose().map_err(fault)?;
        let own = Factors { on: on.map_err(fault)?, layers, ..entry.own() };
        for state in own.state.iter().chain(&self.state) {
            values::state(Some(state)).map_err(fault)?;
        }
        if own.memory.or(self.memory) == Some(Bytes(0)) {
            let text = "a memory limit of 0 bytes is not possible\n  try: --memory 64m, or --memory none";
            return Err(fault(text.into()));
        }
        if own.cpus.or(self.cpus) == Some(0) {
            return Err(fault("0 CPUs are not possible\n  try: --cpus 1".into()));
        }
        let FilesystemEntry { kind: name, mkfs, mount, conversion, has_era: era, .. } = entry;
        let variant = Variant { mkfs, mount, conversion };
        if let Some(kind) = kind.filter(|_| !is_mounted) {
            filesystems::accept(kind, &variant).map_err(Failure::usage)?;
        }
        Ok(Candidate { label, kind: name, own, variant, era })
    }

    /// Whether this experiment was read from a stored plan.
    fn is_stored(&self) -> bool {
        !self.planned.is_empty()
    }

    pub(super) fn planned_workloads(&self, scale: Option<Scale>) -> Result<Vec<PlannedWork>, Failure> {
        let stored = self.planned.iter().map(|stored| {
            let engine = workloads::engine(&stored.work.engine).ok_or_else(|| {
                Failure::usage(format!("this fsderby has no workload {}", stored.work.engine))
            })?;
            let work = planned(engine, &stored.label, stored.work.parameters.clone(), scale)?;
            Ok(PlannedWork { clients: stored.clients, ..work })
        });
        let plain = self.workloads.iter().map(|set| of_set(set, None, &Table::new(), scale));
        let changed = self.workload.iter().map(|w| {
            let work = match w.set.as_str() {
                "" => planned(own_command::engine(w), &own_command::label(w), w.changed.clone(), scale)?,
                set => of_set(set, w.label.as_deref(), &w.changed, scale)?,
            };
            Ok(PlannedWork { clients: w.clients, ..work })
        });
        let mut all: Vec<PlannedWork> = stored.chain(plain).chain(changed).collect::<Result<_, _>>()?;
        let unnamed = all.len() - self.workload.len();
        tell_apart(&mut all, |at| at >= unnamed && self.workload[at - unnamed].label.is_none());
        for set in scenarios::sets_named(&self.scenario, &all) {
            all.push(of_set(set, None, &Table::new(), scale)?);
        }
        if all.is_empty() {
            let text = format!(
                "the experiment has no workload\n  try: --workloads {}",
                sets().next().unwrap_or("NAME")
            );
            return Err(Failure::usage(text));
        }
        Ok(all)
    }
}

/// The text of an experiment's file.
///
/// # Errors
/// If it cannot be read, is too large, or is not text.
pub fn read(path: &Path) -> Result<String, Failure> {
    given::text(path, LONGEST_FILE).map_err(|e| {
        let shown = path.display();
        Failure::usage(format!("could not read the experiment {shown}: {e}\n  try: the path of a TOML file"))
    })
}

fn known_keys(table: &Table, what: &str, known: &[&str], from: &str) -> Result<(), Failure> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            Err(Failure::usage(format!("{from}: {}", names::unknown(what, key, known.iter().copied()))))
        }
    }
}

fn tables<'a>(table: &'a Table, key: &str) -> impl Iterator<Item = &'a Table> {
    table.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table)
}

fn sets() -> impl Iterator<Item = &'static str> {
    workloads::TABLE.iter().flat_map(|w| w.sets()).map(|s| s.name)
}

/// The message about a workload that does not exist. An experiment of this name has workloads of other names.
fn unknown_workload(set: &str) -> String {
    if SHIPPED.iter().any(|(name, _)| *name == set) {
        return format!("{set} is an experiment, not a workload\n  try: fsderby run {set}");
    }
    names::unknown("workload", set, sets())
}

fn of_set(
    set: &str,
    label: Option<&str>,
    changed: &Table,
    scale: Option<Scale>,
) -> Result<PlannedWork, Failure> {
    let (engine, found) = workloads::find(set).ok_or_else(|| Failure::usage(unknown_workload(set)))?;
    let mut parameters = found.file().parameters;
    parameters.extend(changed.clone());
    planned(engine, label.unwrap_or(set), parameters, scale)
}

fn planned(
    engine: &dyn workloads::Workload,
    label: &str,
    mut parameters: Table,
    scale: Option<Scale>,
) -> Result<PlannedWork, Failure> {
    let fault = |e: String| Failure::usage(format!("workload {label}: {e}"));
    // An engine writes out defaults that it scales; the full work keeps its parameters, by which it is recognised.
    if let Some(scale) = scale.filter(|scale| !scale.is_whole()) {
        parameters = engine.scale(&parameters, scale).map_err(fault)?;
    }
    engine.parse(&parameters).map_err(fault)?;
    labels::usable("workload", label)?;
    Ok(PlannedWork {
        label: label.to_owned(),
        clients: None,
        work: WorkSpec { engine: engine.name().to_owned(), parameters },
    })
}

/// Layers with all settings.
fn written(texts: &[String]) -> Result<Vec<String>, String> {
    Ok(values::layers(texts)?.iter().map(|layer| layer.written()).collect())
}

/// Adds the number of clients to the labels of workloads that have the same label because the user gave none.
fn tell_apart(works: &mut [PlannedWork], is_unnamed: impl Fn(usize) -> bool) {
    let labels: Vec<String> = works.iter().map(|work| work.label.clone()).collect();
    for (at, work) in works.iter_mut().enumerate() {
        let is_alone = labels.iter().filter(|label| **label == work.label).count() == 1;
        if let (Some(clients), true, false) = (work.clients, is_unnamed(at), is_alone) {
            let noun = if clients == 1 { "client" } else { "clients" };
            work.label = format!("{}, {clients} {noun}", work.label);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_names_the_nearest() {
        let error = Experiment::parse("sise = \"2g\"", "x.toml").unwrap_err();
        assert!(error.what.contains("did you mean 'size'?"), "{error}");
        let error = Experiment::parse("[[filesystem]]\nkind=\"ext4\"\nmuont=[]", "x.toml").unwrap_err();
        assert!(error.what.contains("did you mean 'mount'?"), "{error}");
    }

    /// An interrupted run continues in its plan's order, even with another version of the program.
    #[test]
    fn a_seed_gives_the_order_and_the_workloads_seed_that_it_always_gave() {
        let text = "name = 'known'\nfilesystems = ['ext2', 'ext4', 'xfs', 'btrfs', 'jfs', 'f2fs']\n\
                    workloads = ['maildir-quick']\nseed = 7\nrounds = 2\n";
        let plan = Experiment::parse(text, "test").unwrap().plan("loop".into(), 1).unwrap();
        assert_eq!(plan.order(1, "maildir-quick"), [1, 0, 2, 4, 3, 5]);
        assert_eq!(plan.order(2, "maildir-quick"), [2, 5, 0, 3, 1, 4]);
        assert_eq!(
            [1, 2].map(|round| plan.workload_seed(round)),
            [2_006_328_255_003_015_773, 5_354_197_875_136_551_726]
        );
    }

    #[test]
    fn every_shipped_experiment_becomes_a_plan_and_says_what_it_is_for() {
        for (name, text) in SHIPPED {
            let experiment = Experiment::parse(text, name).unwrap();
            assert!(experiment.analysis.len() > 100, "{name}");
            experiment.plan("loop".into(), 1).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }

    #[test]
    fn a_wrong_unit_is_a_line_and_a_remedy() {
        let error = Experiment::parse("size = \"2q\"", "x.toml").unwrap_err().to_string();
        assert!(error.contains("line 1") && error.contains("512m"), "{error}");
    }
}
