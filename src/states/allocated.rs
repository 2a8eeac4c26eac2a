//! `allocated SHARE`: so full, with files that have their space and no content.

use toml::{Table, Value};

use super::StateKind;
use crate::schema::job::WorkSpec;
use crate::schema::plan::PlannedWork;
use crate::schema::story::Story;
use crate::schema::units::Percent;
use crate::workloads;

pub struct Allocated;

const ENGINE: &str = "fill";
/// Large ones, as pictures of disks or films are: in a terabyte of small files their names alone would take most of the time.
const PARAMETERS: &str = "per_folder = 32\nallocate = true\nsizes = [{ up_to = '1g', weight = 1 }]";

impl StateKind for Allocated {
    fn name(&self) -> &'static str {
        "allocated"
    }

    fn usage(&self) -> &'static str {
        "allocated SHARE"
    }

    fn story(&self) -> Story {
        Story {
            what: "So much of what an ordinary user may fill is taken by files of up to 1 GiB that have their space and no content \
                   (fallocate). What follows finds the space that the filesystem has left, wherever on the disk that is. For volumes that \
                   nobody could write full.",
            origin: "The workload fill with allocate = true; fallocate(2).",
            limits: "Nothing in it has aged, and there are few files for so much space. Filesystems without preallocation do not take part.",
        }
    }

    fn works(&self, argument: &str) -> Result<Vec<PlannedWork>, String> {
        if argument.is_empty() {
            return Err("how full? write allocated 80%".into());
        }
        let engine = workloads::engine(ENGINE).ok_or_else(|| format!("there is no workload {ENGINE}"))?;
        let mut parameters: Table = PARAMETERS.parse().map_err(|e| format!("{PARAMETERS}: {e}"))?;
        parameters.insert("to".into(), Value::String(argument.to_owned()));
        engine.parse(&parameters)?;
        let work = WorkSpec { engine: engine.name().to_owned(), parameters };
        Ok(vec![PlannedWork { label: format!("allocated {argument}"), clients: None, work }])
    }

    fn leaves(&self, argument: &str) -> f64 {
        argument.parse().map_or(0.0, |Percent(share)| 1.0 - share / 100.0)
    }

    fn has_content(&self) -> bool {
        false
    }
}
