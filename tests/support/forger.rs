//! Somebody who alters a run and then computes checksums, chain and seal again, as anybody with the source could.

use std::fs;
use std::path::{Path, PathBuf};

use fsderby::analysis::dataset::Dataset;
use fsderby::analysis::validity::{self, Witness};
use fsderby::analysis::{metrics, verdict};
use fsderby::runner::plan::jobs;
use fsderby::runner::plan::resolved::Resolved;
use fsderby::schema::job::Step;
use fsderby::schema::plan::Plan;
use fsderby::schema::record::{FileRef, Record};
use fsderby::schema::seal::{Ended, Seal};
use fsderby::store::seal::Covered;
use fsderby::store::{self, beside, lines, seal};

/// A copy of a run, to be altered.
pub struct Forger {
    kept: tempfile::TempDir,
    pub plan: Plan,
    pub records: Vec<Record>,
    sealed: Option<Seal>,
}

impl Forger {
    pub fn of(run: &Path) -> Self {
        let kept = tempfile::tempdir().expect("a folder");
        copy(run, &kept.path().join("run"));
        let run = store::read(&kept.path().join("run")).expect("a run");
        Forger { plan: run.plan, records: run.records, sealed: run.seal, kept }
    }

    pub fn folder(&self) -> PathBuf {
        self.kept.path().join("run")
    }

    /// The record of this trial's last attempt.
    pub fn record(&mut self, trial: &str) -> &mut Record {
        self.records.iter_mut().rev().find(|record| record.trial == trial).expect("a record")
    }

    /// These records are gone, and the files beside them.
    pub fn drop_records(&mut self, is: impl Fn(&Record) -> bool) {
        let (gone, kept) = std::mem::take(&mut self.records).into_iter().partition(is);
        self.records = kept;
        let files = gone.iter().flat_map(beside::beside_it).map(|file| self.folder().join(&file.path));
        files.for_each(|file| fs::remove_file(file).expect("the file was there"));
    }

    /// As if the run had been interrupted after so many rounds.
    pub fn interrupted_after(&mut self, rounds: u32) {
        self.end(Ended::Interrupted, rounds);
    }

    /// As if all that was due had been done in so many rounds.
    pub fn complete_after(&mut self, rounds: u32) {
        self.end(Ended::Complete, rounds);
    }

    fn end(&mut self, ended: Ended, rounds: u32) {
        let seal = self.sealed.as_mut().expect("the run was sealed");
        (seal.ended, seal.rounds) = (ended, rounds);
    }

    /// Each of two filesystems has all that was the other's, but for what was mounted: names, places, files and lines fit.
    pub fn exchange(&mut self, one: &str, other: &str) {
        let folder = self.folder();
        for record in &mut self.records {
            let (from, to) = if record.filesystem == one { (one, other) } else { (other, one) };
            let trial = record.trial.replace(from, to);
            let mut planned = self.plan.integrity_checks().chain(self.plan.round(record.round.max(1)));
            let planned = planned.find(|planned| planned.name() == trial).expect("it is planned");
            (record.filesystem, record.order) = (to.to_owned(), planned.order);
            (record.kind, record.variant) =
                (planned.candidate.kind.clone(), planned.candidate.variant.clone().into());
            let files = record.histograms.iter_mut().chain(&mut record.console).chain(&mut record.requests);
            for (file, kind) in files.zip(beside::ALL) {
                let path = kind.path(&trial, record.attempt);
                fs::rename(folder.join(&file.path), folder.join(format!("{path}.new"))).expect("a file");
                file.path = path;
            }
            record.trial = trial;
        }
        let files = self.records.iter().flat_map(beside::beside_it).map(|file| folder.join(&file.path));
        files.for_each(|path| fs::rename(path.with_added_extension("new"), path).expect("a file"));
        self.records.sort_by_key(|record| (record.round, record.attempt, record.order));
    }

    /// All that was mounted is what the plan asks for, and the validity checks say so.
    pub fn mount_and_judge_again(&mut self) {
        let plan = Resolved::of(&self.plan).expect("a plan");
        for record in &mut self.records {
            let mut planned = self.plan.integrity_checks().chain(self.plan.round(record.round.max(1)));
            let planned = planned.find(|planned| planned.name() == record.trial).expect("it is planned");
            let steps = jobs::steps_of(&plan, &planned, true);
            let asked =
                steps.iter().find_map(|s| if let Step::Mount { mount } = s { Some(mount) } else { None });
            let asked = asked.expect("it is mounted");
            let mounted = record.mounted.as_mut().expect("it was mounted");
            (mounted.fstype, mounted.driver) = (asked.fstype().to_owned(), asked.fstype().to_owned());
            mounted.options = asked.options().to_vec();
            record.validity = validity::judge(
                record,
                &steps,
                Witness { asked: Some(asked), direct: Some(true), labels_own: false },
            );
        }
    }

    /// Computes all metrics of this trial again.
    pub fn compute_again(&mut self, trial: &str) {
        let record = self.record(trial);
        let works = metrics::parsed(record).expect("its works are understood");
        record.metrics = metrics::all(record, &works);
    }

    /// Puts other bytes beside this trial's record, with their hash.
    pub fn put_beside(
        &mut self,
        trial: &str,
        which: fn(&mut Record) -> &mut FileRef,
        alter: fn(String) -> String,
    ) {
        let folder = self.folder();
        let file = which(self.record(trial));
        let path = folder.join(&file.path);
        let text = alter(fs::read_to_string(&path).expect("a text"));
        file.blake3 = blake3::hash(text.as_bytes()).to_hex().to_string();
        fs::write(path, text).expect("it is written");
    }

    /// Chains all again from plan and machine on, and seals it, as the run itself would have.
    pub fn write(&self) {
        let folder = self.folder();
        let plan = toml::to_string(&self.plan).expect("a plan");
        let machine = fs::read(folder.join("machine.json")).expect("a machine");
        let first = crc32fast::hash(&[plan.as_bytes(), &machine].concat());
        let mut previous = format!("{first:08x}");
        let mut trials = String::new();
        for record in &self.records {
            let record = Record { previous, ..record.clone() };
            let (line, sum) = lines::write(&record).expect("a line");
            trials += &format!("{line}\n");
            previous = sum;
        }
        fs::write(folder.join("plan.toml"), &plan).expect("it is written");
        fs::write(folder.join("trials.jsonl"), &trials).expect("it is written");
        if let Some(Seal { ended, rounds, looks, .. }) = &self.sealed {
            let covered = Covered { plan: plan.as_bytes(), machine: &machine, trials: trials.as_bytes() };
            // The signature stays: a forger would not remove what is asked for.
            let signature = fs::read(folder.join("seal.json.minisig")).ok();
            let door = store::open_door(&folder).expect("a run");
            let sealed = covered.sealed(self.records.len(), *rounds, looks.clone(), *ended);
            seal::store(&door, &sealed).expect("it is sealed");
            let run = store::read(&folder).expect("a run");
            let verdict = verdict::of(&run, &Dataset::of(&run));
            let verdict = serde_json::to_string_pretty(&verdict).expect("JSON");
            fs::write(folder.join("verdict.json"), verdict + "\n").expect("it is written");
            signature
                .into_iter()
                .for_each(|s| fs::write(folder.join("seal.json.minisig"), s).expect("it is written"));
        }
    }
}

/// A folder with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy(&from, &to),
            false => fs::copy(from, to).map(drop).expect("a copy"),
        }
    }
}
