//! Layers between the disks and the filesystem: one trait, one table.
//!
//! ```text
//! disks ── layer ── layer ── top ── mkfs
//! leaves   built up in this order, taken down in the other
//! ```
//! A layer makes devices from devices: one from all of them (md), or one from each (crypt). Like a filesystem it returns
//! command lines and runs nothing. The host asks it what a guest needs; the agent asks it for the commands to build, assemble
//! and remove it.

pub mod crypt;
pub mod md;

use crate::schema::description::Description;
use crate::schema::setup::{Argv, Named};
use crate::schema::units::Bytes;
use crate::text::names;

/// Every kind of layer.
pub static TABLE: &[&dyn LayerKind] = &[
    // One row a line.
    &md::MdKind,
    &crypt::CryptKind,
];

/// Path prefix of device-mapper devices.
pub const MAPPER: &str = "/dev/mapper/";
/// Most layers in a stack.
const MOST: usize = 8;

/// A kind of layer, written in an experiment as `md:raid5,chunk=64k`.
pub trait LayerKind: Sync {
    fn name(&self) -> &'static str;
    /// Syntax of the layer with its settings.
    fn usage(&self) -> &'static str;
    /// The layer as users write it, for a shell to complete.
    fn examples(&self) -> &'static [&'static str];
    fn description(&self) -> Description;
    /// Programs that the layer's commands call.
    fn tools(&self) -> &'static [&'static str];
    /// Debian package with these programs.
    fn package(&self) -> &'static str;
    /// The layer with the settings after the colon. The error says what to write.
    fn with(&self, settings: &str) -> Result<Box<dyn Layer>, String>;
    /// The layer in a job or record.
    fn of(&self, named: &Named) -> Result<Box<dyn Layer>, String>;
}

pub trait Layer: Send + Sync {
    fn kind(&self) -> &'static dyn LayerKind;
    /// All settings, including defaults, for jobs and records.
    fn named(&self) -> Named;
    /// All settings, as written in an experiment.
    fn written(&self) -> String;
    /// Sizes of the devices that it makes from devices of these sizes; the real ones may be slightly smaller. The error says
    /// why it makes none.
    fn above(&self, below: &[Bytes]) -> Result<Vec<Bytes>, String>;
    /// Kernel modules that the layer needs, by name or alias.
    fn modules(&self) -> Vec<&'static str>;
    /// Whether the disks must hold nothing but zeros.
    fn needs_zeros(&self) -> bool {
        false
    }
    /// Commands that build the layer on devices that contain only zeros.
    fn build(&self, place: &Place) -> Vec<Argv>;
    /// Commands that assemble the layer again from devices that already contain it, such as after a power cut.
    fn assemble(&self, place: &Place) -> Vec<Argv> {
        self.build(place)
    }
    /// Commands that remove the layer, one for each of its devices.
    fn take_down(&self, place: &Place) -> Vec<Argv>;
    /// The devices that the layer makes, in the order of [`Layer::above`].
    fn devices(&self, place: &Place) -> Vec<String>;
    /// Whether the layer works as built, without a background task, according to attributes of its first device (such as
    /// `md/degraded`). An attribute that the kernel does not have is `None`. Checked after building, not after assembling.
    fn is_sound(&self, _attribute: &dyn Fn(&str) -> Option<String>) -> Result<(), String> {
        Ok(())
    }
}

/// Position of a layer in a stack, and the devices below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Position of the layer in the stack, from 0; it makes device names unique in the stack.
    pub at: usize,
    /// On a machine that has other arrays and mappings: eight hex digits that make device names unique there. Empty in a guest.
    pub owner: String,
    pub below: Vec<Below>,
}

/// A device below a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Below {
    pub path: String,
    pub bytes: Bytes,
}

impl Place {
    pub fn paths(&self) -> impl Iterator<Item = String> + '_ {
        self.below.iter().map(|below| below.path.clone())
    }
}

