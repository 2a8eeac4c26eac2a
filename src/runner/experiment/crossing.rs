//! Crosses filesystems with the values of factors, and resolves their testbeds.

use std::collections::HashSet;

use serde::Deserialize;

use super::entry::FilesystemEntry;
use crate::exit::Failure;
use crate::schema::units::Bytes;
use crate::testbeds::{self, Start, Usual};

/// `[cross]`: each filesystem enters once with each of these values, all in every round. Values that an entry states itself are
/// not crossed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cross {
    pub on: Vec<String>,
    pub kernel: Vec<String>,
    pub memory: Vec<Bytes>,
    pub cpus: Vec<u32>,
    pub state: Vec<String>,
}

/// The keys of `[cross]`, for suggestions.
pub const CROSS_KEYS: [&str; 5] = ["on", "kernel", "memory", "cpus", "state"];

impl Cross {
    /// # Errors
    /// If a value is listed twice.
    pub fn apply(&self, mut entries: Vec<FilesystemEntry>) -> Result<Vec<FilesystemEntry>, Failure> {
        entries = crossed(entries, ("on", &self.on), |e| &mut e.on, |on| on.clone())?;
        entries = crossed(entries, ("kernel", &self.kernel), |e| &mut e.kernel, |kernel| kernel.clone())?;
        entries = crossed(entries, ("memory", &self.memory), |e| &mut e.memory, |m| m.written())?;
        entries = crossed(entries, ("cpus", &self.cpus), |e| &mut e.cpus, |cpus| cpus.to_string())?;
        // A label has no slash, unlike the scale of a state.
        crossed(entries, ("state", &self.state), |e| &mut e.state, |state| state.replace('/', " of "))
    }
}

/// Repeats each entry with each of these values and adds the value to the label; a single value changes no label.
fn crossed<T: Clone + PartialEq>(
    entries: Vec<FilesystemEntry>,
    (factor, values): (&str, &[T]),
    own: fn(&mut FilesystemEntry) -> &mut Option<T>,
    said: fn(&T) -> String,
) -> Result<Vec<FilesystemEntry>, Failure> {
    let twice = values.iter().enumerate().find(|(at, value)| values[..*at].contains(*value));
    if let Some((_, twice)) = twice.filter(|(_, value)| !testbeds::is_directory(&said(value))) {
        let text = format!(
            "{factor} {} is given twice, which would repeat the same candidates\n  try: each value once",
            said(twice)
        );
        return Err(Failure::usage(text));
    }
    let names = in_labels(told_apart(values.iter().map(said).collect()));
    let each = |mut entry: FilesystemEntry| -> Vec<FilesystemEntry> {
        if values.is_empty() || own(&mut entry).is_some() {
            return vec![entry];
        }
        let with = |(value, name): (&T, &String)| {
            let mut one = entry.clone();
            *own(&mut one) = Some(value.clone());
            if values.len() > 1 {
                one.label = Some(format!("{}, {factor} {}", entry.label(), name));
            }
            one
        };
        values.iter().zip(&names).map(with).collect()
    };
    Ok(entries.into_iter().flat_map(each).collect())
}

/// The values without their common parts, such as two disks without their common machine; unchanged if they would become equal.
fn told_apart(values: Vec<String>) -> Vec<String> {
    let parts = |value: &str| -> Vec<String> { value.split([':', ',']).map(str::to_owned).collect() };
    let all: Vec<Vec<String>> = values.iter().map(|value| parts(value)).collect();
    let own = |one: &Vec<String>| -> String {
        let is_common = |part: &&String| all.iter().all(|other| other.contains(*part));
        one.iter().filter(|part| !is_common(part)).cloned().collect::<Vec<_>>().join(",")
    };
    let short: Vec<String> = all.iter().map(own).collect();
    let are_apart = short.iter().all(|one| !one.is_empty())
        && short.iter().collect::<HashSet<_>>().len() == all.iter().collect::<HashSet<_>>().len();
    if are_apart { short } else { values }
}

