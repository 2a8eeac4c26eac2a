//! Carries the steps of one job out, in their order, and tells each.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use fsderby_sys::process::{Reaped, Usage, reap};

use super::channel::Sender;
use super::protocol::{COLD_START, Event, Job, Step, Stepped};
use super::recovery::{first_file, survivors};
use super::site::Site;
use super::work::{Start, Worker};
use super::worker::Told;
use super::{StepError, monotonic_ns, settle, tools, tree};
use crate::filesystems::{Check, Mount};
use crate::host::memory_group::MemoryGroup;
use crate::probes::{self, Running};
use crate::workloads::{LiveFile, Until};

/// How long a daemon may take to end after its filesystem was unmounted.
const DAEMON_GRACE: Duration = Duration::from_secs(10);

/// Carries out one job.
///
/// # Errors
/// Only when the events cannot be told; what fails in the trial is an event itself.
pub fn carry_out<W: Write>(job: &Job, isolated: bool, tell: &mut Sender<W>) -> io::Result<()> {
    let trial = job.trial.clone();
    tell.send(&Event::Trial { trial: trial.clone(), attempt: job.attempt, clock_ns: monotonic_ns() })?;
    let mut hands = Hands {
        job,
        isolated,
        site: None,
        group: None,
        worker: None,
        started: 0,
        probes: Vec::new(),
        live: None,
    };
    for (at, step) in job.steps.iter().enumerate() {
        tell.send(&Event::Step { step: step.name(), clock_ns: monotonic_ns() })?;
        let mut told = Vec::new();
        match hands.step(step, &mut told, tell)? {
            Ok(work) if job.steps.get(at + 1) == Some(&Step::PowerCut) => go_dark(work, told, tell)?,
            Ok(stepped) => {
                for event in &told {
                    tell.send(event)?;
                }
                tell.send(&Event::Stepped(Stepped { step: step.name(), ..stepped }))?;
            }
            Err(e) => {
                let StepError { operation, path, errno, text } = e;
                tell.send(&Event::Failed { step: step.name(), operation, path, errno, text })?;
                return Ok(());
            }
        }
    }
    drop(hands);
    tell.send(&Event::Done { trial, clock_ns: monotonic_ns() })
}

/// Tells that the power may go, in one event and before anything else, and does nothing any more.
fn go_dark<W: Write>(work: Stepped, told: Vec<Event>, tell: &mut Sender<W>) -> io::Result<()> {
    let phase = |event| if let Event::Phase(phase) = event { Some(phase) } else { None };
    let phases = told.into_iter().filter_map(phase).collect();
    tell.send(&Event::PowerCut { work, phases, clock_ns: monotonic_ns() })?;
    loop {
        std::thread::park();
    }
}

/// What the agent holds while a trial goes on. Dropped in this order.
struct Hands<'a> {
    job: &'a Job,
    isolated: bool,
    probes: Vec<(&'static str, Box<dyn Running>)>,
    worker: Option<Worker>,
    /// How many workers there were.
    started: usize,
    group: Option<MemoryGroup>,
    site: Option<Site>,
    /// What the engine says must be there, after a run until its files live.
    live: Option<Vec<LiveFile>>,
}

type Outcome = Result<Stepped, StepError>;