/// Parses layers, from the disks upwards.
///
/// # Errors
/// Names the layer and says what to write.
pub fn parse(texts: &[impl AsRef<str>]) -> Result<Vec<Box<dyn Layer>>, String> {
    if texts.len() > MOST {
        return Err(format!("{} layers are too many, at most {MOST}", texts.len()));
    }
    texts.iter().map(|text| one(text.as_ref())).collect()
}

fn one(text: &str) -> Result<Box<dyn Layer>, String> {
    let (name, settings) = text.split_once(':').unwrap_or((text, ""));
    kind(name)?.with(settings).map_err(|e| format!("layer {name}: {e}"))
}

/// The layers in a job or a record.
///
/// # Errors
/// If another version of fsderby wrote these layers.
pub fn of(named: &[Named]) -> Result<Vec<Box<dyn Layer>>, String> {
    named.iter().map(|named| kind(&named.name)?.of(named)).collect()
}

/// The kind with this name.
///
/// # Errors
/// Suggests the nearest name.
pub fn kind(name: &str) -> Result<&'static dyn LayerKind, String> {
    let found = TABLE.iter().find(|kind| kind.name() == name).copied();
    found.ok_or_else(|| names::unknown("layer", name, TABLE.iter().map(|kind| kind.name())))
}

/// Size of the one device that these layers make from disks of these sizes, and that mkfs is given.
///
/// # Errors
/// Says which layer cannot use the devices below it, or that several devices remain.
pub fn top(layers: &[Box<dyn Layer>], disks: &[Bytes]) -> Result<Bytes, String> {
    let tops = layers.iter().try_fold(disks.to_vec(), |below, layer| layer.above(&below))?;
    match tops[..] {
        [top] => Ok(top),
        _ => Err(format!(
            "a filesystem needs one device, but there are {}\n  try: --layer md:raid0, which joins them, or \
                disks=1",
            tops.len()
        )),
    }
}

/// All commands that build these layers on disks with these names and this size, as far as they are known in advance.
pub fn commands(layers: &[Box<dyn Layer>], disks: &[String], size: Bytes, owner: &str) -> Vec<Argv> {
    let mut below: Vec<Below> = disks.iter().map(|path| Below { path: path.clone(), bytes: size }).collect();
    let mut commands = Vec::new();
    for (at, layer) in layers.iter().enumerate() {
        let sizes: Vec<Bytes> = below.iter().map(|below| below.bytes).collect();
        let place = Place { at, owner: owner.to_owned(), below };
        commands.extend(layer.build(&place));
        let sizes = layer.above(&sizes).unwrap_or_default();
        below =
            layer.devices(&place).into_iter().zip(sizes).map(|(path, bytes)| Below { path, bytes }).collect();
    }
    commands
}

