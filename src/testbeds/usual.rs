//! The user's usual folder of images and usual machine, for testbeds that name none.

use super::{TABLE, TestbedKind};

/// From the configuration; nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usual {
    pub images: Option<String>,
    pub machine: Option<String>,
}

impl Usual {
    /// This testbed, with images in the usual folder unless it names another one.
    pub fn in_images(&self, testbed: &str) -> String {
        changed(testbed, self.images.as_deref(), |kind, argument, folder| kind.with_images(argument, folder))
    }

    /// This testbed, with the usual machine unless it names a machine or its speed.
    pub fn on_machine(&self, testbed: &str) -> String {
        changed(testbed, self.machine.as_deref(), |kind, argument, machine| {
            kind.with_machine(argument, machine)
        })
    }
}

/// This testbed with its machine written out, so that no configuration replaces it.
pub fn written_out(testbed: &str) -> String {
    changed(testbed, Some(""), |kind, argument, _| kind.with_machine(argument, &kind.machine(argument)?))
}

/// Text that names no testbed stays.
fn changed(
    testbed: &str,
    value: Option<&str>,
    with: impl Fn(&dyn TestbedKind, Option<&str>, &str) -> Option<String>,
) -> String {
    let (name, argument) = testbed.split_once(':').map_or((testbed, None), |(name, rest)| (name, Some(rest)));
    let kind = TABLE.iter().find(|kind| kind.name() == name);
    let argument = kind.zip(value).and_then(|(kind, value)| with(*kind, argument, value));
    argument.map_or_else(|| testbed.to_owned(), |argument| format!("{name}:{argument}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbeds::named;

    #[test]
    fn what_a_testbed_leaves_open_is_as_usual_and_what_it_names_stays() {
        let usual = Usual { images: Some("/srv/a".into()), machine: Some("athlon-64".into()) };
        for (text, images, machine) in [
            ("loop", "loop:/srv/a", "loop"),
            ("loop:/b", "loop:/b", "loop:/b"),
            ("vm", "vm:images=/srv/a", "vm"),
            ("vm:disks=2", "vm:disks=2,images=/srv/a", "vm:disks=2"),
            ("vm:images=/b,disks=2", "vm:images=/b,disks=2", "vm:images=/b,disks=2"),
            ("model", "model", "model:hdd-16tb,machine=athlon-64"),
            ("model:sd-card,disks=2", "model:sd-card,disks=2", "model:sd-card,disks=2,machine=athlon-64"),
            ("model:sd-card,mips=300", "model:sd-card,mips=300", "model:sd-card,mips=300"),
            (
                "model:sd-card,machine=server-2024",
                "model:sd-card,machine=server-2024",
                "model:sd-card,machine=server-2024",
            ),
            ("directory:/mnt/a", "directory:/mnt/a", "directory:/mnt/a"),
            ("auto", "auto", "auto"),
            ("nothing", "nothing", "nothing"),
        ] {
            assert_eq!((usual.in_images(text), usual.on_machine(text)), (images.into(), machine.into()));
            let nothing = Usual::default();
            assert_eq!((nothing.in_images(text), nothing.on_machine(text)), (text.into(), text.into()));
        }
    }

    #[test]
    fn what_is_written_out_is_the_same_testbed() {
        for text in
            ["model:hdd-16tb", "model:sd-card,disks=2", "model:sd-card,mips=300", "loop", "vm:disks=2"]
        {
            assert_eq!(named(&written_out(text)), named(text), "{text}");
        }
        assert_eq!(written_out("model:hdd-16tb"), "model:hdd-16tb,machine=server-2012");
    }
}
