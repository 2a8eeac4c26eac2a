//! How much is known of how far a class of modelled disks is from real ones, and by how much a ratio may be off because of it.
//!
//! With σ the share of a candidate's elapsed time in which it waits for one kind of access and nothing else goes on, and q the worst miss
//! of the class in that access, a ratio of two candidates' times may be off by
//!
//! ```text
//! β = Σ |σ_a − σ_b| · ln q        over the kinds of access, of one class of disks
//! β = Σ  σ_a · ln q_a + σ_b · ln q_b        where the candidates stand on disks of two classes, which may be off either way
//! ```
//! What both spend alike moves both alike. To first order: it misleads where a miss changes what a filesystem does, and not only when.

use fsderby_diskmodel::{Access, Class, SHIPPED, Spec};

/// What the drives of a class that were measured say of its models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// None was measured.
    ModelOnly,
    /// Fewer than [`fsderby_diskmodel::DRIVES_NEEDED`].
    Untested { drives: u32 },
    /// So many of the published figures lie within the samples of a run whose ranges were fitted without the drive that is judged.
    Tested { drives: u32, held: u32, figures: u32 },
}

/// Of a class of disks.
pub fn coverage(class: Class) -> Coverage {
    match class.evidence() {
        None => Coverage::ModelOnly,
        Some(known) if !class.is_tested() => Coverage::Untested { drives: known.drives },
        Some(known) => Coverage::Tested { drives: known.drives, held: known.held, figures: known.figures },
    }
}

/// The class of a shipped disk, by its name; `None` of a file of the user's own.
pub fn class_of(disk: &str) -> Option<Class> {
    let (_, text) = SHIPPED.iter().find(|(name, _)| *name == disk)?;
    Spec::parse(text).ok().map(|spec| spec.class())
}

impl Coverage {
    /// Of the disk of that name: a file of the user's own was never measured.
    pub fn of_disk(disk: &str) -> Coverage {
        class_of(disk).map_or(Coverage::ModelOnly, coverage)
    }

    /// What stands over findings that no measured drive supports.
    pub fn heading(self) -> Option<&'static str> {
        (self == Coverage::ModelOnly).then_some("on the model only")
    }

    /// A sentence of a report.
    pub fn said(self) -> String {
        match self {
            Coverage::ModelOnly => {
                "No drive of this class was measured: this holds on the model only.".into()
            }
            Coverage::Untested { drives } => {
                format!("Coverage is untested: measured drives of this class: {drives}.")
            }
            Coverage::Tested { drives, held, figures } => format!(
                "With each of {drives} measured drives left out, the samples hold {held} of {figures} published figures."
            ),
        }
    }
}

/// Which shares of its elapsed time a candidate waits for each kind of access, while nothing else goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares([f64; Access::ALL.len()]);

impl Shares {
    /// By the nanoseconds of each. `None` where nothing elapsed, or more than elapsed was waited for.
    pub fn of(elapsed_ns: u64, waited_ns: impl Fn(Access) -> u64) -> Option<Shares> {
        let waited = Access::ALL.map(waited_ns);
        let sum = waited.iter().try_fold(0_u64, |sum, ns| sum.checked_add(*ns))?;
        (elapsed_ns > 0 && sum <= elapsed_ns).then(|| Shares(waited.map(|ns| ns as f64 / elapsed_ns as f64)))
    }

    fn all(&self) -> impl Iterator<Item = (Access, f64)> {
        Access::ALL.into_iter().zip(self.0)
    }
}

/// By how much the logarithm of the ratio of two candidates' times may be off, at most: 0 or more.
pub fn largest_error(a: (Class, &Shares), b: (Class, &Shares)) -> f64 {
    let worst = |class: Class, access: Access| (f64::from(class.worst_permille(access)) / 1000.0).ln();
    let both = a.1.all().zip(b.1.all());
    let errors = both.map(|((access, ours), (_, theirs))| match a.0 == b.0 {
        true => (ours - theirs).abs() * worst(a.0, access),
        false => ours * worst(a.0, access) + theirs * worst(b.0, access),
    });
    errors.sum()
}