/// Splits a setting `key=value`.
fn pair(setting: &str) -> Result<(&str, &str), String> {
    setting.split_once('=').ok_or_else(|| format!("'{setting}' is not a setting; write key=value"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::units::{GIB, MIB};

    fn written(texts: &[&str]) -> Vec<String> {
        parse(texts).unwrap().iter().map(|layer| layer.written()).collect()
    }

    fn refused(texts: &[&str]) -> String {
        parse(texts).err().unwrap_or_else(|| panic!("{texts:?} are taken"))
    }

    fn top_of(texts: &[&str], disks: usize, size: u64) -> Result<Bytes, String> {
        top(&parse(texts).unwrap(), &vec![Bytes(size); disks])
    }

    #[test]
    fn a_layer_is_written_with_all_its_settings_and_read_back() {
        let all = ["md:raid5,chunk=64k", "crypt", "md:raid1,bitmap=internal", "crypt:sector=4096"];
        let full = written(&all);
        assert_eq!(full[0], "md:raid5,chunk=64k,bitmap=none");
        assert_eq!(full[1], "crypt:cipher=aes-xts-plain64,sector=512");
        assert_eq!(full[2], "md:raid1,bitmap=internal");
        let texts: Vec<&str> = full.iter().map(String::as_str).collect();
        assert_eq!(written(&texts), full);
        let named: Vec<Named> = parse(&texts).unwrap().iter().map(|layer| layer.named()).collect();
        let back: Vec<String> = of(&named).unwrap().iter().map(|layer| layer.written()).collect();
        assert_eq!(back, full);
    }

    #[test]
    fn what_no_layer_understands_is_refused_with_what_to_write() {
        assert!(refused(&["mdd:raid5"]).contains("did you mean 'md'?"));
        assert!(refused(&["md"]).contains("raid5"));
        assert!(refused(&["md:raid55"]).contains("did you mean 'raid5'?"));
        assert!(refused(&["md:raid5,chunk=3k"]).contains("power of 2"));
        assert!(refused(&["md:raid5,chnk=64k"]).contains("did you mean 'chunk'?"));
        assert!(refused(&["md:raid1,chunk=64k"]).contains("has no chunks"));
        assert!(refused(&["md:raid0,bitmap=internal"]).contains("no bitmap"));
        assert!(refused(&["crypt:cipher=aex-xts-plain64"]).contains("did you mean 'aes'?"));
        assert!(refused(&["crypt:cipher=aes"]).contains("aes-xts-plain64"));
        assert!(refused(&["crypt:sector=1000"]).contains("512"));
        assert!(refused(&["crypt"; 9]).contains("at most 8"));
        assert!(of(&[Named { name: "zip".into(), ..Named::default() }]).is_err());
    }

    #[test]
    fn a_stack_has_as_much_room_as_its_layers_leave() {
        assert_eq!(top_of(&[], 1, GIB), Ok(Bytes(GIB)));
        assert_eq!(top_of(&["crypt"], 1, GIB), Ok(Bytes(GIB)));
        let room = GIB - MIB;
        let room = room - room % (512 << 10);
        for (text, disks, of) in
            [("md:raid0", 3, 3.0), ("md:raid1", 3, 1.0), ("md:raid5", 5, 4.0), ("md:raid10", 4, 2.0)]
        {
            assert_eq!(top_of(&[text], disks, GIB), Ok(Bytes((room as f64 * of) as u64)), "{text}");
        }
        assert_eq!(top_of(&["crypt", "md:raid5", "crypt"], 5, GIB), Ok(Bytes(room * 4)));
    }

    #[test]
    fn too_few_disks_and_a_stack_that_ends_in_several_devices_are_refused() {
        let error = |texts: &[&str], disks| top_of(texts, disks, GIB).unwrap_err();
        assert!(
            error(&["md:raid5"], 2).contains("md:raid5 needs at least 3 disks; 2 are given\n  try: disks=3")
        );
        assert!(error(&["md:raid0"], 1).contains("at least 2 disks; 1 is given"));
        assert!(error(&["md:raid1", "md:raid1"], 2).contains("1 is given"));
        assert!(error(&[], 2).contains("there are 2"));
        assert!(error(&["crypt"], 3).contains("there are 3"));
        assert!(top_of(&["md:raid0"], 2, 1 << 20).unwrap_err().contains("too small"));
    }

    #[test]
    fn a_stack_is_built_from_the_disks_up() {
        let disks: Vec<String> = ["/dev/vda", "/dev/vdb", "/dev/vdc"].map(str::to_owned).into();
        let commands = commands(&parse(&["md:raid5", "crypt"]).unwrap(), &disks, Bytes(GIB), "");
        let lines: Vec<String> = commands.iter().map(|argv| argv.join(" ")).collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines[0].starts_with("mdadm --create /dev/md0 ")
                && lines[0].ends_with(" /dev/vda /dev/vdb /dev/vdc")
        );
        assert!(
            lines[1].starts_with("dmsetup create fsderby-1-0 ") && lines[1].contains(" 0 /dev/md0 0"),
            "{lines:?}"
        );
    }

    #[test]
    fn every_layer_names_its_tools_and_modules() {
        for layer in parse(&["md:raid0", "crypt"]).unwrap() {
            assert!(!layer.kind().tools().is_empty() && !layer.modules().is_empty(), "{}", layer.written());
        }
    }
}
