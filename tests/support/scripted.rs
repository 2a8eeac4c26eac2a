//! A testbed that runs nothing: it answers each job with the events that an agent would send, with declared durations.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fsderby::filesystems::KernelNeed;
use fsderby::schema::event::{
    Buckets, Client, ClientPhase, Event, Phase, Seen, Space, Stepped, Survivors, Tree,
};
use fsderby::schema::job::{At, Job, PROTOCOL, Purpose, Step, StepName, WorkJob};
use fsderby::schema::machine::{Machine, OnMachine};
use fsderby::schema::plan::Plan;
use fsderby::schema::setup::{ClockKind, Fidelity, Mounted, Named, Volume};
use fsderby::schema::shared::Keyed;
use fsderby::schema::units::Bytes;
use fsderby::storage::image;
use fsderby::testbeds::model::Model;
use fsderby::testbeds::{
    Ended, Fault, Launched, Missing, Need, Next, Stamped, StorageRequest, Testbed, TestbedTraits, Testbeds,
};
use fsderby::workloads::{self, clients};

/// Changes what would have been said, or what it would have been said by.
pub type Alter = dyn Fn(&Job, Vec<Next>) -> Vec<Next> + Sync;

/// Says why a job cannot be launched, where it cannot.
pub type Refuse = dyn Fn(&Job) -> Option<String> + Sync;

/// Says how a job's agent ends, where it does not end well.
pub type Fails = dyn Fn(&Job) -> Option<Fault> + Sync;

pub struct Scripted {
    /// As a plan names it: a stored one must name a testbed that there is.
    pub on: String,
    pub traits: TestbedTraits,
    /// Of its machine, where that is not this one.
    pub kernel: Option<String>,
    pub alter: Box<Alter>,
    /// What each trial leaves on its agent's console.
    pub console: Vec<String>,
    /// Whose samples it is said to be on.
    pub modelled: Option<Model>,
    /// What each trial's modelled disk did.
    pub requests: Vec<u8>,
    /// Why a job cannot be launched.
    pub refuse: Box<Refuse>,
    pub fault: Box<Fails>,
    /// The trials that were launched, by name.
    pub launched: Mutex<Vec<String>>,
    /// What is set when this trial begins, as Ctrl-C would.
    pub interrupt: Mutex<Option<(String, Arc<AtomicBool>)>>,
}

impl Scripted {
    /// Everything goes well.
    pub fn well() -> Self {
        Scripted::altered(|_, events| events)
    }

    pub fn altered(alter: impl Fn(&Job, Vec<Next>) -> Vec<Next> + Sync + 'static) -> Self {
        Scripted {
            on: "loop".into(),
            traits: TestbedTraits {
                clock: ClockKind::Host,
                fidelity: Fidelity::Loop,
                guest: false,
                limits_memory: true,
                loses_power: true,
            },
            kernel: None,
            alter: Box::new(alter),
            console: Vec::new(),
            modelled: None,
            requests: Vec::new(),
            refuse: Box::new(|_| None),
            fault: Box::new(|_| None),
            launched: Mutex::default(),
            interrupt: Mutex::default(),
        }
    }

    /// Everything goes well in guests with this kernel.
    pub fn guests(on: &str, kernel: &str) -> Self {
        let well = Scripted::well();
        let traits =
            TestbedTraits { clock: ClockKind::Guest, fidelity: Fidelity::VmKvm, guest: true, ..well.traits };
        Scripted { on: on.into(), traits, kernel: Some(kernel.into()), ..well }
    }

    /// As if on a modelled disk, with each job's events changed by this.
    pub fn on_model(on: &str, change: impl Fn(&Job, &mut Event) + Sync + 'static) -> Self {
        let scripted = Scripted::event(change);
        let traits = TestbedTraits {
            clock: ClockKind::Virtual,
            fidelity: Fidelity::Model,
            guest: true,
            ..scripted.traits
        };
        let modelled = on.trim_start_matches("model:").parse().ok();
        Scripted { on: on.into(), traits, modelled, requests: vec![7; 480], ..scripted }
    }

    /// With every event changed by this.
    pub fn event(change: impl Fn(&Job, &mut Event) + Sync + 'static) -> Self {
        Scripted::altered(move |job, mut events| {
            for next in &mut events {
                if let Next::Event(stamped) = next {
                    change(job, &mut stamped.event);
                }
            }
            events
        })
    }
}

impl Testbed for Scripted {
    fn name(&self) -> String {
        self.on.clone()
    }

