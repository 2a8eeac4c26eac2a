//! A comparison in one sentence: which candidate, by how much. Every claim repeats a finding; values and their order decide
//! nothing here.

use std::collections::BTreeSet;

use super::pairs::{Pair, Pairs};
use super::words::{Beside, Ends, Words};
use crate::report::view::comparison::Comparison;
use crate::report::view::heading::Standing;
use crate::report::view::number::{count, list, named, ratio};
use crate::report::view::row::Row;
use crate::report::view::sentence::{Claim, Said, Sentence};
use crate::report::view::standings;
use crate::schema::finding::{Basis, Evidence, Found, Verdict};

/// Above this, candidates are not named individually.
const NAMED: usize = 4;

/// The metric of a comparison, and the basis of its findings.
pub struct Of<'r> {
    pub row: &'r Row,
    pub verdict: &'r Verdict,
}

pub fn of(comparison: &Comparison, pairs: &Pairs, about: &Of<'_>) -> Sentence {
    if comparison.is_preliminary {
        return Sentence::default();
    }
    let words = Words::of(about.row.stands_in, about.row.of, about.row.better, &about.row.title);
    let told = Told { comparison, pairs, about, words };
    let ranked = told.ranked();
    if let ([one], false) = (ranked.as_slice(), comparison.unequal.is_empty()) {
        return format!(
            "Only {candidate} makes synced data durable, so the candidates are not ranked.",
            candidate = named(one)
        )
        .into();
    }
    let leaders: Vec<&str> =
        ranked.iter().copied().filter(|label| told.betters(label, &ranked).is_empty()).collect();
    let rest: Vec<&str> = ranked.iter().copied().filter(|label| !leaders.contains(label)).collect();
    match (leaders.as_slice(), rest.as_slice()) {
        ([], _) | ([_], []) => Sentence::default(),
        ([one], rest) => told.won(one, rest),
        (several, []) => told.nothing_found(several),
        (several, rest) => told.several(several, rest),
    }
}

struct Told<'t> {
    comparison: &'t Comparison,
    pairs: &'t Pairs,
    about: &'t Of<'t>,
    words: Words,
}

