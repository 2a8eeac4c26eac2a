//! `fsderby iozone`: the original's options, tests and tables, with fsderby's engine.
//!
//! # Differences from the original
//! - All data read is compared with the data written; a difference ends the command with the file and the offset.
//! - An existing file is not overwritten: test 0 needs the name of a new file. Only files that the command created are removed.
//! - Data that cannot fit into the free space is refused before anything is written.
//! - Before each row only the filesystem of the file is synced.
//! - The clock has nanoseconds, and the time to read the clock is not subtracted. `-N` shows two decimals of a microsecond.
//! - Several processes (`-t`, `-l`, `-u`) are threads with separate file descriptor tables. The mixed test (8) is not supported.
//! - An existing spreadsheet file (`-b`) is not replaced. A signal leaves no spreadsheet file; its tables are printed.
//! - Mapped files, asynchronous I/O, pwrite and pread are not supported; each of these options prints what to do instead.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

mod interrupted;
pub mod options;
mod spreadsheet;
pub mod table;
mod throughput;

use interrupted::Interrupted;
use options::{Asked, Options, Refusal, Shown, Together};
use table::Measured;
use throughput::{KINDS, Units};

use super::stopping::{Stoppable, Stopping};
use crate::exit;
use crate::host::caller::{create_new, hand_over_closed};
use crate::schema::units::{Bytes, KIB};
use crate::text::visible;
use crate::workloads::iozone::matrix::Pair;
use crate::workloads::iozone::passes::{self, Passes, Turns};
use crate::workloads::iozone::table::{Pass, TESTS, Test};
use crate::workloads::{Cause, Clock, OpError};

/// File content and random offsets are the same in each run.
const SEED: u64 = 0;
/// A shorter time counts as one microsecond, as in the original, whose clock has this resolution.
const SHORTEST_NS: u64 = 1000;

/// Command line and output streams.
pub struct Outside<'o> {
    pub out: &'o mut dyn Write,
    pub err: &'o mut dyn Write,
    pub clock: &'o dyn Clock,
    /// The date in the format of the output line `Run began:`.
    pub date: &'o str,
}

