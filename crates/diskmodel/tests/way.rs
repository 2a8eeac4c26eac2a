//! How Linux talks to a disk, and how a disk without a volatile cache behaves.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod support;

use fsderby_diskmodel::{Sample, Scheduler, Spec, SpecError, Stage};
use support::{FLUSH, Host, Random, altered, fua, number, read, spec, write};

/// The kernel's values in `/sys/block/…/queue`: `max_sectors_kb`, `fua`, `scheduler`, `nr_requests`, `write_cache`.
#[test]
fn what_a_file_leaves_out_is_what_the_kernel_does_with_its_class() {
    let seen = |name: &str| {
        let way = spec(name).way();
        (way.request_bytes >> 10, way.fua, way.scheduler.name(), way.requests, way.volatile_cache)
    };
    assert_eq!(seen("diamondmax-plus-8"), (128, false, "mq-deadline", 128, true));
    assert_eq!(seen("hdd-16tb"), (1280, false, "mq-deadline", 64, true));
    assert_eq!(seen("ssd-sata"), (1280, false, "mq-deadline", 64, true));
    assert_eq!(seen("ssd-nvme"), (512, true, "none", 256, true));
    assert_eq!(seen("cloud-volume"), (256, false, "none", 128, false));
    let nvme = altered("hdd-16tb", &[("attached", "nvme".into())]).way();
    assert_eq!((nvme.request_bytes >> 10, nvme.scheduler, nvme.requests), (1280, Scheduler::None, 32));
}

#[test]
fn a_way_that_no_disk_has_is_refused() {
    let (_, text) = fsderby_diskmodel::SHIPPED.iter().find(|(name, _)| *name == "ssd-sata").unwrap();
    let refused = |line: &str| Spec::parse(&format!("{text}\n{line}\n")).unwrap_err();
    let error = refused("scheduler = { is = 'bfq', source = 'x' }").to_string();
    assert_eq!(error, "`scheduler` cannot be \"bfq\"; allowed is \"mq-deadline\", \"none\"");
    let error = refused("fua = { is = 1, source = 'x' }").to_string();
    assert_eq!(error, "`fua` cannot be 1; allowed is true, false");
    assert!(matches!(refused("request_kib = { is = 130, source = 'x' }"), SpecError::Contradiction { .. }));
}

/// It reports this to the kernel, as a disk does whose cache is switched off.
#[test]
fn a_disk_whose_cache_outlives_the_power_has_nothing_to_flush() {
    let protected = [("volatile_cache", false.into())];
    for name in ["ssd-sata", "hdd-16tb", "3ware-raid5", "sd-card"] {
        let spec = altered(name, &protected);
        let mut host = Host::new(&spec, Sample::NOMINAL);
        host.drive.watch();
        let mut random = Random(3);
        for tag in 0..16 {
            let at = random.below(10_000) * 8;
            let begun_ns = host.now_ns;
            let cached_ns = host.lone(fsderby_diskmodel::Request { tag, ..write(at, 8) }).at_ns - begun_ns;
            assert!(!host.drive.is_volatile(at, 8), "{name}");
            let mut passages = Vec::new();
            host.drive.passages(&mut passages);
            let is_safe = passages.iter().any(|p| (p.stage, p.start, p.end) == (Stage::Landed, at, at + 8));
            assert!(is_safe, "{name}: {passages:?}");
            let begun_ns = host.now_ns;
            assert!(host.lone(fua(at + 80, 8)).at_ns - begun_ns <= cached_ns, "{name}: forced");
            let begun_ns = host.now_ns;
            let flushed_ns = host.lone(FLUSH).at_ns - begun_ns;
            assert_eq!(flushed_ns, 1000 * number(name, "overhead_us"), "{name}: flushed");
            host.settle();
        }
        let through = spec.written_through();
        assert!(!spec.needs_flushes() && !through.needs_flushes());
        let volatile = support::spec(name);
        assert!(volatile.needs_flushes() && !volatile.written_through().needs_flushes());
    }
}

/// A SATA flush is not a queued command: earlier requests finish first, and later ones wait.
#[test]
fn a_flush_that_is_not_queued_has_everything_wait() {
    let behind_a_flush = |flush_queued: bool| {
        let spec = altered("ssd-sata", &[("flush_queued", flush_queued.into())]);
        let mut host = Host::new(&spec, Sample::NOMINAL);
        (0..64).map(|n| write(n * 256, 256)).for_each(|request| {
            host.lone(request);
        });
        host.settle();
        host.lone(write(0, 8));
        let begun_ns = host.now_ns;
        host.drive.submit(begun_ns, FLUSH);
        host.drive.submit(begun_ns, fsderby_diskmodel::Request { tag: 1, ..read(4096, 8) });
        while !host.wait(1).iter().any(|c| c.tag == 1) {}
        host.now_ns - begun_ns
    };
    let (queued, alone) = (behind_a_flush(true), behind_a_flush(false));
    let program_ns = 1000 * number("ssd-sata", "program_us");
    assert!(queued < 700_000 && alone > program_ns, "{queued} ns beside it, {alone} ns behind it");
}

/// A battery protects only the controller's cache, so members must not cache writes.
#[test]
fn a_controller_with_a_battery_answers_from_its_cache_and_forces_its_members() {
    let (none, battery) = (spec("3ware-raid5"), altered("3ware-raid5", &[("volatile_cache", false.into())]));
    let synced_ns = |spec: &Spec| {
        let mut host = Host::new(spec, Sample::NOMINAL);
        for n in 0..20 {
            host.lone(write(n * 8000, 8));
            host.lone(FLUSH);
        }
        let synced_ns = host.now_ns / 20;
        host.settle();
        synced_ns
    };
    let (slow, fast) = (synced_ns(&none), synced_ns(&battery));
    assert!(fast * 20 < slow, "{fast} ns with a battery, {slow} ns without");
    // 256 stripes in order: the cache is soon full, and then each waits for disks that cannot gather writes.
    let streams = |spec: &Spec| Host::new(spec, Sample::NOMINAL).sequential(0, 512, write);
    let (cached, forced) = (streams(&none), streams(&battery));
    assert!(forced < cached, "{forced} kB/s forced, {cached} kB/s cached by the members too");
}
