//! Checks a report's claims about the order of candidates: every typed claim must repeat a finding, and no other text may order
//! candidates. Only tests use this check, for every format.

pub mod texts;

use serde::Deserialize;

use super::Report;
use super::view::Summary;
use super::view::changes::ChangesView;
use super::view::sentence::{Claim, Said, Sentence};
use super::view::standings;
use crate::schema::change::{Change, Changes};
use crate::schema::finding::{Finding, Verdict};

/// Words that put one candidate before another.
const ORDER: [&str; 24] = [
    "better",
    "worse",
    "best",
    "worst",
    "faster",
    "slower",
    "fastest",
    "slowest",
    "quicker",
    "ahead",
    "behind",
    "leads",
    "lead",
    "leader",
    "wins",
    "winner",
    "beats",
    "outperforms",
    "superior",
    "dominates",
    "needs more",
    "need more",
    "needs fewer",
    "needs less",
];

/// Legends of columns and axes, which name no candidate.
const LEGENDS: [&str; 9] = [
    "worst corner",
    "higher is better",
    "lower is better",
    "fewer is better",
    "fewer are better",
    "above 1 is better",
    "better than",
    "Up is faster",
    "half as good",
];

/// All wrong claims of a report in any format, in words.
///
/// # Errors
/// If a format cannot be written.
pub fn wrong(report: &Report<'_>) -> anyhow::Result<Vec<String>> {
    let summary = &report.summary;
    let (pieces, csv) = texts::of_all(report)?;
    let untyped = untyped(summary, pieces.iter().map(String::as_str));
    Ok([unfounded(summary), untyped, unfounded_rows(summary, &csv)?].concat())
}

/// Rows of the CSV by candidate whose verdict is not supported by a finding.
fn unfounded_rows(summary: &Summary, csv: &str) -> anyhow::Result<Vec<String>> {
    let mut reader = ::csv::Reader::from_reader(csv.as_bytes());
    let mut wrong = Vec::new();
    for row in reader.deserialize() {
        let row: Row = row?;
        let (said, a, b) = match row.verdict.as_str() {
            "better" => (Said::Better, &row.filesystem, &row.reference),
            "worse" => (Said::Better, &row.reference, &row.filesystem),
            "equivalent" => (Said::Equivalent, &row.filesystem, &row.reference),
            "cannot tell" => (Said::NotToldApart, &row.filesystem, &row.reference),
            "reference" | "preliminary" | "not tested" | "not compared" => continue,
            other => {
                wrong.push(format!("{other} in: {row:?}"));
                continue;
            }
        };
        let findings = summary.verdict.of(&row.workload, &row.metric, &row.dimensions);
        let mut found = findings.filter_map(|f| f.from_the_side_of(a)).filter(|f| f.b == *b);
        if !found.any(|finding| said.is_allowed_by(finding.finding)) {
            wrong.push(format!("no such finding: {row:?}"));
        }
    }
    Ok(wrong)
}

/// A row of the CSV by candidate, with the cells that may state an order.
#[derive(Debug, Deserialize)]
struct Row {
    workload: String,
    metric: String,
    dimensions: String,
    filesystem: String,
    reference: String,
    verdict: String,
}

/// Claims that are not supported by a finding, in words.
pub fn unfounded(summary: &Summary) -> Vec<String> {
    let claims =
        summary.claiming().flat_map(|sentence| sentence.claims.iter().map(move |claim| (sentence, claim)));
    let wrong = claims.filter(|(_, claim)| !is_found(&summary.verdict, claim));
    wrong.map(|(sentence, claim)| format!("{claim:?} in: {sentence}")).collect()
}

fn is_found(verdict: &Verdict, claim: &Claim) -> bool {
    let from_a =
        |finding: &Finding| finding.from_the_side_of(&claim.a).filter(|finding| finding.b == claim.b);
    let mut findings = verdict.of(&claim.scenario, &claim.metric, &claim.dimensions).filter_map(from_a);
    findings.next().is_some_and(|finding| {
        claim.said.is_allowed_by(finding.finding) && (claim.low, claim.high) == (finding.low, finding.high)
    })
}

