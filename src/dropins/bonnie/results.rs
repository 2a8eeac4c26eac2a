//! Results of a run, and the original's formats of figures.

use super::forms::Form;
use crate::schema::units::{KIB, MIB};
use crate::workloads::bonnie::rules::{Rules, Small};
use crate::workloads::bonnie::trial::{STEPS, Step};

/// Result of one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Result {
    pub ns: u64,
    pub cpu_ns: u64,
    /// What the phase did: bytes in a data phase, otherwise the number of seeks or files.
    pub amount: u64,
    pub worst_ns: u64,
}

/// Results of one run, in the order of [`STEPS`]; phases that did not run have a time of 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results(pub [Result; STEPS.len()]);

/// The description of a run that is printed with its figures.
pub struct Heading<'a> {
    pub form: Form,
    pub machine: &'a str,
    pub rules: &'a Rules,
    pub concurrency: u32,
    /// The seed as given by the user.
    pub seed: u32,
}

/// A rate over a shorter time means nothing, and the original does not print it.
const SHORTEST_NS: u64 = 500_000_000;

/// The counter from which a phase's rate is computed.
pub fn counted(step: Step) -> &'static str {
    match step {
        Step::WriteCharacters | Step::Write | Step::Rewrite => "bytes_written",
        Step::ReadCharacters | Step::Read => "bytes_read",
        Step::Seek => "seeks",
        Step::Small(..) => "files",
    }
}

impl Results {
    pub fn of(&self, step: Step) -> Result {
        STEPS.iter().position(|own| *own == step).map_or(Result::default(), |at| self.0[at])
    }

    /// The data phases in output order: character writes, block writes, rewrites, character reads, block reads.
    pub fn data(&self) -> &[Result] {
        &self.0[..5]
    }

    pub fn files(&self) -> &[Result] {
        &self.0[6..]
    }
}

impl Result {
    fn is_short(&self) -> bool {
        self.ns < SHORTEST_NS
    }

    pub fn was_run(&self) -> bool {
        self.ns > 0
    }

    fn per_second(&self) -> f64 {
        self.amount as f64 * 1e9 / self.ns as f64
    }

    /// The rate in KiB per second.
    pub fn kib(&self) -> Figure {
        self.figure(|rate| format!("{}", (rate / KIB as f64) as u64))
    }

    /// The rate in the format of 2.00a's table.
    pub fn kib_short(&self) -> Figure {
        self.figure(|rate| {
            let kib = rate / KIB as f64;
            let (mib, gib) = (kib / 1024.0, kib / 1024.0 / 1024.0);
            match kib {
                _ if kib < 10_000.0 => format!("{}k", kib as u64),
                _ if mib < 100.0 => format!("{mib:.1}m"),
                _ if mib < 1000.0 => format!("{mib:.0}m"),
                _ => format!("{gib:.1}g"),
            }
        })
    }

    pub fn seeks(&self) -> Figure {
        self.figure(|rate| if rate >= 1000.0 { format!("{rate:.0}") } else { format!("{rate:.1}") })
    }

    /// The rate in the format of 1.03's CSV line.
    pub fn seeks_exact(&self) -> Figure {
        self.figure(|rate| format!("{rate:.1}"))
    }

    pub fn files(&self) -> Figure {
        self.figure(|rate| format!("{}", rate as u64))
    }

    /// CPU time, in percent.
    pub fn cpu(&self) -> Figure {
        match (self.was_run(), self.is_short()) {
            (false, _) => Figure::NotRun,
            (_, true) => Figure::TooShort(3),
            _ => Figure::Is(format!("{}", self.cpu_ns * 100 / self.ns)),
        }
    }

    fn figure(&self, of: impl FnOnce(f64) -> String) -> Figure {
        match (self.was_run(), self.is_short()) {
            (false, _) => Figure::NotRun,
            (_, true) => Figure::TooShort(5),
            _ => Figure::Is(of(self.per_second())),
        }
    }

