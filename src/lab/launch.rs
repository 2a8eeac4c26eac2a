//! One trial: its job, a launch, the events folded to a record.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::fold::{Fold, Folded};
use super::jobs::Trial;
use super::plan::Plan;
use super::race::INTERRUPTED;
use crate::agent::protocol::Event;
use crate::grounds::{Ended, Ground, Next};
use crate::store::record::{Circumstances, ClockKind};

/// How often the world is looked at while an agent is silent.
const LOOK: Duration = Duration::from_millis(200);
/// An agent that says nothing for so long, progress reports included, has hung.
const SILENCE: Duration = Duration::from_secs(600);

/// What every launch of a race has in common.
#[derive(Clone, Copy)]
pub struct Launcher<'a> {
    pub plan: &'a Plan,
    pub ground: &'a dyn Ground,
    /// Set when what runs is to end at once.
    pub stop: &'a AtomicBool,
}

impl Launcher<'_> {
    /// One launch with one job, folded. `tick` is told how much of the work is done, of how much.
    ///
    /// # Errors
    /// When it cannot be launched at all; what fails afterwards is the trial's.
    pub fn launch(
        &self,
        trial: &Trial<'_>,
        attempt: u32,
        tick: &mut dyn FnMut(u64, u64),
    ) -> anyhow::Result<Folded> {
        let token = format!("{}-{}-{attempt}", std::process::id(), token(&trial.name()));
        let job = self.plan.job(trial, attempt, self.ground.device(&self.plan.moment(trial.round)), &token);
        let mut fold = Fold::new(trial, &job, self.ground.name(), self.ground.traits());
        let mut circumstances = Circumstances {
            started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            load: load(),
            ..Circumstances::default()
        };
        let (begin, steal) = (Instant::now(), steal_ns());
        let mut launched = self.ground.launch(std::slice::from_ref(&job))?;
        fold.launched(launched.ingredients());
        let mut heard = Instant::now();
        // There a guest says nothing while it works, and its ground knows better whether it lives.
        let in_virtual_time = self.ground.traits().clock == ClockKind::Virtual;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                fold.void(INTERRUPTED);
                launched.stop();
            }
            match launched.next(LOOK) {
                Next::Event(stamped) => {
                    heard = Instant::now();
                    if matches!(stamped.event, Event::Hello { .. }) && circumstances.launch_ns == 0 {
                        circumstances.launch_ns =
                            u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
                    }
                    if let Event::Tick { done, total, .. } = stamped.event {
                        tick(done, total);
                    }
                    fold.event(stamped);
                }
                Next::Damaged(what) => fold.void(what),
                Next::Quiet if in_virtual_time || heard.elapsed() < SILENCE => {}
                Next::Quiet => {
                    fold.hung(SILENCE);
                    launched.stop();
                }
                Next::Ended => break,
            }
        }
        let ended: Ended = launched.end();
        circumstances.host_ns = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        circumstances.steal_ns = steal_ns().saturating_sub(steal);
        Ok(fold.finish(ended, circumstances))
    }
}

/// Short and fit for a file name, whatever the labels hold.
fn token(trial: &str) -> String {
    blake3::hash(trial.as_bytes()).to_hex()[..8].to_owned()
}

fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|w| w.parse().ok()).unwrap_or(0.0)
}

fn steal_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks: u64 = text.split_whitespace().nth(8).and_then(|w| w.parse().ok()).unwrap_or(0);
    ticks * (1_000_000_000 / rustix::param::clock_ticks_per_second())
}
