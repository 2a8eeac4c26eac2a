//! What the testbed vm cannot use is said before anything is measured, with what to try, and nothing is left.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::support::desk::{Desk, Said, run};
use crate::support::{fsderby, is_root, skipped};
use fsderby::exit;
use fsderby::guest::kernel;
use fsderby::host::programs;

const MISSING: i32 = exit::MISSING as i32;
/// `EM_AARCH64`, and where the machine stands in an ELF header.
const OTHER_MACHINE: (usize, u8) = (18, 183);

fn can_boot(what: &str) -> bool {
    let usable = programs::find("qemu-system-x86_64").is_some() && kernel::find(None).is_some();
    if !usable {
        skipped(what, "there is no QEMU or no kernel (fsderby kernel fetch)");
    }
    usable
}

/// `run --on vm` for one filesystem, with images in the desk's folder.
fn on_vm(desk: &Desk, filesystem: &str, more: &[&str]) -> Vec<String> {
    let testbed = format!("vm:images={}", desk.images().display());
    let arguments = ["run", "--on", &testbed, "--filesystems", filesystem, "--output", "out"];
    [&arguments[..], more].concat().into_iter().map(str::to_owned).collect()
}

fn refused(desk: &Desk, said: &Said, words: &[&str]) {
    desk.refused(said, MISSING, words);
    assert!(!desk.path("out").exists(), "a run was begun");
}

#[test]
fn too_little_memory_is_said() {
    if !can_boot("not enough memory") {
        return;
    }
    let desk = Desk::new();
    for (memory, words) in [("1m", "at least 16 MiB"), ("900g", "needs this much free memory")] {
        let said = desk.say(&on_vm(&desk, "ext4", &["--memory", memory]));
        refused(&desk, &said, &[words, "try: ", "--memory"]);
    }
}

/// In a guest the check costs a boot, so a candidate without options is not tried.
#[test]
fn a_wrong_option_ends_a_run_in_guests_before_its_first_trial() {
    if !can_boot("wrong options in guests") {
        return;
    }
    for (on, filesystem, words) in [
        ("vm", "ext4 label=odd mount=notaime", &["odd", "notaime"][..]),
        ("model:ssd-nvme", "xfs label=odd mkfs='-b size=3000'", &["odd", "3000"]),
    ] {
        let desk = Desk::new();
        let testbed = match on {
            "vm" => format!("vm:images={}", desk.images().display()),
            other => other.to_owned(),
        };
        let common = ["run", "--on", &testbed, "--filesystems", "ext2", "--output", "out", "--size", "512m"];
        let work = ["--memory", "64m", "--workloads", "postmark-quick", "--scale", "1/32", "--rounds", "1"];
        let said = desk.say(&[&common[..], &work, &["--filesystem", filesystem]].concat());
        desk.refused(&said, exit::USAGE.into(), words);
        assert!(!desk.path("out").exists(), "{on}, {filesystem}: a run was begun");
        assert_eq!(fs::read_dir(desk.images()).unwrap().count(), 0, "{on}, {filesystem}: an image is left");
    }
}

