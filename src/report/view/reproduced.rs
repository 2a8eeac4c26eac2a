//! A paper's tables and claims beside the runs that repeat its experiments.

use serde::Serialize;

use super::number::{count, list, ratio};
use super::published::Compared;
use crate::papers::here::{Ends, Here};

/// The page of one paper.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Reproduced {
    pub schema_version: u32,
    /// The name or path by which the paper was given.
    pub paper: String,
    /// Authors, title and year.
    pub title: String,
    pub columns: Vec<Column>,
    /// Runs in which one thing alone changes; empty unless asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<Offer>,
    /// The command that made the page.
    pub command: String,
}

/// The runs on one testbed.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Column {
    /// Disk and machine: `model:diamondmax-plus-8,offset=36g`.
    pub title: String,
    pub runs: Vec<Ran>,
    pub counts: Counts,
    /// All claims of the paper, in its order.
    pub claims: Vec<ClaimShown>,
    /// Why claims cannot be judged or tested.
    pub because: Vec<OfClaims>,
    /// What it takes to judge claims.
    pub takes: Vec<OfClaims>,
    pub tables: Vec<Compared>,
    /// Tables without figures of these runs, and the paper's filesystems that cannot run: each with the reason.
    pub missing: Vec<String>,
    pub agreement: Order,
}

#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Ran {
    pub folder: String,
    /// Scale, memory, rounds and kernel.
    pub said: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Counts {
    pub holds: usize,
    pub does_not_hold: usize,
    pub cannot_tell: usize,
    pub untested: usize,
}

/// Pairs of filesystems over all tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Order {
    pub same: usize,
    pub opposite: usize,
    pub tied: usize,
}

/// A sentence that is true of several claims.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct OfClaims {
    pub said: String,
    /// The claims' numbers, ascending.
    pub claims: Vec<usize>,
}

#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct ClaimShown {
    /// The claim's number in the paper's data, from 1.
    pub number: usize,
    pub says: String,
    pub place: String,
    /// `None` if no figure can test the claim.
    pub verdict: Option<Here>,
    /// The reasons, each once.
    pub because: Vec<String>,
    /// What it takes to tell.
    pub takes: Vec<String>,
    /// How the paper's own figures contradict the claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contradicted: Option<String>,
    pub ranges: Vec<RangeShown>,
}

/// A comparison that the verdict rests on.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct RangeShown {
    pub workload: String,
    /// The metric's name, and its title, with the unit if values are compared.
    pub metric: String,
    pub title: String,
    pub what: String,
    /// Absent ends are open.
    pub allowed: [Option<f64>; 2],
    pub range: Option<Ends>,
    /// The range of work that is too short or otherwise not the paper's: no verdict rests on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unusable: Option<Ends>,
    pub verdict: Here,
}

#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Offer {
    pub change: String,
    pub command: String,
}

impl Reproduced {
    pub const CLAIMS: &'static str = "Claims";
    pub const OPEN: &'static str = "Why claims have no verdict";
    pub const TAKES: &'static str = "What a verdict would need";
    pub const TABLES: &'static str = "Tables";
    pub const RANGES: &'static str = "Ranges";
    pub const WHY: &'static str = "Runs that change one thing alone";
    pub const HERE: &'static str = "Each verdict holds for today's kernel and tools, on the disk named above. Nothing \
        on this page refutes the authors, who measured other versions on another machine.";

    /// One sentence for each column.
    pub fn answers(&self) -> Vec<String> {
        self.columns.iter().map(Column::answer).collect()
    }

    /// The heading of the table of verdicts: number and claim, then the columns.
    pub fn heads(&self) -> Vec<String> {
        ["".to_owned(), "claim".to_owned()]
            .into_iter()
            .chain(
                self.columns.iter().map(|column| {
                    column.title.replacen("model:", "", 1).replace(", ", ",").replace(',', ", ")
                }),
            )
            .collect()
    }

    /// A line for each claim: number, claim, and in each column the verdict, or why there is none.
    pub fn lines(&self) -> Vec<Vec<String>> {
        let Some(first) = self.columns.first() else { return Vec::new() };
        let line = |(at, claim): (usize, &ClaimShown)| {
            let verdicts = self.columns.iter().filter_map(|column| column.claims.get(at));
            let verdicts = verdicts.map(|claim| match claim.reason() {
                Some(reason) => format!("{}: {reason}", claim.verdict()),
                None => claim.verdict().to_owned(),
            });
            [claim.number.to_string(), claim.said()].into_iter().chain(verdicts).collect()
        };
        first.claims.iter().enumerate().map(line).collect()
    }
}

impl Column {
    /// Why claims have no verdict, and what it takes: each list that is not empty, with its heading.
    pub fn reasons(&self) -> Vec<(&'static str, &[OfClaims])> {
        let all = [(Reproduced::OPEN, self.because.as_slice()), (Reproduced::TAKES, self.takes.as_slice())];
        all.into_iter().filter(|(_, all)| !all.is_empty()).collect()
    }

    pub fn answer(&self) -> String {
        let Counts { holds, does_not_hold, cannot_tell, untested } = self.counts;
        let verb = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        let which = |here: Here| {
            let of = self.claims.iter().filter(|claim| claim.verdict == Some(here));
            let numbers: Vec<usize> = of.map(|claim| claim.number).collect();
            if numbers.is_empty() { String::new() } else { format!(" ({})", spans(&numbers)) }
        };
        let said = [
            verb(holds, "holds here", "hold here") + &which(Here::Holds),
            verb(does_not_hold, "does not hold here", "do not hold here") + &which(Here::DoesNotHold),
            format!("{cannot_tell} cannot be judged"),
        ];
        let untested = match untested {
            0 => String::new(),
            n => format!("; {}", verb(n, "is not tested", "are not tested")),
        };
        let all = count(self.claims.len(), "claim");
        format!("{}: of {all}, {}{untested}.", self.title, list(&said))
    }

