//! A flash disk that was overwritten for long: it collects while a volume is written, the same each time, and other storage is
//! refused. As any user.

use std::sync::atomic::AtomicBool;

use crate::support::quiet::{Quiet, has_guests};
use crate::support::scripted::machine;
use fsderby::runner::execute::rounds::Runner;
use fsderby::runner::experiment::Experiment;
use fsderby::runner::plan::jobs;
use fsderby::runner::plan::resolved::Resolved;
use fsderby::runner::verify::rerun::{Compared, candidates, rerun};
use fsderby::runner::verify::verify;
use fsderby::schema::plan::Plan;
use fsderby::schema::reason::Outcome;
use fsderby::schema::record::Record;
use fsderby::store::{self, Folder};
use fsderby::testbeds::model::Model;
use fsderby::testbeds::{self, Testbed, Testbeds};

const DISK: &str = "samsung-pm9a3-1920,samples=off";

fn plan(testbed: &str) -> Plan {
    let text = "name = \"drives\"\nsize = \"512m\"\nmemory = \"64m\"\nworkloads = [\"maildir-quick\"]\nfilesystems = [\"ext4\"]\n\
                rounds = 1\nseed = 7\nscale = \"1/32\"\n[cross]\nstate = [\"fresh\", \"preconditioned\"]\n";
    Experiment::parse(text, "test").unwrap().plan(testbed.to_owned(), 1).unwrap()
}

#[test]
fn a_preconditioned_disk_collects_while_a_volume_is_written_and_the_same_each_time() {
    if !has_guests("a preconditioned disk") {
        return;
    }
    let mut model: Model = DISK.parse().unwrap();
    model.starts.agent = env!("CARGO_BIN_EXE_fsderby").into();
    let plan = plan(&model.name());
    let testbeds = Testbeds::one(&model);
    let desk = tempfile::tempdir().unwrap();
    let path = desk.path().join("run");
    let mut folder = Folder::create(&path, &plan, &machine(&plan, &testbeds)).unwrap();
    let (before, stop) = (store::read(&path).unwrap(), AtomicBool::new(false));
    Runner {
        plan: &Resolved::of(&plan).unwrap(),
        testbeds: &testbeds,
        folder: &mut folder,
        skips: &[],
        watch: &mut Quiet,
        jobs: 2,
        stop: &stop,
    }
    .run(&before)
    .unwrap();
    let run = store::read(&path).unwrap();
    assert_eq!(verify(&run).wrong, Vec::<String>::new());
    let copied = |state: &str| {
        let is_it = |r: &&Record| r.round == 1 && r.state.as_deref().unwrap_or("fresh") == state;
        let record = run.records.iter().find(is_it).unwrap();
        assert_eq!(record.outcome, Outcome::Done, "{state}: {}", record.why());
        let disk = &record.stages[0].probes["disk"];
        assert!(disk["units_written"] > 0, "{state}: {disk:?}");
        disk["units_copied"]
    };
    let (fresh, preconditioned) = (copied("fresh"), copied("preconditioned"));
    assert!(fresh == 0 && preconditioned > 0, "{fresh} units copied, preconditioned {preconditioned}");
    let records = candidates(&run);
    assert_eq!(records.len(), 4);
    rerun(&Resolved::of(&run.plan).unwrap(), &testbeds, &records, 1, 2, &mut |record, compared, _| {
        assert_eq!(*compared, Compared::Same, "{}", record.trial);
    })
    .unwrap();
}

/// What lies below a file of the host's, an arm or a cloud's volume is not what random overwriting changes, or not ours.
#[test]
fn a_drive_that_cannot_be_preconditioned_is_refused_with_what_to_write() {
    for (text, words) in [
        ("loop", "cannot precondition a drive"),
        ("vm", "cannot precondition a drive"),
        ("twin:samsung-870-evo", "cannot precondition a drive"),
        ("model:hdd-16tb", "is not a flash disk with a mapping layer"),
        ("model:cloud-volume", "is not a flash disk with a mapping layer"),
        ("model:sd-card", "is not a flash disk with a mapping layer"),
    ] {
        let testbed = testbeds::parse(text).unwrap();
        let plan = plan(&testbed.name());
        let refused = |at: usize| {
            let need = jobs::need_of(&Resolved::of(&plan).unwrap(), &plan.candidates[at]);
            let missing = testbeds::usable(&*testbed, &need).err().map(|missing| missing.to_string());
            missing.unwrap_or_default()
        };
        assert!(!refused(0).contains(words), "{text}, fresh: {}", refused(0));
        assert!(refused(1).contains(words) && refused(1).contains("try: "), "{text}: {}", refused(1));
    }
}
