//! Mounts filesystems and reports the resulting mount.

use std::fs;
use std::io;
use std::path::Path;

use rustix::fs::CWD;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen, move_mount,
};

use super::StepError;
use crate::host::kernel_log::Log;
use crate::schema::setup::Mounted;

/// Options of the mount rather than the filesystem.
const ATTRIBUTES: [(&str, MountAttrFlags); 10] = [
    ("ro", MountAttrFlags::MOUNT_ATTR_RDONLY),
    ("nosuid", MountAttrFlags::MOUNT_ATTR_NOSUID),
    ("nodev", MountAttrFlags::MOUNT_ATTR_NODEV),
    ("noexec", MountAttrFlags::MOUNT_ATTR_NOEXEC),
    ("noatime", MountAttrFlags::MOUNT_ATTR_NOATIME),
    ("nodiratime", MountAttrFlags::MOUNT_ATTR_NODIRATIME),
    ("strictatime", MountAttrFlags::MOUNT_ATTR_STRICTATIME),
    ("relatime", MountAttrFlags::MOUNT_ATTR_RELATIME),
    ("rw", MountAttrFlags::empty()),
    ("defaults", MountAttrFlags::empty()),
];

/// Mounts `source` on `target` through fsopen(2), whose errors have messages. A driver without messages writes into the kernel's
/// log why it refuses, with the name of the device.
///
/// `log` was opened before.
pub fn mount(
    source: &Path,
    target: &Path,
    fstype: &str,
    options: &[String],
    log: Option<&Log>,
) -> Result<(), StepError> {
    let context = fsopen(fstype, FsOpenFlags::FSOPEN_CLOEXEC).map_err(|e| match e {
        rustix::io::Errno::NODEV => StepError {
            errno: e.raw_os_error(),
            ..StepError::new("mount", source, format!("this kernel has no {fstype}"))
        },
        e => StepError::io("mount", source, e),
    })?;
    let mut attributes = MountAttrFlags::empty();
    let configured = (|| -> rustix::io::Result<()> {
        fsconfig_set_string(&context, "source", source)?;
        for option in options {
            match ATTRIBUTES.iter().find(|(name, _)| name == option) {
                Some((_, flag)) => attributes |= *flag,
                None => match option.split_once('=') {
                    Some((key, value)) => fsconfig_set_string(&context, key, value)?,
                    None => fsconfig_set_flag(&context, option.as_str())?,
                },
            }
        }
        fsconfig_create(&context)?;
        let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        move_mount(&mount, "", CWD, target, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
    })();
    configured.map_err(|error| {
        let mut said = what_the_kernel_said(&context);
        if let (true, Some(log), Some(device)) = (said.is_empty(), log, source.file_name()) {
            said = log.about(&[device.to_string_lossy().into_owned()]).join("; ");
        }
        let text = if said.is_empty() {
            io::Error::from(error).to_string()
        } else {
            format!("{} ({said})", io::Error::from(error))
        };
        let text = format!("{fstype} with options '{}': {text}", options.join(","));
        StepError { errno: error.raw_os_error(), ..StepError::new("mount", source, text) }
    })
}

/// The messages that the kernel left in the mount context.
fn what_the_kernel_said(context: impl std::os::fd::AsFd) -> String {
    let mut said = Vec::new();
    let mut message = [0; 1024];
    while let Ok(length @ 1..) = rustix::io::read(&context, &mut message) {
        let text = String::from_utf8_lossy(&message[..length]);
        said.push(text.trim().trim_start_matches(['e', 'w', 'i']).trim().to_owned());
    }
    said.join("; ")
}

/// The mount at `target`, from mountinfo. `served_by` names the program of a FUSE filesystem.
pub fn mounted(target: &Path, served_by: Option<&str>) -> Result<Mounted, StepError> {
    let fault = |text: String| StepError::new("mount", target, text);
    let all =
        procfs::process::Process::myself().and_then(|p| p.mountinfo()).map_err(|e| fault(e.to_string()))?;
    let all = all.0;
    let found = all.iter().rev().find(|m| m.mount_point == target);
    let found = found.ok_or_else(|| fault("nothing is mounted there".into()))?;
    let source = found.mount_source.clone().unwrap_or_default();
    let fstype = found.fs_type.clone();
    let joined = found.mount_options.iter().chain(&found.super_options);
    let mut options: Vec<String> =
        joined.map(|(k, v)| v.as_ref().map_or(k.clone(), |v| format!("{k}={v}"))).collect();
    options.sort();
    options.dedup();
    let driver = served_by.map_or_else(|| driver(&source).unwrap_or_else(|| fstype.clone()), str::to_owned);
    Ok(Mounted { source, fstype, driver, options })
}

/// The mount that holds this folder.
pub fn holding(folder: &Path) -> Result<Mounted, StepError> {
    let mut above = fs::canonicalize(folder).map_err(|e| StepError::io("look at", folder, e))?;
    loop {
        match mounted(&above, None) {
            Err(_) if above.pop() => {}
            other => return other,
        }
    }
}

/// The driver that lists this device below /sys/fs: an older type may be served by its successor's driver.
fn driver(source: &str) -> Option<String> {
    let device = Path::new(source).file_name()?;
    let drivers = fs::read_dir("/sys/fs").ok()?;
    drivers
        .flatten()
        .find(|d| d.path().join(device).exists())
        .map(|d| d.file_name().to_string_lossy().into_owned())
}

/// Unmounts our base tree with everything mounted in it.
pub fn unmount_all(base: &Path) -> Result<(), StepError> {
    rustix::mount::unmount(base, rustix::mount::UnmountFlags::DETACH)
        .map_err(|e| StepError::io("unmount", base, e))
}

/// Unmounts; waits if another process has a file of the mount open for a short time.
pub fn unmount(target: &Path) -> Result<(), StepError> {
    let mut tries = 0;
    loop {
        match rustix::mount::unmount(target, rustix::mount::UnmountFlags::empty()) {
            Err(rustix::io::Errno::BUSY) if tries < 100 => {
                tries += 1;
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            other => return other.map_err(|e| StepError::io("unmount", target, e)),
        }
    }
}
