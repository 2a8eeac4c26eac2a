//! Shards on scripted testbeds: merged they are the run that one machine makes, and whatever does not fit is refused by its name.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::carry::carry_out;
use crate::support::forger::{Forger, copy};
use crate::support::scripted::Scripted;
use fsderby::exit::{self, Failure};
use fsderby::runner::experiment::Experiment;
use fsderby::runner::merge::{self, Made};
use fsderby::runner::verify::verify;
use fsderby::schema::event::Event;
use fsderby::schema::machine::Machine;
use fsderby::schema::plan::Plan;
use fsderby::schema::record::{Circumstances, Record};
use fsderby::schema::seal::Ended;
use fsderby::schema::setup::Modelled;
use fsderby::schema::shard::Shard;
use fsderby::schema::units::Percent;
use fsderby::store::{self, Run};

pub const MODEL: &str = "name = 'shards'\non = 'model:samsung-870-evo'\nsize = '1g'\nworkloads = ['postmark-quick']\n\
                     filesystems = ['ext2', 'ext4']\nrounds = 13\nscale = '1/16'\nseed = 7\n";
pub const LOOP: &str = "name = 'shards'\nsize = '1g'\nworkloads = ['postmark-quick']\nfilesystems = ['ext2', 'ext4']\n\
                    rounds = 4\nguard = false\nscale = '1/16'\nseed = 7\n";

fn plan(text: &str, shard: Option<Shard>) -> Plan {
    let mut experiment = Experiment::parse(text, "test").unwrap();
    experiment.shard = shard;
    experiment.plan(experiment.on.clone().unwrap_or_else(|| "loop".into()), 7).unwrap()
}

/// One filesystem takes twice as long as the other, and a tenth of it is instructions: a pair that needs its worst corner.
pub fn model() -> Scripted {
    Scripted::on_model("model:samsung-870-evo", |job, event| {
        let Event::Phase(phase) = event else { return };
        let whole = if job.trial.ends_with("/ext2") { 100_000_000 } else { 200_000_000 };
        let modelled: Modelled = job.storage.settings().unwrap();
        phase.ns = whole * 9 / 10 + whole / 10 * 1000 / u64::from(modelled.mips);
    })
}

/// The shards of this plan, carried out.
pub fn shards(below: &Path, text: &str, testbed: &Scripted, of: u32, due: &[String]) -> Vec<PathBuf> {
    let shard = |number: u32| {
        let folder = below.join(format!("{number}-of-{of}-{}", due.len()));
        let plan = plan(text, Some(Shard { number, of, due: due.to_vec() }));
        carry_out(&folder, &plan, testbed, &[], None);
        assert_eq!(wrong(&folder), Vec::<String>::new(), "shard {number}");
        folder
    };
    (1..=of).map(shard).collect()
}

fn wrong(run: &Path) -> Vec<String> {
    verify(&store::read(run).unwrap()).wrong
}

fn merge(out: &Path, shards: &[PathBuf]) -> anyhow::Result<Made> {
    merge::merge(out, shards, &mut |_| Ok(()), &|| false)
}

/// The records without what differs from run to run, by name and attempt.
fn measured(run: &Run) -> Vec<Record> {
    let bare = |record: &Record| Record {
        circumstances: Circumstances::default(),
        previous: String::new(),
        ..record.clone()
    };
    let mut records: Vec<Record> = run.records.iter().map(bare).collect();
    records.sort_by(|a, b| (&a.trial, a.attempt).cmp(&(&b.trial, b.attempt)));
    records
}

fn names(records: &[Record]) -> Vec<&str> {
    records.iter().map(|record| record.trial.as_str()).collect()
}

