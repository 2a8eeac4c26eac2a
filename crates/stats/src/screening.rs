//! A screening design: a table of few runs, by which the important factors are found among many. Each row is a run and each column
//! a factor; an entry says whether the run sets the factor to its high or its low level.
//!
//! R. L. Plackett and J. P. Burman, "The design of optimum multifactorial experiments", Biometrika 33 (1946), 305–325: twelve
//! runs for up to eleven factors at two levels each. Any two columns hold each pair of levels three times, so each main effect is
//! estimated independently of the others.
//!
//! Misleads: in twelve runs a main effect is confounded with a third of each interaction of two others. Folded rows, with all
//! signs inverted, remove this. Twelve corners of 2048 are not a random sample: agreement of all twelve proves no share of all
//! corners. [`Effects::corner`] gives the worst corner under a linear model.

use crate::discovery::Estimated;
use crate::variance::ROUNDING;

pub const RUNS: usize = 12;
pub const COLUMNS: usize = 11;

/// Whether each column (factor) is at its high level in this row.
pub type Row = [bool; COLUMNS];

/// The first row of the published design. The next ten rows are cyclic shifts of it; in the last row all columns are low.
const FIRST: Row = [true, true, false, true, true, true, false, false, false, true, false];

/// The `n`th of the twelve rows, from 0. Rows 12 to 23 are the folded ones, with all levels inverted.
pub fn row(n: usize) -> Row {
    let is_folded = n / RUNS % 2 == 1;
    let at = n % RUNS;
    std::array::from_fn(|column| (at < COLUMNS && FIRST[(column + COLUMNS - at) % COLUMNS]) != is_folded)
}

/// The main effects: a value is `mean` plus the effect of each high column minus that of each low column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effects {
    pub mean: f64,
    pub columns: [f64; COLUMNS],
}

/// Least-squares fit of the main effects to complete designs. `None` if a row is missing or repeated unequally, so that the
/// columns are not orthogonal.
pub fn fit(values: &[(Row, f64)]) -> Option<Effects> {
    let n = values.len();
    let times = n / RUNS;
    let is_whole = times > 0 && n.is_multiple_of(RUNS);
    let balanced = |column: usize| values.iter().filter(|(row, _)| row[column]).count() * 2 == n;
    let orthogonal = |a: usize, b: usize| values.iter().filter(|(row, _)| row[a] == row[b]).count() * 2 == n;
    let all = || 0..COLUMNS;
    if !is_whole || !all().all(|a| balanced(a) && (a + 1..COLUMNS).all(|b| orthogonal(a, b))) {
        return None;
    }
    let mean = |of: &dyn Fn(&(Row, f64)) -> f64| values.iter().map(of).sum::<f64>() / n as f64;
    let effect = |column: usize| mean(&|(row, value)| if row[column] { *value } else { -value });
    let middle = mean(&|(_, value)| *value);
    Some(Effects { mean: middle, columns: std::array::from_fn(effect) })
}

impl Effects {
    /// The value that the main effects predict for a corner.
    pub fn at(&self, row: &Row) -> f64 {
        let one = |(effect, is_high): (&f64, &bool)| if *is_high { *effect } else { -effect };
        self.mean + self.columns.iter().zip(row).map(one).sum::<f64>()
    }

    /// The corner at which these columns move a value up, or down, most. The other columns are low.
    pub fn corner(&self, columns: &Row, up: bool) -> Row {
        std::array::from_fn(|column| columns[column] && (self.columns[column] > 0.0) == up)
    }
}

