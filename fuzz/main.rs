//! One of the targets of `tests/fuzz`, named by FSDERBY_FUZZ_TARGET, under libFuzzer.

#![no_main]
#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]
#![allow(dead_code, reason = "the loop and the tests around the targets are not used here")]

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use engine::Target;
use libfuzzer_sys::fuzz_target;

#[path = "../tests/fuzz/bonnie_lines.rs"]
mod bonnie_lines;
#[path = "../tests/fuzz/bundle.rs"]
mod bundle;
#[path = "../tests/fuzz/disk.rs"]
mod disk;
#[path = "../tests/fuzz/engine.rs"]
mod engine;
#[path = "../tests/fuzz/event.rs"]
mod event;
#[path = "../tests/fuzz/experiment.rs"]
mod experiment;
#[path = "../tests/fuzz/import.rs"]
mod import;
#[path = "../tests/fuzz/mutate.rs"]
mod mutate;
#[path = "../tests/fuzz/package.rs"]
mod package;
#[path = "../tests/fuzz/packages.rs"]
mod packages;
#[path = "../tests/fuzz/postmark_reports.rs"]
mod postmark_reports;
#[path = "../tests/fuzz/record.rs"]
mod record;
#[path = "../tests/fuzz/runs.rs"]
mod runs;
#[path = "../tests/fuzz/script.rs"]
mod script;
#[path = "../tests/support/mod.rs"]
mod support;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let targets = [
        bonnie_lines::target,
        bundle::target,
        disk::target,
        event::target,
        experiment::target,
        package::target,
        postmark_reports::target,
        record::target,
        script::target,
    ];
    let name = std::env::var("FSDERBY_FUZZ_TARGET").expect("FSDERBY_FUZZ_TARGET names a target");
    targets
        .into_iter()
        .map(|target| target())
        .find(|target| target.name == name)
        .expect("a target of this name")
});

/// The valid inputs and the words of the language, as libFuzzer reads them: `target/NAME/corpus`, `target/NAME/words`.
fn write_seeds() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(TARGET.name);
    fs::create_dir_all(folder.join("corpus")).expect("a folder for the seeds");
    for (number, seed) in TARGET.seeds.iter().enumerate() {
        fs::write(folder.join(format!("corpus/{number}")), seed).expect("a seed");
    }
    let words: Vec<String> = TARGET.words.iter().map(|word| format!("\"{}\"\n", escaped(word))).collect();
    fs::write(folder.join("words"), words.concat()).expect("the words");
}

/// What is not plain comes as `\xNN`, the only way of a dictionary besides `\"` and `\\`.
fn escaped(word: &str) -> String {
    let byte = |byte: u8| match byte {
        b'"' | b'\\' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    };
    word.bytes().map(byte).collect()
}

fuzz_target!(init: write_seeds(), |input: &[u8]| (TARGET.check)(input));
