//! Input of the family test: tables of rounds by candidates.

/// One headline metric of one scenario: a row per round, a value per candidate.
///
/// Values are natural logarithms, signed so that larger is better. Only complete rows are accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    candidates: usize,
    rounds: Vec<u32>,
    /// The logarithms, row by row.
    logs: Vec<f64>,
}

impl Table {
    pub fn new(candidates: usize) -> Table {
        Table { candidates, rounds: Vec::new(), logs: Vec::new() }
    }

    /// Adds a row. Returns `false` and adds nothing if a value is missing or is not the logarithm of a positive number, or if
    /// the round exists already.
    pub fn push(&mut self, round: u32, logs: &[f64]) -> bool {
        // ln 5e-324 = -744.4 and ln 1.8e308 = 709.8 are the extremes.
        let complete = logs.len() == self.candidates && logs.iter().all(|log| log.abs() < 745.0);
        if !complete || self.rounds.contains(&round) {
            return false;
        }
        self.rounds.push(round);
        self.logs.extend_from_slice(logs);
        true
    }

    pub fn candidates(&self) -> usize {
        self.candidates
    }

    /// The rounds' numbers, in order of arrival.
    pub fn rounds(&self) -> &[u32] {
        &self.rounds
    }

    /// Each round with its values.
    pub fn rows(&self) -> impl Iterator<Item = (u32, &[f64])> {
        self.rounds.iter().copied().zip(self.logs.chunks_exact(self.candidates.max(1)))
    }

    /// The rows, each minus its mean: removes effects of a round that are common to all candidates.
    pub fn centred(&self) -> Table {
        self.centred_by(&vec![1.0 / self.candidates as f64; self.candidates])
    }

    /// The rows, each minus its mean with these weights, which sum to 1.
    pub(crate) fn centred_by(&self, weights: &[f64]) -> Table {
        debug_assert_eq!(weights.len(), self.candidates, "each candidate has a weight");
        let mut centred = self.clone();
        for row in centred.logs.chunks_exact_mut(self.candidates.max(1)) {
            let mean: f64 = row.iter().zip(weights).map(|(log, weight)| log * weight).sum();
            row.iter_mut().for_each(|log| *log -= mean);
        }
        centred
    }

    /// Each candidate's mean over the rounds. Empty without rounds.
    pub(crate) fn means(&self) -> Vec<f64> {
        let n = self.rounds.len() as f64;
        let of = |candidate| self.rows().map(|(_, row): (u32, &[f64])| row[candidate]).sum::<f64>() / n;
        if self.rounds.is_empty() { Vec::new() } else { (0..self.candidates).map(of).collect() }
    }

    /// The rows, each value minus its candidate's mean.
    pub(crate) fn residuals(&self) -> Table {
        let means = self.means();
        let mut residuals = self.clone();
        for row in residuals.logs.chunks_exact_mut(self.candidates.max(1)) {
            row.iter_mut().zip(&means).for_each(|(log, mean)| *log -= mean);
        }
        residuals
    }

    /// Each candidate's mean square with n − 1 degrees of freedom: s² if these are residuals.
    pub(crate) fn spread(&self) -> Vec<f64> {
        debug_assert!(self.rounds.len() > 1, "a variance needs two rounds");
        let freedom = self.rounds.len() as f64 - 1.0;
        let squares =
            |candidate: usize| self.rows().map(|(_, row)| row[candidate] * row[candidate]).sum::<f64>();
        (0..self.candidates).map(|candidate| squares(candidate) / freedom).collect()
    }
}

/// Combines tables with the same candidates in the same order: for each round common to all, the mean over the tables of the
/// centred logarithms. Judged as a separate family, it gives geometric means of ratios with intervals. ln(geometric mean over W
/// tables of a ÷ b) = mean over the tables of ln(a ÷ b). P. J. Fleming and J. J. Wallace, "How not to lie with statistics: the
/// correct way to summarize benchmark results", CACM 29 (1986), 218–221. `None` without tables, or if their numbers of
/// candidates differ.
///
/// Misleads: all tables have equal weight, which matches nobody's work. A candidate twice as fast in one half and half as fast
/// in the other comes out equal, so it is always shown beside the tables.
pub fn across(tables: &[Table]) -> Option<Table> {
    let first = tables.first()?;
    if tables.iter().any(|table| table.candidates != first.candidates) {
        return None;
    }
    let centred: Vec<Table> = tables.iter().map(Table::centred).collect();
    let mut mean = Table::new(first.candidates);
    for round in &first.rounds {
        let rows: Vec<&[f64]> = centred
            .iter()
            .filter_map(|table| table.rows().find_map(|(of, row)| (of == *round).then_some(row)))
            .collect();
        if rows.len() == tables.len() {
            let over = |candidate| rows.iter().map(|row| row[candidate]).sum::<f64>() / rows.len() as f64;
            mean.push(*round, &(0..first.candidates).map(over).collect::<Vec<f64>>());
        }
    }
    Some(mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(u32, [f64; 3])]) -> Table {
        let mut table = Table::new(3);
        assert!(rows.iter().all(|(round, row)| table.push(*round, row)));
        table
    }

    #[test]
    fn incomplete_rows_and_second_ones_of_a_round_are_left_out() {
        let mut table = Table::new(2);
        assert!(table.push(4, &[1.0, 2.0]));
        assert!(!table.push(4, &[1.0, 2.0]) && !table.push(5, &[1.0]) && !table.push(6, &[1.0, 2.0, 3.0]));
        assert!(!table.push(7, &[1.0, f64::NAN]) && !table.push(8, &[f64::NEG_INFINITY, 1.0]));
        assert!(!table.push(9, &[1e200, 1.0]));
        assert_eq!((table.rounds(), table.candidates()), ([4].as_slice(), 2));
    }

    #[test]
    fn a_centred_row_has_no_mean_and_keeps_its_differences() {
        let centred = table(&[(1, [1.0, 2.0, 6.0])]).centred();
        assert_eq!(centred.rows().collect::<Vec<_>>(), [(1, [-2.0, -1.0, 3.0].as_slice())]);
    }

    #[test]
    fn a_mean_over_tables_takes_the_rounds_that_all_have() {
        let one = table(&[(1, [3.0, 0.0, 0.0]), (2, [0.0, 0.0, 0.0]), (3, [0.0, 3.0, 0.0])]);
        let other = table(&[(3, [10.0, 10.0, 10.0]), (1, [0.0, 6.0, 0.0])]);
        let mean = across(&[one, other]).unwrap();
        assert_eq!(
            mean.rows().collect::<Vec<_>>(),
            [(1, [0.0, 1.5, -1.5].as_slice()), (3, [-0.5, 1.0, -0.5].as_slice())]
        );
    }

    #[test]
    fn tables_of_other_candidates_have_no_mean() {
        assert_eq!(across(&[]), None);
        assert_eq!(across(&[Table::new(2), Table::new(3)]), None);
        assert_eq!(across(&[Table::new(2), Table::new(2)]).unwrap().rounds(), [0_u32; 0]);
    }

    #[test]
    fn a_table_without_candidates_is_empty() {
        let mut none = Table::new(0);
        assert!(none.push(1, &[]));
        assert_eq!((none.centred().rows().count(), none.means().len()), (0, 0));
    }
}
