//! Reads a disk file's table: each value with unit, range and source.

use std::collections::BTreeSet;

use toml::{Table, Value as Toml};

/// One value of a disk, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    pub key: String,
    pub value: String,
    pub unit: &'static str,
    /// The source, or `estimate: ` and the reason.
    pub source: String,
}

/// An error in a disk file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error("it is not TOML: {0}")]
    Syntax(String),
    #[error("`{key}` is missing")]
    Missing { key: String },
    /// The file has an unknown key; `instead` names the nearest known keys, or all known keys if there are few.
    #[error("unknown key `{key}`; {instead}")]
    Unknown { key: String, instead: String },
    #[error("`{key}` cannot be {value}; allowed is {allowed}")]
    Wrong { key: String, value: String, allowed: String },
    #[error(
        "`{key} = {value}` states no source; write \
         {{ is = VALUE, source = \"…\" }} or {{ is = VALUE, estimate = \"why\" }}"
    )]
    Unsourced { key: String, value: String },
    #[error("the values of `{keys}` do not fit together: {why}")]
    Contradiction { keys: String, why: String },
}

/// Most keys that an error names.
const NAMED: usize = 3;

impl SpecError {
    /// The error for a `key` that is not among the `known` keys.
    pub(super) fn unknown(prefix: &str, key: &str, known: &[&str]) -> Self {
        let mut nearest: Vec<&str> = known.to_vec();
        nearest.sort_by_key(|known| distance(known, key));
        nearest.truncate(NAMED);
        let quoted = |keys: &[&str]| -> String {
            let quoted: Vec<String> = keys.iter().map(|key| format!("`{prefix}{key}`")).collect();
            quoted.join(", ")
        };
        let near: Vec<&str> = nearest.iter().copied().filter(|known| is_near(known, key)).collect();
        let instead = match (near.as_slice(), known.len()) {
            ([near, ..], _) => format!("did you mean {}?", quoted(&[near])),
            ([], many) if many > NAMED => {
                format!("the nearest of {many} known keys are {}", quoted(&nearest))
            }
            ([], _) => format!("known: {}", quoted(known)),
        };
        SpecError::Unknown { key: format!("{prefix}{key}"), instead }
    }
}

fn distance(one: &str, other: &str) -> usize {
    strsim::damerau_levenshtein(one, other)
}

/// Whether one of these two keys may be a misspelling of the other.
fn is_near(one: &str, other: &str) -> bool {
    distance(one, other) <= 1 + other.len() / 4
}

/// Every key of a value in a shipped file.
fn shipped_keys() -> BTreeSet<String> {
    let tables = crate::SHIPPED.iter().filter_map(|(_, text)| text.parse::<Table>().ok());
    let values = tables.flat_map(|table| {
        let member = table.get("member").and_then(Toml::as_table).cloned();
        table.get("values").and_then(Toml::as_table).cloned().into_iter().chain(member)
    });
    values.flat_map(|values| values.keys().cloned().collect::<Vec<_>>()).collect()
}

/// A table being read. Keys that are never queried are an error at the end.
pub(super) struct Fields<'a> {
    table: &'a Table,
    /// Precedes each key in messages and lists: `member.` for the disks of a RAID.
    prefix: &'static str,
    asked: Vec<&'static str>,
    pub values: Vec<Value>,
}

impl<'a> Fields<'a> {
    pub fn new(table: &'a Table, prefix: &'static str) -> Self {
        Fields { table, prefix, asked: Vec::new(), values: Vec::new() }
    }

    /// Reads an integer within `low..=high`.
    pub fn number(
        &mut self,
        key: &'static str,
        unit: &'static str,
        low: u64,
        high: u64,
    ) -> Result<u64, SpecError> {
        let (value, source) = self.sourced(key)?;
        let number = value.as_integer().and_then(|n| u64::try_from(n).ok());
        let number = number.filter(|n| (low..=high).contains(n)).ok_or_else(|| SpecError::Wrong {
            key: self.name(key),
            value: value.to_string(),
            allowed: format!("a whole number from {low} to {high}, in {unit}"),
        })?;
        self.list(key, number.to_string(), unit, source);
        Ok(number)
    }

    /// Like [`Fields::number`] for an optional value, with its default and the reason for it.
    pub fn number_or(
        &mut self,
        key: &'static str,
        unit: &'static str,
        (low, high): (u64, u64),
        (otherwise, why): (u64, &str),
    ) -> Result<u64, SpecError> {
        if self.has(key) {
            return self.number(key, unit, low, high);
        }
        self.leave_out(key, otherwise.to_string(), unit, why);
        Ok(otherwise)
    }

    /// Whether the file contains this key.
    pub fn has(&self, key: &'static str) -> bool {
        self.table.contains_key(key)
    }

    /// Reads one of the given words; optional, with its default and the reason for it.
    pub fn word_or<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&'static str, T)],
        otherwise: (&'static str, T),
        why: &str,
    ) -> Result<T, SpecError> {
        if !self.has(key) {
            self.leave_out(key, otherwise.0.to_owned(), "", why);
            return Ok(otherwise.1);
        }
        let (value, source) = self.sourced(key)?;
        let known = words.iter().find(|(word, _)| value.as_str() == Some(word));
        let (word, meaning) = known.ok_or_else(|| SpecError::Wrong {
            key: self.name(key),
            value: value.to_string(),
            allowed: words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(", "),
        })?;
        self.list(key, (*word).to_owned(), "", source);
        Ok(*meaning)
    }

