//! Programs of one's own in guests: with their files, the same in virtual time, and contained.

use std::fs;

use crate::support::desk::{Desk, Said};
use crate::support::modelled::model;
use crate::support::quiet::has_guests;
use crate::support::skipped;
use fsderby::exit;
use fsderby::host::programs;
use fsderby::runner::plan::resolved::Resolved;
use fsderby::runner::verify::rerun::{Compared, rerun};
use fsderby::schema::job::Purpose;
use fsderby::schema::reason::Outcome;
use fsderby::schema::record::Record;
use fsderby::store;
use fsderby::testbeds::Testbeds;

fn carry_out(desk: &Desk, on: &str, words: &[&str]) -> Said {
    let fixed =
        ["run", "quick", "--filesystems", "ext4", "--size", "64m", "--memory", "48m", "--rounds", "1"];
    let own = ["--on", on, "--output", "out"];
    desk.say(&[&fixed[..], &own, words].concat())
}

#[test]
fn git_and_sqlite_are_the_same_in_virtual_time() {
    if !has_guests("programs in virtual time") {
        return;
    }
    if let Some(missing) = ["git", "sqlite3"].iter().find(|name| programs::find(name).is_none()) {
        return skipped("programs in virtual time", &format!("there is no {missing}"));
    }
    let desk = Desk::new();
    let testbed = model("samsung-pm9a3-1920");
    let on = "model:samsung-pm9a3-1920";
    // Names, hashes and random numbers of both come from what the guest calls time and chance.
    let git = "git init -q . && seq 500 > a && git add a && git -c user.name=x -c user.email=x commit -q -m a && git gc -q";
    let sqlite = "sqlite3 t.db 'create table t (b); insert into t values (hex(randomblob(1000))); select b from t' > printed";
    let said = carry_out(&desk, on, &["--jobs", "2", "--command", git, "--command", sqlite]);
    assert_eq!(said.code, 0, "{said:#?}");
    let run = store::read(&desk.path("out")).unwrap();
    let checks: Vec<&Record> = run.records.iter().filter(|r| r.purpose == Purpose::Integrity).collect();
    assert!(checks.len() == 2 && checks.iter().all(|r| !r.trees.is_empty()), "{checks:#?}");
    let all: Vec<&Record> = run.records.iter().filter(|r| r.purpose == Purpose::Measure).collect();
    let mut seen = Vec::new();
    let plan = Resolved::of(&run.plan).unwrap();
    rerun(&plan, &Testbeds::one(&testbed), &all, 1, 2, &mut |record, compared, _| {
        seen.push((record.trial.clone(), compared.clone()));
    })
    .unwrap();
    assert_eq!(seen.len(), 2);
    for (trial, compared) in seen {
        assert_eq!(compared, Compared::Same, "{trial}");
    }
    let html = fs::read_to_string(desk.path("out/report.html")).unwrap();
    assert!(html.contains("take turns on one vCPU"), "what figures of programs do not mean");
}

/// With its libraries, fio is larger than the memory of the trial, and than half of the guest's.
#[test]
fn fio_in_a_guest_has_room_beside_the_trials_memory() {
    if !has_guests("fio in a guest") {
        return;
    }
    if programs::find("fio").is_none() {
        return skipped("fio in a guest", "there is no fio");
    }
    let desk = Desk::new();
    desk.file("small.fio", "[a]\nrw=randrw\nsize=2m\nbs=4k\nfallocate=none\n");
    let said = carry_out(&desk, "vm", &["--fio", "small.fio"]);
    assert_eq!(said.code, 0, "{said:#?}");
    let run = store::read(&desk.path("out")).unwrap();
    let measured = run.current().into_iter().find(|record| record.purpose == Purpose::Measure).unwrap();
    let count = |name: &str| measured.phases().map(|phase| phase.count(name)).sum::<u64>();
    assert_eq!(count("read.ios") + count("write.ios"), 512, "{:#?}", measured.stages);
}

#[test]
fn a_program_in_a_guest_finds_its_files_and_one_that_fails_says_why() {
    if !has_guests("programs in a guest") {
        return;
    }
    let desk = Desk::new();
    fs::create_dir(desk.path("tree")).unwrap();
    desk.file("tree/run", "#!/bin/sh\necho \"$1\" | sed s/a/b/\n");
    fs::set_permissions(desk.path("tree/run"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let well = "test $($INPUT/tree/run xax) = xbx && whoami > who && test $(cat who) = fsderby && echo x > /dev/shm/y \
                && test $HOME = /tmp && touch $HOME/z && ! touch /etc/new 2>/dev/null && ! touch $INPUT/new 2>/dev/null";
    let words =
        ["--command", well, "--input", "tree", "--command", "no-such-program", "--command", "kill -9 -1"];
    let said = carry_out(&desk, "vm", &words);
    assert_eq!(said.code, i32::from(exit::TRIALS), "{said:#?}");
    let run = store::read(&desk.path("out")).unwrap();
    let of = |workload: usize| {
        let name = &run.plan.scenarios[workload].label;
        run.records.iter().filter(|record| record.scenario == *name).collect::<Vec<_>>()
    };
    for record in of(0) {
        assert_eq!(record.outcome, Outcome::Done, "{}: {}", record.trial, record.why());
    }
    assert_eq!(of(0).len(), 2);
    for (workload, told) in [(1, "exit code 127"), (2, "killed by signal 9")] {
        let why: String = of(workload).iter().map(|record| record.why()).collect();
        assert!(why.contains(told), "'{told}' in {why}");
    }
}
