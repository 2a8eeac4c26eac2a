//! `fsderby list`.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};
use serde_json::Value;

use super::output::{print_json, print_line};
use super::pages;
use super::terms::TERMS;
use crate::analysis::metrics;
use crate::exit::Failure;
use crate::filesystems::{self, Filesystem};
use crate::report::formats::lines::wrapped;
use crate::report::view::heading;
use crate::runner::experiment::{Experiment, SHIPPED};
use crate::runner::experiment::{eras, profiles};
use crate::schema::description::Description;
use crate::schema::units::Bytes;
use crate::testbeds::model::disks::{self, Spec};
use crate::testbeds::model::machines::{self, Machine};
use crate::{papers, probes, stages, states, storage, testbeds, workloads};

/// Number of columns if the output is not a terminal.
pub(super) const PIPED: u16 = 80;

#[derive(Args)]
pub struct Arguments {
    /// What to list; default: everything
    #[arg(value_enum)]
    what: Option<What>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    Filesystems,
    Workloads,
    Testbeds,
    Layers,
    Stages,
    States,
    Probes,
    Experiments,
    Disks,
    Machines,
    Papers,
    Profiles,
    Eras,
    Metrics,
    Terms,
}

/// A table that can be printed as text or JSON.
struct Listed {
    title: &'static str,
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    json: Value,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let asked = arguments.what.map_or_else(|| What::value_variants().to_vec(), |what| vec![what]);
    let lists = asked.into_iter().map(list).collect::<anyhow::Result<Vec<_>>>()?;
    if arguments.json {
        let mut all: serde_json::Map<String, Value> =
            lists.into_iter().map(|l| (l.title.to_owned(), l.json)).collect();
        all.insert("schema_version".into(), pages::VERSION.into());
        print_json(&all)?;
    } else {
        let lists: String = lists.iter().map(|l| format!("{}\n{}\n\n", l.title, printed(l))).collect();
        print_line(&format!("{lists}`fsderby explain NAME` prints more about each."))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list(what: What) -> anyhow::Result<Listed> {
    Ok(match what {
        What::Filesystems => filesystems(),
        What::Workloads => workloads(),
        What::Testbeds => testbeds(),
        What::Layers => layers(),
        What::Stages => stages(),
        What::States => states(),
        What::Probes => probes(),
        What::Experiments => experiments()?,
        What::Disks => modelled_disks()?,
        What::Machines => machines()?,
        What::Papers => papers(),
        What::Profiles => profiles()?,
        What::Eras => eras()?,
        What::Metrics => metrics(),
        What::Terms => terms(),
    })
}

/// A table; if it has two columns that do not fit beside each other, each row is a line with an indented text below.
fn printed(list: &Listed) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if !std::io::stdout().is_terminal() {
        table.set_width(PIPED);
    }
    let least = longest_words(list);
    let (width, needed) = (table.width().unwrap_or(PIPED), least.iter().sum());
    if list.head.len() == 2 && width < needed {
        let below = |text: &str| wrapped(text, usize::from(width) - 5).join("\n   ");
        let rows = list.rows.iter().map(|row| format!(" {}\n     {}", row[0], below(&row[1])));
        return rows.collect::<Vec<String>>().join("\n");
    }
    table.set_header(list.head.clone()).add_rows(list.rows.clone());
    table.set_width(width.max(needed));
    for (column, least) in table.column_iter_mut().zip(least) {
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
    }
    table.to_string()
}

/// The least width of each column in which no word is broken.
fn longest_words(list: &Listed) -> Vec<u16> {
    let longest = |text: &str| text.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0);
    let of = |at: usize| {
        let rows = list.rows.iter().map(|row| longest(&row[at]));
        // A column has a space on each side.
        rows.fold(longest(list.head[at]), usize::max) as u16 + 2
    };
    (0..list.head.len()).map(of).collect()
}

/// The words of reports.
fn terms() -> Listed {
    Listed {
        title: "terms",
        head: vec!["term", "meaning"],
        rows: TERMS.iter().map(|term| vec![term.name.to_owned(), term.meaning.to_owned()]).collect(),
        json: json(TERMS.iter()),
    }
}

