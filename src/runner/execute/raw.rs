//! One launch of a guest that sends requests to its disk: no filesystem, no record.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{anyhow, bail, ensure};
use fsderby_diskmodel::validation::asks::{DONE, RawWork, Taken};

use crate::exit::Failure;
use crate::schema::event::{Event, Phase};
use crate::schema::job::{Cost, Job, PROTOCOL, Purpose, Step};
use crate::schema::setup::{ImageState, Privileges};
use crate::schema::units::Bytes;
use crate::testbeds::{self, Fault, Need, Next, StorageRequest, Testbed};

/// Polling interval while the guest is silent.
const LOOK: Duration = Duration::from_millis(200);

/// The requests to send, and the volume that they go to.
#[derive(Clone, Copy, Debug)]
pub struct Raw {
    pub work: RawWork,
    /// Size of the volume, which begins at the start of the disk.
    pub size: Bytes,
}

/// The result of the requests, one for each round if there are rounds, and the guest's kernel.
pub struct Done {
    pub taken: Vec<Taken>,
    pub kernel: String,
}

impl Raw {
    /// Sends the requests in a guest of this testbed.
    ///
    /// # Errors
    /// If there can be no such guest, or the work fails.
    pub fn carry_out(&self, testbed: &dyn Testbed, stop: &dyn Fn() -> bool) -> anyhow::Result<Done> {
        ensure!(
            testbed.traits().guest,
            "{testbed} starts no guests\n  try: --on model:DISK",
            testbed = testbed.name()
        );
        testbeds::usable(testbed, &self.need()).map_err(|missing| Failure::missing(missing.to_string()))?;
        let mut launched = testbed.launch(&self.job(testbed))?;
        let (mut heard, mut has_failed) = (Messages::default(), None);
        loop {
            if stop() {
                launched.stop();
                launched.end();
                bail!("interrupted");
            }
            match launched.next(LOOK) {
                Next::Event(stamped) => heard.event(stamped.event),
                Next::Damaged(what) => has_failed = Some(what),
                Next::Quiet => {}
                Next::Ended => break,
            }
        }
        let ended = launched.end();
        let fault = ended.fault.as_ref().map(|fault| match fault {
            Fault::Lost(how) | Fault::Hung(how) | Fault::Panic(how) | Fault::Launch(how) => how.clone(),
        });
        match has_failed.or(heard.failed).or(fault) {
            None if !heard.phases.is_empty() => {
                let taken = |phase: &Phase| Taken { done: phase.count(DONE), ns: phase.ns };
                Ok(Done { taken: heard.phases.iter().map(taken).collect(), kernel: heard.kernel })
            }
            why => {
                let why = why.unwrap_or_else(|| "it sent no result".into());
                let lines = ended.last_lines().join("\n  ");
                Err(anyhow!("the guest on {testbed} failed: {why}\n  {lines}", testbed = testbed.name()))
            }
        }
    }

    fn need(&self) -> Need {
        Need {
            size: self.size,
            content: Bytes(0),
            memory: None,
            cpus: None,
            cold: false,
            power_cut: false,
            source: false,
            preconditioned: false,
        }
    }

    fn job(&self, testbed: &dyn Testbed) -> Job {
        let request = StorageRequest {
            image: ImageState::Sparse,
            size: self.size,
            round: 1,
            seed: 1,
            source: false,
            server_work: 1,
            preconditioned: false,
            corner: None,
            reseeded: 0,
            cost: Cost::Usual,
        };
        let (storage, volume) = testbed.storage(&request);
        Job {
            protocol: PROTOCOL,
            token: "raw".into(),
            trial: "raw".into(),
            attempt: 1,
            purpose: Purpose::Measure,
            guest: true,
            storage,
            volume,
            layers: Vec::new(),
            memory: None,
            cpus: None,
            modules: Vec::new(),
            programs: Vec::new(),
            privileges: Privileges::default(),
            steps: vec![Step::Reset, Step::Raw { work: self.work }],
            limits_seconds: BTreeMap::new(),
            works: Vec::new(),
            alive_every_ms: None,
            life: 0,
            pauses: false,
        }
    }
}

/// The guest's messages so far.
#[derive(Default)]
struct Messages {
    kernel: String,
    phases: Vec<Phase>,
    failed: Option<String>,
}

impl Messages {
    fn event(&mut self, event: Event) {
        match event {
            Event::Hello { kernel, .. } => self.kernel = kernel,
            Event::Phase(phase) => self.phases.push(phase),
            Event::Failed { operation, path, text, .. } => {
                self.failed = Some(format!("could not {operation} {path}: {text}"));
            }
            _ => {}
        }
    }
}
