//! Every kind with its real programs: mkfs, check and version on image files, and as root also discards and mounts.
//!
//! What is missing on this machine is skipped, and stderr says so.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::support::{has_loop, skipped};
use fsderby::filesystems::{self, Filesystem, TABLE};
use fsderby::schema::setup::{Argv, DEVICE, MOUNTPOINT, Mount, Mounted, Variant};
use tempfile::{NamedTempFile, TempDir};

const GIB: u64 = 1 << 30;

#[test]
fn what_mkfs_makes_is_clean_at_the_smallest_and_at_larger_windows() {
    for kind in ready() {
        let (smallest, largest) = window(kind);
        for size in [smallest, GIB, largest.min(2 * GIB)] {
            let image = sparse(size);
            make(kind, &Variant::default(), image.path());
            check(kind, image.path());
        }
    }
}

/// Whether it is mkfs, the check or a journal left out: below the stated size something is wrong.
#[test]
fn below_the_smallest_window_something_is_wrong() {
    for kind in ready() {
        let image = sparse(window(kind).0 - 4096);
        let mut wrong = false;
        for argv in kind.make(&Variant::default()) {
            let output = run(&argv, image.path(), Path::new(""));
            let said = text(&output);
            wrong |= !output.status.success()
                || said.contains("too small")
                || said.contains("less then suggested");
        }
        let unclean = kind.check().is_some_and(|check| {
            !check.clean.contains(&run(&check.argv, image.path(), Path::new("")).status.code().unwrap_or(-1))
        });
        assert!(wrong || unclean, "{} can be smaller than {}", kind.name(), window(kind).0);
    }
}

#[test]
fn above_the_largest_window_of_fat16_mkfs_fails() {
    let fat16 = filesystems::find("fat16").unwrap();
    if missing(fat16).is_none() {
        make(fat16, &Variant::default(), sparse(window(fat16).1).path());
        let image = sparse(window(fat16).1 + 4096);
        assert!(!run(&fat16.make(&Variant::default())[0], image.path(), Path::new("")).status.success());
    }
}

/// A check that calls everything clean would prove nothing.
#[test]
fn a_check_finds_damage() {
    for kind in ready() {
        let Some(check) = kind.check() else { continue };
        let image = sparse(GIB);
        make(kind, &Variant::default(), image.path());
        damage(image.path());
        let output = run(&check.argv, image.path(), Path::new(""));
        assert!(
            !check.clean.contains(&output.status.code().unwrap_or(-1)),
            "{}: {}",
            kind.name(),
            text(&output)
        );
    }
}

#[test]
fn the_version_is_printed_whatever_the_exit_code() {
    for kind in ready() {
        let said = text(&run(&kind.version(), Path::new(""), Path::new("")));
        let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        assert!(line.chars().any(|c| c.is_ascii_digit()), "{}: {line}", kind.name());
    }
}

#[test]
fn a_converted_filesystem_goes_back_clean() {
    let converted = Variant { conversion: true, ..Variant::default() };
    for kind in ready().filter(|kind| filesystems::accept(*kind, &converted).is_ok()) {
        let image = sparse(GIB);
        make(kind, &converted, image.path());
        check(kind, image.path());
        for argv in kind.revert(&converted) {
            succeed(kind, &argv, image.path());
        }
        check(filesystems::find("ext2").unwrap(), image.path());
    }
}

#[test]
fn a_users_mkfs_arguments_win() {
    let Some(ext4) = ready().find(|kind| kind.name() == "ext4") else { return };
    let image = sparse(GIB);
    let users = ["-b", "1024", "-O", "^has_journal", "-E", "stride=16,lazy_itable_init=1"];
    make(ext4, &Variant { mkfs: users.map(str::to_owned).to_vec(), ..Variant::default() }, image.path());
    let said =
        text(&run(&["dumpe2fs".into(), "-h".into(), DEVICE.into()].to_vec(), image.path(), Path::new("")));
    assert!(said.contains("Block size:               1024"), "{said}");
    assert!(said.contains("RAID stride:              16") && !said.contains("has_journal"), "{said}");
    check(ext4, image.path());
}

/// A discard would give the image's blocks back to the host, all of them.
#[test]
fn mkfs_never_discards() {
    if !has_loop("mkfs_never_discards") {
        return;
    }
    for kind in ready() {
        let image = sparse(GIB);
        rustix::fs::fallocate(&image, rustix::fs::FallocateFlags::empty(), 0, GIB).unwrap();
        let device = Loop::over(image.path());
        make(kind, &Variant::default(), &device.0);
        drop(device);
        let kept = fs::metadata(image.path()).unwrap().blocks() * 512;
        assert!(kept > GIB - GIB / 16, "{} left {kept} bytes of the image", kind.name());
    }
}

