//! Commands of the user's own: real programs on real filesystems, and what may go wrong with them.

use std::fs;

use fsderby::exit;
use fsderby::schema::job::Purpose;
use fsderby::schema::reason::Outcome;
use fsderby::schema::record::Record;
use fsderby::store;

use crate::support::desk::{Desk, Said};
use crate::support::has_loop;

const USAGE: i32 = exit::USAGE as i32;
const TRIALS: i32 = exit::TRIALS as i32;

/// A run of one round with these words; what it said and its records.
fn carry_out(desk: &Desk, filesystems: &str, words: &[&str]) -> (Said, Vec<Record>) {
    let testbed = desk.testbed();
    let fixed = [
        "run", "quick", "--on", &testbed, "--size", "320m", "--memory", "48m", "--rounds", "1", "--output",
        "out",
    ];
    let said = desk.say(&[&fixed[..], &["--filesystems", filesystems], words].concat());
    desk.leaves_nothing(said.pid);
    let records = store::read(&desk.path("out")).map(|run| run.records).unwrap_or_default();
    (said, records)
}

fn outcomes(records: &[Record]) -> Vec<Outcome> {
    records.iter().map(|record| record.outcome).collect()
}

#[test]
fn a_command_is_timed_with_its_sync_and_what_it_left_is_read_back() {
    if !has_loop("a command") {
        return;
    }
    let desk = Desk::new();
    fs::create_dir(desk.path("tree")).unwrap();
    for file in 0..50_u8 {
        fs::write(desk.path("tree").join(file.to_string()), vec![file; 20_000]).unwrap();
    }
    let words =
        ["--command", "cp -a $INPUT/tree copy && ln -s copy link && chmod 750 copy/1", "--input", "tree"];
    let (said, records) = carry_out(&desk, "ext4,xfs,btrfs", &words);
    assert_eq!(said.code, 0, "{said:#?}");
    assert_eq!(outcomes(&records), [Outcome::Done; 6]);
    for record in &records {
        let count = |name: &str| record.phases().map(|phase| phase.count(name)).sum::<u64>();
        assert!(
            count("command_ns") > 0 && count("sync_ns") > 0 && count("bytes_written") >= 1_000_000,
            "{:?}",
            record.stages
        );
    }
    let measured = records.iter().find(|record| record.purpose == Purpose::Measure).unwrap();
    let value = |name: &str| measured.metrics.iter().find(|metric| metric.name == name).unwrap().value;
    assert!(value("command.synced.time") > value("command.time") && value("cpu.time") > 0.0);
    let checks = records.iter().filter(|record| record.purpose == Purpose::Integrity);
    let mut trees = checks.flat_map(|record| &record.trees);
    assert!(trees.all(|tree| tree.files == 50 && tree.expected.as_ref() == Some(&tree.hash)), "{records:#?}");
    let verified = desk.say(&["verify", "out"]);
    assert!(
        verified.code == 0 && verified.out.contains("not verified: log.txt, report.html"),
        "{verified:?}"
    );
    let log = fs::read_to_string(desk.path("out/log.txt")).unwrap();
    for record in &records {
        let of_it: Vec<&str> = log.lines().filter(|line| line.contains(&record.trial)).collect();
        assert!(of_it.len() == 2 && of_it[0].ends_with(" begins"), "{log}");
    }
}

#[test]
fn what_is_prepared_is_neither_timed_nor_counted() {
    if !has_loop("a prepared command") {
        return;
    }
    let desk = Desk::new();
    let words = ["--prepare", "head -c 20m /dev/zero > big; sleep 0.5", "--command", "cat big > /dev/null"];
    let (said, records) = carry_out(&desk, "ext4", &words);
    assert_eq!(said.code, 0, "{said:#?}");
    let measured = records.iter().find(|record| record.purpose == Purpose::Measure).unwrap();
    let value =
        |name: &str| measured.metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value);
    assert!(value("command.synced.time").unwrap() < 0.5, "{:#?}", measured.metrics);
    let written = measured.stages[0].probe("block_io", "bytes_written");
    assert!(written.is_none_or(|bytes| bytes < 10 << 20), "{written:?}");
}

