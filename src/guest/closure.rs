//! Finds the libraries of a program by reading ELF headers, without running any program.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, EM_AARCH64, EM_X86_64, FileHeader64, Machine, PT_INTERP};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionTable};
use object::{Endianness, StringTable};

use crate::host::programs;

/// The loader's default folders, searched after those of /etc/ld.so.conf.
const FOLDERS: [&str; 4] = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"];

/// The source of program files: this machine, packages, or a bundle.
pub trait Files {
    /// Whether a file exists at this path; links are followed.
    fn has(&self, path: &Path) -> bool;
    /// The file's content.
    ///
    /// # Errors
    /// If the file cannot be read, or is damaged.
    fn read(&self, path: &Path) -> anyhow::Result<Vec<u8>>;
    /// The loader's additional folders.
    fn libraries(&self) -> Vec<PathBuf>;
    /// The path of a program.
    fn program(&self, name: &str) -> Option<PathBuf> {
        let all = programs::FOLDERS.iter().map(|folder| Path::new(folder).join(name));
        all.into_iter().find(|path| self.has(path))
    }
}

/// This machine's files.
pub struct Here;

impl Files for Here {
    fn has(&self, path: &Path) -> bool {
        path.is_file()
    }

    fn read(&self, path: &Path) -> anyhow::Result<Vec<u8>> {
        Ok(fs::read(path)?)
    }

    fn libraries(&self) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        read_configuration(Path::new("/etc/ld.so.conf"), &mut folders);
        folders
    }

    fn program(&self, name: &str) -> Option<PathBuf> {
        programs::find(name)
    }
}

/// Program files by path, with everything that they load.
pub struct Closure<'f> {
    pub files: BTreeMap<String, Vec<u8>>,
    /// Missing libraries, each with the first file that needs it.
    pub lacks: BTreeMap<String, String>,
    from: &'f dyn Files,
    folders: Vec<PathBuf>,
}

/// The architecture of guests, which is that of their host.
const MACHINE: Machine = if cfg!(target_arch = "aarch64") { EM_AARCH64 } else { EM_X86_64 };

/// The dependencies of an ELF file.
#[derive(Default)]
struct Needs {
    interpreter: Option<String>,
    libraries: Vec<String>,
    search: Vec<String>,
}

impl<'f> Closure<'f> {
    pub fn of(from: &'f dyn Files) -> Self {
        let mut folders = from.libraries();
        folders.extend(FOLDERS.map(PathBuf::from));
        Closure { files: BTreeMap::new(), lacks: BTreeMap::new(), from, folders }
    }

    /// Adds a program or library with its missing dependencies.
    ///
    /// # Errors
    /// If the program cannot run in a guest, or a dependency is missing.
    pub fn add(&mut self, path: &Path) -> anyhow::Result<()> {
        self.follow(path)?;
        match self.lacks.first_key_value() {
            None => Ok(()),
            Some((library, needs)) => bail!("{needs} needs {library}, which is missing"),
        }
    }

    /// Adds a program or library like [`Closure::add`], but notes missing dependencies in [`Closure::lacks`].
    ///
    /// # Errors
    /// If the program cannot run in a guest.
    pub fn follow(&mut self, path: &Path) -> anyhow::Result<()> {
        let name = path.to_str().context("a program's path is not valid UTF-8")?.to_owned();
        if self.files.contains_key(&name) {
            return Ok(());
        }
        let bytes = self.from.read(path).with_context(|| format!("could not read {name}"))?;
        let needs = needs(&bytes).with_context(|| format!("{name} cannot run in the guest"))?;
        self.files.insert(name.clone(), bytes);
        let own = path.parent().unwrap_or(Path::new("/"));
        let interpreter = needs.interpreter.iter().map(|path| (path, Some(PathBuf::from(path))));
        let libraries = needs.libraries.iter().map(|name| (name, self.find(name, &needs.search, own)));
        let all: Vec<(&String, Option<PathBuf>)> = interpreter.chain(libraries).collect();
        for (wanted, found) in all {
            match found.filter(|path| self.from.has(path)) {
                Some(path) => self.follow(&path)?,
                None => {
                    self.lacks.entry(wanted.clone()).or_insert_with(|| name.clone());
                }
            }
        }
        Ok(())
    }