    /// Reads an optional boolean, with its default and the reason for it.
    pub fn flag_or(&mut self, key: &'static str, (otherwise, why): (bool, &str)) -> Result<bool, SpecError> {
        if !self.has(key) {
            self.leave_out(key, otherwise.to_string(), "", why);
            return Ok(otherwise);
        }
        let (value, source) = self.sourced(key)?;
        let flag = value.as_bool().ok_or_else(|| SpecError::Wrong {
            key: self.name(key),
            value: value.to_string(),
            allowed: "true, false".to_owned(),
        })?;
        self.list(key, flag.to_string(), "", source);
        Ok(flag)
    }

    fn leave_out(&mut self, key: &'static str, value: String, unit: &'static str, why: &str) {
        self.asked.push(key);
        self.list(key, value, unit, format!("not in the disk's file: {why}"));
    }

    /// Reads a list of 1 to `most` integers within bounds.
    pub fn numbers(
        &mut self,
        key: &'static str,
        unit: &'static str,
        (low, high): (u64, u64),
        most: usize,
    ) -> Result<Vec<u64>, SpecError> {
        let (value, source) = self.sourced(key)?;
        let number = |v: &Toml| {
            let number = v.as_integer().and_then(|n| u64::try_from(n).ok());
            number.filter(|n| (low..=high).contains(n))
        };
        let numbers: Option<Vec<u64>> =
            value.as_array().map(|a| a.iter().map(number).collect()).unwrap_or_default();
        let numbers = numbers.filter(|n| (1..=most).contains(&n.len())).ok_or_else(|| SpecError::Wrong {
            key: self.name(key),
            value: value.to_string(),
            allowed: format!("a list of 1 to {most} whole numbers from {low} to {high}, in {unit}"),
        })?;
        let text: Vec<String> = numbers.iter().map(u64::to_string).collect();
        self.list(key, text.join(" "), unit, source);
        Ok(numbers)
    }

    /// Reads a list of 2 to `most` pairs of integers within bounds.
    pub fn pairs(
        &mut self,
        key: &'static str,
        unit: &'static str,
        (low, high): (u64, u64),
        most: usize,
    ) -> Result<Vec<(u64, u64)>, SpecError> {
        let (value, source) = self.sourced(key)?;
        let number = |v: &Toml| v.as_integer().and_then(|n| u64::try_from(n).ok());
        let pair = |v: &Toml| {
            let [first, second] = v.as_array()?.as_slice() else { return None };
            let pair = (number(first)?, number(second)?);
            [pair.0, pair.1].iter().all(|n| (low..=high).contains(n)).then_some(pair)
        };
        let pairs: Option<Vec<(u64, u64)>> =
            value.as_array().map(|a| a.iter().map(pair).collect()).unwrap_or_default();
        let pairs = pairs.filter(|p| (2..=most).contains(&p.len())).ok_or_else(|| SpecError::Wrong {
            key: self.name(key),
            value: value.to_string(),
            allowed: format!("a list of 2 to {most} pairs of whole numbers from {low} to {high}, {unit}"),
        })?;
        let text: Vec<String> = pairs.iter().map(|(a, b)| format!("{a}:{b}")).collect();
        self.list(key, text.join(" "), unit, source);
        Ok(pairs)
    }

    /// Returns the values; an error if a key was never queried.
    pub fn end(self) -> Result<Vec<Value>, SpecError> {
        match self.table.keys().find(|k| !self.asked.contains(&k.as_str())) {
            Some(unknown) => Err(SpecError::unknown(self.prefix, unknown, &self.asked)),
            None => Ok(self.values),
        }
    }

    fn name(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    /// `key = { is = VALUE, source = "…" }` or `{ is = VALUE, estimate = "why" }`.
    fn sourced(&mut self, key: &'static str) -> Result<(&'a Toml, String), SpecError> {
        self.asked.push(key);
        let entry = self.table.get(key).ok_or_else(|| self.missing(key))?;
        let unsourced = || SpecError::Unsourced { key: self.name(key), value: entry.to_string() };
        let entry = entry.as_table().ok_or_else(unsourced)?;
        let text = |name| entry.get(name).and_then(Toml::as_str).filter(|t: &&str| !t.trim().is_empty());
        let source = match (text("source"), text("estimate")) {
            (Some(source), None) => source.to_owned(),
            (None, Some(why)) => format!("estimate: {why}"),
            _ => return Err(unsourced()),
        };
        if entry.len() != 2 {
            return Err(unsourced());
        }
        Ok((entry.get("is").ok_or_else(unsourced)?, source))
    }

    /// A missing value, which the file may have under a misspelt key.
    fn missing(&self, key: &'static str) -> SpecError {
        let known = shipped_keys();
        let is_strange = |other: &&String| !known.contains(other.as_str()) && is_near(other, key);
        match self.table.keys().filter(is_strange).min_by_key(|other| distance(other, key)) {
            Some(misspelt) => SpecError::unknown(self.prefix, misspelt, &[key]),
            None => SpecError::Missing { key: self.name(key) },
        }
    }

    fn list(&mut self, key: &str, value: String, unit: &'static str, source: String) {
        self.values.push(Value { key: self.name(key), value, unit, source });
    }
}
