//! The opening sentence on two runs: who is better in the second run, who is worse, by how much. Every claim repeats a finding,
//! in the words that a single run uses for two candidates.

use super::super::sentence;
use super::super::words::{Beside, Words};
use crate::report::view::changes::Part;
use crate::report::view::number::{count, named};
use crate::report::view::sentence::{Claim, Sentence, joined};
use crate::schema::change::{Change, ChangeBasis, Changes};
use crate::schema::finding::Found;

/// At most this many findings are named in the first sentence.
const NAMED: usize = 4;

/// `parts` and `words` have the same order.
pub fn of(changes: &Changes, parts: &[Part], words: &[Words]) -> Sentence {
    let all = &changes.findings;
    if all.is_empty() {
        let none = "The two runs have no common headline metric, so nothing is compared.";
        return none.to_owned().into();
    }
    let judged: Vec<&Change> = all.iter().filter(|change| changes.is_judged(change)).collect();
    let is_exact = matches!(changes.basis, ChangeBasis::Samples { .. });
    if is_exact && all.iter().all(|change| change.low == Some(1.0) && change.high == Some(1.0)) {
        let same = "Every compared figure is identical in both runs.";
        return Sentence::new(same, claims(&judged));
    }
    if judged.is_empty() {
        let of =
            if is_exact { "samples of the disk model that both runs have" } else { "rounds in each run" };
        let least = changes.needed();
        return format!("No verdict yet: findings need at least {least} {of}, so no change is reported.")
            .into();
    }
    let told = Told { changes, parts, words };
    let first = told.first(&judged);
    let rest = told.rest(&judged, all.len());
    if rest.is_empty() { first } else { joined(&[first, rest.into()], " ") }
}

fn claims(judged: &[&Change]) -> Vec<Claim> {
    judged.iter().map(|change| Claim::of_change(change)).collect()
}

struct Told<'t> {
    changes: &'t Changes,
    parts: &'t [Part],
    words: &'t [Words],
}

impl Told<'_> {
    fn first(&self, judged: &[&Change]) -> Sentence {
        let is_different = |change: &&Change| matches!(change.finding, Found::Better | Found::Worse);
        let differ: Vec<&Change> = judged.iter().copied().filter(is_different).collect();
        if differ.is_empty() {
            return self.nothing_found(judged);
        }
        let mut clauses: Vec<String> = differ.iter().take(NAMED).map(|change| self.clause(change)).collect();
        if differ.len() > NAMED {
            clauses.push(format!("{} in the tables", count(differ.len() - NAMED, "more difference")));
        }
        let named = &differ[..differ.len().min(NAMED)];
        Sentence::new(format!("{}.", clauses.join("; ")), claims(named))
    }

    /// One change is stated with its ratio; several by their common finding.
    fn nothing_found(&self, judged: &[&Change]) -> Sentence {
        let margin = self.changes.margin;
        let is_equivalent = judged.iter().all(|change| change.finding == Found::Equivalent);
        let text = match (judged, is_equivalent) {
            ([one], true) => {
                format!("{candidate} is equivalent within {margin} in both runs.", candidate = self.who(one))
            }
            ([one], false) => {
                let ends = one.low.zip(one.high).zip(self.words_of(one));
                let ends = ends.map(|(ends, words)| {
                    format!("it {} {}", words.verb(false), words.between(ends, "in the first"))
                });
                let ends = ends.map_or_else(String::new, |ends| format!("; in the second {ends}"));
                format!(
                    "{candidate} does not differ detectably between the two runs{ends}.",
                    candidate = self.who(one)
                )
            }
            (_, true) => format!("The two runs are equivalent within {margin}."),
            (_, false) => "Neither a difference nor equivalence of the two runs was found.".to_owned(),
        };
        Sentence::new(text, claims(judged))
    }

    /// `alderfs is 46–50 % slower in the second run`
    fn clause(&self, change: &Change) -> String {
        let who = self.who(change);
        let ends = (change.low.unwrap_or(change.ratio), change.high.unwrap_or(change.ratio));
        let Some(words) = self.words_of(change) else {
            let is_better = change.finding == Found::Better;
            return format!("{who} is {} in the second run", if is_better { "better" } else { "worse" });
        };
        format!("{who} {} {}", words.verb(false), words.differs(ends, Beside::FirstRun))
    }

    /// The candidate, with its scenario if there are several comparisons: `mail: alderfs`
    fn who(&self, change: &Change) -> String {
        let who = named(&change.candidate);
        let in_scenario = self.parts.iter().filter(|part| part.scenario == change.scenario).count();
        match self.at(change).map(|at| &self.parts[at]) {
            Some(part) if in_scenario > 1 => format!("{} ({}): {who}", part.scenario, part.title),
            Some(part) if self.parts.len() > 1 => format!("{}: {who}", part.scenario),
            _ => who,
        }
    }

    fn words_of(&self, change: &Change) -> Option<&Words> {
        self.words.get(self.at(change)?)
    }

    fn at(&self, change: &Change) -> Option<usize> {
        let own = (&change.scenario, &change.metric, &change.dimensions);
        self.parts.iter().position(|part| (&part.scenario, &part.metric, &part.dimensions) == own)
    }

    /// The number of decided comparisons, and the detectable difference.
    fn rest(&self, judged: &[&Change], all: usize) -> String {
        let n = |found: &[Found]| judged.iter().filter(|change| found.contains(&change.finding)).count();
        let (differ, alike) = (n(&[Found::Better, Found::Worse]), n(&[Found::Equivalent]));
        let open = judged.len() - differ - alike;
        let of = count(judged.len(), "comparison");
        let margin = self.changes.margin;
        let counted = || {
            format!(
                "Of {of}, {differ} found a difference, {alike} found the two runs equivalent within {margin}, and {open} found neither."
            )
        };
        let mut said: Vec<String> = (judged.len() > 1).then(counted).into_iter().collect();
        if judged.len() < all {
            let (others, least) = (count(all - judged.len(), "other comparison"), self.changes.needed());
            said.push(format!("Not judged: {others} with fewer than {least} rounds or samples."));
        }
        if differ == 0 {
            let rounds = judged.iter().flat_map(|change| change.n).min().unwrap_or(0);
            said.extend(sentence::power(rounds, judged.iter().map(|change| &change.evidence)));
        }
        said.join(" ")
    }
}
