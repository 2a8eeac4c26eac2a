//! Draws of the ensemble: what each of them changes, by how much.

mod support;

use fsderby_diskmodel::{CachePolicy, Sample};
use support::{Host, Random, changed, near, number, spec, specs, write};

const SLOW: Sample = Sample { seek_permille: 150, ..Sample::NOMINAL };

#[test]
fn a_slower_arm_adds_its_share_of_the_mean_seek() {
    for name in ["diamondmax-plus-8", "wd-caviar-se-160", "fujitsu-mpd3064at", "hdd-16tb", "hdd-smr"] {
        let spec = spec(name);
        let nominal = Host::new(&spec, Sample::NOMINAL).random_read_4k(spec.sectors(), 3000);
        let slow = Host::new(&spec, SLOW).random_read_4k(spec.sectors(), 3000);
        // 15 % of the average in µs are 150 ns for each of its µs; arms that arrive later meet the same mean rotation.
        let added_ns = 150 * number(name, "seek_average_us");
        assert!(near(slow - nominal, added_ns, 15), "{name}: {} ns added, not {added_ns}", slow - nominal);
    }
}

/// Sequential reading is a matter of the platters, since a drive's skew is made for its arm.
#[test]
fn a_slower_arm_reads_in_order_almost_as_fast() {
    let spec = spec("diamondmax-plus-8");
    let nominal = Host::new(&spec, Sample::NOMINAL).sequential(0, 500, support::read);
    let slow = Host::new(&spec, SLOW).sequential(0, 500, support::read);
    // The skew of 0.8 ms grows to 0.92 ms in a turn of 8.33 ms: 1.3 %.
    assert!(near(slow * 1013 / 1000, nominal, 1), "{slow} kB/s, nominal {nominal} kB/s");
}

#[test]
fn written_through_a_write_is_on_the_medium() {
    let through = Sample { cache: CachePolicy::WriteThrough, ..Sample::NOMINAL };
    for spec in specs() {
        let mut host = Host::new(&spec, through);
        let mut random = Random(1);
        for _ in 0..50 {
            let sector = random.below(spec.sectors() / 8) * 8;
            host.lone(write(sector, 8));
            assert!(!host.drive.is_volatile(sector, 8), "{}", spec.name());
        }
    }
}

/// A burst that just fits into the cache fits no more into half of it.
#[test]
fn a_small_cache_takes_half_the_burst() {
    let small = Sample { cache: CachePolicy::Small, ..Sample::NOMINAL };
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
