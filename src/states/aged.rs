//! `aged by WORKLOAD`: another workload ran on the filesystem, and its files are still there.

use super::StateKind;
use crate::schema::description::Description;
use crate::schema::job::WorkSpec;
use crate::schema::plan::PlannedWork;
use crate::schema::units::Scale;
use crate::text::names;
use crate::workloads;

pub struct Aged;

/// `by SET at 1/8`
struct Age<'a> {
    set: &'a str,
    scale: Option<Scale>,
}

fn age(argument: &str) -> Result<Age<'_>, String> {
    let set = argument.strip_prefix("by ").map(str::trim).filter(|set| !set.is_empty());
    let set = set.ok_or("the workload is missing; write aged by postmark-quick")?;
    match set.split_once(" at ") {
        None => Ok(Age { set, scale: None }),
        Some((set, scale)) => Ok(Age { set: set.trim(), scale: Some(scale.trim().parse()?) }),
    }
}

impl StateKind for Aged {
    fn name(&self) -> &'static str {
        "aged"
    }

    fn usage(&self) -> &'static str {
        "aged by SET"
    }

    fn description(&self) -> Description {
        Description {
            what: "A workload has run on the filesystem, and the files that it left are still there. SET is \
                   a ready parameter set of a workload.",
            origin: "A substitute for years of use; the set gives the number of operations.",
            limits: "The filesystem is only as old as that workload makes it. The experiment's `scale` also \
                     scales the set and the volume; with a scale of 1/8 the report says \"aged by SET at \
                     1/8\".",
        }
    }

    fn works(&self, argument: &str) -> Result<Vec<PlannedWork>, String> {
        let Age { set, scale } = age(argument)?;
        let known = workloads::TABLE.iter().flat_map(|engine| engine.sets()).map(|set| set.name);
        let found = workloads::find(set);
        let (engine, found) = found.ok_or_else(|| names::unknown("workload", set, known))?;
        let parameters = found.file().parameters;
        let parameters = scale.map_or(Ok(parameters.clone()), |by| engine.scale(&parameters, by))?;
        let work = WorkSpec { engine: engine.name().to_owned(), parameters };
        Ok(vec![PlannedWork { label: format!("aged by {set}"), clients: None, work }])
    }

    fn scaled(&self, argument: &str, by: Scale) -> Result<String, String> {
        let Age { set, scale } = age(argument)?;
        let by = scale
            .map_or(Some(by), |scale| scale.times(by))
            .ok_or_else(|| format!("a workload of {by} times its size is too large"))?;
        let scaled = format!("by {set} at {by}");
        self.works(&scaled).map(|_| scaled)
    }

    fn follows_volume(&self) -> bool {
        true
    }
}