/// What root can hide or replace for one command, in a mount namespace of its own.
fn after(desk: &Desk, before: &str, filesystem: &str, more: &[&str]) -> Said {
    let arguments = on_vm(desk, filesystem, more);
    desk.say_after(before, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn without_qemu_or_room_for_an_image_the_error_says_what_to_do() {
    if !is_root() || !can_boot("without QEMU or room") {
        return skipped("without QEMU or room", "hiding them needs root");
    }
    let desk = Desk::new();
    let qemu = programs::find("qemu-system-x86_64").unwrap();
    let said = after(&desk, &format!("mount --bind /dev/null {}", qemu.display()), "ext4", &[]);
    refused(&desk, &said, &["qemu-system-x86_64 is not installed", "apt-get install qemu-system-x86"]);
    let small = format!("mount -t tmpfs -o size=32m none {}", desk.images().display());
    let said = after(&desk, &small, "ext4", &["--size", "512m"]);
    refused(&desk, &said, &[" needs 512 MiB plus ", "vm:images=FOLDER on another disk"]);
}

#[test]
fn a_tool_of_another_architecture_is_refused_by_name_before_anything_runs() {
    let Some(tool) = programs::find("mke2fs").filter(|_| is_root() && can_boot("a tool of another kind"))
    else {
        return skipped("a tool of another architecture", "replacing one needs root, and mke2fs");
    };
    let desk = Desk::new();
    let mut program = fs::read("/bin/true").unwrap();
    program[OTHER_MACHINE.0] = OTHER_MACHINE.1;
    let other = desk.file("other", program);
    fs::set_permissions(&other, PermissionsExt::from_mode(0o755)).unwrap();
    let before = format!("mount --bind {} {}", other.display(), fs::canonicalize(tool).unwrap().display());
    let said = after(&desk, &before, "ext4", &[]);
    refused(
        &desk,
        &said,
        &["no candidate can run on this machine", "mke2fs", "another architecture (ELF machine 183)"],
    );
}

/// A copy of the newest kernel's folder in a cache of its own, its modules by links, with its index changed.
fn cache(desk: &Desk, change: impl FnOnce(&mut serde_json::Value)) -> PathBuf {
    let kernel = kernel::find(None).unwrap();
    let from = kernel.image().parent().unwrap().to_owned();
    let to = desk.path("cache/fsderby/kernels").join(&kernel.index.release);
    fs::create_dir_all(&to).unwrap();
    fs::copy(from.join("image"), to.join("image")).unwrap();
    // Whether guests run on this machine's CPU is known, and need not be found out again.
    let _ = std::os::unix::fs::symlink(from.join("../../kvm"), to.join("../../kvm"));
    fs::create_dir(to.join("modules")).unwrap();
    for module in fs::read_dir(from.join("modules")).unwrap().flatten() {
        std::os::unix::fs::symlink(module.path(), to.join("modules").join(module.file_name())).unwrap();
    }
    let mut index: serde_json::Value =
        serde_json::from_slice(&fs::read(from.join("index.json")).unwrap()).unwrap();
    change(&mut index);
    fs::write(to.join("index.json"), index.to_string()).unwrap();
    fs::write(to.join("index.blake3"), blake3::hash(index.to_string().as_bytes()).to_hex().as_str()).unwrap();
    to
}

#[test]
fn a_layer_that_the_kernel_or_this_machine_lacks_is_said_before_anything_runs() {
    if !can_boot("a kernel without RAID 5") {
        return;
    }
    let desk = Desk::new();
    cache(&desk, |index| drop(index["modules"]["loadable"].as_object_mut().unwrap().remove("raid456")));
    let testbed = format!("vm:disks=3,images={}", desk.images().display());
    let arguments =
        ["run", "--on", &testbed, "--filesystems", "ext4", "--layer", "md:raid5", "--output", "out"];
    let mut command = fsderby();
    command.args(arguments).env("XDG_CACHE_HOME", desk.path("cache"));
    refused(&desk, &run(&mut command), &["the layer md cannot be created", "no module raid456", "--kernel"]);
    let Some(mdadm) = programs::find("mdadm").filter(|_| is_root()) else {
        return skipped("without mdadm", "hiding it needs root, and mdadm");
    };
    let said = desk.say_after(&format!("mount --bind /dev/null {}", mdadm.display()), &arguments);
    refused(&desk, &said, &["the layer md cannot be created", "mdadm", "apt-get install mdadm"]);
}

fn flip_a_bit(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let _ = fs::remove_file(path);
    fs::write(path, bytes).unwrap();
}

fn with_cache(desk: &Desk, filesystem: &str) -> Said {
    let mut command = desk.fsderby(&on_vm(desk, filesystem, &[]));
    run(command.env("XDG_CACHE_HOME", desk.path("cache")))
}

#[test]
fn a_kernel_without_the_filesystems_module_says_so() {
    if !can_boot("a kernel without a module") {
        return;
    }
    let desk = Desk::new();
    cache(&desk, |index| {
        index["modules"]["loadable"].as_object_mut().unwrap().remove("jfs");
    });
    refused(
        &desk,
        &with_cache(&desk, "jfs"),
        &["no candidate can run on this machine", "no module jfs", "kernel fetch"],
    );
}

#[test]
fn a_kernel_that_was_altered_in_the_cache_is_not_booted() {
    if !can_boot("an altered kernel") {
        return;
    }
    for (file, words) in [
        ("image", "in the cache was altered"),
        ("modules/virtio_blk.ko", "in the cache was altered"),
        ("modules/ext4.ko", "ext4 of the kernel"),
        ("modules/jbd2.ko", "jbd2 of the kernel"),
        ("index.json", "index.json was altered"),
    ] {
        let desk = Desk::new();
        let kernel = cache(&desk, |_| ());
        flip_a_bit(&kernel.join(file));
        refused(&desk, &with_cache(&desk, "ext4"), &[words, "try: fsderby kernel fetch"]);
    }
}

#[test]
fn a_kernel_of_an_older_version_is_to_be_fetched_again() {
    if !can_boot("a kernel of an older version") {
        return;
    }
    let desk = Desk::new();
    cache(&desk, |index| index["schema"] = 1.into());
    let words = ["no kernel to boot", "another version", "try: fsderby kernel fetch"];
    refused(&desk, &with_cache(&desk, "ext4"), &words);
}

#[test]
fn a_kernel_that_others_could_change_is_not_booted() {
    if !can_boot("a kernel that others could change") {
        return;
    }
    for part in ["", "fsderby", "fsderby/kernels"] {
        let desk = Desk::new();
        cache(&desk, |_| ());
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(desk.path("cache").join(part), open).unwrap();
        let words = ["no kernel to boot", "other users can write to", "chmod go-w"];
        refused(&desk, &with_cache(&desk, "ext4"), &words);
        let package = package(&desk, &[("./boot/vmlinuz-6.0-test", b"no kernel at all")]);
        let said = fetch_into(&desk, &package);
        desk.refused(
            &said,
            MISSING,
            &["could not fetch a kernel", "other users can write to", "try: chmod go-w"],
        );
    }
}

#[test]
fn without_a_home_there_is_no_kernel_and_no_place_for_one() {
    let desk = Desk::new();
    let homeless =
        |arguments: &[&str]| run(desk.fsderby(arguments).env_remove("HOME").env_remove("XDG_CACHE_HOME"));
    let said = homeless(&["kernel", "list"]);
    assert!(said.code == 0 && said.out.starts_with("none"), "{said:?}");
    let package = package(&desk, &[("./boot/vmlinuz-6.0-test", b"no kernel at all")]);
    let said = homeless(&["kernel", "fetch", package.to_str().unwrap()]);
    desk.refused(&said, MISSING, &["neither HOME nor XDG_CACHE_HOME", "try: set HOME"]);
}

/// A package with these files.
fn package(desk: &Desk, files: &[(&str, &[u8])]) -> PathBuf {
    let mut data = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_cksum();
        data.append_data(&mut header, path, *content).unwrap();
    }
    archive(desk, "data.tar", &data.into_inner().unwrap())
}

/// A package with this as its files.
fn archive(desk: &Desk, name: &str, data: &[u8]) -> PathBuf {
    let path = desk.path("linux-image.deb");
    // An ar archive: of each member a header of text, then its bytes, an even number.
    let mut archive = b"!<arch>\n".to_vec();
    for (name, bytes) in [("debian-binary", &b"2.0\n"[..]), (name, data)] {
        archive.extend(format!("{name:<16}{:<32}{:<10}`\n", "", bytes.len()).bytes());
        archive.extend(bytes);
        archive.extend(vec![b'\n'; bytes.len() % 2]);
    }
    fs::write(&path, archive).unwrap();
    path
}

fn fetch_into(desk: &Desk, package: &Path) -> Said {
    let mut command = fsderby();
    command.args(["kernel", "fetch"]).arg(package).env("XDG_CACHE_HOME", desk.path("cache"));
    run(&mut command)
}

fn fetch(desk: &Desk, package: &Path) -> Said {
    let said = fetch_into(desk, package);
    let kept = fs::read_dir(desk.path("cache/fsderby/kernels")).map_or(0, Iterator::count);
    assert_eq!(kept, 0, "something of it was kept");
    said
}

#[test]
fn packages_without_virtio_without_a_kernel_cut_short_or_altered_do_not_enter_the_cache() {
    let desk = Desk::new();
    let without_virtio = package(&desk, &[("./boot/vmlinuz-6.0-test", b"no kernel at all")]);
    desk.refused(
        &fetch(&desk, &without_virtio),
        MISSING,
        &["6.0-test has no virtio_mmio", "a guest needs to reach"],
    );
    let without_kernel = package(&desk, &[("./usr/share/doc/readme", b"text")]);
    desk.refused(&fetch(&desk, &without_kernel), MISSING, &["contains no kernel"]);
    let whole = package(&desk, &[("./boot/vmlinuz-6.0-test", &[b'k'; 4096])]);
    let bytes = fs::read(&whole).unwrap();
    fs::write(&whole, &bytes[..bytes.len() - 3000]).unwrap();
    desk.refused(&fetch(&desk, &whole), MISSING, &["linux-image.deb"]);
    // The first header of the tar archive, whose checksum no longer fits.
    let mut altered = bytes;
    altered[8 + 60 + 4 + 60 + 10] ^= 1;
    fs::write(&whole, altered).unwrap();
    desk.refused(&fetch(&desk, &whole), MISSING, &["linux-image.deb"]);
}

/// So many mebibytes of one byte, as a .zst file of 32 bytes each: blocks that repeat it 128 KiB (RFC 8878).
fn bomb(mebibytes: usize) -> Vec<u8> {
    [&[0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3][..], &[2, 0, 16, 0].repeat(8 * mebibytes), &[1, 0, 0]].concat()
}

/// So many files of 200 MiB that nobody wants, as data.tar.zst of 7 KB each.
fn files_of_200_mib(number: usize) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_path("usr/share/zeros").unwrap();
    header.set_size(200 << 20);
    header.set_cksum();
    let file = [&[0, 16, 0][..], header.as_bytes(), &[2, 0, 16, 0].repeat(8 * 200)].concat();
    [&[0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3][..], &file.repeat(number), &[1, 0, 0]].concat()
}

