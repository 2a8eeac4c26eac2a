//! `fsderby report --requests`: prints the requests that one trial sent to its modelled disk, one per line.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use fsderby_diskmodel::Op;

use super::output::print_with;
use crate::exit::Failure;
use crate::schema::record::Record;
use crate::schema::request::Served;
use crate::store::{self, Run};
use crate::text::names;

const HEAD: &str = "power_cuts,disk,arrived_ns,done_ns,latency_ns,operation,fua,from_cache,sector,sectors,depth,seek_ns,\
                    rotation_ns,transfer_ns,overhead_ns";

/// Prints the requests as CSV, in order of completion. Times are nanoseconds since the guest's boot, sectors have 512 bytes.
///
/// # Errors
/// If the folder is not a run, has no such trial, or the trial's file is missing or altered.
pub fn print(folder: &Path, trial: &str) -> anyhow::Result<ExitCode> {
    let run = store::read(folder)?;
    let record = with_requests(&run, trial)?;
    let damaged =
        |e: anyhow::Error| Failure::new(crate::exit::DAMAGED, format!("could not read the requests: {e:#}"));
    let served = run.requests(record).map_err(damaged)?.unwrap_or_default();
    print_with(|to| write(&served, to))?;
    Ok(ExitCode::SUCCESS)
}

/// The record of the trial's last attempt, which must have a list of requests.
fn with_requests<'r>(run: &'r Run, trial: &str) -> Result<&'r Record, Failure> {
    let current = run.current();
    let has = |record: &&&Record| record.requests.is_some();
    match current.iter().find(|record| record.trial == trial) {
        Some(record) if has(&record) => Ok(record),
        Some(_) => {
            let what =
                format!("the trial {trial} has no list of requests: only trials on a modelled disk have one");
            let other = current.iter().find(has).map(|record| format!("\n  try: {}", record.trial));
            Err(Failure::usage(what + &other.unwrap_or_else(|| "\n  try: a run with --on model:DISK".into())))
        }
        None => {
            let known = current.iter().map(|record| record.trial.as_str());
            Err(Failure::usage(names::unknown("trial", trial, known)))
        }
    }
}

fn write(served: &[Served], to: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(to, "{HEAD}")?;
    for one in served {
        let operation = match one.op {
            Op::Read => "read",
            Op::Write => "write",
            Op::Flush => "flush",
            Op::Discard => "discard",
        };
        writeln!(
            to,
            "{},{},{},{},{},{operation},{},{},{},{},{},{},{},{},{}",
            one.life,
            one.disk,
            one.arrived_ns,
            one.done_ns,
            one.done_ns.saturating_sub(one.arrived_ns),
            u8::from(one.fua),
            u8::from(one.from_cache),
            one.sector,
            one.sectors,
            one.depth,
            one.seek_ns,
            one.rotation_ns,
            one.transfer_ns,
            one.overhead_ns
        )?;
    }
    Ok(())
}
