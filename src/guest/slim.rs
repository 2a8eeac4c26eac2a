//! Removes from a guest's files bytes that every guest would unpack, read or check, but that do not affect the running programs.

use anyhow::Context;
use object::elf::{FileHeader64, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, SectionIndex};

/// The end of a signed module, after the signature and its description.
const SIGNED: &[u8] = b"~Module signature appended~\n";
/// `struct module_signature`: its last four bytes are the signature's length, big-endian.
const DESCRIPTION: usize = 12;

/// Cuts a program after its last loaded segment; only debuggers use the bytes after it.
pub fn program(mut file: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    let header = FileHeader64::<Endianness>::parse(&*file).context("the program is not an ELF file")?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, &*file)?;
    let loaded = segments.iter().filter(|s| s.p_type(endian) == PT_LOAD);
    let ends = loaded.map(|s| s.p_offset(endian).saturating_add(s.p_filesz(endian)));
    let end = ends.max().context("the program has no segment to load")?;
    file.truncate(usize::try_from(end)?.max(size_of::<FileHeader64<Endianness>>()));
    // The sections are cut off, so e_shoff (8 bytes at 0x28), e_shnum and e_shstrndx (4 bytes at 0x3c) become 0.
    file[0x28..0x30].fill(0);
    file[0x3c..0x40].fill(0);
    Ok(file)
}

/// Removes a module's signature, because its check takes longer than loading the module, and hides the module's type information,
/// which only tracers read. The code is unchanged.
pub fn module(mut file: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    if let Some(signed) = file.strip_suffix(SIGNED) {
        let length = signed.last_chunk::<4>().context("its signature is damaged")?;
        let length = u32::from_be_bytes(*length) as usize + DESCRIPTION;
        let end = signed.len().checked_sub(length).context("its signature is damaged")?;
        file.truncate(end);
    }
    if let Some(name) = name_of_types(&file)? {
        // The kernel searches for a section of this name and ignores a section of another name.
        file[name] = b'-';
    }
    Ok(file)
}

/// The position of the name of section `.BTF`.
fn name_of_types(file: &[u8]) -> anyhow::Result<Option<usize>> {
    let header = FileHeader64::<Endianness>::parse(file).context("the program is not an ELF file")?;
    let endian = header.endian()?;
    let sections = header.sections(endian, file)?;
    let Some((_, section)) = sections.section_by_name(endian, b".BTF") else { return Ok(None) };
    let names = sections.section(SectionIndex(header.shstrndx(endian, file)? as usize))?;
    let at = names.sh_offset(endian) + u64::from(section.sh_name(endian));
    Ok(Some(usize::try_from(at)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_loaded_of_a_program_is_still_whole() {
        let file = std::fs::read("/proc/self/exe").unwrap();
        let interpreter = |file: &[u8]| super::super::closure::is_static(file).unwrap();
        let short = program(file.clone()).unwrap();
        assert!(short.len() < file.len());
        assert_eq!(interpreter(&short), interpreter(&file));
    }

    #[test]
    fn a_signature_is_cut_off_where_it_begins() {
        let file = std::fs::read("/proc/self/exe").unwrap();
        let signed = [&*file, &[7; 300], &[0; 8], &300_u32.to_be_bytes(), SIGNED].concat();
        assert_eq!(module(signed).unwrap().len(), file.len());
        let longer_than_it_is = [&[0; 4][..], &300_u32.to_be_bytes(), SIGNED].concat();
        assert!(module(longer_than_it_is).is_err());
    }

    /// A file with only its header and one segment header, with this offset and size.
    fn claiming(offset: u64, size: u64) -> Vec<u8> {
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(64, 0);
        for (at, number) in [(0x20, 64), (0x34, 64), (0x36, 56), (0x38, 1), (0x3a, 64)] {
            file[at] = number;
        }
        let segment = [u64::from(PT_LOAD.0), offset, 0, 0, size, size, 1];
        file.extend(segment.iter().flat_map(|word| word.to_le_bytes()));
        file
    }

    #[test]
    fn a_header_that_claims_more_or_less_than_there_is_ends_nothing_but_its_file() {
        assert_eq!(program(claiming(0, 0)).unwrap().len(), 64);
        let file = claiming(u64::MAX, 1);
        assert_eq!(program(file.clone()).unwrap().len(), file.len());
    }
}
