//! How far a class of modelled disks is known to be from real disks, and how wrong that may make a ratio of two candidates.
//!
//! Let σ be the share of a candidate's elapsed time in which the candidate waits for one kind of access and nothing else runs. Let
//! q be the factor by which the class's model is most wrong in that access. Then a ratio of two candidates' times may be wrong by
//!
//! ```text
//! β = Σ |σ_a − σ_b| · ln q        over the kinds of access, of one class of disks
//! β = Σ  σ_a · ln q_a + σ_b · ln q_b        for candidates on disks of two classes, which may be wrong in opposite directions
//! ```
//! Equal waits cancel. β is a first-order estimate: it misleads if the model's error changes what a filesystem does, and not only
//! how long it takes.
//!
//! q was measured on the nominal disk, so σ and the ratio are taken from the first round. The disk counts the time in which it
//! holds a request (`crates/diskmodel/src/waits.rs`). The disk does not know whether the CPU works meanwhile, so the total is
//! capped at the CPU's idle time, and the time of each kind of access is scaled by the same factor. All times are counted over all
//! measured work and its sync, and the shares are assumed equal in each phase. If a disk did not count its times, β is unknown and
//! refutes nothing.

use std::sync::LazyLock;

use fsderby_diskmodel::{Access, Class, SHIPPED, Spec};

use super::entrant::Entrant;
use super::metrics;
use crate::probes::{self, cpu, modelled_disk};
use crate::schema::declared::{self, Declared, Over};
use crate::schema::finding::{ErrorPart, ModelError};
use crate::schema::record::Record;
use crate::schema::units::sum;

/// The evidence from measured drives for the models of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// No drive of the class was measured.
    ModelOnly,
    /// Fewer drives were measured than [`fsderby_diskmodel::DRIVES_NEEDED`].
    Untested { drives: u32 },
    /// Cross-validation: `held` of the published `figures` lie within a run's samples, whose ranges were fitted without that drive.
    Tested { drives: u32, held: u32, figures: u32 },
}

/// The coverage of a class of disks.
pub fn coverage(class: Class) -> Coverage {
    match class.evidence() {
        None => Coverage::ModelOnly,
        Some(known) if !class.is_tested() => Coverage::Untested { drives: known.drives },
        Some(known) => Coverage::Tested { drives: known.drives, held: known.held, figures: known.figures },
    }
}

/// The class of a shipped disk, by its name; `None` for a user's file.
pub fn class_of(disk: &str) -> Option<Class> {
    let (_, text) = SHIPPED.iter().find(|(name, _)| *name == disk)?;
    Spec::parse(text).ok().map(|spec| spec.class())
}

impl Coverage {
    /// The evidence for the disk of that name. No drive was measured for a user's own disk file.
    pub fn of_disk(disk: &str) -> Coverage {
        class_of(disk).map_or(Coverage::ModelOnly, coverage)
    }

    /// A short note for the heading of findings, if no drive or too few drives were measured.
    pub fn heading(self) -> Option<&'static str> {
        match self {
            Coverage::ModelOnly => Some("on the model only"),
            Coverage::Untested { .. } => Some("tested with too few real drives"),
            Coverage::Tested { .. } => None,
        }
    }

    /// The coverage as a sentence of a report.
    pub fn said(self) -> String {
        match self {
            Coverage::ModelOnly => {
                "No drive of this class was measured, so this result holds for the disk model only.".into()
            }
            Coverage::Untested { drives } => {
                format!(
                    "The samples' coverage of real drives is untested: too few drives of this class were measured ({drives})."
                )
            }
            Coverage::Tested { drives, held, figures } => format!(
                "In cross-validation over {drives} measured drives, each left out once, the samples cover {held} of {figures} \
                 published figures."
            ),
        }
    }
}

/// The shares of elapsed time in which a candidate waits for each kind of access while nothing else runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares([f64; Access::ALL.len()]);

