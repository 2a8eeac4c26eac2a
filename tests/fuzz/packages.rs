//! Small well-formed packages, images and modules, from which others are drawn.

use std::io::Write;

use lzma_rust2::{XzOptions, XzWriter};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// A Debian package with this member.
pub fn deb(name: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, data) in [("debian-binary", &b"2.0\n"[..]), ("control.tar", b"no matter"), (name, data)] {
        bytes.extend(format!("{name:<16}{:<32}{:<10}`\n", "", data.len()).into_bytes());
        bytes.extend(data);
        bytes.extend(vec![b'\n'; data.len() % 2]);
    }
    bytes
}

pub fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut data = tar::Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        data.append_data(&mut header, path, *bytes).unwrap();
    }
    data.into_inner().unwrap()
}

pub fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut writer = XzWriter::new(Vec::new(), XzOptions::with_preset(0)).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// A bzImage: one sector of setup code, and the packed kernel with its size behind it.
pub fn image(packed: &[u8]) -> Vec<u8> {
    let mut image = vec![0; 1024];
    image[0x1f1] = 1;
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[0x24c..0x250].copy_from_slice(&(packed.len() as u32 + 4).to_le_bytes());
    [&image[..], packed, &[0; 4]].concat()
}

/// A 64-bit ELF file for this machine with two segments, of which one names an interpreter, and a section `.modinfo`.
pub fn elf(modinfo: &[u8]) -> Vec<u8> {
    const NAMES: &[u8] = b"\0.modinfo\0.shstrtab\0.BTF\0";
    const INTERPRETER: &[u8] = b"/lib64/ld-linux-x86-64.so.2\0";
    let machine: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
    let (segments, sections) = (64, 64 + 2 * 56);
    let data = sections + 4 * 64;
    let [at_info, at_names] = [data, data + modinfo.len()];
    let at_interpreter = at_names + NAMES.len();
    let end = at_interpreter + INTERPRETER.len();
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    push(&mut file, 2, &[1, u64::from(machine)]);
    push(&mut file, 4, &[1]);
    push(&mut file, 8, &[0, segments as u64, sections as u64]);
    push(&mut file, 4, &[0]);
    push(&mut file, 2, &[64, 56, 2, 64, 4, 2]);
    for (kind, offset, size) in [(1, 0, end), (3, at_interpreter, INTERPRETER.len())] {
        push(&mut file, 4, &[kind, 5]);
        push(&mut file, 8, &[offset as u64, 0, 0, size as u64, size as u64, 1]);
    }
    let sections =
        [(0, 0, 0, 0), (1, 1, at_info, modinfo.len()), (10, 3, at_names, NAMES.len()), (20, 1, at_info, 1)];
    for (name, kind, offset, size) in sections {
        push(&mut file, 4, &[name, kind]);
        push(&mut file, 8, &[0, 0, offset as u64, size as u64]);
        push(&mut file, 4, &[0, 0]);
        push(&mut file, 8, &[1, 0]);
    }
    [&file[..], modinfo, NAMES, INTERPRETER].concat()
}

/// Numbers of so many bytes each, little-endian.
fn push(file: &mut Vec<u8>, bytes: usize, numbers: &[u64]) {
    for number in numbers {
        file.extend(&number.to_le_bytes()[..bytes]);
    }
}
