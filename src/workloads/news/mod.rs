//! News: a server receives articles, sends them to other servers and deletes the oldest. Each article is a small file in a deep
//! directory tree.
//!
//! ```text
//! groups     every folder is created, parents first
//! import     articles are written in order of arrival, each into a random group
//! feed       every article is read in order of arrival
//! expire     the oldest articles are deleted; the other articles are kept
//! ```

use toml::Table;

use super::kit::parameters::{self, Keys};
use super::kit::tree::{Grown, Shape};
use super::kit::{Rate, Tree, sizes};
use super::{ParamSet, Work, Workload};
use crate::schema::declared::{Declared, Over, Section};
use crate::schema::description::Description;
use crate::schema::units::Scale;

mod trial;

pub struct News;

static SETS: &[ParamSet] = &[
    ParamSet { name: "news-quick", toml: include_str!("sets/news-quick.toml") },
    ParamSet { name: "news-import", toml: include_str!("sets/news-import.toml") },
];

const VERSION: u32 = 1;

static RATES: [Rate; 5] = [
    Rate {
        count: "folders",
        declared: Declared {
            name: "groups.rate",
            title: "mkdir (phase groups)",
            section: Section::Files,
            over: Over::Phase("groups"),
            explained: "Directories created per second. Each directory is created at the top or inside an \
                        existing directory, at most eight levels deep.",
            ..Declared::PER_SECOND
        },
    },
    Rate {
        count: "files",
        declared: Declared {
            name: "import.rate",
            title: "create (phase import)",
            did: "took articles in",
            section: Section::Headline,
            over: Over::Phase("import"),
            explained: "Articles created and written per second, each in a random directory.",
            ..Declared::PER_SECOND
        },
    },
    Rate {
        count: "bytes_written",
        declared: Declared {
            name: "import.throughput",
            title: "write (phase import)",
            short: "write",
            section: Section::Throughput,
            over: Over::Phase("import"),
            explained: "Bytes of articles written per second in the import phase.",
            key: true,
            ..Declared::MIB_PER_SECOND
        },
    },
    Rate {
        count: "files",
        declared: Declared {
            name: "feed.rate",
            title: "read (phase feed)",
            short: "read",
            section: Section::Files,
            over: Over::Phase("feed"),
            explained: "Articles read per second in order of arrival. Articles that are still in the page cache are \
                not read from the disk.",
            key: true,
            ..Declared::PER_SECOND
        },
    },
    Rate {
        count: "files",
        declared: Declared {
            name: "expire.rate",
            title: "delete (phase expire)",
            section: Section::Files,
            over: Over::Phase("expire"),
            explained: "Articles deleted per second, oldest first.",
            ..Declared::PER_SECOND
        },
    },
];

impl Workload for News {
    fn name(&self) -> &'static str {
        "news"
    }

    fn description(&self) -> Description {
        Description {
            what: "Creates a deep directory tree, writes many small files into random directories, reads all of \
                   them in order of arrival, and deletes the oldest.",
            origin: "fsderby's own. Published comparisons say that filesystems differ most with small files, and \
                     give a news server as the example; none of them states the number of files.",
            limits: "Today's servers store articles in few large files. Without fsync nothing is forced to the \
                     disk, so data that fits into memory measures the page cache.",
        }
    }

    fn sets(&self) -> &'static [ParamSet] {
        SETS
    }

    fn declared(&self) -> Vec<&'static Declared> {
        RATES.iter().map(|rate| &rate.declared).collect()
    }

    fn timed(&self, phase: &str) -> &'static [(&'static str, &'static str)] {
        match phase {
            "groups" => &[("mkdir", "folders")],
            "import" => &[("create", "files")],
            "feed" => &[("read", "files")],
            "expire" => &[("unlink", "files")],
            _ => &[],
        }
    }

    fn parse(&self, parameters: &Table) -> Result<Box<dyn Work>, String> {
        Ok(Box::new(Parameters::parse(parameters)?))
    }

    fn scale(&self, parameters: &Table, by: Scale) -> Result<Table, String> {
        let Parameters { tree, .. } = Parameters::parse(parameters)?;
        let numbers = [("articles", tree.files.into()), ("groups", tree.folders.into())];
        let scaled = parameters::scaled(parameters, by, numbers)?;
        Parameters::parse(&scaled).map(|_| scaled)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parameters {
    /// Files are numbered in order of arrival.
    tree: Shape,
    /// Percentage of articles that expire.
    expire_percent: u32,
    /// Whether each article and its name are synced before the next article is written.
    fsync: bool,
}

const KEYS: &[&str] = &["articles", "groups", "deepest", "sizes", "expire_percent", "fsync"];
/// The state per article must be small compared with the least memory of a trial.
const MOST: u32 = 1_000_000;

impl Parameters {
    fn parse(table: &Table) -> Result<Self, String> {
        let keys = Keys::of(table, KEYS)?;
        Ok(Parameters {
            tree: Shape {
                files: keys.number("articles", 1..=MOST)?,
                folders: keys.number("groups", 1..=MOST)?,
                deepest: keys.number("deepest", 1..=64)?,
                sizes: sizes::rows(keys.needed("sizes")?)?,
            },
            expire_percent: keys.number("expire_percent", 0..=100)?,
            fsync: keys.or("fsync", false)?,
        })
    }

    fn grown(&self, seed: u64) -> Grown {
        Grown::new(&self.tree, "news", seed)
    }

    /// The number of articles that expire: the first articles.
    fn expired(&self) -> u32 {
        (u64::from(self.tree.files) * u64::from(self.expire_percent) / 100) as u32
    }

    fn bytes(&self, seed: u64) -> u64 {
        self.grown(seed).bytes()
    }
}
