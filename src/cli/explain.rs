//! `fsderby explain`.

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use fsderby_diskmodel::End;
use serde_json::Value;

use super::complete::known;
use super::output::{print_json, print_line};
use super::pages::{self, Subject, VERSION};
use super::terms;
use crate::analysis::metrics;
use crate::exit::Failure;
use crate::filesystems::{self, Filesystem};
use crate::runner::experiment::eras::{self, Era};
use crate::runner::experiment::profiles::{self, Profile};
use crate::runner::experiment::{self, Experiment, SHIPPED};
use crate::schema::declared::{self, Declared, Over};
use crate::schema::description::Description;
use crate::schema::metric::Better;
use crate::schema::setup::Variant;
use crate::testbeds::model::disks::{self, Spec};
use crate::testbeds::model::machines::{self, Machine};
use crate::text::{mistakes, names};
use crate::{papers, probes, stages, states, storage, testbeds, workloads};

/// Width of running text, in columns.
const WIDTH: usize = 100;
#[derive(Args)]
pub struct Arguments {
    /// Name of a filesystem, workload, testbed, layer, stage, state, probe, experiment, modelled disk, machine, paper,
    /// profile of needs, era or metric, or a word of a report such as "not told apart"; or the path of a .toml file that describes a disk, a machine or an experiment
    #[arg(add = super::complete::subjects())]
    name: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let name = match arguments.name.split_once(':') {
        // A testbed with the disk that it models: `model:ssd-sata`.
        Some((testbed, rest)) if testbeds::TABLE.iter().any(|kind| kind.name() == testbed) => {
            rest.split(',').next().filter(|disk| !disk.is_empty()).unwrap_or(testbed)
        }
        _ => arguments.name.as_str(),
    };
    let shipped = [filesystem, workload, rest, experiment, disk, machine, paper, profile, era, metric, term];
    // "A/A check" has a slash and is no path.
    let of_file = if terms::find(name).is_none() { file(name)? } else { None };
    let all: Vec<(String, Subject)> =
        of_file.into_iter().chain(shipped.iter().filter_map(|explained| explained(name))).collect();
    if all.is_empty() {
        if filesystems::is_known_elsewhere(name) {
            return Err(Failure::usage(filesystems::unknown(name)).into());
        }
        return Err(Failure::usage(names::unknown("name", name, known().iter().map(String::as_str))).into());
    }
    // A set of parameters and an experiment may have one name.
    let (texts, subjects): (Vec<String>, Vec<Subject>) = all.into_iter().unzip();
    if arguments.json {
        print_json(&pages::Explained { schema_version: VERSION, subjects })?;
    } else {
        let texts: Vec<&str> = texts.iter().map(|text| text.trim_end()).collect();
        print_line(&texts.join("\n\n\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

type Explained = Option<(String, Subject)>;

fn filesystem(name: &str) -> Explained {
    let kind = filesystems::find(name)?;
    let mut text = told(name, &kind.description());
    text.push_str(&format!(
        "Tools       {} (Debian package {})\n",
        filesystems::tools(kind).join(", "),
        kind.package()
    ));
    text.push_str(&format!("Volume      {} to {}\n", kind.size().start(), kind.size().end()));
    for argv in kind.make(&Variant::default()) {
        text.push_str(&format!("Make        {}\n", argv.join(" ")));
    }
    if let Some(check) = kind.check() {
        text.push_str(&format!("Check       {}\n", check.argv.join(" ")));
    }
    let commits = kind.commits_after();
    text.push_str(&format!("Commits     every {} s ({})\n", commits.value, commits.source));
    text.push_str("\nCapabilities, with the source of each fact:\n");
    for (what, value, source) in capabilities(kind) {
        text.push_str(&format!("  {what:<20} {value:<22} {source}\n"));
    }
    let shown = pages::KindExplained {
        name: name.to_owned(),
        story: kind.description(),
        can: kind.can(),
        package: kind.package(),
        commits_after_seconds: commits,
    };
    Some((text, Subject::Kind(shown)))
}

/// Each capability in words: name, value, source.
pub fn capabilities(kind: &dyn Filesystem) -> Vec<(String, String, String)> {
    let Ok(Value::Object(facts)) = serde_json::to_value(kind.can()) else { return Vec::new() };
    let fact = |(name, fact): (String, Value)| {
        let source = fact["source"].as_str().unwrap_or_default().to_owned();
        (name.replace('_', " "), plain(&name, &fact["value"]), source)
    };
    facts.into_iter().map(fact).collect()
}

fn plain(name: &str, value: &Value) -> String {
    match value {
        Value::Bool(has) => if *has { "yes" } else { "no" }.to_owned(),
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(n) if name == "largest_file" => {
            crate::schema::units::Bytes(n.as_u64().unwrap_or(0)).to_string()
        }
        Value::Object(linux) => {
            let text = |key: &str| linux.get(key).and_then(Value::as_str);
            let until = text("until").map_or(String::new(), |until| format!(" until {until}"));
            format!("since {}{until}, by {}", text("since").unwrap_or("?"), text("driver").unwrap_or("?"))
        }
        other => other.to_string(),
    }
}

fn workload(name: &str) -> Explained {
    if let Some(engine) = workloads::engine(name) {
        let sets: Vec<&str> = engine.sets().iter().map(|s| s.name).collect();
        let text = format!("{}Sets        {}\n", told(name, &engine.description()), sets.join(", "));
        return Some((
            text,
            Subject::Engine(pages::Engine { name: name.to_owned(), story: engine.description(), sets }),
        ));
    }
    let (engine, set) = workloads::find(name)?;
    let file = set.file();
    let parameters = toml::to_string(&file.parameters).unwrap_or_default();
    let text = format!(
        "{name}, a parameter set of {engine}\n\n{story}\n\nSource: {source}\n\n{parameters}",
        engine = engine.name(),
        story = wrapped(&file.story),
        source = wrapped(&file.source),
    ) + &printed_by(name);
    let (story, source, parameters) = (file.story, file.source, file.parameters);
    let set = pages::Set { name: name.to_owned(), engine: engine.name(), story, source, parameters };
    Some((text, Subject::Set(set)))
}

/// Papers with a table or chart of this parameter set.
fn printed_by(set: &str) -> String {
    let has = |(name, _): &(&'static str, &str)| {
        let tables = papers::find(name).map(|paper| paper.tables).unwrap_or_default();
        tables.iter().any(|table| table.workloads().any(|work| work == set)).then_some(*name)
    };
    let names: Vec<&str> = papers::TABLE.iter().filter_map(has).collect();
    if names.is_empty() { String::new() } else { format!("\nPapers: {}\n", names.join(", ")) }
}

/// A paper: what it compared, its environment, every figure and every claim.
fn paper(name: &str) -> Explained {
    let paper = papers::find(name)?;
    Some((paper.shown(), Subject::Paper(pages::PaperNamed { name: name.to_owned(), paper })))
}

/// A profile of needs: weights and requirements, with reasons.
fn profile(name: &str) -> Explained {
    let Profile { story, source, needs } = profiles::find(name).ok()?;
    let all: f64 = needs.weights().iter().map(|(_, weight)| weight).sum();
    let mut text =
        format!("{name}, a profile of needs\n\n{}{}\n", line("What", &story), line("Origin", &source));
    for (key, weight) in needs.weights() {
        text.push_str(&format!("  {key:<12} {weight:>5}  {:>3.0}% of all weights\n", 100.0 * weight / all));
    }
    let required: Vec<String> = needs.require.iter().map(|required| format!("\"{required}\"")).collect();
    text.push_str(&format!("\n{}", line("Requires", &required.join(", "))));
    text.push_str(&needs.draw.map_or_else(String::new, |draw| {
        line("Draw", &format!("if the needs do not decide, {} decides", draw.title()))
    }));
    text.push_str(&format!("\nIn an experiment:\n\n[needs]\nprofile = \"{name}\"\n"));
    Some((
        text,
        Subject::Profile(pages::Profiled { name: name.to_owned(), story, source: Some(source), needs }),
    ))
}

/// An era: default options of a period for each filesystem, and what could not be obtained.
fn era(name: &str) -> Explained {
    let Era { story, source, kinds } = eras::find(name).ok()?;
    let mut text = format!(
        "{name}, an era: default options of a period\n\n{}{}",
        line("What", &story),
        line("Origin", &source)
    );
    for of in &kinds {
        text.push_str(&format!("\n{}\n", of.names.join(", ")));
        for (what, options) in [("mkfs", of.mkfs.join(" ")), ("Mount", of.mount.join(","))] {
            text.push_str(&if options.is_empty() { String::new() } else { line(what, &options) });
        }
        text.push_str(&line("Missing", &of.lost));
    }
    let kind = kinds.iter().find_map(|of| of.names.first()).cloned().unwrap_or_default();
    text.push_str(&format!("\nIn an experiment:\n\n[[filesystem]]\nkind = \"{kind}\"\nera = \"{name}\"\n"));
    Some((text, Subject::Era(pages::Era { name: name.to_owned(), story, source, kinds })))
}

fn rest(name: &str) -> Explained {
    let testbed = testbeds::TABLE.iter().find(|g| g.name() == name).map(|g| (g.usage(), g.description()));
    let probe = probes::TABLE.iter().find(|p| p.name() == name).map(|p| (p.name(), p.description()));
    let layer = storage::layers::kind(name).ok().map(|l| (l.usage(), l.description()));
    let stage = stages::TABLE.iter().find(|s| s.name() == name).map(|s| (s.usage(), s.description()));
    let state = states::TABLE.iter().find(|s| s.name() == name).map(|s| (s.usage(), s.description()));
    let (title, story) = testbed.or(probe).or(layer).or(stage).or(state)?;
    let shown = pages::Named { name: name.to_owned(), usage: None, story, package: None };
    Some((told(title, &shown.story), Subject::Named(shown)))
}

fn experiment(name: &str) -> Explained {
    let (_, text) = SHIPPED.iter().find(|(shipped, _)| *shipped == name)?;
    Some(experiment_of(name, text, &Experiment::parse(text, name).ok()?))
}

fn experiment_of(name: &str, text: &str, experiment: &Experiment) -> (String, Subject) {
    let shown =
        format!("{name}, an experiment\n\n{}\n\n{}", wrapped(&experiment.analysis), without_analysis(text));
    (
        shown,
        Subject::Experiment(pages::ExperimentNamed {
            name: name.to_owned(),
            analysis: experiment.analysis.trim().to_owned(),
            toml: Some(text.to_owned()),
        }),
    )
}

/// An experiment's file without the text that stands above it.
fn without_analysis(text: &str) -> String {
    const QUOTES: &str = "\"\"\"";
    let begin = format!("analysis = {QUOTES}");
    let parts = text.split_once(&begin).and_then(|(head, rest)| Some((head, rest.split_once(QUOTES)?.1)));
    parts.map_or_else(|| text.to_owned(), |(head, rest)| format!("{head}# analysis: the text above{rest}"))
}

/// A file that describes a disk, a machine or an experiment; `None` for a text that names no file.
fn file(path: &str) -> anyhow::Result<Explained> {
    // `device / written` is a heading in ASCII.
    let is_path = path.contains('/') && !path.contains(" / ") || path.ends_with(".toml");
    if !is_path {
        return Ok(None);
    }
    // The reader of experiments, which are the larger files.
    let text = experiment::read(Path::new(path))?;
    let table: toml::Table = toml::from_str(&text)
        .map_err(|e| Failure::usage(format!("could not parse {path}: {}", mistakes::in_words(&e))))?;
    let fault =
        |what: &str, e: &dyn Display| Failure::usage(format!("could not parse the {what} {path}: {e}"));
    Ok(Some(match (table.contains_key("values"), table.contains_key("kind")) {
        (true, true) => disk_of(path, &text, &Spec::parse(&text).map_err(|e| fault("disk", &e))?),
        (true, false) => machine_of(path, &text, Machine::parse(&text).map_err(|e| fault("machine", &e))?),
        (false, _) => experiment_of(path, &text, &Experiment::parse(&text, path)?),
    }))
}

/// A modelled disk: each value with its source.
fn disk(name: &str) -> Explained {
    let (_, text) = disks::TABLE.iter().find(|(shipped, _)| *shipped == name)?;
    Some(disk_of(name, text, &Spec::parse(text).ok()?))
}

fn disk_of(name: &str, text: &str, spec: &Spec) -> (String, Subject) {
    let (title, story) = (spec.title(), wrapped(spec.story()));
    let mut shown = format!("{name}, a modelled disk: {title}\n\n{story}\n\n");
    if let Some(machine) = spec.machine() {
        shown.push_str(&format!("  {:<28} {machine}\n", "default machine"));
    }
    for value in spec.values() {
        let quantity = format!("{} {}", value.value, value.unit);
        shown.push_str(&format!("  {:<28} {:<24} {}\n", value.key, quantity.trim_end(), value.source));
    }
    shown.push_str(
        "\nA run on this disk uses several variants of the model, called samples. Each line below is a property in \
         which samples differ, with its two extreme values and the reason for them:\n\n",
    );
    for range in spec.factors() {
        let title = range.factor.title().trim_start_matches("the ");
        let ends = match range.low {
            End::Is(_) => range.factor.ends().join(" or "),
            _ => format!("{} or {}", range.low, range.high),
        };
        shown.push_str(&format!("  {title:<45} {ends:<24} {}\n", range.why));
    }
    (shown, described(name, spec.title(), spec.story(), text))
}

/// A machine in which modelled disks can be placed: each value with its source.
fn machine(name: &str) -> Explained {
    let (_, text) = machines::TABLE.iter().find(|(shipped, _)| *shipped == name)?;
    Some(machine_of(name, text, Machine::parse(text).ok()?))
}

fn machine_of(name: &str, text: &str, machine: Machine) -> (String, Subject) {
    let Machine { title, story, values, .. } = machine;
    let mut shown = format!("{name}, a machine: {title}\n\n{}\n\n", wrapped(&story));
    let instructions =
        if values.instructions.is.is_empty() { "none".to_owned() } else { values.instructions.is.join(" ") };
    let speed = format!("{} million instructions/s", values.mips.is);
    for (key, value, source) in [
        ("mips", speed, values.mips.to_string()),
        ("instructions", instructions, values.instructions.to_string()),
    ] {
        shown.push_str(&format!("{}{}", line(key, &value), line("", &source)));
    }
    (shown, described(name, &title, &story, text))
}

fn described(name: &str, title: &str, story: &str, toml: &str) -> Subject {
    let [name, title, story, toml] = [name, title, story, toml].map(str::to_owned);
    Subject::Described(pages::Described { name, title, story, toml })
}

/// A word of a report.
fn term(name: &str) -> Explained {
    let term = terms::find(name)?;
    let also = match term.also {
        [] => String::new(),
        words => line("Also", &words.join(", ")),
    };
    let text = format!("{}, a word of reports\n\n{}{also}", term.name, line("Meaning", term.meaning));
    Some((text, Subject::Term(term)))
}

/// A metric, as declared by the workload, probe or step that measures it: by its name, or by its title or the heading of its column.
fn metric(name: &str) -> Explained {
    let all = metrics::declared();
    let by_name = all.iter().find_map(|(by, all)| Some((by, declared::find(all, name)?)));
    let title = name.replace(" / ", " ÷ ");
    let title = title.as_str();
    let is_titled =
        |declared: &&&Declared| [declared.title, &declared.heading().replace('\n', " ")].contains(&title);
    let titled = || all.iter().find_map(|(by, all)| Some((by, *all.iter().find(is_titled)?)));
    let (by, declared) = by_name.or_else(titled)?;
    let name = if by_name.is_some() { name } else { declared.name };
    let unit = if declared.unit.is_empty() { "a plain number" } else { declared.unit };
    let better = match declared.better {
        Better::Higher => "higher",
        Better::Lower => "lower",
        Better::Neither => "neither higher nor lower",
    };
    let measured = match declared.over {
        Over::Moment => "at one moment of the trial".to_owned(),
        over => format!("over {}", over.said()),
    };
    let text = [
        format!("{name}: {}\n\n", declared.title_of(name)),
        line("What", declared.explained),
        line("Measured", &measured),
        line("Unit", unit),
        line("Better", better),
        line("Declared by", by),
    ];
    Some((
        text.concat(),
        Subject::Metric(pages::Metric {
            name: Some(name.to_owned()),
            declared_by: by.clone(),
            metric: declared,
        }),
    ))
}

fn told(title: &str, story: &Description) -> String {
    let Description { what, origin, limits } = story;
    format!("{title}\n\n{}{}{}", line("What", what), line("Origin", origin), line("Limits", limits))
}

/// A term and its indented text.
fn line(head: &str, text: &str) -> String {
    format!("{head:<11} {}\n", wrapped(text).replace('\n', &format!("\n{:12}", "")))
}

/// Wraps a text into lines of about [`WIDTH`] columns.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last().map_or(0, |l| l.chars().count());
        if line > 0 && line + 1 + word.chars().count() > WIDTH - 12 {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}
