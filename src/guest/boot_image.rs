//! The kernel inside a bzImage: an ELF file that QEMU boots directly, which saves the guest the unpacking.
//!
//! ```text
//! 0x1f1 u8   number of sectors of the setup code, without the first sector
//! 0x202 "HdrS"
//! 0x248 u32  offset of the payload from the end of the setup code
//! 0x24c u32  length of the payload; its last four bytes are its unpacked size
//! ```
//! Source: `Documentation/arch/x86/boot.rst` of the kernel.

use anyhow::{Context, ensure};

use super::bounded::{Bounded, IMAGE, xz, zstd};

const SECTOR: usize = 512;
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const XZ: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
const ELF: [u8; 4] = [0x7f, b'E', b'L', b'F'];

/// The file for QEMU to boot: the ELF file inside the image if the compression is known, otherwise the image itself.
pub fn bootable(image: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    if image.starts_with(&ELF) {
        return Ok(image);
    }
    let payload = payload(&image)?;
    let elf = if payload.starts_with(&ZSTD) {
        Bounded::new(zstd(payload)?, IMAGE).all()?
    } else if payload.starts_with(&XZ) {
        Bounded::new(xz(payload, false), IMAGE).all()?
    } else {
        return Ok(image);
    };
    ensure!(elf.starts_with(&ELF), "the kernel image contains no ELF file");
    Ok(elf)
}

/// The release in the header of an x86 image, the first word of `kernel_version` (`Documentation/arch/x86/boot.rst`).
pub fn release(image: &[u8]) -> anyhow::Result<String> {
    const SETUP: usize = 0x200;
    ensure!(image.get(0x202..0x206) == Some(b"HdrS"), "the file is not an x86 kernel image");
    let at = image.get(0x20e..0x210).and_then(|b| <[u8; 2]>::try_from(b).ok()).map(u16::from_le_bytes);
    let text = at.filter(|at| *at > 0).and_then(|at| image.get(SETUP + usize::from(at)..));
    let word = text.and_then(|text| text.split(|byte| *byte == 0 || byte.is_ascii_whitespace()).next());
    let word =
        word.filter(|word| !word.is_empty()).context("the kernel image has no release in its header")?;
    Ok(str::from_utf8(word).context("the kernel's release is not text")?.to_owned())
}

fn payload(image: &[u8]) -> anyhow::Result<&[u8]> {
    ensure!(image.get(0x202..0x206) == Some(b"HdrS"), "the file is not an x86 kernel image");
    let word = |at: usize| {
        let bytes = image.get(at..at + 4).and_then(|b| <[u8; 4]>::try_from(b).ok());
        bytes.map(|b| u32::from_le_bytes(b) as usize)
    };
    let (offset, length) = word(0x248).zip(word(0x24c)).context("the kernel image is truncated")?;
    let begin = (usize::from(image[0x1f1]) + 1) * SECTOR + offset;
    let end = begin.checked_add(length.saturating_sub(4)).context("the kernel image is damaged")?;
    image.get(begin..end).context("the kernel image is truncated")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_kernel_or_cut_short_is_refused() {
        assert!(bootable(b"hello".to_vec()).is_err());
        let mut image = vec![0; 0x260];
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x24c] = 0xff;
        assert!(bootable(image).unwrap_err().to_string().contains("truncated"));
    }

    #[test]
    fn a_kernel_that_unpacks_to_more_than_any_has_is_refused() {
        // 300 MiB in 10 KB: a zstd frame of blocks that each repeat one byte 128 KiB (RFC 8878).
        let block = [2, 0, 16, 7];
        let payload = [&ZSTD[..], &[0, 7 << 3], &block.repeat(8 * 300), &[1, 0, 0], &[0; 4]].concat();
        let mut image = vec![0; SECTOR];
        image.resize(2 * SECTOR, 0);
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x248..0x24c].copy_from_slice(&0x200_u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&u32::try_from(payload.len()).unwrap().to_le_bytes());
        image.extend(payload);
        let error = format!("{:#}", bootable(image).unwrap_err());
        assert!(error.contains("larger than 256 MiB"), "{error}");
    }

    #[test]
    fn the_release_is_the_first_word_of_the_header_and_its_absence_is_told() {
        let mut image = vec![0_u8; 0x400];
        assert!(release(&image).unwrap_err().to_string().contains("not an x86 kernel image"));
        image[0x202..0x206].copy_from_slice(b"HdrS");
        assert!(release(&image).unwrap_err().to_string().contains("no release"));
        let text = b"6.12.3-mine+ (me@here) #7 SMP\0";
        image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        image[0x300..0x300 + text.len()].copy_from_slice(text);
        assert_eq!(release(&image).unwrap(), "6.12.3-mine+");
        image[0x20e..0x210].copy_from_slice(&0xffff_u16.to_le_bytes());
        assert!(release(&image).is_err(), "beyond the end");
        image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        image[0x300] = 0xff;
        assert!(release(&image).unwrap_err().to_string().contains("not text"));
    }
}