impl<'t> Told<'t> {
    /// Candidates without weaker durability than another; all candidates if there is none.
    fn ranked(&self) -> Vec<&'t str> {
        let all = || self.comparison.lines.iter().map(|line| line.candidate.as_str());
        let equal: Vec<&str> = all().filter(|label| !self.comparison.is_unequal(label)).collect();
        if equal.is_empty() { all().collect() } else { equal }
    }

    fn pair(&self, a: &str, b: &str) -> Option<Pair> {
        self.pairs.between(a, b)
    }

    fn found(&self, a: &str, b: &str) -> Option<Found> {
        self.pair(a, b)?.found
    }

    /// The candidates among these that were found better than it.
    fn betters<'l>(&self, label: &str, of: &[&'l str]) -> Vec<&'l str> {
        of.iter().copied().filter(|other| self.found(other, label) == Some(Found::Better)).collect()
    }

    fn claim(&self, said: Said, a: &str, b: &str) -> Claim {
        let pair = self.pair(a, b);
        let Comparison { scenario, metric, dimensions, .. } = self.comparison;
        Claim {
            said,
            scenario: scenario.clone(),
            metric: metric.clone(),
            dimensions: dimensions.clone(),
            a: a.to_owned(),
            b: b.to_owned(),
            a_in: None,
            low: pair.as_ref().and_then(|pair| pair.low),
            high: pair.and_then(|pair| pair.high),
        }
    }

    /// The range over these pairs, each the first one's ratio to the second.
    fn ends(&self, pairs: &[(&str, &str)]) -> Ends {
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for (a, b) in pairs {
            let Some(pair) = self.pair(a, b) else { continue };
            low = low.min(pair.low.unwrap_or(pair.ratio));
            high = high.max(pair.high.unwrap_or(pair.ratio));
        }
        (low, high)
    }

    /// `36–39 % slower than birchfs`, over these pairs.
    fn differs(&self, pairs: &[(&str, &str)], to: &str) -> String {
        self.words.differs(self.ends(pairs), Beside::Candidate(to))
    }

    /// Like [`differs`](Self::differs) for one candidate beside others. Beside two, ranges that differ stand for themselves, as in tables.
    fn differs_from(&self, label: &str, others: &[&str], than: &str) -> String {
        if let [one, two] = others {
            let [first, second] = [one, two].map(|other| self.differs(&[(label, other)], than));
            if first != second {
                return list(&[one, two].map(|other| self.differs(&[(label, other)], &named(other))));
            }
        }
        let pairs: Vec<(&str, &str)> = others.iter().map(|other| (label, *other)).collect();
        self.differs(&pairs, than)
    }

    /// One leader, with the others relative to it.
    fn won(&self, one: &str, rest: &[&str]) -> Sentence {
        let (beaten, open): (Vec<&str>, Vec<&str>) =
            rest.iter().copied().partition(|label| self.found(one, label) == Some(Found::Better));
        let mut claims: Vec<Claim> =
            beaten.iter().map(|label| self.claim(Said::Better, one, label)).collect();
        let pair = |label: &&str| self.differs(&[(one, *label)], &named(label));
        let differs = match beaten.as_slice() {
            [] => None,
            several if several.len() > NAMED => {
                let n = several.len();
                let those =
                    if open.is_empty() { format!("each of the other {n}") } else { format!("{n} others") };
                let pairs: Vec<(&str, &str)> = several.iter().map(|label| (one, *label)).collect();
                Some(self.differs(&pairs, &those))
            }
            few => Some(list(&few.iter().map(pair).collect::<Vec<String>>())),
        };
        let verb = self.words.verb(false);
        let who = differs.map(|differs| format!("{} {verb} {differs}", named(one)));
        let mut clauses = Vec::from_iter(who);
        let (open_clauses, open_claims) = self.partly(&[one], &open);
        clauses.extend(open_clauses);
        claims.extend(open_claims);
        Sentence::new(format!("{}.", clauses.join("; ")), claims)
    }

    /// Several leaders that none was found better than, and the others.
    fn several(&self, leaders: &[&str], rest: &[&str]) -> Sentence {
        let mut lead = self.alike(leaders);
        let is_full = |label: &&str| self.betters(label, leaders).len() == leaders.len();
        let (full, partly): (Vec<&str>, Vec<&str>) = rest.iter().copied().partition(is_full);
        let are_named = leaders.len() <= NAMED;
        let than = if are_named { listed(leaders) } else { format!("all {}", leaders.len()) };
        for label in &full {
            lead.claims.extend(leaders.iter().map(|leader| self.claim(Said::Better, leader, label)));
        }
        let mut clauses = match full.as_slice() {
            [] => Vec::new(),
            few if few.len() <= NAMED => {
                let verb = self.words.verb(false);
                let of = |label: &&str| {
                    format!("{} {verb} {}", named(label), self.differs_from(label, leaders, &than))
                };
                few.iter().map(of).collect()
            }
            many => {
                let other = if partly.is_empty() { "the other " } else { "" };
                let beside = |label| leaders.iter().map(move |leader| (label, *leader));
                let pairs: Vec<(&str, &str)> = many.iter().copied().flat_map(beside).collect();
                let (number, verb) = (many.len(), self.words.verb(true));
                vec![format!("{other}{number} {verb} {}", self.differs(&pairs, &than))]
            }
        };
        // What was found stands before what was not, if it can name all of them.
        let at = if are_named && full.len() <= NAMED { clauses.len() } else { 0 };
        clauses.insert(at, std::mem::take(&mut lead.text));
        let (partly, claims) = self.partly(leaders, &partly);
        clauses.extend(partly);
        lead.claims.extend(claims);
        lead.text = format!("{}.", clauses.join("; "));
        lead
    }

    /// Candidates that another was found better than, but not every leader.
    fn partly(&self, leaders: &[&str], labels: &[&str]) -> (Vec<String>, Vec<Claim>) {
        let (mut clauses, mut claims) = (Vec::new(), Vec::new());
        let ranked = self.ranked();
        for label in labels.iter().take(NAMED) {
            let mut above = self.betters(label, leaders);
            if above.is_empty() {
                above = self.betters(label, &ranked).into_iter().take(1).collect();
            }
            let open: Vec<&str> = leaders
                .iter()
                .copied()
                .filter(|leader| self.is_open(leader, label) && !above.contains(leader))
                .collect();
            claims.extend(above.iter().map(|other| self.claim(Said::Better, other, label)));
            claims.extend(open.iter().map(|other| self.claim(Said::NotToldApart, other, label)));
            let (verb, differs) = (self.words.verb(false), self.differs_from(label, &above, &listed(&above)));
            let mut said = format!("{} {verb} {differs}", named(label));
            if !open.is_empty() {
                let pairs: Vec<(&str, &str)> = open.iter().map(|leader| (*leader, *label)).collect();
                said += &format!(" and not told apart from {}{}", listed(&open), self.reason(&pairs));
            }
            clauses.push(said);
        }
        if labels.len() > NAMED {
            clauses.push(format!("{number} more are in the table", number = labels.len() - NAMED));
        }
        (clauses, claims)
    }

    /// In brackets, the reason that all of these pairs share for being no finding although their samples differ.
    fn reason(&self, pairs: &[(&str, &str)]) -> String {
        let Comparison { scenario, metric, dimensions, .. } = self.comparison;
        let why = |(a, b): &(&str, &str)| {
            let mut findings = self.about.verdict.of(scenario, metric, dimensions);
            findings
                .find_map(|f| f.from_the_side_of(a).filter(|f| f.b == *b))
                .and_then(|f| standings::why_open_briefly(&f))
        };
        let mut reasons = pairs.iter().map(why);
        match reasons.next().flatten() {
            Some(first) if reasons.all(|other| other == Some(first)) => format!(" ({first})"),
            _ => String::new(),
        }
    }

    /// In brackets, how large a difference between these may still be; empty if that is not known, or stands in the table below
    /// the sentence. Of several pairs, names the pair that may differ most.
    fn at_most(&self, claims: &[Claim]) -> String {
        let Some(most) = widest(claims) else { return String::new() };
        let Claim { a, b, .. } = most;
        let is_of_table = [a, b].contains(&&self.comparison.to) && self.is_in_table();
        // In the direction of the table.
        let (one, to) =
            if self.comparison.to == *a { (b.as_str(), a.as_str()) } else { (a.as_str(), b.as_str()) };
        let (who, than) = (named(one), named(to));
        match self.about.verdict.basis {
            Basis::Rounds { .. } if is_of_table => String::new(),
            Basis::Rounds { .. } => {
                let needs = if self.words.is_of_amounts() { " needs" } else { "" };
                let range = self.words.between(self.ends(&[(one, to)]), &than);
                let of_several = if claims.len() > 1 { "widest " } else { "" };
                format!(" ({of_several}range: {who}{needs} {range})")
            }
            Basis::Samples { .. } => {
                let factor = factor(most).map(ratio).unwrap_or_default();
                format!(" (in the samples {who} and {than} differ by a factor of up to {factor})")
            }
        }
    }

    /// Whether the table of the opening has intervals, which it has room for in two columns.
    fn is_in_table(&self) -> bool {
        let all = self.about.verdict.findings.iter();
        let columns: BTreeSet<_> = all.map(|f| (&f.scenario, &f.metric, &f.dimensions)).collect();
        columns.len() <= 2
    }

    fn is_open(&self, a: &str, b: &str) -> bool {
        self.found(a, b).is_some_and(|found| Said::NotToldApart.is_allowed_by(found))
    }

    /// `cedarfs and birchfs are not told apart`, `cedarfs and birchfs are equivalent within 3%`
    fn alike(&self, labels: &[&str]) -> Sentence {
        let owned: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        let is_equivalent = self.pairs.all_of(&owned, Found::Equivalent);
        let said = if is_equivalent { Said::Equivalent } else { Said::NotToldApart };
        let mut claims = Vec::new();
        for (at, a) in labels.iter().enumerate() {
            for b in labels[at + 1..].iter().filter(|b| self.is_open(a, b)) {
                claims.push(self.claim(said, a, b));
            }
        }
        let n = labels.len() * (labels.len() - 1) / 2;
        let who = listed(labels);
        let text = match (is_equivalent, claims.len() == n) {
            (true, _) => format!("{who} are equivalent within {}", self.about.verdict.margin),
            (_, true) => {
                let pairs: Vec<(&str, &str)> =
                    claims.iter().map(|claim| (claim.a.as_str(), claim.b.as_str())).collect();
                // Two alone get their reason, or their range, in full.
                let more = match self.reason(&pairs) {
                    _ if n == 1 && self.comparison.lines.len() == 2 => String::new(),
                    reason if reason.is_empty() => self.at_most(&claims),
                    reason => reason,
                };
                format!("{who} are not told apart{more}")
            }
            // Candidates of setups whose figures have no ratio.
            _ => format!("none of {who} was found better than the others"),
        };
        Sentence::new(text, claims)
    }

    /// Why the interval of `one` relative to `to` is no finding although it excludes 1.
    fn despite_interval(&self, one: &str, to: &str, (low, high): Ends) -> Option<String> {
        if low <= 1.0 && high >= 1.0 {
            return None;
        }
        let Comparison { scenario, metric, dimensions, .. } = self.comparison;
        let mut findings = self.about.verdict.of(scenario, metric, dimensions);
        let finding = findings.find_map(|f| f.from_the_side_of(one).filter(|f| f.b == to))?;
        standings::why_open(&finding)
    }

    /// No candidate was found better than another.
    fn nothing_found(&self, labels: &[&str]) -> Sentence {
        let mut said = self.alike(labels);
        let is_equivalent = said.claims.first().is_some_and(|claim| claim.said == Said::Equivalent);
        if let ([a, b], false) = (labels, is_equivalent) {
            // In the direction of the table.
            let (one, to) = if self.comparison.to == *a { (b, a) } else { (a, b) };
            let ends = self.pair(one, to).and_then(|pair| Some((pair.low?, pair.high?)));
            if let Some(ends) = ends {
                let (who, verb) = (named(one), self.words.verb(false));
                said.text += &match self.despite_interval(one, to, ends) {
                    None => format!("; {who} {verb} {}", self.words.between(ends, &named(to))),
                    Some(why) => format!(
                        "; the estimate that {who} {verb} {} is no finding: {why}",
                        self.words.differs(ends, Beside::Candidate(&named(to)))
                    ),
                };
            }
        }
        if labels.len() > NAMED {
            let of = labels.len();
            said.text = match is_equivalent {
                true => format!("All {of} candidates are equivalent within {}", self.about.verdict.margin),
                false => format!("No two of {of} candidates were told apart{}", self.at_most(&said.claims)),
            };
        }
        said.text += ".";
        said
    }
}

