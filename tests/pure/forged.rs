//! What `verify` finds without a key, and with one: flipped bits, and runs that somebody altered and then chained and sealed
//! again.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::support::carry::carry_out;
use crate::support::forger::Forger;
use crate::support::scripted::Scripted;
use fsderby::runner::experiment::Experiment;
use fsderby::runner::verify::verify;
use fsderby::schema::event::Seen;
use fsderby::schema::finding::Verdict;
use fsderby::schema::job::StepName;
use fsderby::schema::plan::{Plan, Rounds};
use fsderby::schema::random::seeded;
use fsderby::schema::reason::{Condition, Held, Outcome, Reason};
use fsderby::schema::record::Record;
use fsderby::schema::units::Bytes;
use fsderby::store;
use fsderby::store::keys::{self, Key};
use fsderby::store::signature;
use fsderby::testbeds::Next;
use rand_core::Rng;

const EXPERIMENT: &str = r#"
name = "forged"
size = "1g"
memory = "64m"
cold = true
workloads = ["maildir-quick"]
filesystems = ["ext2", "ext4"]
rounds = 3
scale = "1/16"
seed = 7

[needs]
workloads = 1
cpu = 1
"#;

/// A run with every kind of file, one void attempt, a seal and a signature.
struct Signed {
    kept: tempfile::TempDir,
    key: minisign::PublicKey,
}

impl Signed {
    fn of(plan: &Plan) -> Self {
        let kept = tempfile::tempdir().unwrap();
        let mut testbed = Scripted::altered(|job, mut events| {
            if job.trial == "r02/maildir-quick/ext4" && job.attempt == 1 {
                events.insert(4, Next::Damaged("event 4 was due, 5 came".into()));
            }
            events
        });
        testbed.console = vec!["[    0.000000] Linux version 6.12".into()];
        testbed.requests = vec![7; 480];
        let run = kept.path().join("run");
        carry_out(&run, plan, &testbed, &[], None);
        let public = keys::make(&kept.path().join("key")).unwrap();
        let key = Key::read(&kept.path().join("key"), || None).unwrap();
        signature::sign(&store::open_door(&run).unwrap(), &key).unwrap();
        Signed { key: keys::public_key(public.to_str().unwrap()).unwrap(), kept }
    }

    fn run(&self) -> PathBuf {
        self.kept.path().join("run")
    }

    /// Whether a run is as it was signed.
    fn check(&self, run: &Path) -> Result<(), String> {
        signature::check(&store::read(run).unwrap(), &self.key)
    }
}

/// What is wrong with a run without a key; why it cannot be read counts too.
fn wrong(run: &Path) -> Vec<String> {
    store::read(run).map_or_else(|e| vec![e.to_string()], |run| verify(&run).wrong)
}

/// Whether nothing is said of a change in the verdict. A figure of seventeen digits may have a neighbour that is read as the same
/// number; then nothing has changed. An older version of the rules is told in a note.
fn is_missed_in_verdict(run: &Path, whole: Option<&Verdict>) -> bool {
    let Ok(read) = store::read(run) else { return false };
    let told = verify(&read);
    told.wrong.is_empty() && told.notes.is_empty() && read.verdict.as_ref() != whole
}

fn plan() -> Plan {
    Experiment::parse(EXPERIMENT, "test").unwrap().plan("loop".into(), 1).unwrap()
}

/// All files of a run that are verified: a report is none of them.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect();
    files.sort();
    files
}

/// In place, for nothing else is to be written.
fn flip(path: &Path, at: usize, bit: usize) {
    let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at as u64).unwrap();
    file.write_all_at(&[byte[0] ^ 1 << bit], at as u64).unwrap();
}

