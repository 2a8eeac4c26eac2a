//! The pairs of a comparison, viewable from either side.

use crate::schema::finding::{Finding, Found, Place};

/// A pair of candidates, from the side of `a`; without a finding if it is over all metrics.
#[derive(Clone, Debug)]
pub struct Pair {
    pub a: String,
    pub b: String,
    pub ratio: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub found: Option<Found>,
}

impl Pair {
    pub fn of(finding: &Finding) -> Self {
        let (a, b) = (finding.a.clone(), finding.b.clone());
        let Finding { ratio, low, high, finding: found, n, .. } = *finding;
        // A single sample gives no interval.
        let [low, high] = [low, high].map(|end| end.filter(|_| n > 1));
        Pair { a, b, ratio, low, high, found: Some(found) }
    }

    /// This pair from the side of the candidate `label`.
    fn seen_from(&self, label: &str) -> Option<Pair> {
        if self.a == label {
            return Some(self.clone());
        }
        let turned = || Pair {
            a: self.b.clone(),
            b: self.a.clone(),
            ratio: 1.0 / self.ratio,
            low: self.high.map(|high| 1.0 / high),
            high: self.low.map(|low| 1.0 / low),
            found: self.found.map(Found::turned),
        };
        (self.b == label).then(turned)
    }
}

/// All pairs of one comparison.
pub struct Pairs(Vec<Pair>);

impl Pairs {
    pub fn new(pairs: Vec<Pair>) -> Self {
        Pairs(pairs)
    }

    pub fn between(&self, a: &str, b: &str) -> Option<Pair> {
        let mut seen = self.0.iter().filter_map(|pair| pair.seen_from(a));
        seen.find(|pair| pair.b == b)
    }

    /// Whether every pair of them has this finding.
    pub fn all_of(&self, labels: &[String], found: Found) -> bool {
        let is_so = |a: &String, b: &String| self.between(a, b).is_some_and(|pair| pair.found == Some(found));
        labels.iter().enumerate().all(|(at, a)| labels[at + 1..].iter().all(|b| is_so(a, b)))
    }

    fn of<'p>(&'p self, label: &'p str) -> impl Iterator<Item = Pair> + 'p {
        self.0.iter().filter_map(move |pair| pair.seen_from(label))
    }

    fn candidates(&self) -> Vec<&String> {
        let mut all = Vec::new();
        for label in self.0.iter().flat_map(|pair| [&pair.a, &pair.b]) {
            if !all.contains(&label) {
                all.push(label);
            }
        }
        all
    }

    /// Best first, by the mean log ratio to all others, with the ranks that the findings allow.
    pub fn places(&self) -> Vec<Place> {
        let candidates = self.candidates();
        let n = candidates.len() as u32;
        let mut scored: Vec<(f64, Place)> = candidates
            .into_iter()
            .map(|label| {
                let sum: f64 = self.of(label).map(|pair| pair.ratio.ln()).sum();
                let with = |found| self.of(label).filter(|pair| pair.found == Some(found)).count() as u32;
                let (best, worst) = (1 + with(Found::Worse), n - with(Found::Better));
                (sum, Place { candidate: label.clone(), best, worst, ratio: 1.0 })
            })
            .collect();
        scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        scored.into_iter().map(|(_, place)| place).collect()
    }

    /// The pairs that contain none of these.
    pub fn without(&self, labels: &[String]) -> Pairs {
        let is_in = |pair: &&Pair| !labels.contains(&pair.a) && !labels.contains(&pair.b);
        Pairs(self.0.iter().filter(is_in).cloned().collect())
    }

    /// Whether neither was found better.
    pub fn is_tie(&self, a: &str, b: &str) -> bool {
        let found = self.between(a, b).and_then(|pair| pair.found);
        !matches!(found, Some(Found::Better | Found::Worse))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples::verdict;

    #[test]
    fn one_sample_has_no_interval() {
        let mut finding = verdict::of_one_workload(12).findings[0].clone();
        assert!(Pair::of(&finding).low < Pair::of(&finding).high);
        finding.n = 1;
        assert_eq!((Pair::of(&finding).low, Pair::of(&finding).high), (None, None));
    }
}
