//! The time to move the arm.

/// The arm's three times, without settling for a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeekSpec {
    pub track_ns: u64,
    pub average_ns: u64,
    pub full_ns: u64,
}

impl SeekSpec {
    pub fn map(self, change: impl Fn(u64) -> u64) -> Self {
        SeekSpec {
            track_ns: change(self.track_ns),
            average_ns: change(self.average_ns),
            full_ns: change(self.full_ns),
        }
    }
}

/// With t₁ to the next cylinder, t̄ on average and t_max over all N cylinders, a seek over d ≥ 1 cylinders takes
///
/// ```text
///     t₁ + a·√((d−1)/N) + b·(d−1)/N      a = (−10 t₁ + 15 t̄ − 5 t_max)/3      b = (7 t₁ − 15 t̄ + 8 t_max)/3
/// ```
///
/// E. K. Lee and R. H. Katz, "An Analytic Performance Model of Disk Arrays", SIGMETRICS 1993: the square root is the arm
/// speeding up and slowing down, the line its coasting, and the mean over random pairs of cylinders is t̄.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeekCurve {
    track_ns: u64,
    root_ns: u64,
    line_ns: u64,
    cylinders: u64,
}

impl SeekCurve {
    /// `None` where the three times do not lie on such a curve: a or b would be negative.
    pub fn new(seek: &SeekSpec, cylinders: u64) -> Option<Self> {
        let SeekSpec { track_ns, average_ns, full_ns } = *seek;
        Some(SeekCurve {
            track_ns,
            root_ns: (15 * average_ns).checked_sub(10 * track_ns + 5 * full_ns)? / 3,
            line_ns: (7 * track_ns + 8 * full_ns).checked_sub(15 * average_ns)? / 3,
            cylinders,
        })
    }

    pub fn track_ns(&self) -> u64 {
        self.track_ns
    }

    pub fn ns(&self, distance: u64) -> u64 {
        if distance == 0 {
            return 0;
        }
        // The share of the stroke in 2⁻³², its root in 2⁻¹⁶; times are below 2³⁰ ns, so nothing overflows.
        let share = ((distance - 1) << 32) / self.cylinders;
        self.track_ns + ((self.root_ns * share.isqrt()) >> 16) + ((self.line_ns * share) >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEK: SeekSpec = SeekSpec { track_ns: 800_000, average_ns: 9_000_000, full_ns: 20_000_000 };

    #[test]
    fn the_curve_goes_through_its_ends() {
        let curve = SeekCurve::new(&SEEK, 50_000).unwrap();
        assert_eq!(curve.ns(0), 0);
        assert_eq!(curve.ns(1), 800_000);
        assert!(curve.ns(49_999).abs_diff(20_000_000) < 2_000, "{}", curve.ns(49_999));
        assert!((1..50_000).is_sorted_by_key(|d| curve.ns(d)));
    }

    /// Over all pairs of N cylinders a distance d occurs 2(N−d) times in N².
    #[test]
    fn the_mean_over_random_pairs_is_the_average() {
        let n = 20_000_u64;
        let curve = SeekCurve::new(&SEEK, n).unwrap();
        let sum: u128 = (1..n).map(|d| u128::from(2 * (n - d)) * u128::from(curve.ns(d))).sum();
        let mean = sum / u128::from(n * n);
        assert!(mean.abs_diff(9_000_000) < 9_000, "{mean}");
    }

    #[test]
    fn times_that_no_arm_can_have_are_refused() {
        assert_eq!(SeekCurve::new(&SeekSpec { full_ns: 60_000_000, ..SEEK }, 1000), None);
        assert_eq!(SeekCurve::new(&SeekSpec { full_ns: 10_000_000, ..SEEK }, 1000), None);
    }
}