#[test]
fn what_is_mounted_is_what_was_asked_for() {
    if !has_loop("what_is_mounted_is_what_was_asked_for") {
        return;
    }
    for kind in ready() {
        let known = fs::read_to_string("/proc/filesystems").unwrap();
        if !kind.kernel().types.iter().any(|need| known.split_whitespace().any(|word| word == *need)) {
            skipped(kind.name(), &format!("this kernel has no {}", kind.kernel().types.join(" or ")));
            continue;
        }
        let image = sparse(GIB);
        let device = Loop::over(image.path());
        make(kind, &Variant::default(), &device.0);
        for options in [vec![], vec!["noatime".to_owned()]] {
            let asked = kind.mount(&Variant { mount: options, ..Variant::default() });
            let site = Site::mount(kind, &asked, &device.0);
            kind.confirm(&asked, &site.seen()).unwrap_or_else(|error| panic!("{}: {error}", kind.name()));
            fs::write(site.0.path().join("file"), kind.name()).unwrap();
        }
        check(kind, &device.0);
    }
}

/// Those whose tools are here, or the one that `FSDERBY_KIND` names.
fn ready() -> impl Iterator<Item = &'static dyn Filesystem> {
    let only = std::env::var("FSDERBY_KIND").ok();
    let kinds =
        TABLE.iter().copied().filter(move |kind| only.as_deref().is_none_or(|only| only == kind.name()));
    kinds.filter(|kind| match missing(*kind) {
        None => true,
        Some(tool) => {
            skipped(kind.name(), &format!("{tool} not installed (try: apt-get install {})", kind.package()));
            false
        }
    })
}

fn missing(kind: &dyn Filesystem) -> Option<String> {
    filesystems::tools(kind).into_iter().find(|tool| program(tool).is_none())
}

/// Unlike a shell of root, the one of a user or of a test runner may lack the sbin folders.
fn program(name: &str) -> Option<PathBuf> {
    ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]
        .iter()
        .map(|folder| Path::new(folder).join(name))
        .find(|p| p.exists())
}

fn window(kind: &dyn Filesystem) -> (u64, u64) {
    (kind.size().start().0, kind.size().end().0)
}

fn sparse(size: u64) -> NamedTempFile {
    let image = NamedTempFile::new().unwrap();
    image.as_file().set_len(size).unwrap();
    image
}

fn run(argv: &Argv, device: &Path, mountpoint: &Path) -> Output {
    let word = |word: &String| match word.as_str() {
        DEVICE => device.as_os_str().to_owned(),
        MOUNTPOINT => mountpoint.as_os_str().to_owned(),
        other => other.into(),
    };
    let program = program(&argv[0]).unwrap_or_else(|| panic!("{} is not installed", argv[0]));
    Command::new(program).args(argv[1..].iter().map(word)).stdin(Stdio::null()).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn succeed(kind: &dyn Filesystem, argv: &Argv, device: &Path) {
    let output = run(argv, device, Path::new(""));
    assert!(output.status.success(), "{}: {argv:?}: {}", kind.name(), text(&output));
}

fn make(kind: &dyn Filesystem, variant: &Variant, device: &Path) {
    for argv in kind.make(variant) {
        succeed(kind, &argv, device);
    }
}

fn check(kind: &dyn Filesystem, device: &Path) {
    let Some(check) = kind.check() else { return };
    let output = run(&check.argv, device, Path::new(""));
    let code = output.status.code().unwrap_or(-1);
    assert!(check.clean.contains(&code), "{}: {code}: {}", kind.name(), text(&output));
}

/// Everything beyond the first superblocks that is not zero is made so.
fn damage(image: &Path) {
    const KEPT: u64 = 128 << 10;
    let file = File::options().write(true).open(image).unwrap();
    let size = file.metadata().unwrap().len();
    file.set_len(KEPT).unwrap();
    file.set_len(size).unwrap();
}

/// A loop device, detached when dropped.
struct Loop(PathBuf);

impl Loop {
    fn over(image: &Path) -> Loop {
        let output = Command::new("losetup").args(["--find", "--show"]).arg(image).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        Loop(text(&output).trim().into())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

/// A mounted filesystem, unmounted when dropped.
struct Site(TempDir);

impl Site {
    fn mount(kind: &dyn Filesystem, asked: &Mount, device: &Path) -> Site {
        let site = Site(TempDir::new().unwrap());
        match asked {
            Mount::Command { argv, .. } => assert!(run(argv, device, site.0.path()).status.success()),
            Mount::Syscall { fstype, options } => {
                let options = if options.is_empty() { "rw".into() } else { options.join(",") };
                let mut mount = Command::new("mount");
                mount.args(["-i", "-t", fstype, "-o", &options]).args([device, site.0.path()]);
                assert!(mount.status().unwrap().success(), "{}", kind.name());
            }
        }
        site
    }

    fn seen(&self) -> Mounted {
        let all = procfs::process::Process::myself().unwrap().mountinfo().unwrap();
        let mount = all.into_iter().find(|mount| mount.mount_point == self.0.path()).unwrap();
        let options = mount.mount_options.into_iter().chain(mount.super_options);
        Mounted {
            source: mount.mount_source.unwrap_or_default(),
            driver: mount.fs_type.clone(),
            fstype: mount.fs_type,
            options: options
                .map(|(key, value)| value.map_or(key.clone(), |value| format!("{key}={value}")))
                .collect(),
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}
