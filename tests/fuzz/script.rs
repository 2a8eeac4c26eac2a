//! A script of PostMark's: any bytes are one. What it sets can be run or is refused, says the same when it is written out
//! again, and a session of it ends and shows it.

use std::cell::Cell;

use fsderby::dropins::postmark::console::Console;
use fsderby::dropins::postmark::{Refused, Session, rules};
use fsderby::workloads::postmark::dry::dry_run;
use fsderby::workloads::postmark::names::Namer;
use fsderby::workloads::postmark::rules::Rules;

use crate::engine::{Target, USUAL};

/// Of what is run without I/O: files, transactions, and the bytes of a file.
const SMALL: u32 = 2000;
/// Of a line that a session gets, so that none goes on as another.
const LINE: usize = 200;
/// What a session may print for a byte that it is given: the whole help for a `?`.
const PRINTED: usize = 2000;

#[test]
fn a_script_of_any_bytes_sets_what_can_be_run_or_is_refused() {
    target().run();
}

pub fn target() -> Target {
    let projects = crate::support::project();
    let folder = projects
        .ancestors()
        .map(|above| above.join("tests/tools/postmark/golden"))
        .find(|at| at.is_dir())
        .unwrap();
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "pm")).collect();
    files.sort();
    let mut seeds: Vec<Vec<u8>> = files.into_iter().map(|path| std::fs::read(path).unwrap()).collect();
    seeds.push(b"help\nhelp set b\n?\nshow\nset location a 3\nset location +b\nset location -a\nset bias read -1\nEh\nquit\n".to_vec());
    let words = [
        "set ",
        "size",
        "number",
        "seed",
        "transactions",
        "location",
        "subdirectories",
        "read",
        "write",
        "buffering true",
        "bias create",
        "report terse",
        "show",
        "help",
        "quit",
        "exit",
        "?",
        "+",
        "-",
        "+/a 3",
        "run",
    ];
    let words = words.map(str::to_owned).to_vec();
    Target { name: "script", seeds, words, inputs: 1000, limits: USUAL, check: Box::new(check) }
}

fn check(input: &[u8]) {
    let set = rules(input);
    assert!(0 < set.low && set.low <= set.high && set.number > 0 && set.transactions > 0 && set.seed > 0);
    assert!(set.read_block > 0 && set.write_block > 0);
    assert!(set.locations.iter().all(|l| l.weight > 0 && !l.path.contains(&0)));
    if is_plain(&set) {
        assert_eq!(rules(&set.script()), set, "written out again it is another");
    }
    if set.check().is_ok() {
        run(&set);
    }
    session(input);
}

/// The same with a path of each location that a script can hold: a path cannot have a line end, and a line has an end.
fn is_plain(set: &Rules) -> bool {
    set.locations.iter().all(|l| l.path.len() < LINE && !l.path.contains(&b'\n'))
}

/// What it would do, without I/O.
fn run(set: &Rules) {
    if set.number > SMALL || set.transactions > SMALL || set.high > 1 << 24 {
        return;
    }
    let dry = dry_run(set);
    assert!(dry.totals.created >= u64::from(set.number) && dry.totals.deleted <= dry.totals.created);
    assert!(dry.totals.bytes_written >= dry.bytes_peak && dry.files_peak >= dry.live);
    let mut namer = Namer::new(set);
    for location in 0..set.locations.len().min(3) as u32 {
        assert!(!namer.subdirectory(location, set.subdirectories).is_empty());
    }
}

/// A session of those commands that touch nothing outside of it, typed.
fn session(input: &[u8]) {
    let touches =
        |line: &[u8]| [&b"!"[..], b"run", b"load", b"show"].iter().any(|word| line.starts_with(word));
    let lines = input.split(|b| *b == b'\n').filter(|line| line.len() <= LINE && !touches(line));
    let script = [&lines.collect::<Vec<_>>().join(&b'\n')[..], b"\nshow\n"].concat();
    let (mut out, mut err, asked) = (Vec::new(), Vec::new(), Cell::new(0));
    let mut seconds = || asked.replace(asked.get() + 1);
    let console = Console { input: &mut &script[..], out: &mut out, err: &mut err, seconds: &mut seconds };
    let ended = Session::new(console).start(Some("/nonexistent/script".as_ref()));
    assert_eq!(ended.unwrap(), Refused(false), "nothing was run");
    assert!(out.starts_with(b"PostMark v1.51") && asked.get() == 0);
    assert!(out.len() + err.len() <= (script.len() + 1) * PRINTED, "{} bytes are printed", out.len());
}
