//! A claimed disk in a guest that is the host: forty kills of runs at moments spread over a run, trouble of the drive, hostile arguments,
//! every ready experiment.

use crate::support::harness_devices;

/// Ten moments of the guest's seconds from this one on.
fn from(first: f64) {
    let moments: Vec<f64> = (0..10).map(|n| first + f64::from(n)).collect();
    harness_devices::kills(&moments);
}

mod first {
    #[test]
    fn ten_killed_runs_leave_nothing_and_go_on() {
        super::from(0.2);
    }
}

mod second {
    #[test]
    fn ten_killed_runs_leave_nothing_and_go_on() {
        super::from(0.45);
    }
}

mod third {
    #[test]
    fn ten_killed_runs_leave_nothing_and_go_on() {
        super::from(0.7);
    }
}

mod fourth {
    #[test]
    fn ten_killed_runs_leave_nothing_and_go_on() {
        super::from(0.95);
    }
}

mod condition {
    use crate::support::harness::Order;
    use crate::support::harness_devices::{RUN, SCSI, claim, sh, told, with_scsi_disk};

    /// Of the driver: 2 for sectors that cannot be read.
    const OPTS: &str = "/sys/bus/pseudo/drivers/scsi_debug/opts";

    /// The kernel's own messages of a failed read, a setting that somebody changes, a temperature by smartctl.
    #[test]
    fn trouble_of_the_drive_voids_a_trial_and_its_serial_number_can_be_hidden() {
        let mut host = with_scsi_disk();
        host.programs.extend(["smartctl", "dd", "cut", "ls"].map(str::to_owned));
        let hash = "$(fsderby device list --json | grep -o 'hash-[0-9a-f]*')";
        let run = |on: &str| RUN.replace("device:tenth", &format!("device:{on}"));
        let node = "/dev/$(ls -d /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*/block/* | grep -o 'sd[a-z]*$')";
        // The first record is there, and the next trial runs.
        let amid = |what: &str| format!("until test -d /root/run; do sleep 0.1; done; sleep 0.5; {what}");
        let orders = [
            Order::fsderby(&["device", "list"]),
            claim(&[SCSI, "--yes-erase", SCSI]),
            sh(&format!("echo 0 >{OPTS}; fsderby device claim {SCSI} --yes-erase {SCSI}; echo 2 >{OPTS}")),
            claim(&[SCSI, "--yes-erase", SCSI]),
            sh(&format!(
                "fsderby {} & run=$!; {}; wait $run; fsderby verify /root/run; cat /root/run/trials.jsonl",
                run(SCSI),
                amid(&format!(
                    "for n in 1 2 3; do dd if={node} of=/dev/null iflag=direct bs=512 count=1 skip=307200 || echo unreadable; sleep 0.3; done"
                ))
            )),
            sh(&format!(
                "rm -r /root/run; fsderby {} & run=$!; {}; wait $run; fsderby verify /root/run; cat /root/run/trials.jsonl",
                run(hash),
                amid(&format!("d={node}; echo 'write through' >/sys/block/${{d#/dev/}}/queue/write_cache"))
            )),
            sh(&format!("! grep -rlE 'device:{SCSI}|\"{SCSI}\"|naa\\.' /root/run")),
            Order::fsderby(&["device", "release", SCSI]),
        ];
        let Some(lived) = host.carry_out(&orders) else { return };
        let told = format!("{}\n{}", told(&lived), lived.log.join("\n"));
        assert_eq!((lived.panic.as_deref(), lived.said.len()), (None, orders.len()), "{told}");
        let says = |n: usize, texts: &[&str]| {
            let said = &lived.said[n];
            let all = said.err.clone() + &said.out;
            texts.iter().for_each(|text| assert!(all.contains(text), "{n}: {text}: {told}"));
        };
        says(1, &["could not read sda: Input/output error"]);
        says(2, &["claimed 2000"]);
        says(3, &["claimed already"]);
        says(
            4,
            &[
                "unreadable",
                "the kernel's log: ",
                "\"celsius\":38",
                "\"outcome\":\"void\"",
                "\"outcome\":\"done\"",
                "OK",
            ],
        );
        says(5, &["the write cache of sd", "\"serial\":\"hash-", "OK"]);
        assert_eq!(lived.said[6].code, 0, "no record names the serial number: {told}");
        says(7, &["released 2000"]);
        assert_eq!(lived.altered(), Vec::<&str>::new(), "{told}");
    }
}

mod reserved {
    use fsderby::schema::units::{Bytes, MIB};

    use crate::support::harness_devices::{LEFT, RUN, SHARED, claim, sh, target, told, with_one_disk};

