//! The scenarios of a plan: those that an experiment gives, and the engines' own for workloads that none names. Pure.

use std::borrow::Cow;
use std::collections::HashSet;

use super::{bounds, labels};
use crate::exit::Failure;
use crate::names;
use crate::schema::job::Portion;
use crate::schema::plan::{Candidate, Plan, PlannedWork};
use crate::schema::power_cut::PowerCut;
use crate::schema::scenario::{OtherStage, Scenario, Stage, WorkStage};
use crate::stages::{self, Around, WorkEnds};
use crate::states;
use crate::workloads::{self, Work, Workload};

/// A scenario with every part of its works in its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Laid<'p> {
    pub works: Vec<LaidWork<'p>>,
    pub stages: Vec<LaidStage>,
    /// How many of the stages bring the state about in which the others find the filesystem.
    pub before: usize,
}

/// A workload, or those parts of one that are done together.
#[derive(Clone, Debug, PartialEq)]
pub struct LaidWork<'p> {
    /// Its label, with a number behind it where the scenario has it more than once.
    pub name: String,
    pub planned: Cow<'p, PlannedWork>,
    pub measured: bool,
    pub clients: u32,
}

impl LaidWork<'_> {
    /// Whether it needs a disk beside that it copies from.
    pub fn copies_from_beside(&self) -> bool {
        copies_from_beside(&self.planned)
    }
}

/// Whether this work needs a disk beside that it copies from.
pub fn copies_from_beside(planned: &PlannedWork) -> bool {
    workloads::parsed(&planned.work).is_ok_and(|work| work.needs().source)
}

#[derive(Clone, Debug, PartialEq)]
pub enum LaidStage {
    Work { of: usize, portion: Portion },
    Other(OtherStage),
}

/// One scenario for each workload that none of these names: the work alone, or with the power cut in it.
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

/// The scenarios of a plan that no short form gives, and the power cut of the short form that gives the others.
pub fn given(plan: &Plan) -> (Vec<Scenario>, Option<PowerCut>) {
    let cuts = plan.scenarios.iter().flat_map(Scenario::others).filter_map(|stage| stage.argument.as_deref());
    let cut = cuts.filter_map(|argument| argument.parse().ok()).find(|cut| {
        plan.scenarios.iter().any(|scenario| *scenario == stages::short_form(&scenario.label, *cut))
    });
    let is_given = |scenario: &&Scenario| **scenario != of_work(&scenario.label, cut);
    (plan.scenarios.iter().filter(is_given).cloned().collect(), cut)
}

/// Whether all stages of all scenarios can be done one after the other.
///
/// # Errors
/// Names the scenario and the stage, and says what to write.
pub fn check(plan: &Plan) -> Result<(), Failure> {
    for scenario in &plan.scenarios {
        labels::usable("scenario", &scenario.label)?;
        check_one(plan, scenario).map_err(|e| Failure::usage(format!("scenario {}{e}", scenario.label)))?;
    }
    Ok(())
}

fn check_one(plan: &Plan, scenario: &Scenario) -> Result<(), String> {
    for (at, stage) in scenario.stages.iter().enumerate() {
        let around = Around { before: &scenario.stages[..at], after: &scenario.stages[at + 1..] };
        can_stand(plan, stage, &around).map_err(|e| format!(", stage {} ({stage}): {e}", at + 1))?;
    }
    if !scenario.works().any(|work| work.measured) {
        return Err(
            ": it measures nothing\n  try: a stage { work = \"LABEL\" } without measured = false".into()
        );
    }
    Ok(())
}

