//! One candidate that entered twice: whether the two differ, over all headline metrics together.

/// The p of the pair over all metrics jointly. For each metric the differences of the two logarithms, a value a round;
/// metrics may have different rounds. 1 where no metric has two rounds.
pub fn same_twice(differences: &[Vec<f64>]) -> f64 {
    let _ = differences;
    todo!()
}
