//! A kernel's modules and their dependencies, which are read from the module files, so that depmod is not needed.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use object::elf::FileHeader64;
use object::read::elf::ElfFile;
use object::{Endianness, Object, ObjectSection};
use serde::{Deserialize, Serialize};

/// A kernel's modules by name; names are written with `_`, as the kernel shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Modules {
    pub loadable: BTreeMap<String, Module>,
    /// Names and aliases of built-in modules.
    pub builtin: BTreeSet<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Module {
    /// The BLAKE3 of the module's file in the cache.
    pub blake3: String,
    /// Modules to load before this module.
    pub depends: Vec<String>,
    /// Names or aliases that this module requests at run time; these are loaded before it if they are available.
    pub wants: Vec<String>,
    /// Aliases by which this module can be requested.
    pub aliases: Vec<String>,
}

/// A name that is neither a module of the kernel nor built in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no module {0}")]
pub struct NoModule(pub String);

impl Modules {
    /// The modules to load for these names or aliases, dependencies first.
    pub fn chain<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Vec<String>, NoModule> {
        let mut chain = Vec::new();
        for name in names {
            self.append(name, &mut chain, &mut BTreeSet::new())?;
        }
        Ok(chain)
    }

    fn append(
        &self,
        name: &str,
        chain: &mut Vec<String>,
        open: &mut BTreeSet<String>,
    ) -> Result<(), NoModule> {
        for found in self.find(name)? {
            if chain.contains(found) || !open.insert(found.clone()) {
                continue;
            }
            let module = &self.loadable[found];
            for want in &module.wants {
                if self.find(want).is_ok() {
                    self.append(want, chain, open)?;
                }
            }
            for depend in &module.depends {
                self.append(depend, chain, open)?;
            }
            chain.push(found.clone());
        }
        Ok(())
    }

    /// The module of this name, or all modules with this alias; empty if the module is built in.
    fn find(&self, name: &str) -> Result<Vec<&String>, NoModule> {
        let plain = plain(name);
        if let Some((found, _)) = self.loadable.get_key_value(&plain) {
            return Ok(vec![found]);
        }
        let serve = |m: &Module| m.aliases.iter().any(|a| a == name || *a == plain);
        let found: Vec<&String> = self.loadable.iter().filter(|(_, m)| serve(m)).map(|(n, _)| n).collect();
        if found.is_empty() && !self.builtin.contains(&plain) && !self.builtin.contains(name) {
            return Err(NoModule(name.to_owned()));
        }
        Ok(found)
    }

    /// Adds the built-in modules from the texts of `modules.builtin` (paths) and `modules.builtin.modinfo` (`module.key=value`,
    /// each ended by a zero byte).
    pub fn add_builtin(&mut self, paths: &str, modinfo: &[u8]) {
        let stem = |line: &str| line.rsplit('/').next().and_then(|file| file.strip_suffix(".ko")).map(plain);
        self.builtin.extend(paths.lines().filter_map(stem));
        for entry in modinfo.split(|byte| *byte == 0) {
            let alias =
                std::str::from_utf8(entry).ok().and_then(|e| e.split_once('.')?.1.strip_prefix("alias="));
            self.builtin.extend(alias.map(str::to_owned));
        }
    }
}

/// A name as the kernel writes it: `nls_iso8859-1` → `nls_iso8859_1`.
pub fn plain(name: &str) -> String {
    name.replace('-', "_")
}

/// A module's description from its section `.modinfo`: `key=value`, each ended by a zero byte.
pub fn describe(file: &[u8]) -> anyhow::Result<Module> {
    let elf = ElfFile::<FileHeader64<Endianness>>::parse(file).context("the module is not an ELF file")?;
    let section = elf.section_by_name(".modinfo").context("the module has no section .modinfo")?;
    let mut module = Module { blake3: blake3::hash(file).to_hex().to_string(), ..Module::default() };
    for entry in
        section.data().context("the module's section .modinfo cannot be read")?.split(|byte| *byte == 0)
    {
        let Some((key, value)) = std::str::from_utf8(entry).ok().and_then(|e| e.split_once('=')) else {
            continue;
        };
        match key {
            "depends" => module.depends.extend(value.split(',').filter(|d| !d.is_empty()).map(plain)),
            "softdep" => module.wants.extend(before(value)),
            // An alias with a colon names a device, and fsderby requests no module by a device.
            "alias" if !value.contains(':') => module.aliases.push(value.to_owned()),
            _ => {}
        }
    }
    Ok(module)
}

/// The modules that a softdep names after `pre:`, to be loaded first: `pre: a b post: c` → a, b.
fn before(softdep: &str) -> Vec<String> {
    let pre = softdep.split("post:").next().unwrap_or_default().trim();
    pre.strip_prefix("pre:").unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(depends: &[&str], wants: &[&str], aliases: &[&str]) -> Module {
        let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        let blake3 = String::new();
        Module { blake3, depends: owned(depends), wants: owned(wants), aliases: owned(aliases) }
    }

    fn modules() -> Modules {
        let all = [
            ("ext4", module(&["mbcache", "jbd2"], &["crypto-crc32c"], &["fs-ext4", "ext3"])),
            ("mbcache", module(&[], &[], &[])),
            ("jbd2", module(&[], &[], &[])),
            ("crc32c_generic", module(&[], &[], &["crypto-crc32c"])),
            ("crc32c_intel", module(&[], &[], &["crypto-crc32c"])),
            ("turns", module(&[], &["round"], &[])),
            ("round", module(&[], &["turns", "not-there"], &[])),
        ];
        let loadable = all.into_iter().map(|(name, m)| (name.to_owned(), m)).collect();
        let mut modules = Modules { loadable, ..Modules::default() };
        modules.add_builtin("kernel/fs/fuse/fuse.ko\nkernel/lib/crc-t10dif.ko\n", b"fuse.alias=fs-fuseblk\0");
        modules
    }

    #[test]
    fn each_module_comes_after_what_it_needs_and_once() {
        let chain = modules().chain(["ext4", "jbd2"]).unwrap();
        assert_eq!(chain, ["crc32c_generic", "crc32c_intel", "mbcache", "jbd2", "ext4"]);
    }

    #[test]
    fn an_alias_brings_all_that_serve_it() {
        assert_eq!(modules().chain(["crypto-crc32c"]).unwrap(), ["crc32c_generic", "crc32c_intel"]);
    }

    #[test]
    fn what_is_compiled_in_needs_no_loading() {
        assert_eq!(modules().chain(["fuse", "fs-fuseblk", "crc_t10dif"]), Ok(vec![]));
    }

    #[test]
    fn wishes_that_go_in_a_circle_or_nowhere_do_no_harm() {
        assert_eq!(modules().chain(["turns"]).unwrap(), ["round", "turns"]);
    }

    #[test]
    fn a_name_that_is_nowhere_is_an_error() {
        assert_eq!(modules().chain(["reiserfs"]), Err(NoModule("reiserfs".into())));
    }

    #[test]
    fn of_soft_dependencies_only_the_earlier_count() {
        assert_eq!(before("pre: crc32c xxhash64 post: late"), ["crc32c", "xxhash64"]);
        assert!(before("post: late").is_empty());
    }
}
