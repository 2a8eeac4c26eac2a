//! Steps before the tests, and the nightly parts that are commands.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Nightly parts that are shell commands.
pub const PARTS: [(&str, &str); 11] = [
    ("fuzz_import", "scripts/fuzz-long.sh bonnie_lines:: bundle:: postmark_reports::"),
    ("fuzz_input", "scripts/fuzz-long.sh disk:: experiment:: script::"),
    ("fuzz_stored", "scripts/fuzz-long.sh event:: package:: record::"),
    (
        "simulation",
        "FSDERBY_STUDIES=10000 cargo test --locked -p fsderby-stats --test simulation -- --nocapture",
    ),
    ("identity_maildir", "make identity WORKLOADS=maildir-quick"),
    ("identity_sources", "make identity WORKLOADS=sources-quick"),
    ("identity_coldread", "make identity WORKLOADS=coldread-quick"),
    ("core", "cargo clippy --locked --lib --bins --no-default-features --quiet -- -D warnings"),
    ("bench", "make bench"),
    ("book", "scripts/book.sh"),
    ("package", "scripts/package-try.sh"),
];

/// Targets that `make check` builds, as options of cargo.
pub const CHECKED: [&str; 4] = ["--lib", "--bins", "--test", "pure"];

pub fn lint() -> Result<()> {
    needs("make lint")
}

/// Lints the targets of [`CHECKED`].
pub fn lint_checked() -> Result<()> {
    needs(&format!("make lint TARGETS='{}'", CHECKED.join(" ")))
}

/// What the documentation of items says to compile, or not to.
pub fn examples() -> Result<()> {
    needs("cargo test --locked --quiet --doc --package fsderby")
}

pub fn setup() -> Result<()> {
    // The script reports tools that it cannot install; tests that need them are skipped.
    command("scripts/setup.sh test").map(drop)
}

/// The module that fsderby began to keep last: a kernel of the cache without it was unpacked by an older fsderby.
const NEWEST_MODULE: &str = "tcm_loop";

/// Fetches the kernels that guests boot. Without them the tests of guests are skipped with a message.
pub fn kernels(fsderby: &Path) -> Result<()> {
    for release in ["6.12", "6.1"] {
        let cached = format!(
            "${{XDG_CACHE_HOME:-$HOME/.cache}}/fsderby/kernels/{release}.*/modules/{NEWEST_MODULE}.ko"
        );
        let fetch = format!("{} kernel fetch", fsderby.display());
        let fetched = command(&format!(
            "{fetch} --if-absent {release} && {{ ls {cached} >/dev/null 2>&1 || {fetch} {release}; }}"
        ))?;
        if !fetched {
            eprintln!("kernel {release} was not fetched; tests that need this kernel are skipped");
        }
    }
    Ok(())
}

fn needs(line: &str) -> Result<()> {
    if !command(line)? {
        bail!("'{line}' failed");
    }
    Ok(())
}

/// Whether it ended with success.
pub fn command(line: &str) -> Result<bool> {
    let status = Command::new("sh").args(["-c", line]).status();
    Ok(status.with_context(|| format!("could not start '{line}'"))?.success())
}