/// Claims about two runs that are not supported by a finding, in words.
pub fn unfounded_changes(view: &ChangesView, changes: &Changes) -> Vec<String> {
    let said = view.claiming().flat_map(|sentence| {
        let text = sentence.text;
        sentence.claims.into_iter().map(move |claim| (text.clone(), claim))
    });
    let wrong = said.filter(|(_, claim)| !is_found_of_two(changes, claim));
    let mut wrong: Vec<String> = wrong.map(|(text, claim)| format!("{claim:?} in: {text}")).collect();
    let lines = view.parts.iter().flat_map(|part| &part.lines);
    let unclaimed = lines.filter(|line| line.finding.is_some() != line.claim.is_some());
    wrong.extend(unclaimed.map(|line| format!("only one of finding and claim is present in: {line:?}")));
    wrong
}

/// Whether the claim repeats a finding. A control has no findings, and a comparison with too few rounds has none either.
fn is_found_of_two(changes: &Changes, claim: &Claim) -> bool {
    let is_its = |change: &&Change| {
        (&change.scenario, &change.metric, &change.dimensions, &change.candidate)
            == (&claim.scenario, &claim.metric, &claim.dimensions, &claim.a)
    };
    let Some((change, which)) = changes.findings.iter().find(is_its).zip(claim.a_in) else { return false };
    claim.a == claim.b
        && changes.is_judged(change)
        && claim.said.is_allowed_by(which.found(change))
        && (claim.low, claim.high) == which.ends(change)
}

/// Pieces of a report's text that order candidates but are not typed sentences. `pieces` are paragraphs and cells without markup.
pub fn untyped<'t>(summary: &Summary, pieces: impl Iterator<Item = &'t str>) -> Vec<String> {
    let of_pairs = summary.verdict.findings.iter().map(standings::said);
    let labels = summary.filesystems.iter().map(|entry| plain(&entry.label)).collect();
    let question = plain(&summary.heading.question);
    ordering(&Typed::of(summary.claiming().cloned().chain(of_pairs), labels, question), pieces)
}

/// Pieces of the text on two runs that order candidates but are not typed sentences.
pub fn untyped_changes<'t>(view: &ChangesView, pieces: impl Iterator<Item = &'t str>) -> Vec<String> {
    let lines = view.parts.iter().flat_map(|part| &part.lines);
    let labels = lines.map(|line| plain(&line.candidate)).collect();
    ordering(&Typed::of(view.claiming(), labels, String::new()), pieces)
}

/// Text that is allowed to order candidates.
struct Typed {
    /// Sentences with claims; the longest first, because a sentence may contain another sentence.
    sentences: Vec<String>,
    labels: Vec<String>,
    /// The question is the author's text and is not checked.
    question: String,
}

impl Typed {
    fn of(sentences: impl Iterator<Item = Sentence>, labels: Vec<String>, question: String) -> Self {
        let claiming = sentences.filter(|one| !one.claims.is_empty());
        let mut sentences: Vec<String> = claiming.map(|one| plain(&one)).collect();
        sentences.sort_by_key(|text| std::cmp::Reverse(text.len()));
        Typed { sentences, labels, question }
    }
}

fn ordering<'t>(known: &Typed, pieces: impl Iterator<Item = &'t str>) -> Vec<String> {
    let Typed { sentences: typed, labels, question } = known;
    let is_ordering = |piece: &&str| {
        let mut text = plain(piece);
        if !text.is_empty() && question.contains(&text) {
            return false;
        }
        for known in typed.iter().map(String::as_str).chain(LEGENDS) {
            text = text.replace(known, " ");
        }
        let has = |word: &str| words(&text, word);
        ORDER.iter().any(|word| has(word)) && labels.iter().any(|label| has(label))
    };
    pieces.filter(is_ordering).map(str::to_owned).collect()
}

/// The text on one line, with single spaces and, as in ASCII mail, hyphens for dashes.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ").replace('–', "-")
}

