//! The parameters of a PostMark run, with the original's names and defaults.

/// The parameters of one run. All whole numbers are positive 32-bit integers in the original too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// `set number`: files created before the transactions.
    pub number: u32,
    /// `set transactions`: number of transactions.
    pub transactions: u32,
    /// `set size`: the smallest and largest size, with `low <= high`. A new file is shorter than `high` unless both are equal;
    /// appends do not make a file longer than `high`.
    pub low: u32,
    pub high: u32,
    /// `set read` and `set write`: bytes of one request.
    pub read_block: u32,
    pub write_block: u32,
    /// `set buffering`: C library streams, or raw system calls.
    pub buffering: bool,
    /// `set bias read`: tenths of transactions that read rather than append; `None` does neither.
    pub bias_read: Option<u32>,
    /// `set bias create`: tenths of transactions that create rather than delete; `None` does neither.
    pub bias_create: Option<u32>,
    /// `set subdirectories`: number of subdirectories. 1 has the same effect as 0, as in the original.
    pub subdirectories: u32,
    /// `set location`: the working folders; empty for the current folder.
    pub locations: Vec<Location>,
    /// `set seed`: seed of the random numbers.
    pub seed: u32,
}

/// A working folder, and its share of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub path: Vec<u8>,
    pub weight: u32,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            number: 500,
            transactions: 500,
            low: 500,
            high: 10_000,
            read_block: 512,
            write_block: 512,
            buffering: true,
            bias_read: Some(5),
            bias_create: Some(5),
            subdirectories: 0,
            locations: Vec::new(),
            seed: 42,
        }
    }
}

/// The largest size and number of files. Beyond this limit the original's tables, which are twice as long, overflow, and the
/// original crashes.
pub const LIMIT: u32 = (1 << 30) - 1;

impl Rules {
    /// Rejects rules for which the original is killed by a signal.
    pub fn check(&self) -> Result<(), String> {
        if self.high > LIMIT {
            return Err(format!("files of {} bytes are too large; choose a size up to {LIMIT}", self.high));
        }
        if self.number > LIMIT {
            return Err(format!("{} files are too many; choose a number up to {LIMIT}", self.number));
        }
        let shares: u64 = self.locations.iter().map(|l| u64::from(l.weight)).sum();
        if shares > u64::from(LIMIT) {
            return Err(format!("the locations' weights sum up to {shares}; choose smaller weights"));
        }
        Ok(())
    }

    /// The number of subdirectories in use; 0 for fewer than two.
    pub fn split(&self) -> u32 {
        if self.subdirectories > 1 { self.subdirectories } else { 0 }
    }

    /// The original's script for these rules.
    pub fn script(&self) -> Vec<u8> {
        let bias = |tenths: Option<u32>| tenths.map_or(-1, i64::from);
        let mut script = format!(
            "set size {} {}\nset number {}\nset seed {}\nset transactions {}\nset read {}\nset write {}\n\
             set buffering {}\nset bias read {}\nset bias create {}\n",
            self.low,
            self.high,
            self.number,
            self.seed,
            self.transactions,
            self.read_block,
            self.write_block,
            self.buffering,
            bias(self.bias_read),
            bias(self.bias_create),
        )
        .into_bytes();
        if self.subdirectories > 0 {
            script.extend(format!("set subdirectories {}\n", self.subdirectories).into_bytes());
        }
        for Location { path, weight } in &self.locations {
            script.extend([b"set location +", &path[..], format!(" {weight}\n").as_bytes()].concat());
        }
        script.extend(b"run\nquit\n");
        script
    }
}