/// Texts of these values for labels, which must have no slash: of a path the last part, or all parts if two last parts are equal.
/// If the same directory occurs twice, the second text ends with a word that tells them apart.
pub(super) fn in_labels(values: Vec<String>) -> Vec<String> {
    let last = |value: &String| value.rsplit('/').next().unwrap_or(value).to_owned();
    let whole = |value: &String| value.trim_matches('/').replace('/', "-");
    let is_clear = |value: &String| values.iter().all(|other| other == value || last(other) != last(value));
    let short = |value| if is_clear(value) && !last(value).is_empty() { last(value) } else { whole(value) };
    let before = |at: usize| values[..at].iter().filter(|value| **value == values[at]).count();
    let told = |(at, value)| match before(at) {
        0 => short(value),
        1 => format!("{}, again", short(value)),
        n => format!("{}, again {n}", short(value)),
    };
    values.iter().enumerate().map(told).collect()
}

/// The testbed that an entry states, with its kernel; `None` if it states neither. `common` is the experiment's, as written.
///
/// # Errors
/// If there is no such testbed, or it boots no kernel.
pub fn testbed_of(entry: &FilesystemEntry, common: &str, usual: &Usual) -> Result<Option<String>, String> {
    let Some(release) = &entry.kernel else {
        return match &entry.on {
            Some(on) => Ok(Some(testbeds::named(&usual.in_images(on))?)),
            None => Ok(None),
        };
    };
    let on = entry.on.as_deref().unwrap_or(common);
    // `auto` becomes a testbed only with its kernel.
    let with_kernel = with_kernel(&usual.in_images(on), release)?;
    testbeds::named(&if on == testbeds::AUTO { usual.in_images(&with_kernel) } else { with_kernel }).map(Some)
}

/// This testbed with this cached kernel; for `auto` the first testbed that boots kernels.
pub fn with_kernel(on: &str, release: &str) -> Result<String, String> {
    if release.is_empty() || release.contains(['/', ',']) {
        return Err(format!(
            "'{release}' is not a kernel release\n  try: kernel = \"6.12\", one of fsderby kernel list"
        ));
    }
    if on == testbeds::AUTO {
        return Ok(testbeds::booting(release)?.name());
    }
    let mut testbed = testbeds::parse(on)?;
    testbeds::start_from(&mut *testbed, Start::Kernel(release)).map_err(|missing| missing.to_string())?;
    Ok(testbed.name())
}

