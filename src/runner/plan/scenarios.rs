//! The scenarios of a plan: the experiment's, and the engines' defaults for other workloads. Pure.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::bounds;
use super::labels;
use super::values;
use crate::exit::Failure;
use crate::schema::job::Portion;
use crate::schema::plan::{Plan, PlannedWork};
use crate::schema::power_cut::PowerCut;
use crate::schema::scenario::{OtherStage, Scenario, Stage, WorkStage};
use crate::stages::{self, Around, StageKind, WorkEnds};
use crate::text::names;
use crate::workloads::{self, Work, Workload};

/// A scenario with all parts of its works in place.
#[derive(Clone, Default)]
pub struct Laid<'p> {
    pub works: Vec<LaidWork<'p>>,
    pub stages: Vec<LaidStage>,
    /// The number of leading stages that create the initial state.
    pub before: usize,
}

/// A workload, or the parts of one that run together.
#[derive(Clone)]
pub struct LaidWork<'p> {
    /// The work's label, with a number if the scenario has the work several times.
    pub name: String,
    pub planned: Cow<'p, PlannedWork>,
    pub work: Arc<dyn Work>,
    pub measured: bool,
    pub clients: u32,
}

impl LaidWork<'_> {
    /// Whether this work copies from a second disk.
    pub fn copies_from_beside(&self) -> bool {
        self.work.needs().source
    }

    /// Whether this work and the other do the same in the same way.
    fn is_as(&self, other: &LaidWork<'_>) -> bool {
        (&self.planned, self.measured, self.clients) == (&other.planned, other.measured, other.clients)
    }
}

#[derive(Clone)]
pub enum LaidStage {
    Work { of: usize, portion: Portion },
    Other { kind: &'static dyn StageKind, argument: Option<String> },
}

/// A parsed workload of a plan or of a state.
pub struct KnownWork<'p> {
    pub planned: Cow<'p, PlannedWork>,
    pub engine: &'static dyn Workload,
    pub work: Arc<dyn Work>,
}

impl<'p> KnownWork<'p> {
    /// # Errors
    /// If there is no such workload, or its parameters are not understood.
    pub fn of(planned: Cow<'p, PlannedWork>) -> Result<Self, Failure> {
        let (engine, work) = values::work(&planned)?;
        Ok(KnownWork { planned, engine, work })
    }
}

/// A parsed scenario of a plan.
pub struct KnownScenario<'p> {
    stages: Vec<KnownStage<'p>>,
}

enum KnownStage<'p> {
    /// `of` is the plan's workload; `stage` gives part, portion and clients.
    Work {
        stage: &'p WorkStage,
        of: usize,
        portion: Portion,
        clients: u32,
    },
    Other {
        kind: &'static dyn StageKind,
        argument: Option<&'p str>,
    },
}

/// The ready parameter sets that these scenarios name without a workload of that label, each once: they take part as they are.
pub fn sets_named<'s>(scenarios: &'s [Scenario], labelled: &[PlannedWork]) -> Vec<&'s str> {
    let mut sets: Vec<&str> = Vec::new();
    for named in scenarios.iter().flat_map(Scenario::works).map(|work| work.work.as_str()) {
        let is_known = labelled.iter().any(|work| work.label == named) || sets.contains(&named);
        if !is_known && workloads::find(named).is_some() {
            sets.push(named);
        }
    }
    sets
}

/// Adds a scenario for each workload that none of these names: the work alone, or with the power cut.
pub fn with_those_of_works(
    given: &[Scenario],
    works: &[PlannedWork],
    cut: Option<PowerCut>,
) -> Vec<Scenario> {
    let named: HashSet<&str> =
        given.iter().flat_map(Scenario::works).map(|work| work.work.as_str()).collect();
    let own = works.iter().filter(|work| !named.contains(work.label.as_str()));
    let own = own.map(|work| of_work(&work.label, cut));
    given.iter().cloned().chain(own).collect()
}

fn of_work(label: &str, cut: Option<PowerCut>) -> Scenario {
    cut.map_or_else(|| Scenario::of_work(label), |cut| stages::short_form(label, cut))
}