/// Reason for an early end of a command that has begun.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error(transparent)]
    Work(#[from] OpError),
    #[error("{0}")]
    Remount(String),
    #[error("could not print: {0}")]
    Print(#[from] io::Error),
}

/// Runs the whole program. Returns its exit code.
///
/// # Errors
/// If standard output or standard error can no longer be written.
pub fn start(words: &[OsString], outside: &mut Outside<'_>) -> io::Result<u8> {
    let options = match options::parse(words) {
        Ok(Asked::Run(options)) => options,
        Ok(Asked::Help) => return print(outside, HELP),
        Ok(Asked::Version) => return print(outside, &format!("{}\n", splash())),
        Err(refusal) => return refuse(outside, &refusal),
    };
    let place = match Place::look(&options) {
        Ok(place) => place,
        Err(refusal) => return refuse(outside, &refusal),
    };
    outside.out.write_all(preface(&options, words, outside.date).as_bytes())?;
    outside.err.write_all(place.warning(&options).as_bytes())?;
    let is_ours = place.is_ours;
    for word in &options.passed_over {
        let word = visible::message(word);
        writeln!(
            outside.err,
            "fsderby iozone: '{word}' belongs to no option and is ignored, as in IOzone; -f names the file"
        )?;
    }
    let together = options.together.clone().map(|together| {
        let pair = Pair { file: options.files[0], record: options.records[0] };
        (together, Units::of(options.shown, pair, SHORTEST_NS))
    });
    let interrupted = Arc::new(Interrupted::new(&options, is_ours, together));
    let stopping = Stopping::watch(interrupted.clone(), exit::OK)?;
    let clock = Stoppable { stopping: &stopping, clock: outside.clock };
    let mut session = Session {
        options: &options,
        is_ours,
        outside,
        clock: &clock,
        stopping: &stopping,
        measured: &interrupted,
        was_short: false,
    };
    let ended = session.everything().and_then(|()| session.end(words));
    drop(stopping);
    if is_ours && ended.is_err() {
        // What a failed pass may have left.
        options.paths().iter().for_each(|file| drop(std::fs::remove_file(file)));
    }
    match ended {
        Ok(()) => Ok(exit::OK),
        Err(Stopped::Print(error)) => Err(error),
        Err(stopped) => {
            outside.out.write_all(b"\n")?;
            outside.out.flush()?;
            writeln!(outside.err, "fsderby iozone: {}", visible::message(&stopped.to_string()))?;
            Ok(stopped.code())
        }
    }
}

impl Stopped {
    fn code(&self) -> u8 {
        match self {
            Stopped::Work(OpError { cause: Cause::Differs(_), .. }) => exit::INTEGRITY,
            Stopped::Remount(_) => exit::MISSING,
            _ => exit::TRIALS,
        }
    }
}

fn print(outside: &mut Outside<'_>, text: &str) -> io::Result<u8> {
    outside.out.write_all(text.as_bytes())?;
    outside.out.flush()?;
    Ok(exit::OK)
}

fn refuse(outside: &mut Outside<'_>, refusal: &Refusal) -> io::Result<u8> {
    writeln!(outside.err, "fsderby iozone: {}", visible::message(&refusal.message))?;
    Ok(refusal.code)
}

/// The location of the test file, checked before anything is written.
struct Place {
    /// Whether this command creates the file, and must remove it.
    is_ours: bool,
}

impl Place {
    fn look(options: &Options) -> Result<Self, Refusal> {
        let refused = |message: String| Refusal { code: exit::USAGE, message };
        let paths = options.paths();
        let makes = options.tests.contains(&Test::Write);
        let there: Vec<bool> = paths.iter().map(|file| file.symlink_metadata().is_ok()).collect();
        for (file, is_there) in paths.iter().zip(&there) {
            let name = file.display();
            if *is_there && makes {
                let option = if options.together.is_some() { "-F" } else { "-f" };
                return Err(refused(format!(
                    "{name} already exists\n  try: another {option}, or remove it first"
                )));
            }
            if !is_there && !makes && options.tests.first() != Some(&Test::Fwrite) {
                return Err(refused(format!("{name} does not exist\n  try: add -i 0, which creates it")));
            }
        }
        let largest = options.pairs().iter().map(|pair| pair.bytes()).max().unwrap_or(0);
        for file in &paths {
            let folder = folder(file);
            let space = rustix::fs::statvfs(folder).map_err(|error| {
                let folder = folder.display();
                refused(format!(
                    "could not read the directory {folder}: {error}\n  try: -f in an existing directory"
                ))
            })?;
            let free = space.f_bavail.saturating_mul(space.f_frsize);
            let made = paths
                .iter()
                .zip(&there)
                .filter(|(path, is_there)| !**is_there && self::folder(path) == folder);
            let needed = largest.saturating_mul(made.count() as u64);
            if needed > free {
                let (needed, free) = (Bytes(needed), Bytes(free));
                let what = if paths.len() > 1 { "the files need" } else { "the largest file needs" };
                return Err(refused(format!(
                    "{what} {needed}, but {folder} has {free} free\n  try: a smaller -s or -g",
                    folder = folder.display()
                )));
            }
        }
        if let Some(sheet) = &options.spreadsheet {
            let name = sheet.display();
            if sheet.symlink_metadata().is_ok() || paths.contains(sheet) {
                return Err(refused(format!(
                    "-b {name}: this file already exists\n  try: another name, or remove it first"
                )));
            }
            if !folder(sheet).is_dir() {
                return Err(refused(format!(
                    "-b {name}: the directory does not exist\n  try: -b in an existing directory"
                )));
            }
        }
        Ok(Place { is_ours: !there.contains(&true) })
    }

    /// A warning for the reader of the figures, if files fit into memory.
    fn warning(&self, options: &Options) -> String {
        let memory = rustix::system::sysinfo();
        let memory = memory.totalram.saturating_mul(memory.mem_unit.into());
        let largest = options.files.last().copied().unwrap_or(0);
        if options.ways.direct || options.mount.is_some() || largest >= memory.saturating_mul(2) {
            return String::new();
        }
        format!(
            "fsderby iozone: files smaller than twice the memory ({}) are read from the page cache\n  try: -I, -U \
                with the mount point, or larger files\n",
            Bytes(memory)
        )
    }
}

fn splash() -> String {
    format!(
        "\tfsderby {}: file I/O tests with the options and tables of IOzone 3.471",
        env!("CARGO_PKG_VERSION")
    )
}

/// All lines before the table.
fn preface(options: &Options, words: &[OsString], date: &str) -> String {
    let words: Vec<String> = words.iter().map(|word| visible::message(&word.to_string_lossy())).collect();
    let mut lines = vec![splash(), String::new(), format!("\tRun began: {date}"), String::new()];
    lines.extend(said(options).into_iter().map(|line| format!("\t{line}")));
    lines.push(format!("\tCommand line used: iozone {}", words.join(" ")));
    lines.push(format!(
        "\t{}",
        match options.shown {
            Shown::Throughput => "Output is in kBytes/sec",
            Shown::Operations => "OPS Mode. Output is in operations per second.",
            Shown::Microseconds => "Microseconds/op Mode. Output is in microseconds per operation.",
        }
    ));
    lines.push("\tTime Resolution = 0.000001 seconds.".to_owned());
    lines.push(format!("\tProcessor cache size set to {} kBytes.", options.cache_kib));
    lines.push(format!("\tProcessor cache line size set to {} bytes.", options.line_bytes));
    lines.push(format!("\tFile stride size set to {} * record size.", options.ways.stride));
    let head = if options.together.is_some() { String::new() } else { table::head() };
    lines.join("\n") + "\n" + &head
}

/// One line for each option that changes the test.
fn said(options: &Options) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |holds: bool, line: &str| {
        if holds {
            lines.push(line.to_owned());
        }
    };
    say(options.auto, "Auto Mode");
    say(options.ways.fsync, "Include fsync in write timing");
    say(options.ways.close, "Include close in write timing");
    say(options.ways.direct, "O_DIRECT feature enabled");
    say(options.ways.o_sync, "SYNC Mode.");
    say(!options.retest, "No retest option selected");
    say(options.excel, "Excel chart generation enabled");
    say(options.together.as_ref().is_some_and(|together| !together.stonewall), "Stonewall disabled");
    if !options.auto {
        lines.extend(options.files.iter().map(|file| format!("File size set to {} kB", file / KIB)));
        lines.extend(options.records.iter().map(|record| format!("Record Size {} kB", record / KIB)));
    }
    lines
}

