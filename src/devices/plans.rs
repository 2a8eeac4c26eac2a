//! Who plans to use a disk: files of this machine that name it.
//!
//! ```text
//! files    at the next boot: mounts, encryption, RAID, LVM, ZFS, replicas, saved exports
//! folders  mounts of systemd, replicas, exports, virtual machines and containers, with their pools
//! names    paths, links, serial number; units of systemd; a volume without its group; the controller that is passed on
//! ```
//! A file that is there and cannot be read may name the disk.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::disk::Described;
use super::users::{entries, is_gone};
use crate::schema::units::MIB;

const FILES: [&str; 14] = [
    "/etc/fstab",
    "/etc/crypttab",
    "/etc/mdadm/mdadm.conf",
    "/etc/mdadm.conf",
    LVM_DEVICES,
    ZPOOLS,
    "/etc/drbd.conf",
    "/etc/scst.conf",
    "/etc/target/saveconfig.json",
    "/etc/rtslib-fb-target/saveconfig.json",
    "/etc/nvmet/config.json",
    "/etc/auto.master",
    "/etc/auto.misc",
    "/proc/cmdline",
];
/// Names disks by their serial number alone.
const LVM_DEVICES: &str = "/etc/lvm/devices/system.devices";
/// Not text: each name stands between bytes that may be letters.
const ZPOOLS: &str = "/etc/zfs/zpool.cache";
/// With the depth to which they are read.
const FOLDERS: [(&str, u32); 19] = [
    ("/etc/systemd/system", 2),
    ("/run/systemd/system", 2),
    ("/usr/local/lib/systemd/system", 2),
    ("/etc/systemd/nspawn", 1),
    ("/etc/containers/systemd", 2),
    ("/var/lib/docker/containers", 2),
    ("/etc/auto.master.d", 1),
    ("/etc/cloud", 2),
    ("/etc/mdadm/mdadm.conf.d", 1),
    ("/etc/drbd.d", 2),
    ("/etc/tgt", 2),
    ("/etc/libvirt", 2),
    ("/run/libvirt", 2),
    ("/var/lib/libvirt/qemu/snapshot", 2),
    (PVE, 2),
    // Of each node its machines, in folders.
    ("/etc/pve/nodes", 3),
    (XEN, 2),
    ("/var/lib/lxc", 2),
    ("/etc/lxc", 2),
];
const PVE: &str = "/etc/pve";
/// What the folder above is mounted from.
const PVE_DATABASE: &str = "/var/lib/pve-cluster/config.db";
/// Its paths are relative to /dev.
const XEN: &str = "/etc/xen";
/// Where volumes stand without their group.
const HYPERVISORS: [&str; 4] = [PVE, "/etc/libvirt", "/run/libvirt", "/var/lib/libvirt"];
/// A longer file is no configuration, but an image.
const LONGEST: u64 = 16 * MIB;

/// The files that may name a disk, as they are at one moment.
pub struct Plans {
    files: Vec<(PathBuf, Read)>,
    /// What cannot be seen.
    hidden: Vec<String>,
}

/// What a file is.
enum Read {
    Text(String),
    /// The number of a device to which its path leads.
    Device(u64),
}

impl Plans {
    pub fn now() -> Self {
        let mut plans = Plans { files: Vec::new(), hidden: Vec::new() };
        for file in FILES {
            plans.read(file.into(), true);
        }
        for (folder, depth) in FOLDERS {
            let (found, hidden) = files(folder, depth);
            found.into_iter().filter(|file| !is_log(file)).for_each(|file| plans.read(file, false));
            plans.hidden.extend(hidden);
        }
        let is_empty = entries(Path::new(PVE)).is_ok_and(|entries| entries.is_empty());
        if Path::new(PVE_DATABASE).exists() && is_empty {
            plans
                .hidden
                .push(format!("{PVE} is not mounted, so one of its virtual machines may use the disk"));
        }
        plans
    }

