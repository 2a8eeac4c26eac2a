//! Formats numbers; all numbers of a column have the same scale and the same number of decimals.

use crate::schema::units::{GIB, KIB, MIB};

/// The format of one metric's values.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// How many of the stored unit make one of the displayed `unit`.
    pub divisor: f64,
    decimals: usize,
    /// The displayed unit, written after the number: `MiB/s`, `per second`; empty for a plain number.
    pub unit: String,
}

impl Scale {
    /// The scale for these values, stored in this unit.
    pub fn of(unit: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let sizes: Vec<f64> = values.into_iter().map(f64::abs).filter(|v| *v > 0.0).collect();
        let largest = sizes.iter().copied().fold(0.0, f64::max);
        let (divisor, unit) = match unit {
            "bytes" => byte_step(largest),
            "s" if largest > 0.0 && largest < 1.0 => (0.001, "ms"),
            "1/s" => (1.0, "per second"),
            // This unit marks a ratio, which is displayed without a unit because its title names the quantities.
            ratio if ratio.starts_with("of what ") => (1.0, ""),
            other => (1.0, other),
        };
        let smallest = sizes.iter().copied().fold(largest, f64::min);
        let whole = unit == "bytes" || sizes.iter().all(|v| (v / divisor).fract() == 0.0);
        let decimals = if whole { 0 } else { decimals(smallest / divisor, largest / divisor) };
        Scale { divisor, decimals, unit: unit.to_owned() }
    }

    /// This scale with at least this many decimals.
    pub fn at_least(self, decimals: usize) -> Self {
        Scale { decimals: self.decimals.max(decimals), ..self }
    }

    /// The scale for ticks, with as many decimals as the step between ticks needs.
    pub fn for_ticks(&self, step: f64) -> Self {
        let decimals = (-(step / self.divisor).log10().floor()).clamp(0.0, 9.0) as usize;
        Scale { decimals, ..self.clone() }
    }

    /// The number alone: `12,345`, `0.012`.
    pub fn number(&self, value: f64) -> String {
        let scaled = value / self.divisor;
        let text = format!("{scaled:.*}", self.decimals);
        let lost = scaled != 0.0 && text.bytes().all(|b| matches!(b, b'0' | b'.' | b'-'));
        if lost { two_digits(scaled) } else { grouped(&text) }
    }

    /// A title followed by the unit: `read, MiB/s`, `transactions per second`.
    pub fn heading(&self, title: &str) -> String {
        match self.unit.as_str() {
            "" => title.to_owned(),
            "per second" => format!("{title} per second"),
            unit if title_names(title, unit) => title.to_owned(),
            unit => format!("{title}, {unit}"),
        }
    }

    /// The number with its unit: `12,345 per second`, `8%`.
    pub fn with_unit(&self, value: f64) -> String {
        let number = self.number(value);
        match self.unit.as_str() {
            "" => number,
            "%" => format!("{number}%"),
            unit => format!("{number} {unit}"),
        }
    }
}

/// Whether the title already says the unit: `write requests`, or both quantities of a quotient: `flushes ÷ fsync`.
fn title_names(title: &str, unit: &str) -> bool {
    let is_word = unit.len() > "MiB".len();
    (is_word && title.contains(unit)) || (title.contains('÷') && unit.contains(" for each "))
}

fn byte_step(largest: f64) -> (f64, &'static str) {
    match largest as u64 {
        GIB.. => (GIB as f64, "GiB"),
        MIB.. => (MIB as f64, "MiB"),
        KIB.. => (KIB as f64, "KiB"),
        _ => (1.0, "bytes"),
    }
}

/// Three significant digits for the smallest value, limited by the size of the largest.
fn decimals(smallest: f64, largest: f64) -> usize {
    if largest <= 0.0 {
        return 0;
    }
    let digits_before = |v: f64| v.log10().floor() as i32 + 1;
    let wanted = (3 - digits_before(smallest)).max(0);
    let most = match digits_before(largest) {
        4.. => 0,
        3 => 1,
        2 => 2,
        1 => 3,
        before => 3 - before,
    };
    wanted.min(most) as usize
}