#[test]
fn shards_in_virtual_time_with_their_corners_are_the_run_of_one_machine() {
    let kept = tempfile::tempdir().unwrap();
    let at = |name: &str| kept.path().join(name);
    let testbed = model();
    let whole = carry_out(&at("whole"), &plan(MODEL, None), &testbed, &[], None);
    let mut all = shards(kept.path(), MODEL, &testbed, 3, &[]);
    let mut next = None;
    let tell = &mut |plan: &Plan| {
        next = plan.shard.clone();
        Ok(())
    };
    let made = merge::merge(&at("first"), &all, tell, &|| false).unwrap();
    assert_eq!((made.left, made.left_out), (2, 0));
    let due = next.expect("a pair needs its worst corner").due;
    let first = store::read(&at("first")).unwrap();
    let seen = verify(&first);
    assert_eq!(seen.wrong, Vec::<String>::new());
    assert!(seen.notes.iter().any(|note| note.contains("fsderby merge --next")), "{:?}", seen.notes);
    assert_eq!(first.seal.as_ref().unwrap().ended, Ended::GoesOn);

    all.extend(shards(kept.path(), MODEL, &testbed, 2, &due));
    // In any order.
    all.reverse();
    let made = merge(&at("merged"), &all).unwrap();
    assert_eq!(made.left, 0);
    let merged = store::read(&at("merged")).unwrap();
    assert_eq!(wrong(&at("merged")), Vec::<String>::new());
    assert_eq!(names(&measured(&merged)), names(&measured(&whole)));
    assert_eq!(measured(&merged), measured(&whole));
    assert_eq!(merged.verdict, whole.verdict);
    let text = |run: &str| fs::read_to_string(at(run).join("plan.toml")).unwrap();
    assert_eq!(text("merged"), text("whole"));
    assert_eq!((merged.machine.shards.len(), merged.is_complete()), (5, true));
    let latencies =
        |run: &Run| -> Vec<_> { run.records.iter().map(|r| run.histograms(r).unwrap().len()).collect() };
    assert_eq!(latencies(&merged).iter().sum::<usize>(), latencies(&whole).iter().sum::<usize>());
}

#[test]
fn what_a_merged_run_keeps_of_its_shards_is_checked_again() {
    let kept = tempfile::tempdir().unwrap();
    let out = kept.path().join("merged");
    merge(&out, &shards(kept.path(), LOOP, &Scripted::well(), 2, &[])).unwrap();
    assert_eq!(wrong(&out), Vec::<String>::new());
    // Somebody who alters a figure and computes every checksum again cannot alter the shard's seal.
    let mut forger = Forger::of(&out);
    let record = forger.record("r01/postmark-quick/ext4");
    record.stages[0].phases[0].ns += 1;
    forger.compute_again("r01/postmark-quick/ext4");
    forger.write();
    let found = wrong(&forger.folder());
    let says = |what: &str| found.iter().any(|said| said.contains(what));
    assert!(
        says("shard 1/2: ") && says("r01/postmark-quick/ext4 (attempt 1): no shard has this"),
        "{found:?}"
    );

    // Nor can who alters the plan or takes a round away.
    let mut forger = Forger::of(&out);
    forger.plan.margin = Percent(40.0);
    forger.write();
    assert!(
        wrong(&forger.folder()).iter().any(|said| said.contains("its plan differs from the plan of the run"))
    );
    let mut forger = Forger::of(&out);
    forger.drop_records(|record| record.trial == "r01/postmark-quick/ext4");
    forger.write();
    let found = wrong(&forger.folder());
    assert!(
        found.iter().any(|said| said.contains("lacks its record of r01/postmark-quick/ext4")),
        "{found:?}"
    );

    let folder = store::read(&out).unwrap().machine.shards[1].folder.clone();
    for (name, said) in [("trials.jsonl", "trials.jsonl"), ("seal.json", "seal"), ("plan.toml", "plan.toml")]
    {
        let copied = tempfile::tempdir().unwrap();
        let run = copied.path().join("run");
        copy(&out, &run);
        let path = run.join("shards").join(&folder).join(name);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen("7", "8", 1)).unwrap();
        let found = wrong(&run);
        assert!(
            found.iter().any(|what| what.contains("shard 2/2: ") && what.contains(said)),
            "{name}: {found:?}"
        );
        assert!(
            !found.iter().any(|what| what.contains("not that of the run") || what.contains("no shard has")),
            "damage is no difference: {name}: {found:?}"
        );
        fs::remove_file(&path).unwrap();
        assert!(!wrong(&run).is_empty(), "without {name}");
    }
}

