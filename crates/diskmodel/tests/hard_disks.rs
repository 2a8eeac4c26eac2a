//! Hard disks against arithmetic.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod support;

use fsderby_diskmodel::Sample;
use support::{FLUSH, Host, Random, changed, fua, near, nominal, number, read, spec, value, write};

/// The plain hard disks.
const HARD: &[&str] = &["diamondmax-plus-8", "wd-caviar-se-160", "fujitsu-mpd3064at", "hdd-16tb", "hdd-smr"];

fn turn_ns(name: &str) -> u64 {
    60_000_000_000 / number(name, "rpm")
}

/// Read rate of a zone: its sectors per turn, with the turn lengthened by the mean track switch.
fn zone_kbps(name: &str, sectors_per_track: u64) -> u64 {
    let heads = number(name, "heads");
    let head_ns = 1000 * number(name, "head_switch_us");
    let cylinder_ns = 1000 * number(name, "seek_track_us");
    let skew_ns = ((heads - 1) * head_ns + cylinder_ns) / heads;
    sectors_per_track * 512 * 1_000_000 / (turn_ns(name) + skew_ns)
}

#[test]
fn a_random_read_takes_overhead_a_mean_seek_half_a_turn_and_the_transfer() {
    for name in HARD {
        let spec = spec(name);
        let sum_ns = 1000 * (number(name, "overhead_us") + number(name, "seek_average_us"))
            + turn_ns(name) / 2
            + 8 * turn_ns(name) / value(name, "sectors_per_track")[0];
        let is = nominal(name).random_read_4k(spec.sectors(), 2000);
        assert!(near(is, sum_ns, 10), "{name}: {is} ns, by arithmetic {sum_ns} ns");
        assert!(near(spec.service_4k_ns(), sum_ns, 3), "{name}: {}", spec.service_4k_ns());
        println!("{name}: random read {is} ns, by arithmetic {} ns", spec.service_4k_ns());
    }
}

#[test]
fn a_sequential_read_has_its_zones_rate() {
    for name in HARD {
        let zones = value(name, "sectors_per_track");
        let sectors = spec(name).sectors();
        for (from, track) in [(0, zones[0]), (sectors - 400_000, zones[zones.len() - 1])] {
            let is = nominal(name).sequential(from, 1000, read);
            let sum = zone_kbps(name, track);
            assert!(near(is, sum, 4), "{name} from {from}: {is} kB/s, by arithmetic {sum} kB/s");
            println!("{name}: sequential read from {from}: {is} kB/s, by arithmetic {sum} kB/s");
        }
    }
}

#[test]
fn a_sequential_write_has_its_zones_rate() {
    for name in HARD {
        // The first tenth, not counted, fills the cache.
        let requests = 1000 + 16 * number(name, "write_cache_kib") / 128;
        let is = nominal(name).sequential(0, requests, write);
        let sum = zone_kbps(name, value(name, "sectors_per_track")[0]);
        assert!(near(is, sum, 5), "{name}: {is} kB/s, by arithmetic {sum} kB/s");
    }
}

/// A cached write takes overhead and interface; the flush after it a seek, half a turn and the transfer.
#[test]
fn a_write_is_quick_and_its_flush_is_not() {
    for name in HARD {
        let mut host = nominal(name);
        let mut random = Random(3);
        let wire_ns = 4096 * 1_000_000 / number(name, "interface_kbps");
        let mut sum = 0;
        for _ in 0..500 {
            let sector = random.below(spec(name).sectors() / 8) * 8;
            let begun_ns = host.now_ns;
            let written = host.lone(write(sector, 8));
            assert_eq!(written.at_ns - begun_ns, 1000 * number(name, "overhead_us") + wire_ns);
            assert!(written.cost.from_cache);
            sum += host.lone(FLUSH).at_ns - begun_ns;
            host.settle();
            host.pass(random.below(50_000_000));
        }
        // The flush's overhead passes while the arm moves.
        let by_hand = spec(name).service_4k_ns() + 1000 * number(name, "write_settle_us");
        assert!(near(sum / 500, by_hand, 10), "{name}: {} ns, by arithmetic {by_hand} ns", sum / 500);
    }
}

/// Overwriting one sector repeatedly, each time on the medium, takes one turn per write.
#[test]
fn a_log_of_one_block_turns_once_a_write() {
    for name in HARD {
        let mut host = nominal(name);
        host.lone(fua(4096, 8));
        let begun_ns = host.now_ns;
        for _ in 0..100 {
            host.lone(fua(4096, 8));
        }
        let each = (host.now_ns - begun_ns) / 100;
        // The log of a shingled disk advances block by block.
        assert!(near(each, turn_ns(name), 1), "{name}: {each} ns");
    }
}

