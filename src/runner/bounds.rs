//! What no plan may ask for, refused before anything is done: sums of what is in bounds never overflow.

use crate::exit::Failure;
use crate::schema::plan::{Plan, PlannedWork};
use crate::workloads;
use crate::workloads::clients::MOST;

/// A label becomes part of names of files, which have 255 bytes at most, and of columns.
const LONGEST: usize = 100;
/// Cells of the table; a round of so many trials of a second takes three hours.
const MOST_CELLS: usize = 10_000;

pub fn check(plan: &Plan) -> Result<(), Failure> {
    let refused = |text: String| Err(Failure::usage(text));
    is_short("experiment", "name", &plan.name)?;
    if plan.name.chars().any(char::is_control) {
        return refused(format!(
            "'{}' cannot name an experiment: a name is a line of text",
            plan.name.escape_debug()
        ));
    }
    plan.candidates.iter().try_for_each(|candidate| is_short("filesystem", "label", &candidate.label))?;
    plan.workloads.iter().try_for_each(|work| is_short("workload", "label", &work.label))?;
    plan.workloads.iter().try_for_each(|work| clients(plan, work))?;
    are_so_many("the experiment", plan.clients)?;
    let cells = plan.candidates.len() * plan.workloads.len();
    if cells > MOST_CELLS {
        return refused(format!(
            "{} filesystems and {} workloads are {cells} trials a round, more than {MOST_CELLS}\n  try: several experiments",
            plan.candidates.len(),
            plan.workloads.len(),
        ));
    }
    Ok(())
}

/// Each client does all of a work, with files of its own.
fn clients(plan: &Plan, work: &PlannedWork) -> Result<(), Failure> {
    let (label, clients) = (&work.label, plan.clients_of(work));
    are_so_many(label, clients)?;
    if clients > 1 && plan.power_cut.is_some() {
        return Err(Failure::usage(format!(
            "{label}: a trial whose power is cut has one client, not {clients}\n  try: --clients 1, or without --power-cut"
        )));
    }
    let parsed = workloads::engine(&work.work.engine).and_then(|e| e.parse(&work.work.parameters).ok());
    let most = parsed.map_or(u64::MAX, |work| work.most_clients());
    if u64::from(clients) > most {
        return Err(Failure::usage(format!(
            "{label}: {clients} clients cannot do this work at the same time, {most} can at most\n  try: --clients {most}, or a larger --scale"
        )));
    }
    Ok(())
}

fn are_so_many(whose: &str, clients: u32) -> Result<(), Failure> {
    match clients {
        0 => Err(Failure::usage(format!("{whose}: 0 clients do no work\n  try: --clients 1"))),
        1..=MOST => Ok(()),
        _ => Err(Failure::usage(format!(
            "{whose}: {clients} clients are more than {MOST}\n  try: --clients {MOST} at most"
        ))),
    }
}

fn is_short(of: &str, what: &str, text: &str) -> Result<(), Failure> {
    if text.len() <= LONGEST {
        return Ok(());
    }
    let begin: String = text.chars().take(20).collect();
    Err(Failure::usage(format!(
        "the {what} of the {of} that begins with '{}' has {} bytes\n  try: {LONGEST} at most",
        begin.escape_debug(),
        text.len()
    )))
}
