//! Programs of the user's own as workloads: commands with their input files, found and hashed once, and job files of fio.

use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::entry::WorkloadEntry;
use crate::exit::Failure;
use crate::host::given;
use crate::schema::plan::{Plan, PlannedWork};
use crate::schema::units::{Bytes, MIB};
use crate::workloads::command::{self, Parameters};
use crate::workloads::{Workload, fio, programs as own};

/// A command of the user, as options of `run` state it.
#[derive(Clone, Debug, Default)]
pub struct Asked<'a> {
    pub command: &'a str,
    pub prepare: Option<&'a str>,
    pub input: &'a [PathBuf],
    /// Whether every exit code counts as success.
    pub ignores_failure: bool,
}

/// The workload of this command, with its input files as seen from the current folder.
///
/// # Errors
/// If an input cannot be read, or the command is empty.
pub fn entry(asked: &Asked<'_>) -> Result<WorkloadEntry, Failure> {
    let mut changed = Table::new();
    changed.insert("command".into(), asked.command.into());
    if let Some(prepare) = asked.prepare {
        changed.insert("prepare".into(), prepare.into());
    }
    if asked.ignores_failure {
        changed.insert("exit_codes".into(), "any".into());
    }
    if !asked.input.is_empty() {
        let paths = asked.input.iter().map(|path| Value::String(path.display().to_string())).collect();
        changed.insert("input".into(), Value::Array(paths));
    }
    let mut entry = WorkloadEntry { set: String::new(), label: None, clients: None, changed };
    resolve(&mut entry, Path::new(""))?;
    Ok(entry)
}

/// Makes the input paths of a command absolute, from this folder, and adds their hashes. Those with a hash are as a plan has them.
///
/// # Errors
/// If one cannot be read, or the command is not understood.
pub fn resolve(entry: &mut WorkloadEntry, from: &Path) -> Result<(), Failure> {
    let label = label(entry);
    let fault = |e: String| Failure::usage(format!("workload {label}: {e}"));
    if let Some(job) = entry.changed.remove("fio") {
        return read_job(entry, job, from).map_err(fault);
    }
    if !entry.changed.contains_key("command") {
        let ways = "set = 'NAME' for a ready parameter set, command = 'LINE', or fio = 'FILE'";
        return Err(fault(format!("write {ways}")));
    }
    if let Some(Value::Array(inputs)) = entry.changed.get_mut("input") {
        for input in inputs {
            let Some(path) = input.as_str() else { continue };
            let found = fs::canonicalize(from.join(path));
            let hashed = found.and_then(|path| Ok((own::hash(&path)?, path)));
            let (blake3, path) = hashed.map_err(|e| {
                fault(format!("could not read the input {path}: {e}\n  try: a file or folder"))
            })?;
            let mut table = Table::new();
            table.insert("path".into(), path.display().to_string().into());
            table.insert("blake3".into(), blake3.into());
            *input = Value::Table(table);
        }
    }
    Parameters::parse(&entry.changed).map(drop).map_err(fault)
}

/// The workload of this job file of fio, as seen from the current folder.
///
/// # Errors
/// If it cannot be read, has an option that may not run, or there is no fio.
pub fn of_job(path: &Path) -> Result<WorkloadEntry, Failure> {
    let changed = Table::from_iter([("fio".to_owned(), Value::String(path.display().to_string()))]);
    let mut entry = WorkloadEntry { set: String::new(), label: None, clients: None, changed };
    resolve(&mut entry, Path::new(""))?;
    Ok(entry)
}

/// Largest job file of fio.
const LONGEST_JOB: Bytes = Bytes(MIB);

/// The text of a job file becomes part of the plan.
fn read_job(entry: &mut WorkloadEntry, job: Value, from: &Path) -> Result<(), String> {
    let path = job.as_str().ok_or("fio: write the path of a job file")?;
    let text = given::text(&from.join(path), LONGEST_JOB)
        .map_err(|e| format!("could not read the job file {path}: {e}"))?;
    entry.label.get_or_insert(stem(path));
    entry.changed.insert("job".into(), text.into());
    fio::Parameters::parse(&entry.changed).map(drop).map_err(|e| format!("{path}: {e}"))
}

/// The engine of a workload without a set.
pub fn engine(entry: &WorkloadEntry) -> &'static dyn Workload {
    if entry.changed.contains_key("job") { &fio::Fio } else { &command::Command }
}

