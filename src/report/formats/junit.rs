//! The comparison of two runs as JUnit XML, which build servers show: one test case for each candidate and headline metric.
//!
//! ```text
//! <testsuites><testsuite name="SCENARIO"><testcase classname="SCENARIO.METRIC" name="CANDIDATE">
//!   <failure type="worse" message="…"/>     the condition is met; without conditions: found worse
//!   <skipped message="…"/>                  not told apart, too few rounds, or no figures in one of the runs
//! ```
//! Jenkins and GitLab read these elements and attributes. They require a `time`, which a comparison does not have: it is 0.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesStart, BytesText, Event};

use crate::report::view::number::ratio;
use crate::schema::change::{Change, Changes, Missing};
use crate::schema::finding::Found;
use crate::text::visible::visible_line;

type Xml = Writer<Vec<u8>>;

/// A test case and its result.
struct Case<'a> {
    scenario: &'a str,
    class: String,
    name: String,
    result: Result,
    /// Ratio and interval.
    said: String,
}

enum Result {
    Passed,
    Failed(&'static str),
    Skipped,
}

/// The XML. `met` has the changes that meet a condition; `None` if there is no condition.
///
/// # Errors
/// Memory takes everything, so none is expected.
pub fn text(changes: &Changes, met: Option<&[&Change]>) -> io::Result<Vec<u8>> {
    let findings = changes.findings.iter().map(|change| case(changes, change, met));
    let cases: Vec<Case<'_>> = findings.chain(changes.missing.iter().map(missing)).collect();
    let mut scenarios: Vec<&str> = Vec::new();
    for case in &cases {
        if !scenarios.contains(&case.scenario) {
            scenarios.push(case.scenario);
        }
    }
    let mut out = Writer::new_with_indent(Vec::new(), b' ', 2);
    out.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    element(&mut out, "testsuites", &counted(cases.iter(), "fsderby compare"), |out| {
        scenarios.iter().try_for_each(|scenario| {
            let own = cases.iter().filter(|case| case.scenario == *scenario);
            element(out, "testsuite", &counted(own.clone(), scenario), |out| {
                own.clone().try_for_each(|case| written(out, case))
            })
        })
    })?;
    let mut text = out.into_inner();
    text.push(b'\n');
    Ok(text)
}

fn written(out: &mut Xml, Case { class, name, result, said, .. }: &Case<'_>) -> io::Result<()> {
    let case = [("classname", shown(class)), ("name", shown(name)), ("time", "0".to_owned())];
    let said = shown(said);
    let message = ("message", said.clone());
    let text = |out: &mut Xml| out.write_event(Event::Text(BytesText::new(&said)));
    element(out, "testcase", &case, |out| match result {
        Result::Passed => element(out, "system-out", &[], text),
        Result::Skipped => out.write_event(Event::Empty(start("skipped", &[message]))),
        Result::Failed(kind) => element(out, "failure", &[message, ("type", (*kind).to_owned())], text),
    })
}

fn element(
    out: &mut Xml,
    name: &str,
    attributes: &[(&str, String)],
    inside: impl FnOnce(&mut Xml) -> io::Result<()>,
) -> io::Result<()> {
    let start = start(name, attributes);
    out.write_event(Event::Start(start.borrow()))?;
    inside(out)?;
    out.write_event(Event::End(start.to_end()))
}

fn start<'n>(name: &'n str, attributes: &[(&str, String)]) -> BytesStart<'n> {
    let attributes = attributes.iter().map(|(name, value)| (*name, value.as_str()));
    BytesStart::new(name).with_attributes(attributes)
}

/// The attributes of a suite: its name, and the numbers of its cases by result.
fn counted<'c>(cases: impl Iterator<Item = &'c Case<'c>> + Clone, name: &str) -> Vec<(&'static str, String)> {
    let count = |is: fn(&Result) -> bool| cases.clone().filter(|case| is(&case.result)).count().to_string();
    vec![
        ("name", shown(name)),
        ("tests", count(|_| true)),
        ("failures", count(|result| matches!(result, Result::Failed(_)))),
        ("errors", "0".to_owned()),
        ("skipped", count(|result| matches!(result, Result::Skipped))),
        ("time", "0".to_owned()),
    ]
}

fn case<'a>(changes: &Changes, change: &'a Change, met: Option<&[&Change]>) -> Case<'a> {
    let Change { scenario, metric, dimensions, candidate, finding, .. } = change;
    let is_judged = changes.is_judged(change);
    let is_met = met.map(|met| met.iter().any(|one| std::ptr::eq(*one, change)));
    let (result, standing) = match (is_met, finding) {
        (Some(true), Found::Better) => {
            (Result::Failed("condition"), "better in the second run, which meets a condition")
        }
        (Some(true), _) => {
            (Result::Failed("condition"), "worse or different in the second run, which meets a condition")
        }
        (None, Found::Worse) if is_judged => (Result::Failed("worse"), "worse in the second run"),
        _ if !is_judged => (Result::Skipped, "too few rounds"),
        (_, Found::CannotTell) => (Result::Skipped, "not told apart"),
        (_, Found::Worse) => (Result::Passed, "worse in the second run, within the conditions"),
        (_, Found::Better) => (Result::Passed, "better in the second run"),
        (_, Found::Equivalent) => (Result::Passed, "equivalent"),
    };
    let interval = change.low.zip(change.high);
    let interval = interval.map(|(low, high)| format!(", interval {} to {}", ratio(low), ratio(high)));
    Case {
        scenario,
        class: format!("{scenario}.{metric}"),
        name: if dimensions.is_empty() { candidate.clone() } else { format!("{candidate} ({dimensions})") },
        result,
        said: format!(
            "{candidate}: {metric} of {scenario}: {standing}; ratio {}{}, above 1 is better; {} and {} rounds",
            ratio(change.ratio),
            interval.unwrap_or_default(),
            change.n[0],
            change.n[1]
        ),
    }
}

fn missing(Missing { candidate, scenario, after }: &Missing) -> Case<'_> {
    let which = if *after { "second" } else { "first" };
    Case {
        scenario,
        class: scenario.clone(),
        name: candidate.clone(),
        result: Result::Skipped,
        said: format!("{candidate} has no figures of {scenario} in the {which} run"),
    }
}

/// Without characters that XML forbids even as references.
fn shown(text: &str) -> String {
    visible_line(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}
