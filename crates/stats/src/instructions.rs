//! The ratio of two times if an instruction costs more or less than assumed.

/// One of two candidates on the assumed machine. Times are in any unit, the same for both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timed {
    pub time: f64,
    /// The part of the time that scales with the cost of an instruction, 0 to `time`: see [`moving`].
    pub moving: f64,
    /// The part of `moving` that both candidates spend on the same instructions, 0 to `moving`.
    pub shared: f64,
}

/// The part of `time` that scales with the cost of an instruction, from the times at two other costs.
///
/// ```text
/// E = T · ln(T_dear ÷ T_cheap) ÷ ln(dear ÷ cheap)        held within 0 and T
/// ```
///
/// `apart` is the logarithm of the ratio of the two costs: 2·ln 1.3. E ÷ T is the elasticity of the time. E is exact if none,
/// half or all of the time is CPU time; between these its error is below 0.6 % of T.
///
/// Misleads if the two other times differ for another reason too. A seed that moves each by 0.5 % moves E by 1.3 % of T.
pub fn moving(time: f64, dear: f64, cheap: f64, apart: f64) -> f64 {
    (time * (dear / cheap).ln() / apart).clamp(0.0, time)
}

/// The logarithm of a's time ÷ b's, at each of twelve costs.
///
/// ```text
/// L = ln [ (T_a + (s − 1)·M_a + (s·d_a − 1)·x_a) ÷ (T_b + (s − 1)·M_b + (s·d_b − 1)·x_b) ]        x = E − M
/// s: 1 ÷ r, 1, r      cost of all instructions, relative to the assumed cost
/// d: 1 ÷ o, o         relative cost of instructions that only a, or only b, executes; d_a and d_b vary independently
/// ```
/// `all` is r, and `only` is o of a and of b: r, or more if what only one of them executes costs otherwise than usual.
///
/// M is shared, so its cost changes equally for both. The minimum and maximum of the twelve bound the ratio for every s and d in
/// between: each term is monotonic in d_a and d_b, and the fraction of two linear functions is monotonic in s.
///
/// Misleads if M is not really shared: two candidates that spend equal time on different instructions then look equal at every
/// cost.
pub fn priced(a: Timed, b: Timed, r: f64, only: [f64; 2]) -> [f64; 12] {
    let at = |own: Timed, all: f64, only: f64| {
        own.time + (all - 1.0) * own.shared + (all * only - 1.0) * (own.moving - own.shared)
    };
    let [ends_of_a, ends_of_b] = only.map(|only| [1.0 / only, only]);
    let all = [1.0 / r, 1.0, r];
    std::array::from_fn(|n| {
        let (s, of_a, of_b) = (all[n / 4], ends_of_a[n / 2 % 2], ends_of_b[n % 2]);
        (at(a, s, of_a) / at(b, s, of_b)).ln()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const R: f64 = 1.3;

    /// Everything that the candidate with less CPU time spends is shared.
    fn pair(a: [f64; 2], b: [f64; 2]) -> (f64, f64) {
        let shared = a[1].min(b[1]);
        let timed = |[time, moving]: [f64; 2]| Timed { time, moving, shared };
        let logs = priced(timed(a), timed(b), R, [R, R]);
        let (least, most) = crate::range(&logs).expect("twelve");
        (least.exp(), most.exp())
    }

    fn near((least, most): (f64, f64), expected: (f64, f64)) {
        let is_near = |a: f64, b: f64| (a - b).abs() < 0.005;
        assert!(is_near(least, expected.0) && is_near(most, expected.1), "{least} to {most}");
    }

    #[test]
    fn what_differs_is_priced_and_what_is_shared_is_not() {
        assert_eq!(pair([1.0, 0.9], [1.0, 0.9]), (1.0, 1.0), "the same twice");
        near(pair([1.05, 1.05], [1.0, 1.0]), (1.038, 1.065));
        near(pair([1.60, 1.60], [1.0, 1.0]), (1.46, 1.78));
        near(pair([0.95, 0.70], [1.0, 0.50]), (0.85, 1.08));
        near(pair([1.0, 0.0], [0.8, 0.0]), (1.25, 1.25));
    }

    #[test]
    fn where_nothing_is_shared_each_pays_its_own() {
        let timed = |time: f64| Timed { time, moving: time, shared: 0.0 };
        let (least, most) = crate::range(&priced(timed(2.0), timed(1.0), R, [R, R])).expect("twelve");
        assert!((least.exp() - 2.0 / 1.69).abs() < 1e-12 && (most.exp() - 2.0 * 1.69).abs() < 1e-12);
        let (least, most) = crate::range(&priced(timed(2.0), timed(1.0), R, [2.5, R])).expect("twelve");
        assert!((least.exp() - 2.0 / 3.25).abs() < 1e-12 && (most.exp() - 2.0 * 3.25).abs() < 1e-12);
    }

    #[test]
    fn the_part_that_moves_is_read_off_two_other_costs() {
        let apart = 2.0 * R.ln();
        for cpu in [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0] {
            let time = |cost: f64| (1.0 - cpu) + cpu * cost;
            let found = moving(1.0, time(R), time(1.0 / R), apart);
            assert!((found - cpu).abs() < 0.006, "{cpu}: {found}");
        }
        assert_eq!(moving(3.0, 0.9, 1.0, apart), 0.0, "less time at a dearer cost is none");
        assert_eq!(moving(3.0, 2.0, 1.0, apart), 3.0, "and never more than all");
    }
}
