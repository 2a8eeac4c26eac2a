//! Carries out the steps of a job in order, and reports each.

use std::cell::OnceCell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fsderby_sys::process::{Reaped, Usage, reap, thread_usage};
use rustix::io::Errno;

use super::alive::Watchdog;
use super::ballast::{self, Ballast, ballast};
use super::channel::Teller;
use super::clients::{self, Clients, Every, Watch};
use super::recovery::{first_file, survivors};
use super::site::Site;
use super::stack::{Raise, Stack};
use super::{StepError, blocked, monotonic_ns, raw, settle, tools, tree};
use crate::host::{self, memory_group::MemoryGroup, process_group::ProcessGroup};
use crate::probes::{self, NotAvailable, Running};
use crate::schema::event::{Event, Stepped, Tree};
use crate::schema::job::{Job, Step, StepName, WorkJob};
use crate::schema::setup::{Check, Mount};
use crate::schema::units::Bytes;
use crate::schema::work::LiveFile;
use crate::stages;
use crate::storage::image::Image;
use crate::storage::{self, Storage};
use crate::workloads::programs;

/// Reading interval of probe counters during the work: see [`probes::Running::sample`].
const LOOK: Duration = Duration::from_millis(100);

/// Pauses the machine; returns the whole job when it goes on.
pub type Rest<'r> = &'r dyn Fn() -> anyhow::Result<Job>;

/// Carries out one job; `rest` is for a job that pauses.
///
/// # Errors
/// Only if the agent cannot send events; failures within the trial are events.
pub fn carry_out(job: &Job, ballast: Ballast, rest: Rest<'_>, tell: &Teller) -> io::Result<()> {
    if job.guest {
        blocked::of_this_guest();
    }
    let watchdog = Watchdog::start(tell, job)?;
    let whole = OnceCell::new();
    let mut resources = Resources {
        job,
        probes: Vec::new(),
        clients: None,
        group: None,
        processes: None,
        site: None,
        live: None,
        is_last: false,
        is_cut: false,
        was_continued: false,
        ballast,
    };
    if resources.steps(0, &watchdog, tell)? == Flow::Ended {
        return Ok(());
    }
    if job.pauses {
        match rest() {
            Ok(job) => resources.job = whole.get_or_init(|| job),
            Err(e) => {
                let error = StepError::new("continue", "the job", format!("{e:#}")).of_machine();
                return tell.send(&error.event(last(job)));
            }
        }
        if resources.steps(job.steps.len(), &watchdog, tell)? == Flow::Ended {
            return Ok(());
        }
    }
    let job = resources.job;
    if let Err(e) = resources.take_down() {
        return tell.send(&e.event(last(job)));
    }
    let was_continued = resources.was_continued;
    drop(resources);
    if let Some(halted) = watchdog.end(was_continued) {
        tell.send(&Event::Seen(halted))?;
    }
    tell.send(&Event::Done { clock_ns: monotonic_ns() })
}

fn last(job: &Job) -> StepName {
    job.steps.last().map(Step::name).unwrap_or_default()
}

/// Whether a trial goes on behind its steps.
#[derive(PartialEq)]
enum Flow {
    GoesOn,
    /// Its last event is sent.
    Ended,
}

/// Reports in one event, before anything else, that the power may be cut or is cut, and then does nothing.
fn go_dark(is_cut: bool, work: Stepped, told: Vec<Event>, tell: &Teller) -> io::Result<()> {
    let phase = |event| if let Event::Phase(phase) = event { Some(phase) } else { None };
    let phases = told.into_iter().filter_map(phase).collect();
    tell.send(&Event::PowerCut { work, phases, clock_ns: monotonic_ns() })?;
    if is_cut {
        // The kernel must not notice its missing disks and report it at an undetermined time. This resets the machine: no
        // notifier runs, and nothing is written.
        fs::write("/proc/sysrq-trigger", "b")?;
    }
    loop {
        std::thread::park();
    }
}

/// Cuts the power of storage that this machine serves itself; returns whether it serves any.
fn cut_power(storage: &dyn Storage) -> Result<bool, StepError> {
    storage.cut_power().map_err(|e| StepError::io("cut the power of", storage.name(), e))
}