    /// A key registered between two trials, as by a cluster's node that finds the disk.
    #[test]
    fn a_disk_that_somebody_reserves_in_the_middle_is_written_to_no_more() {
        let mut host = with_one_disk();
        host.modules.extend(["sd_mod", "tcm_loop", "target_core_file"].map(str::to_owned));
        host.programs.extend(["ln", "ls", "mkdir", "sg_persist"].map(str::to_owned));
        let run = RUN.replace("device:tenth", "device:SHARED1");
        let orders = [
            sh(&target("/root/shared", Bytes(160 * MIB))),
            claim(&["SHARED1", "--yes-erase", "SHARED1"]),
            sh(&format!(
                "fsderby {} & run=$!; until test -d /root/run; do sleep 0.1; done; sleep 0.5; \
                 sg_persist --out --register --param-sark=0xabcd {SHARED}; wait $run || echo ended with $?; {LEFT}",
                run.replace("--rounds 2", "--rounds 9")
            )),
            sh("cat /root/run/trials.jsonl"),
            sh(&format!(
                "sg_persist --out --clear --param-rk=0xabcd {SHARED}; rm -r /root/run; fsderby {run}; fsderby verify /root/run"
            )),
            sh("fsderby device release SHARED1"),
        ];
        let Some(lived) = host.carry_out(&orders) else { return };
        let told = told(&lived);
        assert_eq!((lived.panic.as_deref(), lived.said.len()), (None, orders.len()), "{told}");
        let [_, first, middle, records, again, released] = &lived.said[..] else { panic!("{told}") };
        assert!(first.out.contains("claimed SHARED1") && middle.out.contains("ended with"), "{told}");
        assert!(!middle.out.contains("/dev/dm-"), "{told}");
        assert!(
            records.out.contains("other-disk") && records.out.contains("has registered the key 0xabcd"),
            "{told}"
        );
        assert!(again.code == 0 && again.out.contains("OK") && released.code == 0, "{told}");
        assert_eq!(lived.altered(), Vec::<&str>::new(), "{told}");
    }
}

mod battery {
    use crate::harness::entropy;
    use crate::support::harness_battery::no_list_harms_another_disk;

    #[test]
    fn none_of_a_hundred_lists_on_a_claimed_disk_alters_another() {
        no_list_harms_another_disk(100, entropy());
    }

    #[test]
    fn none_of_a_hundred_other_lists_on_a_claimed_disk_alters_another() {
        no_list_harms_another_disk(100, entropy() + 1);
    }
}

mod experiments {
    use fsderby::runner::experiment::SHIPPED;
    use fsderby::schema::units::{Bytes, GIB};

    use crate::support::harness::{Disk, Order};
    use crate::support::harness_devices::{claim, told, with_one_disk};

    /// What a single disk of this machine cannot do, by experiment.
    const REFUSED: [(&str, &str); 3] = [
        ("fileserver-2006", "copies from a second disk"),
        ("raid-recovery", "cannot cut the power"),
        // Each of its filesystems names a modelled disk of its own.
        ("raid-backup-as-published", "qemu-system-x86_64 is not installed"),
    ];
    /// Their dry run takes over two minutes in a debug build on an emulated CPU.
    const SLOW: [&str; 3] = ["fileserver", "mbox-2002", "einsatzgebiete"];

    #[test]
    fn each_ready_experiment_is_pointed_at_a_disk_by_one_option_and_one_of_them_runs_small() {
        let mut host = with_one_disk();
        host.memory = Bytes(2 * GIB);
        host.disks.push(Disk::with("large", &[], Bytes(1100 * GIB)));
        let names: Vec<&str> =
            SHIPPED.iter().map(|(name, _)| *name).filter(|name| !SLOW.contains(name)).collect();
        let dry = |name: &&str| Order::fsderby(&["run", name, "--on", "device:large", "--dry-run"]);
        let mut orders = vec![claim(&["large", "--yes-erase", "large"])];
        orders.extend(names.iter().map(dry));
        let small = [
            "--scale",
            "1/64",
            "--workloads",
            "mailserver-2002-1",
            "--filesystems",
            "ext2,xfs",
            "--rounds",
            "1",
        ];
        let run = ["run", "mailserver-2002", "--on", "device:large", "--output", "/root/small"];
        orders.push(Order::fsderby(&[&run[..], &small].concat()));
        orders.push(Order::fsderby(&["verify", "/root/small"]));
        let Some(lived) = host.carry_out(&orders) else { return };
        let told = told(&lived);
        assert_eq!((lived.panic.as_deref(), lived.said.len()), (None, orders.len()), "{told}");
        let [small, verified] = &lived.said[1 + names.len()..] else { panic!("{told}") };
        assert!(small.code == 0 && small.out.contains("device:large"), "{small:#?}");
        assert_eq!(verified.code, 0, "{verified:#?}");
        for (name, said) in names.iter().zip(&lived.said[1..]) {
            match REFUSED.iter().find(|(refused, _)| refused == name) {
                Some((_, why)) => assert!(said.code != 0 && said.err.contains(why), "{name}: {said:#?}"),
                None => assert!(said.code == 0 && said.out.contains("device:large"), "{name}: {said:#?}"),
            }
        }
        assert_eq!(lived.altered(), ["large"], "{told}");
    }
}

