//! fsderby as the host of a guest, where a kernel may panic.

use fsderby::schema::units::{Bytes, MIB};

use crate::support::harness::{self, Disk, Host, Order};

/// The init of these machines.
#[test]
#[ignore = "it is the init of a machine"]
fn inside() {
    harness::inside();
}

#[test]
fn a_run_on_loop_inside_alters_no_other_disk_and_is_verified_there() {
    let noise = vec![7; 3 * MIB as usize];
    let host = Host {
        disks: vec![
            Disk::with("first", &noise, Bytes(32 * MIB)),
            Disk::formatted("home", Bytes(1024 * MIB)),
            Disk::with("second", b"of somebody else", Bytes(32 * MIB)),
        ],
        mounts: vec![("home".into(), "/var/tmp".into())],
        ..Host::default()
    };
    let run = "run quick --filesystems ext4 --workloads postmark-quick --scale 1/64 --rounds 1 --seed 3 --size 256m \
        --on loop --output /root/run --quiet";
    let Some(lived) = host.carry_out(&[
        Order::fsderby(&run.split_whitespace().collect::<Vec<_>>()),
        Order::fsderby(&["verify", "/root/run"]),
        // A whole disk by its serial number, to see that a change is seen.
        Order::of(&["sh", "-c", &format!("echo ours >{}", Disk::path("second"))]),
    ]) else {
        return;
    };
    let codes: Vec<i32> = lived.said.iter().map(|said| said.code).collect();
    assert_eq!((codes, &lived.panic), (vec![0, 0, 0], &None), "{lived:#?}");
    assert!(lived.said[1].out.contains("OK"), "{lived:#?}");
    assert_eq!(lived.altered(), ["home", "second"]);
}

#[test]
fn a_kernel_that_panics_inside_is_told_with_what_was_said_before() {
    let host = Host { disks: vec![Disk::with("first", b"x", Bytes(MIB))], ..Host::default() };
    let orders = [
        Order::fsderby(&["--version"]),
        Order::of(&["sh", "-c", "echo c >/proc/sysrq-trigger"]),
        Order::fsderby(&["--version"]),
    ];
    let Some(lived) = host.carry_out(&orders) else { return };
    assert_eq!(lived.said.len(), 1, "{lived:#?}");
    assert!(lived.said[0].out.starts_with("fsderby "), "{lived:#?}");
    let panic = lived.panic.as_deref().unwrap_or_default();
    assert!(panic.contains("sysrq triggered crash"), "{lived:#?}");
    assert_eq!(lived.altered(), [""; 0]);
}
