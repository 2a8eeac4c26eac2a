//! The real fio with job files, on real filesystems; its figures as fio itself states them.

use std::fs;

use fsderby::exit;
use fsderby::host::programs;
use fsderby::schema::job::Purpose;
use fsderby::store;

use crate::support::desk::Desk;
use crate::support::{has_loop, skipped};

const JOB: &str = "; four jobs\n[global]\nsize=4m\nbs=4k\ndirectory=/elsewhere\nfallocate=none\n\n[mixed]\nrw=randrw\nfsync=16\n\n\
                   [reads]\nstonewall\nrw=read\nnumjobs=2\ngroup_reporting\n";

fn has_fio(what: &str) -> bool {
    let has = programs::find("fio").is_some();
    if !has {
        skipped(what, "there is no fio");
    }
    has
}

#[test]
fn a_job_file_is_run_and_its_figures_are_fios() {
    if !has_fio("fio") || !has_loop("fio") {
        return;
    }
    let desk = Desk::new();
    desk.file("mail.fio", JOB);
    let on = desk.testbed();
    let words =
        ["run", "quick", "--fio", "mail.fio", "--filesystems", "ext4,xfs", "--on", &on, "--size", "320m"];
    let rest = ["--memory", "96m", "--rounds", "1", "--output", "out"];
    let said = desk.say(&[&words[..], &rest].concat());
    desk.leaves_nothing(said.pid);
    assert_eq!(said.code, 0, "{said:#?}");
    let run = store::read(&desk.path("out")).unwrap();
    for record in run.records.iter().filter(|record| record.purpose == Purpose::Measure) {
        let count = |name: &str| record.phases().map(|phase| phase.count(name)).sum::<u64>();
        // 4 MiB in pieces of 4 KiB, and two readers of 4 MiB each.
        assert_eq!(count("read.ios") + count("write.ios"), 1024 + 2 * 1024, "{:#?}", record.stages);
        assert_eq!(count("job.reads.read.ios"), 2 * 1024);
        assert_eq!(count("read.bytes"), count("read.ios") * 4096);
        assert!(count("syncs") >= count("write.ios") / 16);
        let value =
            |name: &str| record.metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value);
        let groups = (count("group.0.ms") + count("group.1.ms")) as f64 / 1e3;
        let iops = value("fio.iops").unwrap();
        assert!((iops * groups / 3072.0 - 1.0).abs() < 1e-9, "{iops} over {groups} s");
        assert!(value("fio.job.mixed.read").is_some() && value("fio.job.reads.read").is_some());
    }
    assert_eq!(desk.say(&["verify", "out"]).code, 0);
    let report = desk.say(&["report", "out"]);
    assert!(
        report.out.contains("I/Os of fio") && report.out.contains("fsync") || report.out.contains("sync")
    );
    let stored = fs::read_to_string(desk.path("out/plan.toml")).unwrap();
    assert!(stored.contains("[mixed]"), "the job file is part of the plan: {stored}");
}

#[test]
fn an_experiment_names_its_job_file_from_its_own_folder() {
    if !has_fio("fio in an experiment") {
        return;
    }
    let desk = Desk::new();
    fs::create_dir(desk.path("sub")).unwrap();
    desk.file("sub/own.fio", "[w]\nrw=write\nsize=1m\n");
    desk.file(
        "sub/own.toml",
        "name = 'own'\nfilesystems = ['ext4', 'xfs']\nrounds = 1\n[[workload]]\nfio = 'own.fio'\n",
    );
    let said = desk.say(&["run", "sub/own.toml", "--on", "loop", "--dry-run", "--verbose"]);
    assert!(said.code == 0 && said.out.contains("/own/ext4"), "{said:#?}");
}

#[test]
fn a_job_file_that_may_not_run_is_refused_before() {
    if !has_fio("job files that may not run") {
        return;
    }
    let desk = Desk::new();
    for (text, told) in [
        ("[a]\nfilename=/dev/sda\nrw=write\n", "bad.fio: line 2: filename=/dev/sda"),
        ("[a]\nexec_postrun=reboot\n", "line 2: fsderby does not run exec_postrun"),
        ("[a]\nrw=rite\nioengine=rbd\n", "line 3: ioengine=rbd"),
        ("", "the file has no job"),
    ] {
        desk.file("bad.fio", text);
        let words = ["run", "quick", "--fio", "bad.fio", "--on", "loop", "--dry-run"];
        desk.refuses(&words, exit::USAGE as i32, &[told]);
    }
    desk.refuses(
        &["run", "quick", "--fio", "none.fio", "--dry-run"],
        exit::USAGE as i32,
        &["could not read the job file none.fio"],
    );
}

#[test]
fn what_fio_itself_refuses_fails_its_trial_with_fios_words() {
    if !has_fio("a job that fio refuses") || !has_loop("a job that fio refuses") {
        return;
    }
    let desk = Desk::new();
    desk.file("odd.fio", "[a]\nrw=sideways\nsize=1m\n");
    let on = desk.testbed();
    let words = ["run", "quick", "--fio", "odd.fio", "--filesystems", "ext4", "--on", &on, "--size", "320m"];
    let said = desk.say(&[&words[..], &["--rounds", "1", "--output", "out"]].concat());
    desk.leaves_nothing(said.pid);
    assert_eq!(said.code, exit::TRIALS as i32, "{said:#?}");
    assert!(said.err.contains("sideways") || said.out.contains("sideways"), "{said:#?}");
}
