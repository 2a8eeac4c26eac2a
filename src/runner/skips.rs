//! What cannot take part here, and why: said before anything is measured, never silently.

use std::cell::LazyCell;

use crate::filesystems::{self, Filesystem};
use crate::schema::plan::{Candidate, Plan, PlannedWork};
use crate::schema::units::Bytes;
use crate::testbeds::{Testbed, Testbeds};
use crate::workloads::{self, Needs, Work};

/// Of the volume, what a filesystem may take for itself before the workload's files no longer fit for certain.
const ROOM: f64 = 0.85;

/// A cell of the table that stays empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    pub filesystem: String,
    pub workload: String,
    /// One sentence, with what to try.
    pub reason: String,
    /// Nothing is missing on this machine: the experiment asks for what cannot be.
    pub by_experiment: bool,
}

/// All cells that stay empty, in the plan's order.
pub fn skips(plan: &Plan, testbeds: &Testbeds<'_>) -> Vec<Skip> {
    let mut skips = Vec::new();
    let parsed = |work: &PlannedWork| workloads::engine(&work.work.engine)?.parse(&work.work.parameters).ok();
    let works: Vec<_> = plan.workloads.iter().map(|work| Some(Asked::of(&*parsed(work)?, plan))).collect();
    for candidate in &plan.candidates {
        let testbed = testbeds.of(plan, candidate);
        let Some(kind) = filesystems::find(&candidate.kind).filter(|_| testbed.traits().makes_filesystem)
        else {
            continue;
        };
        let setup = plan.setup(candidate);
        let size = size(kind, setup.size);
        let machine = LazyCell::new(|| machine(kind, testbed));
        for (work, asked) in plan.workloads.iter().zip(&works) {
            let needs = || needs(kind, setup.size, work, asked.as_ref()?);
            let asked = size.clone().or_else(needs).map(|reason| (reason, true));
            let Some((reason, by_experiment)) =
                asked.or_else(|| machine.clone().map(|reason| (reason, false)))
            else {
                continue;
            };
            skips.push(skip(candidate, work, reason, by_experiment));
        }
    }
    skips
}

fn skip(candidate: &Candidate, work: &PlannedWork, reason: String, by_experiment: bool) -> Skip {
    Skip { filesystem: candidate.label.clone(), workload: work.label.clone(), reason, by_experiment }
}

/// The kernel and the tools.
fn machine(kind: &dyn Filesystem, testbed: &dyn Testbed) -> Option<String> {
    if let Err(missing) = testbed.serves(&kind.kernel()) {
        return Some(missing.to_string());
    }
    let missing = filesystems::tools(kind).iter().find_map(|program| testbed.tool(program).err())?;
    Some(format!("{}\n  try: apt-get install {}", missing.what, kind.package()))
}

fn size(kind: &dyn Filesystem, size: Bytes) -> Option<String> {
    let fits = kind.size();
    let (name, smallest, largest) = (kind.name(), fits.start(), fits.end());
    if size < *smallest {
        Some(format!(
            "an image of {size} is too small for {name}, which needs {smallest}\n  try: --size {}",
            smallest.written()
        ))
    } else if size > *largest {
        Some(format!(
            "an image of {size} is too large for {name}, which ends at {largest}\n  try: --size {}",
            largest.written()
        ))
    } else {
        None
    }
}

/// What a workload asks of any filesystem.
struct Asked {
    needs: Needs,
    peak: Bytes,
}

impl Asked {
    fn of(work: &dyn Work, plan: &Plan) -> Self {
        Asked { needs: work.needs(), peak: Bytes(work.expected(plan.workload_seed(1)).bytes_peak) }
    }
}

fn needs(kind: &dyn Filesystem, size: Bytes, work: &PlannedWork, asked: &Asked) -> Option<String> {
    let (Asked { needs, peak }, can) = (asked, kind.can());
    let lacks = |what: &str| Some(format!("{} has no {what}, which {} needs", kind.name(), work.label));
    if needs.hard_links && !can.hard_links.value {
        return lacks("hard links");
    }
    if needs.symlinks && !can.symlinks.value {
        return lacks("symbolic links");
    }
    if needs.largest_file > can.largest_file.value {
        return lacks(&format!("files of {}", needs.largest_file));
    }
    let room = Bytes((size.0 as f64 * ROOM) as u64);
    if *peak > room {
        let text = format!("{} has up to {peak} of live files, too much for an image of {size}", work.label);
        return Some(format!("{text}\n  try: --size or --scale"));
    }
    None
}