    fn traits(&self) -> TestbedTraits {
        self.traits
    }

    fn kernel(&self) -> Option<(String, String)> {
        self.kernel.clone().map(|release| (release, "scripted".into()))
    }

    fn ready(&self, _need: &Need) -> Result<(), Missing> {
        Ok(())
    }

    fn serves(&self, _kernel: &KernelNeed) -> Result<(), Missing> {
        Ok(())
    }

    fn tool(&self, _program: &str) -> Result<(), Missing> {
        Ok(())
    }

    fn storage(&self, request: &StorageRequest) -> (Named, Volume) {
        if let Some(model) = &self.modelled {
            return model.storage(request);
        }
        let settings = image::Settings {
            folder: "/scripted".into(),
            state: request.image,
            disk: None,
            source: request.source,
        };
        (settings.named(), request.volume())
    }

    fn folder(&self) -> &Path {
        Path::new("/")
    }

    fn launch(&self, job: &Job) -> anyhow::Result<Box<dyn Launched>> {
        if let Some(why) = (self.refuse)(job) {
            anyhow::bail!(why);
        }
        self.launched.lock().unwrap().push(job.trial.clone());
        let kernel = self.kernel.as_deref().unwrap_or(KERNEL);
        let events = (self.alter)(job, script(job, kernel)).into();
        let interrupt = self.interrupt.lock().unwrap().clone().filter(|(at, _)| *at == job.trial);
        let (console, interrupt) = (self.console.clone(), interrupt.map(|(_, stop)| stop));
        let requests = self.requests.clone();
        Ok(Box::new(Playing { events, console, requests, interrupt, fault: (self.fault)(job) }))
    }
}

/// What agents on this machine say of its kernel.
const KERNEL: &str = "6.0";

/// A machine on which these testbeds are as they say.
pub fn machine(plan: &Plan, testbeds: &Testbeds<'_>) -> Machine {
    let mut machine = Machine::default();
    for (candidate, setup) in plan.setups() {
        let kernel = testbeds.of(plan, candidate).kernel().map_or(KERNEL.to_owned(), |(release, _)| release);
        if machine.setup(&setup.name()).is_none() {
            machine.setups.push(OnMachine { name: setup.name(), kernel, cpus: 1, ..OnMachine::default() });
        }
    }
    machine
}

struct Playing {
    events: VecDeque<Next>,
    console: Vec<String>,
    requests: Vec<u8>,
    interrupt: Option<Arc<AtomicBool>>,
    fault: Option<Fault>,
}

impl Launched for Playing {
    fn next(&mut self, _wait: Duration) -> Next {
        let next = self.events.pop_front().unwrap_or(Next::Ended);
        if let (Next::Event(Stamped { event: Event::Hello { .. }, .. }), Some(stop)) =
            (&next, &self.interrupt)
        {
            stop.store(true, Ordering::Relaxed);
        }
        next
    }

    fn stop(&mut self) {
        self.events.clear();
    }

    fn end(self: Box<Self>) -> Ended {
        Ended { fault: self.fault, console: self.console, requests: self.requests }
    }
}

fn event(next: Next) -> Option<Event> {
    if let Next::Event(Stamped { event, .. }) = next { Some(event) } else { None }
}

/// How long a step takes, in milliseconds: declared, and different for each filesystem, round and attempt.
pub fn declared_ms(job: &Job, step: StepName) -> u64 {
    let of = |text: &str| text.bytes().map(u64::from).sum::<u64>();
    let base = match step {
        StepName::Work => 1000,
        StepName::Make => 80,
        StepName::Sync => 60,
        _ => 10,
    };
    base + (of(&job.trial) * 7 + of(&step.to_string())) % (base / 2)
}