/// This testbed with guests from this cached bundle; for `auto` the first testbed that can start guests from a bundle.
pub fn with_guest(on: &str, id: &str) -> Result<String, String> {
    if on == testbeds::AUTO {
        return Ok(testbeds::starting_from(id)?.name());
    }
    let mut testbed = testbeds::parse(on)?;
    testbeds::start_from(&mut *testbed, Start::Bundle(id)).map_err(|missing| missing.to_string())?;
    Ok(testbed.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(cross: &Cross, entries: &[&str]) -> Vec<String> {
        let entries = entries.iter().map(|e| e.parse().unwrap()).collect();
        cross.apply(entries).unwrap().iter().map(|e| e.label().to_owned()).collect()
    }

    #[test]
    fn each_filesystem_enters_with_each_value_and_is_called_so() {
        let kernel = vec!["6.1".to_owned(), "6.12".to_owned()];
        let cross = Cross { kernel, cpus: vec![2], ..Cross::default() };
        assert_eq!(
            labels(&cross, &["ext4", "xfs label=mine", "btrfs kernel=6.6"]),
            ["ext4, kernel 6.1", "ext4, kernel 6.12", "mine, kernel 6.1", "mine, kernel 6.12", "btrfs"]
        );
        let cross =
            Cross { memory: vec![Bytes(1 << 26), Bytes(1 << 30)], cpus: vec![1, 2], ..Cross::default() };
        assert_eq!(
            labels(&cross, &["ext4"]),
            [
                "ext4, memory 64m, cpus 1",
                "ext4, memory 64m, cpus 2",
                "ext4, memory 1g, cpus 1",
                "ext4, memory 1g, cpus 2"
            ]
        );
    }

    #[test]
    fn one_value_changes_no_label_and_none_changes_nothing() {
        let one = Cross { on: vec!["vm".into()], ..Cross::default() };
        assert_eq!(labels(&one, &["ext4"]), ["ext4"]);
        let entries = vec!["ext4 label=a".parse().unwrap()];
        assert_eq!(Cross::default().apply(entries.clone()).unwrap(), entries);
    }

    #[test]
    fn a_path_gives_its_end_to_the_label() {
        let on = vec!["vm:images=/srv/a".to_owned(), "vm:images=/srv/b".to_owned()];
        assert_eq!(labels(&Cross { on, ..Cross::default() }, &["ext4"]), ["ext4, on a", "ext4, on b"]);
    }

    #[test]
    fn what_all_values_say_is_in_no_label() {
        let on = |values: &[&str]| {
            let on = values.iter().map(|on| (*on).to_owned()).collect();
            labels(&Cross { on, ..Cross::default() }, &["ext4"])
        };
        assert_eq!(
            on(&["model:hdd-16tb,machine=athlon-64", "model:sd-card,machine=athlon-64"]),
            ["ext4, on hdd-16tb", "ext4, on sd-card"]
        );
        assert_eq!(on(&["loop", "vm"]), ["ext4, on loop", "ext4, on vm"]);
        // The longer text already contains the shorter one's information.
        assert_eq!(
            on(&["model:hdd-16tb", "model:hdd-16tb,mips=500"]),
            ["ext4, on model:hdd-16tb", "ext4, on model:hdd-16tb,mips=500"]
        );
    }

    #[test]
    fn a_value_that_stands_twice_is_refused() {
        let cross = Cross { kernel: vec!["6.1".into(), "6.1".into()], ..Cross::default() };
        let error = cross.apply(vec!["ext4".parse().unwrap()]).unwrap_err();
        assert!(error.what.contains("kernel 6.1 is given twice"), "{error}");
    }

    #[test]
    fn a_kernel_becomes_a_setting_of_the_testbed() {
        assert_eq!(with_kernel("vm", "6.1"), Ok("vm:kernel=6.1".into()));
        assert_eq!(with_kernel("vm:kernel=6.12,images=/srv", "6.1"), Ok("vm:kernel=6.1,images=/srv".into()));
        assert_eq!(with_kernel("auto", "6.1"), Ok("vm:kernel=6.1".into()));
        assert!(with_kernel("loop", "6.1").is_err_and(|e| e.contains("boots no kernel")));
        assert!(with_kernel("vm", "/boot/x").is_err());
    }

    #[test]
    fn a_guest_becomes_a_setting_of_the_testbed_and_brings_its_kernel() {
        let id = "0123456789abcdef";
        assert_eq!(with_guest("auto", id), Ok(format!("vm:guest={id}")));
        assert_eq!(with_guest("model:hdd-16tb", id), Ok(format!("model:hdd-16tb,guest={id}")));
        assert_eq!(
            with_guest(&format!("vm:disks=2,guest={}", "f".repeat(16)), id),
            Ok(format!("vm:disks=2,guest={id}"))
        );
        assert!(with_guest("loop", id).is_err_and(|e| e.contains("starts no guests")));
        assert!(with_guest("vm:kernel=6.1", id).is_err_and(|e| e.contains("contains its own kernel")));
        assert!(
            with_kernel(&format!("vm:guest={id}"), "6.1")
                .is_err_and(|e| e.contains("contains its own kernel"))
        );
        assert!(with_guest("vm", "../x").is_err());
    }
}