/// Whether `wanted` occurs in the text as whole words.
fn words(text: &str, wanted: &str) -> bool {
    let is_inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '-');
    text.match_indices(wanted).any(|(at, _)| {
        !is_inside(text[..at].chars().next_back()) && !is_inside(text[at + wanted.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::texts::{of_page, of_terminal};
    use super::*;
    use crate::analysis::changes::{self as analysed, Asked, Pair};
    use crate::report::Beside;
    use crate::report::examples::{self, Example, model, needs, published, verdict};
    use crate::report::formats::terminal::{self, Detail};
    use crate::report::formats::{Format, html, markdown};
    use crate::report::view::sentence::Which;
    use crate::runner::verify::comparable;
    use crate::schema::finding::Found;

    fn wrong(report: &Report<'_>) -> Vec<String> {
        super::wrong(report).expect("every format can be written")
    }

    #[test]
    fn no_report_of_an_example_says_an_order_that_was_not_found() {
        let none: Vec<String> = Vec::new();
        for rounds in [1, 6] {
            assert_eq!(wrong(&examples::rounds(rounds).report()), none);
        }
        assert_eq!(wrong(&needs::stated().judged(verdict::over_rounds(12), None)), none);
        let twelve = examples::rounds(12);
        for baseline in [None, Some("birchfs")] {
            assert_eq!(wrong(&twelve.judged(verdict::over_rounds(12), baseline)), none);
        }
        for example in [
            model::samples(12),
            model::samples(13),
            model::samples(25),
            needs::stated(),
            published::on_loop(),
        ] {
            assert_eq!(wrong(&example.report()), none);
        }
    }

    /// Phrases that readers who know fio did not understand at first reading.
    const NOT_UNDERSTOOD: [&str; 18] = [
        "rounds will find",
        "So many rounds",
        "is none is at most",
        "lead and were not told apart",
        "times the next",
        "of what the best at each need",
        "from the fastest to",
        "third commit",
        "others had",
        "somebody waited",
        "no difference is established",
        "difference from",
        "It depends most on",
        "moves by its own size",
        "the most by the least",
        "who is faster needs",
        "say as much as one",
        "ways to exchange",
    ];

    #[test]
    fn no_report_has_a_sentence_that_was_not_understood() {
        for example in [
            examples::rounds(2),
            examples::rounds(12),
            model::samples(13),
            model::samples(25),
            needs::stated(),
            published::on_loop(),
        ] {
            let (pieces, _) = texts::of_all(&example.report()).expect("every format can be written");
            for words in NOT_UNDERSTOOD {
                let has: Vec<&String> = pieces.iter().filter(|piece| piece.contains(words)).collect();
                assert_eq!(has, Vec::<&String>::new(), "{words}");
            }
        }
    }

    /// Pseudo-random numbers from a fixed seed.
    fn numbers() -> impl FnMut(u64) -> u64 {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        move |n| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % n
        }
    }

    const FOUND: [Found; 4] = [Found::Better, Found::Worse, Found::Equivalent, Found::CannotTell];

    fn ends(found: Found) -> (Option<f64>, Option<f64>) {
        let (low, high) = match found {
            Found::Better => (1.05, 1.4),
            Found::Worse => (0.7, 0.95),
            Found::Equivalent => (0.98, 1.02),
            Found::CannotTell => (0.8, 1.2),
        };
        (Some(low), Some(high))
    }

    /// Two runs with random changes between them.
    fn beside(
        before: &Example,
        after: &Example,
        change: impl FnOnce(&mut Changes),
    ) -> (ChangesView, Changes) {
        let pair = Pair { before: &before.run, after: &after.run };
        let compared = comparable::compared(pair.before, pair.after).expect("they can be compared");
        let candidates = compared.candidates;
        let asked = Asked { candidates: &candidates, controls: &[], differences: compared.differences };
        let mut changes = analysed::of(&pair, asked);
        change(&mut changes);
        let Beside { view, changes } = Beside::of(&pair, changes);
        (view, changes)
    }

    fn wrong_of_two(view: &ChangesView, changes: &Changes) -> Vec<String> {
        let mut pieces = texts::of_markdown(&markdown::changes::text(view));
        for width in [80, 200] {
            pieces.extend(of_terminal(&strip_str(&terminal::changes::text(view, width)).to_string()));
        }
        [unfounded_changes(view, changes), untyped_changes(view, pieces.iter().map(String::as_str))].concat()
    }

    #[test]
    fn whatever_is_found_of_two_runs_is_what_is_said() {
        let (before, after) = (model::samples(13), model::samples(13));
        let mut next = numbers();
        let mut betters = 0;
        for case in 0..200 {
            let (view, changes) = beside(&before, &after, |changes| {
                let most = 1 + next(changes.findings.len() as u64) as usize;
                changes.findings.truncate(most);
                for change in &mut changes.findings {
                    change.finding = FOUND[next(4) as usize];
                    (change.low, change.high) = ends(change.finding);
                    // Some changes have too few rounds.
                    change.n = [if next(6) == 0 { 4 } else { 13 }; 2];
                }
            });
            assert_eq!(wrong_of_two(&view, &changes), Vec::<String>::new(), "case {case}: {}", view.answer);
            betters += view.claims.iter().filter(|claim| claim.said == Said::Better).count();
        }
        assert!(betters > 100, "reports do say who is better: {betters}");
    }

    #[test]
    fn a_claim_of_two_runs_without_its_finding_is_noticed() {
        let (before, after) = (model::samples(13), model::samples(13));
        let (mut view, changes) = beside(&before, &after, |changes| {
            changes.findings.iter_mut().for_each(|change| {
                change.finding = Found::Worse;
                (change.low, change.high) = ends(Found::Worse);
            });
        });
        assert_eq!(wrong_of_two(&view, &changes), Vec::<String>::new());
        assert!(view.answer.contains(" is 5.0–30 % slower in the second run"), "{}", view.answer);
        view.answer.claims[0].a_in = view.parts[0].lines[0].claim.as_ref().map(|_| Which::Second);
        assert_eq!(unfounded_changes(&view, &changes).len(), 1);
        let ordered = ["birchfs is faster now.", "birchfs 1.2"];
        assert_eq!(untyped_changes(&view, ordered.into_iter()), ["birchfs is faster now."]);
    }

    /// Any combination of findings, transitive or not.
    #[test]
    fn whatever_is_found_is_what_is_said() {
        let example = examples::rounds(12);
        let mut next = numbers();
        let mut betters = 0;
        for case in 0..200 {
            let mut verdict =
                if case % 2 == 0 { verdict::of_one_workload(12) } else { verdict::over_rounds(12) };
            // The number of candidates is small or large.
            let most = 2 + next(7) as usize;
            let mut labels: Vec<String> = Vec::new();
            for label in verdict.findings.iter().flat_map(|f| [&f.a, &f.b]) {
                if labels.len() < most && !labels.contains(label) {
                    labels.push(label.clone());
                }
            }
            verdict.findings.retain(|f| labels.contains(&f.a) && labels.contains(&f.b));
            for finding in &mut verdict.findings {
                finding.finding = FOUND[next(4) as usize];
                (finding.low, finding.high) = ends(finding.finding);
            }
            let report = example.judged(verdict, None);
            assert_eq!(unfounded(&report.summary), Vec::<String>::new(), "case {case}");
            let text = strip_str(&terminal::text(&report, 100, Detail::Glance)).to_string();
            let pieces = of_terminal(&text);
            assert_eq!(
                untyped(&report.summary, pieces.iter().map(String::as_str)),
                Vec::<String>::new(),
                "case {case}"
            );
            let said = report.summary.heading.claims.iter();
            betters += said.filter(|claim| claim.said == Said::Better).count();
        }
        assert!(betters > 200, "reports do say who is better: {betters}");
    }

    #[test]
    fn a_claim_without_a_finding_and_an_order_in_other_words_are_both_noticed() {
        let example = examples::rounds(12);
        let mut report = example.judged(verdict::of_one_workload(12), None);
        assert_eq!(unfounded(&report.summary), Vec::<String>::new());
        let claim = &mut report.summary.heading.answer[0].claims[0];
        std::mem::swap(&mut claim.a, &mut claim.b);
        assert_eq!(unfounded(&report.summary).len(), 1);
        let pieces =
            ["rowanfs is faster than cedarfs.", "rowanfs 1.2", "higher is better, rowanfs", "faster"];
        assert_eq!(untyped(&report.summary, pieces.into_iter()), ["rowanfs is faster than cedarfs."]);
        let mut made = Vec::new();
        html::Html.write(&report, &mut made).expect("a buffer takes everything");
        assert!(of_page(&String::from_utf8_lossy(&made)).iter().any(|piece| piece.contains("cedarfs")));
    }
}