/// The scenarios of a plan that are not defaults, and the power cut of the defaults.
pub fn given(plan: &Plan) -> (Vec<Scenario>, Option<PowerCut>) {
    let cuts = plan.scenarios.iter().flat_map(Scenario::others).filter_map(|stage| stage.argument.as_deref());
    let cut = cuts.filter_map(|argument| argument.parse().ok()).find(|cut| {
        plan.scenarios.iter().any(|scenario| *scenario == stages::short_form(&scenario.label, *cut))
    });
    let is_given = |scenario: &&Scenario| **scenario != of_work(&scenario.label, cut);
    (plan.scenarios.iter().filter(is_given).cloned().collect(), cut)
}

/// Parses this scenario and checks that its stages can follow each other.
///
/// # Errors
/// Names the scenario and the stage, and what to write.
pub fn understood<'p>(
    plan: &'p Plan,
    works: &[KnownWork<'p>],
    scenario: &'p Scenario,
) -> Result<KnownScenario<'p>, Failure> {
    labels::usable("scenario", &scenario.label)?;
    let fault = |e| Failure::usage(format!("scenario {}{e}", scenario.label));
    let stages = known_stages(plan, works, scenario).map_err(fault)?;
    Ok(KnownScenario { stages })
}

fn known_stages<'p>(
    plan: &'p Plan,
    works: &[KnownWork<'p>],
    scenario: &'p Scenario,
) -> Result<Vec<KnownStage<'p>>, String> {
    let fault = |at: usize, e: String| format!(", stage {} ({}): {e}", at + 1, scenario.stages[at]);
    let kind = |(at, stage): (usize, &Stage)| match stage {
        Stage::Work(_) => Ok(None),
        Stage::Other(other) => values::stage(&other.name).map(Some).map_err(|e| fault(at, e)),
    };
    let kinds: Vec<Kind> = scenario.stages.iter().enumerate().map(kind).collect::<Result<_, _>>()?;
    let mut known = Vec::new();
    for at in 0..kinds.len() {
        known.push(known_stage(plan, works, scenario, &kinds, at).map_err(|e| fault(at, e))?);
    }
    if !scenario.works().any(|work| work.measured) {
        return Err(
            ": no stage of the scenario is measured\n  try: a stage { work = \"LABEL\" } without measured = \
             false"
                .into(),
        );
    }
    Ok(known)
}

/// The kind of a stage; `None` for work.
type Kind = Option<&'static dyn StageKind>;

fn known_stage<'p>(
    plan: &'p Plan,
    works: &[KnownWork<'p>],
    scenario: &'p Scenario,
    kinds: &[Kind],
    at: usize,
) -> Result<KnownStage<'p>, String> {
    let (before, after) = (&scenario.stages[..at], &scenario.stages[at + 1..]);
    match (&scenario.stages[at], kinds[at]) {
        (Stage::Other(OtherStage { argument, .. }), Some(kind)) => {
            kind.stands(argument.as_deref(), &Around { before, after })?;
            Ok(KnownStage::Other { kind, argument: argument.as_deref() })
        }
        (Stage::Other(OtherStage { name, .. }), None) => Err(format!("{name} is no stage")),
        (Stage::Work(stage), _) => {
            let labels = || plan.workloads.iter().map(|work| work.label.as_str());
            let of = labels().position(|label| label == stage.work);
            let sets = || workloads::TABLE.iter().flat_map(|engine| engine.sets()).map(|set| set.name);
            let of = of.ok_or_else(|| {
                let known: BTreeSet<&str> = labels().chain(sets()).collect();
                names::unknown("workload", &stage.work, known)
            })?;
            let KnownWork { planned, engine, work } = &works[of];
            if let Some(part) = stage.part.as_deref().filter(|part| !engine.parts().contains(part)) {
                return Err(match engine.parts() {
                    [] => format!("{} has only one part", engine.name()),
                    parts => names::unknown("part", part, parts.iter().copied()),
                });
            }
            let clients = plan.clients_of(planned, stage);
            so_many(clients, &**work)?;
            let portion = ends(stage, after.iter().zip(&kinds[at + 1..]), &**work)?;
            if portion.stop_after.is_some() && clients > 1 {
                return Err(format!(
                    "a trial whose power is cut has one client, not {clients}\n  try: --clients 1, or without --power-cut"
                ));
            }
            if portion.keep_files && portion.part.is_none() && !engine.parts().is_empty() {
                return Err(format!(
                    "{workload} deletes its files at its end, so they cannot be read back; name a part of \
                     the workload",
                    workload = engine.name()
                ));
            }
            Ok(KnownStage::Work { stage, of, portion, clients })
        }
    }
}

