//! Properties and abilities of a kind of filesystem, with sources.

use serde::Serialize;

/// A kind that took part, as it describes itself.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Kind {
    pub name: String,
    pub what: String,
    pub origin: String,
    pub limits: String,
    pub facts: Vec<Row>,
}

/// One fact: the name of the ability, the answer, the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Row {
    pub title: &'static str,
    pub value: String,
    pub source: &'static str,
}