/// How large a difference that was not found may still be: `they may differ by a factor of up to 1.16`.
pub fn at_most(they: &str, factors: &str, verdict: &Verdict) -> String {
    let range = match verdict.basis {
        Basis::Rounds { .. } => format!("{they} may differ"),
        Basis::Samples { .. } => format!("in the samples {they} differ"),
    };
    format!("{range} by a factor of up to {factors}")
}

/// The larger of the ends of these pairs' intervals, as a factor of at least 1; `None` if one of them has no interval.
pub fn largest(claims: &[Claim]) -> Option<f64> {
    widest(claims).and_then(factor)
}

/// The pair with the largest factor; `None` if one of them has no interval.
fn widest(claims: &[Claim]) -> Option<&Claim> {
    let factors: Option<Vec<(f64, &Claim)>> =
        claims.iter().map(|claim| Some((factor(claim)?, claim))).collect();
    let widest = factors?.into_iter().reduce(|one, other| if other.0 > one.0 { other } else { one });
    widest.filter(|(factor, _)| factor.is_finite()).map(|(_, claim)| claim)
}

fn factor(claim: &Claim) -> Option<f64> {
    Some(claim.high?.max(claim.low?.recip()))
}

fn listed(labels: &[&str]) -> String {
    list(&labels.iter().map(|label| named(label)).collect::<Vec<String>>())
}

