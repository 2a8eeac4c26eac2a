//! Reads `plan.toml`.

use toml::{Table, Value};

use crate::exit::Failure;
use crate::schema::plan::{MARK, Plan, SCHEMA};
use crate::text::mistakes;

/// Parses the text of a stored plan.
///
/// # Errors
/// The error names the version if it is not the current version, otherwise the faulty line.
pub fn parse(text: &str, from: &str) -> Result<Plan, Failure> {
    is_of_this_version(text, from)?;
    toml::from_str(text)
        .map_err(|e| Failure::usage(format!("could not parse {from}: {}", mistakes::in_words(&e))))
}

/// Checks that the plan has the version that this fsderby reads. A text that is not a plan is accepted here.
pub fn is_of_this_version(text: &str, from: &str) -> Result<(), Failure> {
    let table = text.parse::<Table>().unwrap_or_default();
    let age = match table.get(MARK).and_then(Value::as_integer) {
        Some(version) if version < i64::from(SCHEMA) => Some(("an older", version)),
        Some(version) if version > i64::from(SCHEMA) => Some(("a newer", version)),
        _ => None,
    };
    age.map_or(Ok(()), |(age, version)| {
        let made = format!("{from} was made by {age} fsderby (records of version {version})");
        Err(Failure::usage(format!("{made}; this fsderby reads version {SCHEMA}")))
    })
}
