//! The version of this program: what `--version` prints, and what a run's `machine.json` stores.

use std::sync::LazyLock;

use crate::schema::{job, plan, record};

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit with `-dirty` if the sources differed from it. Empty in a debug build, and if the sources did not say.
pub fn commit() -> &'static str {
    commit_and_date().map_or("", |(commit, _)| commit)
}

/// Of the commit: `2026-11-27`.
pub fn date() -> Option<&'static str> {
    commit_and_date().map(|(_, date)| date)
}

/// `0.1.0 (19843431d 2026-11-27)`.
pub fn line() -> &'static str {
    static LINE: LazyLock<String> = LazyLock::new(|| {
        let from = match commit_and_date() {
            Some((commit, date)) => format!("{} {date}", short(commit)),
            None if cfg!(debug_assertions) => "debug build".to_owned(),
            None => "commit unknown".to_owned(),
        };
        format!("{VERSION} ({from})")
    });
    &LINE
}

/// The line, and what else decides what the program can do and which files it reads.
pub fn long() -> &'static str {
    static LONG: LazyLock<String> = LazyLock::new(|| {
        let commit = if commit().is_empty() { "unknown" } else { commit() };
        let date = date().unwrap_or("unknown");
        let linked = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };
        let yes_or_no = |has| if has { "yes" } else { "no" };
        format!(
            "{}\ncommit: {commit}\ncommit date: {date}\ntarget: {} ({linked})\nrecords: version {}\nplans: version \
         {}\nprotocol of agents: version {}\nvirtual time: {}",
            line(),
            env!("BUILD_TARGET"),
            record::SCHEMA,
            plan::SCHEMA,
            job::PROTOCOL,
            yes_or_no(fsderby_sys::steady::LIBRARY.is_some()),
        )
    });
    &LONG
}

fn commit_and_date() -> Option<(&'static str, &'static str)> {
    option_env!("BUILD_COMMIT")?.split_once(' ')
}

/// Nine digits, as rustc prints them, and the mark.
fn short(commit: &str) -> String {
    let (digits, mark) = commit.split_at(commit.find('-').unwrap_or(commit.len()));
    format!("{}{mark}", digits.get(..9).unwrap_or(digits))
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn a_commit_is_shortened_but_not_its_mark() {
        assert_eq!(short("19843431d9a1f00c"), "19843431d");
        assert_eq!(short("19843431d9a1f00c-dirty"), "19843431d-dirty");
        assert_eq!(short("1984"), "1984");
    }
}