fn two_digits(value: f64) -> String {
    let decimals = (1 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    format!("{value:.decimals$}")
}

/// `1234567.8` → `1,234,567.8`.
pub fn grouped(text: &str) -> String {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (whole, tail) = rest.find('.').map_or((rest, ""), |at| rest.split_at(at));
    let mut out = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + tail
}

/// A ratio with three digits: `0.95`, `12.3`.
pub fn ratio(value: f64) -> String {
    match value {
        v if v < 0.1 => format!("{v:.3}"),
        v if v < 10.0 => format!("{v:.2}"),
        v if v < 100.0 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// A range of ratios: `1.36–1.49`, or `2.00` if both ends look the same.
pub fn ratios(low: f64, high: f64) -> String {
    between(ratio(low), &ratio(high))
}

/// A range of shares in percent: `36–39 %`, `5.0–12 %`, `95.0–99.79 %`.
pub fn percents(low: f64, high: f64) -> String {
    format!("{} %", between(percent_of(low), &percent_of(high)))
}

fn between(low: String, high: &str) -> String {
    if low == high { low } else { format!("{low}–{high}") }
}

/// Two significant digits of the share, and of what it leaves below 100 %.
fn percent_of(share: f64) -> String {
    let percent = 100.0 * share;
    let left = if percent < 100.0 { 100.0 - percent } else { percent };
    let decimals = match percent.min(left) {
        least if least >= 9.95 || least <= 0.0 => 0,
        least if least >= 0.995 => 1,
        least if least >= 0.0995 => 2,
        _ => 3,
    };
    grouped(&format!("{percent:.decimals$}"))
}

/// A p-value as text: `p = 0.43`, `p = 0.0004`, `p under 0.0001`.
pub fn chance(p: f64) -> String {
    match p {
        p if p < 0.0001 => "p under 0.0001".to_owned(),
        p if p < 0.01 => format!("p = {p:.4}"),
        p => format!("p = {p:.2}"),
    }
}

/// Nanoseconds: `850 ns`, `12.3 µs`, `1.2 s`.
pub fn duration(ns: u64) -> String {
    let (value, unit) = match ns as f64 {
        ns if ns < 1e3 => return format!("{ns} ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let decimals = if value < 10.0 && value.fract() != 0.0 { 1 } else { 0 };
    format!("{} {unit}", grouped(&format!("{value:.decimals$}")))
}

/// A duration in words: in hours from two hours on.
pub fn minutes_or_hours(minutes: u64) -> String {
    match minutes {
        0..120 => count(minutes as usize, "minute"),
        _ => count(minutes.div_ceil(60) as usize, "hour"),
    }
}

/// A range of nanoseconds as text: `1.2–1.4 ms`.
pub fn durations((low, high): (u64, u64)) -> String {
    let [low, high] = [low, high].map(duration);
    match (low.split_once(' '), high.split_once(' ')) {
        _ if low == high => low,
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number}–{high}"),
        _ => format!("{low}–{high}"),
    }
}

/// A length for SVG: `12.34%`.
pub fn percent(value: f64) -> String {
    format!("{value:.2}%")
}

/// A number with its noun: `1 trial`, `3 trials`.
pub fn count(n: usize, one: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{} {one}{s}", grouped(&n.to_string()))
}

/// Items as a list in a sentence: `a`, `a and b`, `a, b and c`.
pub fn list(items: &[String]) -> String {
    let named: Vec<String> = items.iter().map(|item| apart(item)).collect();
    match named.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A label in a sentence. A label of several words is quoted, because it could be read as a part of the sentence.
pub fn named(label: &str) -> String {
    if label.contains(char::is_whitespace) { format!("“{label}”") } else { apart(label) }
}

/// An item in a list. An item that contains a comma is quoted, unless the comma is in brackets or quotes.
fn apart(item: &str) -> String {
    let mut depth = 0;
    let is_open = item.chars().any(|c| {
        match c {
            '(' | '“' => depth += 1,
            ')' | '”' => depth -= 1,
            _ => {}
        }
        c == ',' && depth <= 0
    });
    if is_open { format!("“{item}”") } else { item.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(unit: &str, values: &[f64]) -> String {
        let scale = Scale::of(unit, values.iter().copied());
        let numbers: Vec<String> = values.iter().map(|v| scale.number(*v)).collect();
        format!("{} {}", numbers.join(" "), scale.unit)
    }

    #[test]
    fn what_has_a_comma_of_its_own_is_quoted() {
        let items = ["xfs, large log", "xfs", "btrfs, no atime"].map(str::to_owned);
        assert_eq!(list(&items), "“xfs, large log”, xfs and “btrfs, no atime”");
        assert_eq!(list(&items[1..2]), "xfs");
        for item in ["xfs (13%, under half)", "“xfs, large log” (behind ext4)"] {
            assert_eq!(apart(item), item);
        }
    }

    #[test]
    fn numbers_of_one_column_share_unit_and_decimals() {
        assert_eq!(all("1/s", &[812.34, 5211.7]), "812 5,212 per second");
        assert_eq!(all("s", &[0.0123, 3.4]), "0.012 3.400 s");
        assert_eq!(all("s", &[0.0123, 0.34]), "12.3 340.0 ms");
        assert_eq!(all("MiB/s", &[12.5, 80.0]), "12.5 80.0 MiB/s");
        assert_eq!(all("bytes", &[1e6, 3e9]), "0.001 2.794 GiB");
        assert_eq!(all("", &[3.0, 1200.0]), "3 1,200 ");
        assert_eq!(all("%", &[97.25, 99.91]), "97.2 99.9 %");
    }

    #[test]
    fn a_small_value_beside_large_ones_does_not_become_zero() {
        assert_eq!(all("s", &[0.02, 15000.0, 0.0]), "0.020 15,000 0 s");
    }

    #[test]
    fn percents_have_two_significant_digits_of_what_is_small() {
        assert_eq!(percents(0.36, 0.39), "36–39 %");
        assert_eq!(percents(0.05, 0.12), "5.0–12 %");
        assert_eq!(percents(0.95, 0.9979), "95.0–99.79 %");
        assert_eq!(percents(0.0004, 0.003), "0.040–0.30 %");
        assert_eq!((percents(0.5, 0.5), percents(0.0, 0.0)), ("50 %".into(), "0 %".into()));
        assert_eq!(percents(12.0, 12.0), "1,200 %");
        assert_eq!((ratios(1.36, 1.49), ratios(2.0, 2.0)), ("1.36–1.49".into(), "2.00".into()));
    }

    #[test]
    fn lists_read_as_sentences() {
        assert_eq!(list(&["a".into(), "b".into(), "c".into()]), "a, b and c");
        assert_eq!(count(1, "trial"), "1 trial");
        assert_eq!(count(1200, "trial"), "1,200 trials");
    }
}
