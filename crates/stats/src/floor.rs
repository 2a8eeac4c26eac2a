//! What a quantity would be without something that can be added to and not taken away.

/// A quantity without what was added, and how far that may be wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extrapolated {
    pub at_zero: f64,
    /// Never negative, in the quantity's own unit.
    pub bound: f64,
}

/// From values y₁, y₂, y₃ that hold the unwanted part once, twice and three times to the value without it.
///
/// The least-squares line through the three points is at 0 at (4·y₁ + y₂ − 2·y₃) ÷ 3. The parabola through them is at 0 at
/// 3·y₁ − 3·y₂ + y₃. Both are the truth where the effect is a straight line. Otherwise they differ by (5 ÷ 3)·|y₁ − 2·y₂ + y₃|, and the
/// bound is twice that, because what bends once may bend further than a parabola: (10 ÷ 3)·|y₁ − 2·y₂ + y₃|, which is twenty times
/// the line's residual at its outer points. Adding a known amount of what cannot be taken
/// away, and extrapolating to none, is L. F. Richardson's deferred approach to the limit (Phil. Trans. A 226, 1927, 299–361).
///
/// Misleads: three points cannot tell a bend from noise, so noise makes the bound wide, and noise that happens to lie on a line makes it
/// too narrow. Where the effect begins only beyond a threshold that lies below 1, nothing shows it.
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

    /// `coef(lm(c(1,3,4) ~ c(1,2,3)))[1]` in R is -0.3333333; the parabola through these points is at 0 at 3 − 9 + 4 = −2.
    #[test]
    fn the_line_is_that_of_least_squares_and_the_bound_twice_the_way_to_the_parabola() {
        let found = to_zero([1.0, 3.0, 4.0]);
        assert!(near(found.at_zero, -1.0 / 3.0), "{found:?}");
        assert!(near(found.at_zero - found.bound / 2.0, -2.0), "{found:?}");
    }

    /// Time that a disk and its server take, for shares of the server's up to a half: the truth lies within the bound.
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
