//! The recommendation for stated needs, with its basis; stored with the verdict.

use serde::{Deserialize, Serialize};

use crate::metric::Better;
use crate::needs::{Aspect, Required};
use crate::units::Percent;

#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recommendation {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// A difference within the margin does not matter.
    pub margin: Percent,
    /// Minimum number of rounds behind any mean; 0 if nothing could be judged.
    pub rounds: usize,
    pub needs: Vec<Weighed>,
    pub ruled_out: Vec<RuledOut>,
    /// Filesystems without figures for a need that others have.
    pub unjudged: Vec<Unjudged>,
    /// The candidates, best first.
    pub ranking: Vec<Place>,
    /// The recommended filesystem; `None` if nothing could be judged.
    pub choice: Option<Choice>,
}

/// A need, its metrics, and the changes of its weight that would change the choice.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weighed {
    pub need: Need,
    pub weight: f64,
    /// The weight of this need as a share of all judged weights, 0 to 1.
    pub share: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
    pub judged_by: Vec<JudgedBy>,
    /// The nearest smaller weight, as a factor of this one, and the choice below it.
    pub less: Option<Change>,
    /// The nearest larger weight, and the choice above it.
    pub more: Option<Change>,
}

#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgedBy {
    pub workload: String,
    pub metric: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dimensions: String,
    pub unit: String,
    pub better: Better,
    pub rounds: usize,
    pub figures: Vec<Figure>,
}

/// Geometric mean over the rounds, and its ratio to the best: 1 is the best, less is worse.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    pub filesystem: String,
    pub mean: f64,
    pub ratio: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    pub factor: f64,
    pub filesystem: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuledOut {
    pub filesystem: String,
    pub lacks: Vec<Lack>,
}

/// A missing feature, and the source for that.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lack {
    pub required: Required,
    /// The feature that the filesystem has instead; empty if it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
    pub source: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unjudged {
    pub filesystem: String,
    pub needs: Vec<Need>,
}

#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    pub filesystem: String,
    /// Weighted geometric mean of its ratios: 1 would be the best at everything.
    pub score: f64,
    /// The ratios in the order of the needs; a ratio is absent if its need could not be judged.
    pub ratios: Vec<Option<f64>>,
    /// Filesystems that are nowhere worse and somewhere better; empty for a member of the Pareto set.
    pub behind: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    pub filesystem: String,
    /// Within the margin of the choice, and not distinguished by anything.
    pub ties: Vec<String>,
    /// Within the margin of the choice, and worse at the tie-breaker.
    pub drawn_with: Vec<String>,
    /// The tie-breaker that decided.
    pub draw: Option<Aspect>,
}

/// The subject of a weight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Need {
    /// A workload, judged by its headline metric.
    Workload(String),
    Metric {
        workload: String,
        metric: String,
    },
    Aspect(Aspect),
}

impl Need {
    pub fn workload(&self) -> Option<&String> {
        match self {
            Need::Workload(workload) | Need::Metric { workload, .. } => Some(workload),
            Need::Aspect(_) => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Missing {
    /// No valid trial has this metric.
    NotMeasured,
    /// The metric is a time, and times are meaningless on the testbed that measured it.
    TimesSayNothing,
    /// Some values of the metric are not above 0, so ratios are undefined.
    NoRatio,
    /// No round has values of all candidates.
    NoRoundInCommon,
}
