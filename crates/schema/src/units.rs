//! Quantities as users write them: `4k`, `512m`, `2g` (powers of 1024, as in fio), `30m`, `3%`, `1/16`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A number of bytes. Read from `"2g"` or an integer, stored as an integer, shown as `2 GiB`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

pub const KIB: u64 = 1 << 10;
pub const MIB: u64 = 1 << 20;
pub const GIB: u64 = 1 << 30;
/// The maximum size of a file, and the largest integer of TOML.
const MOST: u64 = i64::MAX as u64;

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a size; write 4096, 4k, 512m, 2g or 1t (powers of 1024)");
        let (digits, suffix) = split_number(text);
        let factor = match suffix.to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kib" => KIB,
            "m" | "mib" => MIB,
            "g" | "gib" => GIB,
            "t" | "tib" => GIB << 10,
            _ => return Err(wrong()),
        };
        let number: u64 = digits.parse().map_err(|_| wrong())?;
        let bytes = number.checked_mul(factor).filter(|bytes| *bytes <= MOST);
        bytes.map(Bytes).ok_or_else(|| format!("'{text}' is too large; a size must be below 8 EiB"))
    }
}

impl Bytes {
    /// Exact and readable as input: `38g`, `1600m`, `4097`.
    pub fn written(self) -> String {
        let steps = [(GIB, "g"), (MIB, "m"), (KIB, "k")];
        let step = steps.iter().find(|(step, _)| self.0 > 0 && self.0.is_multiple_of(*step));
        step.map_or_else(|| self.0.to_string(), |(step, suffix)| format!("{}{suffix}", self.0 / step))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const STEPS: [(u64, &str); 6] = [
            (GIB << 30, "EiB"),
            (GIB << 20, "PiB"),
            (GIB << 10, "TiB"),
            (GIB, "GiB"),
            (MIB, "MiB"),
            (KIB, "KiB"),
        ];
        match STEPS.iter().find(|(step, _)| self.0 >= *step) {
            None => write!(f, "{} bytes", self.0),
            Some((step, unit)) if self.0.is_multiple_of(*step) => write!(f, "{} {unit}", self.0 / step),
            Some((step, unit)) => write!(f, "{:.1} {unit}", self.0 as f64 / *step as f64),
        }
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        number_or_text(from, |n| Ok(Bytes(n)))
    }
}

/// A saturating sum of raw values, which come from a guest or a user's file.
pub fn sum(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0, u64::saturating_add)
}

/// A duration as a user writes it: `90s`, `30m`, `2h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a length of time; write 90s, 30m or 2h");
        let (digits, suffix) = split_number(text);
        let seconds = match suffix {
            "s" => 1,
            "m" | "min" => 60,
            "h" => 3600,
            _ => return Err(wrong()),
        };
        let number: u64 = digits.parse().map_err(|_| wrong())?;
        number.checked_mul(seconds).map(|s| Span(Duration::from_secs(s))).ok_or_else(wrong)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            s if s > 0 && s % 3600 == 0 => write!(f, "{}h", s / 3600),
            s if s > 0 && s % 60 == 0 => write!(f, "{}m", s / 60),
            s => write!(f, "{s}s"),
        }
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        number_or_text(from, |n| Err(format!("{n} has no unit; write {n}s, {n}m or {n}h")))
    }
}

/// A percentage, written `3%`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Percent(pub f64);

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a share between 0% and 100%; write 3%");
        let number: f64 = text.strip_suffix('%').ok_or_else(wrong)?.trim().parse().map_err(|_| wrong())?;
        if (0.0..=100.0).contains(&number) { Ok(Percent(number)) } else { Err(wrong()) }
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

impl Serialize for Percent {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        number_or_text(from, |n| Err(format!("{n} has no unit; write {n}%")))
    }
}

/// A scale, written `1/16` or `2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    pub of: u64,
    pub by: u64,
}

impl Scale {
    /// `n` scaled and rounded to nearest, at least 1.
    pub fn apply(self, n: u64) -> u64 {
        let exact = u128::from(n) * u128::from(self.of);
        let by = u128::from(self.by);
        u64::try_from((exact + by / 2) / by).unwrap_or(u64::MAX).max(1)
    }

    /// The product of both scales in lowest terms; `None` on overflow.
    pub fn times(self, other: Scale) -> Option<Scale> {
        let (of, by) =
            (u128::from(self.of) * u128::from(other.of), u128::from(self.by) * u128::from(other.by));
        let common = common_divisor(of, by);
        Some(Scale { of: u64::try_from(of / common).ok()?, by: u64::try_from(by / common).ok()? })
    }

