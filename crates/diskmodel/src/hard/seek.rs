//! Seek time: a measured table, or a curve through three times.

/// Seek times as given, without write settle time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SeekSpec {
    Times(SeekTimes),
    /// Measured: (distance in cylinders, nanoseconds), from distance 1 on.
    Table(Vec<(u64, u64)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeekTimes {
    pub track_ns: u64,
    pub average_ns: u64,
    pub full_ns: u64,
}

impl SeekSpec {
    pub fn map(&self, change: impl Fn(u64) -> u64) -> Self {
        match self {
            SeekSpec::Times(SeekTimes { track_ns, average_ns, full_ns }) => SeekSpec::Times(SeekTimes {
                track_ns: change(*track_ns),
                average_ns: change(*average_ns),
                full_ns: change(*full_ns),
            }),
            SeekSpec::Table(points) => {
                SeekSpec::Table(points.iter().map(|(far, ns)| (*far, change(*ns))).collect())
            }
        }
    }

    /// Seek time to the next cylinder.
    pub fn track_ns(&self) -> u64 {
        match self {
            SeekSpec::Times(times) => times.track_ns,
            SeekSpec::Table(points) => points.first().map_or(0, |(_, ns)| *ns),
        }
    }

    /// Mean seek time between two random cylinders out of `cylinders`.
    pub fn average_ns(&self, cylinders: u64) -> u64 {
        match self {
            SeekSpec::Times(times) => times.average_ns,
            SeekSpec::Table(points) => mean_ns(points, cylinders),
        }
    }
}

/// Over all pairs of N cylinders, distance d occurs 2(N − d) times in N². Summed in 1024 steps, as N may be 500,000.
fn mean_ns(points: &[(u64, u64)], cylinders: u64) -> u64 {
    const STEPS: u64 = 1024;
    let sum = (0..STEPS).map(|step| {
        let far = (2 * step + 1) * cylinders / (2 * STEPS);
        u128::from(2 * (2 * STEPS - 2 * step - 1)) * u128::from(between(points, far.max(1)))
    });
    (sum.sum::<u128>() / u128::from(2 * STEPS * STEPS)) as u64
}

/// Interpolates linearly between the neighbouring points; constant beyond the last.
fn between(points: &[(u64, u64)], distance: u64) -> u64 {
    let next = points.partition_point(|(far, _)| *far <= distance);
    let Some((from, from_ns)) = next.checked_sub(1).and_then(|n| points.get(n)) else {
        return points.first().map_or(0, |(_, ns)| *ns);
    };
    let Some((to, to_ns)) = points.get(next) else { return *from_ns };
    // Measured times may decrease from one point to the next.
    let share = |ns: u64| ns * (distance - from) / (to - from);
    if to_ns >= from_ns { from_ns + share(to_ns - from_ns) } else { from_ns - share(from_ns - to_ns) }
}

/// With t₁ to the next cylinder, mean t̄ and maximum t_max over all N cylinders, a seek over d ≥ 1 cylinders takes
///
/// ```text
///     t₁ + a·√((d−1)/N) + b·(d−1)/N      a = (−10 t₁ + 15 t̄ − 5 t_max)/3      b = (7 t₁ − 15 t̄ + 8 t_max)/3
/// ```
///
/// E. K. Lee and R. H. Katz, "An Analytic Performance Model of Disk Arrays", SIGMETRICS 1993. The square root models the
/// arm's acceleration and braking, the linear term its coasting; the mean over random pairs of cylinders is t̄. From 50 to
/// 1,000 cylinders this formula is a third faster than the measured curve of a Maxtor Atlas 10K; a disk's file may therefore
/// give a table of seek times instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeekCurve {
    track_ns: u64,
    cylinders: u64,
    shape: Shape,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    Root { root_ns: u64, line_ns: u64 },
    Table(Vec<(u64, u64)>),
}

