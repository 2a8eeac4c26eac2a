//! Filling: how far it goes, that what it leaves is what it says, and that the end of the space is no failure.

use crate::support::desk::Desk;
use crate::support::has_loop;
use fsderby::exit;
use fsderby::schema::job::{At, Portion, Purpose};
use fsderby::schema::reason::Outcome;
use fsderby::schema::record::Record;
use fsderby::schema::units::MIB;
use fsderby::store;
use fsderby::workloads::{self, Amount};

#[test]
fn a_share_is_met_and_the_end_is_found_on_loop() {
    if !has_loop("filling") {
        return;
    }
    let desk = Desk::new();
    let work = ["run", "quick", "--workloads", "fill-80,fill-full", "--filesystems", "ext4,ext2"];
    let place = ["--on", &desk.testbed(), "--size", "64m", "--memory", "none", "--rounds", "1"];
    let said = desk.say(&[&work[..], &place, &["--seed", "7", "--output", "run", "--quiet"]].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    desk.leaves_nothing(said.pid);
    assert_eq!(desk.say(&["verify", "run"]).code, 0);
    let run = store::read(&desk.path("run")).unwrap();
    assert_eq!(run.current().len(), 8);
    for record in run.current() {
        let name = &record.trial;
        assert_eq!(record.outcome, Outcome::Done, "{name}: {}", record.why());
        assert_eq!(record.works[0].amount, Amount::default(), "{name}: it is not known before");
        let phases: Vec<_> = record.phases().collect();
        let [phase] = &phases[..] else { panic!("{name}: {phases:?}") };
        assert!(phase.count("files") > 10 && phase.count("bytes_written") > 20 * MIB, "{name}: {phase:?}");
        // The first tree is the filled one, the second is that after a remount.
        for tree in &record.trees {
            assert_eq!(tree.expected.as_deref(), Some(tree.hash.as_str()), "{name}");
            assert_eq!(
                (tree.files, tree.bytes),
                (phase.count("files"), phase.count("bytes_written")),
                "{name}"
            );
        }
        if record.purpose == Purpose::Measure {
            is_as_full_as_asked(record);
        }
    }
    // The same seed: the same files as far as they fit.
    let files = |trial: &str| {
        run.records.iter().find(|r| r.trial == trial).unwrap().phases().next().unwrap().count("files")
    };
    assert!(files("r01/fill-full/ext4") > files("r01/fill-80/ext4"));
}

#[test]
fn what_is_allocated_has_its_space_and_all_of_it_comes_back_on_loop() {
    if !has_loop("allocating") {
        return;
    }
    let desk = Desk::new();
    let of = |filesystems: &'static str| {
        let work = [
            "run",
            "quick",
            "--workloads",
            "postmark-quick",
            "--scale",
            "1/20",
            "--filesystems",
            filesystems,
        ];
        let state =
            ["--state", "allocated 80%", "--size", "400m", "--memory", "none", "--output", filesystems];
        let place = ["--on", &desk.testbed(), "--rounds", "1", "--seed", "7", "--quiet"];
        desk.say(&[&work[..], &state, &place].concat())
    };
    let refused = of("ext2");
    assert!(
        refused.err.contains("ext2 has no preallocation (fallocate), which allocated 80% needs"),
        "{refused:#?}"
    );
    let said = of("ext4,xfs");
    assert_eq!((refused.code, said.code), (exit::USAGE.into(), 0), "{said:#?}");
    desk.leaves_nothing(said.pid);
    let run = store::read(&desk.path("ext4,xfs")).unwrap();
    assert_eq!(run.current().len(), 4);
    for record in run.current() {
        let name = &record.trial;
        assert_eq!(record.outcome, Outcome::Done, "{name}: {}", record.why());
        for tree in &record.trees {
            assert_eq!(tree.expected.as_deref(), Some(tree.hash.as_str()), "{name}");
            assert!(tree.stored >= tree.bytes && tree.bytes > 150 * MIB, "{name}: {tree:?}");
        }
        // With what ext4 keeps for root.
        let free = |at: At| record.space.iter().find(|space| space.at == at).map(|space| space.free.0);
        if let (Some(fresh), Some(prepared)) = (free(At::Fresh), free(At::Prepared)) {
            assert!(prepared < fresh / 3, "{name}: {prepared} of {fresh} are free");
        }
        // XFS keeps the inodes.
        assert!(free(At::Emptied).unwrap() + MIB > free(At::Fresh).unwrap(), "{name}: {:?}", record.space);
    }
}

fn is_as_full_as_asked(record: &Record) {
    let value = |name: &str| record.metric(name).unwrap().value;
    let used = value("fill.used");
    match record.scenario.as_str() {
        // Within a thousandth, or by what the last file took beside its bytes.
        "fill-80" => assert!((79.8..81.0).contains(&used), "{}: {used}", record.trial),
        _ => assert!(used > 99.5, "{}: {used}", record.trial),
    }
    assert!(value("fill.files") > 0.0 && value("fill.throughput") > 0.0, "{}", record.trial);
}

#[test]
fn a_filesystem_that_others_use_is_not_filled() {
    let desk = Desk::new();
    let testbed = format!("directory:{}", desk.images().display());
    let run =
        ["run", "quick", "--workloads", "fill-80", "--memory", "none", "--on", &testbed, "--output", "run"];
    let words = ["fill-80 fills a whole filesystem", "try: --on loop"];
    desk.refuses(&run, i32::from(exit::MISSING), &words);
}

#[test]
fn what_cannot_be_done_is_refused_before_anything_is() {
    let engine = workloads::engine("fill").unwrap();
    for set in engine.sets() {
        let work = engine.parse(&set.file().parameters).unwrap();
        let refused = |portion: Portion| work.prepare(7, &portion).err().unwrap();
        assert!(refused(Portion::stop_after(3)).contains("cannot be stopped"));
        assert!(refused(Portion::part("rewind")).contains("only one part"));
        assert_eq!((work.operations(), engine.parts().len(), work.most_clients()), (0, 0, 1));
    }
}
