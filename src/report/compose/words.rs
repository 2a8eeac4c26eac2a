//! The size of a difference in words: times as fast, percent slower, percent fewer.
//!
//! A ratio is a speed: a rate, or the inverse of a time. "36 % slower" is a ratio of 0.64 for both. Times also say what that is as
//! a time: 1.56 times as long. Amounts are stated themselves: 36 % fewer requests.

use crate::report::view::number::{percents, ratios};
use crate::schema::metric::{Better, Of as Quantity};

/// The ends of an interval of ratios, above 1 if better.
pub type Ends = (f64, f64);

/// The words for a difference in a metric.
pub struct Words {
    what: What,
    /// Whether the metric is a time, of which less is better.
    is_time: bool,
}

enum What {
    Speed,
    Goodness,
    /// Stands in for a time.
    Amount {
        title: String,
    },
}

/// The other side of a comparison.
#[derive(Clone, Copy)]
pub enum Beside<'b> {
    /// One candidate or several: `birchfs`, `both`.
    Candidate(&'b str),
    /// The same candidate in the first run.
    FirstRun,
}

impl Beside<'_> {
    fn after_as(self) -> String {
        match self {
            Beside::Candidate(label) => format!("as {label}"),
            Beside::FirstRun => "in the second run as in the first".to_owned(),
        }
    }

    fn after_than(self) -> String {
        match self {
            Beside::Candidate(label) => format!("than {label}"),
            Beside::FirstRun => "in the second run".to_owned(),
        }
    }
}

impl Words {
    /// Amounts that stand in for times get words for amounts.
    pub fn of(stands_in: bool, of: Quantity, better: Better, title: &str) -> Self {
        let what = match of {
            Quantity::Bytes if stands_in => What::Amount { title: format!("bytes {title}") },
            _ if stands_in => What::Amount { title: title.to_owned() },
            Quantity::Time => What::Speed,
            _ => What::Goodness,
        };
        Words { what, is_time: of == Quantity::Time && better == Better::Lower }
    }

    pub fn is_of_amounts(&self) -> bool {
        matches!(self.what, What::Amount { .. })
    }

    /// `is`, and for an amount `needs`.
    pub fn verb(&self, is_plural: bool) -> &'static str {
        match (self.is_of_amounts(), is_plural) {
            (true, true) => "need",
            (true, false) => "needs",
            (false, true) => "are",
            (false, false) => "is",
        }
    }

    /// One that was found better or worse: `1.36–1.49 times as fast as birchfs`, `36–39 % slower than birchfs and cedarfs`,
    /// `40–51 % fewer write requests than birchfs`.
    pub fn differs(&self, ends: Ends, to: Beside<'_>) -> String {
        let (low, high) = self.shown(ends);
        match &self.what {
            What::Amount { title } if high <= 1.0 => {
                format!("{} fewer {title} {}", percents(1.0 - high, 1.0 - low), to.after_than())
            }
            What::Amount { title } => {
                format!("{} times as many {title} {}", ratios(low, high), to.after_as())
            }
            _ if high < 1.0 => {
                let slower =
                    format!("{} {} {}", percents(1.0 - high, 1.0 - low), self.worse(), to.after_than());
                if !self.is_time {
                    return slower;
                }
                format!("{slower} (takes {} times as long)", ratios(high.recip(), low.recip()))
            }
            _ => format!("{} times as {} {}", ratios(low, high), self.good(), to.after_as()),
        }
    }

    /// An interval that decides nothing: `from 3.0 % slower to 8.0 % faster than birchfs`.
    pub fn between(&self, ends: Ends, than: &str) -> String {
        let (low, high) = self.shown(ends);
        let end = |ratio: f64| {
            let (off, word) = match ratio {
                r if r < 1.0 => (1.0 - r, self.less()),
                r => (r - 1.0, self.more()),
            };
            format!("{} {word}", percents(off, off))
        };
        let (low, high) = (end(low), end(high));
        let of = match &self.what {
            What::Amount { title } => format!(" {title}"),
            _ => String::new(),
        };
        if low == high {
            format!("{low}{of} than {than}")
        } else {
            format!("from {low} to {high}{of} than {than}")
        }
    }

    /// For an amount, the ratios of the amounts.
    fn shown(&self, (low, high): Ends) -> Ends {
        if self.is_of_amounts() { (high.recip(), low.recip()) } else { (low, high) }
    }

    fn good(&self) -> &'static str {
        if matches!(self.what, What::Speed) { "fast" } else { "good" }
    }

    fn worse(&self) -> &'static str {
        if matches!(self.what, What::Speed) { "slower" } else { "worse" }
    }

    /// For a ratio below 1.
    fn less(&self) -> &'static str {
        if self.is_of_amounts() { "fewer" } else { self.worse() }
    }

    /// For a ratio above 1.
    fn more(&self) -> &'static str {
        match self.what {
            What::Speed => "faster",
            What::Goodness => "better",
            What::Amount { .. } => "more",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: Beside<'_> = Beside::Candidate("birchfs");

    #[test]
    fn a_speed_is_some_times_as_fast_or_some_percent_slower_and_a_time_says_how_long_it_takes() {
        let rate = Words::of(false, Quantity::Time, Better::Higher, "transactions");
        let time = Words::of(false, Quantity::Time, Better::Lower, "elapsed time");
        assert_eq!(rate.differs((1.36, 1.49), X), "1.36–1.49 times as fast as birchfs");
        assert_eq!(time.differs((1.36, 1.49), X), "1.36–1.49 times as fast as birchfs");
        assert_eq!(rate.differs((0.61, 0.64), X), "36–39 % slower than birchfs");
        assert_eq!(
            time.differs((0.61, 0.64), X),
            "36–39 % slower than birchfs (takes 1.56–1.64 times as long)"
        );
        assert_eq!(rate.differs((0.5, 0.5), Beside::FirstRun), "50 % slower in the second run");
        assert_eq!(
            rate.differs((1.2, 1.25), Beside::FirstRun),
            "1.20–1.25 times as fast in the second run as in the first"
        );
        assert_eq!(rate.differs((0.0021, 0.05), X), "95.0–99.79 % slower than birchfs");
        assert_eq!(rate.between((0.97, 1.08), "birchfs"), "from 3.0 % slower to 8.0 % faster than birchfs");
        assert_eq!(rate.between((0.4, 2.5), "birchfs"), "from 60 % slower to 150 % faster than birchfs");
        let other = Words::of(false, Quantity::Bytes, Better::Lower, "bytes in use");
        assert_eq!(other.differs((0.61, 0.64), X), "36–39 % worse than birchfs");
        assert_eq!(other.differs((1.2, 1.3), X), "1.20–1.30 times as good as birchfs");
    }

    #[test]
    fn an_amount_is_stated_itself() {
        let count = Words::of(true, Quantity::Count, Better::Lower, "write requests");
        assert_eq!((count.verb(false), count.verb(true)), ("needs", "need"));
        assert_eq!(count.differs((2.0, 2.5), X), "50–60 % fewer write requests than birchfs");
        assert_eq!(count.differs((0.4, 0.5), X), "2.00–2.50 times as many write requests as birchfs");
        assert_eq!(
            count.between((0.8, 1.25), "birchfs"),
            "from 20 % fewer to 25 % more write requests than birchfs"
        );
    }
}
