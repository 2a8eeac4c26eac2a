//! A guest that does a benchmark's jobs on its modelled disk, with no filesystem between. As any user.

use crate::support::desk::Desk;
use crate::support::quiet::has_guests;
use fsderby::runner::execute::raw::{Done, Raw};
use fsderby::schema::units::Bytes;
use fsderby::testbeds::model::{Model, disks};
use fsderby_diskmodel::Spec;
use fsderby_diskmodel::validation::asks::Taken;
use fsderby_diskmodel::validation::beside::{self, Planned};

const USAGE: i32 = fsderby::exit::USAGE as i32;

fn planned(disk: &str, job: &str) -> (Spec, Planned) {
    let spec = Spec::parse(&disks::text(disk).unwrap()).unwrap();
    let planned = beside::planned(&spec).into_iter().find(|planned| planned.job.name == job).unwrap();
    (spec, planned)
}

fn in_guest(disk: &str, job: &str) -> Taken {
    let mut testbed: Model = format!("{disk},samples=off").parse().unwrap();
    testbed.starts.agent = env!("CARGO_BIN_EXE_fsderby").into();
    let (spec, planned) = planned(disk, job);
    let guest = planned.job.in_guest(&spec);
    let raw = Raw { work: guest.work, size: Bytes(guest.sectors * 512) };
    let Done { taken, .. } = raw.carry_out(&testbed, &|| false).unwrap();
    Taken::all(&taken)
}

/// On all of a disk of 2 TB: beside its arm the kernel's path is next to nothing. The places are those of the model alone.
#[test]
fn a_read_takes_a_guest_as_long_as_the_disk_and_the_same_each_time() {
    if !has_guests("requests to a modelled disk without a filesystem") {
        return;
    }
    let (disk, job) = ("seagate-st2000dm006", "read-1");
    let taken = in_guest(disk, job);
    assert_eq!(in_guest(disk, job), taken);
    let (spec, planned) = planned(disk, job);
    let slower = planned.beside(&spec, taken).slower();
    assert!((0.97..1.05).contains(&slower), "{slower} times as long as the model alone");
}

/// A write to flash and its flush pass the kernel twice.
#[test]
fn the_kernels_way_comes_on_top_of_what_flash_takes() {
    if !has_guests("writes and flushes of a modelled disk without a filesystem") {
        return;
    }
    let (disk, job) = ("samsung-pm883-960", "sync");
    let taken = in_guest(disk, job);
    let (spec, planned) = planned(disk, job);
    let slower = planned.beside(&spec, taken).slower();
    assert!((1.02..2.0).contains(&slower), "{slower} times as long as the model alone");
}

#[test]
fn what_is_asked_for_wrongly_is_refused_before_any_guest() {
    let desk = Desk::new();
    let refused = |flags: &[&str], words: &[&str]| {
        desk.refuses(&[&["disk", "validate"], flags].concat(), USAGE, words);
    };
    refused(&["--guest", "samsung-870-ebo"], &["unknown disk", "'samsung-870-evo'?"]);
    refused(
        &["--guest", "hdd-16tb", "--job", "read-256"],
        &["unknown job of these disks 'read-256'", "'read-32'?"],
    );
    refused(&["--guest", "hdd-16tb", "--machine", "server-2042"], &["unknown machine", "server-20"]);
}
