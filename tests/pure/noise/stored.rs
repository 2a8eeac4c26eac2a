//! Rounds that were really measured, as measure.py has stored them, and verdicts on studies that are drawn from them.

use fsderby::analysis::dataset::{Cell, Dataset, Series, Value, Work};
use fsderby::analysis::rounds;
use fsderby::runner::experiment::Experiment;
use fsderby::schema::finding::{Interim, Verdict};
use fsderby::schema::metric::{Better, Of, Owner};
use fsderby::schema::plan::{Plan, Rounds};
use fsderby_stats::family::Table;
use fsderby_stats::random::Random;

/// A file's table: a value for each candidate in each round.
pub struct Stored {
    pub labels: Vec<String>,
    pub rounds: Vec<Vec<f64>>,
}

impl Stored {
    pub fn parse(text: &str) -> Stored {
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let labels = lines.next().unwrap().split(',').skip(1).map(str::to_owned).collect();
        let row = |line: &str| line.split(',').skip(1).map(|value| value.parse().unwrap()).collect();
        Stored { labels, rounds: lines.map(row).collect() }
    }

    /// Those candidates alone.
    pub fn only(&self, labels: &[&str]) -> Stored {
        let at = |label: &&str| self.labels.iter().position(|known| known == label).unwrap();
        let at: Vec<usize> = labels.iter().map(at).collect();
        let rounds = self.rounds.iter().map(|row| at.iter().map(|at| row[*at]).collect()).collect();
        Stored { labels: labels.iter().map(|label| (*label).to_owned()).collect(), rounds }
    }

    /// The same rounds; in each the first `identical` candidates have drawn their values anew among themselves.
    pub fn permuted(mut self, identical: usize, random: &mut Random) -> Stored {
        for row in &mut self.rounds {
            shuffle(&mut row[..identical], random);
        }
        self
    }

    /// So many of its rounds, each once, in random order.
    pub fn drawn(&self, rounds: usize, random: &mut Random) -> Stored {
        let mut all: Vec<usize> = (0..self.rounds.len()).collect();
        shuffle(&mut all, random);
        let rounds = all.into_iter().take(rounds).map(|at| self.rounds[at].clone()).collect();
        Stored { labels: self.labels.clone(), rounds }
    }

    /// So many rounds, each time one of all.
    pub fn redrawn(&self, rounds: usize, random: &mut Random) -> Stored {
        let rounds = (0..rounds).map(|_| self.rounds[random.below(self.rounds.len())].clone()).collect();
        Stored { labels: self.labels.clone(), rounds }
    }

    /// Every second round, from the first or the second on.
    pub fn every_second(&self, from: usize) -> Stored {
        let rounds = self.rounds.iter().skip(from).step_by(2).cloned().collect();
        Stored { labels: self.labels.clone(), rounds }
    }

    /// As the family test has it.
    pub fn table(&self) -> Table {
        let mut table = Table::new(self.labels.len());
        for (round, row) in (0..).zip(&self.rounds) {
            assert!(table.push(round, &row.iter().map(|value| value.ln()).collect::<Vec<f64>>()));
        }
        table
    }

    /// The mean logarithm of a candidate's values.
    pub fn mean(&self, label: &str) -> f64 {
        let at = self.labels.iter().position(|known| known == label).unwrap();
        self.rounds.iter().map(|row| row[at].ln()).sum::<f64>() / self.rounds.len() as f64
    }

    /// As a run with these rounds would have it.
    pub fn dataset(&self) -> Dataset<'static> {
        let value = |(at, row): (usize, &Vec<f64>), of: usize| Value {
            trial: "".into(),
            round: at as u32 + 1,
            value: row[of],
        };
        let cell = |(of, label): (usize, &String)| Cell {
            filesystem: label.clone(),
            n: self.rounds.len(),
            median: None,
            min: None,
            max: None,
            values: self.rounds.iter().enumerate().map(|row| value(row, of)).collect(),
        };
        let series = Series {
            name: "transactions.rate".into(),
            dimensions: String::new(),
            quantities: Vec::new(),
            work: Owner::default(),
            unit: "/s".into(),
            of: Of::Time,
            better: Better::Higher,
            headline: true,
            stands_in: false,
            once: false,
            cells: self.labels.iter().enumerate().map(cell).collect(),
        };
        let work =
            Work { label: "stored".into(), counted: Vec::new(), extras: Vec::new(), series: vec![series] };
        Dataset { planned: self.labels.clone(), filesystems: self.labels.clone(), workloads: vec![work] }
    }

    /// What a run that was planned to have just these rounds is told at its end.
    pub fn verdict(&self) -> Verdict {
        self.judged(Rounds::Exactly(self.rounds.len() as u32))
    }

    /// What a run of `--rounds auto` is told last that these rounds are enough for: it goes on until no pair is open.
    pub fn verdict_by_looks(&self) -> Verdict {
        self.judged(Rounds::Auto)
    }

    fn judged(&self, rounds: Rounds) -> Verdict {
        let plan = plan(rounds);
        let mut shown: Vec<Interim> = Vec::new();
        for complete in 1..=self.rounds.len() {
            let so_far = Stored { labels: self.labels.clone(), rounds: self.rounds[..complete].to_vec() };
            if rounds::looks(&plan).planned().iter().all(|look| look.rounds != complete) {
                continue;
            }
            let dataset = so_far.dataset();
            shown.push(rounds::next(&plan, &dataset, &shown).unwrap());
            let verdict = rounds::verdict(&plan, &dataset, &shown);
            if !verdict.is_open() || complete == self.rounds.len() {
                return verdict;
            }
        }
        panic!("{} rounds are too few for the last look", self.rounds.len());
    }
}

pub fn plan(rounds: Rounds) -> Plan {
    let text = "filesystems = ['ext4']\nworkloads = ['postmark-quick']\nseed = 7\nrounds = 6\n";
    Plan { rounds, ..Experiment::parse(text, "test").unwrap().plan("loop".into(), 7).unwrap() }
}

fn shuffle<T>(values: &mut [T], random: &mut Random) {
    for last in (1..values.len()).rev() {
        values.swap(last, random.below(last + 1));
    }
}
