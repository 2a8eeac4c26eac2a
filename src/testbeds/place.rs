//! The testbed of a setup: its kind, and its argument.

use super::{AUTO, LEAST_MEMORY, TABLE, Testbed, TestbedKind};
use crate::schema::units::Bytes;
use crate::text::names;

/// How the kernel's names of disks begin.
const DISKS: [&str; 6] = ["/dev/", "sd", "nvme", "vd", "mmcblk", "dm-"];

/// Prefix of the guest kernel's release in a testbed's text.
const KERNEL: &str = "kernel=";

/// A testbed as a plan names it: `loop`, `directory:PATH`, `model:DISK`. It is not inspected: the argument may name a file, mount
/// or device of another machine.
#[derive(Clone, Copy)]
pub struct Place<'t> {
    text: &'t str,
    /// `None` for [`AUTO`], which is not chosen yet.
    kind: Option<&'static dyn TestbedKind>,
    argument: Option<&'t str>,
}

impl<'t> Place<'t> {
    /// # Errors
    /// If the text names no testbed; [`AUTO`] is one only after it was chosen.
    pub fn parse(text: &'t str) -> Result<Self, String> {
        let (name, argument) =
            text.split_once(':').map_or((text, None), |(name, argument)| (name, Some(argument)));
        let found = TABLE.iter().find(|kind| kind.name() == name).copied();
        let known = || match DISKS.iter().any(|prefix| name.starts_with(prefix)) {
            true => format!(
                "{text} can be another disk after the next boot\n  try: fsderby device list, and --on device:ID"
            ),
            false => names::unknown("testbed", name, TABLE.iter().map(|kind| kind.name())),
        };
        Ok(Place { text, kind: Some(found.ok_or_else(known)?), argument })
    }

    /// The testbed of this text, which may still be [`AUTO`].
    ///
    /// # Errors
    /// If the text names no testbed.
    pub fn asked(text: &'t str) -> Result<Self, String> {
        if text == AUTO { Ok(Place { text, kind: None, argument: None }) } else { Place::parse(text) }
    }

    pub fn text(&self) -> &'t str {
        self.text
    }

    /// The folder, mount or device on the host; empty if none is named.
    pub fn on_host(&self) -> String {
        self.settings(true).join(",")
    }

    /// The settings that compared runs must share: all except places on the host and the kernel, which records state.
    pub fn alike(&self) -> String {
        let name = self.kind.map_or(AUTO, TestbedKind::name);
        let others: Vec<&str> =
            self.settings(false).into_iter().filter(|setting| !setting.starts_with(KERNEL)).collect();
        if others.is_empty() { name.to_owned() } else { format!("{name}:{}", others.join(",")) }
    }

    fn settings(&self, on_host: bool) -> Vec<&'t str> {
        let is_on_host = |setting: &str| self.kind.is_some_and(|kind| kind.is_on_host(setting));
        let all = self.argument.into_iter().flat_map(|argument| argument.split(','));
        all.filter(|setting| is_on_host(setting) == on_host).collect()
    }

    /// Whether a filesystem is created there, rather than an existing one used.
    pub fn makes_filesystem(&self) -> bool {
        self.kind.is_none_or(TestbedKind::makes_filesystem)
    }

    /// Whether repeating a trial gives different figures. [`AUTO`] counts as scattering until it is chosen.
    pub fn scatters(&self) -> bool {
        self.kind.is_none_or(TestbedKind::scatters)
    }

    /// Whether every run there has a candidate twice, however few its rounds.
    pub fn is_always_guarded(&self) -> bool {
        self.kind.is_some_and(TestbedKind::is_always_guarded)
    }

    /// Whether the testbed's disk is sampled anew in each round.
    pub fn samples(&self) -> bool {
        self.kind.is_some_and(|kind| kind.samples(self.argument))
    }

    /// The least memory for trials there; for [`AUTO`] on any testbed.
    pub fn least_memory(&self) -> Bytes {
        let any = || TABLE.iter().map(|kind| kind.least_memory()).max().unwrap_or(LEAST_MEMORY);
        self.kind.map_or_else(any, TestbedKind::least_memory)
    }

    /// The testbed; for [`AUTO`] the first one to try, see [`super::choose`].
    ///
    /// # Errors
    /// States what to write instead of the argument.
    pub fn testbed(&self) -> Result<Box<dyn Testbed>, String> {
        match self.kind {
            Some(kind) => kind.with(self.argument),
            None => super::loop_image::LoopKind.with(None),
        }
    }
}

/// Whether this text names a directory of a mounted filesystem. A text that names no testbed does not.
pub fn is_directory(text: &str) -> bool {
    Place::asked(text).is_ok_and(|place| !place.makes_filesystem())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_without_a_look_at_what_it_names() {
        let place = Place::parse("model:/nowhere/disk.toml,samples=off").unwrap();
        assert!(place.makes_filesystem() && !place.scatters() && !place.samples());
        assert!(place.testbed().is_err(), "the file is not there");
        assert!(Place::parse("model:/nowhere/disk.toml").unwrap().samples());
        assert!(!Place::parse("directory:/nowhere").unwrap().makes_filesystem());
        assert!(Place::parse("mdoel").is_err_and(|e| e.contains("did you mean 'model'?")));
        for disk in ["/dev/sdb1", "sdb", "nvme0n1"] {
            assert!(Place::parse(disk).is_err_and(|e| e.contains("--on device:ID")), "{disk}");
        }
        assert!(Place::parse("lop").is_err_and(|e| e.contains("did you mean 'loop'?")));
    }

    #[test]
    fn what_is_on_the_host_is_told_from_what_must_be_alike() {
        for (text, on_host, alike) in [
            ("loop", "", "loop"),
            ("loop:/srv/a", "/srv/a", "loop"),
            ("directory:/mnt/a", "/mnt/a", "directory"),
            ("vm:kernel=6.12,images=/srv,disks=5", "images=/srv", "vm:disks=5"),
            ("model:/srv/own.toml,offset=1g,kernel=6.1", "/srv/own.toml", "model:offset=1g"),
            ("model:hdd-16tb,samples=off", "", "model:hdd-16tb,samples=off"),
        ] {
            let place = Place::parse(text).unwrap();
            assert_eq!((place.on_host().as_str(), place.alike().as_str()), (on_host, alike), "{text}");
        }
    }

    #[test]
    fn what_is_still_to_be_chosen_is_a_place_where_it_is_asked_for_and_nowhere_else() {
        let asked = Place::asked(AUTO).unwrap();
        assert!(asked.makes_filesystem() && asked.scatters() && !asked.samples());
        assert!(Place::parse(AUTO).is_err());
    }
}