impl Shares {
    /// Computes the shares from the elapsed nanoseconds, the nanoseconds with an idle CPU, and the nanoseconds in which the disks
    /// held each kind of request. With several disks or a busy CPU, the time in which disks held requests can exceed the idle time;
    /// the times of all kinds are then scaled down by the same factor. `None` if no time elapsed.
    pub fn of(elapsed_ns: u64, idle_ns: Option<u64>, held_ns: impl Fn(Access) -> u64) -> Option<Shares> {
        let held = Access::ALL.map(|access| held_ns(access) as f64);
        let elapsed = elapsed_ns as f64;
        let most = idle_ns.map_or(elapsed, |idle| elapsed.min(idle as f64));
        let scale = (most / held.iter().sum::<f64>().max(1.0)).min(1.0);
        (elapsed_ns > 0).then(|| Shares(held.map(|ns| ns * scale / elapsed)))
    }

    /// The shares over all measured work of this trial and its sync; `None` if the trial's disk did not count its waits.
    pub fn of_record(record: &Record) -> Option<Shares> {
        let windows: Option<Vec<u64>> = record
            .measured()
            .map(|stage| stage.window_ns.map(|[begin, end]| end.saturating_sub(begin)))
            .collect();
        let counted = probes::sum(record.measured());
        let disk = counted.get(probes::Probe::name(&modelled_disk::ModelledDisk))?;
        let held: Option<Vec<u64>> =
            Access::ALL.iter().map(|access| modelled_disk::waited_ns(disk, *access)).collect();
        let held = held?;
        let idle_ns = counted.get(probes::Probe::name(&cpu::Cpu)).and_then(cpu::idle_ns_most);
        Shares::of(sum(windows?), idle_ns, |access| held[access as usize])
    }

    fn of_access(&self, access: Access) -> f64 {
        self.0[access as usize]
    }
}

/// A candidate on its disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// Name of the disk.
    pub disk: String,
    /// Class of the disk; `None` for a user's own disk file, which may describe any class.
    pub class: Option<Class>,
    pub shares: Shares,
}

impl Waiting {
    fn of(record: &Record) -> Option<Waiting> {
        let disk = record.sampled()?.disk;
        Some(Waiting { class: class_of(&disk), disk, shares: Shares::of_record(record)? })
    }

    /// The largest error of the model in this access, as a factor of 1 or more.
    fn worst(&self, access: Access) -> f64 {
        let of = |class: Class| class.worst_permille(access);
        let permille = self.class.map_or_else(|| Class::ALL.map(of).into_iter().max().unwrap_or(1000), of);
        f64::from(permille) / 1000.0
    }

    /// Whether the models of both disks have the same error, because one class or one file describes both disks.
    fn is_off_as(&self, other: &Waiting) -> bool {
        self.class == other.class && (self.class.is_some() || self.disk == other.disk)
    }
}

/// The largest error of the log ratio of two candidates' times, and its parts: each 0 or more.
pub fn largest_error(a: &Waiting, b: &Waiting) -> (f64, Vec<ErrorPart>) {
    let together = a.is_off_as(b);
    let mut parts: Vec<(f64, ErrorPart)> = Access::ALL
        .into_iter()
        .map(|access| {
            let (worst, shares) =
                ([a, b].map(|one| one.worst(access)), [a, b].map(|one| one.shares.of_access(access)));
            let error = match together {
                true => (shares[0] - shares[1]).abs() * worst[0].ln(),
                false => shares[0] * worst[0].ln() + shares[1] * worst[1].ln(),
            };
            (error, ErrorPart { access, worst, shares })
        })
        .filter(|(error, _)| *error > 0.0)
        .collect();
    parts.sort_by(|x, y| y.0.total_cmp(&x.0));
    (parts.iter().map(|(error, _)| error).sum(), parts.into_iter().map(|(_, part)| part).collect())
}

