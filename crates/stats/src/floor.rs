//! Extrapolates a quantity to the value that it would have without an overhead that can be increased but not removed.

/// A quantity without the overhead, and its error bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extrapolated {
    pub at_zero: f64,
    /// The error bound, in the quantity's unit; never negative.
    pub bound: f64,
}

/// Extrapolates from values y₁, y₂, y₃ that contain the overhead once, twice and three times to the value without it.
///
/// The least-squares line through the three points gives (4·y₁ + y₂ − 2·y₃) ÷ 3 at 0; the parabola gives
/// 3·y₁ − 3·y₂ + y₃. Both are exact for a linear effect. Otherwise they differ by (5 ÷ 3)·|y₁ − 2·y₂ + y₃|. The bound is
/// twice that, (10 ÷ 3)·|y₁ − 2·y₂ + y₃|, because the true curve may bend more than a parabola. It is twenty times the line's
/// residual at its outer points. Adding known amounts of an effect and extrapolating to none is L. F. Richardson's deferred
/// approach to the limit (Phil. Trans. A 226, 1927, 299–361).
///
/// Misleads: three points cannot tell curvature from noise. Noise widens the bound; noise that happens to lie on a line makes
/// it too narrow. An effect that begins only beyond a threshold below 1 stays hidden.
pub fn to_zero([once, twice, thrice]: [f64; 3]) -> Extrapolated {
    Extrapolated {
        at_zero: (4.0 * once + twice - 2.0 * thrice) / 3.0,
        bound: (once - 2.0 * twice + thrice).abs() * 10.0 / 3.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn a_straight_line_is_followed_to_its_beginning_and_nothing_is_in_doubt() {
        let found = to_zero([0.25, 0.5, 0.75]);
        assert!(near(found.at_zero, 0.0) && near(found.bound, 0.0), "{found:?}");
        let found = to_zero([7.0, 7.0, 7.0]);
        assert!(near(found.at_zero, 7.0) && near(found.bound, 0.0), "{found:?}");
    }

    /// `coef(lm(c(1,3,4) ~ c(1,2,3)))[1]` in R is -0.3333333; the parabola through these points gives 3 − 9 + 4 = −2 at 0.
    #[test]
    fn the_line_is_that_of_least_squares_and_the_bound_twice_the_way_to_the_parabola() {
        let found = to_zero([1.0, 3.0, 4.0]);
        assert!(near(found.at_zero, -1.0 / 3.0), "{found:?}");
        assert!(near(found.at_zero - found.bound / 2.0, -2.0), "{found:?}");
    }

    /// Time of a disk and its server, for server shares up to a half: the truth lies within the bound.
    #[test]
    fn a_rate_whose_time_grows_by_the_unwanted_part_is_found_within_the_bound() {
        for share in [0.001, 0.01, 0.1, 0.3, 0.5] {
            let log_rate = |times: f64| -((1.0 - share) + share * times).ln();
            let found = to_zero([1.0, 2.0, 3.0].map(log_rate));
            let truth = log_rate(0.0);
            assert!((found.at_zero - truth).abs() <= found.bound, "{share}: {found:?}, {truth}");
        }
    }
}