fn can_stand(plan: &Plan, stage: &Stage, around: &Around<'_>) -> Result<(), String> {
    match stage {
        Stage::Other(OtherStage { name, argument }) => {
            stages::find(name)?.stands(argument.as_deref(), around)
        }
        Stage::Work(work) => {
            let Parsed { planned, engine, work: parsed } = parsed(plan, work)?;
            if let Some(part) = work.part.as_deref().filter(|part| !engine.parts().contains(part)) {
                return Err(match engine.parts() {
                    [] => format!("{} has only one part", engine.name()),
                    parts => names::unknown("part", part, parts.iter().copied()),
                });
            }
            let clients = plan.clients_of(planned, work);
            so_many(clients, &*parsed)?;
            match ends(work, around.after, &*parsed) {
                Ok(portion) if portion.stop_after.is_some() && clients > 1 => Err(format!(
                    "a trial whose power is cut has one client, not {clients}\n  try: --clients 1, or without --power-cut"
                )),
                Ok(portion) if portion.keep_files && portion.part.is_none() && !engine.parts().is_empty() => {
                    Err(format!(
                        "{} deletes its files at its end, so they cannot be read back; name a part",
                        engine.name()
                    ))
                }
                other => other.map(drop),
            }
        }
    }
}

/// Whether so many clients can do it.
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

/// The workload of a stage, understood.
struct Parsed<'p> {
    planned: &'p PlannedWork,
    engine: &'static dyn Workload,
    work: Box<dyn Work>,
}

fn parsed<'p>(plan: &'p Plan, stage: &WorkStage) -> Result<Parsed<'p>, String> {
    let known = plan.workloads.iter().map(|work| work.label.as_str());
    let planned = plan.workload(&stage.work).ok_or_else(|| names::unknown("workload", &stage.work, known))?;
    let engine = workloads::engine(&planned.work.engine).ok_or("this fsderby has no such workload")?;
    Ok(Parsed { planned, engine, work: engine.parse(&planned.work.parameters)? })
}

/// What of the work is done, by what stands behind it and before the next work.
fn ends(stage: &WorkStage, after: &[Stage], work: &dyn Work) -> Result<Portion, String> {
    let mut portion = Portion { part: stage.part.clone(), ..Portion::WHOLE };
    for stage in after {
        let Stage::Other(OtherStage { name, argument }) = stage else { break };
        match stages::find(name)?.ends_work(argument.as_deref()) {
            WorkEnds::Whole => {}
            WorkEnds::KeepsFiles => portion.keep_files = portion.stop_after.is_none(),
            WorkEnds::Cut(cut) => portion.stop_after = Some(cut.after(work.operations())?),
        }
    }
    Ok(portion)
}

/// Whether any of them cuts the power.
pub fn cut_power(plan: &Plan) -> bool {
    let is_cut = |stage: &OtherStage| {
        let ends = stages::find(&stage.name).map(|kind| kind.ends_work(stage.argument.as_deref()));
        matches!(ends, Ok(WorkEnds::Cut(_)))
    };
    plan.scenarios.iter().flat_map(Scenario::others).any(is_cut)
}

/// Whether caches are emptied anywhere, and it must be seen that they were.
pub fn empties_caches(plan: &Plan) -> bool {
    let empties = |stage: &OtherStage| stages::find(&stage.name).is_ok_and(|kind| kind.empties_caches());
    plan.cold || plan.scenarios.iter().flat_map(Scenario::others).any(empties)
}

/// The scenario as it is carried out, from the state of that candidate on.
///
/// # Errors
/// Where it cannot be; [`check`] says so with more words.
pub fn lay<'p>(plan: &'p Plan, candidate: &Candidate, scenario: &Scenario) -> Result<Laid<'p>, String> {
    let mut laid = Laid::default();
    for planned in states::works(plan.setup(candidate).state.unwrap_or(states::FRESH))? {
        laid.stages.push(LaidStage::Work { of: laid.works.len(), portion: Portion::KEEP_FILES });
        let (name, planned) = (planned.label.clone(), Cow::Owned(planned));
        laid.works.push(LaidWork { name, planned, measured: false, clients: 1 });
    }
    laid.before = laid.stages.len();
    for (at, stage) in scenario.stages.iter().enumerate() {
        match stage {
            Stage::Other(other) => laid.stages.push(LaidStage::Other(other.clone())),
            Stage::Work(work) => {
                let Parsed { planned, engine, work: parsed } = parsed(plan, work)?;
                let portion = ends(work, &scenario.stages[at + 1..], &*parsed)?;
                laid.add(planned, work, plan.clients_of(planned, work), engine, &portion);
            }
        }
    }
    Ok(laid)
}