/// What an agent says of this job when all goes well.
fn script(job: &Job, kernel: &str) -> Vec<Next> {
    let mut script = Script { events: Vec::new(), clock_ns: 1_000_000_000 };
    let clock_ns = script.clock_ns;
    script.say(Event::Hello {
        protocol: PROTOCOL,
        build: "scripted".into(),
        kernel: kernel.into(),
        clock_ns,
    });
    for step in &job.steps {
        let name = step.name();
        let clock_ns = script.clock_ns;
        script.say(Event::Step { step: name, clock_ns });
        let ns = declared_ms(job, name) * 1_000_000;
        script.clock_ns += ns;
        if is_cut(job, step) {
            script.cut(step, ns);
            continue;
        }
        let several = |work: &&WorkJob| name == StepName::Work && work.clients > 1;
        if let Some(work) = step.work().map(|work| &job.works[work]).filter(several) {
            script.clients(work, ns);
            continue;
        }
        script.step(job, step, ns);
        let used = if name == StepName::Work { ns / 2 } else { 0 };
        script.say(Event::Stepped(Stepped {
            step: name,
            ns,
            user_ns: used / 4,
            sys_ns: used,
            minflt: 100,
            ..Stepped::default()
        }));
    }
    let clock_ns = script.clock_ns;
    script.say(Event::Done { clock_ns });
    script.say(Event::Bye { events: script.events.len() as u64, clock_ns });
    script.events
}

/// Whether it is the cut, or the work that it ends.
fn is_cut(job: &Job, step: &Step) -> bool {
    *step == Step::PowerCut
        || matches!(step, Step::Work { work } if job.works[*work].portion.stop_after.is_some())
}

struct Script {
    events: Vec<Next>,
    clock_ns: u64,
}

impl Script {
    fn say(&mut self, event: Event) {
        self.events.push(Next::Event(Stamped { host_ns: self.clock_ns, event }));
    }

    /// Of work that a power cut ends, only the cut is told.
    fn cut(&mut self, step: &Step, ns: u64) {
        if *step == Step::PowerCut {
            let work = Stepped { ns, ..Stepped::default() };
            let clock_ns = self.clock_ns;
            self.say(Event::PowerCut { work, phases: Vec::new(), clock_ns });
        }
    }

    /// Each does what one alone would, the later ones a little later and longer.
    fn clients(&mut self, job: &WorkJob, ns: u64) {
        let (ended_ns, before) = (self.clock_ns, self.events.len());
        self.work(job, ns / 2);
        let alone: Vec<Event> = self.events.drain(before..).filter_map(event).collect();
        let mut all = Vec::new();
        for client in 0..job.clients {
            let late = u64::from(client) * 1_000_000;
            let began_ns = ended_ns - ns + late;
            let mut at = began_ns;
            let mut phases = Vec::new();
            for event in &alone {
                let Event::Phase(phase) = event else { continue };
                let phase = Phase { ns: phase.ns + late, ..phase.clone() };
                at += phase.ns;
                phases.push(ClientPhase { ended_ns: at, phase });
            }
            let step = StepName::Work;
            let cost =
                Stepped { step, ns: at - began_ns, user_ns: ns / 8, minflt: 100, ..Stepped::default() };
            all.push(Client { client, began_ns, ended_ns: at, phases, cost });
        }
        clients::phases(&all).into_iter().for_each(|phase| self.say(Event::Phase(phase)));
        let told = alone.into_iter().filter_map(|e| if let Event::Histogram(h) = e { Some(h) } else { None });
        let told: Vec<Buckets> = told.collect();
        let told = (0..job.clients).flat_map(|_| told.clone());
        clients::histograms(told).into_iter().for_each(|histogram| self.say(Event::Histogram(histogram)));
        let cost = clients::cost(&all);
        all.into_iter().for_each(|client| self.say(Event::Client(client)));
        self.say(Event::Stepped(cost));
    }

    fn step(&mut self, job: &Job, step: &Step, ns: u64) {
        match step {
            Step::Reset => self.say(Event::Device {
                path: "/dev/loop0".into(),
                bytes: job.volume.size,
                direct: true,
                leaves: Vec::new(),
            }),
            Step::Mount { mount } => {
                let fstype = mount.fstype().to_owned();
                let options = mount.options().to_vec();
                self.say(Event::Mounted(Mounted {
                    source: "/dev/loop0".into(),
                    driver: fstype.clone(),
                    fstype,
                    options,
                }));
            }
            Step::Space { at } => {
                let usable = Bytes(job.volume.size.0 * 9 / 10);
                self.say(Event::Space(Space {
                    at: *at,
                    total: job.volume.size,
                    free: usable,
                    usable,
                    inodes: 65536,
                }));
            }
            Step::Settle { cold: true } => {
                self.say(Event::Seen(Seen::Cold { asked_bytes: 1 << 20, device_bytes_read: Some(1 << 20) }));
            }
            Step::Work { work } => match &job.works[*work].portion.part {
                Some(part) => {
                    let counts = [("bytes_read".to_owned(), 40_000_000)].into();
                    self.say(Event::Phase(Phase { name: format!("part {part}"), ns, counts }));
                }
                None => self.work(&job.works[*work], ns),
            },
            Step::ProbesOff { .. } => self.probes(job),
            Step::Survivors { .. } => {
                let survivors =
                    Survivors { files: 300, bytes: 9_000_000, names_promised: true, ..Survivors::default() };
                self.say(Event::Survivors(survivors));
            }
            Step::Verify { at } => self.say(Event::Tree(tree(*at))),
            _ => {}
        }
    }

