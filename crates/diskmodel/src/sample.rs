//! One sample of the ensemble: the unknown properties of a disk, the partition's place and the CPU speed are set to extremes
//! that are the same for every filesystem.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::factor::{COLUMNS, Factor, Level};
use crate::mix::mix;
use crate::spec::Spec;

/// Position of a sample in the factor space: the centre (all values from the disk's file) or a corner. Written as `nominal`
/// or as one sign per column of the design, `++-+++---+-`.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    schemars::JsonSchema,
    Deserialize,
)]
#[serde(into = "String", try_from = "String")]
pub struct Point(Option<u16>);

impl Point {
    pub const NOMINAL: Point = Point(None);

    /// The corner with these columns high.
    pub fn corner(is_high: [bool; COLUMNS]) -> Point {
        let bit = |(column, is_high): (usize, &bool)| u16::from(*is_high) << column;
        Point(Some(is_high.iter().enumerate().map(bit).sum()))
    }

    /// Level of this column; `None` at the centre.
    pub fn level(self, column: usize) -> Option<Level> {
        Some(if self.0? >> column & 1 == 1 { Level::High } else { Level::Low })
    }

    pub fn is_nominal(self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_nominal() {
            return f.write_str("nominal");
        }
        let sign = |level| if level == Level::High { '+' } else { '-' };
        let signs = (0..COLUMNS).filter_map(|column| self.level(column)).map(sign);
        f.write_str(&signs.collect::<String>())
    }
}

impl From<Point> for String {
    fn from(point: Point) -> String {
        point.to_string()
    }
}

impl TryFrom<String> for Point {
    type Error = String;

    fn try_from(text: String) -> Result<Point, String> {
        if text == "nominal" {
            return Ok(Point::NOMINAL);
        }
        let signs: Vec<bool> = text.chars().filter(|c| "+-".contains(*c)).map(|c| c == '+').collect();
        let signs = <[bool; COLUMNS]>::try_from(signs).ok().filter(|_| text.len() == COLUMNS);
        let allowed = format!(
            "'{text}' is not a point of the screening design; write nominal, or {COLUMNS} signs + and -"
        );
        signs.map(Point::corner).ok_or(allowed)
    }
}

/// Level of each factor that deviates from the disk's file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(into = "BTreeMap<Factor, Level>", from = "BTreeMap<Factor, Level>")]
pub struct Levels {
    low: u32,
    high: u32,
}

impl Levels {
    pub const NOMINAL: Levels = Levels { low: 0, high: 0 };

    pub fn of(self, factor: Factor) -> Option<Level> {
        let bit = 1 << factor as u32;
        match (self.low & bit != 0, self.high & bit != 0) {
            (_, true) => Some(Level::High),
            (true, _) => Some(Level::Low),
            _ => None,
        }
    }

    /// A copy of this sample with this factor at this level.
    #[must_use]
    pub fn with(self, factor: Factor, level: Level) -> Levels {
        let bit = 1 << factor as u32;
        match level {
            Level::Low => Levels { low: self.low | bit, high: self.high & !bit },
            Level::High => Levels { low: self.low & !bit, high: self.high | bit },
        }
    }

    /// The factors that are at an extreme, each with its level.
    pub fn all(self) -> impl Iterator<Item = (Factor, Level)> {
        Factor::ALL.into_iter().filter_map(move |factor| Some((factor, self.of(factor)?)))
    }
}

impl From<Levels> for BTreeMap<Factor, Level> {
    fn from(levels: Levels) -> Self {
        levels.all().collect()
    }
}

impl From<BTreeMap<Factor, Level>> for Levels {
    fn from(all: BTreeMap<Factor, Level>) -> Self {
        all.into_iter().fold(Levels::NOMINAL, |levels, (factor, level)| levels.with(factor, level))
    }
}

/// The varied properties. [`Sample::NOMINAL`] is the disk as described in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    pub point: Point,
    /// The levels of `point` for this class of disk. The drive ignores the partition's position and the CPU; the builder of the
    /// machine applies them.
    #[serde(default, skip_serializing_if = "is_nominal")]
    pub levels: Levels,
    /// Version of the extremes, see [`Class::extremes`](crate::Class::extremes); 0 in the nominal disk. Two samples with the
    /// same levels are equal only if this matches too.
    #[serde(default, skip_serializing_if = "is_first")]
    pub extremes: u8,
    /// Seed of the platters' angle at time zero, the spread of flash pages, and a cloud's latencies.
    pub seed: u64,
}

