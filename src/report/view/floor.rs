//! Disk-model overhead in the ratios, in words.

use super::number::{list, ratio};
use crate::schema::finding::{Evidence, Finding, Floor, Found};
use crate::schema::units::Percent;

/// At most this many withheld pairs are named.
const NAMED: usize = 6;
const AS_CHANCE: &str = "no more than other workload seeds do";
/// An overhead below this share is stated as a number, even if other seeds shift the ratio as far.
const SAYS_ENOUGH: f64 = 0.1;

/// The overhead measured for this pair.
pub fn floor(finding: &Finding) -> Option<&Floor> {
    match &finding.evidence {
        Evidence::Samples { floor, .. } => floor.as_ref(),
        Evidence::Rounds { .. } => None,
    }
}

/// Whether two and three times the overhead shift the ratio in both directions, or no farther than other workload seeds do: the
/// extrapolation is then meaningless.
fn moves_as_chance(finding: &Finding) -> bool {
    let Evidence::Samples { floor: Some(floor), chaos: Some(chaos), .. } = &finding.evidence else {
        return false;
    };
    let spread = |ratios: &[f64]| fsderby_stats::range(ratios).map_or(1.0, |(least, most)| most / least);
    let seeds = spread(&chaos.ratios);
    let [once, twice, thrice] = floor.ratios;
    let is_both_ways = (twice - once) * (thrice - twice) < 0.0;
    let is_told = 1.0 + floor.moves > seeds && (is_both_ways || spread(&floor.ratios) <= seeds);
    floor.moves > SAYS_ENOUGH && is_told
}

/// An upper bound as text: `3.1%`, and never less than 0.1 %.
pub fn share(share: f64) -> String {
    let percent = (share * 100.0).max(0.1);
    match percent {
        ..10.0 => Percent((percent * 10.0).round() / 10.0).to_string(),
        _ => Percent(percent.round()).to_string(),
    }
}

/// A finding that the samples support, but that is withheld because of disk-model overhead.
pub struct Withheld<'f> {
    finding: &'f Finding,
    would_be: Found,
}

impl<'f> Withheld<'f> {
    pub fn of(finding: &'f Finding) -> Option<Self> {
        match finding.evidence {
            Evidence::Samples { withheld: Some(would_be), .. } => Some(Withheld { finding, would_be }),
            _ => None,
        }
    }

    /// The reason: `disk-model overhead shifts this ratio by up to 3%; without it alderfs and birchfs may be alike`.
    pub fn why(&self) -> String {
        let Finding { a, b, .. } = self.finding;
        let claim = match self.would_be {
            Found::Equivalent | Found::CannotTell => format!("{a} and {b} may differ"),
            Found::Better | Found::Worse => format!("{a} and {b} may be alike"),
        };
        match floor(self.finding) {
            Some(_) if moves_as_chance(self.finding) => {
                format!("disk-model overhead shifts this ratio {AS_CHANCE}; without this overhead {claim}")
            }
            Some(floor) => format!(
                "disk-model overhead shifts this ratio by up to {percent}; without this overhead {claim}",
                percent = share(floor.moves)
            ),
            None => {
                format!("disk-model overhead was not measured for this ratio; without this overhead {claim}")
            }
        }
    }

    /// The pair in words: `alderfs ÷ birchfs in mail (1.05, shifted by up to 3%)`.
    fn brief(&self) -> String {
        let Finding { a, b, scenario, .. } = self.finding;
        let moved = match floor(self.finding) {
            Some(_) if moves_as_chance(self.finding) => "shifted as by chance".to_owned(),
            Some(floor) => format!("shifted by up to {}", share(floor.moves)),
            None => "overhead not measured".to_owned(),
        };
        format!("{a} ÷ {b} in {scenario} ({ratio}, {moved})", ratio = ratio(self.finding.ratio))
    }
}

/// The withheld findings in one sentence; `None` if there are none.
pub fn withheld(findings: &[Finding]) -> Option<String> {
    let withheld: Vec<Withheld<'_>> = findings.iter().filter_map(Withheld::of).collect();
    let mut named: Vec<String> = withheld.iter().take(NAMED).map(Withheld::brief).collect();
    if withheld.len() > NAMED {
        named.push(format!("{} more", withheld.len() - NAMED));
    }
    let n = withheld.len();
    let (what, verb) = if n == 1 { ("1 finding", "is") } else { (&*format!("{n} findings"), "are") };
    (n > 0).then(|| {
        format!(
            "{what} {verb} withheld because disk-model overhead on the guest's CPU may explain the difference: {ratios}.",
            ratios = list(&named)
        )
    })
}

