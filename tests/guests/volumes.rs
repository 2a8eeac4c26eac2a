//! Volumes of LVM that are claimed, or must not be, in a guest with LVM's own programs.

use fsderby::host::programs;
use fsderby::schema::units::{Bytes, MIB};

use crate::support::harness::{Disk, Host, Order};
use crate::support::harness_devices::{sh, told};
use crate::support::skipped;

/// Without udev, LVM makes its nodes itself.
const CONF: &[u8] = b"devices { obtain_device_list_from_udev = 0 use_devicesfile = 0 }
activation { udev_sync = 0 udev_rules = 0 monitoring = 0 }
global { event_activation = 0 use_lvmpolld = 0 thin_check_executable = \"\" }
backup { backup = 0 archive = 0 }
";

/// Each order begins so.
const SHELL: &str = "export DM_DISABLE_UDEV=1; lv() { lvm \"$@\" >/dev/null; }; id() { dmsetup info -c --noheadings -o uuid group-$1; }; \
    claim() { fsderby device claim $(id $1) --yes-erase $(id $1); }; refused() { \"$@\" || echo refused with $?; }; \
    dry() { refused fsderby run quick --filesystems ext4 --workloads postmark-quick --scale 1/64 --rounds 1 --seed 3 --size 64m \
    --guard=false --quiet --output /root/run --on device:$(cat /root/id) $1; }; \
    others() { for v in other untagged snapped snap held; do md5sum /dev/mapper/group-$v; done; }";

/// What somebody does with volumes, and what fsderby then says.
const STEPS: [(&str, &[&str]); 11] = [
    (
        "first=$(readlink -f /dev/disk/by-id/virtio-first); second=$(readlink -f /dev/disk/by-id/virtio-second); \
         lv vgcreate group $first $second; make() { lv lvcreate -qq -y -Wn -Zn -n \"$@\"; }; \
         make mine -L 80m --addtag fsderby group $first; make other -L 8m group $first; make untagged -L 72m group $first; \
         make snapped -L 72m --addtag fsderby group $first; lv lvcreate -qq -s -n snap -L 8m group/snapped; \
         make held -L 72m --addtag fsderby group $second; make mounted -L 72m --addtag fsderby group $second; \
         lv lvcreate -qq -y -Zn --type thin -L 16m --thinpool pool -V 80m -n thin group; lv lvchange --addtag fsderby group/thin; \
         echo of somebody else >/dev/mapper/group-other; mkfs.ext4 -q /dev/mapper/group-mounted; \
         mount -t ext4 /dev/mapper/group-mounted /mnt; \
         echo 0 100 linear /dev/mapper/group-held 0 | dmsetup create above; others >/root/before",
        &[],
    ),
    (
        "for v in untagged snapped snap snapped-real thin held mounted; do refused claim $v; done; \
         for n in group/mine group-mine /dev/group/mine /dev/mapper/group-mine; do refused fsderby device claim $n --yes-erase $n; done",
        &[
            "does not have the tag fsderby",
            "group/snapped has a snapshot, which copies what is overwritten",
            "group/snap is a snapshot of another volume",
            "is not the UUID of a whole LVM volume",
            "group/thin is thin",
            "it is part of dm-",
            "mounted at /mnt",
            "group/mine is a name that can mean another LVM volume tomorrow",
            "group-mine is a name that can mean",
            "/dev/group/mine is a name that can mean",
            "/dev/mapper/group-mine is a name that can mean",
        ],
    ),
    (
        "claim mine; id mine >/root/id; fsderby device list; dry --dry-run",
        &["claimed LVM-", "also holds group-", "claimed: --on device:LVM-", "device:LVM-"],
    ),
    (
        "lv lvextend -qq -L +8m group/mine; dry --dry-run; lv lvreduce -qq -f -L -8m group/mine; dry --dry-run",
        &["group/mine was extended since it was claimed", "refused with 3", "device:LVM-"],
    ),
    (
        "lv lvcreate -qq -s -n late -L 8m group/mine; dry --dry-run; lv lvremove -qq -f group/late",
        &["group/mine has a snapshot", "refused with 3"],
    ),
    (
        "lv lvrename group/mine group/new; dry --dry-run; lv lvrename group/new group/mine",
        &["group/mine was renamed to group/new", "refused with 3"],
    ),
    (
        "lv lvchange --deltag fsderby group/mine; dry --dry-run; lv lvchange --addtag fsderby group/mine",
        &["does not have the tag fsderby", "refused with 3"],
    ),
    (
        "lv pvmove -qq -i 1 -n mine $(readlink -f /dev/disk/by-id/virtio-first) $(readlink -f /dev/disk/by-id/virtio-second); dry --dry-run; \
         fsderby device release $(cat /root/id)",
        &["group/mine lies elsewhere on its disks", "refused with 3", "released LVM-"],
    ),
    (
        "claim mine; lv lvremove -qq -f group/mine; lv lvcreate -qq -y -Wn -Zn -n mine -L 80m --addtag fsderby group; dry --dry-run; \
         refused fsderby device release $(cat /root/id); rm /var/lib/fsderby/devices/*",
        &[
            "group/mine is not the one that was claimed, but was made under its name since",
            "refused with 3",
            "if that disk is gone for good",
        ],
    ),
    (
        "dd if=/dev/zero of=/dev/mapper/group-mine bs=1M count=80 2>/dev/null; claim mine; id mine >/root/id; dry; \
         fsderby verify /root/run; cat /root/run/trials.jsonl",
        &["OK", "LVM volume group/mine on ", "\"outcome\":\"done\""],
    ),
    (
        "fsderby device release $(cat /root/id); others >/root/after; cmp /root/before /root/after && echo the others are as they were; \
         cat /sys/block/dm-*/dm/name",
        &["released LVM-", "the others are as they were"],
    ),
];

#[test]
fn of_many_volumes_only_the_plain_one_with_the_tag_is_claimed_and_whatever_lvm_does_to_it_is_noticed() {
    if programs::find("lvm").is_none() {
        return skipped("volumes of LVM in a guest", "lvm is not installed (apt-get install lvm2)");
    }
    let host = Host {
        disks: vec![
            Disk::with("first", &[], Bytes(320 * MIB)),
            Disk::with("second", &[], Bytes(320 * MIB)),
            Disk::with("alone", b"of somebody else", Bytes(96 * MIB)),
        ],
        modules: ["dm-mod", "dm-snapshot", "dm-thin-pool", "dm-mirror"].map(str::to_owned).to_vec(),
        programs: ["lvm", "dmsetup", "blkid", "cat", "md5sum", "cmp", "mount", "readlink", "dd", "rm"]
            .map(str::to_owned)
            .to_vec(),
        files: vec![("/etc/lvm/lvm.conf".into(), CONF.to_vec())],
        ..Host::default()
    };
    let orders: Vec<Order> = STEPS.iter().map(|(script, _)| sh(&format!("{SHELL}; {script}"))).collect();
    let Some(lived) = host.carry_out(&orders) else { return };
    let told = format!("{}\n{:?}", told(&lived), lived.took);
    assert_eq!((lived.panic.as_deref(), lived.said.len()), (None, orders.len()), "{told}");
    for ((script, says), said) in STEPS.iter().zip(&lived.said) {
        assert_eq!(said.code, 0, "{script}: {told}");
        let all = said.out.clone() + &said.err;
        for text in *says {
            assert!(all.contains(text), "{text}: {said:#?}\n{told}");
        }
    }
    // Each claim and each name of the second order was refused.
    assert_eq!(lived.said[1].out.matches("refused with 3").count(), 11, "{told}");
    assert!(!lived.said[10].out.contains("fsderby-"), "no window is left: {told}");
    assert_eq!(lived.altered(), ["first", "second"], "{told}");
}