/// The name of a job file without its extension.
fn stem(path: &str) -> String {
    let stem = Path::new(path).file_stem();
    stem.map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The workload's label, or the name of its program or job file if it has no label.
pub fn label(entry: &WorkloadEntry) -> String {
    if let (None, Some(Value::String(path))) = (&entry.label, entry.changed.get("fio")) {
        return stem(path);
    }
    let program = match entry.changed.get("command") {
        Some(Value::String(text)) => text.split_whitespace().next(),
        Some(Value::Array(words)) => words.first().and_then(Value::as_str),
        _ => None,
    };
    let name = program.and_then(|program| program.rsplit('/').next()).filter(|name| !name.is_empty());
    entry.label.clone().unwrap_or_else(|| name.unwrap_or("command").to_owned())
}

/// The options of `run` that give the works of this plan; `None` if it has others than commands, or commands with more keys.
pub fn options(plan: &Plan) -> Option<Vec<String>> {
    let text = |work: &PlannedWork, key: &str| Some(work.work.parameters.get(key)?.as_str()?.to_owned());
    let input = |work: &PlannedWork| -> Vec<String> {
        let all = work.work.parameters.get("input").and_then(Value::as_array);
        let path = |input: &Value| Some(input.get("path")?.as_str()?.to_owned());
        all.into_iter().flatten().filter_map(path).collect()
    };
    let first = plan.workloads.first()?;
    let rest = |work: &PlannedWork| (text(work, "prepare"), text(work, "exit_codes"), input(work));
    let (prepare, exit_codes, inputs) = rest(first);
    let mut options = Vec::new();
    for work in &plan.workloads {
        let command = text(work, "command").filter(|_| work.work.engine == command::NAME)?;
        let known = |key: &String| ["command", "prepare", "exit_codes", "input"].contains(&key.as_str());
        let is_plain = work.work.parameters.keys().all(known) && work.clients.is_none();
        let named = WorkloadEntry {
            set: String::new(),
            label: None,
            clients: None,
            changed: work.work.parameters.clone(),
        };
        if !is_plain || rest(work) != rest(first) || label(&named) != work.label {
            return None;
        }
        options.extend(["--command".to_owned(), command]);
    }
    options.extend(prepare.into_iter().flat_map(|prepare| ["--prepare".to_owned(), prepare]));
    options.extend(exit_codes.map(|_| "--ignore-failure".to_owned()));
    options.extend(inputs.into_iter().flat_map(|path| ["--input".to_owned(), path]));
    Some(options)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crate::runner::experiment::Experiment;
    use crate::schema::job::WorkSpec;

    use super::*;

    #[test]
    fn an_input_is_found_from_its_experiment_and_its_hash_is_that_of_all_in_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("tree/below")).unwrap();
        fs::write(folder.path().join("tree/below/file"), "content").unwrap();
        let hashed = || {
            let mut entry = WorkloadEntry {
                set: String::new(),
                label: None,
                clients: None,
                changed: "command = '/usr/bin/tar cf x $INPUT/tree'\ninput = ['tree']".parse().unwrap(),
            };
            resolve(&mut entry, folder.path()).unwrap();
            assert_eq!(label(&entry), "tar");
            Parameters::parse(&entry.changed).unwrap().input[0].clone()
        };
        let before = hashed();
        assert!(before.path.is_absolute() && before.blake3.len() == 64 && before == hashed());
        let tree = folder.path().join("tree");
        let mut seen = vec![before.blake3];
        fs::write(tree.join("below/file"), "Content").unwrap();
        seen.push(hashed().blake3);
        fs::rename(tree.join("below/file"), tree.join("below/other")).unwrap();
        seen.push(hashed().blake3);
        fs::create_dir(tree.join("empty")).unwrap();
        seen.push(hashed().blake3);
        std::os::unix::fs::symlink("below/other", tree.join("link")).unwrap();
        seen.push(hashed().blake3);
        assert_eq!(seen.iter().collect::<HashSet<_>>().len(), seen.len(), "{seen:?}");
    }

    #[test]
    fn the_options_of_a_plan_give_the_same_works() {
        let folder = tempfile::tempdir().unwrap();
        let input = [folder.path().join("a file"), folder.path().join("b")];
        for path in &input {
            fs::write(path, "content").unwrap();
        }
        let asked = Asked {
            command: "cat $INPUT/*",
            prepare: Some("touch 'x y'"),
            input: &input,
            ignores_failure: true,
        };
        let work = |entry: WorkloadEntry| PlannedWork {
            label: label(&entry),
            clients: None,
            work: WorkSpec { engine: command::NAME.to_owned(), parameters: entry.changed },
        };
        let works =
            [work(entry(&asked).unwrap()), work(entry(&Asked { command: "ls", ..asked.clone() }).unwrap())];
        let text = "name = 'x'\nfilesystems = ['ext4']\nworkloads = ['postmark-quick']";
        let plan = Experiment::parse(text, "x").unwrap().plan("loop".to_owned(), 1).unwrap();
        let plan = Plan { workloads: works.to_vec(), ..plan };
        let options = options(&plan).unwrap();
        let paths = input.map(|path| path.display().to_string());
        let expected = [
            "--command",
            "cat $INPUT/*",
            "--command",
            "ls",
            "--prepare",
            "touch 'x y'",
            "--ignore-failure",
            "--input",
            &paths[0],
            "--input",
            &paths[1],
        ];
        assert_eq!(options, expected);
        let mut other = plan.clone();
        other.workloads[1].work.parameters.insert("cold".into(), true.into());
        assert_eq!(self::options(&other), None);
    }

    #[test]
    fn an_input_that_is_not_there_is_named() {
        let asked = Asked { command: "cat", input: &["/nowhere/at/all".into()], ..Asked::default() };
        let error = entry(&asked).unwrap_err().to_string();
        assert!(error.contains("could not read the input /nowhere/at/all"), "{error}");
    }
}