#[test]
fn of_2000_flipped_bits_each_is_found_without_a_key() {
    const FLIPS: usize = 2000;
    const SEED: u64 = 20_261_122;
    // The least that has a file of each kind.
    let mut small = Plan { rounds: Rounds::Exactly(1), ..plan() };
    small.candidates.truncate(1);
    let signed = Signed::of(&small);
    let run = signed.run();
    assert_eq!((wrong(&run), signed.check(&run)), (Vec::new(), Ok(())));
    let mut random = seeded(&[b"flips", &SEED.to_le_bytes()]);
    let mut below = |n: usize| (random.next_u64() % n as u64) as usize;
    let files: Vec<PathBuf> =
        files(&run).into_iter().filter(|path| path.extension().is_none_or(|e| e != "minisig")).collect();
    let sizes: Vec<usize> = files.iter().map(|path| fs::metadata(path).unwrap().len() as usize).collect();
    let mut missed = Vec::new();
    let (verdict, whole) = (run.join("verdict.json"), store::read(&run).unwrap().verdict);
    for _ in 0..FLIPS {
        // Any byte of any file, the long ones as often as they are long.
        let (mut at, bit) = (below(sizes.iter().sum()), below(8));
        let mut file = 0;
        while at >= sizes[file] {
            (at, file) = (at - sizes[file], file + 1);
        }
        let path = &files[file];
        flip(path, at, bit);
        let is_missed = match *path == verdict {
            true => is_missed_in_verdict(&run, whole.as_ref()),
            false => wrong(&run).is_empty(),
        };
        if is_missed {
            missed.push(format!("bit {bit} of byte {at} of {}", path.display()));
        }
        flip(path, at, bit);
    }
    // Where a flip may change nothing, or the version of the rules alone, each bit is tried.
    for at in 0..fs::metadata(&verdict).unwrap().len() as usize {
        flip(&verdict, at, 0);
        if is_missed_in_verdict(&run, whole.as_ref()) {
            missed.push(format!("bit 0 of byte {at} of the verdict"));
        }
        flip(&verdict, at, 0);
    }
    assert_eq!(missed, Vec::<String>::new(), "with the seed {SEED}");
    assert_eq!((wrong(&run), signed.check(&run)), (Vec::new(), Ok(())), "it is as it was");
}

type Forgery = fn(&mut Forger);

/// What is done to the run.
enum How {
    /// Then all is chained and sealed again.
    Chained(Forgery),
    /// And nothing more.
    Plain(fn(&Path)),
}
use How::{Chained, Plain};

const E2: &str = "r02/maildir-quick/ext2";
const E4: &str = "r02/maildir-quick/ext4";
const CHECK: &str = "integrity/maildir-quick/ext4";

