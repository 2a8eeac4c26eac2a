//! The machines of modelled disks, as data: one file each.
//!
//! ```toml
//! name = "athlon-64"
//! title = "An Athlon 64 of 2 GHz, 2004"
//! story = "A description, and what the model leaves out."
//!
//! [values]
//! mips = { is = 1300, estimate = "the reason for this value" }
//! instructions = { is = ["ssse3"], source = "the document that states it" }
//! ```
//! Each value has a source, or is an estimate with its reason.

use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::files;
use crate::text::names;

/// Every machine by name, with its file.
pub const TABLE: &[(&str, &str)] = &[
    // One row a line.
    ("pentium-mmx-200", include_str!("../../../machines/pentium-mmx-200.toml")),
    ("celeron-533", include_str!("../../../machines/celeron-533.toml")),
    ("athlon-mp-1400", include_str!("../../../machines/athlon-mp-1400.toml")),
    ("pentium-4-2400", include_str!("../../../machines/pentium-4-2400.toml")),
    ("athlon-64", include_str!("../../../machines/athlon-64.toml")),
    ("server-2012", include_str!("../../../machines/server-2012.toml")),
    ("server-2024", include_str!("../../../machines/server-2024.toml")),
];

/// The machine of disks whose file names none.
pub const USUAL: &str = "server-2012";

/// Allowed speeds in million instructions per second; samples halve and double them. `tests/guests/model.rs` runs guests at both
/// ends.
pub const SPEEDS: RangeInclusive<u32> = 100..=8000;

/// Instructions that a CPU may have beyond those of the first 64-bit CPUs, in QEMU's names, each with the further flags that it
/// needs: a kernel that may only use XSAVE to save registers does not boot. Random-number instructions are
/// excluded. So is `erms`, with which the kernel copies by `rep movsb`: QEMU counts an instruction for each byte, so the fastest
/// way of a real CPU would be the slowest one here.
pub const INSTRUCTIONS: &[(&str, &[&str])] = &[
    ("ssse3", &[]),
    ("sse4.1", &[]),
    ("sse4.2", &[]),
    ("popcnt", &[]),
    ("pclmulqdq", &[]),
    ("aes", &[]),
    ("avx", &["xsave", "xsaveopt"]),
    ("f16c", &[]),
    ("fma", &[]),
    ("movbe", &[]),
    ("bmi1", &[]),
    ("bmi2", &[]),
    ("avx2", &[]),
    ("adx", &[]),
];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    pub name: String,
    pub title: String,
    /// Description of the machine, and what the model leaves out.
    pub story: String,
    pub values: Values,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Values {
    /// Million instructions per second.
    pub mips: Sourced<u32>,
    /// The members of [`INSTRUCTIONS`] that the machine's CPU has.
    pub instructions: Sourced<Vec<String>>,
}

/// A value with its source, or the reason for the estimate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sourced<T> {
    pub is: T,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<String>,
}

impl<T> Sourced<T> {
    fn is_sourced(&self) -> bool {
        let said = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
        said(&self.source) != said(&self.estimate)
    }
}

impl<T> fmt::Display for Sourced<T> {
    /// The source.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.source, &self.estimate) {
            (Some(source), _) => to.write_str(source),
            (None, Some(why)) => write!(to, "estimate: {why}"),
            (None, None) => Ok(()),
        }
    }
}

impl Machine {
    /// A shipped machine by name, or a user's by path.
    ///
    /// # Errors
    /// If name or file is wrong.
    pub fn find(machine: &str) -> Result<Machine, String> {
        let text = files::text("machine", TABLE, machine)?;
        Machine::parse(&text).map_err(|e| format!("could not parse the machine {machine}: {e}"))
    }

    /// # Errors
    /// The first error, and what is allowed.
    pub fn parse(text: &str) -> Result<Machine, String> {
        let machine: Machine = toml::from_str(text).map_err(|e| e.message().to_owned())?;
        let Values { mips, instructions } = &machine.values;
        check_speed(mips.is)?;
        if let Some(other) = instructions.is.iter().find(|name| flags(name).is_none()) {
            return Err(names::unknown("instruction", other, INSTRUCTIONS.iter().map(|(name, _)| *name)));
        }
        if !mips.is_sourced() || !instructions.is_sourced() {
            return Err(
                "each value needs its source; write { is = VALUE, source = \"…\" } or { is = VALUE, \
                        estimate = \"why\" }"
                    .into(),
            );
        }
        Ok(machine)
    }
}

/// The shipped machine with this name.
pub fn shipped(name: &str) -> Option<Machine> {
    let (_, text) = TABLE.iter().find(|(shipped, _)| *shipped == name)?;
    Machine::parse(text).ok()
}

/// Whether a machine may have this speed.
///
/// # Errors
/// States the allowed range.
pub fn check_speed(mips: u32) -> Result<(), String> {
    let (least, most) = SPEEDS.into_inner();
    match SPEEDS.contains(&mips) {
        true => Ok(()),
        false => Err(format!(
            "mips={mips} is out of range: {least} to {most} million instructions per second are tested"
        )),
    }
}

/// QEMU's flags for an instruction; `None` if it is unknown.
pub fn flags(instruction: &str) -> Option<Vec<&'static str>> {
    let (name, more) = INSTRUCTIONS.iter().find(|(name, _)| *name == instruction)?;
    Some(more.iter().chain([name]).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_machine_is_understood_and_has_its_files_name() {
        for (name, text) in TABLE {
            let machine = Machine::parse(text).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(machine.name, *name);
            assert!(!machine.title.is_empty() && !machine.story.trim().is_empty());
            assert_eq!(shipped(name), Some(machine));
        }
        assert!(Machine::find(USUAL).is_ok());
    }

    #[test]
    fn what_is_wrong_with_a_machine_is_named() {
        let with = |mips: &str, instructions: &str| {
            Machine::parse(&format!(
                "name = 'm'\ntitle = 'M'\nstory = 's'\n[values]\nmips = {mips}\ninstructions = {instructions}\n"
            ))
        };
        let (fair, none) = ("{ is = 500, source = 'a table' }", "{ is = [], estimate = 'old' }");
        assert_eq!(with(fair, none).map(|m| m.values.mips.is), Ok(500));
        for (mips, instructions, words) in [
            ("{ is = 99, source = 'x' }", none, "100 to 8000"),
            ("{ is = 8001, source = 'x' }", none, "100 to 8000"),
            ("{ is = 500 }", none, "needs its source"),
            ("{ is = 500, source = 'x', estimate = 'y' }", none, "needs its source"),
            (fair, "{ is = ['rdrand'], source = 'x' }", "rdrand"),
            (fair, "{ is = [], source = ' ' }", "needs its source"),
            ("{ is = 'fast', source = 'x' }", none, "invalid type"),
        ] {
            let error = with(mips, instructions).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