/// The model error of the ratio on the nominal disk. `None` if the metric is not a time of the work, or if a disk did not count its
/// waits.
pub fn model_error(a: &Entrant<'_>, b: &Entrant<'_>) -> Option<Box<ModelError>> {
    if !a.series.of.is_time() || !is_of_the_work(&a.series.name) {
        return None;
    }
    let (ours, theirs) = (a.first()?, b.first()?);
    let log = a.log(ours)? - b.log(theirs)?;
    let (error, parts) = largest_error(&Waiting::of(ours)?, &Waiting::of(theirs)?);
    Some(Box::new(ModelError { ratio: log.exp(), times: error.exp(), parts }))
}

/// The largest error of a log ratio of times if one candidate waits all of its time for the kind of access in which the model of
/// its disk is worst, and the other waits for nothing. On two classes of disks both may be wrong, in opposite directions.
pub fn largest_of_all(a: &Entrant<'_>, b: &Entrant<'_>) -> f64 {
    let worst = |one: &Entrant<'_>| {
        let disk = one.first().and_then(Record::sampled).map(|sampled| sampled.disk).unwrap_or_default();
        let waiting = Waiting { class: class_of(&disk), disk, shares: Shares::default() };
        let worst = Access::ALL.map(|access| waiting.worst(access).ln()).into_iter().fold(0.0, f64::max);
        (waiting, worst)
    };
    let ((a, ours), (b, theirs)) = (worst(a), worst(b));
    if a.is_off_as(&b) { ours } else { ours + theirs }
}

