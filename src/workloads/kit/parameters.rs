//! Keys of a `parameters` table. Errors name the key and its allowed values.

use std::ops::RangeInclusive;

use serde::Deserialize;
use toml::{Table, Value};

use crate::schema::units::{Bytes, Scale};
use crate::text::{mistakes, names};

/// A table in which every key is known.
#[derive(Clone, Copy)]
pub struct Keys<'a>(&'a Table);

impl<'a> Keys<'a> {
    pub fn of(table: &'a Table, known: &[&str]) -> Result<Self, String> {
        if let Some(key) = table.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(names::unknown("parameter", key, known.iter().copied()));
        }
        let strange = |(key, value)| Some(format!("{key}: the value {} is not allowed", no_jobs(value)?));
        table.iter().find_map(strange).map_or(Ok(Keys(table)), Err)
    }

    pub fn get<'de, T: Deserialize<'de>>(&self, key: &str) -> Result<Option<T>, String> {
        let value = self.0.get(key).map(|value| value.clone().try_into());
        value.transpose().map_err(|error| format!("{key}: {}", mistakes::in_words(&error)))
    }

    pub fn or<'de, T: Deserialize<'de>>(&self, key: &str, default: T) -> Result<T, String> {
        Ok(self.get(key)?.unwrap_or(default))
    }

    pub fn needed<'de, T: Deserialize<'de>>(&self, key: &str) -> Result<T, String> {
        self.get(key)?.ok_or_else(|| format!("{key} is missing"))
    }

    /// A required number within these bounds.
    pub fn number(&self, key: &str, bounds: RangeInclusive<u32>) -> Result<u32, String> {
        within(key, self.needed(key)?, bounds)
    }

    /// A required size within these bounds.
    pub fn bytes(&self, key: &str, bounds: RangeInclusive<u64>) -> Result<u64, String> {
        let value: Bytes = self.needed(key)?;
        if bounds.contains(&value.0) {
            return Ok(value.0);
        }
        let (least, most) = bounds.into_inner();
        Err(format!("{key} = {value}: write a size from {} to {}", Bytes(least), Bytes(most)))
    }
}

/// A TOML value that JSON, the format of jobs, cannot hold.
fn no_jobs(value: &Value) -> Option<&Value> {
    match value {
        Value::Float(float) => (!float.is_finite()).then_some(value),
        Value::Datetime(_) => Some(value),
        Value::Array(values) => values.iter().find_map(no_jobs),
        Value::Table(table) => table.values().find_map(no_jobs),
        Value::String(_) | Value::Integer(_) | Value::Boolean(_) => None,
    }
}

fn within(key: &str, value: i64, bounds: RangeInclusive<u32>) -> Result<u32, String> {
    let fits = u32::try_from(value).ok().filter(|n| bounds.contains(n));
    let (least, most) = bounds.into_inner();
    fits.ok_or_else(|| format!("{key} = {value}: write a number from {least} to {most}"))
}

/// The table with the numbers of these keys scaled. The parser checks whether the result is allowed.
pub fn scaled(
    table: &Table,
    by: Scale,
    numbers: impl IntoIterator<Item = (&'static str, u64)>,
) -> Result<Table, String> {
    let mut scaled = table.clone();
    for (key, value) in numbers {
        let value = i64::try_from(by.apply(value)).map_err(|_| format!("{key}: {by} is too large"))?;
        scaled.insert(key.into(), Value::Integer(value));
    }
    Ok(scaled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_names_its_key_and_what_it_may_be() {
        let table: Table = "files = 0\nsize = '5k'\nname = 3".parse().expect("TOML");
        let wrong = Keys::of(&table, &["file", "size", "name"]).map(drop).unwrap_err();
        assert!(wrong.contains("did you mean 'file'?"), "{wrong}");
        let keys = Keys::of(&table, &["files", "size", "name"]).expect("known");
        assert_eq!(keys.number("files", 1..=9), Err("files = 0: write a number from 1 to 9".into()));
        assert_eq!(keys.bytes("size", 1..=5120), Ok(5120));
        assert!(keys.bytes("size", 1..=1024).is_err_and(|e| e.contains("from 1 bytes to 1 KiB")));
        assert_eq!(keys.number("folders", 1..=9), Err("folders is missing".into()));
        assert!(keys.get::<String>("name").is_err_and(|e| e.starts_with("name: ")));
        assert_eq!(keys.or("depth", 3), Ok(3));
    }

    #[test]
    fn what_a_job_cannot_hold_is_refused_however_deep_it_stands() {
        for value in ["inf", "[1, nan]", "[{ path = 'a', x = { y = -inf } }]", "{ day = 1999-12-31 }"] {
            let table: Table = format!("files = {value}").parse().expect("TOML");
            let wrong = Keys::of(&table, &["files"]).map(drop).unwrap_err();
            assert!(wrong.starts_with("files: "), "{wrong}");
            assert!(wrong.ends_with("is not allowed"), "{wrong}");
        }
    }

    #[test]
    fn numbers_are_scaled_and_all_else_stays() {
        let table: Table = "files = 320\nsize = '5k'".parse().expect("TOML");
        let seen = scaled(&table, Scale { of: 1, by: 16 }, [("files", 320)]).expect("scaled");
        assert_eq!(seen, "files = 20\nsize = '5k'".parse::<Table>().expect("TOML"));
        assert!(scaled(&table, Scale { of: u64::MAX, by: 1 }, [("files", 320)]).is_err());
    }
}
