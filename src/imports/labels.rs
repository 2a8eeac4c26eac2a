//! Labels of the results: from the user, else the machine's name, else the file's name.

use std::path::Path;

use crate::exit::Failure;
use crate::schema::import::{Entry, Import, Naming};

/// Longest label in bytes, as in an experiment.
const LONGEST: usize = 100;

/// Sets the label of every entry. `machines` are the names of the entries' machines, in the same order.
///
/// # Errors
/// If a `--label` option matches no entry, or a label is not valid.
pub fn put(import: &mut Import, machines: &[String]) -> Result<(), Failure> {
    for Naming { label, .. } in &import.asked.labels {
        if label.is_empty() || label.len() > LONGEST {
            return Err(Failure::usage(format!(
                "--label: '{label}' is not a label: write 1 to {LONGEST} bytes"
            )));
        }
    }
    let mut used = vec![false; import.asked.labels.len()];
    let Import { asked, sources, entries, .. } = &mut *import;
    for (entry, machine) in entries.iter_mut().zip(machines) {
        let name = &sources[entry.source].name;
        let naming = best(&asked.labels, |of| rank(of, name, entry.line, machine));
        let label = match naming {
            Some(which) => {
                used[which] = true;
                asked.labels[which].label.clone()
            }
            None if !machine.is_empty() => cut(machine),
            None => cut(&Path::new(name).file_stem().unwrap_or_default().to_string_lossy()),
        };
        entry.label = if label.is_empty() { "unnamed".to_owned() } else { label };
    }
    let unused = import.asked.labels.iter().zip(used).find(|(_, used)| !used).map(|(naming, _)| naming);
    unused.map_or(Ok(()), |naming| Err(fits_nothing(naming, import, machines)))
}

/// The index of the most specific `--label` option that matches; of two equally specific options, the last.
fn best(namings: &[Naming], rank: impl Fn(Option<&str>) -> Option<u8>) -> Option<usize> {
    let ranked =
        namings.iter().enumerate().filter_map(|(at, naming)| Some((rank(naming.of.as_deref())?, at)));
    ranked.max().map(|(_, at)| at)
}

fn rank(of: Option<&str>, name: &str, line: usize, machine: &str) -> Option<u8> {
    let is_file = |text: &str| text == name || Path::new(name).file_name().is_some_and(|file| file == text);
    let is_line = |text: &str| {
        let (file, number) = text.rsplit_once(':')?;
        Some(is_file(file) && number.parse() == Ok(line))
    };
    match of {
        None => Some(0),
        Some(text) if is_line(text) == Some(true) => Some(3),
        Some(text) if !machine.is_empty() && text == machine => Some(2),
        Some(text) if is_file(text) => Some(1),
        Some(_) => None,
    }
}

fn cut(text: &str) -> String {
    let end = (0..=text.len().min(LONGEST)).rev().find(|at| text.is_char_boundary(*at));
    text[..end.unwrap_or(0)].to_owned()
}

fn fits_nothing(naming: &Naming, import: &Import, machines: &[String]) -> Failure {
    const NAMED: usize = 12;
    let Some(of) = &naming.of else {
        return Failure::usage(format!(
            "--label {label}: each result needs a different label",
            label = naming.label
        ));
    };
    let said = |(entry, machine): (&Entry, &String)| {
        let machine = if machine.is_empty() { String::new() } else { format!(" ({machine})") };
        super::place(import, entry) + &machine
    };
    let mut there: Vec<String> = import.entries.iter().zip(machines).take(NAMED).map(said).collect();
    there.extend((import.entries.len() > NAMED).then(|| "…".to_owned()));
    let text = format!(
        "--label {of}={label}: no result has the machine, file or line '{of}'\n  try: one of {known}",
        label = naming.label,
        known = there.join(", ")
    );
    Failure::usage(text)
}
