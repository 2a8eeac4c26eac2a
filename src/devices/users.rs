//! Who uses a disk: what a mount or an assembled volume would show, and what nobody's exclusive open shows.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fsderby_sys::loop_device::device_below;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::disk::{Described, attribute};
use super::lvm::Laid;
use super::opened::Disk;
use super::refusal::{Check, Refusal};

/// Exported by the kernel's own SCSI target.
const TARGETS: &str = "/sys/kernel/config/target/core";
const NVME_TARGETS: &str = "/sys/kernel/config/nvmet/subsystems";

/// Programs such as udev look at a disk for an instant.
const PATIENCE: Duration = Duration::from_secs(2);

/// Keeps udev away as long as the descriptor is open.
pub fn lock(disk: &Disk) -> Result<(), Refusal> {
    let begin = Instant::now();
    while let Err(e) = flock(disk.node(), FlockOperation::NonBlockingLockExclusive) {
        if begin.elapsed() > PATIENCE {
            let what = format!("another program has locked {}: {e}", disk.about.name);
            return Err(Refusal::new(Check::Use, what, "fuser -v on its node, which names the program"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Waits a moment for programs that only look.
pub fn is_unused(disk: &Disk) -> Result<(), Refusal> {
    let begin = Instant::now();
    loop {
        let mut users = now(&disk.about);
        users.extend(disk.laid().map(below).unwrap_or_default());
        if users.is_empty() {
            return Ok(());
        }
        if begin.elapsed() > PATIENCE {
            let what = format!("{} is in use: {}", disk.about.name, users.join("; "));
            return Err(Refusal::new(Check::Use, what, "a disk that nothing uses"));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Everybody who uses this disk or one of its partitions now, in words.
pub fn now(disk: &Described) -> Vec<String> {
    let numbers: BTreeSet<u64> = disk.numbers().into_iter().collect();
    let mut users = Vec::new();
    let parts = disk.partitions.iter().map(|part| disk.place.join(&part.name));
    for place in std::iter::once(disk.place.clone()).chain(parts) {
        users.extend(holders(&place));
    }
    users.extend(mounts(&numbers));
    users.extend(swaps(&numbers));
    users.extend(processes(disk, &numbers));
    users.extend(loops(&numbers));
    users.extend(targets(&numbers));
    users
}

/// Everybody who uses the disks below a volume as a whole, such as a virtual machine that has the same group inside.
fn below(laid: &Laid) -> Vec<String> {
    let mut numbers: BTreeSet<u64> = laid.places.iter().map(|place| place.device).collect();
    numbers.extend(laid.disks.iter().map(|disk| disk.number));
    let mut users: Vec<String> = laid.disks.iter().flat_map(|disk| processes(disk, &numbers)).collect();
    users.extend(loops(&numbers));
    users.extend(targets(&numbers));
    users.iter().map(|user| format!("a disk below it: {user}")).collect()
}

/// Whether what was to be read does not exist, or a process ended. Any other error hides a user.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

/// The entries of a folder, or why they cannot be seen; none if it does not exist.
pub(super) fn entries(folder: &Path) -> Result<Vec<DirEntry>, String> {
    match fs::read_dir(folder).and_then(Iterator::collect) {
        Err(e) if is_gone(&e) => Ok(Vec::new()),
        read => {
            read.map_err(|e| format!("{} cannot be read ({e}), so the disk may be in use", folder.display()))
        }
    }
}

fn holders(place: &Path) -> Vec<String> {
    let entries = match entries(&place.join("holders")) {
        Ok(entries) => entries.into_iter(),
        Err(why) => return vec![why],
    };
    let named = entries.map(|entry| {
        let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        let by = match (attribute(&path.join("dm/name")), attribute(&path.join("dm/uuid"))) {
            (Some(dm), Some(uuid)) => format!("{name} ({dm}, {kind})", kind = mapped(&uuid)),
            (Some(dm), None) => format!("{name} ({dm})"),
            _ => name,
        };
        format!("it is part of {by}")
    });
    named.collect()
}

/// What a device-mapper device is, by the prefix of its UUID.
fn mapped(uuid: &str) -> &str {
    match uuid.split_once('-').map_or(uuid, |(prefix, _)| prefix) {
        "LVM" => "a volume of LVM",
        "CRYPT" => "encrypted",
        "mpath" => "a multipath device",
        "fsderby" => "a window of another run of fsderby",
        _ => "a mapping",
    }
}

/// In every namespace that has a process. Btrfs has numbers of its own, so the source counts too.
fn mounts(numbers: &BTreeSet<u64>) -> Vec<String> {
    let (mut found, mut hidden) = (BTreeSet::new(), Vec::new());
    let processes = match pids() {
        Ok(pids) => pids,
        Err(why) => return vec![why],
    };
    for process in processes {
        let file = Path::new("/proc").join(&process).join("mountinfo");
        let text = match fs::read(&file) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            // A process that ends has left its namespace.
            Err(e) if is_gone(&e) || e.kind() == ErrorKind::InvalidInput => continue,
            Err(e) => {
                hidden.push(format!("{} cannot be read ({e}), so the disk may be mounted", file.display()));
                continue;
            }
        };
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let Some(dash) = words.iter().position(|word| *word == "-") else { continue };
            let number = words.get(2).and_then(|text| text.split_once(':'));
            let number = number.and_then(|(major, minor)| {
                Some(rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?))
            });
            let source = words.get(dash + 2).and_then(|path| fs::metadata(path).ok());
            let source = source.filter(|about| about.file_type().is_block_device()).map(|about| about.rdev());
            if [number, source].into_iter().flatten().any(|number| numbers.contains(&number)) {
                found.insert(words.get(4).copied().unwrap_or("?").to_owned());
            }
        }
    }
    found.into_iter().map(|at| format!("it is mounted at {at}")).chain(hidden).collect()
}

fn swaps(numbers: &BTreeSet<u64>) -> Vec<String> {
    let text = match fs::read("/proc/swaps") {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        // A kernel without swap.
        Err(e) if is_gone(&e) => return Vec::new(),
        Err(e) => return vec![format!("/proc/swaps cannot be read ({e}), so the disk may be swap space")],
    };
    let paths = text.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    let ours = paths.filter(|path| fs::metadata(path).is_ok_and(|about| numbers.contains(&about.rdev())));
    ours.map(|path| format!("{path} is swap space")).collect()
}

/// Processes other than this one that have the disk open, by its node or by one of those that pass commands on to it.
fn processes(disk: &Described, blocks: &BTreeSet<u64>) -> Vec<String> {
    let passing = passing(disk);
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    let pids = match pids() {
        Ok(pids) => pids.into_iter().filter(|pid| *pid != own),
        Err(why) => return vec![why],
    };
    for process in pids {
        let folder = Path::new("/proc").join(&process);
        let open = match entries(&folder.join("fd")) {
            Ok(open) => open,
            Err(why) => {
                found.push(why);
                continue;
            }
        };
        let has = open.iter().filter_map(|fd| fs::metadata(fd.path()).ok()).any(|about| {
            let kind = about.file_type();
            (kind.is_block_device() && blocks.contains(&about.rdev()))
                || (kind.is_char_device() && passing.contains(&about.rdev()))
        });
        if has {
            let name = attribute(&folder.join("comm")).unwrap_or_default();
            found.push(format!("process {process} ({name}) has it open"));
        }
    }
    found
}

/// Character devices of the disk: SCSI generic, the NVMe controller and its namespace.
fn passing(disk: &Described) -> BTreeSet<u64> {
    let inside =
        |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let generic = inside(disk.place.join("device/scsi_generic"));
    let namespaces = inside(disk.place.join("device"))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ng")));
    let all = generic.chain(namespaces).chain([disk.place.join("device")]);
    let number = |place: PathBuf| {
        let text = attribute(&place.join("dev"))?;
        let (major, minor) = text.split_once(':')?;
        Some(rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?))
    };
    all.filter_map(number).collect()
}

/// The loop driver opens what lies below it like any program, and belongs to no process.
fn loops(numbers: &BTreeSet<u64>) -> Vec<String> {
    let entries = match entries(Path::new("/sys/block")) {
        Ok(entries) => entries,
        Err(why) => return vec![why],
    };
    let in_use = entries.iter().filter(|entry| entry.path().join("loop").exists());
    let above = in_use.filter_map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        match File::open(Path::new("/dev").join(&name)).and_then(|device| device_below(&device)) {
            Ok(below) => numbers.contains(&below).then(|| format!("it lies below {name}")),
            // Detached meanwhile.
            Err(e) if e.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => None,
            Err(e) => Some(format!("what lies below {name} cannot be seen ({e}), so it may be the disk")),
        }
    });
    above.collect()
}

/// Exports by the kernel's own targets of SCSI and NVMe, some of which exclude nobody.
fn targets(numbers: &BTreeSet<u64>) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = |folder: &Path| -> Vec<PathBuf> {
        match entries(folder) {
            Ok(entries) => entries.into_iter().map(|entry| entry.path()).collect(),
            Err(why) => {
                found.push(why);
                Vec::new()
            }
        }
    };
    let mut exported: Vec<PathBuf> = Vec::new();
    for hub in inside(Path::new(TARGETS)) {
        exported.extend(inside(&hub));
    }
    for system in inside(Path::new(NVME_TARGETS)) {
        exported.extend(inside(&system.join("namespaces")));
    }
    let is_of = |path: &str| {
        let about = path.starts_with('/').then(|| fs::metadata(path).ok()).flatten();
        about.is_some_and(|about| about.file_type().is_block_device() && numbers.contains(&about.rdev()))
    };
    for target in exported {
        for file in ["udev_path", "info", "device_path"].map(|file| target.join(file)) {
            match fs::read(&file) {
                Ok(bytes) if String::from_utf8_lossy(&bytes).split_whitespace().any(is_of) => {
                    found.push(format!("it is exported as {}", target.display()));
                }
                Ok(_) => {}
                Err(e) if is_gone(&e) => {}
                Err(e) => {
                    found.push(format!(
                        "{} cannot be read ({e}), so the disk may be exported",
                        file.display()
                    ));
                }
            }
        }
    }
    found.dedup();
    found
}

/// The numbers of all processes, or why they cannot be seen.
fn pids() -> Result<Vec<String>, String> {
    let names = entries(Path::new("/proc"))?
        .into_iter()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    let pids: Vec<String> = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).collect();
    if pids.is_empty() {
        return Err("/proc names no process, so the disk may be in use".into());
    }
    Ok(pids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_seen() {
        assert!(pids().unwrap().contains(&std::process::id().to_string()));
    }

    /// Every machine has something mounted from somewhere; where that is a disk, the disk is in use.
    #[test]
    fn the_disk_below_the_root_folder_is_in_use() {
        let root = fs::metadata("/").unwrap().dev();
        let disks = super::super::disk::all();
        for disk in disks.iter().filter(|disk| disk.numbers().contains(&root)) {
            assert!(now(disk).iter().any(|user| user.starts_with("it is mounted at /")), "{:?}", now(disk));
        }
    }
}
