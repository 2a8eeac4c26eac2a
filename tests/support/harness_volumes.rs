//! Volumes of LVM that are claimed, or must not be, in a guest with LVM's own programs.

use fsderby::host::programs;
use fsderby::schema::units::{Bytes, MIB};

use super::harness::{Disk, Host, Order};
use super::harness_devices::{sh, told};
use super::skipped;

/// Without udev, LVM makes its nodes itself.
const CONF: &[u8] = b"devices { obtain_device_list_from_udev = 0 use_devicesfile = 0 }
activation { udev_sync = 0 udev_rules = 0 monitoring = 0 }
global { event_activation = 0 use_lvmpolld = 0 thin_check_executable = \"\" }
backup { backup = 0 archive = 0 }
";

/// Each order begins so.
const SHELL: &str = "export DM_DISABLE_UDEV=1; first=/dev/disk/by-id/virtio-first; first=$(readlink -f $first); \
    second=/dev/disk/by-id/virtio-second; second=$(readlink -f $second); \
    lv() { lvm \"$@\" >/dev/null; }; make() { lv lvcreate -qq -y -Wn -Zn -n \"$@\"; }; \
    id() { dmsetup info -c --noheadings -o uuid group-$1; }; \
    refused() { \"$@\" && return 1 || test $? = 3; }; claim() { fsderby device claim $(id $1) --yes-erase $(id $1); }; \
    run() { fsderby run quick --filesystems ext4 --workloads postmark-quick --scale 1/64 --rounds ${ROUNDS:-1} --seed 3 --size 32m \
    --guard=false --quiet --output /root/run --on device:$(cat /root/id) \"$@\"; }; dry() { refused run --dry-run; }; \
    others() { for v in $(cat /root/names); do md5sum /dev/mapper/group-$v; done; }";

/// What somebody does with volumes, and what fsderby then says.
pub type Step = (&'static str, &'static [&'static str]);

/// Volumes of each kind; `mine` is the one that may be formatted.
const MADE: Step = (
    "lv vgcreate group $first $second; make mine -L 80m --addtag fsderby group $first; make other -L 8m group $first; \
     make untagged -L 72m group $first; make snapped -L 72m --addtag fsderby group $first; \
     lv lvcreate -qq -s -n snap -L 8m group/snapped; make held -L 72m --addtag fsderby group $second; \
     make mounted -L 72m --addtag fsderby group $second; \
     lv lvcreate -qq -y -Zn --type thin -L 16m --thinpool pool -V 80m -n thin group; lv lvchange --addtag fsderby group/thin; \
     echo of somebody else >/dev/mapper/group-other; mkfs.ext4 -q /dev/mapper/group-mounted; \
     mount -t ext4 /dev/mapper/group-mounted /mnt; \
     echo 0 100 linear /dev/mapper/group-held 0 | dmsetup create above; echo other untagged snapped snap held >/root/names; others >/root/before",
    &[],
);
/// The first of these.
const FEW: Step = (
    "lv vgcreate group $first $second; make mine -L 80m --addtag fsderby group $first; make other -L 72m group $first; \
     make snapped -L 72m --addtag fsderby group $second; lv lvcreate -qq -s -n snap -L 8m group/snapped; \
     echo of somebody else >/dev/mapper/group-other; echo other snapped snap >/root/names; others >/root/before",
    &[],
);
const FEW_REFUSED: Step = (
    "for v in other snapped; do refused claim $v; done; refused fsderby device claim group/mine --yes-erase group/mine",
    &[
        "does not have the tag fsderby",
        "group/snapped has a snapshot, which copies what is overwritten",
        "group/mine is a name that can mean another LVM volume tomorrow",
    ],
);
const REFUSED: Step = (
    "for v in untagged snapped snapped-real thin held mounted; do refused claim $v; done; \
     refused fsderby device claim group/mine --yes-erase group/mine; mkdir -p /etc/pve/qemu-server; \
     echo scsi0: store:mine,size=80M >/etc/pve/qemu-server/100.conf; refused claim mine; rm -r /etc/pve",
    &[
        "/etc/pve/qemu-server/100.conf names mine",
        "does not have the tag fsderby",
        "group/snapped has a snapshot, which copies what is overwritten",
        "is not the UUID of a whole LVM volume",
        "group/thin is thin",
        "it is part of dm-",
        "mounted at /mnt",
        "group/mine is a name that can mean another LVM volume tomorrow",
    ],
);
const EXTENDED: Step = (
    "claim mine; id mine >/root/id; lv lvextend -qq -L +8m group/mine; dry; lv lvreduce -qq -f -L -8m group/mine",
    &["claimed LVM-", "also holds group-", "group/mine was extended since it was claimed"],
);
const SNAPSHOT: Step = (
    "lv lvcreate -qq -s -n late -L 8m group/mine; dry; lv lvremove -qq -f group/late",
    &["group/mine has a snapshot"],
);
const RUN: Step = (
    "run; cat /root/run/trials.jsonl; rm -r /root/run",
    &["LVM volume group/mine on ", "shared with group-", "\"outcome\":\"done\""],
);
/// Under the hash no name of the volume or of its neighbours is recorded.
const HIDDEN: Step = (
    "fsderby device list --json | sed -n 's/.*\"hash\": *\"\\([^\"]*\\)\".*/\\1/p' >/root/id; cat /root/id; run; \
     sed 's/cgroup//g' /root/run/*.jsonl /root/run/*.json /root/run/*.toml >/root/recorded; \
     leaks=$(sed -n 's/.*\\(.\\{0,30\\}\\(group[-/]\\|LVM-\\).\\{0,30\\}\\).*/\\1/p' /root/recorded); \
     test -z \"$leaks\" && echo hidden || echo leaks: \"$leaks\"; rm -r /root/run; id mine >/root/id",
    &["hash-", "hidden"],
);
const RELEASED: Step = (
    "fsderby device release $(cat /root/id); others >/root/after; cmp /root/before /root/after && echo the others are as they were; \
     cat /sys/block/dm-*/dm/name",
    &["released LVM-", "the others are as they were"],
);

pub const SHORT: [Step; 5] = [FEW, FEW_REFUSED, EXTENDED, RUN, RELEASED];

pub const LONG: [Step; 16] = [
    MADE,
    REFUSED,
    (
        "for v in snap pool mounted; do refused claim $v; done; \
         for n in group-mine /dev/group/mine /dev/mapper/group-mine; do refused fsderby device claim $n --yes-erase $n; done",
        &[
            "group/snap is a snapshot of another volume",
            "group-mine is a name that can mean",
            "/dev/group/mine is a name that can mean",
            "/dev/mapper/group-mine is a name that can mean",
        ],
    ),
    // As after a change by a machine that shares the disks: the kernel has the volume where LVM no longer has it.
    (
        "lv lvchange --addtag fsderby group/untagged; was=$(dmsetup table group-untagged); set -- $was; \
         moved() { dmsetup suspend group-untagged; dmsetup load group-untagged --table \"$*\"; dmsetup resume group-untagged; }; \
         moved $1 $2 $3 $4 $(($5+8192)); refused claim untagged; moved $was; lv lvchange --deltag fsderby group/untagged",
        &["group/untagged lies elsewhere than the kernel has it"],
    ),
    EXTENDED,
    SNAPSHOT,
    (
        "lv lvrename group/mine group/new; dry; lv lvrename group/new group/mine",
        &["group/mine was renamed to group/new"],
    ),
    (
        "lv lvchange --deltag fsderby group/mine; dry; lv lvchange --addtag fsderby group/mine; \
         lv lvchange --permission r group/mine; dry; lv lvchange --permission rw group/mine; \
         dmsetup suspend group-mine; dry; dmsetup resume group-mine",
        &["does not have the tag fsderby", "is read-only", "is suspended"],
    ),
    RUN,
    (
        "ROUNDS=20 run & until test -d /root/run; do sleep 0.1; done; sleep 0.5; lv lvcreate -qq -s -n late -L 8m group/mine; \
         wait $! || echo ended with $?; cat /root/run/trials.jsonl; rm -r /root/run; lv lvremove -qq -f group/late",
        &["ended with", "other-disk", "group/mine has a snapshot"],
    ),
    ("fsderby device list; run; fsderby verify /root/run; rm -r /root/run", &["claimed: --on", "OK"]),
    HIDDEN,
    (
        "make wide -i 2 -L 80m --addtag fsderby group; dd if=/dev/zero of=/dev/mapper/group-wide bs=1M count=80 2>/dev/null; \
         claim wide; id wide >/root/id; run; cat /root/run/trials.jsonl; \
         rm -r /root/run; fsderby device release $(cat /root/id); lv lvremove -qq -f group/wide; id mine >/root/id",
        &["LVM volume group/wide on ", "\"outcome\":\"done\"", "released LVM-"],
    ),
    (
        "lv pvmove -qq -i 1 -n mine $first $second; dry; fsderby device list; fsderby device release $(cat /root/id)",
        &["group/mine lies elsewhere on its disks", "released LVM-"],
    ),
    (
        "dd if=/dev/zero of=/dev/mapper/group-mine bs=1M count=80 2>/dev/null; claim mine; lv lvremove -qq -f group/mine; \
         make mine -L 80m --addtag fsderby group; dry; refused fsderby device release $(cat /root/id); \
         rm /var/lib/fsderby/devices/*; \
         dd if=/dev/zero of=/dev/mapper/group-mine bs=1M count=80 2>/dev/null; claim mine; id mine >/root/id",
        &[
            "group/mine is not the one that was claimed, but was made under its name since",
            "if that disk is gone for good",
        ],
    ),
    RELEASED,
];

/// Carries the steps out. Where that is impossible, it says so.
pub fn carry_out(steps: &[Step]) {
    if programs::find("lvm").is_none() {
        skipped("volumes of LVM in a guest", "lvm is not installed (apt-get install lvm2)");
        return;
    }
    let host = Host {
        disks: vec![
            Disk::with("first", &[], Bytes(320 * MIB)),
            Disk::with("second", &[], Bytes(320 * MIB)),
            Disk::with("alone", b"of somebody else", Bytes(96 * MIB)),
        ],
        modules: ["dm-mod", "dm-snapshot", "dm-thin-pool", "dm-mirror"].map(str::to_owned).to_vec(),
        programs: [
            "lvm",
            "dmsetup",
            "blkid",
            "cat",
            "md5sum",
            "cmp",
            "mount",
            "mkdir",
            "mkfs.ext4",
            "readlink",
            "dd",
            "rm",
            "sed",
            "sleep",
        ]
        .map(str::to_owned)
        .to_vec(),
        files: vec![("/etc/lvm/lvm.conf".into(), CONF.to_vec())],
        ..Host::default()
    };
    let orders: Vec<Order> = steps.iter().map(|(script, _)| sh(&format!("{SHELL}; {script}"))).collect();
    let Some(lived) = host.carry_out(&orders) else { return };
    let told = format!("{}\n{:?}", told(&lived), lived.took);
    assert_eq!((lived.panic.as_deref(), lived.said.len()), (None, orders.len()), "{told}");
    for ((script, says), said) in steps.iter().zip(&lived.said) {
        assert_eq!(said.code, 0, "{script}: {told}");
        let all = said.out.clone() + &said.err;
        says.iter().for_each(|text| assert!(all.contains(text), "{text}: {said:#?}\n{told}"));
    }
    let names = &lived.said[steps.len() - 1].out;
    assert!(names.contains("group-mine") && !names.contains("fsderby-"), "no window is left: {told}");
    assert_eq!(lived.altered(), ["first", "second"], "{told}");
}