/// A run in progress.
struct Session<'s, 'o> {
    options: &'s Options,
    is_ours: bool,
    outside: &'s mut Outside<'o>,
    clock: &'s dyn Clock,
    stopping: &'s Stopping,
    measured: &'s Interrupted,
    was_short: bool,
}

impl Session<'_, '_> {
    fn everything(&mut self) -> Result<(), Stopped> {
        match &self.options.together {
            None => self.all(),
            Some(together) => together.counts.iter().try_for_each(|count| self.several(together, *count)),
        }
    }

    /// Runs all passes with this number of processes.
    fn several(&mut self, together: &Together, count: usize) -> Result<(), Stopped> {
        let options = self.options;
        let pair = Pair { file: options.files[0], record: options.records[0] };
        let units = Units::of(options.shown, pair, SHORTEST_NS);
        let paths = &together.files[..count];
        self.show(&together.head(count, pair))?;
        let mut children: Vec<Passes> =
            paths.iter().map(|path| Passes::new(path.clone(), pair, options.ways, SEED, None)).collect();
        for kind in KINDS.iter().filter(|kind| options.tests.contains(&kind.test)) {
            if kind.pass.is_again() && !options.retest {
                continue;
            }
            sync(&paths[0])?;
            if kind.pass == Pass::Write {
                paths.iter().try_for_each(|path| passes::create(path))?;
            }
            let now = self.clock.of_threads();
            let result = throughput::pass(&mut children, kind.pass, together.stonewall, now, self.stopping)?;
            self.was_short |= result.was_short(SHORTEST_NS);
            self.show(&result.text(kind, units, together))?;
            self.measured.push_total(count, kind.pass, result.total(units));
        }
        let is_last = together.counts.last() == Some(&count);
        if self.is_ours && !(options.keep && is_last) {
            paths.iter().try_for_each(|path| passes::remove(path))?;
        }
        self.show("\n")
    }