    /// `In 14 of 20 pairs …`, about the tables.
    pub fn order(&self) -> Option<String> {
        let Order { same, opposite, tied } = self.agreement;
        let all = same + opposite + tied;
        (all > 0).then(|| {
            format!(
                "Over all tables, {} in the paper's order, {opposite} in the opposite order, and {tied} tied (the \
                 figures differ by at most the margin in the paper or here).",
                match same {
                    1 => format!("1 of {} is", count(all, "pair")),
                    _ => format!("{same} of {} are", count(all, "pair")),
                }
            )
        })
    }
}

impl ClaimShown {
    /// The claim with its place.
    pub fn said(&self) -> String {
        format!("{} ({})", self.says, self.place)
    }

    pub fn verdict(&self) -> &'static str {
        match self.verdict {
            Some(Here::Holds) => "holds here",
            Some(Here::DoesNotHold) => "does not hold here",
            Some(Here::CannotTell) => "cannot tell",
            None => "not tested",
        }
    }

    /// The mark of the verdict, which does not rely on colour.
    pub fn mark(&self) -> &'static str {
        match self.verdict {
            Some(Here::Holds) => "✓ ",
            Some(Here::DoesNotHold) => "✗ ",
            Some(Here::CannotTell) => "? ",
            None => "",
        }
    }

    /// Whether nobody can tell, or no figure can test it.
    pub fn is_open(&self) -> bool {
        matches!(self.verdict, Some(Here::CannotTell) | None)
    }

    /// The first reason why nobody can tell.
    pub fn reason(&self) -> Option<&str> {
        self.because.first().map(String::as_str).filter(|_| self.is_open())
    }

    pub fn contradiction(&self) -> Option<String> {
        self.contradicted.as_ref().map(|how| format!("The paper's own figures contradict the claim. {how}"))
    }

    /// All sentences after the verdict.
    pub fn sentences(&self) -> Vec<String> {
        let takes = Some(format!("A verdict would need: {}.", self.takes.join("; ")))
            .filter(|_| !self.takes.is_empty());
        self.because.iter().cloned().chain(takes).chain(self.contradiction()).collect()
    }

    /// The comparisons with a range.
    pub fn known(&self) -> Vec<&RangeShown> {
        self.ranges.iter().filter(|range| range.range.is_some() || range.unusable.is_some()).collect()
    }

    /// The meaning of ranges in brackets, and the number of comparisons without a range.
    pub fn notes(&self) -> Vec<String> {
        let is_closed = self.ranges.iter().any(|range| range.unusable.is_some());
        let closed = is_closed.then(|| {
            "A range in brackets comes from a workload that differs from the paper's, for the reason above; no \
                verdict rests on this range."
                .to_owned()
        });
        let missing = self.ranges.len() - self.known().len();
        let missing = match missing {
            0 => None,
            1 if self.ranges.len() == 1 => Some("The claim's comparison has no range.".to_owned()),
            n if n == self.ranges.len() => Some(format!("None of the claim's {n} comparisons has a range.")),
            n => Some(format!("Not shown: {} without a range.", count(n, "comparison"))),
        };
        closed.into_iter().chain(missing).collect()
    }

    /// Headings of the table of ranges.
    pub const HEADS: [&'static str; 6] =
        ["workload", "metric", "ratio or value", "range here", "claimed", "verdict"];
}

impl RangeShown {
    /// `postmark-2008, transactions: a ÷ b: 1.2 to 1.4 here, above 1.03 claimed: holds here`
    pub fn line(&self) -> String {
        let [workload, metric, what, range, claimed, verdict] = self.cells();
        format!("{workload}, {metric}: {what}: {range} here, {claimed} claimed: {verdict}")
    }

    pub fn cells(&self) -> [String; 6] {
        [
            self.workload.clone(),
            self.title.replace('\n', " "),
            self.what.clone(),
            match (self.range, self.unusable) {
                (Some([low, high]), _) => format!("{} to {}", number(low), number(high)),
                (None, Some([low, high])) => format!("({} to {})", number(low), number(high)),
                (None, None) => "–".to_owned(),
            },
            match self.allowed {
                [Some(low), None] => format!("above {}", number(low)),
                [None, Some(high)] => format!("below {}", number(high)),
                [Some(low), Some(high)] => format!("{} to {}", number(low), number(high)),
                [None, None] => "anything".to_owned(),
            },
            self.verdict.to_string(),
        ]
    }
}

impl OfClaims {
    /// `claims 16, 23–25: The runs lack …`
    pub fn line(&self) -> String {
        let claims = if self.claims.len() == 1 { "claim" } else { "claims" };
        format!("{claims} {}: {}", spans(&self.claims), self.said)
    }
}

/// Ascending numbers, more than two in a row as a span: `1, 2, 4–7`.
fn spans(numbers: &[usize]) -> String {
    let rows = numbers.chunk_by(|a, b| a + 1 == *b).map(|row| match row {
        [first, _, .., last] => format!("{first}–{last}"),
        few => few.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
    });
    rows.collect::<Vec<_>>().join(", ")
}

/// A value may be negative or zero, a ratio may not.
fn number(value: f64) -> String {
    if value > 0.0 { ratio(value) } else { format!("{value:.3}") }
}