#[test]
fn in_real_time_rounds_stay_whole_each_node_is_checked_and_a_failed_check_of_any_node_counts() {
    let kept = tempfile::tempdir().unwrap();
    let [good, bad] = ["good", "bad"].map(|name| kept.path().join(name));
    let out = kept.path().join("merged");
    [&good, &bad].into_iter().for_each(|folder| fs::create_dir(folder).unwrap());
    let made = merge(&out, &shards(&good, LOOP, &Scripted::well(), 2, &[])).unwrap();
    // Two cells; both nodes checked both.
    assert_eq!((made.records, made.left_out), (2 + 4 * 2, 2));
    let run = store::read(&out).unwrap();
    assert_eq!(wrong(&out), Vec::<String>::new());
    assert!(run.records.iter().map(|record| record.round).is_sorted());

    let damaged = Scripted::event(|job, event| {
        if let Event::Tree(tree) = event
            && job.trial == "integrity/postmark-quick/ext4"
        {
            tree.hash = "bb".repeat(32);
        }
    });
    shards(&bad, LOOP, &Scripted::well(), 2, &[]);
    fs::remove_dir_all(bad.join("2-of-2-0")).unwrap();
    let plan = plan(LOOP, "2/2".parse().ok());
    carry_out(&bad.join("2-of-2-0"), &plan, &damaged, &[], None);
    let made = merge(&bad.join("merged"), &[bad.join("1-of-2-0"), bad.join("2-of-2-0")]).unwrap();
    let run = store::read(&bad.join("merged")).unwrap();
    assert_eq!(wrong(&bad.join("merged")), Vec::<String>::new());
    let of = |label: &str| run.records.iter().filter(|record| record.filesystem == label).count();
    assert_eq!((of("ext4"), of("ext2")), (1, 5), "only the failed check of ext4");
    // Two checks and the two rounds of ext4 on the good node.
    assert_eq!(made.left_out, 4);
}

/// What a refusal says, and its exit code.
fn refusal(out: &Path, shards: &[PathBuf]) -> (u8, String) {
    let error = merge(out, shards).unwrap_err();
    assert!(!out.exists());
    let failure: &Failure = error.downcast_ref().unwrap_or_else(|| panic!("{error:#}"));
    (failure.code, failure.to_string())
}