/// Checks that this many clients can do this work in parallel.
fn so_many(clients: u32, work: &dyn Work) -> Result<(), String> {
    bounds::are_so_many(clients)?;
    let most = work.most_clients();
    match u64::from(clients) > most {
        false => Ok(()),
        true => Err(format!(
            "{clients} clients cannot run this workload in parallel; {most} can\n  try: --clients {most}, or a \
                larger --scale"
        )),
    }
}

/// How a work ends, by the stages between it and the next work.
fn ends<'s>(
    stage: &WorkStage,
    after: impl Iterator<Item = (&'s Stage, &'s Kind)>,
    work: &dyn Work,
) -> Result<Portion, String> {
    let mut portion = Portion { part: stage.part.clone(), ..Portion::WHOLE };
    for stage in after {
        let (Stage::Other(OtherStage { argument, .. }), Some(kind)) = stage else { break };
        match kind.ends_work(argument.as_deref()) {
            WorkEnds::Whole => {}
            WorkEnds::KeepsFiles => portion.keep_files = portion.stop_after.is_none(),
            WorkEnds::Cut(cut) => portion.stop_after = Some(cut.after(work.operations())?),
        }
    }
    Ok(portion)
}

impl<'p> KnownScenario<'p> {
    /// Whether any stage cuts the power.
    pub fn cuts_power(&self) -> bool {
        self.others().any(|(kind, argument)| matches!(kind.ends_work(argument), WorkEnds::Cut(_)))
    }

    /// Whether a stage drops caches, which the trial must then verify.
    pub fn empties_caches(&self) -> bool {
        self.others().any(|(kind, _)| kind.empties_caches())
    }

    fn others(&self) -> impl Iterator<Item = (&'static dyn StageKind, Option<&'p str>)> {
        self.stages.iter().filter_map(|stage| match stage {
            KnownStage::Other { kind, argument } => Some((*kind, *argument)),
            KnownStage::Work { .. } => None,
        })
    }

    /// The scenario as carried out with these `works`, after `state` creates the initial content.
    ///
    /// # Errors
    /// If an engine requests stages that do not exist.
    pub fn lay(&self, works: &[KnownWork<'p>], state: &[KnownWork<'p>]) -> Result<Laid<'p>, String> {
        let mut laid = Laid::default();
        for KnownWork { planned, work, .. } in state {
            laid.stages.push(LaidStage::Work { of: laid.works.len(), portion: Portion::KEEP_FILES });
            let (name, planned) = (planned.label.clone(), planned.clone());
            laid.works.push(LaidWork { name, planned, work: work.clone(), measured: false, clients: 1 });
        }
        laid.before = laid.stages.len();
        for stage in &self.stages {
            match stage {
                KnownStage::Other { kind, argument } => {
                    laid.stages.push(LaidStage::Other { kind: *kind, argument: argument.map(str::to_owned) });
                }
                KnownStage::Work { stage, of, portion, clients } => {
                    laid.add(&works[*of], stage, *clients, portion)?;
                }
            }
        }
        Ok(laid)
    }
}

impl<'p> Laid<'p> {
    fn add(
        &mut self,
        known: &KnownWork<'p>,
        stage: &WorkStage,
        clients: u32,
        whole: &Portion,
    ) -> Result<(), String> {
        for stage in known.engine.scenario(&*known.work, stage) {
            match stage {
                Stage::Other(OtherStage { name, argument }) => {
                    self.stages.push(LaidStage::Other { kind: values::stage(&name)?, argument });
                }
                Stage::Work(WorkStage { part, measured, .. }) => {
                    let (planned, work) = (known.planned.clone(), known.work.clone());
                    let work = LaidWork { name: String::new(), planned, work, measured, clients };
                    let of = self.work(work, part.as_deref());
                    let portion = Portion { part, ..whole.clone() };
                    self.stages.push(LaidStage::Work { of, portion });
                }
            }
        }
        Ok(())
    }