fn filesystems() -> Listed {
    let yes = |has: bool| if has { "yes" } else { "-" }.to_owned();
    let row = |kind: &&dyn Filesystem| {
        let (can, size) = (kind.can(), kind.size());
        let linux = can.linux.value;
        let until = linux.until.map_or(String::new(), |until| format!(" to {until}"));
        vec![
            kind.name().to_owned(),
            word(&can.journal.value),
            yes(can.data_checksums.value),
            yes(can.snapshots.value),
            yes(can.hard_links.value),
            can.check.value.map_or("none".into(), |depth| word(&depth)),
            size.start().to_string(),
            format!("{}{until}", linux.since),
            kind.package().to_owned(),
        ]
    };
    let shown = |kind: &&'static dyn Filesystem| pages::Kind {
        name: kind.name(),
        story: kind.description(),
        package: kind.package(),
        can: kind.can(),
        smallest: *kind.size().start(),
        largest: *kind.size().end(),
        kernel: kind.kernel(),
    };
    Listed {
        title: "filesystems",
        head: vec![
            "name",
            "journal",
            "checksums",
            "snapshots",
            "hard links",
            "check",
            "smallest",
            "in Linux",
            "package",
        ],
        rows: filesystems::TABLE.iter().map(row).collect(),
        json: json(filesystems::TABLE.iter().map(shown)),
    }
}

/// The value of a capability as written in records.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

fn workloads() -> Listed {
    let sets = || {
        workloads::TABLE
            .iter()
            .flat_map(|engine| engine.sets().iter().map(move |set| (engine, set, set.file())))
    };
    Listed {
        title: "workloads",
        head: vec!["name", "engine", "what it is"],
        rows: sets()
            .map(|(engine, set, file)| {
                vec![set.name.into(), engine.name().into(), first_sentence(&file.story)]
            })
            .collect(),
        json: json(sets().map(|(engine, set, file)| pages::Set {
            name: set.name.to_owned(),
            engine: engine.name(),
            story: file.story,
            source: file.source,
            parameters: file.parameters,
        })),
    }
}

/// The first sentence of a text, as one line.
fn first_sentence(text: &str) -> String {
    heading::first_sentence(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn testbeds() -> Listed {
    Listed {
        title: "testbeds",
        head: vec!["name", "what it is"],
        rows: testbeds::TABLE.iter().map(|g| vec![g.usage().into(), g.description().what.into()]).collect(),
        json: json(testbeds::TABLE.iter().map(|g| named(g.name(), Some(g.usage()), g.description()))),
    }
}

fn layers() -> Listed {
    let all = storage::layers::TABLE;
    Listed {
        title: "layers",
        head: vec!["name", "what it is", "package"],
        rows: all
            .iter()
            .map(|l| vec![l.usage().into(), first_sentence(l.description().what), l.package().into()])
            .collect(),
        json: json(all.iter().map(|l| pages::Named {
            package: Some(l.package()),
            ..named(l.name(), Some(l.usage()), l.description())
        })),
    }
}

fn stages() -> Listed {
    written("stages", stages::TABLE.iter().map(|s| (s.name(), s.usage(), s.description())))
}

fn states() -> Listed {
    written("states", states::TABLE.iter().map(|s| (s.name(), s.usage(), s.description())))
}

/// Names whose syntax an experiment file uses.
fn written(
    title: &'static str,
    all: impl Iterator<Item = (&'static str, &'static str, Description)>,
) -> Listed {
    let all: Vec<_> = all.collect();
    Listed {
        title,
        head: vec!["syntax", "what it is"],
        rows: all.iter().map(|(_, usage, story)| vec![(*usage).into(), first_sentence(story.what)]).collect(),
        json: json(all.into_iter().map(|(name, usage, story)| named(name, Some(usage), story))),
    }
}

fn named(name: &str, usage: Option<&'static str>, story: Description) -> pages::Named {
    pages::Named { name: name.to_owned(), usage, story, package: None }
}

/// The rows of a list.
fn json<T: serde::Serialize>(rows: impl Iterator<Item = T>) -> Value {
    rows.filter_map(|row| serde_json::to_value(row).ok()).collect()
}

fn probes() -> Listed {
    Listed {
        title: "probes",
        head: vec!["name", "what it is"],
        rows: probes::TABLE.iter().map(|p| vec![p.name().into(), p.description().what.into()]).collect(),
        json: json(probes::TABLE.iter().map(|p| named(p.name(), None, p.description()))),
    }
}

fn experiments() -> anyhow::Result<Listed> {
    let all = SHIPPED.iter().map(|(name, text)| Ok((*name, Experiment::parse(text, name)?)));
    let all = all.collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Listed {
        title: "experiments",
        head: vec!["name", "what it is for"],
        rows: all.iter().map(|(name, e)| vec![(*name).to_owned(), first_sentence(&e.analysis)]).collect(),
        json: json(all.iter().map(|(name, e)| pages::ExperimentNamed {
            name: (*name).to_owned(),
            analysis: e.analysis.trim().to_owned(),
            toml: None,
        })),
    })
}

fn modelled_disks() -> anyhow::Result<Listed> {
    let specs = disks::TABLE.iter().map(|(_, text)| Ok(Spec::parse(text)?));
    let specs = specs.collect::<anyhow::Result<Vec<_>>>()?;
    let row = |spec: &Spec| {
        let size = Bytes(spec.sectors() * 512).to_string();
        let read = format!("{:.2} ms", spec.service_4k_ns() as f64 / 1e6);
        vec![spec.name().into(), spec.title().into(), size, read]
    };
    let shown = |spec: &Spec| pages::Disk {
        name: spec.name().to_owned(),
        title: spec.title().to_owned(),
        story: spec.story().to_owned(),
        bytes: spec.sectors() * 512,
        read_4k_ns: spec.service_4k_ns(),
    };
    Ok(Listed {
        title: "disks",
        head: vec!["name", "what it is", "size", "4 KiB at random"],
        rows: specs.iter().map(row).collect(),
        json: json(specs.iter().map(shown)),
    })
}

fn machines() -> anyhow::Result<Listed> {
    let all = machines::TABLE.iter().map(|(_, text)| Machine::parse(text).map_err(Failure::usage));
    let all = all.collect::<Result<Vec<_>, _>>()?;
    let row = |m: &Machine| {
        let disks = disks::TABLE.iter().filter_map(|(_, text)| Spec::parse(text).ok());
        let own: Vec<String> =
            disks.filter(|disk| disk.machine() == Some(&m.name)).map(|disk| disk.name().to_owned()).collect();
        vec![m.name.clone(), m.title.clone(), m.values.mips.is.to_string(), own.join(", ")]
    };
    Ok(Listed {
        title: "machines",
        head: vec!["name", "what it is", "million instructions/s", "disks that name it"],
        rows: all.iter().map(row).collect(),
        json: serde_json::to_value(&all)?,
    })
}

fn metrics() -> Listed {
    let all = metrics::declared();
    let each = || all.iter().flat_map(|(by, all)| all.iter().map(move |declared| (by, *declared)));
    Listed {
        title: "metrics",
        head: vec!["name", "what it is", "unit", "declared by"],
        rows: each()
            .map(|(by, d)| vec![d.name.into(), d.title_of(d.name), d.unit.into(), by.clone()])
            .collect(),
        json: json(each().map(|(by, metric)| pages::Metric { name: None, declared_by: by.clone(), metric })),
    }
}

fn profiles() -> anyhow::Result<Listed> {
    let all =
        profiles::TABLE.iter().map(|(name, _)| Ok((*name, profiles::find(name).map_err(Failure::usage)?)));
    let all = all.collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Listed {
        title: "profiles",
        head: vec!["name", "whose needs they are"],
        rows: all.iter().map(|(name, p)| vec![(*name).to_owned(), first_sentence(&p.story)]).collect(),
        json: json(all.iter().map(|(name, p)| pages::Profiled {
            name: (*name).to_owned(),
            story: p.story.trim().to_owned(),
            source: None,
            needs: p.needs.clone(),
        })),
    })
}