/// The agent's resources during a trial. Dropped in this order.
struct Resources<'a> {
    job: &'a Job,
    probes: Vec<(&'static str, Box<dyn Running>)>,
    clients: Option<Clients>,
    /// The cgroup that limits memory, from the first work to the last.
    group: Option<MemoryGroup>,
    /// The cgroup of works that start programs, if the kernel supports a limit of processes.
    processes: Option<ProcessGroup>,
    site: Option<Site>,
    /// The files that must exist according to the engines, if works kept their files.
    live: Option<Vec<LiveFile>>,
    /// The power is cut at the end of this step.
    is_last: bool,
    /// The power is cut.
    is_cut: bool,
    /// Whether a client was stopped and continued by signals.
    was_continued: bool,
    /// In a guest: memory above the limit that was freed since the start.
    ballast: Ballast,
}

type Outcome = Result<Stepped, StepError>;

fn unmeasured(error: anyhow::Error) -> StepError {
    StepError::new("take", "measure the free memory", format!("{error:#}")).of_machine()
}

impl Resources<'_> {
    /// Carries out the job's steps from this one, and reports each.
    fn steps(&mut self, from: usize, watchdog: &Watchdog, tell: &Teller) -> io::Result<Flow> {
        let job = self.job;
        for (at, step) in job.steps.iter().enumerate().skip(from) {
            watchdog.begins(step.name(), job.limit(step.name()));
            tell.send(&Event::Step { step: step.name(), clock_ns: monotonic_ns() })?;
            let mut told = Vec::new();
            self.is_last = job.steps.get(at + 1) == Some(&Step::PowerCut);
            match self.step(step, &mut told, tell)? {
                Ok(work) if self.is_last => {
                    go_dark(self.is_cut, work, told, tell)?;
                    return Ok(Flow::Ended);
                }
                Ok(stepped) => {
                    for event in &told {
                        tell.send(event)?;
                    }
                    tell.send(&Event::Stepped(Stepped { step: step.name(), ..stepped }))?;
                }
                Err(e) => {
                    if let Some(text) = self.fault_below(step, &e) {
                        tell.send(&Event::HostFault { text })?;
                    }
                    tell.send(&self.explained(e).event(step.name()))?;
                    return Ok(Flow::Ended);
                }
            }
        }
        Ok(Flow::GoesOn)
    }

    /// Carries out one step. Events that are not urgent go into `told`, so that writing them is not timed.
    fn step(&mut self, step: &Step, told: &mut Vec<Event>, tell: &Teller) -> io::Result<Outcome> {
        let limit = self.job.limit(step.name());
        Ok(match step {
            Step::Work { work } => return self.work(*work, limit, told, tell),
            Step::Reset => self.reset(Raise::Build, told),
            Step::Restart => self.reset(Raise::Assemble, told),
            Step::Make { argv } | Step::Revert { argv } => self.command(argv, &[0], limit),
            Step::Repair { check } => self.command(&check.argv, &check.clean, limit),
            Step::Mount { mount } | Step::MountAgain { mount } => self.mount(mount, limit, told),
            Step::Space { at } => self.timed(|resources| {
                told.push(Event::Space(resources.site_mut()?.space(*at)?));
                Ok(())
            }),
            Step::Settle { cold } => self.settle(*cold, told),
            Step::Cool { mount } => self.cool(mount.as_ref(), limit, told),
            Step::ForcedCheck { check, mount } => self.forced_check(check, mount, limit, told),
            Step::Source { work, make, mount } => self.timed(|resources| {
                let work = resources.work_job(*work)?.clone();
                let left = resources.give_back()?;
                // The candidate has no part in it.
                let filled = resources.site_mut()?.fill_source(&work, make, mount, limit);
                filled.map_err(StepError::of_machine)?;
                resources.take_down_to(left)
            }),
            Step::ProbesOn { work } => self.timed(|resources| resources.probes_on(*work, told)),
            Step::Sync { .. } => self.timed(|resources| resources.site()?.sync()),
            Step::ProbesOff { work } => self.timed(|resources| resources.probes_off(*work, told)),
            Step::Verify { at } => self.timed(|resources| {
                let site = resources.site()?;
                let free = site.stack().map(|_| site.free()).transpose()?;
                let aside = resources.kept_nothing(site);
                let tree = tree::read_back(site.place(), *at, resources.live.as_deref(), &aside)?;
                told.push(Event::Tree(Tree { free, ..tree }));
                Ok(())
            }),
            Step::Empty => self.timed(|resources| resources.site()?.empty()),
            Step::Unmount => self.unmount(limit),
            Step::Check { check, .. } => self.check(check, limit),
            Step::FirstFile => self.timed(|resources| first_file(resources.site()?.place())),
            Step::Survivors { work } => self.timed(|resources| {
                let work = resources.work_job(*work)?;
                let site = resources.site()?;
                let seen = survivors(site.mountpoint(), &site.place_of(work), work)?;
                told.push(Event::Survivors(seen));
                Ok(())
            }),
            Step::Own { stage } => self.timed(|resources| {
                let own = stages::find(&stage.name).map_err(|e| StepError::new("find", &stage.name, e))?;
                own.carry_out(stage.argument.as_deref(), resources.site()?.place())
            }),
            Step::Raw { work } => self.timed(|resources| {
                let stack = resources.site()?.stack();
                let stack = stack.ok_or_else(|| StepError::new("use", "the device", "there is none"))?;
                told.extend(raw::carry_out(stack.top(), stack.bytes(), work)?.into_iter().map(Event::Phase));
                Ok(())
            }),
            Step::PowerCut => Err(StepError::new("cut", "the power", "no workload precedes it")),
        })
    }

    fn work_job(&self, work: usize) -> Result<&'_ WorkJob, StepError> {
        self.job
            .works
            .get(work)
            .ok_or_else(|| StepError::new("find", "the workload", "the job has no workload with this number"))
    }

    /// The folders of works that do not keep their files.
    fn kept_nothing(&self, site: &Site) -> Vec<PathBuf> {
        let keeps = |folder: &Option<String>| {
            self.job.works.iter().any(|work| work.folder == *folder && work.portion.keep_files)
        };
        let apart = self.job.works.iter().filter(|work| work.folder.is_some() && !keeps(&work.folder));
        apart.map(|work| site.place_of(work)).collect()
    }

    fn site(&self) -> Result<&Site, StepError> {
        self.site.as_ref().ok_or_else(|| StepError::new("use", "the site", "there is none yet"))
    }

    fn site_mut(&mut self) -> Result<&mut Site, StepError> {
        self.site.as_mut().ok_or_else(|| StepError::new("use", "the site", "there is none yet"))
    }

    /// Removes the layers after a successful end, when nothing is mounted.
    fn take_down(&mut self) -> Result<(), StepError> {
        self.site.as_mut().map_or(Ok(()), Site::take_down)
    }

    /// Times a step of a few system calls.
    fn timed(&mut self, does: impl FnOnce(&mut Self) -> Result<(), StepError>) -> Outcome {
        let (begin, before) = (Instant::now(), thread_usage());
        does(self)?;
        let ns = elapsed_ns(begin);
        Ok(stepped(ns, thread_usage().since(before), 0))
    }

    fn reset(&mut self, how: Raise, told: &mut Vec<Event>) -> Outcome {
        self.site = None;
        let job = self.job;
        let stepped = self.timed(|resources| {
            resources.site = Some(Site::new(job, how)?);
            Ok(())
        })?;
        match self.site()?.stack() {
            Some(stack) => told.push(device(stack)),
            None => told.push(Event::Mounted(self.site()?.found()?)),
        }
        told.extend(self.site()?.sandbox().map(|sandbox| Event::Sandbox(sandbox.told())));
        told.extend(self.site()?.conditioned().iter().map(|seen| Event::Seen(*seen)));
        Ok(stepped)
    }

    /// Whether a step failed by the host's fault. Until a trial has its devices, nothing of its filesystem was involved.
    fn fault_below(&self, step: &Step, error: &StepError) -> Option<String> {
        match self.site.as_ref().map(Site::stack) {
            Some(stack) => stack.and_then(Stack::fault_below),
            None if matches!(step, Step::Reset)
                && !self.job.guest
                && self.job.storage.name == Image.name() =>
            {
                Some(format!("{} of {}: {}", error.operation, error.path, error.text))
            }
            None => None,
        }
    }

    /// Says of a full filesystem whether it lacks blocks or inodes.
    fn explained(&self, error: StepError) -> StepError {
        let is_full = error.errno == Errno::NOSPC.raw_os_error();
        match self.site.as_ref().filter(|_| is_full).and_then(Site::lacking) {
            Some(lacking) => StepError { text: format!("{} ({lacking})", error.text), ..error },
            None => error,
        }
    }

    fn command(&mut self, argv: &[String], good: &[i32], limit: Duration) -> Outcome {
        self.tool(argv, good, limit, false)
    }

    fn tool(&mut self, argv: &[String], good: &[i32], limit: Duration, mounts: bool) -> Outcome {
        let site = self.site()?;
        let argv = site.expand(argv);
        let ran = tools::run(&argv, limit, site.sandbox(), mounts)?;
        if !good.contains(&ran.status) {
            let (status, command, said) = (ran.status, argv.join(" "), ran.said);
            let text = format!("exit code {status} of '{command}': {said}");
            return Err(StepError::new("run", &argv[0], text));
        }
        Ok(stepped(ran.ns, ran.usage, ran.status))
    }

    fn mount(&mut self, mount: &Mount, limit: Duration, told: &mut Vec<Event>) -> Outcome {
        let stepped = match mount {
            Mount::Syscall { fstype, options } => {
                let (ns, usage) = self.site()?.mount(fstype, options)?;
                stepped(ns, usage, 0)
            }
            Mount::Command { argv, .. } => self.tool(argv, &[0], limit, true)?,
        };
        told.push(Event::Mounted(self.site_mut()?.settle_in(mount)?));
        Ok(stepped)
    }

    fn settle(&mut self, cold: bool, told: &mut Vec<Event>) -> Outcome {
        let mut seen = None;
        let stepped = self.timed(|resources| {
            seen = settle::settle(resources.site()?, cold)?;
            Ok(())
        })?;
        told.extend(seen.map(Event::Seen));
        Ok(stepped)
    }

    fn cool(&mut self, mount: Option<&Mount>, limit: Duration, told: &mut Vec<Event>) -> Outcome {
        let begin = Instant::now();
        match mount {
            Some(mount) => {
                self.unmount(limit)?;
                self.site()?.forget_cached()?;
                self.mount(mount, limit, told)?;
            }
            None => {
                told.push(Event::Seen(settle::forget(self.site()?)?));
            }
        }
        settle::settle(self.site()?, false)?;
        Ok(Stepped { ns: elapsed_ns(begin), ..Stepped::default() })
    }

    /// Earlier steps, such as mkfs or filling the second disk, make the kernel free memory that it held since boot. Without this
    /// the work would have up to 30 MiB more than its limit.
    fn take_surplus(&mut self) -> Result<(), StepError> {
        self.take_down_to(self.limit())
    }

    /// The limit of a guest's memory; other testbeds have a cgroup for it.
    fn limit(&self) -> Option<Bytes> {
        self.job.memory.filter(|_| self.job.guest)
    }

    fn take_down_to(&mut self, left: Option<Bytes>) -> Result<(), StepError> {
        if let Some(left) = left {
            self.ballast.extend(ballast(left).map_err(unmeasured)?);
        }
        Ok(())
    }

    /// Gives the guest its whole memory for a filesystem that is none of the work's: with little memory the kernel would kill the
    /// process that fills it. Returns what was left before, of the limit and of what the candidate's driver has taken.
    fn give_back(&mut self) -> Result<Option<Bytes>, StepError> {
        let Some(limit) = self.limit() else { return Ok(None) };
        let left = ballast::left().map_err(unmeasured)?;
        self.ballast.clear();
        Ok(Some(left.min(limit)))
    }

    /// Unmounts, checks and mounts again; only the time of the check itself is measured.
    fn forced_check(
        &mut self,
        check: &Check,
        mount: &Mount,
        limit: Duration,
        told: &mut Vec<Event>,
    ) -> Outcome {
        self.unmount(limit)?;
        let checked = self.check(check, limit)?;
        self.mount(mount, limit, told)?;
        settle::settle(self.site()?, false)?;
        Ok(checked)
    }

    /// Starts and prepares the clients, then the probes, so that the probes do not measure the start of the clients.
    fn probes_on(&mut self, work: usize, told: &mut Vec<Event>) -> Result<(), StepError> {
        let job = self.job;
        let is_guest = job.guest;
        match (&self.group, job.memory.filter(|_| !is_guest)) {
            (None, Some(limit)) => {
                let group = MemoryGroup::new(&job.token, limit);
                self.group =
                    Some(group.map_err(|e| StepError::io("limit memory by", "a cgroup", e).of_machine())?);
            }
            (Some(group), _) => group.forget_peak(),
            (None, None) => {}
        }
        let group = self.group.as_ref().map(|g| g.path().to_owned());
        if self.processes.is_none() && programs::starts(&self.work_job(work)?.work) {
            self.processes = ProcessGroup::new(&job.token).ok();
        }
        let work = self.work_job(work)?;
        let process_group = self.processes.as_ref().map(|group| group.path().to_owned());
        let site = self.site()?;
        told.extend(site.worker().map(Event::Worker));
        let devices = site.devices();
        let clients =
            Clients::start(&clients::Start { site, work, memory_group: group.clone(), process_group })?;
        let (place, progress) = (site.place_of(work), job.alive_every_ms.map(|_| clients.progress()));
        self.clients = Some(clients);
        self.take_surplus()?;
        let site = probes::Site {
            devices: &devices,
            memory_group: group.as_deref(),
            whole_machine: is_guest && job.memory.is_some(),
            place: Some(&place),
            progress: progress.as_ref(),
        };
        let not_available = |name: String, e: NotAvailable| Event::NotAvailable { name, reason: e.0 };
        for probe in probes::TABLE {
            match probe.open(&site) {
                Ok(running) => {
                    let lacks = running.lacks().into_iter();
                    told.extend(
                        lacks.map(|(counter, e)| not_available(format!("{}.{counter}", probe.name()), e)),
                    );
                    self.probes.push((probe.name(), running));
                }
                Err(e) => told.push(not_available(probe.name().into(), e)),
            }
        }
        self.probes.iter_mut().for_each(|(_, probe)| probe.start());
        Ok(())
    }

    /// Stops all probes before any probe reads files.
    fn probes_off(&mut self, work: usize, told: &mut Vec<Event>) -> Result<(), StepError> {
        let stopped: Vec<_> =
            self.probes.drain(..).map(|(name, mut probe)| (name, probe.stop(), probe)).collect();
        for (name, mut raw, mut probe) in stopped {
            let name = || name.to_owned();
            let points = probe.series();
            if !points.is_empty() {
                told.push(Event::Series { name: name(), points });
            }
            match probe.look_at_files() {
                Ok(seen) => raw.extend(seen),
                Err(e) => told.push(Event::NotAvailable { name: name(), reason: e.0 }),
            }
            told.push(Event::Probe { name: name(), raw });
        }
        if work + 1 == self.job.works.len() {
            self.group = None;
            self.processes = None;
        }
        Ok(())
    }

    fn work(
        &mut self,
        work: usize,
        limit: Duration,
        told: &mut Vec<Event>,
        tell: &Teller,
    ) -> io::Result<Outcome> {
        let Some(clients) = self.clients.take() else {
            return Ok(Err(StepError::new("run", "the workload", "it was not started")));
        };
        let every = self.job.alive_every_ms.map(|ms| Every { look: LOOK, tick: Duration::from_millis(ms) });
        let mut written = Ok(());
        let mut tick = |done, total| {
            if written.is_ok() {
                written = tell.send(&Event::Alive { done, total, clock_ns: monotonic_ns() });
            }
        };
        let mut cut = Ok(false);
        let (job, is_last) = (self.job, self.is_last);
        let mut over = || {
            if is_last {
                cut = storage::find(&job.storage).and_then(cut_power);
            }
        };
        let probes = &mut self.probes;
        let mut look = || probes.iter_mut().for_each(|(_, probe)| probe.sample());
        let mut watch = Watch { every, look: &mut look, tick: &mut tick, over: &mut over };
        let outcome = clients.go(limit, &mut watch);
        written?;
        if !is_last {
            self.probes.iter_mut().for_each(|(_, probe)| probe.work_ended());
        }
        match cut {
            Ok(is_cut) => self.is_cut = is_cut,
            Err(e) => return Ok(Err(e)),
        }
        Ok(outcome.map(|clients::Done { cost, phases, histograms, live, clients, was_continued }| {
            self.was_continued |= was_continued;
            told.extend(phases.into_iter().map(Event::Phase));
            told.extend(histograms.into_iter().map(Event::Histogram));
            told.extend(clients.into_iter().map(Event::Client));
            if let Some(job) = self.job.works.get(work).filter(|job| job.portion.keep_files) {
                let below = |file: LiveFile| LiveFile { path: job.below(&file.path), ..file };
                self.live.get_or_insert_default().extend(live.into_iter().map(below));
            }
            cost
        }))
    }

    /// Unmounts and waits for a FUSE daemon to end; its CPU time belongs to this step. A daemon that does not end may still
    /// write, and a check must not race it.
    fn unmount(&mut self, limit: Duration) -> Outcome {
        let mut unmounted = self.timed(|resources| resources.site_mut()?.unmount())?;
        let begin = Instant::now();
        let servers: Vec<i32> = self.site()?.stack().into_iter().flat_map(|stack| stack.servers()).collect();
        let is_left = || host::children().iter().any(|child| !servers.contains(child));
        let daemons = until_ended(|| reap(false), is_left, limit)?;
        unmounted.ns += if daemons == Usage::default() { 0 } else { elapsed_ns(begin) };
        unmounted.user_ns += daemons.user_ns;
        unmounted.sys_ns += daemons.sys_ns;
        unmounted.minflt += daemons.minflt;
        unmounted.majflt += daemons.majflt;
        Ok(unmounted)
    }

    fn check(&mut self, check: &Check, limit: Duration) -> Outcome {
        self.site()?.forget_cached()?;
        self.command(&check.argv, &check.clean, limit)
    }
}

