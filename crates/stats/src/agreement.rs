//! Tests whether two sources order the same items alike, over one or several tables.

/// Figures of two sources for the same items; `None` for an item without a figure in that source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub theirs: Vec<Option<f64>>,
    pub ours: Vec<Option<f64>>,
}

/// The relation of two sources about two items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Same,
    Opposite,
    /// In one of the sources the two items differ by at most the margin, so it does not order them.
    Tied,
}

/// Counts over all pairs of all tables.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Agreement {
    pub same: usize,
    pub opposite: usize,
    pub tied: usize,
    /// Share of all permutations of our items that agree at least as well; `None` above [`MOST`] items.
    pub p: Option<f64>,
}

impl Agreement {
    pub fn pairs(&self) -> usize {
        self.same + self.opposite + self.tied
    }
}

/// Up to this many items all permutations are tried: 5,040.
pub const MOST: usize = 7;

/// Compares how two sources order two items; `theirs` and `ours` hold the figures of the first and the second. Figures whose
/// larger is at most (1 + `margin`) times the smaller are tied. The margin is a fraction: 0.03 is 3 %.
pub fn order(theirs: [f64; 2], ours: [f64; 2], margin: f64) -> Order {
    match direction(theirs, margin) * direction(ours, margin) {
        1 => Order::Same,
        -1 => Order::Opposite,
        _ => Order::Tied,
    }
}

fn direction([a, b]: [f64; 2], margin: f64) -> i32 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    let is_near = high <= low * (1.0 + margin);
    if is_near || !(a.is_finite() && b.is_finite()) {
        return 0;
    }
    if a > b { 1 } else { -1 }
}

/// Whether two tables order (or tie) all pairs alike, on both sides; one of the two is then redundant.
pub fn say_the_same(one: &Table, other: &Table, margin: f64) -> bool {
    let directions = |of: &[Option<f64>]| -> Vec<Option<i32>> {
        let pairs = of.iter().enumerate().flat_map(|(at, a)| of[at + 1..].iter().map(move |b| (a, b)));
        pairs.map(|(a, b)| Some(direction([(*a)?, (*b)?], margin))).collect()
    };
    [(&one.theirs, &other.theirs), (&one.ours, &other.ours)]
        .iter()
        .all(|(a, b)| directions(a) == directions(b))
}

/// Counts the pairs for which both sources have figures, by [`order`], and computes how often chance agrees as well.
///
/// With C pairs in the same order and D in the opposite one over all tables, S = C − D is the numerator of Kendall's τ (M. G.
/// Kendall, "A new measure of rank correlation", Biometrika 30 (1938), 81–93). p is the share of all n! permutations of our
/// items, the identity included, for which S is at least as large: exact and one-sided. Items are permuted in all tables
/// together, as in N. Mantel, "The detection of disease clustering and a generalized regression approach", Cancer Research 27
/// (1967), 209–220, because one item's figures in two tables are not independent; so a duplicated table changes nothing.
///
/// Misleads: with few items p cannot be small, at best 1 ÷ 24 with four. It concerns order alone; all ratios may be wrong.
/// `None` if no table has a pair.
pub fn agreement(tables: &[Table], margin: f64) -> Option<Agreement> {
    let items = tables.iter().map(|table| table.theirs.len()).max()?;
    let directions = |of: &[Option<f64>]| -> Vec<Option<i32>> {
        let at = |item: usize| of.get(item).copied().flatten();
        let pair = |a: usize, b: usize| Some(direction([at(a)?, at(b)?], margin));
        (0..items * items).map(|n| pair(n / items, n % items)).collect()
    };
    let both: Vec<_> = tables.iter().map(|t| (directions(&t.theirs), directions(&t.ours))).collect();
    let pairs: Vec<(usize, usize)> = (0..items).flat_map(|a| (a + 1..items).map(move |b| (a, b))).collect();
    // For each pair of theirs in each table, times the permuted pair of ours: 1, −1, or 0 if tied.
    let products = |exchanged: &[usize]| -> Vec<i32> {
        let of = |(a, b): (usize, usize)| {
            let ours_at = exchanged[a] * items + exchanged[b];
            both.iter().filter_map(move |(theirs, ours)| Some(theirs[a * items + b]? * ours[ours_at]?))
        };
        pairs.iter().copied().flat_map(of).collect()
    };
    let mut exchanged: Vec<usize> = (0..items).collect();
    let seen = products(&exchanged);
    if seen.is_empty() {
        return None;
    }
    let of = |product| seen.iter().filter(|p| **p == product).count();
    let mut found = Agreement { same: of(1), opposite: of(-1), tied: of(0), p: None };
    let score = |exchanged: &[usize]| products(exchanged).iter().sum::<i32>();
    if items <= MOST {
        let (least, mut all, mut as_good) = (score(&exchanged), 0, 0);
        each_order(&mut exchanged, 0, &mut |exchanged| {
            all += 1;
            as_good += u32::from(score(exchanged) >= least);
        });
        found.p = Some(f64::from(as_good) / f64::from(all));
    }
    Some(found)
}

