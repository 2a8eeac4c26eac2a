//! Ready sets that run programs of this machine: each small one runs here, and leaves what it says.

use fsderby::host::programs;
use fsderby::schema::job::Purpose;
use fsderby::schema::reason::Outcome;
use fsderby::store;
use fsderby::workloads::{self, Work};

use crate::support::desk::Desk;
use crate::support::{has_loop, skipped};

fn work(set: &str) -> Box<dyn Work> {
    let (engine, set) = workloads::find(set).unwrap();
    engine.parse(&set.file().parameters).unwrap()
}

#[test]
fn each_small_set_of_programs_runs() {
    if !has_loop("ready programs") {
        return;
    }
    let all = workloads::TABLE.iter().flat_map(|engine| engine.sets()).map(|set| set.name);
    let small = all.filter(|set| set.ends_with("-quick") && work(set).needs().programs);
    let (mut here, mut of_all) = (Vec::new(), 0);
    for set in small {
        of_all += 1;
        match work(set).programs().into_iter().find(|name| programs::find(name).is_none()) {
            Some(missing) => skipped(set, &format!("there is no {missing}")),
            None => here.push(set),
        }
    }
    assert_eq!(of_all, 15);
    let (desk, sets) = (Desk::new(), here.join(","));
    let on = desk.testbed();
    let words = ["run", "quick", "--filesystems", "ext4", "--on", &on, "--size", "512m", "--memory", "128m"];
    let rest = ["--rounds", "1", "--output", "out", "--workloads", &sets];
    let said = desk.say(&[&words[..], &rest].concat());
    desk.leaves_nothing(said.pid);
    assert_eq!(said.code, 0, "{said:#?}");
    let run = store::read(&desk.path("out")).unwrap();
    for set in here {
        let records: Vec<_> = run.current().into_iter().filter(|record| record.scenario == set).collect();
        assert_eq!(records.len(), 2, "{set}");
        for record in records {
            assert_eq!(record.outcome, Outcome::Done, "{set}: {}", record.why());
            let value = |name: &str| {
                record.metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value)
            };
            let is_measured = record.purpose == Purpose::Measure;
            let main = value("command.synced.time").or(value("fio.iops"));
            assert_eq!(main.is_some(), is_measured, "{set}: {:#?}", record.metrics);
            if is_measured && set == "grep-quick" {
                // 200 files of 12 KiB on average: a cold start means that they come from the device.
                let read: u64 =
                    record.stages.iter().filter_map(|stage| stage.probe("block_io", "bytes_read")).sum();
                assert!(read > 2_000_000, "{read} bytes read");
            }
            if is_measured && set == "fs-mark-quick" {
                assert!(value("command.printed.files").is_some_and(|rate| rate > 0.0));
            }
        }
    }
    assert_eq!(desk.say(&["verify", "out"]).code, 0);
}

#[test]
fn a_program_that_is_not_here_is_named_with_its_package() {
    let desk = Desk::new();
    desk.file(
        "own.toml",
        "name = 'own'\nfilesystems = ['ext4']\nrounds = 1\n[[workload]]\nlabel = 'x'\ncommand = 'no-such-program'\n\
         programs = ['no-such-program']\n",
    );
    let told =
        ["there is no no-such-program on this machine, which x runs", "apt-get install no-such-program"];
    desk.refuses(&["run", "own.toml", "--on", "loop", "--dry-run"], i32::from(fsderby::exit::MISSING), &told);
}