/// Whether a ratio lies beyond the margin by more than it may be off. All three are logarithms; `error` and `margin` are not negative.
pub fn is_beyond(ratio: f64, error: f64, margin: f64) -> bool {
    ratio.abs() - error > margin
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(of: &[(Access, u64)]) -> Shares {
        let waited = |access| of.iter().filter(|(own, _)| *own == access).map(|(_, ns)| *ns).sum();
        Shares::of(100, waited).expect("no more than elapsed")
    }

    fn worst(class: Class, access: Access) -> f64 {
        (f64::from(class.worst_permille(access)) / 1000.0).ln()
    }

    #[test]
    fn what_both_spend_alike_moves_no_ratio() {
        let own = shares(&[(Access::Reads, 40), (Access::Flushes, 30)]);
        assert_eq!(largest_error((Class::Hard, &own), (Class::Hard, &own)), 0.0);
        assert_eq!(largest_error((Class::Hard, &Shares::default()), (Class::Flash, &Shares::default())), 0.0);
    }

    #[test]
    fn the_error_is_the_difference_of_the_shares_times_the_worst_miss() {
        let a = shares(&[(Access::Queued, 50), (Access::Flushes, 10)]);
        let b = shares(&[(Access::Queued, 20), (Access::Flushes, 40)]);
        let error = largest_error((Class::Hard, &a), (Class::Hard, &b));
        let expected = 0.3 * (worst(Class::Hard, Access::Queued) + worst(Class::Hard, Access::Flushes));
        assert!((error - expected).abs() < 1e-12, "{error}");
        // Queued work on a hard disk is off by 2.77: 3 shares in 10 of it are 1.36 times.
        let queued = shares(&[(Access::Queued, 30)]);
        let error = largest_error((Class::Hard, &queued), (Class::Hard, &Shares::default())).exp();
        assert!((error - 2.77_f64.powf(0.3)).abs() < 0.01, "{error}");
    }

    #[test]
    fn disks_of_two_classes_may_be_off_either_way() {
        let own = shares(&[(Access::Reads, 50)]);
        let error = largest_error((Class::Hard, &own), (Class::Flash, &own));
        let expected = 0.5 * (worst(Class::Hard, Access::Reads) + worst(Class::Flash, Access::Reads));
        assert!((error - expected).abs() < 1e-12);
    }

    #[test]
    fn the_order_of_a_pair_changes_nothing_and_more_difference_is_more_error() {
        for class in Class::ALL {
            let mut last = -1.0;
            for percent in 0..=100 {
                let (a, b) = (shares(&[(Access::Reads, percent)]), Shares::default());
                let error = largest_error((class, &a), (class, &b));
                assert_eq!(error, largest_error((class, &b), (class, &a)));
                assert!(error > last || percent == 0, "{class:?}");
                last = error;
            }
        }
    }

    #[test]
    fn a_ratio_within_the_error_is_not_called() {
        let margin = 1.03_f64.ln();
        assert!(is_beyond(1.5_f64.ln(), 0.0, margin) && is_beyond(-1.5_f64.ln(), 0.0, margin));
        assert!(!is_beyond(1.5_f64.ln(), 1.5_f64.ln(), margin));
        assert!(!is_beyond(1.02_f64.ln(), 0.0, margin));
    }

    #[test]
    fn no_more_is_waited_for_than_elapses() {
        assert_eq!(Shares::of(0, |_| 0), None);
        assert_eq!(Shares::of(9, |_| 2), None);
        assert_eq!(Shares::of(10, |_| u64::MAX), None);
        assert!(Shares::of(10, |_| 2).is_some());
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
        let untested = Coverage::Untested { drives: 2 }.said();
        assert_eq!(untested, "Coverage is untested: measured drives of this class: 2.");
    }
}