/// Each column's main effect over both halves of a folded design, with the standard error estimated from the halves.
///
/// ```text
/// m = (e + e') ÷ 2      h = (e − e') ÷ 2      error² = Σ h² ÷ 11      11 degrees of freedom
/// ```
///
/// e and e' are the column's effects in the twelve rows and in the folded twelve, each by its own levels. Their common part is
/// the main effect. Their difference is noise: seeds that differ between rows, chaos, and interactions of two factors, which
/// change sign with the fold. Under noise m and h have the same variance, so m ÷ error follows Student's t.
///
/// Misleads: large interactions make the error large and hide main effects.
pub fn folded(first: &Effects, second: &Effects) -> [Estimated; COLUMNS] {
    let half = |at: usize, sign: f64| (first.columns[at] + sign * second.columns[at]) / 2.0;
    let square = (0..COLUMNS).map(|at| half(at, -1.0).powi(2)).sum::<f64>() / COLUMNS as f64;
    let error = square.sqrt().max(ROUNDING);
    let freedom = COLUMNS as f64;
    std::array::from_fn(|at| {
        // An effect within rounding is zero, even if nothing varies.
        let effect = Some(half(at, 1.0)).filter(|effect| effect.abs() >= ROUNDING).unwrap_or(0.0);
        Estimated { effect, error, freedom }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(row: &Row) -> [i32; COLUMNS] {
        row.map(|is_high| if is_high { 1 } else { -1 })
    }

    fn rows(from: usize, to: usize, value: impl Fn(&Row) -> f64) -> Vec<(Row, f64)> {
        (from..to).map(row).map(|row| (row, value(&row))).collect()
    }

    #[test]
    fn the_columns_are_balanced_and_orthogonal() {
        for first in [0, RUNS] {
            let design: Vec<[i32; COLUMNS]> = (first..first + RUNS).map(|n| signs(&row(n))).collect();
            for a in 0..COLUMNS {
                assert_eq!(design.iter().map(|row| row[a]).sum::<i32>(), 0, "column {a}");
                for b in a + 1..COLUMNS {
                    assert_eq!(
                        design.iter().map(|row| row[a] * row[b]).sum::<i32>(),
                        0,
                        "columns {a} and {b}"
                    );
                }
            }
        }
    }

    /// The design of 1946 as tables print it: first two rows and last.
    #[test]
    fn the_rows_are_the_published_ones() {
        assert_eq!(signs(&row(0)), [1, 1, -1, 1, 1, 1, -1, -1, -1, 1, -1]);
        assert_eq!(signs(&row(1)), [-1, 1, 1, -1, 1, 1, 1, -1, -1, -1, 1]);
        assert_eq!(signs(&row(11)), [-1; COLUMNS]);
        assert_eq!(signs(&row(12)), signs(&row(0)).map(|sign| -sign));
        assert_eq!(row(24), row(0));
    }

    #[test]
    fn effects_that_were_put_in_come_out() {
        let truth = |row: &Row| {
            let [a, b] = [0, 7].map(|column| if row[column] { 1.0 } else { -1.0 });
            0.5 + 0.2 * a - 0.03 * b
        };
        let effects = fit(&rows(0, RUNS, truth)).expect("twelve rows");
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        near(effects.mean, 0.5);
        (0..COLUMNS).for_each(|column| {
            near(effects.columns[column], [0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.03, 0.0, 0.0, 0.0][column]);
        });
        let all = [true; COLUMNS];
        near(effects.at(&effects.corner(&all, false)), 0.27);
        near(effects.at(&effects.corner(&all, true)), 0.73);
    }

    /// `coef(lm(y ~ .))` over the design with y = 1 … 12 in R has intercept 6.5. By hand, the first column compares its plus rows
    /// 1, 3, 7, 8, 9, 11 with 2, 4, 5, 6, 10, 12.
    #[test]
    fn an_effect_is_half_the_difference_of_the_two_means() {
        let values: Vec<(Row, f64)> = (0..RUNS).map(|n| (row(n), n as f64 + 1.0)).collect();
        let high: Vec<f64> = values.iter().filter(|(row, _)| row[0]).map(|(_, value)| *value).collect();
        assert_eq!(high, [1.0, 3.0, 7.0, 8.0, 9.0, 11.0]);
        let effects = fit(&values).expect("twelve rows");
        assert!((effects.mean - 6.5).abs() < 1e-12 && (effects.columns[0] - 0.0).abs() < 1e-12);
        // Second column: 1, 2, 4, 8, 9, 10 against 3, 5, 6, 7, 11, 12.
        assert!((effects.columns[1] - (34.0 - 44.0) / 12.0).abs() < 1e-12, "{effects:?}");
    }

    /// In twelve rows a third of an interaction of two columns appears in each other column's effect; in twenty-four rows none
    /// does.
    #[test]
    fn folded_rows_free_main_effects_of_interactions() {
        let interaction = |row: &Row| if row[0] == row[1] { 0.3 } else { -0.3 };
        let twelve = fit(&rows(0, RUNS, interaction)).expect("twelve rows");
        assert!(twelve.columns[2..].iter().all(|effect| (effect.abs() - 0.1).abs() < 1e-12), "{twelve:?}");
        let folded = fit(&rows(0, 2 * RUNS, interaction)).expect("both halves");
        assert!(folded.columns.iter().all(|effect| effect.abs() < 1e-12), "{folded:?}");
    }

    #[test]
    fn what_the_halves_say_alike_is_the_effect_and_what_they_say_otherwise_is_its_error() {
        // The first column's effect, and an interaction of the next two.
        let truth = |row: &Row| {
            let [a, b, c] = [0, 1, 2].map(|column| if row[column] { 1.0 } else { -1.0 });
            0.2 * a + 0.03 * b * c
        };
        let half = |from: usize| fit(&rows(from, from + RUNS, truth)).expect("twelve rows");
        let found = folded(&half(0), &half(RUNS));
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        near(found[0].effect, 0.2);
        found[1..].iter().for_each(|one| near(one.effect, 0.0));
        // A third of the interaction in each of the nine other columns.
        near(found[0].error, (9.0 * 0.01_f64.powi(2) / 11.0).sqrt());
        let still = |from: usize| fit(&rows(from, from + RUNS, |_| 1.0)).expect("twelve rows");
        assert!(folded(&still(0), &still(RUNS)).iter().all(|one| one.effect == 0.0 && one.error > 0.0));
    }

    #[test]
    fn part_of_a_design_is_none() {
        assert!(fit(&rows(0, 11, |_| 1.0)).is_none() && fit(&[]).is_none());
        let mut twice = rows(0, RUNS, |_| 1.0);
        twice[3] = twice[4];
        assert!(fit(&twice).is_none());
    }

    /// In a linear model with normal effects whose mean lies two standard deviations of the corners from zero, all twelve rows
    /// usually agree. In most of these cases the predicted corner shows the opposite sign, which no agreement of the twelve
    /// reveals.
    #[test]
    fn twelve_rows_agree_where_the_predicted_corner_does_not() {
        let mut state = 1_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (mut agree, mut reversed) = (0, 0);
        for _ in 0..1000 {
            let columns: [f64; COLUMNS] =
                std::array::from_fn(|_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0);
            let spread = columns.iter().map(|effect| effect * effect).sum::<f64>().sqrt();
            let truth = Effects { mean: 2.0 * spread, columns };
            let twelve = rows(0, RUNS, |row| truth.at(row));
            if twelve.iter().all(|(_, value)| *value > 0.0) {
                agree += 1;
                let effects = fit(&twelve).expect("twelve rows");
                let worst = effects.corner(&[true; COLUMNS], false);
                assert!((effects.at(&worst) - truth.at(&worst)).abs() < 1e-9);
                reversed += usize::from(truth.at(&worst) < 0.0);
            }
        }
        // Φ(2) to the twelfth, if rows were independent: 76 %.
        assert!((720..800).contains(&agree), "{agree} of 1000");
        assert!(reversed * 100 > agree * 90, "{reversed} of {agree}");
    }
}
