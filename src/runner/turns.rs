//! Whose turn it is: trials in groups that share a launch, taken by threads one group after the other.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use super::fold::Folded;
use super::jobs::Trial;
use super::launch::{Launcher, Told, Turn};
use super::plan::Plan;
use crate::agent::protocol::Purpose;

/// Which of these trials share a launch: those that follow one another with the same work in the same round, as many as the
/// plan allows. One whose power is cut shares none, for its machine does not outlive it.
pub fn groups(plan: &Plan, trials: &[Trial<'_>]) -> Vec<Range<usize>> {
    let key = |t: &Trial<'_>| (t.purpose == Purpose::Integrity, t.round, t.work.label.clone());
    let is_cut = |t: &Trial<'_>| plan.power_cut.is_some() && t.purpose == Purpose::Measure;
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (at, trial) in trials.iter().enumerate() {
        match groups.last_mut() {
            Some(group)
                if group.len() < plan.trials_per_boot as usize
                    && key(&trials[group.start]) == key(trial)
                    && !is_cut(trial) =>
            {
                group.end = at + 1;
            }
            _ => groups.push(at..at + 1),
        }
    }
    groups
}

/// What a thread that runs trials says. The number is the trial's among all turns.
pub enum Word {
    Begins(usize),
    Tick(u64, u64),
    Ended(usize, Duration, Box<Folded>),
    /// Nothing can be launched here.
    Broken(anyhow::Error),
}

/// The groups that nobody has begun.
pub struct Waiting<'a> {
    launcher: Launcher<'a>,
    turns: &'a [Turn<'a>],
    groups: Mutex<VecDeque<Range<usize>>>,
    /// Whether this run has launched anything yet.
    has_launched: &'a AtomicBool,
}

impl<'a> Waiting<'a> {
    pub fn new(launcher: Launcher<'a>, turns: &'a [Turn<'a>], has_launched: &'a AtomicBool) -> Self {
        let trials: Vec<Trial<'_>> = turns.iter().map(|turn| turn.trial).collect();
        let groups = Mutex::new(groups(launcher.plan, &trials).into());
        Waiting { launcher, turns, groups, has_launched }
    }

    /// How many launches there are to begin.
    pub fn launches(&self) -> usize {
        self.groups().len()
    }

    /// No more are begun.
    pub fn clear(&self) {
        self.groups().clear();
    }

    /// Launches one group after the other until there is none.
    pub fn take_turns(&self, tell: &mpsc::Sender<Word>) {
        while !self.launcher.stop.load(Ordering::Relaxed) {
            let Some(group) = self.groups().pop_front() else { break };
            let left = match self.launch(group.clone(), tell) {
                Ok(ended) => group.start + ended..group.end,
                Err(_) if self.has_launched.load(Ordering::Relaxed) && group.len() > 1 => {
                    // Perhaps there is no room for all of them; whose fault it is shows when the first is alone.
                    self.groups().push_front(group.start + 1..group.end);
                    group.start..group.start + 1
                }
                Err(e) if self.has_launched.load(Ordering::Relaxed) => {
                    // It worked before: what is wrong now is this trial's, and the next may find it mended.
                    let folded = self.launcher.not_launched(&self.turns[group.start], &e);
                    let ended = Word::Ended(group.start, Duration::ZERO, Box::new(folded));
                    if tell.send(ended).is_err() {
                        break;
                    }
                    group.start + 1..group.end
                }
                Err(e) => {
                    let _ = tell.send(Word::Broken(e));
                    break;
                }
            };
            if !left.is_empty() {
                self.groups().push_front(left);
            }
        }
    }

    /// How many of the group have ended.
    fn launch(&self, group: Range<usize>, tell: &mpsc::Sender<Word>) -> anyhow::Result<usize> {
        let mut begin = Instant::now();
        let first = group.start;
        let ended = self.launcher.launch(&self.turns[group], &mut |told| {
            let word = match told {
                Told::Begins(at) => {
                    begin = Instant::now();
                    Word::Begins(first + at)
                }
                Told::Tick(done, total) => Word::Tick(done, total),
                Told::Ended(at, folded) => Word::Ended(first + at, begin.elapsed(), folded),
            };
            tell.send(word).is_ok()
        })?;
        self.has_launched.store(true, Ordering::Relaxed);
        Ok(ended)
    }

    fn groups(&self) -> MutexGuard<'_, VecDeque<Range<usize>>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
