//! What the tests of whole programs share: a script, run in a folder of its own.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use fsderby::workloads::postmark::rules::{Location, Rules};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The name under which golden output has the script.
pub const SCRIPT: &str = "cfg";

pub const OURS: &[&str] = &[env!("CARGO_BIN_EXE_fsderby"), "postmark"];

/// The stored scripts with the original's traces and reports, by name.
pub fn golden() -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools/postmark/golden");
    let mut scripts: Vec<(String, PathBuf)> = std::fs::read_dir(folder)
        .expect("the golden folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "pm"))
        .map(|path| (path.file_stem().expect("a name").to_string_lossy().into_owned(), path))
        .collect();
    scripts.sort();
    assert!(scripts.len() >= 10, "the golden scripts are there");
    scripts
}

/// A folder with the script and its locations.
pub fn folder(script: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(SCRIPT), script).expect("the script");
    for Location { path, .. } in fsderby::dropins::postmark::rules(script).locations {
        let path = String::from_utf8(path).expect("test locations are text");
        std::fs::create_dir_all(folder.path().join(path)).expect("a location");
    }
    folder
}

/// Runs a program, started by `before` (a tracer, a shell with limits), on the script.
pub fn run(before: &[&str], program: &[&str], folder: &Path) -> Output {
    let words: Vec<&str> = before.iter().chain(program).copied().chain([SCRIPT]).collect();
    Command::new(words[0])
        .args(&words[1..])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts")
}

/// Reports without what depends on the time.
pub fn timeless(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let line = |line: &str| match line.find('(') {
        Some(at) if line.ends_with("per second)") => {
            let head = &line[..at];
            if head.contains("seconds") { "\tseconds".to_owned() } else { head.to_owned() }
        }
        _ if line.ends_with(" seconds total") => "\tseconds".to_owned(),
        _ => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A small run that may have anything in it, the same for the same seed.
pub fn random(seed: u64) -> Rules {
    let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut below = |end: u32| draws.next_u32() % end;
    let low = 1 + below(9000);
    let high = low + if below(4) == 0 { 0 } else { below(30_000) };
    const BLOCKS: [u32; 10] = [1, 100, 511, 512, 1000, 4096, 5000, 8192, 10_000, 100_000];
    // Single bytes make very long traces; they are tried with the shortest files.
    let mut block = || {
        let block = BLOCKS[below(BLOCKS.len() as u32) as usize];
        if high > 3000 { block.max(100) } else { block }
    };
    let (read_block, write_block) = (block(), block());
    let mut bias = || Some(below(14)).filter(|tenths| *tenths <= 10).or([None, Some(5)][below(2) as usize]);
    let (bias_read, bias_create) = (bias(), bias());
    let locations = match below(4) {
        0 => vec![("a", 1 + below(3))],
        1 => vec![("a", 1 + below(5)), ("b/c", 1 + below(5)), ("d", 1)],
        _ => Vec::new(),
    };
    Rules {
        number: 1 + below(40),
        transactions: 10 + below(150),
        low,
        high,
        read_block,
        write_block,
        buffering: below(3) > 0,
        bias_read,
        bias_create,
        subdirectories: below(4),
        locations: locations
            .into_iter()
            .map(|(path, weight)| Location { path: path.as_bytes().to_vec(), weight })
            .collect(),
        seed: 1 + below(1 << 30),
    }
}

/// Whether a program is installed; says on stderr what is skipped without it.
pub fn installed(programs: &[&str], test: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |program: &str| std::env::split_paths(&path).any(|folder| folder.join(program).exists());
    let missing: Vec<&str> = programs.iter().copied().filter(|program| !is_there(program)).collect();
    if !missing.is_empty() {
        // `eprintln!` would not be seen where the test passes.
        let _ = writeln!(io::stderr(), "skipped: {test}: not installed: {}", missing.join(", "));
    }
    missing.is_empty()
}