fn is_nominal(levels: &Levels) -> bool {
    *levels == Levels::NOMINAL
}

fn is_first(extremes: &u8) -> bool {
    *extremes == 0
}

impl Sample {
    pub const NOMINAL: Sample =
        Sample { point: Point::NOMINAL, levels: Levels::NOMINAL, extremes: 0, seed: 0 };

    /// The disk as described in its file, with this seed.
    pub fn nominal(seed: u64) -> Sample {
        Sample { seed, ..Sample::NOMINAL }
    }

    /// The sample for the `n`th disk of the same kind: its own seed, because platters of different disks do not turn in step.
    /// Number 0 is the sample itself.
    pub fn of_member(&self, n: u64) -> Sample {
        let seed = if n == 0 { self.seed } else { mix(self.seed ^ n) };
        Sample { seed, ..*self }
    }
}

impl Spec {
    /// A sample of this disk at `point`, with the `n`th seed of a run. Number 0 is the run's seed.
    pub fn sample(&self, point: Point, seed: u64, n: u32) -> Sample {
        let at = |range: &&crate::factor::Range| Some((range.factor, point.level(range.factor.column())?));
        let levels: BTreeMap<Factor, Level> = self.factors().iter().filter_map(at).collect();
        let seed = if n == 0 { seed } else { mix(seed ^ mix(u64::from(n))) };
        let extremes = if point.is_nominal() { 0 } else { self.class().extremes() };
        Sample { point, levels: levels.into(), extremes, seed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_comes_back_as_it_was_written() {
        let mut is_high = [false; COLUMNS];
        (is_high[0], is_high[10]) = (true, true);
        for (point, text) in [(Point::NOMINAL, "nominal"), (Point::corner(is_high), "+---------+")] {
            assert_eq!((point.to_string().as_str(), Point::try_from(text.to_owned())), (text, Ok(point)));
        }
        for wrong in ["", "+-", "+---------x", "+---------++", "Nominal"] {
            assert!(Point::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
        assert_eq!(Point::corner(is_high).level(10), Some(Level::High));
        assert_eq!((Point::corner(is_high).level(1), Point::NOMINAL.level(1)), (Some(Level::Low), None));
    }

    #[test]
    fn levels_are_those_that_were_set() {
        let levels = Levels::NOMINAL.with(Factor::Flush, Level::High).with(Factor::Cpu, Level::Low);
        let levels = levels.with(Factor::Flush, Level::Low);
        assert_eq!(
            levels.all().collect::<Vec<_>>(),
            [(Factor::Cpu, Level::Low), (Factor::Flush, Level::Low)]
        );
        assert_eq!(Levels::from(BTreeMap::from(levels)), levels);
    }

    #[test]
    fn each_member_has_a_seed_of_its_own_but_the_first() {
        let sample = Sample::nominal(7);
        assert_eq!(sample.of_member(0), sample);
        assert_ne!(sample.of_member(1).seed, sample.of_member(2).seed);
    }

    #[test]
    fn a_sample_of_other_extremes_is_another_one_and_a_nominal_one_never_is() {
        let spec = |name: &str| {
            let (_, text) =
                crate::SHIPPED.iter().find(|(shipped, _)| *shipped == name).expect("it is shipped");
            Spec::parse(text).expect("it is a disk")
        };
        let corner = Point::corner([true; COLUMNS]);
        let extremes = |name: &str, point| spec(name).sample(point, 7, 1).extremes;
        for name in ["hdd-16tb", "hdd-smr", "3ware-raid5"] {
            assert_eq!((extremes(name, corner), extremes(name, Point::NOMINAL)), (1, 0), "{name}");
        }
        // Stored samples of classes with unchanged extremes still pair with new runs.
        assert_eq!([extremes("ssd-sata", corner), extremes("cloud-volume", corner)], [0; 2]);
    }
}