    /// Whether the work stays as it is.
    pub fn is_whole(self) -> bool {
        self.of == self.by
    }

    /// Whether this scale makes the work smaller.
    pub fn shrinks(self) -> bool {
        self.of < self.by
    }
}

fn common_divisor(a: u128, b: u128) -> u128 {
    if b == 0 { a.max(1) } else { common_divisor(b, a % b) }
}

impl FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a scale; write 1/16 or 2");
        let (of, by) = text.split_once('/').unwrap_or((text, "1"));
        let [of, by] = [of, by].map(|n| n.trim().parse().ok().filter(|n| *n > 0));
        Ok(Scale { of: of.ok_or_else(wrong)?, by: by.ok_or_else(wrong)? })
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.by == 1 { write!(f, "{}", self.of) } else { write!(f, "{}/{}", self.of, self.by) }
    }
}

impl Serialize for Scale {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Scale {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        number_or_text(
            from,
            |n| if n > 0 { Ok(Scale { of: n, by: 1 }) } else { Err("0 is not a scale".into()) },
        )
    }
}

/// `"512m"` → `("512", "m")`.
fn split_number(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// Reads an integer or a text.
fn number_or_text<'de, D, T>(from: D, number: fn(u64) -> Result<T, String>) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = String>,
{
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a whole number or a text such as \"2g\"")]
    enum Either {
        Number(u64),
        Text(String),
    }
    match Either::deserialize(from)? {
        Either::Number(n) => number(n),
        Either::Text(text) => text.parse(),
    }
    .map_err(de::Error::custom)
}

/// CPU time as an integer percentage of elapsed time, like `%P` of GNU time. User, system and elapsed time are each truncated
/// to milliseconds (microseconds if less than one millisecond elapsed), and the quotient to whole per cent. Several threads can
/// exceed 100 %.
pub fn cpu_percent(user_ns: u64, sys_ns: u64, elapsed_ns: u64) -> u64 {
    const MILLISECOND: u64 = 1_000_000;
    let unit = if elapsed_ns >= MILLISECOND { MILLISECOND } else { 1000 };
    let used = (user_ns / unit).saturating_add(sys_ns / unit);
    used.saturating_mul(100).checked_div(elapsed_ns / unit).unwrap_or(0)
}

written_as!(Bytes: "integer", Span: "string", Percent: "string", Scale: "string");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_is_what_gnu_time_says() {
        const MS: u64 = 1_000_000;
        assert_eq!(cpu_percent(40 * MS, 200 * MS, 610 * MS), 39, "0.24 s in 0.61 s");
        assert_eq!(cpu_percent(1_999_999, 1_999_999, 10 * MS), 20, "each is cut to a millisecond");
        assert_eq!(cpu_percent(400_000, 300_000, 800_000), 87, "less than a millisecond");
        assert_eq!(cpu_percent(30 * MS, 0, 20 * MS), 150, "threads");
        assert_eq!(cpu_percent(0, 0, 0), 0);
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!("4k".parse(), Ok(Bytes(4096)));
        assert_eq!("2G".parse(), Ok(Bytes(2 * GIB)));
        assert_eq!("2147450880".parse(), Ok(Bytes(2_147_450_880)));
        assert_eq!(Bytes(2 * GIB).to_string(), "2 GiB");
        assert_eq!(Bytes(1536).to_string(), "1.5 KiB");
        assert_eq!(Bytes(8 << 60).to_string(), "8 EiB");
        assert_eq!(Bytes(3 << 49).to_string(), "1.5 PiB");
    }

    #[test]
    fn a_wrong_unit_says_what_to_write() {
        assert!("2q".parse::<Bytes>().unwrap_err().contains("512m"));
        assert!("30".parse::<Span>().unwrap_err().contains("30m"));
        assert!("3".parse::<Percent>().unwrap_err().contains("3%"));
        assert!("0/4".parse::<Scale>().is_err());
        assert!("99999999999g".parse::<Bytes>().is_err());
        assert!("8388608t".parse::<Bytes>().is_err() && "9223372036854775808".parse::<Bytes>().is_err());
        assert!("9223372036854775807".parse::<Bytes>().is_ok());
    }

    #[test]
    fn a_sum_ends_at_the_largest_number() {
        assert_eq!((sum([1, 2]), sum([u64::MAX, 1]), sum([])), (3, u64::MAX, 0));
    }

    #[test]
    fn a_scale_never_leaves_nothing() {
        let sixteenth: Scale = "1/16".parse().expect("a scale");
        assert_eq!(sixteenth.apply(32_000), 2_000);
        assert_eq!(sixteenth.apply(3), 1);
    }
}
