//! What commands print with `--json`, where no other type holds it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::foresight::Foresight;
use super::terms::Term;
use crate::filesystems::{Capabilities, Fact, KernelNeed};
use crate::papers::Paper;
use crate::runner::experiment::eras::Options;
use crate::schema::declared::Declared;
use crate::schema::description::Description;
use crate::schema::job::Job;
use crate::schema::needs::Needs;
use crate::schema::plan::Plan;
use crate::schema::units::Bytes;
use crate::testbeds::model::machines::Machine;

/// Version of the pages that only their command prints.
pub const VERSION: u32 = 1;

/// `fsderby list --json`: the tables that were asked for.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "a list has the one table that was asked for; its rows are of these types")]
pub struct Lists {
    schema_version: u32,
    filesystems: Option<Vec<Kind>>,
    workloads: Option<Vec<Set>>,
    testbeds: Option<Vec<Named>>,
    layers: Option<Vec<Named>>,
    stages: Option<Vec<Named>>,
    states: Option<Vec<Named>>,
    probes: Option<Vec<Named>>,
    experiments: Option<Vec<ExperimentNamed>>,
    disks: Option<Vec<Disk>>,
    machines: Option<Vec<Machine>>,
    papers: Option<Vec<PaperNamed>>,
    profiles: Option<Vec<Profiled>>,
    eras: Option<Vec<EraNamed>>,
    metrics: Option<Vec<Metric>>,
    terms: Option<Vec<Term>>,
}

/// `fsderby explain NAME --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Explained {
    pub schema_version: u32,
    /// All that have the name.
    pub subjects: Vec<Subject>,
}

/// What `fsderby explain` explains.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Subject {
    Kind(KindExplained),
    Engine(Engine),
    Set(Set),
    Named(Named),
    Experiment(ExperimentNamed),
    Described(Described),
    Paper(PaperNamed),
    Profile(Profiled),
    Era(Era),
    Metric(Metric),
    Term(&'static Term),
}

/// A kind of filesystem.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Kind {
    pub name: &'static str,
    pub story: Description,
    pub package: &'static str,
    pub can: Capabilities,
    /// Bytes of the smallest and the largest volume.
    pub smallest: Bytes,
    pub largest: Bytes,
    pub kernel: KernelNeed,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct KindExplained {
    pub name: String,
    pub story: Description,
    pub can: Capabilities,
    pub package: &'static str,
    pub commits_after_seconds: Fact<u64>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Engine {
    pub name: String,
    pub story: Description,
    pub sets: Vec<&'static str>,
}

/// A parameter set of an engine.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Set {
    pub name: String,
    pub engine: &'static str,
    pub story: String,
    pub source: String,
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub parameters: toml::Table,
}

/// A testbed, layer, stage, state or probe.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Named {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<&'static str>,
    pub story: Description,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<&'static str>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ExperimentNamed {
    pub name: String,
    pub analysis: String,
    /// The file's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toml: Option<String>,
}

/// A modelled disk in a list.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Disk {
    pub name: String,
    pub title: String,
    pub story: String,
    pub bytes: u64,
    pub read_4k_ns: u64,
}

/// A modelled disk or a machine with its file.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Described {
    pub name: String,
    pub title: String,
    pub story: String,
    pub toml: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PaperNamed {
    pub name: String,
    pub paper: Paper,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Profiled {
    pub name: String,
    pub story: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    pub needs: Needs,
}

/// An era in a list: the kinds that it has options for.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct EraNamed {
    pub name: String,
    pub story: String,
    pub kinds: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Era {
    pub name: String,
    pub story: String,
    pub source: String,
    pub kinds: Vec<Options>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Metric {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub declared_by: String,
    pub metric: &'static Declared,
}

/// `fsderby run --dry-run --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct DryRun<'a> {
    pub schema_version: u32,
    pub plan: &'a Plan,
    /// The jobs of the first rounds, or all jobs of a shard; absent if a run is resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<Vec<Job>>,
    /// Cells that would be skipped, each with its reason.
    pub skipped: Vec<(String, String)>,
    pub foresight: Option<Foresight>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<Vec<String>>,
    /// What the shard does, if the plan is that of a shard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<DryShare>,
}

/// The share of a plan that a shard carries out.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct DryShare {
    pub trials: usize,
    pub integrity_checks: usize,
    pub extra_trials: usize,
    pub bytes_written: u64,
    /// Expected duration; absent if a run is resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

/// `fsderby verify --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Verified {
    pub schema_version: u32,
    pub records: usize,
    pub metrics: usize,
    pub histograms: usize,
    pub consoles: usize,
    pub findings: usize,
    /// Lines that were not written completely.
    pub torn: Vec<String>,
    /// Names in the folder that the seal does not cover.
    pub uncovered: Vec<String>,
    pub notes: Vec<String>,
    pub wrong: Vec<String>,
}

/// `fsderby verify IMPORT --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct VerifiedImport {
    pub schema_version: u32,
    pub imported: bool,
    pub sources: usize,
    pub results: usize,
    pub figures: usize,
    pub wrong: Vec<String>,
}

/// `fsderby merge --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Merged {
    pub schema_version: u32,
    pub run: String,
    pub shards: usize,
    pub records: usize,
    pub left_out: usize,
    pub left: usize,
}

/// `fsderby slurm status --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Campaign {
    pub schema_version: u32,
    pub shards: Vec<ShardState>,
    /// The shards of the trials that results called for; empty as long as none are known.
    pub next: Vec<ShardState>,
    /// The other jobs, in their order.
    pub jobs: Vec<JobState>,
    /// Trials that are over, and all that are known, each counted in every shard that has it.
    pub trials: usize,
    pub of: usize,
    pub seconds_left: Option<u64>,
    pub merged: Option<MergedState>,
    /// The exit code of the job that checks the merged run.
    pub check: Option<u8>,
    /// Why Slurm's queue is unknown, if it is.
    pub queue: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ShardState {
    pub shard: u32,
    pub state: StateName,
    /// Slurm's word for the state, or why the shard failed.
    pub why: Option<String>,
    pub trials: usize,
    pub of: usize,
}

/// A job of a campaign beside its shards.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct JobState {
    pub job: &'static str,
    pub state: StateName,
    /// Slurm's word for the state, or why the job failed.
    pub why: Option<String>,
    pub exit_code: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StateName {
    Done,
    Running,
    Queued,
    Failed,
    NotBegun,
}

/// How far the campaign's run is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MergedState {
    Complete,
    /// The rounds are merged, and trials at worst corners remain.
    Rounds,
}
