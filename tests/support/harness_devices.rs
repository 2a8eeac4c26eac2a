//! A host with one disk to claim, in a guest; and what a kill leaves of a run on it.

use fsderby::schema::units::{Bytes, MIB};

use super::harness::{Disk, Host, Lived, Order};

pub const SIZE: Bytes = Bytes(96 * MIB);
pub const RUN: &str = "run quick --filesystems ext4 --workloads postmark-quick --scale 1/64 --rounds 2 --seed 3 --size 128m \
    --on device:tenth --guard=false --quiet --output /root/run";
/// What is left of a run that has ended: windows, and mounts of its disk. A process that was killed may need seconds to end.
pub const LEFT: &str = "left() { cat /sys/block/dm-*/dm/name /proc/mounts 2>/dev/null | grep -e fsderby- -e /dev/dm- -e tenth; }; \
    for second in 1 2 3 4 5 6 7 8 9 10; do sleep 1; left >/dev/null || break; done; left || true";

/// With one disk to claim, one of somebody else, and one for images of nobody.
pub fn with_one_disk() -> Host {
    Host {
        disks: vec![
            Disk::with("first", &noise(), SIZE),
            Disk::with("tenth", &[], Bytes(160 * MIB)),
            Disk::with("last", b"of somebody else", SIZE),
        ],
        modules: vec!["dm-mod".into()],
        programs: ["blkid", "cat", "sleep", "kill", "grep", "mount", "rm"].map(str::to_owned).to_vec(),
        ..Host::default()
    }
}

/// The same host with a disk whose driver is an emulated SCSI controller: it has a temperature, and sectors that cannot be read behind
/// the range of [`RUN`].
pub fn with_scsi_disk() -> Host {
    let mut host = with_one_disk();
    host.modules.push("sd_mod".into());
    let bad = 150 * MIB / 512;
    host.drivers.push((
        "scsi_debug".into(),
        format!("dev_size_mb=192 opts=2 medium_error_start={bad} medium_error_count=8"),
    ));
    host
}

/// The serial number of that disk.
pub const SCSI: &str = "2000";

/// Node of the disk of [`target`].
pub const SHARED: &str = "/dev/$(ls /sys/devices/tcm_loop_0/*/host*/target*/*/block)";

/// A disk with the serial number SHARED1 in this file, of the kernel's own SCSI target, which keeps reservations as a disk on a shared
/// bus does.
pub fn target(file: &str, size: Bytes) -> String {
    format!(
        "mkdir -p /var/target/pr; mount -t configfs none /sys/kernel/config; cd /sys/kernel/config/target; \
        mkdir -p core/fileio_0/kept loopback/naa.5001405000000001/tpgt_1/lun/lun_0; \
        echo fd_dev_name={file},fd_dev_size={size} >core/fileio_0/kept/control; \
        echo SHARED1 >core/fileio_0/kept/wwn/vpd_unit_serial; echo 1 >core/fileio_0/kept/enable; \
        cd loopback/naa.5001405000000001/tpgt_1; echo naa.5001405000000002 >nexus; \
        ln -s /sys/kernel/config/target/core/fileio_0/kept lun/lun_0/port; \
        until ls -d /sys/devices/tcm_loop_0/*/host*/target*/*/block/sd* 2>/dev/null; do sleep 0.1; done",
        size = size.0
    )
}

pub fn noise() -> Vec<u8> {
    (0..SIZE.0).map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 29) as u8).collect()
}

pub fn sh(script: &str) -> Order {
    Order::of(&["sh", "-ec", script])
}

pub fn claim(words: &[&str]) -> Order {
    Order::fsderby(&[&["device", "claim"], words].concat())
}

/// What each order said, for a message.
pub fn told(lived: &Lived) -> String {
    let lines = lived.said.iter().enumerate().map(|(n, s)| format!("{n}: {} {}{}", s.code, s.out, s.err));
    lines.collect::<Vec<_>>().join("\n")
}

/// Kills the run's process, and everything at once, after so many seconds of the guest.
pub fn kills(moments: &[f64]) {
    let mut orders = vec![claim(&["tenth", "--yes-erase", "tenth"])];
    for (n, moment) in moments.iter().enumerate() {
        // Its agents and their supervisors too, or the run's process alone.
        let whom = if n % 2 == 0 { "$(cat /proc/$run/task/$run/children) $run" } else { "$run" };
        orders.extend([
            sh(&format!("fsderby {RUN} & run=$!; sleep {moment}; kill -9 {whom} || true; wait $run || true")),
            Order::fsderby(&["device", "list"]),
            // A kill at the moment in which a window is made leaves it to the next command.
            sh(LEFT),
            sh(&format!("test -d /root/run || fsderby {RUN}; fsderby run --resume /root/run --quiet; fsderby verify /root/run; rm -r /root/run; {LEFT}")),
        ]);
    }
    orders.push(Order::fsderby(&["device", "release", "tenth"]));
    let Some(lived) = with_one_disk().carry_out(&orders) else { return };
    let told = told(&lived);
    assert_eq!((lived.panic.as_deref(), lived.said.len()), (None, orders.len()), "{told}");
    for (order, said) in orders.iter().zip(&lived.said) {
        assert_eq!(said.code, 0, "{order:?}: {told}");
    }
    for trial in lived.said[1..].chunks_exact(4) {
        assert!(trial[1].out.contains("claimed: --on device:tenth"), "{told}");
        assert_eq!(trial[2].out, "", "after the kill: {told}");
        assert!(trial[3].out.contains("OK") && !trial[3].out.contains("/dev/dm-"), "{told}");
    }
    assert_eq!(lived.altered(), ["tenth"], "{told}");
}
