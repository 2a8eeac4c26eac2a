//! Every variable `FSDERBY_*`: those of the configuration, and those that fsderby's own tests read.

use super::TABLE;

/// All variables of fsderby begin so.
pub const PREFIX: &str = "FSDERBY_";

/// A variable that only the tests and scripts of fsderby's source read.
pub struct OfTests {
    pub name: &'static str,
    pub meaning: &'static str,
}

/// The variables of tests; the program ignores them.
pub static OF_TESTS: &[OfTests] = &[
    OfTests { name: "FSDERBY_FOLLOWS", meaning: "marks the process in which a test traces a child process" },
    OfTests { name: "FSDERBY_FUZZ_INPUT", meaning: "a file with one input to try, instead of random inputs" },
    OfTests { name: "FSDERBY_FUZZ_SEED", meaning: "seed of the random inputs" },
    OfTests { name: "FSDERBY_FUZZ_TARGET", meaning: "target folder of builds for fuzzing" },
    OfTests { name: "FSDERBY_FUZZ_TIMES", meaning: "factor that multiplies the number of random inputs" },
    OfTests { name: "FSDERBY_KIND", meaning: "the only filesystem to test with its real tools" },
    OfTests { name: "FSDERBY_KNOWN", meaning: "if set, tests replace stored results and generated pages" },
    OfTests { name: "FSDERBY_OLDER", meaning: "an older build, which must make the same disk requests" },
    OfTests { name: "FSDERBY_SEED", meaning: "seed of tests with random kills or hostile arguments" },
    OfTests { name: "FSDERBY_STUDIES", meaning: "number of runs that a test of the statistics simulates" },
];

/// Every known variable.
pub fn all() -> impl Iterator<Item = &'static str> + Clone {
    TABLE.iter().map(|setting| setting.variable).chain(OF_TESTS.iter().map(|variable| variable.name))
}

/// Variables of this process that begin like fsderby's and mean nothing, sorted.
pub fn unknown() -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut unknown: Vec<String> =
        names.filter(|name| name.starts_with(PREFIX) && !all().any(|known| known == name)).collect();
    unknown.sort();
    unknown
}
