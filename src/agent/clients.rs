//! The clients of a work: one worker each, started together by one gate; a failure of one ends all.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fsderby_sys::gate::SharedGate;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::site::Site;
use super::work::{self, TO_END, Worker};
use super::worker::WorkerReport;
use super::{StepError, tools};
use crate::probes::Progress;
use crate::schema::event::{Buckets, Client, Phase, Stepped};
use crate::schema::job::WorkJob;
use crate::schema::work::LiveFile;
use crate::workloads::clients as together;

/// Clients that are ready and wait at their gate.
pub struct Clients {
    workers: Vec<Worker>,
    gate: SharedGate,
    /// Whether any client was stopped and continued by signals. The kernel forgets this when a process exits, so the agent asks earlier.
    was_continued: bool,
}

/// The parameters for starting the clients of a work.
pub struct Start<'a> {
    pub site: &'a Site,
    pub work: &'a WorkJob,
    pub memory_group: Option<PathBuf>,
    pub process_group: Option<PathBuf>,
}

/// Observers of the running work.
pub struct Watch<'a> {
    /// Intervals of readings and of messages; `None` if nothing may run beside the work.
    pub every: Option<Every>,
    /// Reads counters.
    pub look: &'a mut dyn FnMut(),
    /// Receives the work done and the total.
    pub tick: &'a mut dyn FnMut(u64, u64),
    /// Called when the last operation is done, if the single client reports it.
    pub over: &'a mut dyn FnMut(),
}

#[derive(Clone, Copy)]
pub struct Every {
    pub look: Duration,
    pub tick: Duration,
}

/// The results of all clients.
pub struct Done {
    pub cost: Stepped,
    pub phases: Vec<Phase>,
    pub histograms: Vec<Buckets>,
    /// The live files after a run that keeps them.
    pub live: Vec<LiveFile>,
    /// Results of each client, if there are several.
    pub clients: Vec<Client>,
    /// Whether any client was stopped and continued by signals.
    pub was_continued: bool,
}

/// The result of one client.
struct ClientResult {
    client: Client,
    histograms: Vec<Buckets>,
    live: Vec<LiveFile>,
}

impl Clients {
    /// Starts the clients one by one; each is ready before the next begins. So in virtual time clients wait, and are woken, in the same
    /// order in each trial.
    pub fn start(start: &Start<'_>) -> Result<Self, StepError> {
        let fault = |e: io::Error| StepError::io("start", "the workload", e).of_machine();
        let gate = SharedGate::new().map_err(fault)?;
        let clients = start.work.clients;
        have_descriptors(clients);
        let mut all = Clients { workers: Vec::new(), gate, was_continued: false };
        for client in 0..clients {
            let worker = worker(start, client, &all.gate);
            match worker.map_err(|e| of_client(e, client, clients)) {
                Ok(worker) => all.workers.push(worker),
                Err(e) => {
                    all.kill();
                    return Err(e);
                }
            }
        }
        Ok(all)
    }

    /// The progress of all clients.
    pub fn progress(&self) -> Progress {
        Progress(self.workers.iter().map(|worker| worker.progress().clone()).collect())
    }

    /// Opens the gate and waits for the results of all clients.
    pub fn go(mut self, limit: Duration, watch: &mut Watch<'_>) -> Result<Done, StepError> {
        self.gate.open().map_err(|e| StepError::io("start", "the workload", e))?;
        let begin = Instant::now();
        let heard = self.hear_all(begin, limit, watch).and_then(|heard| {
            let limit = limit.max(begin.elapsed() + TO_END);
            self.workers.iter_mut().try_for_each(|worker| worker.ends(begin, limit).map(drop))?;
            Ok(heard)
        });
        if heard.is_err() {
            self.kill();
        }
        heard.map(|heard| Done { was_continued: self.was_continued, ..done(heard) })
    }

