//! Files of this machine for guests whose work starts programs: found by one rehearsal of the work, in memory.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, ensure};

use crate::agent::{INPUTS, Rehearsed, WORKER};
use crate::guest::copies::Copies;
use crate::schema::job::{Job, WorkJob};
use crate::workloads::programs;

/// Rehearsals of this process, by work.
static DONE: Mutex<BTreeMap<String, Arc<Copies>>> = Mutex::new(BTreeMap::new());

/// Copies for the works of a job that start programs; `None` if none does. The same work is rehearsed once, by the program that
/// is the guest's agent.
///
/// # Errors
/// If this machine allows no rehearsal, or the files are too many or too large.
pub fn copies(job: &Job, agent: &Path) -> anyhow::Result<Option<Arc<Copies>>> {
    let mut works: Vec<WorkJob> =
        job.works.iter().filter(|work| programs::starts(&work.work)).cloned().collect();
    if works.is_empty() {
        return Ok(None);
    }
    for work in &mut works {
        // The programs are the same with any seed.
        *work =
            WorkJob { seed: 0, of: 0, folder: None, clients: 1, portion: Default::default(), ..work.clone() };
    }
    let key = serde_json::to_string(&works)?;
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(copies) = done.get(&key) {
        return Ok(Some(copies.clone()));
    }
    let mut paths = std::collections::BTreeSet::new();
    for work in &works {
        paths.extend(rehearse(work, agent)?.paths);
    }
    let inputs: Vec<_> = works.iter().flat_map(|work| programs::input(&work.work)).collect();
    paths.retain(|path| !inputs.iter().any(|(input, _)| path.starts_with(input)));
    let mut copies = Copies::of(&paths)?;
    for (input, at) in &inputs {
        let inside = at.strip_prefix(programs::INPUTS).context("an input lies outside")?;
        copies.whole(input, &Path::new(INPUTS).join(inside))?;
    }
    let (uid, gid) = (WORKER.uid, WORKER.gid);
    copies.made(
        "/etc/passwd",
        format!("root:x:0:0:root:/:/bin/sh\nfsderby:x:{uid}:{gid}:fsderby:/tmp:/bin/sh\n"),
    )?;
    copies.made("/etc/group", format!("root:x:0:\nfsderby:x:{gid}:\n"))?;
    let copies = Arc::new(copies);
    done.insert(key, copies.clone());
    Ok(Some(copies))
}

fn rehearse(work: &WorkJob, agent: &Path) -> anyhow::Result<Rehearsed> {
    let mut command = Command::new(agent);
    command.arg("rehearse").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("could not start the rehearsal of the programs")?;
    let mut input = child.stdin.take().context("the rehearsal has no standard input")?;
    input.write_all(serde_json::to_string(work)?.as_bytes()).context("could not order the rehearsal")?;
    drop(input);
    let output = child.wait_with_output().context("could not wait for the rehearsal")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "could not rehearse the programs of the work: {}", said.trim());
    serde_json::from_slice(&output.stdout).context("could not read what was rehearsed")
}
