//! Disks that are claimed, in a guest whose disks nobody needs.

use std::io::{Seek, SeekFrom, Write};

use fsderby::schema::job::Step;
use fsderby::schema::units::{Bytes, KIB, MIB};
use fsderby::storage::image;
use gptman::{GPT, GPTPartitionEntry};

use crate::support::harness::{Disk, Host, Order};
use crate::support::harness_devices::{LEFT, RUN, SIZE, claim, kills, noise, sh, told, with_one_disk};
use crate::support::neighbours::job_on;

/// Room for an ext4 between the marks.
const ROOM: Bytes = Bytes(300 * MIB);

/// A member of a volume group, as `pvcreate` labels it: a sector with its own checksum.
fn lvm() -> Vec<u8> {
    let mut label = vec![0; 512];
    label[..8].copy_from_slice(b"LABELONE");
    label[8..16].copy_from_slice(&1_u64.to_le_bytes());
    label[20..24].copy_from_slice(&32_u32.to_le_bytes());
    label[24..32].copy_from_slice(b"LVM2 001");
    label[32..64].copy_from_slice(b"0123456789abcdefghijklmnopqrstuv");
    let mut crc = 0xf597_a6cf_u32;
    for byte in &label[20..] {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    label[16..20].copy_from_slice(&crc.to_le_bytes());
    [vec![0; 512], label].concat()
}

/// Four uberblocks of a pool.
fn zfs() -> Vec<u8> {
    let mut content = vec![0; 256 * KIB as usize];
    for block in 0..8 {
        let at = (128 + block) * KIB as usize;
        content[at..at + 8].copy_from_slice(&0x00ba_b10c_u64.to_le_bytes());
        content[at + 8..at + 16].copy_from_slice(&5000_u64.to_le_bytes());
    }
    content
}

fn partitioned() -> Vec<u8> {
    let mut disk = std::io::Cursor::new(vec![0; SIZE.0 as usize]);
    let mut table = GPT::new_from(&mut disk, 512, [7; 16]).unwrap();
    table[1] = GPTPartitionEntry {
        partition_type_guid: *b"of somebody else",
        unique_partition_guid: [9; 16],
        starting_lba: 2048,
        ending_lba: 8191,
        attribute_bits: 0,
        partition_name: "theirs".into(),
    };
    GPT::write_protective_mbr_into(&mut disk, 512).unwrap();
    table.write_into(&mut disk).unwrap();
    disk.into_inner()
}

fn at(offset: u64, bytes: &[u8]) -> Vec<u8> {
    let mut content = std::io::Cursor::new(Vec::new());
    content.seek(SeekFrom::Start(offset)).unwrap();
    content.write_all(bytes).unwrap();
    content.into_inner()
}

#[test]
fn of_many_disks_only_the_empty_one_is_claimed_and_only_it_is_formatted() {
    let host = Host {
        disks: vec![
            Disk::formatted("home", Bytes(1024 * MIB)),
            Disk::with("lvm", &lvm(), SIZE),
            Disk::with("md-a", &[], SIZE),
            Disk::with("md-b", &[], SIZE),
            Disk::with("luks", b"LUKS\xba\xbe\x00\x01", SIZE),
            Disk::with("swap", &[], SIZE),
            Disk::with("zfs", &zfs(), SIZE),
            Disk::with("gpt", &partitioned(), SIZE),
            Disk::with("noise", &noise(), SIZE),
            Disk::with("late", &at(80 * MIB + 7, b"at its end"), SIZE),
            Disk::with("planned", &[], SIZE),
            Disk::with("copy", &[], ROOM),
            Disk::with("tenth", &[], ROOM),
        ],
        mounts: vec![("home".into(), "/var/tmp".into())],
        modules: ["dm-mod", "md-mod", "raid1"].map(str::to_owned).to_vec(),
        programs: ["blkid", "mkswap", "swapon", "mdadm", "cat", "umount"].map(str::to_owned).to_vec(),
        files: vec![(
            "/etc/fstab".into(),
            b"# /dev/disk/by-id/virtio-noise\n/dev/disk/by-id/virtio-planned /srv ext4\n".to_vec(),
        )],
        ..Host::default()
    };
    let refused = [
        ("home", "mounted at /var/tmp"),
        ("lvm", "holds LVM2_member"),
        ("md-a", "part of md"),
        ("luks", "holds crypto_LUKS"),
        ("swap", "swap space"),
        ("zfs", "holds zfs_member"),
        ("gpt", "a partition table (gpt)"),
        ("planned", "/etc/fstab names"),
        ("vda", "can mean another disk after the next boot"),
        ("no-such", "no disk has the serial number"),
    ];
    let mut orders = vec![
        sh(&format!(
            "mkswap {swap}; swapon {swap}; mdadm --create /dev/md0 --run --quiet --config=none --level=raid1 --metadata=1.2 \
             --raid-devices=2 --assume-clean {} {}",
            Disk::path("md-a"),
            Disk::path("md-b"),
            swap = Disk::path("swap"),
        )),
        Order::fsderby(&["device", "list"]),
    ];
    let first = orders.len();
    orders.extend(refused.iter().map(|(id, _)| claim(&[id, "--yes-erase", id])));
    let run = "run quick --filesystems ext4 --workloads postmark-quick --scale 1/64 --rounds 1 --seed 3 --size 256m \
        --on device:tenth --output /root/run --quiet";
    let run = run.split_whitespace().collect::<Vec<_>>();
    let rest = orders.len();
    orders.extend([
        claim(&["noise", "--yes-erase", "noise"]),
        claim(&["late", "--yes-erase", "late", "--holds-data", "erase late with data at offset 7"]),
        claim(&["tenth"]),
        claim(&["tenth", "--yes-erase", "late"]),
        Order::fsderby(&[&run[..], &["--dry-run"]].concat()),
        claim(&["tenth", "--yes-erase", "tenth"]),
        claim(&["tenth", "--yes-erase", "tenth"]),
        Order::fsderby(&["device", "list", "--json"]),
        sh(&format!("cat {} >{}", Disk::path("tenth"), Disk::path("copy"))),
        claim(&["copy", "--yes-erase", "copy"]),
        Order::fsderby(&[&run[..], &["--dry-run"]].concat()),
        Order::fsderby(&run),
        Order::fsderby(&["verify", "/root/run"]),
        sh("cat /sys/block/dm-*/dm/name 2>/dev/null || true; cat /root/run/machine.json"),
        Order::fsderby(&["device", "release", "tenth"]),
        Order::fsderby(&["device", "list"]),
    ]);
    let Some(lived) = host.carry_out(&orders) else { return };
    let told = told(&lived);
    assert_eq!((lived.panic.as_deref(), lived.said.len()), (None, orders.len()), "{told}");
    assert_eq!(lived.said[0].code, 0, "{told}");
    for ((id, why), said) in refused.iter().zip(&lived.said[first..]) {
        assert!(said.code == 3 && said.err.contains(why), "{id} is refused with {why}: {said:#?}\n{told}");
    }
    let says = |n: usize, code: i32, text: &str| {
        let said = &lived.said[rest + n];
        assert!(
            said.code == code && (said.err.clone() + &said.out).contains(text),
            "{n}: {text}: {said:#?}\n{told}"
        );
    };
    says(0, 2, "is not empty at offset");
    says(1, 2, "erase late with data at offset 83886087");
    says(2, 2, "--yes-erase tenth");
    says(3, 2, "'late' is not the serial number of this disk");
    says(4, 3, "fsderby device claim tenth");
    says(5, 0, "claimed tenth");
    says(6, 3, "claimed already");
    says(7, 0, "\"claimed\": \"20");
    says(8, 0, "");
    says(9, 3, "it is a copy of that disk");
    says(10, 0, "device:tenth");
    says(11, 0, "");
    says(12, 0, "OK");
    says(13, 0, "device:tenth");
    assert!(!lived.said[rest + 13].out.contains("fsderby-"), "no window is left: {told}");
    says(14, 0, "released tenth");
    says(15, 0, "yes, if it is empty");
    // md and swap were made by the first order.
    assert_eq!(lived.altered(), ["copy", "home", "md-a", "md-b", "swap", "tenth"], "{told}");
}

/// `make nightly PART=claimed` tries forty.
#[test]
fn a_killed_run_leaves_nothing_and_goes_on() {
    kills(&[2.0, 5.5, 9.0]);
}

/// RAID 1 with dm-crypt on two disks: a run, and one whose processes are all killed while the array stands.
#[test]
fn layers_on_claimed_disks_come_down_whoever_ends_the_run() {
    let mut host = with_one_disk();
    host.disks.push(Disk::with("mirror", &[], Bytes(160 * MIB)));
    host.modules =
        ["dm-mod", "dm-crypt", "md-mod", "raid1", "xts", "ecb", "aes_generic"].map(str::to_owned).to_vec();
    host.programs.extend(["mdadm", "dmsetup", "dd", "od"].map(str::to_owned));
    let run = |output: &str| {
        let run = RUN.replace("device:tenth", "device:tenth,mirror").replace("/root/run", output);
        format!("{run} --layer md:raid1 --layer crypt")
    };
    let standing = "{ cat /sys/block/dm-*/dm/name; ls -d /sys/block/md*/md; } 2>/dev/null || true";
    host.programs.push("ls".into());
    let orders = [
        sh("for d in tenth mirror; do fsderby device claim $d --yes-erase $d; done"),
        sh(&format!("fsderby {} --dry-run --verbose", run("/root/run"))),
        sh(&format!(
            "fsderby {} --dry-run || echo refused with $?",
            run("/root/run").replace("mirror ", "mirror,reset=leftovers ")
        )),
        sh(&format!("fsderby {}; fsderby verify /root/run; {LEFT}; {standing}", run("/root/run"))),
        // No superblock is left to assemble.
        sh(
            "for d in tenth mirror; do dd if=/dev/disk/by-id/virtio-$d bs=1M skip=1 count=1 2>/dev/null | od | grep -c .; done",
        ),
        sh(&format!(
            "fsderby {} & until test -d /root/killed && test -e /sys/block/dm-2; do sleep 0.1; done; kill -9 -1; sleep 1; {standing}; fsderby doctor",
            run("/root/killed")
        )),
        sh(&format!(
            "fsderby run --resume /root/killed --quiet; fsderby verify /root/killed; {LEFT}; {standing}"
        )),
        sh("for d in tenth mirror; do fsderby device release $d; done; ls /var/lib/fsderby/devices"),
    ];
    let Some(lived) = host.carry_out(&orders) else { return };
    let told = told(&lived);
    if let Ok(path) = std::env::var("FSDERBY_TOLD") {
        std::fs::write(path, &told).unwrap();
    }
    assert_eq!((lived.panic.as_deref(), lived.said.len()), (None, orders.len()), "{told}");
    let out = |n: usize| lived.said[n].err.clone() + &lived.said[n].out;
    assert!(
        out(1).contains("--bitmap=none --assume-clean") && out(1).contains("dmsetup create fsderby-"),
        "{told}"
    );
    assert!(out(2).contains("refused with 3") && out(2).contains("only disks of zeros"), "{told}");
    assert!(
        out(3).contains("OK") && !out(3).contains("/md") && !lived.said[3].out.contains("fsderby-"),
        "{told}"
    );
    // Of nothing but zeros, od prints the first line, an asterisk and the end.
    assert_eq!(lived.said[4].out, "3\n3\n", "{told}");
    assert!(
        out(5).contains("/md") && out(5).contains("mdadm --stop"),
        "it stands, and doctor says how it is taken down: {told}"
    );
    assert!(
        out(6).contains("OK")
            && !lived.said[6].out.contains("/md")
            && !lived.said[6].out.contains("fsderby-"),
        "{told}"
    );
    assert!(lived.said[7].code == 0 && !lived.said[7].out.contains("undo"), "{told}");
    assert_eq!(lived.altered(), ["mirror", "tenth"], "{told}");
}

const RUN_BOTH: &str = "fsderby run quick --filesystems ext4 --workloads postmark-quick --scale 1/64 --rounds 1 --seed 3 --size 64m \
    --on device:tenth --on device:data --guard=false --quiet --output /root/both";

/// The driver lets go of the disk and finds it again: the same serial number under another name, and another medium to the kernel.
const EXCHANGE: &str = "for b in /sys/block/vd*; do [ $(cat $b/serial) != tenth ] || disk=$b; done; \
    d=$(basename $(readlink -f $disk/device)); cd /sys/bus/virtio/drivers/virtio_blk; echo $d >unbind; echo $d >bind; cd /; sleep 1";

#[test]
fn a_disk_that_is_exchanged_or_mounted_in_the_middle_is_noticed() {
    let mut host = with_one_disk();
    host.programs.extend(["basename", "readlink"].map(str::to_owned));
    let claims = [0.0, 0.1, 0.3, 0.6];
    let mut orders: Vec<Order> = Vec::new();
    for moment in claims {
        orders.push(sh(&format!(
            "fsderby device claim tenth --yes-erase tenth & run=$!; sleep {moment}; {EXCHANGE}; wait $run || echo refused with $?"
        )));
        orders.push(sh("fsderby device release tenth || true; fsderby device list"));
    }
    orders.extend([
        claim(&["tenth", "--yes-erase", "tenth"]),
        // Nobody else mounts it while it is held, and its window is all that a mount could see.
        sh(&format!(
            "fsderby {} & run=$!; until cat /sys/block/dm-*/dm/name 2>/dev/null; do sleep 0.2; done; sleep 1; \
             mount -t ext4 {} /mnt || echo kept away; {EXCHANGE}; wait $run || echo ended with $?",
            RUN.replace("--rounds 2", "--rounds 9"),
            "/dev/$(basename $(for b in /sys/block/vd*; do [ $(cat $b/serial) != tenth ] || echo $b; done))"
        )),
        sh(LEFT),
        sh("cat /root/run/trials.jsonl"),
        sh(&format!("rm -r /root/run; fsderby {RUN}; fsderby verify /root/run")),
    ]);
    let Some(lived) = host.carry_out(&orders) else { return };
    let told = told(&lived);
    assert_eq!((lived.panic.as_deref(), lived.said.len()), (None, orders.len()), "{told}");
    for pair in lived.said[..2 * claims.len()].chunks_exact(2) {
        let claimed = pair[0].out.contains("claimed tenth");
        assert_ne!(claimed, pair[0].out.contains("refused with 3"), "{told}");
        // A disk that goes while it is written to may keep a part, which a release removes.
        assert!(!claimed || pair[1].out.contains("released tenth"), "{told}");
        assert!(pair[1].out.contains("yes, if it is empty"), "nothing is left on it: {told}");
    }
    let [first, middle, left, records, again] = &lived.said[2 * claims.len()..] else { panic!("{told}") };
    assert_eq!(first.code, 0, "{told}");
    assert!(middle.err.contains("busy") && middle.out.contains("kept away"), "{told}");
    assert!(middle.out.contains("ended with"), "{told}");
    assert!(!left.out.contains("/dev/dm-"), "{told}");
    assert!(records.out.contains("other-disk") && !records.out.contains("\"failed\""), "{told}");
    assert!(again.code == 0 && again.out.contains("OK"), "{told}");
    assert_eq!(lived.altered(), ["tenth"], "{told}");
}

/// The agent on the host is the first process of a namespace too.
fn of_a_guest(disk: &str) -> Order {
    let mut job = job_on("ext4", "loop:/var/tmp", Bytes(64 * MIB), "1-guest");
    job.steps.retain(|step| matches!(step, Step::Reset | Step::Make { .. }));
    let disk = image::Disk { path: Disk::path(disk), direct: true, beside: Vec::new() };
    let settings: image::Settings = job.storage.settings().unwrap();
    job.storage = image::Settings { disk: Some(disk), ..settings }.named();
    let input = format!("{}\n", serde_json::to_string(&job).unwrap());
    Order { input, ..Order::fsderby(&["agent"]) }
}

/// What somebody may do to a disk or to a claim, with what the orders then say, and with which exit code.
#[test]
fn whoever_uses_a_disk_or_damages_a_claim_is_noticed_and_the_user_gets_out() {
    let tenth = Disk::path("tenth");
    let data = [at(5 * MIB, b"of old"), at(153 * MIB, b"of old"), vec![0; KIB as usize]].concat();
    let mut host = with_one_disk();
    host.disks.push(Disk::with("data", &data, Bytes(160 * MIB)));
    let more = [
        "losetup",
        "blockdev",
        "unshare",
        "mknod",
        "dd",
        "dmsetup",
        "cut",
        "ls",
        "mkdir",
        "mv",
        "umount",
        "setpriv",
        "readlink",
        "basename",
        "mkfs.ext4",
    ];
    host.programs.extend(more.map(str::to_owned));
    let on = |size: &str, id: &str, more: &str| {
        let run = format!(
            "run quick --filesystems ext4 --workloads postmark-quick --scale 1/64 --rounds 1 --seed 3 --size {size} --on device:{id} --guard=false --quiet {more}"
        );
        Order::fsderby(&run.split_whitespace().collect::<Vec<_>>())
    };
    let dry = |more: &str| on("128m", "tenth", &format!("--dry-run {more}"));
    let yes = || claim(&["tenth", "--yes-erase", "tenth"]);
    let release = || Order::fsderby(&["device", "release", "tenth"]);
    let list = || sh("fsderby device list | grep tenth");
    let json = "/var/lib/fsderby/devices/*.json";
    let zero = |at: u64, kib: u64| {
        sh(&format!("dd if=/dev/zero of={tenth} bs=1k seek={} count={kib} conv=notrunc,fsync", at / KIB))
    };
    let steps: Vec<(Order, i32, &str)> = vec![
        (of_a_guest("first"), 0, "only a guest formats"),
        (sh("unshare --mount fsderby device claim tenth --yes-erase tenth"), 3, "mounts of its own"),
        (
            sh("unshare --pid --fork fsderby device claim tenth --yes-erase tenth"),
            3,
            "namespace of processes",
        ),
        (sh("unshare --user fsderby device claim tenth --yes-erase tenth"), 3, "whole disks need root"),
        (
            sh("setpriv --reuid 1000 --clear-groups fsderby device claim tenth --yes-erase tenth"),
            3,
            "whole disks need root",
        ),
        (sh("setpriv --reuid 1000 --clear-groups fsderby device list"), 0, "no: vda can be opened by root"),
        // A loop device over a node of another name, which no process has open.
        (
            sh(&format!(
                "mknod /root/node b $(cat /sys/block/$(basename $(readlink -f {tenth}))/dev | cut -d: -f1) \
            $(cat /sys/block/$(basename $(readlink -f {tenth}))/dev | cut -d: -f2); losetup /dev/loop0 /root/node; rm /root/node"
            )),
            0,
            "",
        ),
        (yes(), 3, "it lies below loop0"),
        (sh(&format!("losetup -d /dev/loop0; blockdev --setro {tenth}")), 0, ""),
        (yes(), 3, "is read-only"),
        (sh(&format!("blockdev --setrw {tenth}")), 0, ""),
        // Two at once.
        (
            sh("for n in 1 2; do fsderby device claim tenth --yes-erase tenth & done; wait"),
            0,
            "claimed tenth",
        ),
        (sh(&format!("ls {json}; cat {json}")), 0, "\"id\": \"tenth\""),
        (dry(""), 0, "device:tenth"),
        (dry("--on device:tenth,reset=leftovers"), 0, ""),
        (on("1000000", "tenth", "--dry-run"), 2, "too small for ext4"),
        (on("150000001", "tenth", "--dry-run"), 3, "does not end with a sector"),
        (on("159m", "tenth", "--dry-run"), 3, "does not fit"),
        (dry("--layer crypt"), 0, "dmsetup create fsderby-"),
        // A damaged copy.
        (sh(&format!("mv {json} /root/kept; echo '{{' >/var/lib/fsderby/devices/00.json")), 0, ""),
        (yes(), 3, "there is no copy of the claim here"),
        (dry(""), 3, "no disk tenth is claimed"),
        (
            sh(
                "rm /var/lib/fsderby/devices/00.json; mv /root/kept /var/lib/fsderby/devices/$(grep -o '[0-9a-f]\\{32\\}' /root/kept).json",
            ),
            0,
            "",
        ),
        (dry(""), 0, "device:tenth"),
        // The window of a run that was killed while it opened it.
        (
            sh(&format!(
                "dmsetup --noudevsync create fsderby-$(grep -o '[0-9a-f]\\{{32\\}}' {json} | cut -c1-16) \
            --table \"0 2048 linear $(cat /sys/block/$(basename $(readlink -f {tenth}))/dev) 2048\""
            )),
            0,
            "",
        ),
        (dry(""), 0, "device:tenth"),
        // Somebody formats the partition.
        (
            sh(&format!(
                "blockdev --rereadpt {tenth}; mkfs.ext4 -q /dev/$(basename $(readlink -f {tenth}))1"
            )),
            0,
            "",
        ),
        (dry(""), 3, "somebody has written to tenth"),
        (release(), 0, "released tenth"),
        (
            sh(&format!(
                "blockdev --rereadpt {tenth}; dd if=/dev/zero of={tenth} bs=1M count=160 conv=notrunc,fsync"
            )),
            0,
            "",
        ),
        // Marks that are gone in part, and whole.
        (yes(), 0, "claimed tenth"),
        (zero(MIB / 2, 4), 0, ""),
        (list(), 0, "no: the claim of tenth is damaged: one of"),
        (yes(), 3, "fsderby device release tenth"),
        (dry(""), 3, "one of its two marks is gone"),
        (release(), 0, "only what fsderby wrote was removed"),
        (list(), 0, "yes, if it is empty"),
        (yes(), 0, "claimed tenth"),
        (zero(0, 1024), 0, ""),
        (release(), 0, "released tenth"),
        (yes(), 0, "claimed tenth"),
        (sh(&format!("dd if=/dev/zero of={tenth} bs=1M count=160 conv=notrunc,fsync")), 0, ""),
        (list(), 0, "yes, if it is empty"),
        (yes(), 0, "claimed tenth"),
        (dry(""), 0, "device:tenth"),
        (sh(&format!("echo $(ls {json} | grep -c json) copy")), 0, "1 copy"),
        // What lay on the disk before it was claimed is nobody's writing, whatever the length of a run.
        (
            claim(&["data", "--yes-erase", "data", "--holds-data", "erase data with data at offset 5242880"]),
            0,
            "claimed data",
        ),
        (on("64m", "data", "--output /root/short"), 0, ""),
        (on("96m", "data", "--output /root/longer"), 0, ""),
        (sh(&format!("{RUN_BOTH} || echo ended with $?")), 0, ""),
        // A release in the middle of a run.
        (
            sh(&format!(
                "fsderby {RUN} & run=$!; sleep 4; fsderby device release tenth || echo refused with $?; wait $run; fsderby verify /root/run"
            )),
            0,
            "refused with 3",
        ),
        (Order::fsderby(&["report", "/root/run"]), 0, ""),
        // It is pulled out.
        (sh(&EXCHANGE.replace("echo $d >bind", "true")), 0, ""),
        (release(), 3, "rm /var/lib/fsderby/devices/"),
        (dry(""), 3, "no disk has the serial number"),
        (Order::fsderby(&["run", "--resume", "/root/run"]), 3, "no disk has the serial number"),
        (sh("fsderby report /root/run; fsderby verify /root/run"), 0, "OK"),
    ];
    let (orders, expected): (Vec<Order>, Vec<(i32, &str)>) =
        steps.into_iter().map(|(order, code, says)| (order, (code, says))).unzip();
    let Some(lived) = host.carry_out(&orders) else { return };
    let told = told(&lived);
    if let Ok(path) = std::env::var("FSDERBY_TOLD") {
        std::fs::write(path, &told).unwrap();
    }
    assert_eq!((lived.panic.as_deref(), lived.said.len()), (None, orders.len()), "{told}");
    for (n, ((code, says), said)) in expected.iter().zip(&lived.said).enumerate() {
        let all = said.err.clone() + &said.out;
        assert!(said.code == *code && all.contains(says), "{n}: {code} {says}: {:?}: {said:#?}", orders[n]);
    }
    assert_eq!(lived.altered(), ["data", "tenth"], "{told}");
}