#[test]
fn a_small_package_that_unpacks_to_gigabytes_is_refused() {
    let desk = Desk::new();
    let module = "./lib/modules/6.0-test/kernel/fs/ext4/ext4.ko.zst";
    let one_module = package(&desk, &[("./boot/vmlinuz-6.0-test", b"k"), (module, &bomb(70))]);
    desk.refused(&fetch(&desk, &one_module), MISSING, &["ext4.ko.zst", "larger than 64 MiB"]);
    let whole = archive(&desk, "data.tar.zst", &files_of_200_mib(6));
    desk.refused(&fetch(&desk, &whole), MISSING, &["linux-image.deb", "larger than 1 GiB"]);
    let huge = desk.path("huge.deb");
    fs::File::create(&huge).unwrap().set_len(10 << 30).unwrap();
    desk.refused(&fetch(&desk, &huge), MISSING, &["huge.deb has 10 GiB, more than 1 GiB"]);
}

#[test]
fn what_is_no_file_is_no_kernel() {
    let desk = Desk::new();
    fs::create_dir(desk.path("folder.deb")).unwrap();
    let pipe = desk.path("pipe.deb");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for (file, words) in [
        (PathBuf::from("/dev/zero"), "/dev/zero is a device, not a file"),
        (pipe, "pipe.deb is a pipe, not a file"),
        (desk.path("folder.deb"), "folder.deb is a folder, not a file"),
    ] {
        desk.refused(
            &fetch(&desk, &file),
            MISSING,
            &["could not fetch a kernel", words, "try: fsderby kernel fetch"],
        );
    }
}
