//! What a run could leave behind: mounts that only some process sees, loop devices, images, control groups, site folders.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Everything that is there of the run of process `pid` with its images in `folder`.
pub fn find(folder: &Path, pid: u32) -> Vec<String> {
    let mut found = mounts(pid);
    found.extend(loops(folder));
    found.extend(files(folder));
    found.extend(groups(pid));
    found
}

/// Waits until nothing is left, but not for long; returns what still is.
pub fn wait_for_none(folder: &Path, pid: u32) -> Vec<String> {
    let begin = Instant::now();
    loop {
        let found = find(folder, pid);
        if found.is_empty() || begin.elapsed() > Duration::from_secs(20) {
            return found;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Mounts of that run's in the eyes of *any* process: the host's own table does not show those of another namespace.
fn mounts(pid: u32) -> Vec<String> {
    let source = format!(" - tmpfs fsderby-{pid}-");
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let table = fs::read_to_string(process.path().join("mountinfo")).unwrap_or_default();
        let ours = table.lines().filter(|l| l.contains(&source));
        found.extend(ours.map(|l| format!("mount seen by {}: {l}", process.path().display())));
    }
    found
}

fn loops(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for device in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        let backing = fs::read_to_string(device.path().join("loop/backing_file")).unwrap_or_default();
        if backing.starts_with(&*folder.to_string_lossy()) {
            found.push(format!("loop device {}: {}", device.path().display(), backing.trim()));
        }
    }
    found
}

fn files(folder: &Path) -> Vec<String> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|f| format!("file {}", f.path().display()))
        .collect()
}

fn groups(pid: u32) -> Vec<String> {
    let roots = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
    let all = roots.iter().flat_map(|root| fs::read_dir(root).into_iter().flatten().flatten());
    let names = [format!("fsderby-{pid}-"), format!("fsderby-devices-{pid}-")];
    let is_ours = |name: &str| names.iter().any(|ours| name.starts_with(ours));
    let ours = all.filter(|group| is_ours(&group.file_name().to_string_lossy()));
    ours.map(|group| format!("control group {}", group.path().display())).collect()
}
