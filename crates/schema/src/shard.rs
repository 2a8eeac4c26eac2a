//! A shard: the part of a plan's trials that one run carries out, so that several machines share a plan.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Shard `number` of `of`. Which trials these are follows from the plan alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Shard {
    /// From 1.
    pub number: u32,
    pub of: u32,
    /// The trials to share, by name, in order; empty: all trials that follow from the plan alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub due: Vec<String>,
}

/// A shard as a plan stores it.
#[derive(schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    number: u32,
    of: u32,
    #[serde(default)]
    due: Vec<String>,
}

impl TryFrom<Stored> for Shard {
    type Error = String;

    fn try_from(Stored { number, of, due }: Stored) -> Result<Self, String> {
        match (1..=of).contains(&number) {
            true => Ok(Shard { number, of, due }),
            false => Err(format!("there is no shard {number} of {of}")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Shard { number, of, due: Vec::new() }),
            Some((_, of @ 1..)) => {
                Err(format!("'{text}' is not a shard: {of} shards are numbered 1/{of} to {of}/{of}"))
            }
            _ => Err(format!("'{text}' is not a shard; write 2/4 for the second of four")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_one_of_a_number_counted_from_one() {
        let shard: Shard = "2/4".parse().unwrap();
        assert_eq!((shard.number, shard.of, shard.to_string()), (2, 4, "2/4".into()));
        assert!("1/1".parse::<Shard>().is_ok());
        let why = |text: &str| text.parse::<Shard>().unwrap_err();
        assert!(why("0/4").contains("1/4 to 4/4") && why("5/4").contains("1/4 to 4/4"));
        for text in ["", "/", "2", "1/0", "0/0", "-1/4", "1/4/2", "a/b", " 1/4", "99999999999/4"] {
            assert!(why(text).contains("is not a shard"), "{text}");
        }
        for stored in [r#"{"number":0,"of":4}"#, r#"{"number":1,"of":0}"#, r#"{"number":5,"of":4}"#] {
            assert!(serde_json::from_str::<Shard>(stored).is_err(), "{stored}");
        }
    }
}