    /// A file that `is_needed` may name each disk if it cannot be read whole.
    fn read(&mut self, file: PathBuf, is_needed: bool) {
        let mut hides = |why: &str| {
            self.hidden.push(format!("{} cannot be read ({why}), so it may name the disk", file.display()));
        };
        let about = match fs::metadata(&file) {
            Ok(about) => about,
            Err(e) if is_gone(&e) => return,
            Err(e) => return hides(&e.to_string()),
        };
        if about.file_type().is_block_device() {
            return self.files.push((file, Read::Device(about.rdev())));
        }
        // Sockets lie among a hypervisor's files; a pipe would keep the reader waiting.
        if !about.is_file() {
            return;
        }
        if about.len() > LONGEST {
            return if is_needed {
                hides("it is too long")
            };
        }
        match fs::read(&file) {
            Ok(content) => {
                let text = String::from_utf8_lossy(&content).into_owned();
                self.files.push((file, Read::Text(text)));
            }
            Err(e) if is_gone(&e) => {}
            Err(e) => hides(&e.to_string()),
        }
    }

    /// The first file that names this disk or a partition of it, or that cannot be seen; in words.
    pub fn of(&self, disk: &Described) -> Option<String> {
        let (links, hidden) = files("/dev/disk", 2);
        let names = Names::of(disk, &links);
        let numbers: BTreeSet<u64> = disk.numbers().into_iter().collect();
        let named = |(file, read): &(PathBuf, Read)| {
            let shown = file.display();
            match read {
                Read::Device(number) => numbers.contains(number).then(|| format!("{shown} leads to it")),
                Read::Text(text) => {
                    let by_path = || path_of(text, &numbers);
                    let name = names.in_text(file, text).map(str::to_owned).or_else(by_path)?;
                    Some(format!("{shown} names {name}"))
                }
            }
        };
        self.files.iter().find_map(named).or_else(|| hidden.first().or(self.hidden.first()).cloned())
    }
}

/// Whether this file tells what was done, and plans nothing: the output of a container, or Proxmox' log of its cluster.
fn is_log(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".log") || (file.starts_with(PVE) && name.starts_with('.'))
}

/// The first path in this text that leads to one of these devices by a link which is not known to be one, such as those that clouds make.
fn path_of(text: &str, numbers: &BTreeSet<u64>) -> Option<String> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let words = lines.flat_map(|line| line.split(|c: char| c.is_whitespace() || "\"',;=<>()[]".contains(c)));
    let mut paths = words.filter_map(|word| {
        let word = word.split(':').find(|part| part.starts_with("/dev/"))?;
        Some(word.rsplit_once("-part").map_or(word, |(disk, _)| disk))
    });
    let leads = |path: &&str| {
        fs::metadata(path)
            .is_ok_and(|about| about.file_type().is_block_device() && numbers.contains(&about.rdev()))
    };
    paths.find(leads).map(str::to_owned)
}

/// The files below this folder, so many folders deep, and why some cannot be seen.
fn files(folder: &str, most: u32) -> (Vec<PathBuf>, Vec<String>) {
    let (mut found, mut hidden) = (Vec::new(), Vec::new());
    let mut left: Vec<(PathBuf, u32)> = vec![(folder.into(), 1)];
    while let Some((folder, depth)) = left.pop() {
        match entries(&folder) {
            Ok(entries) => {
                let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) =
                    entries.into_iter().map(|entry| entry.path()).partition(|path| path.is_dir());
                found.extend(files);
                left.extend(folders.into_iter().filter(|_| depth < most).map(|folder| (folder, depth + 1)));
            }
            Err(why) => hidden.push(why),
        }
    }
    (found, hidden)
}

/// What a disk is called in files.
struct Names {
    /// Paths, names of links, serial numbers.
    words: BTreeSet<String>,
    /// Of a volume of LVM, without its group.
    volume: Option<String>,
    serial: Option<String>,
    /// The PCI address of its controller: `0000:03:00.0`.
    controller: Option<String>,
}

