//! The pages of `docs/reference` that the program generates are what it says today.
//!
//! After a change: `FSDERBY_KNOWN=write cargo test --test documents reference`.

use std::fmt::Write;
use std::fs;

use serde_json::Value;

use crate::support::{documents, fsderby, project};
use fsderby::runner::experiment::entry::FILESYSTEM_KEYS;
use fsderby::runner::experiment::keys;

#[test]
fn the_metrics_are_the_programs() {
    let mut page = head("Metrics", "metrics");
    let mut declared_by = "";
    let listed = listed("metrics");
    for row in &listed {
        let metric = &row["metric"];
        if text(&row["declared_by"]) != declared_by {
            declared_by = text(&row["declared_by"]);
            write!(page, "\n## By {declared_by}\n\n| metric | title | unit | better | meaning |\n|---|---|---|---|---|\n").unwrap();
        }
        let cells = ["name", "title", "unit", "better", "explained"].map(|key| cell(text(&metric[key])));
        let [name, title, unit, better, explained] = cells;
        writeln!(page, "| `{name}` | {title} | {unit} | {better} | {explained} |").unwrap();
    }
    is_the_page("metrics", &page);
}

#[test]
fn the_workloads_are_the_programs() {
    let mut page = head("Workloads", "workloads");
    page.push_str("\n| set | engine | what it does | source |\n|---|---|---|---|\n");
    for row in &listed("workloads") {
        let [name, engine, story, source] =
            ["name", "engine", "story", "source"].map(|key| cell(text(&row[key])));
        writeln!(page, "| `{name}` | {engine} | {story} | {source} |").unwrap();
    }
    is_the_page("workloads", &page);
}

#[test]
fn the_words_of_reports_are_the_programs() {
    let mut page = head("Words of a report", "terms");
    page.push_str("\n| word | also | meaning |\n|---|---|---|\n");
    for row in &listed("terms") {
        let also: Vec<&str> = row["also"].as_array().unwrap().iter().map(text).collect();
        let [name, meaning] = ["name", "meaning"].map(|key| cell(text(&row[key])));
        writeln!(page, "| {name} | {also} | {meaning} |", also = cell(&also.join(", "))).unwrap();
    }
    is_the_page("terms", &page);
}

#[test]
fn the_testbeds_are_the_programs() {
    let mut page = head("Testbeds", "testbeds");
    for row in &listed("testbeds") {
        let story = &row["story"];
        write!(page, "\n## {}\n\n`{}`\n", text(&row["name"]), text(&row["usage"])).unwrap();
        for (title, key) in [("What", "what"), ("Origin", "origin"), ("Limits", "limits")] {
            write!(page, "\n- **{title}.** {}", cell(text(&story[key]))).unwrap();
        }
        page.push('\n');
    }
    is_the_page("testbeds", &page);
}

/// The part of the page below its text.
#[test]
fn the_configuration_is_the_programs() {
    const KEYS: &str = "## Keys\n";
    let path = project().join("docs/reference/configuration.md");
    let stored = fs::read_to_string(path).unwrap();
    let mut page = stored[..stored.find(KEYS).unwrap() + KEYS.len()].to_owned();
    let output = fsderby().args(["config", "show", "--json"]).output().unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    page.push_str("\n| key | variable | option | built in | meaning |\n|---|---|---|---|---|\n");
    for row in shown["settings"].as_array().unwrap() {
        let [key, variable, option, built_in, meaning] =
            ["key", "variable", "option", "built_in", "meaning"].map(|key| text(&row[key]));
        let option = if option == "none" { option.to_owned() } else { format!("`{option}`") };
        writeln!(page, "| `{key}` | `{variable}` | {option} | {} | {} |", cell(built_in), cell(meaning))
            .unwrap();
    }
    page.push_str("\n## Variables of tests\n\nOnly the tests and scripts in fsderby's source read these variables.\n\n| variable | meaning |\n|---|---|\n");
    for row in shown["variables"].as_array().unwrap().iter().filter(|row| row["of"] == "tests") {
        writeln!(page, "| `{}` | {} |", text(&row["name"]), cell(text(&row["meaning"]))).unwrap();
    }
    is_the_page("configuration", &page);
}

/// The rows of the tables in `docs/reference/experiment.md` have the keys that are read, and no others.
#[test]
fn the_keys_of_an_experiment_are_the_programs() {
    let page = documents::document("docs/reference/experiment.md").prose;
    let (experiment, rest) = page.split_once("\n## `[[filesystem]]`").unwrap();
    let (filesystem, _) = rest.split_once("\n## ").unwrap();
    for (prose, mut read) in [(experiment, keys()), (filesystem, FILESYSTEM_KEYS.to_vec())] {
        let first = prose.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
        let mut told: Vec<&str> =
            first.flat_map(|keys| keys.split(", ")).map(|key| key.trim_matches(['`', '[', ']'])).collect();
        read.sort_unstable();
        told.sort_unstable();
        assert_eq!(told, read);
    }
}

fn head(title: &str, list: &str) -> String {
    format!(
        "# {title}\n\nThis page is the output of `fsderby list {list}`; `fsderby explain NAME` prints more about each entry.\n"
    )
}

/// `fsderby list WHAT --json`.
fn listed(what: &str) -> Vec<Value> {
    let output = fsderby().args(["list", what, "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut page: Value = serde_json::from_slice(&output.stdout).unwrap();
    serde_json::from_value(page[what].take()).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// As it stands in a table: one line, and nothing that Markdown takes for its own.
fn cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace('|', "\\|").replace('<', "\\<").replace('*', "\\*").replace('_', "\\_")
}

fn is_the_page(name: &str, page: &str) {
    let path = project().join(format!("docs/reference/{name}.md"));
    if std::env::var_os("FSDERBY_KNOWN").is_some() {
        return fs::write(path, page).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap();
    assert_eq!(
        stored, page,
        "docs/reference/{name}.md: FSDERBY_KNOWN=write cargo test --test documents reference"
    );
}
