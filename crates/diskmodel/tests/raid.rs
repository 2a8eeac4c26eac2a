//! RAID-5 against arithmetic.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod support;

use support::{FLUSH, Host, Random, near, nominal, number, read, spec, write};

const RAIDS: [&str; 2] = ["arena-ide-raid5", "3ware-raid5"];

#[test]
fn a_random_read_is_a_members_and_the_controllers_part() {
    for name in RAIDS {
        let sum_ns = 1000
            * (number(name, "overhead_us")
                + number(name, "member.overhead_us")
                + number(name, "member.seek_average_us"))
            + 60_000_000_000 / number(name, "member.rpm") / 2;
        let is = nominal(name).random_read_4k(spec(name).sectors(), 1000);
        assert!(near(is, sum_ns, 10), "{name}: {is} ns, by arithmetic {sum_ns} ns");
        println!("{name}: random read {is} ns, by arithmetic {} ns", spec(name).service_4k_ns());
    }
}

/// With eight requests in flight the interface is the limit.
#[test]
fn a_sequential_read_is_capped_by_the_interface() {
    for name in RAIDS {
        let mut host = nominal(name);
        let mut sector = 0;
        let mut ask = |host: &mut Host| {
            host.drive.submit(host.now_ns, read(sector, 256));
            sector += 256;
        };
        (0..8).for_each(|_| ask(&mut host));
        let mut done = 0;
        while done < 2000 {
            done += host.wait(1).iter().map(|_| ask(&mut host)).count() as u64;
        }
        let kbps = done * 256 * 512 * 1_000_000 / host.now_ns;
        assert!(near(kbps, number(name, "interface_kbps"), 10), "{name}: {kbps} kB/s");
        println!("{name}: sequential read {kbps} kB/s, interface {} kB/s", number(name, "interface_kbps"));
    }
}

#[test]
fn a_small_write_is_two_reads_and_two_writes() {
    for name in RAIDS {
        let mut host = nominal(name);
        host.lone(write(4096, 8));
        host.lone(FLUSH);
        let counters = host.drive.counters();
        assert_eq!((counters.member_reads, counters.member_writes), (2, 2), "{name}");
        assert_eq!((counters.stripes_whole, counters.stripes_patched), (0, 1), "{name}");
    }
}

#[test]
fn a_whole_stripe_is_written_without_reading() {
    for name in RAIDS {
        let mut host = nominal(name);
        let members = number(name, "members");
        let stripe = (members - 1) * 2 * number(name, "chunk_kib");
        host.lone(write(stripe * 7, stripe as u32));
        host.settle();
        let counters = host.drive.counters();
        assert_eq!((counters.member_reads, counters.member_writes), (0, members), "{name}");
    }
}

/// All but one chunk: reading that chunk is cheaper than reading all others and the parity.
#[test]
fn most_of_a_stripe_is_rebuilt_from_the_rest() {
    for name in RAIDS {
        let mut host = nominal(name);
        let members = number(name, "members");
        let chunk = 2 * number(name, "chunk_kib");
        host.lone(write(0, (chunk * (members - 2)) as u32));
        host.settle();
        let counters = host.drive.counters();
        assert_eq!((counters.member_reads, counters.member_writes), (1, members - 1), "{name}");
    }
}

/// A long file written in 128 KiB requests still reaches the disks in whole stripes.
#[test]
fn a_stream_gathers_into_stripes() {
    for name in RAIDS {
        let mut host = nominal(name);
        let kbps = host.sequential(0, 1000, write);
        host.settle();
        let counters = host.drive.counters();
        assert!(counters.stripes_patched * 20 < counters.stripes_whole, "{name}: {counters:?}");
        println!("{name}: sequential write {kbps} kB/s");
    }
}

/// Read-modify-write: a synchronous small write costs at least one turn more than a read, because its sectors must pass again.
#[test]
fn a_synchronous_small_write_pays_for_the_parity() {
    for name in RAIDS {
        let mut host = nominal(name);
        let mut random = Random(2);
        let begun_ns = host.now_ns;
        for _ in 0..200 {
            host.lone(write(random.below(spec(name).sectors() / 8) * 8, 8));
            host.lone(FLUSH);
        }
        let each = (host.now_ns - begun_ns) / 200;
        let turn_ns = 60_000_000_000 / number(name, "member.rpm");
        assert!(each > spec(name).service_4k_ns() + turn_ns / 2, "{name}: {each} ns");
        assert!(each < spec(name).service_4k_ns() + 4 * turn_ns, "{name}: {each} ns");
    }
}