/// Whether a metric covers the work or a part of it. Nothing is counted before and after the work.
fn is_of_the_work(metric: &str) -> bool {
    static ALL: LazyLock<Vec<&'static Declared>> =
        LazyLock::new(|| metrics::declared().into_iter().flat_map(|(_, all)| all).collect());
    let over = declared::find(&ALL, metric).map(|declared| declared.over);
    !matches!(over, Some(Over::Steps(_) | Over::Moment))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(disk: &str, of: &[(Access, u64)]) -> Waiting {
        let waited = |access| of.iter().filter(|(own, _)| *own == access).map(|(_, ns)| *ns).sum();
        let shares = Shares::of(100, None, waited).expect("something elapsed");
        Waiting { disk: disk.into(), class: class_of(disk), shares }
    }

    const HARD: &str = "hdd-16tb";
    const FLASH: &str = "ssd-nvme";

    fn worst(class: Class, access: Access) -> f64 {
        (f64::from(class.worst_permille(access)) / 1000.0).ln()
    }

    fn error(a: &Waiting, b: &Waiting) -> f64 {
        largest_error(a, b).0
    }

    #[test]
    fn what_both_spend_alike_moves_no_ratio() {
        let own = waiting(HARD, &[(Access::Reads, 40), (Access::Flushes, 30)]);
        assert_eq!(largest_error(&own, &own), (0.0, Vec::new()));
        assert_eq!(error(&waiting(HARD, &[]), &waiting(FLASH, &[])), 0.0);
    }

    #[test]
    fn the_error_is_the_difference_of_the_shares_times_the_worst_miss() {
        let a = waiting(HARD, &[(Access::Queued, 50), (Access::Flushes, 10)]);
        let b = waiting(HARD, &[(Access::Queued, 20), (Access::Flushes, 40)]);
        let (error, parts) = largest_error(&a, &b);
        let expected = 0.3 * (worst(Class::Hard, Access::Queued) + worst(Class::Hard, Access::Flushes));
        assert!((error - expected).abs() < 1e-12, "{error}");
        let seen: Vec<_> = parts.iter().map(|part| (part.access, part.shares)).collect();
        assert_eq!(seen, [(Access::Queued, [0.5, 0.2]), (Access::Flushes, [0.1, 0.4])], "the largest first");
        // For queued requests the model of hard disks is off by 2.77; a share of 0.3 makes a ratio wrong by 2.77^0.3 = 1.36.
        let queued = largest_error(&waiting(HARD, &[(Access::Queued, 30)]), &waiting(HARD, &[])).0.exp();
        assert!((queued - 2.77_f64.powf(0.3)).abs() < 0.01, "{queued}");
    }

    #[test]
    fn disks_of_two_classes_may_be_off_either_way() {
        let [hard, flash] = [HARD, FLASH].map(|disk| waiting(disk, &[(Access::Reads, 50)]));
        let expected = 0.5 * (worst(Class::Hard, Access::Reads) + worst(Class::Flash, Access::Reads));
        assert!((error(&hard, &flash) - expected).abs() < 1e-12);
    }

    /// A user's own file states no class, so its model may be as wrong as that of any class.
    #[test]
    fn a_file_of_the_users_own_may_be_as_far_off_as_any() {
        let own = |disk, ns| waiting(disk, &[(Access::Streams, ns)]);
        let most = Class::ALL.map(|class| worst(class, Access::Streams)).into_iter().fold(0.0, f64::max);
        assert!((error(&own("mine", 50), &own("mine", 20)) - 0.3 * most).abs() < 1e-12);
        assert!((error(&own("mine", 50), &own("other", 20)) - 0.7 * most).abs() < 1e-12, "two files");
    }

    #[test]
    fn the_order_of_a_pair_changes_nothing_and_more_difference_is_more_error() {
        for disk in [HARD, FLASH, "hdd-smr", "3ware-raid5", "sd-card", "cloud-volume", "mine"] {
            for access in Access::ALL {
                let mut last = -1.0;
                for percent in 0..=100 {
                    let (a, b) = (waiting(disk, &[(access, percent)]), waiting(disk, &[]));
                    assert_eq!(error(&a, &b), error(&b, &a));
                    assert!(error(&a, &b) > last, "{disk}, {access:?}");
                    last = error(&a, &b);
                }
            }
        }
    }

    #[test]
    fn no_more_is_waited_for_than_elapses_or_the_cpu_is_idle() {
        let of = |idle_ns, held: u64| Shares::of(1000, idle_ns, |_| held).map(|shares| shares.0);
        assert_eq!(Shares::of(0, None, |_| 0), None);
        assert_eq!(of(None, 100), Some([0.1; 5]));
        assert_eq!(of(Some(800), 100), Some([0.1; 5]), "nothing went on meanwhile");
        // Half of the time in which the disk held requests overlaps with CPU work.
        assert_eq!(of(Some(250), 100), Some([0.05; 5]));
        assert_eq!(of(Some(0), 100), Some([0.0; 5]));
        // Five disks at once, with an idle time rounded up above the elapsed time.
        assert_eq!(of(Some(1020), 400), Some([0.2; 5]));
    }

    #[test]
    fn times_of_the_work_are_held_against_it_and_those_of_other_steps_are_not() {
        assert!(is_of_the_work("transactions.rate") && is_of_the_work("a metric of another version"));
        assert!(!is_of_the_work("recovery.time") && !is_of_the_work("mkfs.time"));
    }

    #[test]
    fn a_class_without_a_measured_drive_is_headed_so() {
        let heading = |disk| Coverage::of_disk(disk).heading();
        assert_eq!([heading("hdd-16tb"), heading("ssd-nvme")], [None; 2]);
        for disk in ["hdd-smr", "3ware-raid5", "sd-card", "cloud-volume", "a file of one's own"] {
            assert_eq!(heading(disk), Some("on the model only"), "{disk}");
        }
    }

    #[test]
    fn coverage_is_said_in_a_sentence() {
        let Coverage::Tested { drives, held, figures } = coverage(Class::Hard) else { panic!("not tested") };
        assert!(drives >= 3 && held <= figures);
        let said = coverage(Class::Hard).said();
        assert!(said.contains(&format!("{held} of {figures} published figures")), "{said}");
        let untested = Coverage::Untested { drives: 2 };
        assert_eq!(
            untested.said(),
            "The samples' coverage of real drives is untested: too few drives of this class were measured (2)."
        );
        assert_eq!(untested.heading(), Some("tested with too few real drives"));
    }
}
