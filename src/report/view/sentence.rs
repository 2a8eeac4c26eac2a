//! A sentence of a report, and what it claims of candidates: each claim is a finding, so that a test can hold one beside the other.

use std::fmt;
use std::ops::Deref;

use serde::{Serialize, Serializer};

use crate::schema::finding::{Finding, Found};

/// What a sentence says of two candidates in one headline metric. It may only repeat a finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    pub said: Said,
    pub scenario: String,
    pub metric: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dimensions: String,
    /// Of *better* the better one.
    pub a: String,
    pub b: String,
    /// How many times better `a` is than `b`: the ends of the finding's interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

impl Claim {
    /// What a finding says, the better one first.
    pub fn of(finding: &Finding) -> Option<Self> {
        let said = match finding.finding {
            Found::Better | Found::Worse => Said::Better,
            Found::Equivalent => Said::Equivalent,
            Found::CannotTell => Said::NotToldApart,
        };
        let better = match finding.finding {
            Found::Worse => finding.from_the_side_of(&finding.b)?,
            _ => finding.clone(),
        };
        let Finding { scenario, metric, dimensions, a, b, low, high, .. } = better;
        Some(Claim { said, scenario, metric, dimensions, a, b, low, high })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    Better,
    Equivalent,
    /// Neither is claimed to be better.
    NotToldApart,
}

impl Said {
    /// Whether a finding on `a` beside `b` allows it.
    pub fn is_allowed_by(self, found: Found) -> bool {
        match self {
            Said::Better => found == Found::Better,
            Said::Equivalent => found == Found::Equivalent,
            Said::NotToldApart => matches!(found, Found::Equivalent | Found::CannotTell),
        }
    }
}

/// Text with the claims in it. In JSON it is its text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sentence {
    pub text: String,
    pub claims: Vec<Claim>,
}

impl Sentence {
    pub fn new(text: impl Into<String>, claims: Vec<Claim>) -> Self {
        Sentence { text: text.into(), claims }
    }
}

/// A sentence that claims nothing of an order.
impl From<String> for Sentence {
    fn from(text: String) -> Self {
        Sentence { text, claims: Vec::new() }
    }
}

impl Deref for Sentence {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Sentence {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text)
    }
}

/// The sentences behind each other, with all their claims.
pub fn joined(sentences: &[Sentence], between: &str) -> Sentence {
    let texts: Vec<&str> = sentences.iter().map(|one| one.text.as_str()).collect();
    Sentence::new(texts.join(between), sentences.iter().flat_map(|one| one.claims.clone()).collect())
}
