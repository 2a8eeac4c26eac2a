//! The mkfs options that a dry run can check. Some mkfs programs have a mode that checks their arguments and writes nothing: it runs
//! on a sparse file of the volume's size, so that a dry run refuses what the run would.

use std::process::{Command, Stdio};

use crate::exit::Failure;
use crate::filesystems;
use crate::host::programs;
use crate::runner::plan::resolved::Resolved;
use crate::schema::plan::Candidate;
use crate::schema::setup::DEVICE;
use crate::testbeds::Testbeds;

/// Lets mkfs check the options of each candidate that has any. A program of a guest bundle is not tried, because it does not run on
/// this machine, nor a program that is missing, which is another error.
///
/// # Errors
/// Names every candidate whose options mkfs refuses, with its words; or if there is no place for a temporary file.
pub fn of_mkfs(plan: &Resolved<'_>, testbeds: &Testbeds<'_>) -> anyhow::Result<()> {
    let mut refused = Vec::new();
    for candidate in plan.candidates.iter().filter(|candidate| !candidate.variant.mkfs.is_empty()) {
        let testbed = testbeds.of(plan, candidate);
        let is_bundled = testbed.guests().is_some_and(|guests| guests.starts().bundle().is_some());
        if is_bundled || !testbed.traits().fidelity.makes_filesystem() {
            continue;
        }
        refused.extend(refusal(plan, candidate)?);
    }
    if refused.is_empty() { Ok(()) } else { Err(Failure::usage(refused.join("\n")).into()) }
}

/// The words of mkfs if it refuses this candidate's options; `None` if it takes them, or cannot be asked.
fn refusal(plan: &Resolved<'_>, candidate: &Candidate) -> anyhow::Result<Option<String>> {
    let Some(kind) = filesystems::find(&candidate.kind) else { return Ok(None) };
    let commands = kind.make(&candidate.variant);
    let (Some(flag), Some([program, arguments @ ..])) =
        (kind.rehearsal(), commands.first().map(Vec::as_slice))
    else {
        return Ok(None);
    };
    let Some(path) = programs::find(program) else { return Ok(None) };
    let volume = tempfile::NamedTempFile::new()?;
    // A size that this folder's filesystem cannot hold is no fault of the options.
    if volume.as_file().set_len(plan.setup(candidate).size.0).is_err() {
        return Ok(None);
    }
    let device = volume.path().display().to_string();
    let mut command = Command::new(path);
    command.arg(flag).args(arguments.iter().map(|word| word.replace(DEVICE, &device)));
    let output = command.env("LC_ALL", "C").stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(None);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    Ok(Some(format!("{}: {program} refuses its options: {}", candidate.label, said.replace(&device, DEVICE))))
}