/// Reaps all ended children and returns their total usage.
fn until_ended(
    mut reap: impl FnMut() -> io::Result<Option<Reaped>>,
    has_children: impl Fn() -> bool,
    limit: Duration,
) -> Result<Usage, StepError> {
    const WHAT: &str = "the filesystem's daemon";
    let begin = Instant::now();
    let mut used = Usage::default();
    loop {
        match reap().map_err(|e| StepError::io("wait for", WHAT, e))? {
            Some(Reaped { usage, .. }) => used = used.plus(usage),
            None if !has_children() => return Ok(used),
            None if begin.elapsed() > limit => {
                let text = format!(
                    "the daemon did not end within {} s after its filesystem was unmounted",
                    limit.as_secs()
                );
                return Err(StepError::new("wait for", WHAT, text));
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// The event that names the device for mkfs, and its disks if the device is not a disk itself.
fn device(stack: &Stack) -> Event {
    let shown = |path: &Path| path.display().to_string();
    let leaves = if stack.has_layers() { stack.leaves().map(shown).collect() } else { Vec::new() };
    Event::Device { path: shown(stack.top()), bytes: stack.bytes(), direct: stack.is_direct(), leaves }
}

fn stepped(ns: u64, usage: Usage, status: i32) -> Stepped {
    let Usage { user_ns, sys_ns, minflt, majflt, .. } = usage;
    Stepped { ns, user_ns, sys_ns, minflt, majflt, status, ..Stepped::default() }
}

fn elapsed_ns(begin: Instant) -> u64 {
    u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use fsderby_sys::process::End;

    use super::*;

    #[test]
    fn a_daemon_that_does_not_end_fails_its_unmount_and_one_that_does_is_accounted_for() {
        let lasting = until_ended(|| Ok(None), || true, Duration::from_millis(5));
        assert!(lasting.is_err_and(|e| e.to_string().contains("did not end")));
        let usage = Usage { user_ns: 7, ..Usage::default() };
        let mut ended =
            vec![Reaped { pid: 2, end: End::Exit(0), usage }, Reaped { pid: 3, end: End::Exit(0), usage }];
        let used = until_ended(|| Ok(ended.pop()), || false, Duration::from_secs(1)).unwrap();
        assert_eq!(used.user_ns, 14);
        assert_eq!(until_ended(|| Ok(None), || false, Duration::ZERO).unwrap(), Usage::default());
    }
}