/// Calls `tell` with every permutation of the items from `first` on.
fn each_order(items: &mut [usize], first: usize, tell: &mut impl FnMut(&[usize])) {
    if first == items.len() {
        return tell(items);
    }
    for next in first..items.len() {
        items.swap(first, next);
        each_order(items, first + 1, tell);
        items.swap(first, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(theirs: &[f64], ours: &[f64]) -> Table {
        let of = |figures: &[f64]| figures.iter().map(|f| Some(*f).filter(|f| !f.is_nan())).collect();
        Table { theirs: of(theirs), ours: of(ours) }
    }

    fn p(theirs: &[f64], ours: &[f64]) -> f64 {
        agreement(&[table(theirs, ours)], 0.0).and_then(|a| a.p).expect("few items")
    }

    /// For four items S is 6, 4, 2 and 0 in 1, 3, 5 and 6 of 24 orders (M. G. Kendall, Rank Correlation Methods, appendix
    /// table 1).
    #[test]
    fn the_chance_is_that_of_kendalls_table() {
        let theirs = [1.0, 2.0, 3.0, 4.0];
        for (ours, known) in [
            ([1.0, 2.0, 3.0, 4.0], 1.0),
            ([2.0, 1.0, 3.0, 4.0], 4.0),
            ([2.0, 3.0, 1.0, 4.0], 9.0),
            ([3.0, 2.0, 1.0, 4.0], 15.0),
            ([4.0, 3.0, 2.0, 1.0], 24.0),
        ] {
            assert!((p(&theirs, &ours) - known / 24.0).abs() < 1e-12, "{ours:?}");
        }
        let five = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert!((p(&five, &five) - 1.0 / 120.0).abs() < 1e-12);
    }

    #[test]
    fn a_table_that_is_there_twice_is_no_more_evidence() {
        let one = table(&[1.0, 2.0, 3.0, 4.0], &[2.0, 1.0, 3.0, 4.0]);
        let once = agreement(std::slice::from_ref(&one), 0.0).expect("pairs");
        let twice = agreement(&[one.clone(), one], 0.0).expect("pairs");
        assert_eq!((once.same, once.opposite, twice.same, twice.opposite), (5, 1, 10, 2));
        assert_eq!(once.p, twice.p);
    }

    #[test]
    fn what_has_the_same_order_on_both_sides_says_the_same() {
        let one = table(&[1.0, 2.0, 3.0], &[5.0, 4.0, 6.0]);
        assert!(say_the_same(&one, &table(&[10.0, 20.0, 90.0], &[8.0, 7.0, 9.0]), 0.0));
        assert!(!say_the_same(&one, &table(&[10.0, 20.0, 90.0], &[7.0, 8.0, 9.0]), 0.0));
        assert!(!say_the_same(&one, &table(&[10.0, 20.0, 90.0], &[8.0, f64::NAN, 9.0]), 0.0));
        assert!(!say_the_same(&one, &table(&[10.0, 10.1, 90.0], &[8.0, 7.0, 9.0]), 0.03));
    }

    #[test]
    fn figures_within_the_margin_agree_with_nothing() {
        assert_eq!(order([3.0, 3.05], [1.0, 9.0], 0.03), Order::Tied);
        assert_eq!(order([1.0, 9.0], [3.05, 3.0], 0.03), Order::Tied);
        assert_eq!(order([3.0, 3.2], [9.0, 1.0], 0.03), Order::Opposite);
        assert_eq!(order([0.0, 3.0], [0.0, 0.1], 0.03), Order::Same);
        assert_eq!(order([0.0, 0.0], [0.0, 0.1], 0.03), Order::Tied);
        let tied = agreement(&[table(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0])], 0.03).expect("pairs");
        assert_eq!(tied, Agreement { same: 0, opposite: 0, tied: 3, p: Some(1.0) });
    }

    #[test]
    fn a_pair_needs_all_four_figures() {
        let some = table(&[1.0, 2.0, f64::NAN, 4.0], &[1.0, 2.0, 3.0, f64::NAN]);
        assert_eq!(agreement(&[some], 0.0).map(|a| a.pairs()), Some(1));
        assert_eq!(agreement(&[table(&[1.0, f64::NAN], &[f64::NAN, 1.0])], 0.0), None);
        assert_eq!(agreement(&[], 0.0), None);
    }

    #[test]
    fn of_more_items_than_can_be_exchanged_there_is_no_chance_told() {
        let many: Vec<f64> = (0..=MOST).map(|n| n as f64).collect();
        let found = agreement(&[table(&many, &many)], 0.0).expect("pairs");
        assert_eq!((found.same, found.p), (28, None));
    }
}