#[test]
fn a_command_that_fails_says_why() {
    if !has_loop("commands that fail") {
        return;
    }
    for (command, told) in [
        ("echo first; echo the last word >&2; exit 3", "exit code 3: the last word"),
        ("no-such-program", "exit code 127"),
        ("kill -9 $$", "killed by signal 9"),
        ("(sleep 60 &) ; true", "it left processes that do not end; end them in the command (sleep)"),
        ("head -c 400m /dev/zero > big", "No space left on device"),
        ("echo x > /etc/fsderby-test", "Read-only file system"),
        ("echo x > /dev/sda", "Read-only file system"),
        ("mount -t tmpfs x .", "exit code"),
    ] {
        let desk = Desk::new();
        let (said, records) = carry_out(&desk, "ext4", &["--command", command]);
        assert_eq!(said.code, TRIALS, "{command}: {said:#?}");
        let why = records.iter().map(Record::why).collect::<Vec<_>>().join("\n");
        assert!(why.contains(told), "'{told}' of {command}: {why}");
        assert!(!fs::exists("/etc/fsderby-test").unwrap());
    }
}

/// An ELF file of AArch64 that has no program.
const FOREIGN: [u8; 24] =
    [0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0xb7, 0, 1, 0, 0, 0];

#[test]
fn an_input_that_cannot_be_run_and_output_that_is_no_text_are_shown_as_they_are() {
    if !has_loop("inputs that cannot be run") {
        return;
    }
    for (command, told) in [
        ("$INPUT/foreign", "exit code 126: sh: 1: /run/input/"),
        ("$INPUT/foreign", "Exec format error"),
        ("$INPUT/script", "script: not found"),
        ("printf 'red \\033[31m'; head -c 100 /dev/urandom; exit 1", "exit code 1"),
    ] {
        let desk = Desk::new();
        fs::write(desk.path("foreign"), [&FOREIGN[..], &[0; 200]].concat()).unwrap();
        desk.file("script", "#!/no/such/interpreter\n");
        for name in ["foreign", "script"] {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(desk.path(name), mode).unwrap();
        }
        let words = ["--command", command, "--input", "foreign", "--input", "script"];
        let (said, records) = carry_out(&desk, "ext4", &words);
        assert_eq!(said.code, TRIALS, "{command}: {said:#?}");
        let why = records.iter().map(Record::why).collect::<Vec<_>>().join("\n");
        assert!(why.contains(told), "'{told}' of {command}: {why}");
        let shown = said.out + &said.err;
        assert!(!shown.contains("\u{1b}[31m"), "what a command printed steers no terminal: {shown}");
    }
}

#[test]
fn a_figure_that_is_printed_never_or_twice_fails_its_trials() {
    if !has_loop("figures that are not printed once") {
        return;
    }
    let desk = Desk::new();
    let work = |label: &str, command: &str| {
        format!(
            "[[workload]]\nlabel = '{label}'\ncommand = '{command}'\nmetric.tps.find = 'tps = ([0-9.]+)'\n"
        )
    };
    let head = "name = 'own'\nfilesystems = ['ext4']\nrounds = 1\nsize = '320m'\nmemory = '48m'\n";
    let twice = work("twice", "echo tps = 1; echo tps = 2");
    desk.file("own.toml", &(head.to_owned() + &work("never", "echo done") + &twice));
    let on = desk.testbed();
    let said = desk.say(&["run", "own.toml", "--on", &on, "--output", "out"]);
    desk.leaves_nothing(said.pid);
    assert_eq!(said.code, TRIALS, "{said:#?}");
    let run = store::read(&desk.path("out")).unwrap();
    for (label, told) in [("never", "did not print"), ("twice", "more than once")] {
        let of = run.records.iter().filter(|record| record.scenario == label);
        let why: String = of.map(Record::why).collect();
        assert!(why.contains("metric.tps") && why.contains(told), "'{told}' of {label}: {why}");
    }
}

