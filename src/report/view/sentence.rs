//! A sentence of a report with its claims about candidates. Each claim is a finding, which a test checks.

use std::fmt;
use std::ops::Deref;

use serde::{Serialize, Serializer};

use crate::schema::change::Change;
use crate::schema::finding::{Finding, Found};

/// A statement about two candidates, or about one candidate in two runs, in one headline metric. A claim may only repeat a finding.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Claim {
    pub said: Said,
    pub scenario: String,
    pub metric: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dimensions: String,
    /// A candidate; in a claim of *better*, the better candidate.
    pub a: String,
    pub b: String,
    /// In a comparison of two runs: the run of `a`. Then `b` is the same candidate in the other run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a_in: Option<Which>,
    /// The ratio of `a` to `b`: the ends of the finding's interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

impl Claim {
    /// The claim of a finding, with the better candidate first.
    pub fn of(finding: &Finding) -> Option<Self> {
        let said = Said::of(finding.finding);
        let better = match finding.finding {
            Found::Worse => finding.from_the_side_of(&finding.b)?,
            _ => finding.clone(),
        };
        let Finding { scenario, metric, dimensions, a, b, low, high, .. } = better;
        Some(Claim { said, scenario, metric, dimensions, a, b, a_in: None, low, high })
    }

    /// The claim of a change, with the better run first, or the second run first if neither is better.
    pub fn of_change(change: &Change) -> Self {
        let Change { scenario, metric, dimensions, candidate, .. } = change.clone();
        let a_in = if change.finding == Found::Worse { Which::First } else { Which::Second };
        let (low, high) = a_in.ends(change);
        Claim {
            said: Said::of(change.finding),
            scenario,
            metric,
            dimensions,
            b: candidate.clone(),
            a: candidate,
            a_in: Some(a_in),
            low,
            high,
        }
    }
}

/// One of two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Which {
    First,
    Second,
}

impl Which {
    /// The finding on this run relative to the other run.
    pub fn found(self, change: &Change) -> Found {
        match self {
            Which::First => change.finding.turned(),
            Which::Second => change.finding,
        }
    }

    /// The ends of the interval of the ratio of this run to the other run.
    pub fn ends(self, change: &Change) -> (Option<f64>, Option<f64>) {
        match self {
            Which::First => (change.high.map(f64::recip), change.low.map(f64::recip)),
            Which::Second => (change.low, change.high),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    Better,
    Equivalent,
    /// Neither is claimed to be better.
    NotToldApart,
}

impl Said {
    /// The kind of claim that a finding supports, whichever of the two candidates is better.
    fn of(found: Found) -> Self {
        match found {
            Found::Better | Found::Worse => Said::Better,
            Found::Equivalent => Said::Equivalent,
            Found::CannotTell => Said::NotToldApart,
        }
    }

    /// Whether a finding on `a` against `b` supports the claim.
    pub fn is_allowed_by(self, found: Found) -> bool {
        match self {
            Said::Better => found == Found::Better,
            Said::Equivalent => found == Found::Equivalent,
            Said::NotToldApart => matches!(found, Found::Equivalent | Found::CannotTell),
        }
    }
}

/// A text with its claims; the JSON report has only the text.
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

/// A sentence that claims no order.
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

/// Written as its text.
impl schemars::JsonSchema for Sentence {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Sentence".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

/// The sentences in sequence, with all their claims.
pub fn joined(sentences: &[Sentence], between: &str) -> Sentence {
    let texts: Vec<&str> = sentences.iter().map(|one| one.text.as_str()).collect();
    Sentence::new(texts.join(between), sentences.iter().flat_map(|one| one.claims.clone()).collect())
}