/// These are found without a key.
const FOUND: &[(&str, How)] = &[
    ("the first round is gone", Chained(|f| f.drop_records(|r| r.round == 1))),
    ("a round in the middle is gone", Chained(|f| f.drop_records(|r| r.round == 2))),
    (
        "the last round is gone, and the run says that it is complete",
        Chained(|f| f.drop_records(|r| r.round == 3)),
    ),
    ("all rounds but the last are gone", Chained(|f| f.drop_records(|r| r.round == 1 || r.round == 2))),
    ("a trial is gone", Chained(|f| f.drop_records(|r| r.trial == E2))),
    ("the first trial is gone", Chained(|f| f.drop_records(|r| r.trial == f_first()))),
    ("the last trial is gone", Chained(|f| f.drop_records(|r| r.trial == f_last()))),
    ("an integrity check is gone", Chained(|f| f.drop_records(|r| r.trial == CHECK))),
    ("all integrity checks are gone", Chained(|f| f.drop_records(|r| r.round == 0))),
    ("one filesystem is gone", Chained(|f| f.drop_records(|r| r.kind == "ext4"))),
    ("a void attempt is gone", Chained(|f| f.drop_records(|r| r.outcome == Outcome::Void))),
    ("the attempt after a void one is gone", Chained(|f| f.drop_records(|r| r.attempt == 2))),
    ("a trial is gone and its files are left", Chained(|f| f.records.retain(|r| r.trial != E2))),
    (
        "a trial is there twice",
        Chained(|f| {
            let twice = f.record(E2).clone();
            f.records.push(twice);
        }),
    ),
    ("two lines are exchanged", Chained(|f| f.records.swap(3, 4))),
    ("the file of records is empty", Plain(|run| fs::write(run.join("trials.jsonl"), "").unwrap())),
    (
        "the file of records is empty, and the seal is gone",
        Plain(|run| {
            fs::write(run.join("trials.jsonl"), "").unwrap();
            fs::remove_file(run.join("seal.json")).unwrap();
        }),
    ),
    ("the last line is gone", Plain(|run| shorten(run, |text| text.trim_end().rfind('\n').unwrap() + 1))),
    ("the last line has lost its end", Plain(|run| shorten(run, |text| text.len() - 40))),
    (
        "half of the lines are gone, and the seal",
        Plain(|run| {
            shorten(run, |text| text[..text.len() / 2].rfind('\n').unwrap() + 1);
            fs::remove_file(run.join("seal.json")).unwrap();
        }),
    ),
    (
        "the last line has lost its end and kept its newline, without a seal",
        Plain(|run| {
            shorten(run, |text| text.len() - 40);
            let text = fs::read_to_string(run.join("trials.jsonl")).unwrap();
            fs::write(run.join("trials.jsonl"), text + "\n").unwrap();
            fs::remove_file(run.join("seal.json")).unwrap();
        }),
    ),
    (
        "two filesystems have exchanged their names",
        Chained(|f| {
            for record in &mut f.records {
                let (from, to) = if record.kind == "ext2" { ("ext2", "ext4") } else { ("ext4", "ext2") };
                (record.filesystem, record.trial) = (to.into(), record.trial.replace(from, to));
            }
        }),
    ),
    ("two filesystems have exchanged all but what was mounted", Chained(|f| f.exchange("ext2", "ext4"))),
    ("a kind is altered", Chained(|f| f.record(E2).kind = "ext4".into())),
    (
        "a kind is altered in all records",
        Chained(|f| f.records.iter_mut().for_each(|r| r.kind = "ext4".into())),
    ),
    (
        "a kind is altered in all records and in the plan",
        Chained(|f| {
            f.records.iter_mut().filter(|r| r.kind == "ext2").for_each(|r| r.kind = "xfs".into());
            f.plan.candidates.iter_mut().filter(|c| c.kind == "ext2").for_each(|c| c.kind = "xfs".into());
        }),
    ),
    ("an option of mount is altered", Chained(|f| f.record(E4).variant.mount.push("noatime".into()))),
    (
        "an option of mount is altered in the plan too",
        Chained(|f| {
            f.records
                .iter_mut()
                .filter(|r| r.kind == "ext4")
                .for_each(|r| r.variant.mount.push("data=journal".into()));
            f.plan
                .candidates
                .iter_mut()
                .filter(|c| c.kind == "ext4")
                .for_each(|c| c.variant.mount.push("data=journal".into()));
        }),
    ),
    ("a validity check is gone", Chained(|f| f.record(E4).validity.retain(|c| c.name != Condition::Flush))),
    ("all validity checks are gone", Chained(|f| f.record(E4).validity.clear())),
    (
        "a validity check holds that did not",
        Chained(|f| {
            let check = &mut f.record(E4).validity[0];
            check.held = if check.held == Held::Yes { Held::Label } else { Held::Yes };
        }),
    ),
    (
        "a validity check says other words",
        Chained(|f| f.record(E4).validity[1].seen = "a peak of 1 MiB".into()),
    ),
    (
        "the memory limit's check is gone with what it saw",
        Chained(|f| {
            let record = f.record(E4);
            record.stages[0].probes.remove("memory");
            record.validity.retain(|c| c.name != Condition::Memory);
            f.compute_again(E4);
        }),
    ),
    (
        "the check of cold caches is gone with what it saw",
        Chained(|f| {
            let record = f.record(E4);
            record.seen.retain(|seen| !matches!(seen, Seen::Cold { .. }));
            record.validity.retain(|c| c.name != Condition::Cold);
        }),
    ),
    (
        "the check of interference is gone with what it saw",
        Chained(|f| {
            let record = f.record(E4);
            record.circumstances.interference = None;
            record.validity.retain(|c| c.name != Condition::Interference);
        }),
    ),
    (
        "the check of interference is gone with the CPUs' counters",
        Chained(|f| {
            let record = f.record(E4);
            record.stages[0].probes.remove("cpu");
            record.validity.retain(|c| c.name != Condition::Interference);
            f.compute_again(E4);
        }),
    ),
    (
        "the check of the mount is gone with what it saw",
        Chained(|f| {
            let record = f.record(E4);
            record.mounted = None;
            record.validity.retain(|c| c.name != Condition::Mount);
        }),
    ),
    (
        "what was read back is gone with its checks",
        Chained(|f| {
            let record = f.record(CHECK);
            record.trees.clear();
            record.validity.retain(|c| !matches!(c.name, Condition::ReadBack | Condition::Stored));
        }),
    ),
    (
        "a void attempt counts",
        Chained(|f| {
            let void = f.records.iter_mut().find(|r| r.outcome == Outcome::Void).unwrap();
            (void.outcome, void.reason) = (Outcome::Done, None);
        }),
    ),
    (
        "a good trial is called failed",
        Chained(|f| {
            let record = f.record(E4);
            (record.outcome, record.metrics) = (Outcome::Failed, Vec::new());
        }),
    ),
    (
        "a good trial is called interrupted, and is not repeated",
        Chained(|f| {
            let record = f.record(E2);
            (record.outcome, record.reason, record.metrics) =
                (Outcome::Void, Some(Reason::Interrupted), Vec::new());
        }),
    ),
    (
        "a step is gone",
        Chained(|f| {
            f.record(E4).steps.retain(|s| s.step != StepName::Check(fsderby::schema::job::At::Emptied));
            f.compute_again(E4);
        }),
    ),
    ("a figure is altered", Chained(|f| f.record(E4).metrics[0].value *= 1.1)),
    ("a metric is gone", Chained(|f| drop(f.record(E4).metrics.pop()))),
    (
        "a count is altered, and the metrics with it",
        Chained(|f| {
            let phase = f.record(E4).stages[0].phases.iter_mut().find(|p| p.name == "transactions").unwrap();
            phase.counts.insert("created".into(), 999);
            f.compute_again(E4);
        }),
    ),
    ("the amount of work is altered", Chained(|f| f.record(E4).works[0].amount.bytes_written += 1)),
    ("the seed of the work is altered", Chained(|f| f.record(E4).workload_seed += 1)),
    ("the memory limit is altered", Chained(|f| f.record(E4).memory = Some(Bytes(1 << 30)))),
    ("the volume is altered", Chained(|f| f.record(E4).volume.size = Bytes(1 << 31))),
    ("the place in the round is altered", Chained(|f| f.record(E4).order = 3 - f.record(E4).order)),
    (
        "the work is altered",
        Chained(|f| {
            let record = f.record(E4);
            record.works[0].work.parameters.insert("fsync".into(), toml::Value::Boolean(false));
            record.works[0].params_hash = record.works[0].work.hash();
        }),
    ),
    (
        "the work is more than anybody could count",
        Chained(|f| {
            let record = f.record(E4);
            record.works[0]
                .work
                .parameters
                .insert("transactions".into(), toml::Value::Integer(2_000_000_000));
            record.works[0].params_hash = record.works[0].work.hash();
        }),
    ),
    (
        "a histogram has other counts, and its hash",
        Chained(|f| {
            f.put_beside(E4, |r| &mut r.histograms[0], |text| text.replacen("[2000,", "[2000,1", 1));
        }),
    ),
    (
        "a histogram is empty, and its hash that of nothing",
        Chained(|f| {
            f.put_beside(E4, |r| &mut r.histograms[0], |_| String::new());
        }),
    ),
    (
        "a histogram is gone, and its record does not name it",
        Chained(|f| {
            let file = f.record(E4).histograms.remove(0);
            fs::remove_file(f.folder().join(file.path)).unwrap();
        }),
    ),
    (
        "two trials have exchanged their histograms",
        Chained(|f| {
            let mut file = f.record(E2).histograms.remove(0);
            std::mem::swap(&mut f.record(E4).histograms[0], &mut file);
            f.record(E2).histograms.push(file);
        }),
    ),
    ("a histogram is altered", Plain(|run| beside(run, "histograms", |path| fs::write(path, "{}").unwrap()))),
    ("a histogram is absent", Plain(|run| beside(run, "histograms", |path| fs::remove_file(path).unwrap()))),
    (
        "a console is altered",
        Plain(|run| beside(run, "consoles", |path| fs::write(path, "all is well").unwrap())),
    ),
    ("a console is absent", Plain(|run| beside(run, "consoles", |path| fs::remove_file(path).unwrap()))),
    (
        "the requests are altered",
        Plain(|run| beside(run, "requests", |path| fs::write(path, [0; 48]).unwrap())),
    ),
    ("the requests are absent", Plain(|run| beside(run, "requests", |path| fs::remove_file(path).unwrap()))),
    (
        "a file is there that no record names",
        Plain(|run| fs::write(run.join("consoles/other.txt"), "").unwrap()),
    ),
    ("the seal counts other rounds", Chained(|f| f.complete_after(2))),
    (
        "another filesystem is recommended",
        Plain(|run| {
            recommend(run, |found| {
                let other = found["ranking"][1]["filesystem"].clone();
                found["choice"]["filesystem"] = other;
            });
        }),
    ),
    (
        "what is recommended is nearer to the best than its figures are",
        Plain(|run| {
            recommend(run, |found| {
                let score = found["ranking"][1]["score"].as_f64().unwrap();
                found["ranking"][1]["score"] = (score + 1e-15).into();
            });
        }),
    ),
];

