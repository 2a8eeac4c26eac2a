//! One workload's rate against its CPU time.

use serde::Serialize;

use super::number::Scale;
use crate::schema::metric::Better;

/// One headline metric of a workload against the CPU time of the same work.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Plane {
    pub workload: String,
    pub speed: Axis,
    pub cpu: Axis,
    /// One point for each filesystem, in plan order.
    pub points: Vec<Point>,
}

#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Axis {
    pub metric: String,
    pub title: String,
    pub unit: String,
    /// Which direction is better: `higher is better`.
    pub direction: &'static str,
    #[serde(skip)]
    pub better: Better,
}

/// The medians of one filesystem.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Point {
    pub filesystem: String,
    pub speed: f64,
    pub cpu: f64,
}

impl Plane {
    pub const TITLE: &'static str = "Speed and CPU time";
    /// A note for the reader.
    pub const NOTE: &'static str =
        "Medians of each candidate. CPU time is not tested, so differences in it are no findings.";

    pub fn speeds(&self) -> Scale {
        Scale::of(&self.speed.unit, self.points.iter().map(|point| point.speed))
    }

    pub fn cpus(&self) -> Scale {
        Scale::of(&self.cpu.unit, self.points.iter().map(|point| point.cpu))
    }
}