impl<'p> Laid<'p> {
    fn add(
        &mut self,
        planned: &'p PlannedWork,
        stage: &WorkStage,
        clients: u32,
        engine: &dyn Workload,
        whole: &Portion,
    ) {
        for stage in engine.scenario(stage) {
            match stage {
                Stage::Other(other) => self.stages.push(LaidStage::Other(other)),
                Stage::Work(WorkStage { part, measured, .. }) => {
                    let of = self.work(
                        LaidWork { name: String::new(), planned: Cow::Borrowed(planned), measured, clients },
                        part.as_deref(),
                    );
                    let portion = Portion { part, ..whole.clone() };
                    self.stages.push(LaidStage::Work { of, portion });
                }
            }
        }
    }

    /// The work that this part goes on with, or a new one.
    fn work(&mut self, work: LaidWork<'p>, part: Option<&str>) -> usize {
        let last = self.works.len().wrapping_sub(1);
        let is_done = |stage: &LaidStage| match stage {
            LaidStage::Work { of, portion } => *of == last && portion.part.as_deref() == part,
            LaidStage::Other(_) => false,
        };
        let is_last = |last: &LaidWork<'_>| LaidWork { name: work.name.clone(), ..last.clone() } == work;
        if part.is_some() && self.works.last().is_some_and(is_last) && !self.stages.iter().any(is_done) {
            return last;
        }
        let before = self.works.iter().filter(|known| known.planned == work.planned).count();
        let label = &work.planned.label;
        let name = if before == 0 { label.clone() } else { format!("{label} ({})", before + 1) };
        self.works.push(LaidWork { name, ..work });
        self.works.len() - 1
    }

    /// Of each work all its files, none deleted, and nothing else.
    pub fn kept(&self) -> Vec<LaidStage> {
        (0..self.works.len()).map(|of| LaidStage::Work { of, portion: Portion::KEEP_FILES }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::experiment::Experiment;

    fn plan(scenario: &str) -> Result<Plan, Failure> {
        let text =
            "workloads = ['maildir-quick', 'coldread-quick']\nfilesystems = ['ext4']\nscale = '1/16'\n";
        Experiment::parse(&format!("{text}{scenario}"), "test")?.plan("vm".into(), 7)
    }

    fn refused(stages: &str) -> String {
        let scenario = format!("[[scenario]]\nlabel = 'x'\nstages = [{stages}]");
        plan(&scenario).expect_err("it is refused").message
    }

    #[test]
    fn a_workload_that_no_scenario_names_has_its_own() {
        let scenario = "[[scenario]]\nlabel = 'twice'\nstages = [{ work = 'maildir-quick', measured = false }, { work = 'maildir-quick' }]";
        let plan = plan(scenario).expect("a plan");
        let labels: Vec<&str> = plan.scenarios.iter().map(|s| s.label.as_str()).collect();
        assert_eq!(labels, ["twice", "coldread-quick"]);
        let laid = lay(&plan, &plan.candidates[0], &plan.scenarios[0]).expect("it is laid");
        let works: Vec<(&str, bool)> = laid.works.iter().map(|w| (w.name.as_str(), w.measured)).collect();
        assert_eq!(works, [("maildir-quick", false), ("maildir-quick (2)", true)]);
    }

    #[test]
    fn an_engines_parts_are_one_work_with_a_remount_before_each_but_the_first() {
        let plan = plan("").expect("a plan");
        let laid = lay(&plan, &plan.candidates[0], &plan.scenarios[1]).expect("it is laid");
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
        let laid = lay(&plan, &plan.candidates[0], &plan.scenarios[0]).expect("it is laid");
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
            ("{ work = 'maildir-quick', measured = false }", "measures nothing"),
            ("", "measures nothing"),
            ("'recover', { work = 'maildir-quick' }", "stage 1 (recover): it must directly follow"),
            ("{ work = 'maildir-quick' }, 'power-cut'", "must be followed by \"recover\""),
            ("'power-cut', 'recover', { work = 'maildir-quick' }", "it must directly follow a workload"),
            ("{ work = 'maildir-quick' }, 'read-bak'", "unknown stage 'read-bak'"),
            ("'read-back', { work = 'maildir-quick' }", "no workload before it"),
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