#[test]
fn a_shard_that_is_missing_doubled_unfinished_damaged_or_foreign_is_refused_by_its_name() {
    let kept = tempfile::tempdir().unwrap();
    let out = kept.path().join("merged");
    let testbed = Scripted::well();
    let all = shards(kept.path(), LOOP, &testbed, 2, &[]);
    let [one, two] = [all[0].clone(), all[1].clone()];
    let copied = |name: &str| {
        let to = kept.path().join(name);
        copy(&two, &to);
        to
    };
    let says = |shards: &[PathBuf], code: u8, words: &[&str]| {
        let (is, said) = refusal(&out, shards);
        assert_eq!(is, code, "{said}");
        words.iter().for_each(|word| assert!(said.contains(word), "'{word}' is missing in: {said}"));
        assert!(said.contains("try: "), "{said}");
    };
    says(&all[..1], exit::SHARDS, &["shard 2/2 is missing", "--shard 2/2"]);
    let twin = copied("twin");
    says(&[one.clone(), two.clone(), twin], exit::SHARDS, &["twin", "2-of-2-0", "both shard 2/2"]);
    says(&[one.clone(), one.clone(), two.clone()], exit::SHARDS, &["both shard 1/2"]);

    let others = tempfile::tempdir().unwrap();
    let three = shards(others.path(), LOOP, &testbed, 3, &[]);
    says(&[one.clone(), three[1].clone(), three[2].clone()], exit::SHARDS, &["is shard 1/2", "is shard 3/3"]);
    let seeded = shards(others.path(), &LOOP.replace("seed = 7", "seed = 8"), &testbed, 2, &[]);
    says(&[one.clone(), seeded[1].clone()], exit::SHARDS, &["the plan (plan_seed) of", "2-of-2-0"]);
    let whole = kept.path().join("whole");
    carry_out(&whole, &plan(LOOP, None), &testbed, &[], None);
    says(&[one.clone(), whole], exit::SHARDS, &["whole is a whole run, not a shard"]);

    let stopped = kept.path().join("stopped");
    carry_out(&stopped, &plan(LOOP, "2/2".parse().ok()), &testbed, &[], Some("r04/postmark-quick/ext2"));
    says(&[one.clone(), stopped.clone()], exit::SHARDS, &["stopped is unfinished", "--resume"]);
    carry_out(&stopped, &plan(LOOP, "2/2".parse().ok()), &testbed, &[], None);
    assert_eq!(
        merge(&kept.path().join("resumed"), &[one.clone(), stopped]).unwrap().records,
        10 + 2,
        "its round was repeated"
    );

    let altered = copied("altered");
    let histogram = fs::read_dir(altered.join("histograms")).unwrap().next().unwrap().unwrap().path();
    fs::write(histogram, "{}\n").unwrap();
    says(&[one.clone(), altered], exit::DAMAGED, &["altered is damaged", "was altered"]);
    let cut = copied("cut");
    let lines = fs::read_to_string(cut.join("trials.jsonl")).unwrap();
    fs::write(cut.join("trials.jsonl"), lines.split_inclusive('\n').take(2).collect::<String>()).unwrap();
    says(&[one.clone(), cut], exit::DAMAGED, &["cut is damaged", "truncated"]);

    // A shard that somebody sealed without one of its trials.
    let mut forger = Forger::of(&two);
    forger.drop_records(|record| record.trial == "r02/postmark-quick/ext4");
    forger.write();
    says(&[one.clone(), forger.folder()], exit::SHARDS, &["lacks its trial r02/postmark-quick/ext4"]);

    for (what, change) in [
        (
            "the version of fsderby (0.0.9",
            (|machine| machine.fsderby.version = "0.0.9".into()) as fn(&mut Machine),
        ),
        ("the build of fsderby", |machine| machine.fsderby.blake3 = "other".into()),
        ("the kernel", |machine| machine.setups[0].kernel = "5.0".into()),
        ("the guest bundle", |machine| machine.setups[0].guest = "4be1b3c2".into()),
        ("the CPU of", |machine| machine.cpu = "another".into()),
        ("another, not ", |machine| machine.cpu = "another".into()),
        ("the number of CPUs of", |machine| machine.cpus += 1),
        ("the memory of", |machine| machine.memory.0 = machine.memory.0 * 2 + 1),
        ("the hypervisor of", |machine| machine.hypervisor = "another".into()),
        ("the host's kernel of", |machine| machine.kernel = "6.99".into()),
        ("the cgroup version of", |machine| machine.memory_groups += 1),
        ("the model of the disk of", |machine| machine.setups[0].disk.model = "SAMSUNG MZ7L3".into()),
        ("SAMSUNG MZ7L3, not ", |machine| machine.setups[0].disk.model = "SAMSUNG MZ7L3".into()),
        ("the size of the disk of", |machine| machine.setups[0].disk.size.0 = 7 << 40),
        ("the kind of disk of", |machine| machine.setups[0].disk.rotational ^= true),
        ("the I/O scheduler of", |machine| machine.setups[0].disk.scheduler = "another".into()),
        ("the filesystem of the testbed's folder of", |machine| {
            machine.setups[0].disk.fstype = "ubifs".into()
        }),
        ("the mount options of the testbed's folder of", |machine| {
            machine.setups[0].disk.options.push("another".into());
        }),
        ("qemu-system-x86_64, by its hash", |machine| {
            machine.tools.push(fsderby::schema::machine::Tool {
                kind: "testbed model".into(),
                program: "qemu-system-x86_64".into(),
                path: "/usr/bin/qemu-system-x86_64".into(),
                version: "7.2".into(),
                blake3: "other".into(),
            });
        }),
    ] {
        let forger = with_machine(&two, change);
        says(&[one.clone(), forger.folder()], exit::SHARDS, &[what, "run that shard again"]);
    }
}

