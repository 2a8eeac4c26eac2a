//! Small runs on the scripted testbed, whose records and events are what others are drawn from.

use std::collections::BTreeSet;
use std::fs;

use fsderby::runner::experiment::Experiment;
use fsderby::schema::plan::Plan;
use fsderby::schema::record::{Circumstances, Record};
use fsderby::store::{self, Run, lines};
use fsderby::testbeds::Testbeds;
use tempfile::TempDir;

use crate::support::quiet;
use crate::support::scripted::Scripted;

/// One for each way in which a trial can go: files, a cold start between parts, a power cut, several clients.
pub fn plans() -> Vec<Plan> {
    let of = |more: String| {
        let text = format!(
            "name = 'fuzz'\nsize = '1g'\nmemory = '64m'\nseed = 7\nfilesystems = ['ext4', 'xfs']\n{more}"
        );
        Experiment::parse(&text, "fuzz").unwrap().plan("loop".into(), 1).unwrap()
    };
    let small = "[[workload]]\nset = 'postmark-quick'\nlabel = 'small'\nnumber = 20\ntransactions = 50\n";
    let cold =
        "[[workload]]\nset = 'coldread-quick'\nlabel = 'cold'\nfiles = 40\nlarge_files = 1\nreads = 16\n";
    [
        format!("rounds = 2\n{small}"),
        format!("rounds = 1\ncold = true\n{cold}"),
        format!("rounds = 1\npower_cut = '50%'\n{small}fsync = true\n"),
        format!("rounds = 1\nclients = 3\n{small}"),
    ]
    .map(of)
    .to_vec()
}

/// A run's folder, and the lines of its records.
pub struct Stored {
    folder: TempDir,
    pub plan: Plan,
    pub lines: String,
    /// What the first line follows.
    pub first: String,
}

impl Stored {
    pub fn of(plan: Plan) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let testbed = Scripted::well();
        let run = quiet::run(&path, &plan, &Testbeds::one(&testbed), &[]);
        let sums = ["plan.toml", "machine.json"].map(|name| fs::read(path.join(name)).unwrap());
        let first = format!("{:08x}", crc32fast::hash(&sums.concat()));
        let lines = chained(run.records, &first);
        Stored { folder, plan, lines, first }
    }

    /// The run with these records in the place of its own.
    pub fn with(&self, lines: &str) -> Run {
        let path = self.folder.path().join("run");
        fs::write(path.join("trials.jsonl"), lines).unwrap();
        store::read(&path).unwrap()
    }
}

/// The same records without what is never twice the same, so that a seed gives the same inputs again.
fn chained(records: Vec<Record>, first: &str) -> String {
    let (mut previous, mut text) = (first.to_owned(), String::new());
    for record in records {
        let circumstances = Circumstances::default();
        let (line, sum) = lines::write(&Record { previous, circumstances, ..record }).unwrap();
        text += &format!("{line}\n");
        previous = sum;
    }
    text
}

/// The words of lines of JSON: keys, names, and what stands in quotes.
pub fn words(seeds: &[Vec<u8>]) -> Vec<String> {
    let text = seeds.iter().map(|seed| String::from_utf8_lossy(seed)).collect::<String>();
    let words: BTreeSet<&str> = text
        .split('"')
        .filter(|word| word.chars().all(|c| c.is_alphanumeric() || "-_./ ".contains(c)))
        .collect();
    words.into_iter().filter(|word| (1..30).contains(&word.len())).map(str::to_owned).collect()
}
