//! Samples of the ensemble: the effect of each factor.

mod support;

use fsderby_diskmodel::{Drive, Factor, Level, Levels, Op, Request, Sample, Spec};
use support::{Host, Random, altered, changed, near, number, spec, specs, write};

fn at(factor: Factor, level: Level) -> Sample {
    Sample { levels: Levels::NOMINAL.with(factor, level), ..Sample::NOMINAL }
}

#[test]
fn a_slower_arm_adds_its_share_of_the_mean_seek() {
    for name in ["diamondmax-plus-8", "wd-caviar-se-160", "fujitsu-mpd3064at", "hdd-16tb", "hdd-smr"] {
        let spec = spec(name);
        let nominal = Host::new(&spec, Sample::NOMINAL).random_read_4k(spec.sectors(), 3000);
        let slow = Host::new(&spec, at(Factor::Seek, Level::High)).random_read_4k(spec.sectors(), 3000);
        // 65 % of the average in µs is 650 ns per µs; a later arm meets the same mean rotation.
        let added_ns = 650 * number(name, "seek_average_us");
        assert!(near(slow - nominal, added_ns, 15), "{name}: {} ns added, not {added_ns}", slow - nominal);
    }
}

/// Sequential reads depend on the platters, since a drive's skew is matched to its arm.
#[test]
fn a_slower_arm_reads_in_order_almost_as_fast() {
    let spec = spec("diamondmax-plus-8");
    let nominal = Host::new(&spec, Sample::NOMINAL).sequential(0, 500, support::read);
    let slow = Host::new(&spec, at(Factor::Seek, Level::High)).sequential(0, 500, support::read);
    // The skew of 0.8 ms grows to 1.32 ms per turn of 8.33 ms: 5.7 %.
    assert!(near(slow * 1057 / 1000, nominal, 1), "{slow} kB/s, nominal {nominal} kB/s");
}

/// The next track is always reached within half a turn: at 4 ms of 8.33 it cannot be 1.65 times as slow.
#[test]
fn a_slow_arm_is_no_slower_than_half_a_turn_from_track_to_track() {
    let times = [("seek_track_us", 4000), ("seek_average_us", 9000), ("seek_full_us", 18_000)];
    let spec = changed("diamondmax-plus-8", &times);
    let nominal = Host::new(&spec, Sample::NOMINAL).random_read_4k(spec.sectors(), 1000);
    let slow = Host::new(&spec, at(Factor::Seek, Level::High)).random_read_4k(spec.sectors(), 1000);
    assert!(slow >= nominal, "{slow} ns, nominal {nominal} ns");
}

/// Firmware that hardly reorders is slower on queued reads and writes, and equally fast on single requests.
#[test]
fn little_order_costs_what_is_queued_and_nothing_else() {
    let little = at(Factor::Destaging, Level::Low);
    for name in ["diamondmax-plus-8", "hdd-16tb", "seagate-st2000dm006"] {
        let spec = spec(name);
        let times = |sample| {
            let lone = Host::new(&spec, sample).random_read_4k(spec.sectors(), 500);
            let mut host = Host::new(&spec, sample);
            let mut random = Random(7);
            for _ in 0..64 {
                host.lone(write(random.below(spec.sectors() / 8) * 8, 8));
            }
            let from_ns = host.now_ns;
            (lone, host.lone(support::FLUSH).at_ns - from_ns)
        };
        let ((lone, flushed), (nominal_lone, nominal_flushed)) = (times(little), times(Sample::NOMINAL));
        assert_eq!(lone, nominal_lone, "{name}");
        assert!(flushed > nominal_flushed * 11 / 10, "{name}: {flushed} ns, nominal {nominal_flushed} ns");
    }
}

/// With one read buffer random reads take as long as with two: read-ahead stops for a buffer being reassigned.
#[test]
fn an_only_read_buffer_saves_no_random_read() {
    let ns = |segments| {
        let spec = changed("diamondmax-plus-8", &[("read_segments", segments)]);
        let mut host = Host::new(&spec, Sample::NOMINAL);
        let mut random = Random(9);
        let mut sum = 0;
        for _ in 0..500 {
            let from_ns = host.now_ns;
            sum += host.lone(support::read(random.below(spec.sectors() / 8) * 8, 8)).at_ns - from_ns;
            host.pass(random.below(20_000_000));
        }
        sum
    };
    assert!(near(ns(1), ns(2), 2), "{} ns with one, {} ns with two", ns(1), ns(2));
}

#[test]
fn written_through_a_write_is_on_the_medium() {
    for spec in specs().map(|spec| spec.written_through()) {
        let mut host = Host::new(&spec, Sample::NOMINAL);
        let mut random = Random(1);
        for _ in 0..50 {
            let sector = random.below(spec.sectors() / 8) * 8;
            host.lone(write(sector, 8));
            assert!(!host.drive.is_volatile(sector, 8), "{}", spec.name());
        }
    }
}

/// A burst that just fits into the cache does not fit into half of it.
#[test]
fn a_small_cache_takes_half_the_burst() {
    let small = at(Factor::Cache, Level::Low);
    let name = "wd-caviar-se-160";
    let blocks = number(name, "write_cache_kib") / 64;
    let burst_ns = |sample| {
        let mut host = Host::new(&changed(name, &[("write_cache_entries", 4096)]), sample);
        let mut random = Random(3);
        for _ in 0..blocks {
            host.lone(write(random.below(2_000_000) * 128, 128));
        }
        host.now_ns
    };
    let wire_ns = blocks * (64 * 1024 * 1_000_000 / number(name, "interface_kbps") + 300_000);
    assert_eq!(burst_ns(Sample::NOMINAL) / 1000, wire_ns / 1000);
    assert!(burst_ns(small) > wire_ns * 3 / 2, "{} ns, {wire_ns} ns over the interface", burst_ns(small));
}