#[test]
fn the_parts_of_a_random_read_are_its_whole() {
    for name in HARD {
        let mut host = nominal(name);
        let mut random = Random(9);
        for _ in 0..200 {
            let from_ns = host.now_ns;
            let done = host.lone(read(random.below(spec(name).sectors() - 8), 8));
            assert_eq!(done.cost.total_ns(), done.at_ns - from_ns);
            assert_eq!(done.cost.queue_ns, 0, "{:?}", done.cost);
        }
    }
}

/// Thirty-two reads at once: the arm takes the nearest first, so each takes far less than a lone one.
#[test]
fn a_queue_shortens_the_way() {
    let name = "hdd-16tb";
    let mut host = nominal(name);
    let mut random = Random(5);
    let sectors = spec(name).sectors();
    let mut ask = |host: &mut Host| {
        host.drive.submit(host.now_ns, read(random.below(sectors / 8) * 8, 8));
    };
    (0..32).for_each(|_| ask(&mut host));
    let mut done = 0;
    while done < 2000 {
        let ended = host.wait(1);
        done += ended.len() as u64;
        ended.iter().for_each(|_| ask(&mut host));
    }
    let each = host.now_ns / done;
    let lone = spec(name).service_4k_ns();
    // The shortest of 32 positioning times is about a third of the mean; the longest wait slightly exceeds the age limit.
    assert!(each * 2 < lone, "{each} ns in a queue, {lone} ns alone");
    assert!(each * 5 > lone, "{each} ns in a queue, {lone} ns alone");
}

/// Cached data reaches the medium although reads never stop.
#[test]
fn cached_writes_do_not_wait_for_ever_behind_reads() {
    for name in HARD {
        let mut host = nominal(name);
        let mut random = Random(6);
        host.lone(write(800_000, 8));
        let limit_ns = 1_000_000 * number(name, "age_limit_ms");
        while host.drive.counters().sectors_destaged == 0 {
            host.drive.submit(host.now_ns, read(random.below(10_000_000), 8));
            host.wait(1);
            assert!(host.now_ns < 2 * limit_ns, "{name}: still in the cache");
        }
    }
}

/// Writing 512 bytes to a 4096-byte block: the block is read, and passes again one turn later.
#[test]
fn a_part_of_a_block_costs_a_turn_more() {
    for name in HARD {
        let mut host = nominal(name);
        host.lone(fua(4096, 8));
        let turns = |host: &mut Host, sector, sectors| {
            let begun_ns = host.now_ns;
            (0..50).for_each(|_| host.now_ns = host.lone(fua(sector, sectors)).at_ns);
            (host.now_ns - begun_ns + turn_ns(name) / 2) / turn_ns(name)
        };
        assert_eq!(turns(&mut host, 4096, 8), 50, "{name}");
        let each = if number(name, "physical_block_bytes") == 4096 { 2 } else { 1 };
        assert_eq!(turns(&mut host, 4097, 1), 50 * each, "{name}");
    }
}

/// Two buffers. The one being filled by read-ahead is the least recently used, because the other was hit since. The next read
/// takes it, for sectors before its contents.
#[test]
fn a_buffer_that_is_given_away_while_it_fills_holds_nothing_of_the_read_that_takes_it() {
    let spec = changed("hdd-16tb", &[("read_segments", 2)]);
    let ns = |is_hit: bool| {
        let mut host = Host::new(&spec, Sample::NOMINAL);
        let [first, second, third] = [4_000_000, 9_000_000_000, 3_000_000_000];
        host.lone(read(first, 8));
        host.settle();
        host.lone(read(second, 8));
        // The read-ahead of the second buffer continues for some sectors.
        host.pass(1_000_000);
        if is_hit {
            assert!(host.lone(read(first + 64, 8)).cost.from_cache);
        } else {
            host.pass(100_000);
        }
        let from_ns = host.now_ns;
        let done = host.lone(read(third, 8));
        assert!(!done.cost.from_cache && done.cost.seek_ns > 1_000_000, "hit {is_hit}: {:?}", done.cost);
        done.at_ns - from_ns
    };
    assert!(ns(true) > 2_000_000 && ns(false) > 2_000_000);
}