mod layers {
    use fsderby::schema::units::{Bytes, MIB};

    use crate::support::harness::Disk;
    use crate::support::harness_devices::{LEFT, RUN, sh, told, with_one_disk};

    /// RAID 1 with dm-crypt on two disks: a run, and one whose processes are all killed while the array stands.
    #[test]
    fn layers_on_claimed_disks_come_down_whoever_ends_the_run() {
        let mut host = with_one_disk();
        host.disks.push(Disk::with("mirror", &[], Bytes(160 * MIB)));
        host.modules = ["dm-mod", "dm-crypt", "md-mod", "raid1", "xts", "ecb", "aes_generic"]
            .map(str::to_owned)
            .to_vec();
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
}

/// The driver lets go of the disk and finds it again: the same serial number under another name, and another medium to the kernel.
const EXCHANGE: &str = "for b in /sys/block/vd*; do [ $(cat $b/serial) != tenth ] || disk=$b; done; \
    d=$(basename $(readlink -f $disk/device)); cd /sys/bus/virtio/drivers/virtio_blk; echo $d >unbind; echo $d >bind; cd /; sleep 1";

mod exchange {
    use super::EXCHANGE;
    use crate::support::harness::Order;
    use crate::support::harness_devices::{LEFT, RUN, claim, sh, told, with_one_disk};

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
}

mod users {
    use std::io::{Seek, SeekFrom, Write};

    use fsderby::schema::job::Step;
    use fsderby::schema::units::{Bytes, KIB, MIB};
    use fsderby::storage::image;

    use super::EXCHANGE;
    use crate::support::harness::{Disk, Order};
    use crate::support::harness_devices::{RUN, claim, sh, told, with_one_disk};
    use crate::support::neighbours::job_on;

    const RUN_BOTH: &str = "fsderby run quick --filesystems ext4 --workloads postmark-quick --scale 1/64 --rounds 1 --seed 3 --size 64m \
        --on device:tenth --on device:data --guard=false --quiet --output /root/both";

    fn at(offset: u64, bytes: &[u8]) -> Vec<u8> {
        let mut content = std::io::Cursor::new(Vec::new());
        content.seek(SeekFrom::Start(offset)).unwrap();
        content.write_all(bytes).unwrap();
        content.into_inner()
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
            (
                sh("setpriv --reuid 1000 --clear-groups fsderby device list"),
                0,
                "no: vda can be opened by root",
            ),
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
            (sh("ls /var/lib/fsderby/devices; ! ls /var/lib/fsderby/devices/*.lock"), 0, ".json"),
            (dry("--on device:tenth,reset=leftovers"), 0, ""),
            (on("1000000", "tenth", "--dry-run"), 2, "too small for ext4"),
            (on("150000001", "tenth", "--dry-run"), 3, "does not end with a sector"),
            (on("159m", "tenth", "--dry-run"), 3, "does not fit"),
            (dry("--verbose --layer crypt"), 0, "dmsetup create fsderby-"),
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
                claim(&[
                    "data",
                    "--yes-erase",
                    "data",
                    "--holds-data",
                    "erase data with data at offset 5242880",
                ]),
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
        assert_eq!((lived.panic.as_deref(), lived.said.len()), (None, orders.len()), "{told}");
        for (n, ((code, says), said)) in expected.iter().zip(&lived.said).enumerate() {
            let all = said.err.clone() + &said.out;
            assert!(
                said.code == *code && all.contains(says),
                "{n}: {code} {says}: {:?}: {said:#?}",
                orders[n]
            );
        }
        assert_eq!(lived.altered(), ["data", "tenth"], "{told}");
    }
}

mod preconditioned {
    use fsderby::schema::units::{Bytes, MIB};

    use crate::support::harness::{Disk, Order};
    use crate::support::harness_devices::{LEFT, RUN, claim, sh, told, with_one_disk};