impl Hands<'_> {
    /// One step. Events that are not urgent go into `told`, so that writing them is not part of anything timed.
    fn step<W: Write>(
        &mut self,
        step: &Step,
        told: &mut Vec<Event>,
        tell: &mut Sender<W>,
    ) -> io::Result<Result<Stepped, StepError>> {
        Ok(match step {
            Step::Work { .. } => return self.work(told, tell),
            Step::Reset | Step::Restart => self.reset(told),
            Step::Make { argv } | Step::Revert { argv } => self.command(argv, &[0]),
            Step::Repair { check } => self.command(&check.argv, &check.clean),
            Step::Mount { mount } | Step::MountAgain { mount } => self.mount(mount, told),
            Step::Space { at } => self.timed(|hands| {
                told.push(Event::Space(hands.site()?.space(*at)?));
                Ok(())
            }),
            Step::Settle { cold } => self.settle(*cold, told),
            Step::Cool { mount } => self.cool(mount.as_ref(), told),
            Step::ProbesOn => self.timed(|hands| hands.probes_on(told)),
            Step::Sync => self.timed(|hands| hands.site()?.sync()),
            Step::ProbesOff => self.timed(|hands| hands.probes_off(told)),
            Step::Verify { at } => self.timed(|hands| {
                let tree = tree::read_back(hands.site()?.place(), *at, hands.live.as_deref())?;
                told.push(Event::Tree(tree));
                Ok(())
            }),
            Step::Empty => self.timed(|hands| hands.site()?.empty()),
            Step::Unmount => self.unmount(),
            Step::Check { check, .. } => self.check(check),
            Step::FirstFile => self.timed(|hands| first_file(hands.site()?.place())),
            Step::Survivors { operations } => self.timed(|hands| {
                let seen = survivors(hands.site()?.place(), hands.job, *operations)?;
                told.push(Event::Survivors(seen));
                Ok(())
            }),
            Step::PowerCut => Err(StepError::new("cut", "the power", "there is no work before it")),
        })
    }

    fn site(&self) -> Result<&Site, StepError> {
        self.site.as_ref().ok_or_else(|| StepError::new("use", "the site", "there is none yet"))
    }

    fn site_mut(&mut self) -> Result<&mut Site, StepError> {
        self.site.as_mut().ok_or_else(|| StepError::new("use", "the site", "there is none yet"))
    }

    fn limit(&self) -> Duration {
        Duration::from_secs(self.job.limit_seconds)
    }

    /// A step that is a system call or two.
    fn timed(&mut self, does: impl FnOnce(&mut Self) -> Result<(), StepError>) -> Outcome {
        let begin = Instant::now();
        does(self)?;
        Ok(Stepped { ns: elapsed_ns(begin), ..Stepped::default() })
    }

    fn reset(&mut self, told: &mut Vec<Event>) -> Outcome {
        self.site = None;
        let job = self.job;
        let isolated = self.isolated;
        let stepped = self.timed(|hands| {
            hands.site = Some(Site::new(&job.device, job.size, &job.token, isolated)?);
            Ok(())
        })?;
        match self.site()?.device() {
            Some((path, direct)) => told.push(Event::Device { path, bytes: job.size, direct }),
            None => told.push(Event::Mounted(self.site()?.found()?)),
        }
        Ok(stepped)
    }

    fn command(&mut self, argv: &[String], good: &[i32]) -> Outcome {
        let argv = self.site()?.expand(argv);
        let ran = tools::run(&argv, self.limit())?;
        if !good.contains(&ran.status) {
            let text = format!("exit code {} of '{}': {}", ran.status, argv.join(" "), ran.last);
            return Err(StepError::new("run", &argv[0], text));
        }
        Ok(stepped(ran.ns, ran.usage, ran.status))
    }

    fn mount(&mut self, mount: &Mount, told: &mut Vec<Event>) -> Outcome {
        let stepped = match mount {
            Mount::Syscall { fstype, options } => {
                self.timed(|hands| hands.site_mut()?.mount(fstype, options))?
            }
            Mount::Command { argv, .. } => self.command(argv, &[0])?,
        };
        told.push(Event::Mounted(self.site_mut()?.settle_in(mount)?));
        Ok(stepped)
    }

    fn settle(&mut self, cold: bool, told: &mut Vec<Event>) -> Outcome {
        let mut seen = None;
        let stepped = self.timed(|hands| {
            seen = settle::settle(hands.site()?, cold)?;
            Ok(())
        })?;
        told.extend(seen.map(|raw| Event::Seen { check: "cold".into(), raw }));
        Ok(stepped)
    }

    fn cool(&mut self, mount: Option<&Mount>, told: &mut Vec<Event>) -> Outcome {
        let begin = Instant::now();
        match mount {
            Some(mount) => {
                self.unmount()?;
                self.site()?.forget_cached()?;
                self.mount(mount, told)?;
            }
            None => {
                let raw = settle::forget(self.site()?)?;
                told.push(Event::Seen { check: COLD_START.into(), raw });
            }
        }
        settle::settle(self.site()?, false)?;
        Ok(Stepped { ns: elapsed_ns(begin), ..Stepped::default() })
    }

    /// The worker is started and prepared here, so that nothing of that falls between the probes.
    fn probes_on(&mut self, told: &mut Vec<Event>) -> Result<(), StepError> {
        let job = self.job;
        let is_guest = job.device.is_guests();
        if let Some(limit) = job.memory.filter(|_| !is_guest) {
            let group = MemoryGroup::new(&job.token, limit);
            self.group = Some(group.map_err(|e| StepError::io("limit memory by", "a memory group", e))?);
        }
        let mut works =
            job.steps.iter().filter_map(|s| if let Step::Work { until } = s { Some(*until) } else { None });
        let until = works.nth(self.started);
        let group = self.group.as_ref().map(|g| g.path().to_owned());
        let place = self.site()?.place().to_owned();
        let device = self.site()?.device_number();
        let start = Start {
            place: &place,
            work: &job.work,
            seed: job.workload_seed,
            until: until.unwrap_or(Until::End),
            memory_group: group.clone(),
        };
        self.worker = Some(Worker::start(start)?);
        self.started += 1;
        let site = probes::Site {
            device: device.as_deref(),
            memory_group: group.as_deref(),
            whole_machine: is_guest && job.memory.is_some(),
        };
        for probe in probes::TABLE {
            match probe.open(&site) {
                Ok(running) => self.probes.push((probe.name(), running)),
                Err(e) => told.push(Event::NotAvailable { name: probe.name().into(), reason: e.to_string() }),
            }
        }
        self.probes.iter_mut().for_each(|(_, probe)| probe.start());
        Ok(())
    }

    fn probes_off(&mut self, told: &mut Vec<Event>) -> Result<(), StepError> {
        for (name, mut probe) in self.probes.drain(..) {
            told.push(Event::Probe { name: name.into(), raw: probe.stop() });
        }
        self.group = None;
        Ok(())
    }

    fn work<W: Write>(&mut self, told: &mut Vec<Event>, tell: &mut Sender<W>) -> io::Result<Outcome> {
        let Some(worker) = self.worker.take() else {
            return Ok(Err(StepError::new("run", "the workload", "it was not started")));
        };
        let every = self.job.progress_every_ms.map(Duration::from_millis);
        let mut written = Ok(());
        let mut tick = |progress: &crate::workloads::Progress| {
            use std::sync::atomic::Ordering::Relaxed;
            let (done, total) = (progress.done.load(Relaxed), progress.total.load(Relaxed));
            if written.is_ok() {
                written = tell.send(&Event::Tick { done, total, clock_ns: monotonic_ns() });
            }
        };
        let outcome = worker.go(self.limit(), every, &mut tick);
        written?;
        Ok(match outcome {
            Err(e) => Err(e),
            Ok(Told::Failed { operation, path, errno, text }) => {
                Err(StepError { operation, path, errno, text })
            }
            Ok(Told::Done { cost, phases, histograms, live }) => {
                told.extend(phases.into_iter().map(Event::Phase));
                told.extend(histograms.into_iter().map(Event::Histogram));
                let until_live = self.job.steps.contains(&Step::Work { until: Until::Live });
                self.live = until_live.then_some(live);
                Ok(cost)
            }
        })
    }

    /// Unmounts and waits for a FUSE daemon to end, whose CPU time then belongs to this step's record.
    fn unmount(&mut self) -> Outcome {
        let mut stepped = self.timed(|hands| hands.site_mut()?.unmount())?;
        let begin = Instant::now();
        let mut daemons = Usage::default();
        while begin.elapsed() < DAEMON_GRACE {
            let fault = |e| StepError::io("wait for", "the filesystem's daemon", e);
            match reap(false).map_err(fault)? {
                Some(Reaped { usage, .. }) => daemons = daemons.plus(usage),
                None if has_children() => std::thread::sleep(Duration::from_millis(1)),
                None => break,
            }
        }
        stepped.ns += if daemons == Usage::default() { 0 } else { elapsed_ns(begin) };
        Ok(Stepped { ns: stepped.ns, ..self::stepped(stepped.ns, daemons, 0) })
    }

    fn check(&mut self, check: &Check) -> Outcome {
        self.site()?.forget_cached()?;
        self.command(&check.argv, &check.clean)
    }
}

/// Whether this process has children left, ended ones included.
fn has_children() -> bool {
    std::fs::read_to_string("/proc/thread-self/children").is_ok_and(|c| !c.trim().is_empty())
}

fn stepped(ns: u64, usage: Usage, status: i32) -> Stepped {
    let Usage { user_ns, sys_ns, minflt, majflt } = usage;
    Stepped { step: String::new(), ns, user_ns, sys_ns, minflt, majflt, status }
}

fn elapsed_ns(begin: Instant) -> u64 {
    u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
