//! What a report claims of the order of candidates, held beside the findings: every typed claim must repeat one, and no other text may
//! put candidates into an order. Tests call this for every format; nothing else does.

use super::view::Summary;
use super::view::sentence::{Claim, Sentence};
use super::view::standings;
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

/// What a column or an axis means, of whatever candidates.
const LEGENDS: [&str; 10] = [
    "worst corner",
    "at its worst",
    "higher is better",
    "lower is better",
    "fewer is better",
    "fewer are better",
    "above 1 is better",
    "better than",
    "Up is faster",
    "half as good",
];

/// Claims without a finding that allows them, in words.
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

/// Pieces of a report's text that put candidates into an order and are no typed sentence. `pieces` are paragraphs and cells, without
/// markup.
pub fn untyped<'t>(summary: &Summary, pieces: impl Iterator<Item = &'t str>) -> Vec<String> {
    let of_pairs = summary.verdict.findings.iter().map(standings::said);
    let mut typed: Vec<String> = summary
        .claiming()
        .cloned()
        .chain(of_pairs)
        .filter(|one| !one.claims.is_empty())
        .map(|one: Sentence| plain(&one))
        .collect();
    // The longest first, as one may stand in another.
    typed.sort_by_key(|text| std::cmp::Reverse(text.len()));
    let labels: Vec<String> = summary.filesystems.iter().map(|entry| plain(&entry.label)).collect();
    let question = plain(&summary.heading.question);
    let is_ordering = |piece: &&str| {
        let mut text = plain(piece);
        // The author's own words are the author's.
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

/// On one line, with single spaces.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// Whether it stands there as whole words.
fn words(text: &str, wanted: &str) -> bool {
    let is_inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '-');
    text.match_indices(wanted).any(|(at, _)| {
        !is_inside(text[..at].chars().next_back()) && !is_inside(text[at + wanted.len()..].chars().next())
    })
}

/// A terminal's text as pieces: what is set in by two goes on from the line before.
pub fn of_terminal(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for line in text.lines() {
        let goes_on = line.strip_prefix("  ").is_some_and(|rest| !rest.starts_with(' '));
        match pieces.last_mut() {
            Some(last) if goes_on => {
                last.push(' ');
                last.push_str(line.trim());
            }
            _ => pieces.push(line.to_owned()),
        }
    }
    pieces
}

/// A page's text as pieces: what stands between tags, and the texts that screen readers and pointers get.
pub fn of_page(page: &str) -> Vec<String> {
    let body = page.split_once("<body").map_or(page, |(_, body)| body);
    let mut pieces = Vec::new();
    for part in body.split('<') {
        let (tag, text) = part.split_once('>').unwrap_or(("", part));
        for name in ["title=\"", "aria-label=\""] {
            pieces.extend(tag.split_once(name).and_then(|(_, rest)| rest.split('"').next()).map(unescaped));
        }
        pieces.push(unescaped(text));
    }
    pieces
}

fn unescaped(text: &str) -> String {
    let mut text = text.to_owned();
    for (coded, letter) in [
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
    ] {
        text = text.replace(coded, letter);
    }
    text.replace("&#38;", "&").replace("&amp;", "&")
}

/// Markdown as pieces: paragraphs and cells.
pub fn of_markdown(text: &str) -> Vec<String> {
    let plain = text.replace('\\', "").replace("**", "");
    plain.lines().flat_map(|line| line.split(" | ").map(str::to_owned).collect::<Vec<String>>()).collect()
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::*;
    use crate::report::Report;
    use crate::report::examples::{self, model, needs, published, verdict};
    use crate::report::formats::terminal::{self, Detail};
    use crate::report::formats::{Format, html, markdown};
    use crate::report::view::sentence::Said;
    use crate::schema::finding::Found;

    /// All that is wrong with a report in any format.
    fn wrong(report: &Report<'_>) -> Vec<String> {
        let summary = &report.summary;
        let mut pieces = of_page(&html::page(report).expect("the page renders"));
        pieces.extend(of_markdown(&markdown::text(report)));
        for (width, detail) in [(80, Detail::Everything), (200, Detail::Glance)] {
            pieces.extend(of_terminal(&strip_str(&terminal::text(report, width, detail)).to_string()));
        }
        [unfounded(summary), untyped(summary, pieces.iter().map(String::as_str))].concat()
    }

    #[test]
    fn no_report_of_an_example_says_an_order_that_was_not_found() {
        let none: Vec<String> = Vec::new();
        for rounds in [1, 6] {
            assert_eq!(wrong(&examples::rounds(rounds).report()), none);
        }
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

    /// Whatever is found of whom, transitive or not.
    #[test]
    fn whatever_is_found_is_what_is_said() {
        let example = examples::rounds(12);
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = |n: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % n
        };
        let mut betters = 0;
        for case in 0..200 {
            let mut verdict =
                if case % 2 == 0 { verdict::of_one_workload(12) } else { verdict::over_rounds(12) };
            // Few candidates, and many.
            let most = 2 + next(7) as usize;
            let mut labels: Vec<String> = Vec::new();
            for label in verdict.findings.iter().flat_map(|f| [&f.a, &f.b]) {
                if labels.len() < most && !labels.contains(label) {
                    labels.push(label.clone());
                }
            }
            verdict.findings.retain(|f| labels.contains(&f.a) && labels.contains(&f.b));
            for finding in &mut verdict.findings {
                finding.finding =
                    [Found::Better, Found::Worse, Found::Equivalent, Found::CannotTell][next(4) as usize];
                let (low, high) = match finding.finding {
                    Found::Better => (1.05, 1.4),
                    Found::Worse => (0.7, 0.95),
                    Found::Equivalent => (0.98, 1.02),
                    Found::CannotTell => (0.8, 1.2),
                };
                (finding.low, finding.high) = (Some(low), Some(high));
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
