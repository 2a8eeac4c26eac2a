//! What a kind of filesystem is and can do, with its sources.

use serde::Serialize;

/// A kind that took part, as it describes itself.
#[derive(Clone, Debug, Serialize)]
pub struct Kind {
    pub name: String,
    pub what: String,
    pub origin: String,
    pub limits: String,
    pub facts: Vec<Row>,
}

/// One fact: the name of the ability, the answer, where it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    pub title: &'static str,
    pub value: String,
    pub source: &'static str,
}