impl Names {
    fn of(disk: &Described, links: &[PathBuf]) -> Self {
        let nodes: Vec<PathBuf> = std::iter::once(disk.node())
            .chain(disk.partitions.iter().map(|part| Path::new("/dev").join(&part.name)))
            .collect();
        let mut words: BTreeSet<String> = nodes.iter().map(|node| node.display().to_string()).collect();
        words.extend([&disk.serial, &disk.wwid].into_iter().flatten().cloned());
        words.extend(disk.mapped.as_ref().map(|mapped| format!("/dev/mapper/{mapped}")));
        words.extend(disk.volume().map(|volume| format!("/dev/{volume}")));
        for link in links {
            if fs::canonicalize(link).is_ok_and(|target| nodes.contains(&target)) {
                words.insert(link.display().to_string());
                words.extend(link.file_name().map(|name| name.to_string_lossy().into_owned()));
            }
        }
        // A short word or number, or one without a digit, stands in any file; the links have it with its path.
        let is_long = |word: &String| word.len() >= 8 && word.contains(|c: char| c.is_ascii_digit());
        words.retain(|word| word.starts_with('/') || is_long(word));
        let volume = disk.volume().and_then(|volume| Some(volume.split_once('/')?.1.to_owned()));
        let mut parts = disk.place.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
        let controller = parts.rfind(|part| is_pci_address(part));
        Names { words, volume, serial: disk.serial.clone(), controller }
    }

    /// The first name in this text of this file, or in the file's name.
    fn in_text(&self, file: &Path, text: &str) -> Option<&str> {
        let paths = || self.words.iter().filter(|word| word.starts_with('/'));
        if file == Path::new(ZPOOLS) {
            let ends = |(at, word): (usize, &str)| {
                !without_partition(&text[at + word.len()..], word, "-part").starts_with(is_part)
            };
            let stands = |word: &&String| text.match_indices(word.as_str()).any(ends);
            return self.words.iter().find(stands).map(String::as_str);
        }
        let own = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let is_hypervisor = HYPERVISORS.iter().any(|folder| file.starts_with(folder));
        let is_pve = file.starts_with(PVE);
        let is_machine =
            file.parent().is_some_and(|in_| in_.ends_with("qemu-server") || in_.ends_with("lxc"));
        let has_serial = |line: &str, serial: &str| {
            let id = line.split_whitespace().find_map(|word| word.strip_prefix("IDNAME="));
            file == Path::new(LVM_DEVICES) && id.is_some_and(|id| id == serial)
        };
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let in_line = |line: &str| {
            let line = line.replace("\\/", "/");
            let unit = |path: &&String| has_unit(&line, path);
            let below_dev = |path: &&String| {
                let of_xen = path.strip_prefix("/dev/").filter(|_| file.starts_with(XEN));
                of_xen.is_some_and(|name| has_word(&line.replace("phy:", ""), name))
            };
            let word = self.words.iter().find(|word| has_word(&line, word));
            let word = word.or_else(|| paths().find(unit)).or_else(|| paths().find(below_dev));
            let begins: &[&str] = if is_pve { &[":"] } else { &["volume='", "volume=\""] };
            let volume = || {
                let may = is_hypervisor && (is_machine || !is_pve);
                self.volume.as_ref().filter(|volume| may && has_volume(&line, volume, begins))
            };
            let serial = || self.serial.as_ref().filter(|serial| has_serial(&line, serial));
            let controller = || self.controller.as_ref().filter(|address| has_controller(&line, address));
            word.or_else(volume).or_else(serial).or_else(controller).map(String::as_str)
        };
        let of_name = || paths().find(|path| has_unit(&own, path)).map(String::as_str);
        lines.into_iter().find_map(in_line).or_else(of_name)
    }
}

/// Whether this character continues a name.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || "-_./:".contains(c)
}

/// Whether the name, or that of a partition of it, stands in the line without being part of a longer one. Before and after a path a
/// colon may stand: `phy:/dev/sdb`, `--device=/dev/sdb:/dev/xvdc`.
fn has_word(line: &str, name: &str) -> bool {
    let is_path = name.starts_with('/');
    let continues = |c: char| is_part(c) && !(is_path && c == ':');
    line.match_indices(name).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = without_partition(&line[at + name.len()..], name, "-part");
        !before.is_some_and(continues) && !after.starts_with(continues)
    })
}