/// A shard of another machine.
fn with_machine(shard: &Path, change: impl FnOnce(&mut Machine)) -> Forger {
    let forger = Forger::of(shard);
    let path = forger.folder().join("machine.json");
    let mut machine: Machine = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut machine);
    fs::write(&path, serde_json::to_string_pretty(&machine).unwrap()).unwrap();
    forger.write();
    forger
}

#[test]
fn in_virtual_time_hardware_differs_freely_and_in_real_time_sizes_may_differ_by_what_firmware_takes() {
    let kept = tempfile::tempdir().unwrap();
    let other = |machine: &mut Machine| {
        (machine.cpu, machine.cpus, machine.memory.0) = ("another".into(), 64, 1 << 40);
        machine.kernel = "6.99".into();
        machine.setups[0].disk.model = "another".into();
    };
    let all = shards(kept.path(), MODEL, &model(), 2, &[]);
    let forger = with_machine(&all[1], other);
    assert!(merge(&kept.path().join("model"), &[all[0].clone(), forger.folder()]).is_ok());
    let own = kept.path().join("loop");
    fs::create_dir(&own).unwrap();
    let all = shards(&own, LOOP, &Scripted::well(), 2, &[]);
    let one = with_machine(&all[0], |machine| machine.memory.0 = 32 << 30);
    let two = with_machine(&all[1], |machine| machine.memory.0 = (32 << 30) - (100 << 20));
    assert!(merge(&own.join("out"), &[one.folder(), two.folder()]).is_ok());
}

#[test]
fn a_flipped_byte_of_any_file_is_damage_of_its_shard_and_no_difference() {
    let kept = tempfile::tempdir().unwrap();
    let all = shards(kept.path(), LOOP, &Scripted::well(), 2, &[]);
    for (name, from, to) in [
        ("plan.toml", "plan_seed = 7", "plan_seed = 6"),
        ("plan.toml", "number = 2", "number = 1"),
        ("plan.toml", "postmark-quick", "postmark-quicx"),
        ("plan.toml", "[[filesystem]]", "[[filesystem)]"),
        ("plan.toml", "schema = ", "schema = 9"),
        ("machine.json", "\"cpus\": ", "\"cpus\": 9"),
        ("machine.json", "\"version\": \"", "\"version\": \"9"),
        ("machine.json", "\"kernel\": \"", "\"kernel\": \"9"),
        ("machine.json", "{", "["),
        ("trials.jsonl", "r02/", "r03/"),
        ("seal.json", "\"records\": ", "\"records\": 9"),
        ("verdict.json", "{", "["),
    ] {
        let flipped = kept.path().join("flipped");
        copy(&all[1], &flipped);
        let path = flipped.join(name);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{name}: {from}: {text}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        for order in [[&all[0], &flipped], [&flipped, &all[0]]] {
            let (code, said) = refusal(&kept.path().join("out"), &order.map(Clone::clone));
            assert_eq!(code, exit::DAMAGED, "{name}: {from}: {said}");
            for word in ["flipped", name, "damaged", "try: ", "run it again"] {
                assert!(said.contains(word), "{name}: {from}: {word}: {said}");
            }
        }
        fs::remove_dir_all(&flipped).unwrap();
    }
}

#[test]
fn an_interrupted_merge_leaves_nothing_whenever_it_is_interrupted() {
    let kept = tempfile::tempdir().unwrap();
    let all = shards(kept.path(), LOOP, &Scripted::well(), 2, &[]);
    let out = kept.path().join("below");
    fs::create_dir(&out).unwrap();
    for calls in 0.. {
        let asked = std::cell::Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() > calls
        };
        let Err(error) = merge::merge(&out.join("run"), &all, &mut |_| Ok(()), &stop) else {
            assert!(calls > 10, "{calls} times");
            break;
        };
        assert_eq!(exit::code(&error), exit::INTERRUPTED, "{error:#}");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 0, "after {calls} times");
    }
}
