//! A cloud volume against arithmetic.

mod support;

use support::{FLUSH, Random, near, nominal, read, spec, write};

#[test]
fn a_lone_read_takes_the_latency() {
    let is = nominal("cloud-volume").random_read_4k(spec("cloud-volume").sectors(), 1000);
    // 700 µs and 4096 bytes at 1.25 GB/s.
    assert!(near(is, 703_276, 2), "{is}");
    assert_eq!(spec("cloud-volume").service_4k_ns(), 703_276);
    println!("cloud-volume: random read {is} ns, by arithmetic 703276 ns");
}

/// Sixteen in flight would give 16 ÷ 0.7 ms = 22,000 a second; the volume allows 3,000.
#[test]
fn operations_are_capped() {
    let mut host = nominal("cloud-volume");
    let mut random = Random(1);
    let mut done = 0;
    (0..16).for_each(|_| host.drive.submit(0, read(random.below(1000) * 8, 8)));
    while host.now_ns < 2_000_000_000 {
        for _ in host.wait(1) {
            done += 1;
            host.drive.submit(host.now_ns, read(random.below(1000) * 8, 8));
        }
    }
    assert!(near(done, 6000, 2), "{done} in two seconds");
}

/// Requests of 1 MiB, four in flight: each counts as four operations, so bytes are the limit.
#[test]
fn bytes_are_capped() {
    let mut host = nominal("cloud-volume");
    let mut done = 0;
    (0..4).for_each(|n| host.drive.submit(0, write(n * 2048, 2048)));
    while host.now_ns < 4_000_000_000 {
        for _ in host.wait(1) {
            done += 1;
            host.drive.submit(host.now_ns, write(0, 2048));
        }
    }
    // 131,072 kB/s for four seconds is 500 MiB.
    assert!(near(done, 500, 3), "{done} MiB in four seconds");
}

#[test]
fn what_is_acknowledged_is_safe() {
    let mut host = nominal("cloud-volume");
    host.lone(write(0, 8));
    let before_ns = host.now_ns;
    assert_eq!(host.lone(FLUSH).at_ns, before_ns);
}