/// These are as consistent as an honest run, so that nothing but a signature tells them from one.
const FOUND_WITH_A_KEY: &[(&str, Forgery)] = &[
    ("a time is altered, and the metrics with it", |f| {
        f.record(E4).stages[0].phases.iter_mut().for_each(|phase| phase.ns = phase.ns * 9 / 10);
        f.compute_again(E4);
    }),
    ("bytes are altered, and the metrics with them", |f| {
        let phase = f.record(E4).stages[0].phases.iter_mut().find(|p| p.name == "transactions").unwrap();
        phase.counts.insert("bytes_read".into(), 1);
        f.compute_again(E4);
    }),
    ("two filesystems have exchanged their times", |f| {
        let (mut phases, mut steps) = (f.record(E2).stages[0].phases.clone(), f.record(E2).steps.clone());
        std::mem::swap(&mut f.record(E4).stages[0].phases, &mut phases);
        std::mem::swap(&mut f.record(E4).steps, &mut steps);
        (f.record(E2).stages[0].phases, f.record(E2).steps) = (phases, steps);
        f.compute_again(E2);
        f.compute_again(E4);
    }),
    ("two filesystems have exchanged all, and what was mounted is made to fit", |f| {
        f.exchange("ext2", "ext4");
        f.mount_and_judge_again();
    }),
    ("latencies are altered and as many as before", |f| {
        f.put_beside(E4, |r| &mut r.histograms[0], |text| text.replace("[90000,", "[3000,"));
    }),
    ("a console is altered, and its hash", |f| {
        f.put_beside(E4, |r| r.console.as_mut().unwrap(), |text| text.replace("6.12", "6.13"));
    }),
    ("a console is gone, and its record does not name it", |f| {
        let file = f.record(E4).console.take().unwrap();
        fs::remove_file(f.folder().join(file.path)).unwrap();
    }),
    ("when a trial was made is altered", |f| {
        f.record(E4).circumstances.started = "2020-01-01T00:00:00Z".into()
    }),
    ("the last round is gone, and the run says that it was interrupted", |f| {
        f.drop_records(|r| r.round == 3);
        f.interrupted_after(2);
    }),
    ("the last round is gone, and the run says that no more was asked for", |f| {
        f.drop_records(|r| r.round == 3);
        f.complete_after(2);
    }),
    ("everything is gone", |f| {
        f.drop_records(|_| true);
        f.interrupted_after(0);
    }),
];