    /// The longest operation, truncated to the unit; empty if there was none.
    pub fn latency(&self) -> String {
        match self.worst_ns {
            0 => String::new(),
            ns if ns > 99_999_999_000 => format!("{}s", ns / 1_000_000_000),
            ns if ns > 99_999_000 => format!("{}ms", ns / 1_000_000),
            ns => format!("{}us", ns / 1000),
        }
    }
}

/// A printed figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Figure {
    NotRun,
    /// The phase was too short for a figure; as many `+` are printed.
    TooShort(usize),
    Is(String),
}

impl Figure {
    /// The figure in a column of the table, with the preceding blank.
    pub fn column(&self, width: usize) -> String {
        format!(" {:>width$}", self.field())
    }

    /// The figure as a field of a CSV line.
    pub fn field(&self) -> String {
        match self {
            Figure::NotRun => String::new(),
            Figure::TooShort(width) => "+".repeat(*width),
            Figure::Is(text) => text.clone(),
        }
    }
}

/// `2G`, `250M`.
pub fn size(rules: &Rules) -> String {
    let mib = rules.bytes() / MIB;
    if mib > 0 && mib.is_multiple_of(1024) { format!("{}G", mib / 1024) } else { format!("{mib}M") }
}

/// `256k`, `512`.
pub fn chunk(bytes: u32) -> String {
    match bytes {
        _ if bytes.is_multiple_of(MIB as u32) => format!("{}m", bytes / MIB as u32),
        _ if bytes.is_multiple_of(KIB as u32) => format!("{}k", bytes / KIB as u32),
        _ => bytes.to_string(),
    }
}

/// `16`, `1:3000:100/2`, `1:link`.
pub fn number(rules: &Rules) -> String {
    let number = rules.files / 1024;
    let directories = if rules.directories > 1 { format!("/{}", rules.directories) } else { String::new() };
    match rules.small {
        Small::HardLinks => format!("{number}:link{directories}"),
        Small::Symlinks => format!("{number}:symlink{directories}"),
        Small::Files { max: 0, .. } => format!("{number}{directories}"),
        Small::Files { min: 0, max } if rules.directories == 1 => format!("{number}:{max}"),
        Small::Files { min, max } => format!("{number}:{max}:{min}{directories}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(ns: u64, amount: u64) -> Result {
        Result { ns, amount, ..Result::default() }
    }

    #[test]
    fn rates_are_written_as_the_original_writes_them() {
        let second = |amount| result(1_000_000_000, amount);
        assert_eq!(second(9999 * KIB + 1023).kib_short().field(), "9999k");
        assert_eq!(second(10 * MIB).kib_short().field(), "10.0m");
        assert_eq!(second(262 * MIB + MIB / 2 + 1).kib_short().field(), "263m");
        assert_eq!(second(1136333 * KIB).kib_short().field(), "1.1g");
        assert_eq!(second(268820 * KIB + 1000).kib().field(), "268820");
        assert_eq!([999, 1000].map(|n| second(n).seeks().field()), ["999.0", "1000"]);
        assert_eq!(second(7442).seeks_exact().field(), "7442.0");
        assert_eq!(second(16384).files().column(5), " 16384");
    }

    #[test]
    fn what_was_short_has_plusses_and_what_was_not_run_nothing() {
        let short = result(499_999_999, 5);
        assert_eq!((short.kib().column(5), short.cpu().column(3)), (" +++++".into(), " +++".into()));
        let none = result(0, 0);
        assert_eq!((none.kib().column(5), none.cpu().field()), ("      ".into(), String::new()));
        let long = Result { cpu_ns: 199_999_999, ..result(1_000_000_000, 5) };
        assert_eq!(long.cpu().column(3), "  19");
    }

    #[test]
    fn latencies_are_truncated_to_their_unit() {
        let worst = |worst_ns| Result { worst_ns, ..Result::default() }.latency();
        let seen = [0, 999, 67_548_999, 99_999_000, 100_000_000, 99_999_999_000, 100_000_000_000].map(worst);
        assert_eq!(seen, ["", "0us", "67548us", "99999us", "100ms", "99999ms", "100s"]);
    }
}
