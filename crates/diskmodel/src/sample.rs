//! One sample of the ensemble: what is not known about a disk, the partition on it and the CPU before it is varied, the same
//! for every filesystem.

use serde::{Deserialize, Serialize};

use crate::dozen::{self, Place};
use crate::mix::mix;

/// How the write cache is used. Firmware differs, can be set, and is seldom documented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CachePolicy {
    AsSpecified,
    /// Half of it: firmware keeps a part for itself, or shares the memory with read-ahead.
    Small,
    /// Off: a write completes when it is on the medium.
    WriteThrough,
}

/// How fast the CPU is, beside what was asked for. Which processor a disk of its time had before it is anybody's guess.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuSpeed {
    #[default]
    AsSpecified,
    Half,
    Double,
}

/// What is varied. [`Sample::NOMINAL`] is the disk as its file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Added to the seek curve, −150 to 150 thousandths; on flash to its read and program times, on a cloud volume to its
    /// latency. The data sheet's average is measured "typically", and differs between samples of a model.
    pub seek_permille: i32,
    pub cache: CachePolicy,
    /// Added to the number of read segments, −500 to 500 thousandths.
    pub segments_permille: i32,
    /// How far the partition is moved, −20 to 20 thousandths of the disk: where on it a filesystem lies is seldom told, and the
    /// tracks further in are slower. A drive sees neither this nor the CPU; they are for whoever builds the machine around it.
    #[serde(default)]
    pub position_permille: i32,
    #[serde(default)]
    pub cpu: CpuSpeed,
    /// Where the platters stand at time zero, how flash spreads its pages, what latency a cloud's request meets.
    pub seed: u64,
}

impl Sample {
    pub const NOMINAL: Sample = Sample {
        seek_permille: 0,
        cache: CachePolicy::AsSpecified,
        segments_permille: 0,
        position_permille: 0,
        cpu: CpuSpeed::AsSpecified,
        seed: 0,
    };

    /// The `n`th sample of an ensemble: number 0 is nominal but for the seed. Each dozen is balanced and fills the ranges
    /// evenly, as `dozen.rs` says.
    pub fn nth(seed: u64, n: u32) -> Sample {
        if n == 0 {
            return Sample { seed, ..Sample::NOMINAL };
        }
        let own = mix(seed ^ mix(u64::from(n)));
        let Place { cache, cpu, twelfths: [seek, segments, position] } = dozen::place(seed, n);
        Sample {
            seek_permille: within(seek, 150, mix(own ^ 1)),
            cache: [CachePolicy::AsSpecified, CachePolicy::Small, CachePolicy::WriteThrough][cache],
            segments_permille: within(segments, 500, mix(own ^ 2)),
            position_permille: within(position, 20, mix(own ^ 3)),
            cpu: [CpuSpeed::AsSpecified, CpuSpeed::Half, CpuSpeed::Double][cpu],
            seed: own,
        }
    }

    /// The same sample of the `n`th of several disks of one kind: the platters of different disks do not turn in step. Number 0
    /// is the sample itself.
    pub fn of_member(&self, n: u64) -> Sample {
        let seed = if n == 0 { self.seed } else { mix(self.seed ^ n) };
        Sample { seed, ..*self }
    }

    /// A time with the arm's deviation.
    pub(crate) fn seek_ns(&self, nominal_ns: u64) -> u64 {
        permille(nominal_ns, self.seek_permille)
    }

    /// The write cache that is used. Where writes go through it, it still holds them on their way.
    pub(crate) fn cache_sectors(&self, nominal: u64) -> u64 {
        match self.cache {
            CachePolicy::AsSpecified | CachePolicy::WriteThrough => nominal,
            CachePolicy::Small => nominal / 2,
        }
    }

    pub(crate) fn is_write_through(&self) -> bool {
        self.cache == CachePolicy::WriteThrough
    }

    pub(crate) fn segments(&self, nominal: u64) -> u64 {
        permille(nominal, self.segments_permille).max(1)
    }
}

fn permille(value: u64, permille: i32) -> u64 {
    value * u64::from(1000_u32.saturating_add_signed(permille)) / 1000
}