    fn find(&self, library: &str, search: &[String], own: &Path) -> Option<PathBuf> {
        let own = own.to_string_lossy();
        let first = search
            .iter()
            .map(|folder| PathBuf::from(folder.replace("$ORIGIN", &own).replace("${ORIGIN}", &own)));
        let all = first.chain(self.folders.iter().cloned());
        all.map(|folder| folder.join(library)).find(|path| self.from.has(path))
    }
}

/// Whether a program has no dependencies.
pub fn is_static(file: &[u8]) -> anyhow::Result<bool> {
    Ok(needs(file)?.interpreter.is_none())
}

fn needs(file: &[u8]) -> anyhow::Result<Needs> {
    if file.starts_with(b"#!") {
        bail!("the program is a script without an interpreter");
    }
    let header =
        FileHeader64::<Endianness>::parse(file).ok().context("the program is not a 64-bit ELF file")?;
    let endian = header.endian()?;
    let machine = header.e_machine(endian);
    ensure!(machine == MACHINE, "the program is built for another architecture (ELF machine {machine})");
    let mut needs = Needs::default();
    for segment in header.program_headers(endian, file)? {
        if segment.p_type(endian) == PT_INTERP {
            let path = segment.data(endian, file).ok().context("the program's header is damaged")?;
            needs.interpreter = Some(String::from_utf8_lossy(path).trim_end_matches('\0').to_owned());
        }
    }
    let sections = header.sections(endian, file)?;
    if let Some((entries, strings)) = dynamic(&sections, endian, file)? {
        for entry in entries {
            let text = || {
                let bytes = entry.string(endian, strings).ok().context("its dynamic section is damaged")?;
                anyhow::Ok(String::from_utf8_lossy(bytes).into_owned())
            };
            match entry.d_tag(endian) {
                DT_NEEDED => needs.libraries.push(text()?),
                DT_RPATH | DT_RUNPATH => needs.search.extend(text()?.split(':').map(str::to_owned)),
                _ => {}
            }
        }
    }
    Ok(needs)
}

type Dynamic<'a> = (&'a [object::elf::Dyn64<Endianness>], StringTable<'a>);

fn dynamic<'a>(
    sections: &SectionTable<'a, FileHeader64<Endianness>>,
    endian: Endianness,
    file: &'a [u8],
) -> anyhow::Result<Option<Dynamic<'a>>> {
    let Some((entries, index)) = sections.dynamic(endian, file)? else { return Ok(None) };
    Ok(Some((entries, sections.strings(endian, file, index)?)))
}

/// The folders in the loader's configuration and its included files.
fn read_configuration(file: &Path, folders: &mut Vec<PathBuf>) {
    let text = fs::read_to_string(file).unwrap_or_default();
    for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        if let Some(pattern) = line.strip_prefix("include ") {
            let Some((folder, _)) = pattern.trim().rsplit_once('/') else { continue };
            let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
            let mut files: Vec<PathBuf> =
                entries.filter(|p| p.extension().is_some_and(|e| e == "conf")).collect();
            files.sort();
            files.iter().for_each(|file| read_configuration(file, folders));
        } else if line.starts_with('/') {
            folders.push(PathBuf::from(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::elf::EM_RISCV;

    #[test]
    fn a_program_comes_with_its_loader_and_libraries() {
        let Some(program) = programs::find("ls") else { return };
        let mut closure = Closure::of(&Here);
        closure.add(&program).unwrap();
        let names: Vec<&String> = closure.files.keys().collect();
        assert!(names.iter().any(|n| n.contains("libc.so")), "{names:?}");
        assert!(names.iter().any(|n| n.contains("/ld-")), "{names:?}");
    }

    #[test]
    fn a_program_of_another_architecture_is_refused() {
        let mut file = fs::read("/proc/self/exe").unwrap();
        file[0x12..0x14].copy_from_slice(&EM_RISCV.0.to_le_bytes());
        assert!(needs(&file).err().unwrap().to_string().contains("another architecture"));
        assert!(needs(b"#!/bin/sh\n").err().unwrap().to_string().contains("script"));
        assert!(needs(b"hello").is_err());
    }
}