    /// Once in a run, with a washout before each trial; a discard would undo it.
    #[test]
    fn a_drive_is_preconditioned_once_in_a_run_and_washed_before_each_trial() {
        let mut host = with_one_disk();
        host.programs.push("ls".into());
        let run = format!("{} --state preconditioned", RUN.replace("128m", "64m"));
        let count = |what: &str| {
            format!("grep -o '\"is\":\"{what}\"\\|\"{what}\":{{' /root/run/trials.jsonl | grep -c . || true")
        };
        let orders = [
            claim(&["tenth", "--yes-erase", "tenth"]),
            Order::fsderby(&format!("{run} --dry-run").split_whitespace().collect::<Vec<_>>()),
            sh(&format!("fsderby {run} --dry-run || echo refused with $?")
                .replace("device:tenth", "device:tenth,reset=discarded")),
            sh(&format!("fsderby {run}; fsderby verify /root/run; {LEFT}")),
            sh("grep -c '\"is_steady\":' /root/run/trials.jsonl; ls /var/lib/fsderby/devices"),
            sh(&format!("{}; cat /root/run/trials.jsonl", count("washed"))),
            Order::fsderby(&["device", "release", "tenth"]),
        ];
        let Some(lived) = host.carry_out(&orders) else { return };
        let told = told(&lived);
        assert_eq!((lived.panic.as_deref(), lived.said.len()), (None, orders.len()), "{told}");
        let out = |n: usize| lived.said[n].err.clone() + &lived.said[n].out;
        assert!(out(1).contains("Preconditioning writes at most 328 MiB"), "{told}");
        assert!(out(2).contains("refused with 3") && out(2).contains("reset=discarded undoes"), "{told}");
        assert!(out(3).contains("OK") && !lived.said[3].out.contains("fsderby-"), "{told}");
        let trials = lived.said[5].out.lines().filter(|line| line.contains("\"outcome\"")).count();
        assert!(
            lived.said[4].out.starts_with(&format!("{trials}\n")) && lived.said[4].out.contains(".steady"),
            "{told}"
        );
        assert_eq!(lived.said[5].out.lines().next(), Some(trials.to_string().as_str()), "{told}");
        assert_eq!(lived.said[6].code, 0, "{told}");
        assert_eq!(lived.altered(), ["tenth"], "{told}");
    }
    /// Each disk is, before an array is built on them that needs no zeros. What the array shows of an earlier trial names no filesystem.
    #[test]
    fn several_drives_are_preconditioned_each_where_no_layer_needs_zeros() {
        let mut host = with_one_disk();
        host.disks.push(Disk::with("mirror", &[], Bytes(160 * MIB)));
        host.modules.extend(["md-mod", "raid0", "raid1"].map(str::to_owned));
        host.programs.extend(["mdadm", "ls"].map(str::to_owned));
        let run = RUN.replace("device:tenth", "device:tenth,mirror").replace("128m", "64m");
        let run = format!("{run} --state preconditioned").replace("ext4", "ext4,ext2");
        let (striped, mirrored) = (format!("{run} --layer md:raid0"), format!("{run} --layer md:raid1"));
        let orders = [
            sh("for d in tenth mirror; do fsderby device claim $d --yes-erase $d; done"),
            sh(&format!("fsderby {mirrored} --dry-run || echo refused with $?")),
            sh(&format!("fsderby {striped} --dry-run")),
            sh(&format!("fsderby {striped}; fsderby verify /root/run; {LEFT}")),
            sh("grep -o '\"washed\":{\\|\"outcome\":\"[a-z]*\"' /root/run/trials.jsonl"),
            sh("for d in tenth mirror; do fsderby device release $d; done; ls /var/lib/fsderby/devices"),
        ];
        let Some(lived) = host.carry_out(&orders) else { return };
        let told = told(&lived);
        assert_eq!((lived.panic.as_deref(), lived.said.len()), (None, orders.len()), "{told}");
        let out = |n: usize| lived.said[n].err.clone() + &lived.said[n].out;
        assert!(
            out(1).contains("refused with 3")
                && out(1).contains("md:raid1,bitmap=none is created without a resync"),
            "{told}"
        );
        assert!(
            out(2).contains("writes at most 328 MiB to each of the 2 disks before the first trial"),
            "{told}"
        );
        assert!(out(3).contains("OK") && !lived.said[3].out.contains("fsderby-"), "{told}");
        let many = |what: &str| lived.said[4].out.matches(what).count();
        assert!(many("outcome") > 4 && many("done") == many("outcome"), "{told}");
        assert_eq!(many("washed"), 2 * many("outcome"), "{told}");
        assert_eq!((lived.said[5].code, lived.said[5].out.contains("steady")), (0, false), "{told}");
        assert_eq!(lived.altered(), ["mirror", "tenth"], "{told}");
    }
}

mod volumes {
    use crate::support::harness_volumes::{LONG, carry_out};

    #[test]
    fn a_volume_of_lvm_that_changes_between_claim_and_run_or_during_a_run_is_written_to_no_more() {
        carry_out(&LONG);
    }
}
