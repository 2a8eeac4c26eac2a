//! A package with a kernel: whatever stands in it, it is unpacked within its folder and its bounds, or refused with words; and
//! so are a kernel's image, a module and a program on their own.

use std::fs;

use fsderby::guest::{boot_image, closure, kernel, modules, slim};

use crate::engine::{Limits, Target, USUAL, has_words};
use crate::packages::{deb, elf, image, tar, xz, zstd};

/// The largest image that is taken, and once more while it is copied.
const MOST_BYTES: u64 = 768 << 20;

#[test]
fn a_package_is_unpacked_within_its_bounds_or_refused_with_words() {
    target().run();
}

pub fn target() -> Target {
    let module = elf(b"depends=jbd2,mbcache\0alias=fs-ext4\0softdep=pre: crc32c post: late\0license=GPL\0");
    let modinfo = b"fuse.alias=fs-fuseblk\0virtio_mmio.alias=virtio_mmio\0";
    let builtin = b"kernel/fs/fuse/fuse.ko\nkernel/drivers/virtio/virtio_mmio.ko\nkernel/virtio_blk.ko\nkernel/virtio_console.ko\n";
    let boot = image(&zstd(&module));
    let files: [(&str, &[u8]); 6] = [
        ("./boot/vmlinuz-6.1", &boot),
        ("./lib/modules/6.1/kernel/fs/ext4/ext4.ko", &module),
        ("./lib/modules/6.1/kernel/fs/jbd2/jbd2.ko.xz", &xz(&module)),
        ("./lib/modules/6.1/kernel/fs/mbcache.ko.zst", &zstd(&module)),
        ("./usr/lib/modules/6.1/modules.builtin", builtin),
        ("./lib/modules/6.1/modules.builtin.modinfo", modinfo),
    ];
    let data = tar(&files);
    let seeds = vec![
        deb("data.tar", &data),
        deb("data.tar", &data),
        deb("data.tar.xz", &xz(&data)),
        deb("data.tar.zst", &zstd(&data)),
        module.clone(),
        image(&xz(&module)),
        image(&zstd(&module)),
        [&module[..], &[7; 40], &[0; 8], &40_u32.to_be_bytes(), b"~Module signature appended~\n"].concat(),
    ];
    is_taken(&seeds[0]);
    let words = [
        "data.tar",
        "data.tar.xz",
        "data.tar.zst",
        "../../../../tmp/evil",
        "/etc/evil",
        "boot/vmlinuz-",
        ".ko",
        ".ko.xz",
        "modules.builtin",
        "lib/modules/6.1/kernel/fs/",
        "depends=",
        "alias=",
        "softdep=pre: ",
        "\u{28}\u{b5}",
        "debian-binary",
    ];
    let words = words.map(str::to_owned).to_vec();
    let limits = Limits { bytes: MOST_BYTES, ..USUAL };
    Target { name: "package", seeds, words, inputs: 1000, limits, check: Box::new(check) }
}

/// A seed that is refused at its door would try nothing behind it.
fn is_taken(package: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.deb");
    fs::write(&file, package).unwrap();
    fs::create_dir(folder.path().join("to")).unwrap();
    let index = kernel::unpack(&file, &folder.path().join("to"), String::new()).unwrap();
    assert_eq!(index.modules.chain(["ext4"]).unwrap(), ["mbcache", "jbd2", "ext4"]);
}

fn check(input: &[u8]) {
    let results = [
        modules::describe(input).map(drop),
        closure::is_static(input).map(drop),
        slim::program(input.to_vec()).map(|less| assert!(less.len() <= input.len())),
        slim::module(input.to_vec()).map(|less| assert!(less.len() <= input.len())),
        boot_image::bootable(input.to_vec()).map(drop),
    ];
    results.into_iter().for_each(refused_with_words);
    unpack(input);
}

fn refused_with_words(result: anyhow::Result<()>) {
    if let Err(error) = result {
        has_words(&fsderby::text::visible::message(&format!("{error:#}")));
    }
}

/// Into a folder of its own, beside which nothing may appear.
fn unpack(input: &[u8]) {
    if !input.starts_with(b"!<arch>\n") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, to) = (folder.path().join("a.deb"), folder.path().join("to"));
    fs::write(&file, resealed(input.to_vec())).unwrap();
    fs::create_dir(&to).unwrap();
    refused_with_words(kernel::unpack(&file, &to, String::new()).map(drop));
    let names = |at: &std::path::Path| {
        let entries = fs::read_dir(at).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names(folder.path()), ["a.deb", "to"]);
    assert!(names(&to).iter().all(|name| name == "image" || name == "modules"));
    assert!(names(&to.join("modules")).iter().all(|name| name.ends_with(".ko")));
}

/// With tar's sums, so that what is altered in a header is not refused for that alone.
fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    const SUM: std::ops::Range<usize> = 148..156;
    for end in 512..bytes.len() + 1 {
        let block = &mut bytes[end - 512..end];
        if !block[257..].starts_with(b"ustar") {
            continue;
        }
        block[SUM].fill(b' ');
        let sum: u32 = block.iter().copied().map(u32::from).sum();
        block[SUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    bytes
}
