//! Progress on stderr: on a terminal one bar for the run, and figures after each round; plain lines elsewhere. All of it goes into
//! the run's log.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::foresight;
use super::output::for_terminal;
use crate::analysis::metrics;
use crate::report::view::number::{Scale, count, minutes_or_hours, named};
use crate::runner::execute::launch::Tick;
use crate::runner::execute::rounds::{Far, Watch};
use crate::runner::preflight::skips::Skip;
use crate::schema::declared::{self, Declared};
use crate::schema::job::Purpose;
use crate::schema::metric::Metric;
use crate::schema::plan::{Plan, Rounds};
use crate::schema::reason::Outcome;
use crate::schema::record::Record;
use crate::schema::units::{Bytes, MIB};
use crate::store::{Door, LOG, Run};
use crate::testbeds::Moved;
use crate::text::visible::{visible, visible_line};

/// Interval of lines about a trial in virtual time, if there is no terminal.
const SELDOM: Duration = Duration::from_secs(60);

/// A shorter time left is not worth a word.
const MINUTE: Duration = Duration::from_secs(60);

/// Workloads whose figures are printed after each round.
const SHOWN: usize = 4;

/// Scenario, title and unit of a headline metric.
type Headline = (String, String, String);

/// Of each filesystem the sum of the logarithms of its values, and their number.
type Means = BTreeMap<String, (f64, u32)>;

pub struct Progress {
    bar: ProgressBar,
    plain: bool,
    /// When each running trial in virtual time was last told of, without a terminal.
    told: HashMap<String, Instant>,
    log: Option<File>,
    figures: BTreeMap<Headline, Means>,
}

impl Progress {
    /// With a log in this run's folder.
    pub fn new(quiet: bool, run: Option<&Door>) -> Self {
        // On a terminal that cannot move its cursor no bar can be drawn.
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let plain = is_dumb || !io::stderr().is_terminal();
        let bar = ProgressBar::new(1);
        bar.set_draw_target(if plain || quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        });
        let style = ProgressStyle::with_template("{prefix} {bar:24.cyan/dim} {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸─"));
        let log = run.and_then(|run| match log_of(run) {
            Ok(log) => Some(log),
            Err(e) => {
                super::say(&format!("note: {LOG} in the run's folder cannot be written: {e}"));
                None
            }
        });
        let plain = plain && !quiet;
        Progress { bar, plain, told: HashMap::new(), log, figures: BTreeMap::new() }
    }

    fn say(&mut self, line: &str) {
        self.note(line);
        if self.plain {
            super::say(line);
        } else {
            self.bar.println(for_terminal(&visible(line)));
        }
    }

    /// Counts the figures of the trials before this run was continued.
    pub fn after(mut self, before: &Run) -> Self {
        before.current().into_iter().for_each(|record| self.count(record));
        self
    }

    fn count(&mut self, record: &Record) {
        let counts = (record.outcome, record.purpose) == (Outcome::Done, Purpose::Measure);
        let Some(metric) = headline(record).filter(|metric| counts && metric.value > 0.0) else { return };
        let key = (record.scenario.clone(), title(&metric.name), metric.unit.clone());
        let own = self.figures.entry(key).or_default().entry(record.filesystem.clone()).or_default();
        *own = (own.0 + metric.value.ln(), own.1 + 1);
    }

    /// Into the log alone. A log that cannot be written ends no run.
    fn note(&mut self, line: &str) {
        let Some(log) = &mut self.log else { return };
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
        let text: String = line.lines().map(|line| format!("{now} {}\n", visible_line(line))).collect();
        if log.write_all(text.as_bytes()).is_err() {
            self.log = None;
        }
    }

    /// The geometric means so far: `mail, transactions per second: oakfs 1,845, elmfs 1,639`
    fn means(&self) -> Vec<String> {
        let one = |((scenario, title, unit), all): (&Headline, &Means)| {
            let means = all.iter().map(|(label, (sum, n))| (label, (sum / f64::from(*n)).exp()));
            let means: Vec<(&String, f64)> = means.collect();
            let scale = Scale::of(unit, means.iter().map(|(_, mean)| *mean));
            let each: Vec<String> =
                means.iter().map(|(label, mean)| format!("{label} {}", scale.number(*mean))).collect();
            format!("{scenario}, {}: {}", scale.heading(title), each.join(", "))
        };
        let mut lines: Vec<String> = self.figures.iter().take(SHOWN).map(one).collect();
        let more = self.figures.len().saturating_sub(SHOWN);
        lines.extend((more > 0).then(|| format!("and {}", count(more, "more metric"))));
        lines
    }
}

fn headline(record: &Record) -> Option<&Metric> {
    record.metrics.iter().find(|metric| metric.headline && record.says(metric))
}

fn title(metric: &str) -> String {
    let all: Vec<&Declared> = metrics::declared().into_iter().flat_map(|(_, all)| all).collect();
    declared::find(&all, metric).map_or_else(|| metric.to_owned(), |known| known.heading().replace('\n', " "))
}

fn log_of(run: &Door) -> io::Result<File> {
    if !run.has(LOG)? {
        run.create_open(LOG)?;
    }
    run.append(LOG, Bytes(u64::MAX))
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

    fn trial(&mut self, name: &str, far: &Far) {
        self.note(&format!("{name} begins"));
        let [done, of] = far.done;
        self.bar.set_length(of.max(done).max(1));
        self.bar.set_position(done);
        self.bar.set_prefix(far.left.map_or("measuring".to_owned(), |left| format!("{} left", clock(left))));
        self.bar.set_message(visible_line(name).into_owned());
    }

    fn tick(&mut self, trial: &str, tick: Tick) {
        match tick {
            Tick::Work { done, total } => {
                let percent = 100 * done / total.max(1);
                self.bar.set_message(format!("{} {percent} %", visible_line(trial)));
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
        let headline = headline(record);
        let figure = headline.map_or(String::new(), |m| {
            let decimals = 2_usize.saturating_sub(m.value.abs().max(0.01).log10().floor() as usize);
            format!("  {:.decimals$} {}", m.value, m.unit)
        });
        self.count(record);
        match record.outcome {
            Outcome::Done if self.plain => self.say(&format!("{}{figure}", record.trial)),
            Outcome::Done => self.note(&format!("{}{figure}", record.trial)),
            Outcome::Skipped => {}
            outcome => {
                self.say(&format!("{} is {}: {}", record.trial, outcome.name(), record.why()));
            }
        }
    }

    fn round(&mut self, round: u32, of: Rounds, far: &Far) {
        // On a terminal the bar says it.
        let left = far.left.filter(|left| self.plain && of != Rounds::Auto && *left >= MINUTE);
        let left = left.map_or(String::new(), |left| {
            format!(", about {} left", minutes_or_hours(left.as_secs().div_ceil(60)))
        });
        let of = match of {
            Rounds::Exactly(n) => format!(" of {n}"),
            Rounds::AtLeast(_) | Rounds::Auto => String::new(),
        };
        let lines = if self.plain { Vec::new() } else { self.means() };
        let means = if lines.is_empty() { "" } else { "; geometric means so far:" };
        self.say(&format!("round {round}{of} is complete{left}{means}"));
        lines.iter().for_each(|line| self.say(line));
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
