//! Rules of other tools, and rejected rules.

use fsderby_stats::family::Table;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Mean, variance, count.
pub struct Sample {
    mean: f64,
    variance: f64,
    n: f64,
}

impl Sample {
    pub fn of(values: &[f64]) -> Sample {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Sample { mean, variance, n }
    }

    /// |t| of B. L. Welch, and its degrees of freedom.
    pub fn welch(&self, other: &Sample) -> (f64, f64) {
        let (a, b) = (self.variance / self.n, other.variance / other.n);
        let degrees = (a + b).powi(2) / (a * a / (self.n - 1.0) + b * b / (other.n - 1.0));
        ((self.mean - other.mean).abs() / (a + b).sqrt(), degrees)
    }

    /// Distance of the two means in units of the sum of their errors: intervals of ±q errors overlap up to q.
    pub fn apart(&self, other: &Sample) -> f64 {
        let (a, b) = (self.variance / self.n, other.variance / other.n);
        (self.mean - other.mean).abs() / (a.sqrt() + b.sqrt())
    }
}

pub fn p_of((t, degrees): (f64, f64)) -> f64 {
    StudentsT::new(0.0, 1.0, degrees).map_or(1.0, |student| 2.0 * student.cdf(-t))
}

pub fn t_at(p: f64, degrees: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees).map_or(f64::INFINITY, |student| student.inverse_cdf(1.0 - p / 2.0))
}

/// Phoronix Test Suite: three runs, then more while the coefficient of variation is at least `most`, up to `limit`.
pub fn runs_of_phoronix(logs: &[f64], most: f64, limit: usize) -> usize {
    let settled = |n: &usize| {
        let values: Vec<f64> = logs[..*n].iter().map(|log| log.exp()).collect();
        let sample = Sample::of(&values);
        sample.variance.sqrt() / sample.mean < most
    };
    (3..limit).find(settled).unwrap_or(limit)
}

/// Results of the sign-flip rules: whether each pair is called different, with the plain Grubbs estimator.
pub struct Flipped {
    pub one_step: Vec<bool>,
    pub step_down: Vec<bool>,
    pub estimates: Vec<f64>,
    pub errors: Vec<f64>,
    pub critical: f64,
}

/// Brute force over all sign patterns of a table: of the centred values, which contain the true differences, or of the residuals.
pub fn flip(table: &Table, residuals: bool, alpha: f64) -> Flipped {
    let (n, k) = (table.rounds().len(), table.candidates());
    let centred: Vec<Vec<f64>> = table.centred().rows().map(|(_, row)| row.to_vec()).collect();
    let mean = |i: usize| centred.iter().map(|row| row[i]).sum::<f64>() / n as f64;
    let means: Vec<f64> = (0..k).map(mean).collect();
    let flipped: Vec<Vec<f64>> = centred
        .iter()
        .map(|row| row.iter().zip(&means).map(|(c, mean)| if residuals { c - mean } else { *c }).collect())
        .collect();
    let observed = ts(&centred, &vec![1.0; n], n as f64 - 1.0);
    let patterns = 1_usize << (n - 1);
    let mut order: Vec<usize> = (0..observed.len()).collect();
    order.sort_by(|x, y| observed[*x].0.abs().total_cmp(&observed[*y].0.abs()));
    let mut counts = vec![1; observed.len()];
    let mut largest = Vec::new();
    for pattern in 1..patterns {
        let mut signs: Vec<f64> = (0..n).map(|at| if pattern >> at & 1 == 1 { -1.0 } else { 1.0 }).collect();
        let mut degrees = n as f64 - 1.0;
        if residuals {
            let m = signs.iter().sum::<f64>() / n as f64;
            signs.iter_mut().for_each(|sign| *sign /= (1.0 - m * m).sqrt());
            degrees -= 1.0;
        }
        let t = ts(&flipped, &signs, degrees);
        let mut running = 0.0_f64;
        for pair in &order {
            running = running.max(t[*pair].0.abs());
            counts[*pair] += usize::from(running >= observed[*pair].0.abs());
        }
        largest.push(running);
    }
    largest.sort_by(|x, y| y.total_cmp(x));
    let allowed = (alpha * patterns as f64) as usize;
    let critical = largest[allowed - 1];
    let mut so_far = 0;
    let mut step_down = vec![false; observed.len()];
    for pair in order.iter().rev() {
        so_far = so_far.max(counts[*pair]);
        step_down[*pair] = so_far <= allowed;
    }
    Flipped {
        one_step: observed.iter().map(|(t, ..)| t.abs() > critical).collect(),
        step_down,
        estimates: observed.iter().map(|(_, estimate, _)| *estimate).collect(),
        errors: observed.iter().map(|(.., error)| *error).collect(),
        critical,
    }
}

/// t, estimate and error of each pair under these signs.
fn ts(rows: &[Vec<f64>], signs: &[f64], degrees: f64) -> Vec<(f64, f64, f64)> {
    let (n, k) = (rows.len() as f64, rows[0].len());
    let mean = |i: usize| rows.iter().zip(signs).map(|(row, sign)| sign * row[i]).sum::<f64>() / n;
    let means: Vec<f64> = (0..k).map(mean).collect();
    let squares = |i: usize| rows.iter().map(|row| row[i] * row[i]).sum::<f64>();
    let s: Vec<f64> = (0..k).map(|i| (squares(i) - n * means[i] * means[i]) / degrees).collect();
    let mut sorted = s.clone();
    sorted.sort_by(f64::total_cmp);
    let (kf, all) = (k as f64, s.iter().sum::<f64>());
    let least = 0.05 * (sorted[(k - 1) / 2] + sorted[k / 2]);
    let g: Vec<f64> =
        s.iter().map(|s| (kf / (kf - 2.0) * (s - all / (kf * (kf - 1.0)))).max(least)).collect();
    let pair = |(i, j): (usize, usize)| {
        let (estimate, error) = (means[i] - means[j], ((g[i] + g[j]) / n).sqrt());
        (estimate / error, estimate, error)
    };
    (0..k).flat_map(|i| (i + 1..k).map(move |j| (i, j))).map(pair).collect()
}