    /// The work that this part continues, or a new one.
    fn work(&mut self, work: LaidWork<'p>, part: Option<&str>) -> usize {
        let last = self.works.len().wrapping_sub(1);
        let is_done = |stage: &LaidStage| match stage {
            LaidStage::Work { of, portion } => *of == last && portion.part.as_deref() == part,
            LaidStage::Other { .. } => false,
        };
        let is_last = |last: &LaidWork<'_>| last.is_as(&work);
        if part.is_some() && self.works.last().is_some_and(is_last) && !self.stages.iter().any(is_done) {
            return last;
        }
        let before = self.works.iter().filter(|known| known.planned == work.planned).count();
        let label = &work.planned.label;
        let name = if before == 0 { label.clone() } else { format!("{label} ({})", before + 1) };
        self.works.push(LaidWork { name, ..work });
        self.works.len() - 1
    }

    /// The stages of an integrity check: each work runs once, and all its files are kept.
    pub fn kept(&self) -> Vec<LaidStage> {
        (0..self.works.len()).map(|of| LaidStage::Work { of, portion: Portion::KEEP_FILES }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::experiment::Experiment;
    use crate::runner::plan::resolved::Resolved;

    /// The laid scenario at that index of the plan.
    fn laid(plan: &Plan, at: usize) -> Laid<'_> {
        Resolved::of(plan).expect("it is laid").laid(&plan.candidates[0], &plan.scenarios[at]).clone()
    }

    fn plan(scenario: &str) -> Result<Plan, Failure> {
        let text =
            "workloads = ['maildir-quick', 'coldread-quick']\nfilesystems = ['ext4']\nscale = '1/16'\n";
        Experiment::parse(&format!("{text}{scenario}"), "test")?.plan("vm".into(), 7)
    }

    fn refused(stages: &str) -> String {
        let scenario = format!("[[scenario]]\nlabel = 'x'\nstages = [{stages}]");
        plan(&scenario).expect_err("it is refused").to_string()
    }

    #[test]
    fn a_workload_that_no_scenario_names_has_its_own() {
        let scenario = "[[scenario]]\nlabel = 'twice'\nstages = [{ work = 'maildir-quick', measured = false }, { work = 'maildir-quick' }]";
        let plan = plan(scenario).expect("a plan");
        let labels: Vec<&str> = plan.scenarios.iter().map(|s| s.label.as_str()).collect();
        assert_eq!(labels, ["twice", "coldread-quick"]);
        let laid = laid(&plan, 0);
        let works: Vec<(&str, bool)> = laid.works.iter().map(|w| (w.name.as_str(), w.measured)).collect();
        assert_eq!(works, [("maildir-quick", false), ("maildir-quick (2)", true)]);
    }

    #[test]
    fn a_scenario_names_a_ready_set_directly_and_needs_no_list_of_workloads() {
        let bare = |scenario: &str| {
            let text = format!("filesystems = ['ext4']\nscale = '1/16'\n{scenario}");
            Experiment::parse(&text, "test").and_then(|experiment| experiment.plan("vm".into(), 7))
        };
        let twice = "[[scenario]]\nlabel = 'x'\nstages = [{ work = 'coldread-quick', measured = false }, { work = 'maildir-quick' }, { work = 'maildir-quick' }]";
        let direct = bare(twice).expect("a plan");
        let labels: Vec<&str> = direct.workloads.iter().map(|work| work.label.as_str()).collect();
        assert_eq!(labels, ["coldread-quick", "maildir-quick"], "each once, in the order of the stages");
        assert_eq!(direct.scenarios.len(), 1, "a set that a scenario names has no scenario of its own");
        let listed =
            bare(&format!("workloads = ['coldread-quick', 'maildir-quick']\n{twice}")).expect("a plan");
        assert_eq!(direct, listed, "the list adds nothing");
        let own = format!("{twice}\n[[workload]]\nset = 'maildir-quick'\nlabel = 'coldread-quick'");
        let own = bare(&own).expect("a plan");
        let engine =
            |label: &str| own.workloads.iter().find(|w| w.label == label).map(|w| w.work.engine.clone());
        assert_eq!(engine("coldread-quick"), engine("maildir-quick"), "the experiment's own label is first");
        let wrong = bare(&twice.replace("'coldread-quick'", "'coldraed-quick'")).expect_err("a misspelt set");
        assert!(wrong.what.contains("did you mean 'coldread-quick'?"), "{wrong}");
        let nothing = bare("").expect_err("nothing to do");
        assert!(nothing.what.contains("has no workload"), "{nothing}");
    }

    #[test]
    fn an_engines_parts_are_one_work_with_a_remount_before_each_but_the_first() {
        let plan = plan("").expect("a plan");
        let laid = laid(&plan, 1);
        assert_eq!((laid.works.len(), laid.stages.len()), (1, 11));
        let parts = laid.stages.iter().filter_map(|stage| match stage {
            LaidStage::Work { of: 0, portion } => portion.part.as_deref(),
            _ => None,
        });
        assert_eq!(
            parts.collect::<Vec<_>>(),
            ["create", "walk", "read-ordered", "read-random", "pread-random", "delete"]
        );
    }

    #[test]
    fn a_work_before_a_power_cut_stops_there_and_one_before_a_read_back_keeps_its_files() {
        let stages = "{ work = 'maildir-quick' }, { power-cut = '50%' }, 'recover', 'read-back', { work = 'maildir-quick' }, 'remount', 'read-back'";
        let plan = plan(&format!("[[scenario]]\nlabel = 'x'\nstages = [{stages}]")).expect("a plan");
        let laid = laid(&plan, 0);
        let portions: Vec<&Portion> = laid
            .stages
            .iter()
            .filter_map(
                |stage| if let LaidStage::Work { portion, .. } = stage { Some(portion) } else { None },
            )
            .collect();
        assert!(portions[0].stop_after.is_some_and(|n| n > 1) && !portions[0].keep_files);
        assert_eq!(portions[1], &Portion::KEEP_FILES);
    }

    #[test]
    fn what_cannot_stand_where_it_stands_is_refused_with_its_stage() {
        for (stages, said) in [
            ("{ work = 'maildir-quik' }", "stage 1 (work maildir-quik): unknown workload"),
            ("{ work = 'maildir-quick', measured = false }", "no stage of the scenario is measured"),
            ("", "no stage of the scenario is measured"),
            ("'recover', { work = 'maildir-quick' }", "stage 1 (recover): this stage must directly follow"),
            ("{ work = 'maildir-quick' }, 'power-cut'", "must be followed by \"recover\""),
            (
                "'power-cut', 'recover', { work = 'maildir-quick' }",
                "this stage must directly follow a workload",
            ),
            ("{ work = 'maildir-quick' }, 'read-bak'", "unknown stage 'read-bak'"),
            ("'read-back', { work = 'maildir-quick' }", "no workload before this stage"),
            ("{ work = 'maildir-quick', part = 'walk' }", "has only one part"),
            ("{ work = 'coldread-quick', part = 'wakl' }", "unknown part 'wakl'"),
            ("{ work = 'coldread-quick' }, 'power-cut', 'recover'", "stage 1 (work coldread-quick)"),
            ("{ work = 'maildir-quick' }, { power-cut = 'soon' }, 'recover'", "no moment for a power cut"),
            ("{ work = 'maildir-quick' }, { remount = 'now' }", "remount takes no argument"),
        ] {
            assert!(refused(stages).contains(said), "{stages}: {}", refused(stages));
        }
    }

    #[test]
    fn a_short_form_is_told_from_what_was_given() {
        let short = plan("power_cut = '50%'\nworkloads = ['maildir-quick']").err();
        assert!(short.is_some(), "a key twice");
        let text = "workloads = ['maildir-quick']\nfilesystems = ['ext4']\npower_cut = '50%'";
        let plan = Experiment::parse(text, "test").expect("it is read").plan("vm".into(), 7).expect("a plan");
        assert_eq!(plan.scenarios[0].stages.len(), 4);
        assert_eq!(given(&plan), (Vec::new(), Some("50%".parse().expect("a share"))));
    }
}