/// A value in this twelfth of −`most` to `most`. They are an odd number, and the seventh twelfth begins with 0.
fn within(twelfth: u32, most: u32, random: u64) -> i32 {
    let begin = |twelfth: u32| (2 * most + 1) * twelfth / dozen::DRAWS as u32;
    let width = begin(twelfth + 1) - begin(twelfth);
    let value = begin(twelfth) + (random % u64::from(width)) as u32;
    value.cast_signed() - most.cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_draw_is_nominal_but_for_its_seed() {
        assert_eq!(Sample::nth(7, 0), Sample { seed: 7, ..Sample::NOMINAL });
        assert_eq!(Sample::nth(7, 3), Sample::nth(7, 3));
        assert_ne!(Sample::nth(7, 3), Sample::nth(8, 3));
    }

    #[test]
    fn draws_stay_within_their_ranges_and_fill_them() {
        let samples: Vec<Sample> = (0..240).map(|n| Sample::nth(1, n)).collect();
        let fills = |value: fn(&Sample) -> i32, most: i32| {
            let values = || samples.iter().map(value);
            assert!(values().all(|v| v.abs() <= most));
            // Each dozen has a value in each twelfth, the first and the last included.
            assert!(values().filter(|v| *v < -most * 5 / 6 + 1).count() >= 20);
            assert!(values().filter(|v| *v > most * 5 / 6 - 1).count() >= 20);
            let mean = values().sum::<i32>() / 240;
            assert!(mean.abs() <= most / 50, "{mean} of {most}");
        };
        fills(|d| d.seek_permille, 150);
        fills(|d| d.segments_permille, 500);
        fills(|d| d.position_permille, 20);
    }

    #[test]
    fn only_the_nominal_draw_of_the_first_dozen_is_not_moved() {
        for seed in 0..20 {
            assert!((1..12).all(|n| Sample::nth(seed, n).position_permille != 0));
        }
    }

    #[test]
    fn a_twelfth_begins_where_the_one_before_it_ends() {
        for most in [20, 150, 500] {
            let least = |twelfth| within(twelfth, most, 0);
            let ends: Vec<i32> = (0..12).map(least).collect();
            assert_eq!((ends[0], ends[6]), (-most.cast_signed(), 0));
            assert!(ends.is_sorted());
            let greatest = |twelfth| (0..200).map(|random| within(twelfth, most, random)).max();
            assert!((0..11).all(|twelfth| greatest(twelfth) == Some(least(twelfth + 1) - 1)));
            assert_eq!(greatest(11), Some(most.cast_signed()));
        }
    }

    const CACHES: [CachePolicy; 3] =
        [CachePolicy::AsSpecified, CachePolicy::Small, CachePolicy::WriteThrough];
    const SPEEDS: [CpuSpeed; 3] = [CpuSpeed::AsSpecified, CpuSpeed::Half, CpuSpeed::Double];

    #[test]
    fn every_dozen_holds_each_cache_and_each_cpu_four_times() {
        for first in [0, 12, 24, 36] {
            let dozen: Vec<Sample> = (first..first + 12).map(|n| Sample::nth(5, n)).collect();
            assert_eq!(CACHES.map(|cache| dozen.iter().filter(|d| d.cache == cache).count()), [4; 3]);
            assert_eq!(SPEEDS.map(|cpu| dozen.iter().filter(|d| d.cpu == cpu).count()), [4; 3]);
        }
    }

    #[test]
    fn the_cpu_is_not_confounded_with_the_cache() {
        let pairs = |samples: u32| {
            let all: Vec<Sample> = (0..samples).map(|n| Sample::nth(5, n)).collect();
            let of = |cache, cpu| all.iter().filter(|d| (d.cache, d.cpu) == (cache, cpu)).count();
            CACHES.map(|cache| SPEEDS.map(|cpu| of(cache, cpu)))
        };
        assert_eq!(pairs(9), [[1; 3]; 3]);
        assert_eq!(pairs(12), [[2, 1, 1], [1, 2, 1], [1, 1, 2]]);
        assert_eq!(pairs(36), [[4; 3]; 3]);
    }
}
