//! Interim analyses (looks): after which rounds a run is judged, and how much of the error rate of 5 % each look spends.

/// The error rate that all looks of a run share.
pub const ALPHA: f64 = 0.05;

/// A number of complete rounds at which a run is judged, with the α that it may spend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interim {
    pub rounds: usize,
    pub alpha: f64,
}

/// The looks fixed before the first round, rising.
///
/// At each look the family is judged at that look's α. The probability that any look calls two identical candidates different
/// is at most the sum of the α, 5 % (Bonferroni's inequality over looks). The intervals at all looks together hold with 95 %
/// (repeated confidence intervals: C. Jennison and B. W. Turnbull, J. R. Stat. Soc. B 51 (1989), 305–361).
///
/// An unplanned look, when a run is stopped or continued after its verdict, uses the α that the plan had spent by that number
/// of rounds, minus the α of looks already shown (K. K. G. Lan and D. L. DeMets, Biometrika 70 (1983), 659–663). It is linear
/// between planned looks, 0 at no rounds, and all of it from the last look on.
///
/// Misleads if somebody sees results without counting a look and continues because of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Looks {
    planned: Vec<Interim>,
}

impl Looks {
    /// A single look after this many rounds, which spends the whole error rate of 5 %.
    pub fn once(rounds: usize) -> Looks {
        Looks { planned: vec![Interim { rounds, alpha: ALPHA }] }
    }

    /// A single look after this many rounds, with this α.
    pub fn at(rounds: usize, alpha: f64) -> Looks {
        Looks { planned: vec![Interim { rounds, alpha }] }
    }

    /// Looks after 10, 14 and 20 rounds, with α 0.01, 0.015 and 0.025.
    pub fn auto() -> Looks {
        let planned = [(10, 0.01), (14, 0.015), (20, 0.025)].map(|(rounds, alpha)| Interim { rounds, alpha });
        Looks { planned: planned.to_vec() }
    }

    pub fn planned(&self) -> &[Interim] {
        &self.planned
    }

    /// The first planned look after more than `rounds` rounds.
    pub fn next_after(&self, rounds: usize) -> Option<Interim> {
        self.planned.iter().copied().find(|look| look.rounds > rounds)
    }

    /// The α available to a look after `rounds` rounds, given the looks already shown; with 0 nothing can be found. Showing the
    /// same rounds again is not a new look. Fewer rounds than already shown find nothing.
    pub fn available(&self, rounds: usize, shown: &[Interim]) -> f64 {
        if let Some(same) = shown.iter().find(|look| look.rounds == rounds) {
            return same.alpha;
        }
        if shown.iter().any(|look| look.rounds > rounds) {
            return 0.0;
        }
        rest(self.spent_by(rounds), shown)
    }

    /// The part of the error rate of 5 % that the looks already shown have left for later looks.
    pub fn left(&self, shown: &[Interim]) -> f64 {
        rest(ALPHA, shown)
    }

    /// The planned looks after those already shown, each with the α available if no other look intervenes.
    pub fn to_come(&self, shown: &[Interim]) -> Looks {
        let (last, mut all) = (shown.last().map_or(0, |look| look.rounds), shown.to_vec());
        for look in self.planned.iter().filter(|look| look.rounds > last) {
            all.push(Interim { rounds: look.rounds, alpha: self.available(look.rounds, &all) });
        }
        Looks { planned: all.split_off(shown.len()) }
    }

    /// The α that the plan has spent after this many rounds.
    fn spent_by(&self, rounds: usize) -> f64 {
        let (mut from, mut spent) = (0, 0.0);
        for look in &self.planned {
            if rounds < look.rounds {
                return spent + look.alpha * (rounds - from) as f64 / (look.rounds - from) as f64;
            }
            (from, spent) = (look.rounds, spent + look.alpha);
        }
        spent
    }
}

