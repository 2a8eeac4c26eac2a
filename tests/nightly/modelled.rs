//! Modelled disks in virtual time: two that lose their power at one moment, and filesystems whose disk stops.

use fsderby::probes;
use fsderby::runner::plan::resolved::Resolved;
use fsderby::runner::verify::rerun::{Compared, candidates, rerun};
use fsderby::schema::job::Purpose;
use fsderby::schema::record::Record;
use fsderby::testbeds::Testbeds;
use fsderby_diskmodel::Op;

use crate::support::modelled::{compared, model, stalled};
use crate::support::quiet::has_guests;

/// The gate has Btrfs.
#[test]
fn a_step_that_does_not_end_fails_at_its_limit_of_virtual_time_with_the_blocked_tasks() {
    ["ext4", "xfs"].into_iter().for_each(stalled);
}

/// A mirror: both are written alike, lose their power at one moment, and hold the same again.
#[test]
fn two_disks_serve_one_machine_through_a_power_cut_and_the_same_each_time() {
    if !has_guests("several modelled disks") {
        return;
    }
    let testbed = model("diamondmax-plus-8,disks=2");
    let text = "name = \"mirror\"\nsize = \"512m\"\nmemory = \"64m\"\nworkloads = [\"maildir-durable\"]\nseed = 7\nscale = \"1/32\"\n\
                rounds = 1\npower_cut = \"60%\"\nlayers = [\"md:raid1\"]\nfilesystems = [\"ext4\"]\n";
    let (_desk, run) = compared(text, &testbed, 1, 2);
    let records = candidates(&run);
    assert_eq!(records.len(), 2, "{:?}", run.records.iter().map(Record::why).collect::<Vec<_>>());
    for record in &records {
        let served = run.requests(record).unwrap().unwrap();
        // After the cut the array is synchronised: what one disk has is read and written to the other.
        let of = |disk| served.iter().filter(move |s| (s.disk, s.life) == (disk, 0));
        let sectors = |disk| of(disk).filter(|s| s.op == Op::Write).map(|s| s.sectors).sum::<u32>();
        let (one, other) = (sectors(0), sectors(1));
        assert!(one > 500 && one.abs_diff(other) * 4 < one, "{}: {one} and {other}", record.trial);
        // Their platters do not turn in step.
        let first = |disk| of(disk).find(|s| s.op == Op::Read).map(|s| s.rotation_ns);
        assert_ne!(first(0), first(1), "{}", record.trial);
        let has_second_life = served.iter().any(|s| s.life == 1 && s.disk == 1);
        assert_eq!(has_second_life, record.purpose == Purpose::Measure);
        assert!(served.iter().all(|s| s.disk < 2));
    }
    let cut = records.iter().find(|r| r.purpose == Purpose::Measure).unwrap();
    assert!(cut.survivors.as_ref().is_some_and(|s| s.files > 3 && s.lost.is_empty()), "{:?}", cut.survivors);
    let [counted, read_back] = [Purpose::Measure, Purpose::Integrity].map(|purpose| {
        records.iter().find(|r| r.purpose == purpose).and_then(|r| probes::counted(r, "disk", "flushes"))
    });
    assert!(counted.is_none() && read_back.is_some_and(|flushes| flushes > 10), "{counted:?} {read_back:?}");
    let mut seen = Vec::new();
    rerun(
        &Resolved::of(&run.plan).unwrap(),
        &Testbeds::one(&testbed),
        &[*cut],
        1,
        1,
        &mut |_, compared, _| seen.push(compared.clone()),
    )
    .unwrap();
    assert_eq!(seen, [Compared::Same]);
}