    fn all(&mut self) -> Result<(), Stopped> {
        let pairs = self.options.pairs();
        for (at, pair) in pairs.iter().enumerate() {
            sync(&self.options.file)?;
            self.row(*pair)?;
            let keeps = self.options.keep && at + 1 == pairs.len();
            if self.is_ours && !keeps {
                passes::remove(&self.options.file)?;
            }
        }
        Ok(())
    }

    fn row(&mut self, pair: Pair) -> Result<(), Stopped> {
        self.show(&table::sizes(pair))?;
        let options = self.options;
        let mut file = Passes::new(options.file.clone(), pair, options.ways, SEED, None);
        for test in &TESTS[..Test::Mixed as usize] {
            if !options.tests.contains(test) {
                self.show(&table::unselected(*test))?;
                continue;
            }
            if *test == Test::Write {
                passes::create(&options.file)?;
            }
            for pass in test.passes() {
                self.cell(&mut file, pair, *pass)?;
            }
            if let Some(mount) = &options.mount {
                remount(mount)?;
            }
        }
        self.show("\n")
    }

    fn cell(&mut self, file: &mut Passes, pair: Pair, pass: Pass) -> Result<(), Stopped> {
        let value = if pass.is_again() && !self.options.retest {
            "0".to_owned()
        } else {
            let took = file.run(pass, self.clock, &mut Turns { left: u64::MAX, progress: None })?;
            self.was_short |= took.ns < SHORTEST_NS;
            shown(self.options.shown, pair, took.operations, took.ns.max(SHORTEST_NS))
        };
        self.show(&table::value(pass, &value))?;
        self.measured.push(Measured { pair, pass, value });
        Ok(())
    }

    fn show(&mut self, text: &str) -> Result<(), Stopped> {
        self.outside.out.write_all(text.as_bytes())?;
        Ok(self.outside.out.flush()?)
    }

    fn end(&mut self, words: &[OsString]) -> Result<(), Stopped> {
        let tables = self.measured.excel();
        let text = format!("\niozone test complete.\n{tables}");
        self.outside.out.write_all(text.as_bytes())?;
        self.outside.out.flush()?;
        if let Some(path) = &self.options.spreadsheet {
            let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            let sheet = spreadsheet::of_tables(&format!("iozone {}", words.join(" ")), &tables);
            let made = create_new(path).and_then(|mut file| file.write_all(&sheet));
            made.map_err(|error| OpError { operation: "write", path: path.clone(), cause: error.into() })?;
        }
        if self.is_ours && self.options.keep {
            for path in self.options.paths() {
                hand_over_closed(&path).map_err(|error| OpError {
                    operation: "chown",
                    path,
                    cause: error.into(),
                })?;
            }
        }
        if self.was_short {
            let line = "fsderby iozone: a pass took less than a microsecond and counts as one microsecond\n  try: a larger \
                -s\n";
            self.outside.err.write_all(line.as_bytes())?;
        }
        Ok(())
    }
}

