//! `aged by WORKLOAD`: another workload has worked on it, and its files are still there.

use super::StateKind;
use crate::names;
use crate::schema::job::WorkSpec;
use crate::schema::plan::PlannedWork;
use crate::schema::story::Story;
use crate::workloads;

pub struct Aged;

impl StateKind for Aged {
    fn name(&self) -> &'static str {
        "aged"
    }

    fn usage(&self) -> &'static str {
        "aged by SET"
    }

    fn story(&self) -> Story {
        Story {
            what: "A workload, one of the ready sets, has worked on the filesystem, and what it had not deleted by its end is still there.",
            origin: "What years of use do to a filesystem, in as many operations as the set has.",
            limits: "As much age as that workload makes, and no more; the set is taken as it is, whatever the scale.",
        }
    }

    fn works(&self, argument: &str) -> Result<Vec<PlannedWork>, String> {
        let set = argument.strip_prefix("by ").map(str::trim).filter(|set| !set.is_empty());
        let set = set.ok_or("by what? write aged by postmark-quick")?;
        let known = workloads::TABLE.iter().flat_map(|engine| engine.sets()).map(|set| set.name);
        let found = workloads::find(set);
        let (engine, found) = found.ok_or_else(|| names::unknown("workload", set, known))?;
        let work = WorkSpec { engine: engine.name().to_owned(), parameters: found.file().parameters };
        Ok(vec![PlannedWork { label: format!("aged by {set}"), clients: None, work }])
    }
}
