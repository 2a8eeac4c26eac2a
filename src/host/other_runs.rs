//! Other runs of fsderby on this machine, found by their command lines. A lock would need a folder that all users share; command
//! lines are readable for everybody, except where `/proc` hides other users' processes. Runs in other containers are not seen.

use std::path::Path;

/// Process IDs of other runs, ascending.
pub fn now() -> Vec<i32> {
    let own = std::process::id().cast_signed();
    let all = procfs::process::all_processes().into_iter().flatten().flatten();
    let mut runs: Vec<i32> = all
        .filter(|process| process.pid != own)
        .filter(|process| process.cmdline().is_ok_and(|words| is_run(&words)))
        .map(|process| process.pid)
        .collect();
    runs.sort_unstable();
    runs
}

/// Whether this is the command line of a run: `fsderby run …`, but no dry run.
fn is_run(words: &[String]) -> bool {
    let [program, command, options @ ..] = words else { return false };
    let is_ours = Path::new(program).file_name().is_some_and(|name| name == env!("CARGO_PKG_NAME"));
    is_ours && command == "run" && !options.iter().any(|word| word == "--dry-run" || word == "--help")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_told_by_its_command_line() {
        let is = |line: &str| is_run(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for run in ["fsderby run", "/usr/bin/fsderby run quick --on loop", "./fsderby run --resume a"] {
            assert!(is(run), "{run}");
        }
        for other in [
            "fsderby",
            "",
            "fsderby run quick --dry-run",
            "fsderby report run",
            "fsderby verify run --rerun",
            "/proc/self/exe agent",
            "vi fsderby run",
            "sh -c fsderby run",
            "/usr/bin/fsderby-old run",
        ] {
            assert!(!is(other), "{other}");
        }
    }
}