/// What follows the name of a disk, behind the number of a partition: `1` after `/dev/sdb`, `p1` after `/dev/nvme0n1`, `-part1` after a
/// link, which units write in another way.
fn without_partition<'t>(after: &'t str, name: &str, part: &str) -> &'t str {
    let is_digit = |c: char| c.is_ascii_digit();
    let is_node = name.strip_prefix("/dev/").is_some_and(|node| !node.contains('/'));
    let before = match (is_node, name.ends_with(is_digit)) {
        (false, _) => part,
        (true, true) => "p",
        (true, false) => "",
    };
    let number = after.strip_prefix(before).filter(|number| number.starts_with(is_digit));
    number.map_or(after, |number| number.trim_start_matches(is_digit))
}

/// Whether the line names a volume as hypervisors do, without its group, behind one of these: `store:volume` or `volume='volume'`.
fn has_volume(line: &str, volume: &str, begins: &[&str]) -> bool {
    line.match_indices(volume).any(|(at, _)| {
        let after = line[at + volume.len()..].chars().next();
        let stands = begins.iter().any(|before| line[..at].ends_with(before));
        stands && !after.is_some_and(is_part)
    })
}

/// `0000:03:00.0`
fn is_pci_address(text: &str) -> bool {
    text.len() == 12
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b':',
            10 => byte == b'.',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Whether the line passes the controller of this PCI address on to a virtual machine: with its function, or without if the line is
/// about such devices; in libvirt's `<source>`, whose address unlike those inside the machine has no type.
fn has_controller(line: &str, address: &str) -> bool {
    let (domain, rest) = address.split_at(5);
    let (slot, function) = rest.split_once('.').unwrap_or_default();
    let begin = line.trim_start();
    if begin.starts_with("<address") {
        let (bus, slot) = slot.split_once(':').unwrap_or_default();
        let has = |key: &str, value: &str| line.contains(&format!("{key}='0x{value}'"));
        return has("bus", bus) && has("slot", slot) && has("function", function) && !line.contains("type=");
    }
    let is_about = begin.starts_with("hostpci") || begin.starts_with("pci");
    line.match_indices(slot).any(|(at, _)| {
        let before = line[..at].strip_suffix(domain).unwrap_or(&line[..at]);
        let after = &line[at + slot.len()..];
        let is_function = |rest: &str| {
            let rest = rest.strip_prefix(function).or_else(|| rest.strip_prefix('*'));
            rest.is_some_and(|rest| !rest.starts_with(is_part))
        };
        let ends = match after.strip_prefix('.') {
            Some(rest) => is_function(rest),
            None => is_about && !after.starts_with(is_part),
        };
        ends && !before.ends_with(is_part)
    })
}

/// Whether the text has a unit of this path or of a partition of it: `dev-sdb.device`, as `systemd-escape --path` writes it.
fn has_unit(text: &str, path: &str) -> bool {
    let escaped = path.trim_start_matches('/').bytes().map(|byte| match byte {
        b'/' => "-".to_owned(),
        byte if byte.is_ascii_alphanumeric() || b":_.".contains(&byte) => char::from(byte).to_string(),
        byte => format!("\\x{byte:02x}"),
    });
    let escaped = escaped.collect::<String>();
    let ends = |at: usize| without_partition(&text[at + escaped.len()..], path, "\\x2dpart").starts_with('.');
    text.match_indices(&escaped).any(|(at, _)| ends(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> Names {
        Names {
            words: words.iter().map(|&word| word.to_owned()).collect(),
            volume: Some("vm-100-disk-0".into()),
            serial: Some("S1".into()),
            controller: Some("0000:03:00.0".into()),
        }
    }

    #[test]
    fn a_name_counts_where_it_stands_for_itself() {
        for (line, name, is) in [
            ("/dev/sdb1 /srv ext4 defaults 0 2", "/dev/sdb1", true),
            ("/dev/sdb1 /srv ext4 defaults 0 2", "/dev/sdb", true),
            ("disk /dev/nvme0n1p1;", "/dev/nvme0n1", true),
            ("disk /dev/nvme0n12;", "/dev/nvme0n1", false),
            ("UUID=1234-5678 /srv ext4", "/dev/sdb1", false),
            ("/dev/sdb10 /srv ext4", "/dev/sdb1", false),
            ("/dev/sdbc /srv ext4", "/dev/sdb", false),
            ("/dev/disk/by-id/ata-X2 /srv ext4", "/dev/disk/by-id/ata-X", false),
            ("x/dev/sdb1 /srv", "/dev/sdb1", false),
            ("/dev/disk/by-id/ata-X-part12 /srv", "/dev/disk/by-id/ata-X", true),
            ("/dev/disk/by-id/ata-X-particular /srv", "/dev/disk/by-id/ata-X", false),
            ("<source dev='/dev/sdb1'/>", "/dev/sdb1", true),
            ("\"/dev/sdb1\"", "/dev/sdb1", true),
            ("disk = ['phy:/dev/sdb1,xvda,w']", "/dev/sdb1", true),
            ("podman run --device=/dev/sdb:/dev/xvdc", "/dev/sdb", true),
            ("What=/dev/sdb1", "/dev/sdb1", true),
            ("UUID=1234-5678 /srv ext4", "1234-5678", true),
            ("UUID=1234-5678:9 /srv ext4", "1234-5678", false),
        ] {
            assert_eq!(has_word(line, name), is, "{name} in {line}");
        }
    }

    #[test]
    fn each_program_names_a_disk_in_its_own_way() {
        let own = names(&["/dev/sdb", "/dev/vg0/mine", "/dev/disk/by-id/ata-X-1"]);
        for (file, text, is) in [
            ("/etc/fstab", "# /dev/sdb /srv\n", false),
            ("/etc/zfs/zpool.cache", "path\0A/dev/sdb\0", true),
            ("/etc/zfs/zpool.cache", "path\0A/dev/sdb1\0", true),
            ("/etc/zfs/zpool.cache", "path\0A/dev/disk/by-id/ata-X-1-part1\0", true),
            ("/etc/zfs/zpool.cache", "path\0A/dev/sdba1\0", false),
            ("/etc/lvm/devices/system.devices", "IDTYPE=sys_serial IDNAME=S1 DEVNAME=/dev/sdz", true),
            ("/etc/fstab", "LABEL=S1 /srv", false),
            ("/etc/pve/user.cfg", "user:vm-100-disk-0@pve:1:0::::", false),
            ("/etc/pve/mapping/pci.cfg", "\tmap id=144d:a808,node=pve,path=0000:03:00.0", true),
            ("/etc/xen/guest.cfg", "  '0000:03:00.*',", true),
            ("/etc/pve/qemu-server/100.conf", "hostpci0: 0001:03:00.0", false),
            ("/etc/systemd/system/a.timer", "OnCalendar=03:00", false),
            ("/etc/systemd/system/a.service", "BindsTo=dev-sdb1.device", true),
            ("/etc/systemd/system/a.service", "BindsTo=dev-sdba.device", false),
            (
                "/etc/systemd/system/a.service",
                "After=dev-disk-by\\x2did-ata\\x2dX\\x2d1\\x2dpart2.swap",
                true,
            ),
            ("/etc/systemd/system/a.service", "After=dev-disk-by\\x2did-ata\\x2dX\\x2d12.swap", false),
            ("/etc/target/saveconfig.json", "\"dev\": \"\\/dev\\/sdb\"", true),
            ("/etc/xen/guest.cfg", "disk = [ 'phy:vg0/mine,xvda,w' ]", true),
            ("/etc/xen/guest.cfg", "disk = [ 'format=raw, vdev=xvda, access=rw, target=sdb' ]", true),
            ("/etc/fstab", "vg0/mine", false),
            ("/etc/systemd/system/a.service", "Requires=dev-sdb.device", true),
            ("/etc/systemd/system/a.service", "BindsTo=dev-disk-by\\x2did-ata\\x2dX\\x2d1.device", true),
            ("/etc/systemd/system/a.wants/mount@dev-sdb.service", "What=/dev/%I", true),
            ("/etc/systemd/system/a.service", "ExecStart=/bin/cache -v cache:vm-100-disk-0", false),
            ("/etc/pve/qemu-server/100.conf", "scsi0: local-lvm:vm-100-disk-0,iothread=1,size=32G", true),
            ("/etc/pve/nodes/a/lxc/100.conf", "rootfs: local-lvm:vm-100-disk-0", true),
            ("/etc/pve/qemu-server/100.conf", "scsi0: local-lvm:vm-100-disk-01,size=32G", false),
            ("/etc/pve/qemu-server/100.conf", "scsi0: local-lvm:base/vm-100-disk-0", false),
            ("/etc/libvirt/qemu/a.xml", "<source pool='vg' volume='vm-100-disk-0'/>", true),
            ("/etc/libvirt/qemu/a.xml", "<source pool=\"vg\" volume=\"vm-100-disk-0\"/>", true),
            ("/etc/libvirt/qemu/a.xml", "<name>vm-100-disk-0</name>", false),
            ("/etc/pve/qemu-server/100.conf", "hostpci0: 0000:03:00,pcie=1", true),
            ("/etc/pve/qemu-server/100.conf", "hostpci0: 03:00.1", false),
            ("/etc/xen/guest.cfg", "pci = [ '03:00.0' ]", true),
            ("/etc/pve/qemu-server/100.conf", "net0: virtio=BC:24:11:03:00:03,bridge=vmbr0", false),
            (
                "/etc/libvirt/qemu/a.xml",
                "  <address domain='0x0000' bus='0x03' slot='0x00' function='0x0'/>",
                true,
            ),
            (
                "/etc/libvirt/qemu/a.xml",
                "<address type='pci' domain='0x0000' bus='0x03' slot='0x00' function='0x0'/>",
                false,
            ),
        ] {
            assert_eq!(own.in_text(Path::new(file), text).is_some(), is, "{file}: {text}");
        }
    }

    #[test]
    fn a_controllers_address_is_no_usb_interface() {
        assert!(is_pci_address("0000:03:00.0"));
        ["1-10.1.2:1.0", "10000:e1:00.0", "0000:03:00,0", ""].iter().for_each(|text| {
            assert!(!is_pci_address(text), "{text}");
        });
    }

    #[test]
    fn a_link_that_is_not_known_leads_to_its_device() {
        let node = fs::read_dir("/dev").unwrap().flatten().map(|entry| entry.path());
        let mut blocks = node.filter_map(|path| Some((fs::metadata(&path).ok()?, path)));
        let Some((about, path)) = blocks.find(|(about, _)| about.file_type().is_block_device()) else {
            return;
        };
        let numbers = BTreeSet::from([about.rdev()]);
        let odd = format!("/dev/./{}", path.file_name().unwrap().to_string_lossy());
        assert_eq!(path_of(&format!("What={odd}:/dev/x"), &numbers), Some(odd));
        assert_eq!(path_of("# /dev/null /dev/null /nowhere", &numbers), None);
    }

    #[test]
    fn an_image_or_log_is_no_plan_and_a_file_that_is_needed_must_be_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("rootdev");
        fs::File::create(&image).unwrap().set_len(LONGEST + 1).unwrap();
        let mut plans = Plans { files: Vec::new(), hidden: Vec::new() };
        plans.read(image.clone(), false);
        assert!(plans.files.is_empty() && plans.hidden.is_empty());
        plans.read(image, true);
        assert!(plans.hidden[0].contains("too long), so it may name the disk"), "{:?}", plans.hidden);
        for (file, is) in [
            ("/var/lib/docker/containers/1/1-json.log", true),
            ("/etc/pve/.clusterlog", true),
            ("/var/lib/docker/containers/1/hostconfig.json", false),
            ("/etc/pve/nodes/a/qemu-server/100.conf", false),
        ] {
            assert_eq!(is_log(Path::new(file)), is, "{file}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_read_hides_a_user_and_one_that_does_not_exist_does_not() {
        assert_eq!(files("/no/such/folder", 2), (Vec::new(), Vec::new()));
        // A name that is too long cannot be looked up, whoever asks.
        let (found, hidden) = files(&format!("/{}", "x".repeat(300)), 2);
        assert_eq!((found.len(), hidden.len()), (0, 1), "{hidden:?}");
        assert!(hidden[0].contains("cannot be read"), "{hidden:?}");
    }
}
