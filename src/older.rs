//! Words of older versions, with the current word to write instead.

/// Where a word was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stood {
    /// A key of an experiment.
    Key,
    /// An option of the command line.
    Flag,
    /// A setting of the testbed model.
    ModelSetting,
}

/// A word of an older version, and what to write instead.
struct Older {
    stood: Stood,
    word: &'static str,
    now: &'static str,
}

static WORDS: &[Older] = &[
    Older { stood: Stood::Key, word: "ground", now: "`ground` was renamed to `on`: write on = \"loop\"" },
    Older { stood: Stood::Flag, word: "--ground", now: "--ground was renamed to --on: write --on loop" },
    Older {
        stood: Stood::Key,
        word: "trials_per_boot",
        now: "trials_per_boot was removed, because each trial now has its own boot: leave it out",
    },
    Older {
        stood: Stood::Flag,
        word: "--trials-per-boot",
        now: "--trials-per-boot was removed, because each trial now has its own boot: leave it out",
    },
    Older {
        stood: Stood::ModelSetting,
        word: "draws",
        now: "draws was renamed to samples: write samples=off",
    },
];

/// The advice what to write instead, if this word belongs to an older version.
pub fn instead(stood: Stood, word: &str) -> Option<&'static str> {
    WORDS.iter().find(|older| older.stood == stood && older.word == word).map(|older| older.now)
}
