//! Where the trials of a setup happen: a kind of testbed, and what it is given.

use super::{AUTO, LEAST_MEMORY, TABLE, Testbed, TestbedKind};
use crate::names;
use crate::schema::units::Bytes;

/// Before the kernel that a testbed's guests boot, in its text.
const KERNEL: &str = "kernel=";

/// A place as a plan names it: `loop`, `directory:PATH`, `model:DISK`. Nothing of it is looked at: the argument may name a file, a
/// mount or a device of another machine.
#[derive(Clone, Copy)]
pub struct Place<'t> {
    text: &'t str,
    /// `None` is [`AUTO`], which has not been chosen yet.
    kind: Option<&'static dyn TestbedKind>,
    argument: Option<&'t str>,
}

impl<'t> Place<'t> {
    /// # Errors
    /// When the text names no testbed; [`AUTO`] is one only where it has been chosen.
    pub fn parse(text: &'t str) -> Result<Self, String> {
        let (name, argument) =
            text.split_once(':').map_or((text, None), |(name, argument)| (name, Some(argument)));
        let found = TABLE.iter().find(|kind| kind.name() == name).copied();
        let known = || names::unknown("testbed", name, TABLE.iter().map(|kind| kind.name()));
        Ok(Place { text, kind: Some(found.ok_or_else(known)?), argument })
    }

    /// The same, where it may still have to be chosen.
    ///
    /// # Errors
    /// When the text names no testbed.
    pub fn asked(text: &'t str) -> Result<Self, String> {
        if text == AUTO { Ok(Place { text, kind: None, argument: None }) } else { Place::parse(text) }
    }

    pub fn text(&self) -> &'t str {
        self.text
    }

    /// What of it is on the host: the folder, mount or device; empty where nothing is named.
    pub fn on_host(&self) -> String {
        self.settings(true).join(",")
    }

    /// What must be the same in runs that are compared: all but that, and but the kernel, which is told from their records.
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

    /// Whether a filesystem is made there, or one is taken as it is.
    pub fn makes_filesystem(&self) -> bool {
        self.kind.is_none_or(TestbedKind::makes_filesystem)
    }

    /// Whether the same trial gives other figures each time. What has not been chosen yet is no modelled disk.
    pub fn scatters(&self) -> bool {
        self.kind.is_none_or(TestbedKind::scatters)
    }

    /// Whether every round has another sample of its disk.
    pub fn samples(&self) -> bool {
        self.kind.is_some_and(|kind| kind.samples(self.argument))
    }

    /// The least memory in which trials are carried out there; of [`AUTO`], on whichever it becomes.
    pub fn least_memory(&self) -> Bytes {
        let any = || TABLE.iter().map(|kind| kind.least_memory()).max().unwrap_or(LEAST_MEMORY);
        self.kind.map_or_else(any, TestbedKind::least_memory)
    }

    /// The testbed itself; of [`AUTO`] the one that is tried first, see [`super::choose`].
    ///
    /// # Errors
    /// Says what to write in place of the argument.
    pub fn testbed(&self) -> Result<Box<dyn Testbed>, String> {
        match self.kind {
            Some(kind) => kind.with(self.argument),
            None => super::loop_image::LoopKind.with(None),
        }
    }
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
