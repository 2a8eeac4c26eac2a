//! Bounds on plans, checked before anything runs: sums of values in bounds never overflow.

use crate::exit::Failure;
use crate::schema::plan::Plan;
use crate::workloads::clients::MOST;

/// A label becomes part of file names (at most 255 bytes) and of columns.
const LONGEST: usize = 100;
/// Most trials per round: a round of this many one-second trials takes three hours.
const MOST_CELLS: usize = 10_000;

pub fn check(plan: &Plan) -> Result<(), Failure> {
    let refused = |text: String| Err(Failure::usage(text));
    is_short("experiment", "name", &plan.name)?;
    if plan.name.chars().any(char::is_control) {
        return refused(format!(
            "'{}' cannot name an experiment: write one line of text",
            plan.name.escape_debug()
        ));
    }
    plan.candidates.iter().try_for_each(|candidate| is_short("filesystem", "label", &candidate.label))?;
    plan.workloads.iter().try_for_each(|work| is_short("workload", "label", &work.label))?;
    plan.scenarios.iter().try_for_each(|scenario| is_short("scenario", "label", &scenario.label))?;
    are_so_many(plan.clients).map_err(|e| Failure::usage(format!("the experiment: {e}")))?;
    let cells = plan.candidates.len() * plan.scenarios.len();
    if cells > MOST_CELLS {
        return refused(format!(
            "{filesystems} filesystems and {scenarios} scenarios make {cells} trials per round, more than \
                {MOST_CELLS}\n  try: several experiments",
            filesystems = plan.candidates.len(),
            scenarios = plan.scenarios.len()
        ));
    }
    Ok(())
}

/// Checks that this many processes can be started.
pub fn are_so_many(clients: u32) -> Result<(), String> {
    match clients {
        0 => Err("0 clients are not possible\n  try: --clients 1".into()),
        1..=MOST => Ok(()),
        _ => Err(format!("{clients} clients are more than {MOST}\n  try: --clients {MOST} at most")),
    }
}

fn is_short(of: &str, what: &str, text: &str) -> Result<(), Failure> {
    if text.len() <= LONGEST {
        return Ok(());
    }
    let begin: String = text.chars().take(20).collect();
    Err(Failure::usage(format!(
        "the {what} of the {of} that begins with '{begin}' has {length} bytes\n  try: {LONGEST} at most",
        begin = begin.escape_debug(),
        length = text.len()
    )))
}
