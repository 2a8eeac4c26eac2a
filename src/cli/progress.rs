//! Progress on stderr: a bar with the remaining time on a terminal, plain lines elsewhere.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::foresight;
use crate::report::view::number::{count, named};
use crate::runner::execute::launch::Tick;
use crate::runner::execute::rounds::Watch;
use crate::runner::preflight::skips::Skip;
use crate::schema::plan::{Plan, Rounds};
use crate::schema::reason::Outcome;
use crate::schema::record::Record;
use crate::schema::units::{Bytes, MIB};
use crate::store::Run;
use crate::testbeds::Moved;
use crate::text::visible::{visible, visible_line};

/// Interval of lines about a trial in virtual time, if there is no terminal.
const SELDOM: Duration = Duration::from_secs(60);

pub struct Progress {
    bar: ProgressBar,
    plain: bool,
    /// When each running trial in virtual time was last told of, without a terminal.
    told: HashMap<String, Instant>,
}

impl Progress {
    pub fn new(quiet: bool) -> Self {
        let plain = !std::io::stderr().is_terminal();
        let bar = ProgressBar::new(1);
        bar.set_draw_target(if plain || quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        });
        let style = ProgressStyle::with_template("{prefix:>12} {bar:24.cyan/dim} {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸─"));
        Progress { bar, plain: plain && !quiet, told: HashMap::new() }
    }

    fn say(&self, line: &str) {
        if self.plain {
            super::say(line);
        } else {
            self.bar.println(visible(line));
        }
    }
}

impl Watch for Progress {
    fn begins(&mut self, plan: &Plan, skips: &[Skip]) {
        let twice = plan
            .guard
            .as_ref()
            .map(|twice| format!(" ({label} twice, for the A/A check)", label = named(&twice.of)));
        let filesystems = count(plan.candidates.len() - usize::from(twice.is_some()), "filesystem");
        let rounds = match plan.rounds {
            Rounds::Exactly(n) => count(n as usize, "round"),
            Rounds::AtLeast(n) => format!("at least {}", count(n as usize, "round")),
            Rounds::Auto => "10 to 20 rounds".to_owned(),
        };
        let budget = plan.budget.map_or(String::new(), |b| format!(", as many rounds as fit into {b}"));
        self.say(&format!(
            "{experiment}: {filesystems}{twice}, {workloads}, {rounds}{budget}, on {testbeds} with volumes of {size}",
            experiment = plan.name,
            twice = twice.unwrap_or_default(),
            workloads = count(plan.scenarios.len(), "workload"),
            testbeds = plan.testbeds().join(" and "),
            size = plan.size
        ));
        let mut told = Vec::new();
        for skip in skips.iter().filter(|s| !s.by_experiment || plan.scenarios.len() == 1) {
            if !told.contains(&&skip.filesystem) {
                told.push(&skip.filesystem);
            }
        }
        for skip in skips {
            if let Some(at) = told.iter().position(|f| **f == skip.filesystem) {
                told.remove(at);
                self.say(&format!(
                    "skipped {}: {}",
                    skip.filesystem,
                    skip.reason.replace("\n  try:", "; try:")
                ));
            } else if skip.by_experiment {
                self.say(&format!(
                    "skipped {} × {}: {}",
                    skip.filesystem,
                    skip.scenario,
                    skip.reason.replace("\n  try:", "; try:")
                ));
            }
        }
    }

    fn trial(&mut self, name: &str, left: Option<Duration>) {
        let left = left.map_or(String::new(), |left| format!("  ({} left)", clock(left)));
        self.bar.set_position(0);
        self.bar.set_prefix("measuring");
        self.bar.set_message(format!("{}{left}", visible_line(name)));
    }

    fn tick(&mut self, trial: &str, tick: Tick) {
        match tick {
            Tick::Work { done, total } => {
                self.bar.set_length(total.max(1));
                self.bar.set_position(done);
            }
            Tick::Virtual(moved) => {
                let far = far(trial, moved);
                if !self.plain {
                    self.bar.set_message(far);
                } else if self.told.get(trial).is_none_or(|at| at.elapsed() >= SELDOM) {
                    // A trial that ends sooner needs no such line.
                    if self.told.insert(trial.to_owned(), Instant::now()).is_some() {
                        self.say(&far);
                    }
                }
            }
        }
    }

    fn record(&mut self, record: &Record) {
        self.told.remove(&record.trial);
        let headline = record.metrics.iter().find(|m| m.headline && record.says(m));
        let figure = headline.map_or(String::new(), |m| {
            let decimals = 2_usize.saturating_sub(m.value.abs().max(0.01).log10().floor() as usize);
            format!("  {:.decimals$} {}", m.value, m.unit)
        });
        match record.outcome {
            Outcome::Done if self.plain => self.say(&format!("{}{figure}", record.trial)),
            Outcome::Done | Outcome::Skipped => {}
            outcome => {
                self.say(&format!("{} is {}: {}", record.trial, outcome.name(), record.why()));
            }
        }
    }

    fn round(&mut self, round: u32, of: Rounds) {
        let of = match of {
            Rounds::Exactly(n) => format!(" of {n}"),
            Rounds::AtLeast(_) | Rounds::Auto => String::new(),
        };
        self.say(&format!("round {round}{of} is complete"));
    }

    fn scatter(&mut self, run: &Run) {
        if let Some(line) = foresight::after_first_rounds(run) {
            self.say(&line);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// `r01/mail/ext4: 2:05:09 of virtual time, 3.4 GiB read and written`
fn far(trial: &str, Moved { time, bytes }: Moved) -> String {
    let seconds = time.as_secs();
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let bytes = Bytes(bytes.0 / MIB * MIB);
    format!(
        "{trial}: {hours}:{minutes:02}:{:02} of virtual time, {bytes} read and written",
        seconds % 60,
        trial = visible_line(trial)
    )
}

/// `4:05`
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