/// The number rounded to twelve digits, so that 0.05 − 0.01 is 0.04.
fn rest(of: f64, shown: &[Interim]) -> f64 {
    let rest = of - shown.iter().map(|look| look.alpha).sum::<f64>();
    ((rest * 1e12).round() / 1e12).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(rounds: usize, alpha: f64) -> Interim {
        Interim { rounds, alpha }
    }

    #[test]
    fn planned_looks_spend_what_was_planned_and_five_per_cent_in_all() {
        let (looks, mut shown) = (Looks::auto(), Vec::new());
        for (rounds, alpha, left) in [(10, 0.01, 0.04), (14, 0.015, 0.025), (20, 0.025, 0.0)] {
            assert_eq!(looks.available(rounds, &shown), alpha);
            shown.push(look(rounds, alpha));
            assert_eq!(looks.left(&shown), left);
        }
        assert_eq!(looks.available(30, &shown), 0.0);
    }

    #[test]
    fn a_look_that_was_passed_over_leaves_its_share_to_the_next() {
        assert_eq!(Looks::auto().available(14, &[]), 0.025);
        assert_eq!(Looks::auto().available(20, &[look(10, 0.01)]), 0.04);
        assert_eq!(Looks::auto().available(50, &[]), 0.05);
    }

    #[test]
    fn a_look_between_two_takes_its_part_of_what_lies_between_them() {
        // 10 rounds have 0.01 and 14 have 0.025.
        assert_eq!(Looks::auto().available(12, &[look(10, 0.01)]), 0.0075);
        assert_eq!(Looks::auto().available(14, &[look(10, 0.01), look(12, 0.0075)]), 0.0075);
        assert_eq!(Looks::auto().available(5, &[]), 0.005);
        assert_eq!(Looks::auto().available(0, &[]), 0.0);
    }

    #[test]
    fn after_a_single_look_nothing_is_left() {
        let once = Looks::once(12);
        assert_eq!(once.available(12, &[]), 0.05);
        assert_eq!(once.available(20, &[look(12, 0.05)]), 0.0);
        assert_eq!(once.left(&[look(12, 0.05)]), 0.0);
        // Stopped half way it spends half, and the rest of the plan may use the other half.
        assert_eq!(once.available(6, &[]), 0.025);
        assert_eq!(once.available(12, &[look(6, 0.025)]), 0.025);
    }

    #[test]
    fn the_same_rounds_are_the_same_look_and_fewer_find_nothing() {
        let shown = [look(10, 0.01), look(14, 0.015)];
        assert_eq!(Looks::auto().available(10, &shown), 0.01);
        assert_eq!(Looks::auto().available(12, &shown), 0.0);
    }

    #[test]
    fn whatever_the_looks_they_never_spend_more_than_five_per_cent() {
        for looks in [Looks::auto(), Looks::once(7), Looks::once(20)] {
            let mut shown = Vec::new();
            for rounds in 0..40 {
                shown.push(look(rounds, looks.available(rounds, &shown)));
            }
            let spent: f64 = shown.iter().map(|look| look.alpha).sum();
            assert!((spent - 0.05).abs() < 1e-9, "{spent}");
        }
    }

    #[test]
    fn looks_to_come_use_what_those_before_have_left() {
        assert_eq!(Looks::auto().to_come(&[]), Looks::auto());
        let rest = Looks::auto().to_come(&[look(10, 0.01)]);
        assert_eq!(rest.planned(), [look(14, 0.015), look(20, 0.025)]);
        assert_eq!(Looks::auto().to_come(&[look(12, 0.0175)]).planned(), [look(14, 0.0075), look(20, 0.025)]);
        assert_eq!(Looks::once(6).to_come(&[look(6, 0.05)]).planned(), []);
    }

    #[test]
    fn the_next_look_is_the_first_with_more_rounds() {
        assert_eq!(Looks::auto().next_after(0), Some(look(10, 0.01)));
        assert_eq!(Looks::auto().next_after(10), Some(look(14, 0.015)));
        assert_eq!(Looks::auto().next_after(20), None);
    }
}
