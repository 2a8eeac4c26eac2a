//! The text tables.

use std::fmt::Write as _;

use super::forms::Form;
use super::results::{Heading, Result, Results, chunk, number, size};
use crate::workloads::bonnie::rules::{self, Small};
use crate::workloads::bonnie::trial::Step;

/// Width of the column with names and sizes.
const LABEL: usize = 19;
const OUTPUT: &str = "------Sequential Output------ --Sequential Input- --Random-";
const KINDS: &str = "-Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--";
const CREATE: &str = "------Sequential Create------ --------Random Create--------";
const ACTS: &str = "-Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--";

/// Both tables; in 1.9x and 2.00 a table that did not run is an empty line.
pub fn text(heading: &Heading<'_>, results: &Results) -> String {
    let mut text = String::new();
    if heading.rules.chunks > 0 {
        data(&mut text, heading, results);
    } else if heading.form != Form::V103 {
        text.push('\n');
    }
    if heading.rules.files > 0 {
        files(&mut text, heading, results);
    } else if heading.form != Form::V103 {
        text.push('\n');
    }
    text
}

fn line(text: &mut String, label: &str, rest: &str) {
    let written = writeln!(text, "{label:<LABEL$} {rest}");
    debug_assert!(written.is_ok(), "writing to a string cannot fail");
}

fn version(heading: &Heading<'_>) -> String {
    format!("Version {:>5}", heading.form.program())
}

fn data(text: &mut String, heading: &Heading<'_>, results: &Results) {
    let (form, rules) = (heading.form, heading.rules);
    line(text, &version(heading), OUTPUT);
    let per = |unit: &str| format!("{unit} %CP ").repeat(5) + " /sec %CP";
    match form {
        Form::V103 => {
            line(text, "", KINDS);
            let is_usual = rules.chunk == rules::CHUNK;
            let label = if is_usual { "Machine        Size" } else { "Machine   Size:chnk" };
            line(text, label, &per("K/sec"));
        }
        Form::V197 => {
            line(text, &format!("Concurrency {:>3}", heading.concurrency), KINDS);
            line(text, "Machine        Size", &per("K/sec"));
        }
        Form::V198 | Form::V200a => {
            line(text, "", KINDS);
            line(text, "Name:Size etc", &per(" /sec"));
        }
    }
    text.push_str(&label(heading.machine, &sizes(heading)));
    for result in results.data() {
        let rate = if matches!(form, Form::V198 | Form::V200a) { result.kib_short() } else { result.kib() };
        text.push_str(&(rate.column(5) + &result.cpu().column(3)));
    }
    let seeks = results.of(Step::Seek);
    text.push_str(&(seeks.seeks().column(5) + &seeks.cpu().column(3) + "\n"));
    latencies(text, form, results.data().iter().chain([&seeks]));
}

/// The left-aligned name, which is cut if the right-aligned size needs the space.
fn label(machine: &str, size: &str) -> String {
    let place = LABEL.saturating_sub(size.len() + 1);
    let machine: String = machine.chars().take(place).collect();
    format!("{machine:<place$} {size}")
}

/// `1M`, or in 2.00 `size:chunk:concurrency:seeks:seekers`; a field with its default value is empty, and empty fields
/// at the end are left out.
fn sizes(heading: &Heading<'_>) -> String {
    let rules = heading.rules;
    let chunk = if rules.chunk == rules::CHUNK { String::new() } else { chunk(rules.chunk) };
    let unless = |value: u32, usual: u32| if value == usual { String::new() } else { value.to_string() };
    let parts = match heading.form {
        Form::V103 | Form::V197 => vec![size(rules), chunk],
        Form::V198 | Form::V200a => vec![
            size(rules),
            chunk,
            unless(heading.concurrency, 1),
            unless(rules.seeks, rules::SEEKS),
            unless(rules.seekers, rules.semantics.seekers()),
        ],
    };
    parts.join(":").trim_end_matches(':').to_owned()
}

fn latencies<'r>(text: &mut String, form: Form, results: impl Iterator<Item = &'r Result>) {
    if form.has_latencies() {
        let all: String = results.map(|result| format!(" {:>9}", result.latency())).collect();
        let written = writeln!(text, "{:<17}{all}", "Latency");
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
    }
}

fn files(text: &mut String, heading: &Heading<'_>, results: &Results) {
    let (form, rules) = (heading.form, heading.rules);
    let below = form == Form::V103 && rules.chunks > 0;
    line(text, &if below { String::new() } else { version(heading) }, CREATE);
    line(text, if below { "" } else { heading.machine }, ACTS);
    let label = match rules.small {
        Small::Files { max: 0, .. } => "              files",
        Small::Files { min: 0, .. } | Small::HardLinks | Small::Symlinks => "files:max",
        Small::Files { .. } => "files:max:min",
    };
    line(text, label, &[" /sec %CP"; 6].join(" "));
    let written = write!(text, "{:>LABEL$}", number(rules));
    debug_assert!(written.is_ok(), "writing to a string cannot fail");
    for result in results.files() {
        text.push_str(&(result.files().column(5) + &result.cpu().column(3)));
    }
    text.push('\n');
    latencies(text, form, results.files().iter());
}
