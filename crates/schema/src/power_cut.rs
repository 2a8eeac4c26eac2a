//! The moment of a power cut: after an operation of the work, or after a share of it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::Value;

use crate::units::Percent;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PowerCut {
    /// Right after this operation, counted from 1.
    Operation(u64),
    /// Right after this share of the work's operations, so independent of the work's scale.
    Share(Percent),
}

impl PowerCut {
    /// The number of operations before the cut, for a work of `all` operations.
    ///
    /// # Errors
    /// If the work cannot be stopped at an operation, or ends before.
    pub fn after(self, all: u64) -> Result<u64, String> {
        match self {
            _ if all == 0 => Err("the workload cannot be stopped at an operation".into()),
            PowerCut::Operation(n) if n > all => Err(format!(
                "the workload has only {all} operations, not {n}; write --power-cut {all} or less"
            )),
            PowerCut::Operation(n) => Ok(n),
            PowerCut::Share(share) => Ok(((all as f64 * share.0 / 100.0).round() as u64).clamp(1, all)),
        }
    }
}

impl FromStr for PowerCut {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "'{text}' is no moment for a power cut; write the number of an operation (700) or a share of the work (50%)"
            )
        };
        if text.ends_with('%') {
            return text.parse().map(PowerCut::Share).map_err(|_: String| wrong());
        }
        match text.parse() {
            Ok(n @ 1..) => Ok(PowerCut::Operation(n)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for PowerCut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PowerCut::Operation(n) => write!(f, "{n}"),
            PowerCut::Share(share) => write!(f, "{share}"),
        }
    }
}

impl Serialize for PowerCut {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PowerCut {
    /// Reads a number of operations, or a text such as `50%`.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.parse().map_err(serde::de::Error::custom)
    }
}

written_as!(PowerCut: "string");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_as_it_is_read_and_what_is_none_is_refused() {
        for text in ["1", "700", "50%", "0.5%"] {
            assert_eq!(text.parse::<PowerCut>().map(|cut| cut.to_string()), Ok(text.to_owned()));
        }
        for text in ["0", "-3", "101%", "half", "3.5", ""] {
            assert!(text.parse::<PowerCut>().is_err_and(|e| e.contains("50%")), "{text}");
        }
    }
}