#[test]
fn seeds_change_the_phase_and_little_else() {
    for spec in specs() {
        let of = |n| {
            let sample = Sample { seed: n, ..Sample::NOMINAL };
            Host::new(&spec, sample).random_read_4k(spec.sectors(), 2000)
        };
        let (one, other) = (of(1), of(2));
        assert!(near(one, other, 3), "{}: {one} ns and {other} ns", spec.name());
        assert!(!spec.is_rotational() || one != other, "{}", spec.name());
    }
}

/// A burst that fills caches, many read streams, random traffic with flushes and FUA writes, and idle times with background work.
/// Returns the sum of all latencies.
fn total_ns(spec: &Spec, sample: Sample) -> u64 {
    let mut drive = Drive::new(spec, sample);
    let (mut random, mut done, mut now_ns) = (Random(5), Vec::new(), 0);
    for tag in 0..6000 {
        let place = random.below(spec.sectors() / 16 - 64) * 8;
        let stream = (16 + tag % 12) * 65_536 + tag / 12 % 256 * 8;
        let (op, sector, sectors, pause_ns) = match (tag / 1500, random.below(20)) {
            (0, _) => (Op::Write, place, 128, 1),
            (1, _) => (Op::Read, stream, 8, 2_000_000),
            (_, 0) => (Op::Flush, 0, 0, 400_000),
            (_, n) if n < 8 => (Op::Read, place, 8, 400_000),
            (_, n) => (Op::Write, place, 8 * (n as u32 - 6), 400_000),
        };
        now_ns += random.below(pause_ns) + if tag % 500 == 499 { 4_000_000_000 } else { 0 };
        drive.advance(now_ns, &mut done);
        let fua = op == Op::Write && tag % 11 == 0;
        drive.submit(now_ns, Request { tag, op, fua, sector, sectors });
    }
    while let Some(next) = drive.next_event_ns() {
        now_ns = now_ns.max(next);
        drive.advance(now_ns, &mut done);
    }
    done.iter().map(|completion| completion.cost.total_ns()).sum()
}

/// The shipped disks, and two for which little traffic suffices: a shingled disk whose map is soon full, and a small SSD in
/// steady-state garbage collection.
fn all_kinds() -> Vec<Spec> {
    let small = [("sectors", 4_000_000.into()), ("block_kib", 768.into()), ("preconditioned", true.into())];
    let small = altered("ssd-sata", &small);
    specs().chain([changed("hdd-smr", &[("log_entries", 200)]), small]).collect()
}

/// Factors that act through the kernel or the machine and so do not show on the disk alone.
const ELSEWHERE: [Factor; 5] =
    [Factor::Cpu, Factor::Position, Factor::Scheduler, Factor::Request, Factor::Fua];

#[test]
fn every_factor_changes_what_some_disk_does() {
    let all = all_kinds();
    let differs = |spec: &Spec, factor: Factor| {
        let [low, high] = [Level::Low, Level::High].map(|level| total_ns(spec, at(factor, level)));
        spec.factors().iter().any(|range| range.factor == factor) && low != high
    };
    for factor in Factor::ALL.into_iter().filter(|factor| !ELSEWHERE.contains(factor)) {
        assert!(all.iter().any(|spec| differs(spec, factor)), "{factor:?} changes nothing");
    }
}

#[test]
fn the_nominal_disk_is_its_file() {
    for spec in specs() {
        assert_eq!(spec.varied(Levels::NOMINAL), spec);
        assert_eq!(total_ns(&spec, Sample::NOMINAL), total_ns(&spec, spec.sample(Default::default(), 0, 0)));
    }
}

/// A change of extremes leaves the nominal disk unchanged, to the nanosecond.
#[test]
fn the_nominal_disk_is_what_it_was() {
    let known = [
        ("3ware-raid5", 9_677_269_263_604),
        ("arena-ide-raid5", 3_280_119_526_060),
        ("cloud-volume", 235_763_807_655),
        ("diamondmax-plus-8", 11_224_258_840_384),
        ("fujitsu-mpd3064at", 90_428_813_984_314),
        ("hdd-16tb", 4_454_607_892_591),
        ("hdd-smr", 3_475_544_499_766),
        ("hgst-ultrastar-7k8", 4_335_266_973_790),
        ("kingston-kc3000-2048", 3_806_974_454),
        ("micron-7300-pro-3840", 8_936_780_782),
        ("samsung-850-evo-250", 85_934_956_060),
        ("samsung-870-evo", 89_228_664_321),
        ("samsung-pm883-960", 45_207_827_506),
        ("samsung-pm9a3-1920", 5_694_594_274),
        ("sd-card", 4_627_947_491_795_122),
        ("seagate-st2000dm006", 5_053_969_855_031),
        ("ssd-nvme", 8_112_295_171),
        ("ssd-sata", 60_898_367_974),
        ("wd-caviar-se-160", 14_182_806_352_512),
        ("zero", 0),
    ];
    let today: Vec<(String, u64)> =
        specs().map(|spec| (spec.name().to_owned(), total_ns(&spec, Sample::NOMINAL))).collect();
    let known: Vec<(String, u64)> = known.map(|(name, ns)| (name.to_owned(), ns)).into();
    assert_eq!(today, known);
}