fn folder(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes out dirty data of earlier files, so that it is not written while the next file is timed.
fn sync(file: &Path) -> Result<(), OpError> {
    let folder = folder(file);
    let opened = File::open(folder);
    let synced = opened.and_then(|folder| Ok(rustix::fs::syncfs(folder)?));
    synced.map_err(|error| OpError { operation: "sync", path: folder.to_owned(), cause: error.into() })
}

/// Numbers are truncated, not rounded.
fn shown(shown: Shown, pair: Pair, operations: u64, ns: u64) -> String {
    let (operations, ns) = (u128::from(operations), u128::from(ns));
    let bytes = operations * u128::from(pair.record);
    match shown {
        Shown::Throughput => (bytes * 1_000_000_000 / ns / u128::from(KIB)).to_string(),
        Shown::Operations => (operations * 1_000_000_000 / ns).to_string(),
        Shown::Microseconds => format!("{:.2}", ns as f64 / 1000.0 / operations.max(1) as f64),
    }
}

/// Uses the machine's umount and mount commands and /etc/fstab, as the original does.
fn remount(mount: &PathBuf) -> Result<(), Stopped> {
    for command in ["umount", "mount"] {
        let done = Command::new(command).arg(mount).stdin(Stdio::null()).stdout(Stdio::null()).output();
        let said = match done {
            Ok(output) if output.status.success() => continue,
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(error) => error.to_string(),
        };
        let mount = mount.display();
        return Err(Stopped::Remount(format!(
            "could not {command} {mount}: {said}\n  try: as root, with a line for {mount} in /etc/fstab, and from a directory \
                outside {mount}"
        )));
    }
    Ok(())
}

const HELP: &str = "\
Usage: fsderby iozone [options]

Sizes are in KiB, or have the suffix k, m or g. Options without a value may be combined: -az.
  -a         automatic mode: file sizes of 64k to 512m with record sizes of 4k to 16m
  -A         like -a -z -i 0 -i 1
  -z         with -a: also small records on large files
  -n -g SIZE with -a: smallest and largest file
  -y -q SIZE with -a: smallest and largest record
  -s SIZE    a file size (default 512k); may be given several times
  -r SIZE    a record size from 1k to 16m (default 4k); may be given several times
  -i N       a test to run (0 to 7); may be given several times:
             0 write, rewrite   1 read, reread   2 random read, random write   3 backward read
             4 record rewrite   5 strided read   6 fwrite, frewrite            7 fread, freread
  -f FILE    the test file (default iozone.tmp); test 0 creates it, so it must not exist
  -w         keep the test file
  -e  -c     include fsync, include close in the measured time
  -I  -o     open the test file with O_DIRECT, with O_SYNC
  -+n        skip the second pass of a test: rewrite, reread
  -j N       stride in records (default 17)
  -U MOUNT   unmount and mount this mount point between tests
  -O  -N     show operations per second, microseconds per operation
  -R         also print tables for a spreadsheet
  -b FILE    also write these tables as a spreadsheet file, which must not exist
  -t N       run N parallel processes, each with its own file; may be given several times
  -l -u N    run each number of parallel processes from -l to -u, one after the other
  -F FILES   a file for each process; must follow -t
  -x         the first process that finishes does not end the measurement of the others
  -C         print a line for each process
  -T         call the processes threads in the output
  -S -L N    size of the CPU cache in KiB and of a cache line in bytes; both are only printed
  -h  -v     print this help, print the version

Exit codes: 0 success, or stopped by a signal; 2 wrong or impossible options; 3 unmounting or mounting failed;
4 an operation failed; 6 data read differs from data written; 23 contradictory sizes; 17 -t with -a.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_cut_off_as_the_original_cuts_them() {
        let pair = Pair { file: 1 << 20, record: 4096 };
        // 1 MiB in 3 ms: 349525333.3 bytes in a second, which are 341333.3 KiB.
        assert_eq!(shown(Shown::Throughput, pair, 256, 3_000_000), "341333");
        assert_eq!(shown(Shown::Operations, pair, 256, 3_000_000), "85333");
        assert_eq!(shown(Shown::Microseconds, pair, 256, 3_000_000), "11.72");
    }
}
