//! Errors of each class's models against real drives, and whether the samples of a run cover the measured figures.
//!
//! Computing this takes a minute, so it is stored as a table. A test in `validation/` compares the table with the computation.

use serde::{Deserialize, Serialize};

use crate::factor::Class;

/// Minimum number of measured drives for a class to count as tested. The next value lies within the range of n values with
/// probability (n − 1)/(n + 1).
pub const DRIVES_NEEDED: u32 = 3;

/// Access patterns that models reproduce with different accuracy.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Random reads, one at a time.
    Reads,
    /// Requests that wait behind others: many at a time, or beside a writer that flushes.
    Queued,
    /// Sequential requests.
    Streams,
    /// Writes that must be on the medium before the next request.
    Flushes,
    /// Writes that make a disk without spare room copy existing data.
    Copying,
}

impl Access {
    pub const ALL: [Access; 5] =
        [Access::Reads, Access::Queued, Access::Streams, Access::Flushes, Access::Copying];

    pub fn title(self) -> &'static str {
        match self {
            Access::Reads => "single reads",
            Access::Queued => "queued requests",
            Access::Streams => "streams",
            Access::Flushes => "flushes",
            Access::Copying => "steady random writes",
        }
    }
}

/// Measured figures of real drives from which no value of a disk file was derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    pub class: Class,
    /// The kind of access; `None` stands for all accesses together.
    pub access: Option<Access>,
    pub drives: u32,
    pub figures: u32,
    /// Figures within the samples of a run, or at most 3 % outside. The ranges are fitted without the judged drive.
    pub held: u32,
    /// Largest error of the nominal disk in either direction: a factor in thousandths, at least 1000.
    pub worst_permille: u32,
}

const fn of(
    class: Class,
    access: Option<Access>,
    [drives, figures, held, worst_permille]: [u32; 4],
) -> Evidence {
    Evidence { class, access, drives, figures, held, worst_permille }
}

/// Figures by class and access; the total of a class precedes the figures of its accesses.
pub const EVIDENCE: &[Evidence] = &[
    of(Class::Hard, None, [12, 22, 18, 2772]),
    of(Class::Hard, Some(Access::Reads), [11, 11, 10, 1413]),
    of(Class::Hard, Some(Access::Queued), [1, 2, 1, 2772]),
    of(Class::Hard, Some(Access::Streams), [1, 2, 1, 1249]),
    of(Class::Hard, Some(Access::Flushes), [6, 7, 6, 1514]),
    of(Class::Flash, None, [4, 8, 8, 1972]),
    of(Class::Flash, Some(Access::Reads), [1, 1, 1, 1018]),
    of(Class::Flash, Some(Access::Queued), [1, 2, 2, 1972]),
    of(Class::Flash, Some(Access::Streams), [1, 2, 2, 1034]),
    of(Class::Flash, Some(Access::Flushes), [2, 2, 2, 1349]),
    of(Class::Flash, Some(Access::Copying), [1, 1, 1, 1356]),
];

impl Class {
    /// The total over all measured drives of the class; `None` without any.
    pub fn evidence(self) -> Option<&'static Evidence> {
        EVIDENCE.iter().find(|known| known.class == self && known.access.is_none())
    }

    /// Whether the class has enough measured drives for its coverage to be meaningful.
    pub fn is_tested(self) -> bool {
        self.evidence().is_some_and(|known| known.drives >= DRIVES_NEEDED)
    }

    /// Possible error of a time with this access: a factor in thousandths, at least 1000. It is the largest measured error in
    /// the first of these with data: this access in this class, this access in its kind of disk, any access in its kind, all
    /// disks.
    pub fn worst_permille(self, access: Access) -> u32 {
        let worst = |of: &dyn Fn(&Evidence) -> bool| {
            EVIDENCE.iter().filter(|known| of(known)).map(|known| known.worst_permille).max()
        };
        let is_kin = |known: &Evidence| known.class.kind() == self.kind();
        worst(&|known| known.class == self && known.access == Some(access))
            .or_else(|| worst(&|known| is_kin(known) && known.access == Some(access)))
            .or_else(|| worst(&is_kin))
            .or_else(|| worst(&|_| true))
            .unwrap_or(1000)
    }

    /// The kind of storage, shared by several classes.
    fn kind(self) -> Kind {
        match self {
            Class::Hard | Class::Shingled | Class::Raid => Kind::Platters,
            Class::Flash | Class::Card => Kind::Flash,
            Class::Cloud => Kind::Network,
            Class::Zero => Kind::Nothing,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Platters,
    Flash,
    Network,
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_takes_the_worst_of_its_kind() {
        let measured = |class, access| {
            EVIDENCE.iter().find(|e| e.class == class && e.access == Some(access)).map(|e| e.worst_permille)
        };
        for access in [Access::Reads, Access::Queued, Access::Streams, Access::Flushes] {
            let hard = Class::Hard.worst_permille(access);
            assert_eq!(Some(hard), measured(Class::Hard, access), "{access:?}");
            assert_eq!([Class::Raid, Class::Shingled].map(|class| class.worst_permille(access)), [hard; 2]);
        }
        // No hard disk was measured with this access, and no cloud volume with any.
        let worst = |class| EVIDENCE.iter().filter(|e| e.class == class).map(|e| e.worst_permille).max();
        assert_eq!(Some(Class::Hard.worst_permille(Access::Copying)), worst(Class::Hard));
        let all = EVIDENCE.iter().map(|e| e.worst_permille).max();
        assert_eq!(Some(Class::Cloud.worst_permille(Access::Reads)), all);
    }

    #[test]
    fn a_class_is_tested_from_three_drives_on() {
        assert!(Class::Hard.is_tested() && Class::Flash.is_tested());
        for class in [Class::Shingled, Class::Raid, Class::Card, Class::Cloud, Class::Zero] {
            assert!(class.evidence().is_none() && !class.is_tested(), "{class:?}");
        }
    }

    #[test]
    fn the_parts_of_a_class_are_its_whole() {
        for whole in EVIDENCE.iter().filter(|e| e.access.is_none()) {
            let parts = || EVIDENCE.iter().filter(|e| e.class == whole.class && e.access.is_some());
            let sum = |of: fn(&Evidence) -> u32| parts().map(of).sum::<u32>();
            assert_eq!((sum(|e| e.figures), sum(|e| e.held)), (whole.figures, whole.held));
            assert_eq!(parts().map(|e| e.worst_permille).max(), Some(whole.worst_permille));
            assert!(
                parts().all(|e| e.drives <= whole.drives && e.held <= e.figures && e.worst_permille >= 1000)
            );
        }
    }
}
