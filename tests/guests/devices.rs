//! Disks that are claimed, in a guest whose disks nobody needs.

use std::io::{Seek, SeekFrom, Write};

use fsderby::schema::units::{Bytes, KIB, MIB};
use gptman::{GPT, GPTPartitionEntry};

use crate::support::documents::document;
use crate::support::harness::{Disk, Host, Order};
use crate::support::harness_devices::{SIZE, claim, kills, noise, sh, told, with_one_disk};

/// Room for an ext4 between the marks.
const ROOM: Bytes = Bytes(300 * MIB);

/// UUIDs of a volume group and of a volume in it.
const LVM_ID: &str = "0123456789abcdefghijklmnopqrstuvABCDEFGHIJKLMNOPQRSTUVWXYZ012345";

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
            Disk::with("left", &[], Bytes(160 * MIB)),
            Disk::with("right", &[], Bytes(160 * MIB)),
        ],
        mounts: vec![("home".into(), "/var/tmp".into())],
        modules: ["dm-mod", "dm-crypt", "md-mod", "raid1", "xts", "ecb", "aes_generic"]
            .map(str::to_owned)
            .to_vec(),
        programs: [
            "blkid", "mkswap", "swapon", "mdadm", "cat", "umount", "dmsetup", "smartctl", "basename",
            "readlink",
        ]
        .map(str::to_owned)
        .to_vec(),
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
        --guard=false --on device:tenth --output /root/run --quiet";
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
        sh(&format!(
            "for d in left right; do fsderby device claim $d --yes-erase $d; done; fsderby {} --layer md:raid1 --layer crypt; \
             fsderby verify /root/both; cat /sys/block/dm-*/dm/name 2>/dev/null || true",
            run.join(" ").replace("device:tenth", "device:left,right").replace("/root/run", "/root/both").replace("256m", "128m")
        )),
        // As LVM makes a volume; its program is not on this machine.
        sh(&format!(
            "DM_DISABLE_UDEV=1 dmsetup create group-volume --uuid LVM-{LVM_ID} --table \"0 131072 linear $(cat /sys/block/$(basename $(readlink -f {}))/dev) 2048\"; \
             fsderby device claim LVM-{LVM_ID} --yes-erase LVM-{LVM_ID}",
            Disk::path("lvm")
        )),
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
    says(16, 0, "OK");
    assert!(!lived.said[rest + 16].out.contains("fsderby-"), "no layer is left: {told}");
    says(17, 3, "lvm is not installed");
    // md and swap were made by the first order.
    assert_eq!(lived.altered(), ["copy", "home", "left", "md-a", "md-b", "right", "swap", "tenth"], "{told}");
}

/// `make nightly PART=claimed` tries forty.
#[test]
fn a_killed_run_leaves_nothing_and_goes_on() {
    kills(&[2.0, 5.5, 9.0]);
}

/// An administrator's way in, as the guide's first page has it, with a small disk and less work.
#[test]
fn the_commands_for_a_spare_disk_on_the_guides_first_page_run_as_they_are_written() {
    const PAGES: &str = "WD-WX12D3456789";
    const LESS: &str = "quick --filesystems ext4 --workloads postmark-quick --scale 1/64 --rounds 1 --size 128m --guard=false";
    let page = document("docs/guide/start.md");
    let blocks = page.blocks.iter().filter(|block| block.info == "text" && block.text.contains(PAGES));
    let lines: Vec<&str> = blocks.flat_map(|block| block.text.lines()).collect();
    let orders: Vec<Order> = lines
        .iter()
        .map(|line| {
            let command = line.split(" # ").next().unwrap().trim().trim_start_matches("sudo ");
            let command = command.replace(PAGES, "tenth").replace("run mailserver", &format!("run {LESS}"));
            // There is no terminal that could ask.
            let answer = if command.contains("device claim") { " --yes-erase tenth" } else { "" };
            sh(&format!("cd /root; {command}{answer}"))
        })
        .collect();
    let Some(lived) = with_one_disk().carry_out(&orders) else { return };
    let told = told(&lived);
    let codes: Vec<i32> = lived.said.iter().map(|said| said.code).collect();
    assert_eq!((lived.panic.as_deref(), codes), (None, vec![0; 5]), "{told}");
    for (n, text) in
        ["claimed", "Nothing was done", "complete", "disk.html", "released tenth"].iter().enumerate()
    {
        assert!(lived.said[n].out.contains(text) || lived.said[n].err.contains(text), "{text}: {told}");
    }
    assert_eq!(lived.altered(), ["tenth"], "{told}");
}