    fn hear_all(
        &mut self,
        begin: Instant,
        limit: Duration,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<ClientResult>, StepError> {
        let progress = self.progress();
        let (mut looked, mut ticked) = (begin, begin);
        let mut heard: Vec<Option<ClientResult>> = self.workers.iter().map(|_| None).collect();
        while heard.iter().any(Option::is_none) {
            let left = limit.saturating_sub(begin.elapsed());
            let wait =
                watch.every.map_or(left, |every| every.look.saturating_sub(looked.elapsed()).min(left));
            let speaking = self.who_speaks(&heard, wait)?;
            if watch.every.is_some() {
                self.was_continued |= self.workers.iter().any(Worker::was_continued);
            }
            for at in speaking {
                heard[at] = Some(self.hear(at, watch.over)?);
            }
            if heard.iter().all(Option::is_some) {
                break;
            }
            if begin.elapsed() >= limit {
                return Err(StepError { path: "the workload".into(), ..tools::too_long(limit) });
            }
            let Some(every) = watch.every else { continue };
            if looked.elapsed() >= every.look {
                looked = Instant::now();
                (watch.look)();
            }
            if ticked.elapsed() >= every.tick {
                ticked = Instant::now();
                (watch.tick)(progress.done(), progress.total());
            }
        }
        Ok(heard.into_iter().flatten().collect())
    }

    /// The clients that have not reported yet, but have output or have ended.
    fn who_speaks(&self, heard: &[Option<ClientResult>], wait: Duration) -> Result<Vec<usize>, StepError> {
        let timeout =
            Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: i64::from(wait.subsec_nanos()) };
        let silent: Vec<usize> = (0..heard.len()).filter(|at| heard[*at].is_none()).collect();
        let voice = |at: &usize| PollFd::from_borrowed_fd(self.workers[*at].voice(), PollFlags::IN);
        let mut voices: Vec<PollFd<'_>> = silent.iter().map(voice).collect();
        match poll(&mut voices, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Err(e) => return Err(StepError::io("run", "the workload", e)),
            Ok(_) => {}
        }
        let speaks = |(at, voice): (usize, &PollFd<'_>)| (!voice.revents().is_empty()).then_some(at);
        Ok(silent.into_iter().zip(&voices).filter_map(speaks).collect())
    }

    fn hear(&mut self, at: usize, over: &mut dyn FnMut()) -> Result<ClientResult, StepError> {
        let (client, clients) = (at as u32, self.workers.len() as u32);
        let failed = |e| of_client(e, client, clients);
        match self.workers[at].told(over).map_err(failed)? {
            WorkerReport::Failed { operation, path, errno, text, blame } => {
                let path = inside(client, clients, &path);
                Err(failed(StepError { operation, path, errno, text, blame }))
            }
            WorkerReport::Done { began_ns, ended_ns, cost, phases, histograms, live } => {
                let client = Client { client, began_ns, ended_ns, phases, cost };
                let folder = PathBuf::from(inside(client.client, clients, ""));
                let below = |file: LiveFile| LiveFile { path: folder.join(&file.path), ..file };
                let live = live.into_iter().map(below).collect();
                Ok(ClientResult { client, histograms, live })
            }
        }
    }

    fn kill(&mut self) {
        self.workers.iter_mut().for_each(Worker::kill);
        // They must end before their cgroup is removed.
        let begin = Instant::now();
        self.workers.iter_mut().for_each(|worker| drop(worker.ends(begin, TO_END)));
    }
}

fn worker(start: &Start<'_>, client: u32, gate: &SharedGate) -> Result<Worker, StepError> {
    let Start { site, work, memory_group, process_group } = start;
    let place = match work.clients {
        1 => site.open(work)?,
        _ => site.open_within(work, &together::folder(client))?,
    };
    Worker::start(work::Start {
        place: place.as_fd(),
        work,
        seed: together::seed(work.seed, client),
        gate,
        memory_group: memory_group.clone(),
        process_group: process_group.clone(),
        identity: site.worker(),
        root: site.root().map(Path::to_owned),
        says_over: work.portion.stop_after.is_some(),
        source: site.source().map(Path::to_owned),
    })
}

fn done(heard: Vec<ClientResult>) -> Done {
    let (mut clients, mut histograms, mut live) = (Vec::new(), Vec::new(), Vec::new());
    for one in heard {
        clients.push(one.client);
        histograms.extend(one.histograms);
        live.extend(one.live);
    }
    match <[Client; 1]>::try_from(clients) {
        Ok([Client { phases, cost, .. }]) => {
            let phases = phases.into_iter().map(|told| told.phase).collect();
            Done { cost, phases, histograms, live, clients: Vec::new(), was_continued: false }
        }
        Err(clients) => Done {
            cost: together::cost(&clients),
            phases: together::phases(&clients),
            histograms: together::histograms(histograms),
            live,
            clients,
            was_continued: false,
        },
    }
}

/// Adds the client's number to an error, if there are several.
fn of_client(e: StepError, client: u32, clients: u32) -> StepError {
    if clients == 1 { e } else { StepError { text: format!("client {client}: {}", e.text), ..e } }
}

/// A client's path below the common folder.
fn inside(client: u32, clients: u32, path: &str) -> String {
    if clients == 1 { path.to_owned() } else { format!("{}/{path}", together::folder(client)) }
}

/// Raises the descriptor limit: a client takes three of the agent's descriptors, and more while it starts. If the limit is too
/// low, the failing client reports it.
fn have_descriptors(clients: u32) {
    const EACH: u64 = 4;
    const OTHERS: u64 = 100;
    let needed = u64::from(clients) * EACH + OTHERS;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if clients > 1 && current.is_some_and(|current| current < needed) {
        let maximum = maximum.map(|maximum| maximum.max(needed));
        let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum });
        if raised.is_err() {
            // An ordinary user may raise it to the hard limit.
            let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_is_named_by_its_number_and_its_folder() {
        let failed = || StepError::new("write", inside(2, 4, "s0/7"), "no space");
        assert_eq!(of_client(failed(), 2, 4).text, "client 2: no space");
        assert_eq!(of_client(failed(), 2, 4).path, "c2/s0/7");
        assert_eq!(inside(0, 1, "s0/7"), "s0/7");
        assert_eq!(of_client(StepError::new("write", "x", "no space"), 0, 1).text, "no space");
    }
}
