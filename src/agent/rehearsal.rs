//! Rehearses a work that starts programs, to learn which files of this machine they open: a guest gets copies of these.
//!
//! The work runs once in memory, as an unprivileged user in namespaces of its own, where all of this machine's files are read-only.
//! Its system calls are followed, which makes it several times slower, so nothing is timed.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use fsderby_sys::process::{End, Fork, become_user, die_with_parent, exit_now, fork, isolate, own_mounts};
use fsderby_sys::{sandbox, traced};
use rustix::mount::{MountFlags, mount};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};

use super::monotonic_ns;
use super::sandbox::{Sandbox, WORKER, introduce};
use super::worker::confine_programs;
use crate::schema::job::WorkJob;
use crate::workloads::{self, Clock, Silent, programs};

/// What a rehearsal reports, one line.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Rehearsed {
    /// Every absolute path that a process of it named, whether or not it exists.
    pub paths: BTreeSet<PathBuf>,
    /// Why it did not end as it should: on memory, and not on the filesystem under test.
    pub failed: Option<String>,
}

/// The hidden role `rehearse`: reads a work from standard input, rehearses it, writes [`Rehearsed`] to standard output.
pub fn main() -> anyhow::Result<u8> {
    die_with_parent()?;
    let work: WorkJob =
        serde_json::from_reader(io::stdin().lock()).context("could not parse the work to rehearse")?;
    if isolate().is_err() {
        become_user(WORKER.uid, WORKER.gid)
            .and_then(|()| isolate())
            .context("this machine allows no namespaces to its users; run fsderby as root")?;
    }
    let (said, says) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).context("could not make a pipe")?;
    let mut seen = Rehearsed::default();
    let ended = match fork().context("could not start the rehearsal")? {
        Fork::Child => {
            drop(said);
            exit_now(match rehearse(&work) {
                Ok(()) => 0,
                Err(e) => {
                    let _ = fs::File::from(says).write_all(format!("{e:#}").as_bytes());
                    1
                }
            })
        }
        Fork::Parent(pid) => {
            drop(says);
            traced::follow(pid, &mut |path| {
                seen.paths.insert(path);
            })
            .context("could not follow the rehearsal")?
        }
    };
    if ended != End::Exit(0) {
        let why = io::read_to_string(fs::File::from(said)).unwrap_or_default();
        seen.failed = Some(if why.is_empty() { format!("it ended by {ended:?}") } else { why });
    }
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, &seen)?;
    writeln!(out)?;
    Ok(0)
}

/// Runs the work in the init of the new namespaces. Its preparation and all of its operations count.
fn rehearse(work: &WorkJob) -> anyhow::Result<()> {
    traced::wait_for_tracer().context("could not be followed")?;
    die_with_parent()?;
    // The tracer keeps its own view of /proc.
    own_mounts()?;
    limit_resources()?;
    furnish(work)?;
    std::env::set_current_dir(Sandbox::site().join("work"))?;
    if rustix::process::geteuid().is_root() {
        sandbox::renounce(WORKER.uid, WORKER.gid)?;
    }
    confine_programs()?;
    let parsed = workloads::parsed(&work.work).map_err(anyhow::Error::msg)?;
    let mut ready = parsed.prepare(work.seed, &work.portion).map_err(anyhow::Error::msg)?;
    ready
        .run(&Monotonic, &mut Silent::default())
        .map_err(|e| anyhow::anyhow!("{} {}: {}", e.operation, e.path.display(), e.cause))
}

/// What takes all memory or starts endless processes ends itself before anything else of this machine.
fn limit_resources() -> anyhow::Result<()> {
    const PROCESSES: u64 = 1024;
    fs::write("/proc/self/oom_score_adj", "1000")
        .context("could not offer itself to the out-of-memory killer")?;
    let most = Rlimit { current: Some(PROCESSES), maximum: Some(PROCESSES) };
    setrlimit(Resource::Nproc, most).context("could not limit the number of processes")
}

/// Folders in memory at the places that a trial has, and the inputs.
fn furnish(work: &WorkJob) -> anyhow::Result<()> {
    let in_memory = |at: &str, options| {
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("tmpfs", at, "tmpfs", flags, Some(options)).with_context(|| format!("could not mount {at}"))
    };
    sandbox::make_all_read_only().context("could not make the mounts read-only")?;
    // Inputs may lie in folders that are covered next.
    in_memory("/run", c"size=25%,mode=755")?;
    programs::furnish(Path::new("/run"))?;
    introduce(Path::new("/run"), Path::new("/")).map_err(|e| anyhow::anyhow!("{e}"))?;
    for (path, at) in programs::input(&work.work) {
        let folder = at.parent().context("an input has no folder")?;
        fs::create_dir_all(folder)?;
        if path.is_dir() {
            fs::create_dir(&at)?;
        } else {
            fs::File::create_new(&at)?;
        }
        sandbox::bind_read_only(&path, &at).with_context(|| format!("could not mount {}", path.display()))?;
    }
    in_memory("/tmp", programs::IN_MEMORY)?;
    in_memory("/dev/shm", programs::IN_MEMORY)?;
    // Without it programs see the processes of this machine in /proc, but none of them can be reached.
    let _ = mount("proc", "/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None);
    let place = Sandbox::site().join("work");
    fs::create_dir_all(&place)?;
    std::os::unix::fs::chown(&place, Some(WORKER.uid), Some(WORKER.gid))
        .context("could not give away the folder")
}

struct Monotonic;

impl Clock for Monotonic {
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }
}