/// How sure the findings are, and on what basis: `How sure: 95 % confidence in all ranges together (12 rounds).`
pub fn certainty(verdict: &Verdict, rounds: usize, standing: Standing) -> String {
    let sure = match standing {
        Standing::Preliminary => "How sure: no finding yet, because there are too few rounds;",
        Standing::Short | Standing::Nothing | Standing::Medians | Standing::Verdict | Standing::Void => {
            "How sure:"
        }
    };
    let limit = if standing == Standing::Short { "; longer trials may differ" } else { "" };
    let is_found = verdict.findings.iter().any(|finding| finding.finding != Found::CannotTell);
    match &verdict.basis {
        Basis::Rounds { alpha, .. } => {
            let percent = digits(100.0 * (1.0 - alpha));
            let what = if verdict.findings.len() == 1 { "the range" } else { "all ranges together" };
            let rounds = count(rounds, "round");
            format!("{sure} {percent} % confidence in {what} ({rounds}){limit}.")
        }
        Basis::Samples { complete, .. } => match is_found {
            true => format!(
                "{sure} every finding holds in all {complete} samples of the modelled disk, with other seeds and CPU \
                 costs, and on the least favourable disk{limit}."
            ),
            false => format!(
                "{sure} no difference passes every check: {complete} samples of the modelled disk, other seeds and CPU \
                 costs, the least favourable disk, the disk model's error{limit}."
            ),
        },
    }
}

/// `95`, `98.5`
fn digits(percent: f64) -> String {
    let text = format!("{percent:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// The detectable difference: `Small differences can be missed: 80 % of runs of 12 rounds detect a difference by a factor of 1.09.`
pub fn power<'e>(rounds: u32, evidence: impl Iterator<Item = &'e Evidence>) -> Option<String> {
    let smallest = evidence.filter_map(|evidence| match evidence {
        Evidence::Rounds { smallest, .. } => *smallest,
        Evidence::Samples { .. } => None,
    });
    let (least, most) = smallest.fold((f64::MAX, 0.0), |(l, m): (f64, f64), s| (l.min(s), m.max(s)));
    if most <= 0.0 {
        return None;
    }
    let (least, most) = (ratio(least), ratio(most));
    let found = match least == most {
        true => format!("a difference by a factor of {most}"),
        false => format!(
            "a difference by a factor of {least} in the most exact comparison, and by a factor of {most} in the least \
             exact comparison"
        ),
    };
    Some(format!("Small differences can be missed: 80 % of runs of {rounds} rounds detect {found}."))
}