#[test]
fn a_directory_that_is_full_or_read_only_is_said() {
    if !has_loop("full and read-only directories") {
        return;
    }
    for (options, code, told) in [
        ("size=4m", TRIALS, "No space left on device"),
        ("size=4m,ro", i32::from(exit::MISSING), "Read-only file system"),
    ] {
        let desk = Desk::new();
        let place = desk.path("place");
        fs::create_dir(&place).unwrap();
        let mounted = Mounted::new(&place, options);
        let on = format!("directory:{}", place.display());
        let words = ["run", "quick", "--on", &on, "--memory", "none", "--rounds", "1", "--output", "out"];
        let said = desk.say(&[&words[..], &["--command", "head -c 8m /dev/zero > big"]].concat());
        assert_eq!(said.code, code, "{options}: {said:#?}");
        let records = store::read(&desk.path("out")).map(|run| run.records).unwrap_or_default();
        let why = said.err + &records.iter().map(Record::why).collect::<String>();
        assert!(why.contains(told), "{options}: '{told}' in {why}");
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0, "nothing is left");
        drop(mounted);
    }
}

/// A filesystem in memory, unmounted whatever happens.
struct Mounted(std::path::PathBuf);

impl Mounted {
    fn new(at: &std::path::Path, options: &str) -> Self {
        let mut mount = std::process::Command::new("mount");
        assert!(mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).status().unwrap().success());
        Mounted(at.to_owned())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn what_cannot_be_run_is_refused_before() {
    let desk = Desk::new();
    let on = format!("directory:{}", desk.path(".").display());
    for (words, told) in [
        (vec!["--command", " "], "command is empty"),
        (vec!["--command", "true", "--input", "nowhere"], "could not read the input nowhere"),
        (vec!["--command", "true", "--scale", "1/2"], "--scale 1/2 cannot change the amount of work"),
        (vec!["--command", "true", "--workloads", "postmark-quick"], "cannot be used with"),
        (vec!["--prepare", "true"], "--command"),
    ] {
        let all = [&["run", "quick", "--on", &on, "--dry-run"][..], &words].concat();
        let said = desk.say(&all);
        assert!(said.code == USAGE && said.err.contains(told), "'{told}' of {words:?}: {said:#?}");
    }
}

#[test]
fn git_clones_an_input_of_another_user() {
    if !has_loop("a clone of another user's repository") {
        return;
    }
    let desk = Desk::new();
    let git = |words: &[&str]| {
        let own = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
        let mut command = std::process::Command::new("git");
        assert!(command.arg("-C").arg(desk.path("repo")).args(own).args(words).status().unwrap().success());
    };
    fs::create_dir(desk.path("repo")).unwrap();
    git(&["init", "-q"]);
    desk.file("repo/file", "content");
    git(&["add", "file"]);
    git(&["commit", "-q", "-m", "first"]);
    let command = "git clone -q $INPUT/repo copy && test $(cat copy/file) = content";
    let (said, records) = carry_out(&desk, "ext4", &["--command", command, "--input", "repo"]);
    assert_eq!(said.code, 0, "{said:#?} {}", records.iter().map(Record::why).collect::<String>());
}

#[test]
fn an_input_that_changes_fails_the_trials_after_it() {
    if !has_loop("an input that changes") {
        return;
    }
    let desk = Desk::new();
    fs::create_dir(desk.path("tree")).unwrap();
    desk.file("tree/file", "before");
    let (said, _) = carry_out(&desk, "ext4", &["--command", "cat $INPUT/tree/file", "--input", "tree"]);
    assert_eq!(said.code, 0, "{said:#?}");
    desk.file("tree/file", "after!");
    let said = desk.say(&["run", "--resume", "out", "--rounds", "2"]);
    desk.leaves_nothing(said.pid);
    assert_eq!(said.code, TRIALS, "{said:#?}");
    let records = store::read(&desk.path("out")).unwrap().records;
    let why = records.last().map(Record::why).unwrap_or_default();
    assert!(why.contains("tree has changed since the run was planned"), "{why}");
    desk.file("tree/file", "before");
    assert_eq!(desk.say(&["verify", "out"]).code, 0);
}

/// Each is contained, ends in time, and leaves neither a process nor a file outside of the filesystem under test.
#[test]
fn a_hostile_command_is_contained() {
    if !has_loop("hostile commands") {
        return;
    }
    let sentinel = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let mut sentinel = Ends(sentinel);
    for (what, command, told) in [
        ("a fork bomb", "f() { f | f & }; f; sleep 1", "memory"),
        ("endless output", "yes", "it printed more than 4 MiB"),
        ("ending all it may", "kill -9 -1", "killed by signal 9"),
        ("a daemon", "setsid sh -c 'sleep 300 & exit' & exit 0", "(sleep)"),
        ("all its memory", "x=x; while :; do x=$x$x; done", "memory"),
        ("tracing the agent", "for p in /proc/[0-9]*; do cat $p/mem; done >/dev/null", "exit code 1"),
        ("its user's other processes", "kill -9 1", "Operation not permitted"),
    ] {
        let desk = Desk::new();
        let (said, records) = carry_out(&desk, "ext4", &["--command", command]);
        assert_eq!(said.code, TRIALS, "{what}: {said:#?}");
        let why = records.iter().map(Record::why).collect::<Vec<_>>().join("\n");
        assert!(why.contains(told), "{what}: '{told}' in {why}");
        assert!(sentinel.0.try_wait().unwrap().is_none(), "{what} ended a process of this machine");
    }
}

/// On a mounted filesystem there is no other root, but the command still writes only there and in memory.
#[test]
fn a_command_on_a_directory_writes_only_there() {
    if !has_landlock() {
        return crate::support::skipped("a command on a directory", "this kernel has no Landlock");
    }
    let desk = Desk::new();
    let (place, outside) = (desk.path("place"), tempfile::tempdir_in("/var/tmp").unwrap());
    fs::create_dir(&place).unwrap();
    let on = format!("directory:{}", place.display());
    let outside = outside.path().display();
    let command = format!(
        "echo in > in; ! touch {outside}/new 2>/dev/null && touch /tmp/fsderby-$$ && rm /tmp/fsderby-$$"
    );
    let words =
        ["run", "quick", "--on", &on, "--rounds", "1", "--memory", "none", "--output", "out", "--command"];
    let said = desk.say(&[&words[..], &[&command]].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0, "nothing is left");
}

fn has_landlock() -> bool {
    // A read of its version needs a system call; a kernel that lists its security modules nowhere is asked by a restricted child.
    let child = std::thread::spawn(|| {
        fsderby_sys::sandbox::confine(&[]).is_ok() && fs::write("/tmp/fsderby-landlock", "").is_err()
    });
    child.join().unwrap()
}

/// Ends the process whatever happens.
struct Ends(std::process::Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_program_finds_what_programs_expect() {
    if !has_loop("what programs expect") {
        return;
    }
    let desk = Desk::new();
    desk.file("in.txt", "input");
    let command = "test \"$(cat $INPUT/in.txt)\" = input && whoami && echo x > /dev/shm/y && test $HOME = /tmp && touch $HOME/z \
                   && ! touch $INPUT/new 2>/dev/null && grep -q : /proc/net/dev && sh -c 'echo done' > done";
    let (said, records) = carry_out(&desk, "ext4,btrfs", &["--command", command, "--input", "in.txt"]);
    assert_eq!(said.code, 0, "{said:#?} {}", records.iter().map(Record::why).collect::<String>());
}

#[test]
fn what_a_command_prints_is_a_metric_of_its_own() {
    if !has_loop("printed figures") {
        return;
    }
    let desk = Desk::new();
    let experiment = "name = 'own'\nfilesystems = ['ext4', 'xfs']\nrounds = 2\nsize = '320m'\nmemory = '48m'\nseed = 1\n\
                      [[workload]]\nlabel = 'bench'\ncommand = 'echo tps = 12.5; echo warnings: 3 >&2'\n\
                      metric.tps = { find = 'tps = ([0-9.]+)', unit = '1/s', better = 'more' }\n\
                      metric.warnings = { find = 'warnings: ([0-9]+)' }\n";
    desk.file("own.toml", experiment);
    let on = desk.testbed();
    let said = desk.say(&["run", "own.toml", "--on", &on, "--output", "out"]);
    desk.leaves_nothing(said.pid);
    assert_eq!(said.code, 0, "{said:#?}");
    let run = store::read(&desk.path("out")).unwrap();
    let measured = run.records.iter().filter(|record| record.purpose == Purpose::Measure);
    let printed: Vec<(String, f64, String)> = measured
        .flat_map(|record| &record.metrics)
        .filter_map(|metric| {
            Some((
                metric.name.strip_prefix("command.printed.")?.to_owned(),
                metric.value,
                metric.unit.clone(),
            ))
        })
        .collect();
    assert_eq!(printed.len(), 8, "{printed:?}");
    assert!(
        printed.iter().filter(|(name, ..)| name == "tps").all(|(_, v, unit)| *v == 12.5 && unit == "1/s")
    );
    assert!(printed.iter().filter(|(name, ..)| name == "warnings").all(|(_, v, _)| *v == 3.0));
    let report = desk.say(&["report", "out"]);
    assert!(report.out.contains("tps"), "{report:#?}");
    assert_eq!(desk.say(&["verify", "out"]).code, 0);
}

#[test]
fn several_clients_run_it_each_in_a_folder_of_its_own() {
    if !has_loop("a command of several clients") {
        return;
    }
    let desk = Desk::new();
    let words = ["--command", "head -c 3m /dev/zero > file && sleep 0.2", "--clients", "3"];
    let (said, records) = carry_out(&desk, "ext4", &words);
    assert_eq!(said.code, 0, "{said:#?}");
    let measured = records.iter().find(|record| record.purpose == Purpose::Measure).unwrap();
    let value = |name: &str| measured.metrics.iter().find(|metric| metric.name == name).unwrap().value;
    assert!(value("command.synced.time") >= value("command.time") && value("command.time") < 2.0);
    assert!(value("command.written") >= 9e6, "{:#?}", measured.metrics);
}

/// What `fsderby rehearse` says of this command.
fn rehearsed(command: &str) -> serde_json::Value {
    use std::io::Write;
    use std::process::Stdio;
    let work = serde_json::json!({
        "of": 0, "seed": 0, "work": { "engine": "command", "parameters": { "command": command } }
    });
    let mut rehearsal = crate::support::fsderby();
    rehearsal.arg("rehearse").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut rehearsal = rehearsal.spawn().unwrap();
    rehearsal.stdin.take().unwrap().write_all(work.to_string().as_bytes()).unwrap();
    let output = rehearsal.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e} in {output:?} {errors}"))
}

#[test]
fn a_rehearsal_changes_nothing_on_this_machine() {
    let sentinel = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let mut sentinel = Ends(sentinel);
    // A folder that everybody may write to.
    let open = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(open.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let file = open.path().join("new");
    let [at, pid] = [file.display().to_string(), sentinel.0.id().to_string()];
    for (command, told) in [
        (format!("touch {at}"), "Read-only file system"),
        (format!("kill -9 {pid}"), "No such process"),
        ("mount -t tmpfs x /mnt".to_owned(), "exit code"),
        ("echo x > /dev/sda".to_owned(), "Read-only file system"),
        ("kill -9 -1".to_owned(), ""),
        ("f() { f | f & }; f; sleep 1".to_owned(), ""),
    ] {
        let said = rehearsed(&command);
        let failed = said["failed"].as_str().unwrap_or_default();
        assert!(failed.contains(told), "'{told}' of {command}: {failed}");
        assert!(!file.exists(), "{command}");
        assert!(sentinel.0.try_wait().unwrap().is_none(), "{command} ended a process of this machine");
    }
    let well = rehearsed("cat /etc/hostname > copy; test $(whoami) = fsderby");
    assert!(well["failed"].is_null(), "{well}");
    let paths: Vec<&str> =
        well["paths"].as_array().unwrap().iter().filter_map(|path| path.as_str()).collect();
    assert!(paths.contains(&"/etc/hostname") && paths.iter().any(|path| path.ends_with("/cat")), "{paths:?}");
}