impl SeekCurve {
    /// `None` if the three times do not fit the curve (a or b negative), or if a table's distances do not rise from 1.
    pub fn new(seek: &SeekSpec, cylinders: u64) -> Option<Self> {
        let shape = match seek {
            SeekSpec::Times(SeekTimes { track_ns, average_ns, full_ns }) => Shape::Root {
                root_ns: (15 * average_ns).checked_sub(10 * track_ns + 5 * full_ns)? / 3,
                line_ns: (7 * track_ns + 8 * full_ns).checked_sub(15 * average_ns)? / 3,
            },
            SeekSpec::Table(points) => {
                let goes_up = points.is_sorted_by(|(a, _), (b, _)| a < b);
                let begins = points.first().is_some_and(|(far, _)| *far == 1);
                (goes_up && begins).then(|| Shape::Table(points.clone()))?
            }
        };
        Some(SeekCurve { track_ns: seek.track_ns(), cylinders, shape })
    }

    pub fn track_ns(&self) -> u64 {
        self.track_ns
    }

    pub fn ns(&self, distance: u64) -> u64 {
        if distance == 0 {
            return 0;
        }
        match &self.shape {
            Shape::Root { root_ns, line_ns } => {
                // The share of the stroke in 2⁻³², its root in 2⁻¹⁶; times are below 2³⁰ ns, so nothing overflows.
                let share = ((distance - 1) << 32) / self.cylinders;
                self.track_ns + ((root_ns * share.isqrt()) >> 16) + ((line_ns * share) >> 32)
            }
            Shape::Table(points) => between(points, distance),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: SeekTimes = SeekTimes { track_ns: 800_000, average_ns: 9_000_000, full_ns: 20_000_000 };
    const SEEK: SeekSpec = SeekSpec::Times(TIMES);

    #[test]
    fn the_curve_goes_through_its_ends() {
        let curve = SeekCurve::new(&SEEK, 50_000).unwrap();
        assert_eq!(curve.ns(0), 0);
        assert_eq!(curve.ns(1), 800_000);
        assert!(curve.ns(49_999).abs_diff(20_000_000) < 2_000, "{}", curve.ns(49_999));
        assert!((1..50_000).is_sorted_by_key(|d| curve.ns(d)));
    }

    /// Over all pairs of N cylinders, distance d occurs 2(N−d) times in N².
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
        let with = |full_ns| SeekCurve::new(&SeekSpec::Times(SeekTimes { full_ns, ..TIMES }), 1000);
        assert_eq!((with(60_000_000), with(10_000_000)), (None, None));
        let table = |points: &[(u64, u64)]| SeekCurve::new(&SeekSpec::Table(points.to_vec()), 1000);
        assert_eq!(table(&[(2, 5), (10, 9)]), None);
        assert_eq!(table(&[(1, 5), (10, 9), (9, 10)]), None);
        assert_eq!(table(&[(1, 5), (1, 6)]), None);
        assert!(table(&[(1, 5), (10, 5)]).is_some());
    }

    #[test]
    fn a_table_is_met_at_its_points_and_between_them_on_a_line() {
        let points = vec![(1, 800_000), (11, 1_800_000), (1011, 3_800_000), (1511, 3_600_000)];
        let curve = SeekCurve::new(&SeekSpec::Table(points), 2000).unwrap();
        let at = [0, 1, 2, 6, 11, 511, 1011, 1261, 1999].map(|far| curve.ns(far));
        assert_eq!(
            at,
            [0, 800_000, 900_000, 1_300_000, 1_800_000, 2_800_000, 3_800_000, 3_700_000, 3_600_000]
        );
    }

    /// A table of all distances of the three-time curve has the same mean.
    #[test]
    fn the_mean_of_a_table_is_that_over_random_pairs() {
        let n = 20_000;
        let curve = SeekCurve::new(&SEEK, n).unwrap();
        let table = SeekSpec::Table((1..n).map(|far| (far, curve.ns(far))).collect());
        assert!(table.average_ns(n).abs_diff(9_000_000) < 9_000, "{}", table.average_ns(n));
        assert_eq!(table.track_ns(), 800_000);
    }
}
