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

/// How far the overhead itself can have moved the logarithm of speed(a) ÷ speed(b), as (least, most). `shares` are the largest
/// shares of the elapsed times of `a` and of `b` in which the overhead ran. Without it, `a` takes between 1 − share of its time
/// and all of it, and so does `b`. `None` if a share is not below 1.
///
/// Misleads if the overhead changes what is done, and not only when: see [`explains`].
pub fn at_most([a, b]: [f64; 2]) -> Option<(f64, f64)> {
    let possible = |share: f64| (0.0..1.0).contains(&share);
    (possible(a) && possible(b)).then(|| ((-b).ln_1p(), -(-a).ln_1p()))
}

/// Whether the overhead's own time and chance explain how the logarithm of speed(a) ÷ speed(b) moved when the overhead was done
/// twice and three times: each value lies where the time allows, or no farther from there than `chance`. `chance` is the range of
/// this logarithm over trials that differ by nothing that matters, such as the seed.
///
/// If so, a larger effect of the overhead that chance hides is, at first order, no larger than `chance`.
pub fn explains([once, twice, thrice]: [f64; 3], [a, b]: [f64; 2], chance: f64) -> bool {
    let within = |moved: f64, times: f64| {
        let (least, most) = (-(times * a).ln_1p(), (times * b).ln_1p());
        moved >= least - chance && moved <= most + chance
    };
    within(twice - once, 1.0) && within(thrice - once, 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

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

    #[test]
    fn no_time_moves_nothing_and_all_of_the_time_anything() {
        assert_eq!(at_most([0.0, 0.0]), Some((0.0, 0.0)));
        let (least, most) = at_most([0.5, 0.2]).unwrap();
        assert!(near(most, 2_f64.ln()) && near(least, 0.8_f64.ln()));
        assert_eq!((at_most([1.0, 0.0]), at_most([0.0, f64::NAN]), at_most([-0.1, 0.0])), (None, None, None));
    }

    #[test]
    fn what_the_time_allows_and_chance_is_explained_and_more_is_not() {
        let of = |twice: f64, thrice: f64, chance| explains([0.0, twice, thrice], [0.01, 0.02], chance);
        assert!(of(-0.0099, -0.0198, 0.0) && of(0.0198, 0.039, 0.0) && of(0.0, 0.0, 0.0));
        assert!(!of(-0.011, 0.0, 0.0) && !of(0.0, 0.04, 0.0));
        assert!(of(-0.10, 0.13, 0.1) && !of(-0.12, 0.0, 0.1) && !of(0.0, 0.15, 0.1));
    }

    /// Times of two candidates that the server, with up to 30 % of the time, prolongs by what it takes or by less.
    #[test]
    fn the_truth_lies_within_what_the_time_allows() {
        let mut random = Random::new(1);
        for _ in 0..2000 {
            let [a, b] = [0.3 * random.share(), 0.3 * random.share()];
            let [of_a, of_b] = [random.share(), random.share()];
            let time = |share: f64, of: f64, times: f64| 1.0 + (times - 1.0) * share * of;
            let log = |times: f64| (time(b, of_b, times) / time(a, of_a, times)).ln();
            let (least, most) = at_most([a, b]).unwrap();
            let moved = log(0.0) - log(1.0);
            assert!(moved >= least && moved <= most, "{a} {b}: {moved}");
            assert!(explains([log(1.0), log(2.0), log(3.0)], [a, b], 0.0));
        }
    }

    /// A server that changes what is done moves a ratio by up to 30 times its own share, among seeds that move it too. A difference
    /// counts only if it is larger than the range of the seeds; then its side is seldom wrong.
    #[test]
    fn a_finding_on_the_wrong_side_is_rare_even_if_the_server_moves_more_than_its_time() {
        let mut random = Random::new(7);
        let (mut found, mut wrong, n) = (0, 0, 4000);
        for _ in 0..n {
            let sigma = 0.1 * random.share();
            let share = 0.01;
            let moves = share * 30.0 * random.share();
            let truth = 0.6 * (random.share() - 0.5);
            let mut trial = |times: f64| truth - moves * times + sigma * random.normal();
            let seeds: [f64; 6] = std::array::from_fn(|_| trial(1.0));
            let logs = [seeds[0], trial(2.0), trial(3.0)];
            let (low, high) = crate::range(&seeds).unwrap();
            let mean = seeds.iter().sum::<f64>() / 6.0;
            let margin = 0.03;
            let slack = match explains(logs, [share, 0.0], high - low) {
                true => at_most([share, 0.0]).unwrap(),
                false => {
                    let zero = to_zero(logs);
                    (zero.at_zero - logs[0] - zero.bound, zero.at_zero - logs[0] + zero.bound)
                }
            };
            let (least, most) = (low + slack.0.min(0.0), high + slack.1.max(0.0));
            let is_one_side = least > margin || most < -margin;
            if is_one_side && mean.abs() > high - low {
                found += 1;
                wrong += u32::from(mean * truth < 0.0);
            }
        }
        assert!(found > n / 5 && 100 * wrong < found, "{wrong} of {found}");
    }
}
