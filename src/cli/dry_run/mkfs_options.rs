//! The mkfs options that a dry run can check. Some mkfs programs have a flag with which they only check their arguments, so that a dry
//! run refuses what the run would.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::agent::mkfs_check;
use crate::exit::Failure;
use crate::filesystems;
use crate::host::programs;
use crate::runner::plan::resolved::Resolved;
use crate::schema::plan::Candidate;
use crate::testbeds::Testbeds;

/// A program that takes longer is not asked: it waits for something that an option names.
const PATIENCE: Duration = Duration::from_secs(10);

/// Lets mkfs check the options of each candidate that has any. A program of a guest bundle is not tried, because it does not run on
/// this machine, nor a program that is missing, which is another error, nor on layers, whose size only they know.
///
/// # Errors
/// Names every candidate whose options mkfs refuses, with its words.
pub fn check(plan: &Resolved<'_>, testbeds: &Testbeds<'_>) -> anyhow::Result<()> {
    let mut refused = Vec::new();
    for candidate in plan.candidates.iter().filter(|candidate| !candidate.variant.mkfs.is_empty()) {
        let testbed = testbeds.of(plan, candidate);
        let is_bundled = testbed.guests().is_some_and(|guests| guests.starts().bundle().is_some());
        let has_layers = !plan.setup(candidate).layers.is_empty();
        if !is_bundled && !has_layers && testbed.traits().fidelity.makes_filesystem() {
            refused.extend(refusal(plan, candidate)?);
        }
    }
    if refused.is_empty() { Ok(()) } else { Err(Failure::usage(refused.join("\n")).into()) }
}

/// The words of mkfs if it refuses this candidate's options; `None` if it takes them, or cannot be asked.
fn refusal(plan: &Resolved<'_>, candidate: &Candidate) -> anyhow::Result<Option<String>> {
    let Some(kind) = filesystems::find(&candidate.kind) else { return Ok(None) };
    let commands = kind.make(&candidate.variant);
    let (Some(flag), Some([program, arguments @ ..])) =
        (kind.only_checks(), commands.first().map(Vec::as_slice))
    else {
        return Ok(None);
    };
    let Some(path) = programs::find(program) else { return Ok(None) };
    let arguments = [&[flag.to_owned()], arguments].concat();
    let mut command = mkfs_check::command(plan.setup(candidate).size.0, &path, &arguments)?;
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let begin = Instant::now();
    while child.try_wait()?.is_none() && begin.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    // Of a program that has ended nothing is left to kill.
    let _ = child.kill();
    let output = child.wait_with_output()?;
    // What is killed, or crashes, refuses nothing.
    let is_refused =
        output.status.code().is_some_and(|code| code != 0 && code != i32::from(mkfs_check::NO_SANDBOX));
    let said =
        [output.stderr, output.stdout].map(|said| String::from_utf8_lossy(&said).into_owned()).join("\n");
    let mut said =
        said.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("Warning"));
    Ok(said
        .next()
        .filter(|_| is_refused)
        .map(|said| format!("{}: {program} refuses its options: {said}", candidate.label)))
}