    fn work(&mut self, job: &WorkJob, ns: u64) {
        let clock_ns = self.clock_ns;
        self.say(Event::Alive { done: 500, total: 1000, clock_ns });
        let fsyncs = if job.work.parameters.get("fsync").and_then(toml::Value::as_bool) == Some(true) {
            600
        } else {
            0
        };
        let counts = |list: &[(&str, u64)]| {
            list.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect::<BTreeMap<_, _>>()
        };
        let phases = [
            (
                "create",
                ns / 4,
                counts(&[("created", 500), ("bytes_written", 50_000_000), ("fsyncs", fsyncs)]),
            ),
            (
                "transactions",
                ns / 2,
                counts(&[
                    ("transactions", 1000),
                    ("created", 260),
                    ("deleted", 240),
                    ("read", 510),
                    ("appended", 490),
                    ("bytes_read", 40_000_000),
                    ("bytes_written", 60_000_000),
                    ("fsyncs", fsyncs),
                ]),
            ),
            ("delete", ns / 4, counts(&[("deleted", 520)])),
        ];
        for (name, ns, counts) in phases {
            self.latencies(job, name, &counts);
            self.say(Event::Phase(Phase { name: name.into(), ns, counts: counts.into() }));
        }
    }

    /// A histogram for each operation that the phase counts: most of them fast, one in a hundred slow.
    fn latencies(&mut self, job: &WorkJob, phase: &str, counts: &BTreeMap<String, u64>) {
        let timed = workloads::engine(&job.work.engine).map_or(&[][..], |engine| engine.timed(phase));
        for (operation, count) in timed {
            let n = counts.get(*count).copied().unwrap_or(0);
            let (slower, slow) = (n * 29 / 100, n / 100);
            let buckets = [(1000, n - slower - slow), (2000, slower), (90_000, slow)];
            let buckets = buckets.into_iter().filter(|(_, n)| *n > 0).collect::<Vec<_>>();
            if !buckets.is_empty() {
                let (phase, operation) = (phase.to_owned(), (*operation).to_owned());
                self.say(Event::Histogram(Buckets {
                    of: None,
                    phase,
                    operation,
                    unit: "ns".into(),
                    buckets,
                }));
            }
        }
    }

    fn probes(&mut self, job: &Job) {
        let raw = |list: &[(&str, u64)]| {
            list.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect::<Keyed<_>>()
        };
        let written = 110_000_000 + declared_ms(job, StepName::Reset) * 1_000_000;
        let block = [
            ("bytes_written", written),
            ("bytes_read", 4096),
            ("writes", 900),
            ("reads", 1),
            ("flushes", 1200),
            ("volatile_cache", 1),
        ];
        self.say(Event::Probe { name: "block_io".into(), raw: raw(&block) });
        let cpu = [
            ("machine_cpus_ns", 2_000_000_000),
            ("machine_idle_ns", 1_000_000_000),
            ("machine_iowait_ns", 100_000_000),
            ("daemons_ns", 0),
        ];
        self.say(Event::Probe { name: "cpu".into(), raw: raw(&cpu) });
        if job.storage.name == "disk" {
            let kinds = ["reads", "queued", "streams", "flushes", "copying"];
            let waited = kinds.map(|kind| (format!("waited_{kind}_ns"), 0));
            self.say(Event::Probe { name: "disk".into(), raw: waited.into() });
        }
        if let Some(limit) = job.memory {
            self.say(Event::Probe { name: "memory".into(), raw: raw(&[("peak_bytes", limit.0)]) });
        }
    }
}

fn tree(at: At) -> Tree {
    let expected = Some("aa".repeat(32));
    Tree {
        at,
        files: 520,
        bytes: 50_000_000,
        stored: 51_000_000,
        encoding: None,
        hash: "aa".repeat(32),
        expected,
        free: None,
    }
}

/// Whether a job is an integrity check.
pub fn is_integrity(job: &Job) -> bool {
    job.purpose == Purpose::Integrity
}