fn f_first() -> String {
    plan().integrity_checks().next().unwrap().name()
}

fn f_last() -> String {
    plan().round(3).last().unwrap().name()
}

fn shorten(run: &Path, at: fn(&str) -> usize) {
    let path = run.join("trials.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, &text[..at(&text)]).unwrap();
}

/// Does it to the first file of this folder.
fn beside(run: &Path, folder: &str, alter: fn(&Path)) {
    alter(&files(&run.join(folder))[0]);
}

/// Alters what the stored verdict recommends.
fn recommend(run: &Path, alter: fn(&mut serde_json::Value)) {
    let path = run.join("verdict.json");
    let mut verdict: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let before = verdict.clone();
    alter(&mut verdict["recommendation"]);
    assert_ne!(verdict, before);
    fs::write(path, serde_json::to_string_pretty(&verdict).unwrap() + "\n").unwrap();
}

#[test]
fn forgeries_that_no_honest_run_can_be_are_found_without_a_key() {
    let signed = Signed::of(&plan());
    for (what, how) in FOUND {
        let mut forger = Forger::of(&signed.run());
        match how {
            Chained(alter) => {
                alter(&mut forger);
                forger.write();
            }
            Plain(alter) => alter(&forger.folder()),
        }
        assert!(!wrong(&forger.folder()).is_empty(), "{what}");
    }
}

/// Gives a record this name somewhere.
type Alter = fn(&mut Record, &str);

/// Rendering is linear in a name's length, but a column of 100,000 letters helps nobody.
#[test]
fn a_name_that_no_plan_allows_is_damage_and_is_told_by_its_bound() {
    let signed = Signed::of(&plan());
    let long = "m".repeat(513);
    let alter: [(&str, Alter); 6] = [
        ("kind", |record, long| long.clone_into(&mut record.kind)),
        ("filesystem", |record, long| long.clone_into(&mut record.filesystem)),
        ("scenario", |record, long| long.clone_into(&mut record.scenario)),
        ("trial", |record, long| long.clone_into(&mut record.trial)),
        ("work", |record, long| long.clone_into(&mut record.works[0].name)),
        ("phase", |record, long| long.clone_into(&mut record.stages[0].phases[0].name)),
    ];
    let first = plan().round(1).next().unwrap().name();
    for (what, alter) in alter {
        let mut forger = Forger::of(&signed.run());
        alter(forger.record(&first), &long);
        forger.write();
        let wrong = wrong(&forger.folder()).join("\n");
        assert!(wrong.contains("it has a name of more than 512 bytes"), "{what}: {wrong}");
        assert!(wrong.len() < 4000, "{what}: the name itself is not printed");
    }
}

#[test]
fn forgeries_that_an_honest_run_could_be_are_found_with_the_key_alone() {
    let signed = Signed::of(&plan());
    let mut forger = Forger::of(&signed.run());
    forger.write();
    let unaltered = (wrong(&forger.folder()), signed.check(&forger.folder()));
    assert_eq!(unaltered, (Vec::new(), Ok(())), "nothing was altered");
    for (what, alter) in FOUND_WITH_A_KEY {
        forger = Forger::of(&signed.run());
        alter(&mut forger);
        forger.write();
        assert_eq!(
            wrong(&forger.folder()),
            Vec::<String>::new(),
            "{what}: if it is found, it belongs to the others"
        );
        assert!(signed.check(&forger.folder()).is_err(), "{what}");
    }
}