/// How far disk-model overhead shifts the ratios that are not withheld; `None` if it was not measured.
pub fn shifts(findings: &[Finding]) -> Option<String> {
    let others: Vec<&Finding> =
        findings.iter().filter(|f| floor(f).is_some() && Withheld::of(f).is_none()).collect();
    let (chance, told): (Vec<&Finding>, Vec<&Finding>) =
        others.iter().copied().partition(|f| moves_as_chance(f));
    let most = told.into_iter().filter_map(floor).map(|floor| floor.moves).max_by(f64::total_cmp);
    let the = if findings.iter().any(|f| Withheld::of(f).is_some()) { "the other" } else { "the" };
    let time = "simulation's own CPU time";
    let shifts = match (most, chance.is_empty()) {
        (None, true) => return None,
        (None, false) => format!("The {time} shifts {the} ratios {AS_CHANCE}"),
        (Some(most), true) => format!("The {time} shifts {the} ratios by up to {}", share(most)),
        (Some(most), false) => {
            format!(
                "Beyond the effect of other workload seeds, the {time} shifts {the} ratios by up to {}",
                share(most)
            )
        }
    };
    let is_found = others.iter().any(|f| f.finding != Found::CannotTell);
    let holds = if is_found { "; the findings hold with and without this shift" } else { "" };
    Some(format!("{shifts}{holds}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::finding::Chaos;

    fn finding(found: Found, withheld: Option<Found>, moves: Option<f64>) -> Finding {
        let floor = moves.map(|moves| Floor {
            ratios: [1.1, 1.09, 1.08],
            without: 1.11,
            bound: 0.0,
            moves,
            capped: false,
        });
        Finding {
            finding: found,
            scenario: "mail".into(),
            metric: "rate".into(),
            dimensions: String::new(),
            a: "alderfs".into(),
            b: "birchfs".into(),
            ratio: 1.1,
            low: None,
            high: None,
            n: 13,
            evidence: Evidence::Samples {
                a_better: 13,
                within_margin: 0,
                b_better: 0,
                deciders: Vec::new(),
                floor,
                withheld,
                chaos: None,
                corner: None,
                costs: None,
                model_error: None,
                refuted: None,
            },
        }
    }

    #[test]
    fn what_is_withheld_is_named_with_its_bound() {
        let one = finding(Found::CannotTell, Some(Found::Better), Some(0.0312));
        let why = Withheld::of(&one).map(|withheld| withheld.why()).unwrap_or_default();
        assert_eq!(
            why,
            "disk-model overhead shifts this ratio by up to 3.1%; without this overhead alderfs and birchfs may be alike"
        );
        let all = [one, finding(Found::Better, None, Some(0.0002))];
        let said = withheld(&all).unwrap_or_default();
        assert!(
            said.contains("1 finding is withheld")
                && said.contains("alderfs ÷ birchfs in mail (1.10, shifted by up to 3.1%)"),
            "{said}"
        );
        assert_eq!(
            shifts(&all).unwrap_or_default(),
            "The simulation's own CPU time shifts the other ratios by up to 0.1%; the findings hold with and without \
             this shift."
        );
    }

    #[test]
    fn what_chance_moves_as_far_or_both_ways_is_not_told_as_the_models_doing() {
        let tried = |floor: [f64; 3], seeds: [f64; 3]| {
            let mut one = finding(Found::CannotTell, Some(Found::Better), Some(8.64));
            let Evidence::Samples { floor: Some(known), chaos, .. } = &mut one.evidence else { return one };
            known.ratios = floor;
            *chaos = Some(Chaos { ratios: seeds.to_vec(), spreads: [1.0; 2] });
            one
        };
        let told = tried([1.1, 1.3, 1.4], [1.1, 1.1, 1.101]);
        assert!(withheld(&[told]).is_some_and(|said| said.contains("shifted by up to 864%")));
        for chance in [tried([1.1, 1.2, 1.3], [1.1, 1.3, 0.9]), tried([1.4, 1.1, 1.7], [1.1, 1.1, 1.2])] {
            let why = Withheld::of(&chance).map(|withheld| withheld.why()).unwrap_or_default();
            assert!(why.contains("no more than other workload seeds do") && !why.contains("864%"), "{why}");
            let alone = std::slice::from_ref(&chance);
            assert!(withheld(alone).is_some_and(|said| said.contains("shifted as by chance")));
            assert_eq!(shifts(alone), None);
            let mut open = chance.clone();
            if let Evidence::Samples { withheld, .. } = &mut open.evidence {
                *withheld = None;
            }
            let beside = [open.clone(), finding(Found::Better, None, Some(0.0002))];
            assert_eq!(
                shifts(&beside).unwrap_or_default(),
                "Beyond the effect of other workload seeds, the simulation's own CPU time shifts the ratios by up to \
                 0.1%; the findings hold with and without this shift."
            );
            assert_eq!(
                shifts(&[chance, open]).unwrap_or_default(),
                "The simulation's own CPU time shifts the other ratios no more than other workload seeds do."
            );
        }
    }

    #[test]
    fn what_was_not_measured_is_said_to_be_so() {
        let one = finding(Found::CannotTell, Some(Found::Equivalent), None);
        let why = Withheld::of(&one).map(|withheld| withheld.why()).unwrap_or_default();
        assert!(why.contains("was not measured") && why.contains("may differ"), "{why}");
        assert!(Withheld::of(&finding(Found::Better, None, None)).is_none());
        assert_eq!(shifts(&[finding(Found::Better, None, None)]), None);
    }
}