fn eras() -> anyhow::Result<Listed> {
    let all = eras::TABLE.iter().map(|(name, _)| Ok((*name, eras::find(name).map_err(Failure::usage)?)));
    let all = all.collect::<anyhow::Result<Vec<_>>>()?;
    let kinds = |era: &eras::Era| era.kinds.iter().flat_map(|of| of.names.clone()).collect::<Vec<_>>();
    Ok(Listed {
        title: "eras",
        head: vec!["name", "what it is", "kinds"],
        rows: all
            .iter()
            .map(|(name, era)| vec![(*name).to_owned(), first_sentence(&era.story), kinds(era).join(", ")])
            .collect(),
        json: json(all.iter().map(|(name, era)| pages::EraNamed {
            name: (*name).to_owned(),
            story: era.story.trim().to_owned(),
            kinds: kinds(era),
        })),
    })
}

fn papers() -> Listed {
    let all = || papers::TABLE.iter().filter_map(|(name, _)| Some((*name, papers::find(name)?)));
    let works = |paper: &papers::Paper| {
        let works: BTreeSet<&str> = paper.tables.iter().map(|table| table.workload.as_str()).collect();
        works.into_iter().collect::<Vec<&str>>().join(", ")
    };
    Listed {
        title: "papers",
        head: vec!["name", "what it is", "workloads", "tables", "claims"],
        rows: all()
            .map(|(name, p)| {
                let (tables, claims) = (p.tables.len().to_string(), p.claims.len().to_string());
                vec![name.into(), format!("{}, {}", p.title, p.year), works(&p), tables, claims]
            })
            .collect(),
        json: json(all().map(|(name, paper)| pages::PaperNamed { name: name.to_owned(), paper })),
    }
}
