//! What is to be chosen by stated needs, with all that it rests on: stored with the verdict.

use serde::{Deserialize, Serialize};

use crate::metric::Better;
use crate::needs::{Aspect, Required};
use crate::units::Percent;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recommendation {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Within it a difference does not matter.
    pub margin: Percent,
    /// The fewest rounds that any figure is a mean of; 0 where nothing could be judged.
    pub rounds: usize,
    pub needs: Vec<Weighed>,
    pub ruled_out: Vec<RuledOut>,
    /// Those without figures for a need that others have.
    pub unjudged: Vec<Unjudged>,
    /// The best first.
    pub ranking: Vec<Place>,
    /// None where nothing could be judged.
    pub choice: Option<Choice>,
}

/// A need, what it was judged by, and when its weight would make another the choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weighed {
    pub need: Need,
    pub weight: f64,
    /// Of all weights that could be judged, 0 to 1.
    pub share: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
    pub judged_by: Vec<JudgedBy>,
    /// The nearest smaller weight, as a factor of this one, and who is the choice below it.
    pub less: Option<Change>,
    /// The nearest larger one.
    pub more: Option<Change>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// The geometric mean over the rounds, and its ratio to the best one's: 1 is the best, less is worse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    pub filesystem: String,
    pub mean: f64,
    pub ratio: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    pub factor: f64,
    pub filesystem: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuledOut {
    pub filesystem: String,
    pub lacks: Vec<Lack>,
}

/// What it cannot do, and where that is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lack {
    pub required: Required,
    /// What it has instead; empty where there is no more to say than no.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
    pub source: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unjudged {
    pub filesystem: String,
    pub needs: Vec<Need>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    pub filesystem: String,
    /// The weighted geometric mean of its ratios: 1 would be the best at everything.
    pub score: f64,
    /// In the order of the needs; absent where the need could not be judged.
    pub ratios: Vec<Option<f64>>,
    /// Those that are nowhere worse and somewhere better; none for a member of the Pareto set.
    pub behind: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    pub filesystem: String,
    /// Within the margin of it, and nothing told them apart.
    pub ties: Vec<String>,
    /// Within the margin of it, and worse at what decides a draw.
    pub drawn_with: Vec<String>,
    /// What decided.
    pub draw: Option<Aspect>,
}

/// What a weight is given to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Need {
    /// By its headline.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Missing {
    /// No trial that counts has it.
    NotMeasured,
    /// It is a time, and times say nothing where it was measured.
    TimesSayNothing,
    /// Not all of its values are above 0, so there is no ratio of them.
    NoRatio,
    /// There is no round in which all have it.
    NoRoundInCommon,
}
