//! The family test: which pairs differ, judged over all pairs of all tables at once, by flipping the signs of whole rounds.

/// One headline metric of one scenario: a row for each round, in it a value for each candidate.
///
/// Values are natural logarithms, turned so that larger is better. Only complete rows are taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    candidates: usize,
    rounds: Vec<u32>,
    /// Row after row.
    logs: Vec<f64>,
}

impl Table {
    pub fn new(candidates: usize) -> Table {
        Table { candidates, rounds: Vec::new(), logs: Vec::new() }
    }

    /// Adds a row. `false`, and nothing is added: where a value is missing or not finite, or where the round is there already.
    pub fn push(&mut self, round: u32, logs: &[f64]) -> bool {
        let complete = logs.len() == self.candidates && logs.iter().all(|log| log.is_finite());
        if !complete || self.rounds.contains(&round) {
            return false;
        }
        self.rounds.push(round);
        self.logs.extend_from_slice(logs);
        true
    }

    pub fn candidates(&self) -> usize {
        self.candidates
    }

    /// The rounds' numbers, in the order in which they came.
    pub fn rounds(&self) -> &[u32] {
        &self.rounds
    }

    pub fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.logs.chunks_exact(self.candidates.max(1))
    }
}

/// What was found about a family of tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// In the order of the tables that were given.
    pub tables: Vec<Judged>,
    /// The |t| beyond which a pair differs; `None` where no |t| is enough: there are too few rounds for this α.
    pub critical: Option<f64>,
    /// How many patterns of signs the reference distribution has, a pattern and its opposite counted once.
    pub patterns: usize,
    /// Whether these are all patterns that there are; otherwise they were drawn from the seed.
    pub exhaustive: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    pub rounds: usize,
    /// For each candidate the standard deviation of a single value, as a logarithm: 0.05 is about 5 %. `None` below two rounds.
    pub noise: Vec<Option<f64>>,
    /// All pairs with a < b: (0, 1), (0, 2), …, (1, 2), ….
    pub pairs: Vec<Pair>,
}

/// Two candidates in one table. All that is a logarithm is one of the ratio a ÷ b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    pub a: usize,
    pub b: usize,
    /// Mean logarithm of the ratio. `None` without any round.
    pub estimate: Option<f64>,
    /// Its standard error. `None` below two rounds.
    pub error: Option<f64>,
    /// Estimate ÷ error.
    pub t: Option<f64>,
    /// Adjusted for the whole family; 1 where nothing can be said. The pair differs where p ≤ α, and just there the interval
    /// leaves out 0.
    pub p: f64,
    /// Simultaneous over the family, at the level 1 − α. `None` where any ratio is possible: too few rounds for this α.
    pub interval: Option<Interval>,
    /// The smallest true difference that such a test would find with 80 % probability. `None` where it could find none.
    pub detectable: Option<f64>,
}

impl Pair {
    /// −1: a is worse than b; 1: better; 0: not known.
    pub fn direction(&self) -> i8 {
        match self.interval {
            Some(Interval { low, .. }) if low > 0.0 => 1,
            Some(Interval { high, .. }) if high < 0.0 => -1,
            _ => 0,
        }
    }

    /// Whether the whole interval lies within ±`margin`, itself a logarithm: ln(1 + 3 %).
    ///
    /// A pair may be both equivalent and different: 1 % ± 0.5 % is a difference that nobody needs. Misleads: what is not
    /// equivalent is not different for that; with few rounds nothing is either.
    pub fn equivalent(&self, margin: f64) -> bool {
        self.interval.is_some_and(|interval| -margin < interval.low && interval.high < margin)
    }
}

/// Ends of an interval, as logarithms of a ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// Judges all pairs of all tables as one family, at the level `alpha` for all of it together.
///
/// Rounds of the same number are flipped together in all tables, so that what tables have in common (the minutes of a busy
/// machine) stays together. Up to 14 rounds all patterns of signs are taken, then 10,000 from the seed.
pub fn judge(tables: &[Table], alpha: f64, seed: u64) -> Family {
    let _ = (tables, alpha, seed);
    todo!()
}

/// Across tables with the same candidates in the same order: for each round that all of them have, the mean over the tables
/// of the round's centred logarithms. Judged as a family of its own, it gives geometric means of ratios with intervals.
///
/// `None` where there is no table, or where they differ in their candidates.
pub fn across(tables: &[Table]) -> Option<Table> {
    let _ = tables;
    todo!()
}
