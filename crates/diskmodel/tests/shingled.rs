//! A shingled disk: fast until its log is full.

mod support;

use fsderby_diskmodel::{Sample, Spec};
use support::{FLUSH, Host, Random, changed, fua, near, nominal, number, read, write};

const NAME: &str = "hdd-smr";

/// The shipped disk with a log of 4 MiB: 1024 blocks.
fn with_a_small_log() -> Spec {
    changed(NAME, &[("log_mib", 4)])
}

fn random_blocks(host: &mut Host, count: u64, seed: u64) -> u64 {
    let mut random = Random(seed);
    let begun_ns = host.now_ns;
    for _ in 0..count {
        // Within the first 3 GB: a hundred bands.
        host.lone(fua(random.below(750_000) * 8, 8));
    }
    (host.now_ns - begun_ns) / count
}

/// Before: one turn per block, since the log is written in order. After: one band is read and written per ten blocks.
#[test]
fn random_writes_are_quick_until_the_log_is_full() {
    let mut host = Host::new(&with_a_small_log(), Sample::NOMINAL);
    let turn_ns = 60_000_000_000 / number(NAME, "rpm");
    let quick = random_blocks(&mut host, 1000, 1);
    assert!(near(quick, turn_ns, 2), "{quick} ns, a turn is {turn_ns} ns");
    assert_eq!(host.drive.counters().bands_rewritten, 0);
    let slow = random_blocks(&mut host, 1000, 2);
    assert!(slow > 3 * quick, "{slow} ns with a full log, {quick} ns before");
    assert!(host.drive.counters().bands_rewritten > 20);
}

/// Reads 30 MiB at 190 MB/s and a block from the log, and rewrites the 30 MiB.
#[test]
fn an_idle_disk_cleans_its_bands() {
    let mut host = nominal(NAME);
    host.lone(write(61_440 * 7 + 800, 8));
    host.lone(FLUSH);
    let busy_ns = host.settle() - 1_000_000 * number(NAME, "idle_ms");
    assert_eq!(host.drive.counters().bands_rewritten, 1);
    let band_ns = number(NAME, "band_kib") * 1024 * 1_000_000 / 189_747;
    assert!(near(busy_ns, 2 * band_ns, 15), "{busy_ns} ns, twice the band takes {} ns", 2 * band_ns);
}

#[test]
fn a_long_write_needs_no_log() {
    let mut host = nominal(NAME);
    let kbps = host.sequential(0, 8000, write);
    assert!(near(kbps, 189_747, 5), "{kbps} kB/s");
    host.settle();
    assert!(host.drive.counters().bands_rewritten <= 1, "{:?}", host.drive.counters());
}

/// Data written in pieces lies in the log, so reading it in order seeks back and forth.
#[test]
fn what_lies_in_the_log_is_read_from_there() {
    let mut host = nominal(NAME);
    for n in [5, 1, 7, 3, 6, 2, 0, 4] {
        host.lone(fua(1_000_000 + n * 16, 8));
    }
    let begun_ns = host.now_ns;
    let done = host.lone(read(1_000_000, 128));
    assert_eq!(done.cost.total_ns(), done.at_ns - begun_ns);
    // Eight blocks in the log and eight in the band, each one seek from the last.
    let curve_ns = 1000 * number(NAME, "seek_track_us");
    assert!(done.cost.seek_ns > 15 * curve_ns, "{:?}", done.cost);
    host.settle();
    let begun_ns = host.now_ns;
    let clean = host.lone(read(1_000_000, 128)).at_ns - begun_ns;
    assert!(clean * 4 < done.cost.total_ns(), "{clean} ns after cleaning, {:?} before", done.cost);
}

/// A run longer than the log goes there in pieces, with bands cleaned in between.
#[test]
fn a_run_longer_than_the_log_arrives() {
    let mut host = Host::new(&changed(NAME, &[("log_mib", 1)]), Sample::NOMINAL);
    // Not at the start of a band, so that it cannot go there directly.
    host.lone(fua(8, 8192));
    assert!(!host.drive.is_volatile(8, 8192));
    assert!(host.drive.counters().bands_rewritten >= 3, "4 MiB through 1 MiB: {:?}", host.drive.counters());
}
