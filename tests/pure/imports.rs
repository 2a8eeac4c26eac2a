//! `fsderby import`: from another program's output to a report that shows it beside a run, and what is refused.

use std::path::{Path, PathBuf};

use crate::support::desk::{Desk, Said};
use crate::support::quiet;
use crate::support::scripted::Scripted;
use fsderby::exit;
use fsderby::runner::experiment::Experiment;
use fsderby::testbeds::Testbeds;
use serde_json::Value;

const USAGE: i32 = exit::USAGE as i32;
const MISSING: i32 = exit::MISSING as i32;
const DAMAGED: i32 = exit::DAMAGED as i32;

/// Two lines as a published comparison printed them, with the commas that they have lost.
const LINES: &str = "ReiserFS
black    250M  1460  86 10171  64 4242  18  1563  83  8216  27 316.6  12
black,250M,1460,86,10171,64,4242,18,1563,83,8216,27,316.6,12,16,1706,96,++++,+++1651,91,1581,90,25493,31,1562,92
XFS
black,250M,1735,95,9819,26,4386,18,1491,79,8697,27,281.6,11,16,783,85,++++,+++761,73,793,86,++++,+++444,41
";
const EXPERIMENT: &str = r#"
name = "scripted"
analysis = "Figures from elsewhere beside ours."
size = "1g"
memory = "64m"
workloads = ["postmark-quick"]
filesystems = ["ext4", "xfs"]
rounds = 6
seed = 7
"#;
/// PostMark's own seed is 42; the parameters are those of the set postmark-quick.
const SCRIPT: &str =
    "set number 800\nset transactions 2500\nset size 1000 60000\nset read 4096\nset write 4096\nrun\nquit\n";

fn run_in(path: PathBuf) {
    let plan = Experiment::parse(EXPERIMENT, "test").unwrap().plan("loop".into(), 1).unwrap();
    let testbed = Scripted::well();
    quiet::run(&path, &plan, &Testbeds::one(&testbed), &[]);
}

fn well(desk: &Desk, words: &[&str]) -> Said {
    let said = desk.say(words);
    assert_eq!(said.code, 0, "{words:?}: {said:#?}");
    said
}

fn json(desk: &Desk, words: &[&str]) -> Value {
    serde_json::from_str(&well(desk, words).out).unwrap()
}

fn text(desk: &Desk, name: &str) -> String {
    std::fs::read_to_string(desk.path(name)).unwrap()
}

/// A desk with an import of [`LINES`].
fn with_lines() -> Desk {
    let desk = Desk::new();
    desk.file("raid.txt", LINES);
    let labels = ["--label", "raid.txt:3=reiserfs", "--label", "raid.txt:5=xfs"];
    let said =
        well(&desk, &[&["import", "bonnie", "raid.txt", "--set", "raid-backup"], &labels[..]].concat());
    assert!(
        said.err.contains("wrote results/bonnie-raid\n") && said.err.contains("3 lines of other text"),
        "{}",
        said.err
    );
    desk
}

#[test]
fn damaged_lines_are_mended_stored_and_shown_as_imported_in_every_format() {
    let desk = with_lines();
    let folder = "results/bonnie-raid";
    let terminal = well(&desk, &["report", folder]).out;
    assert!(terminal.contains("not by fsderby") && terminal.contains("> 32768"), "{terminal}");
    let said = terminal.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("a lost comma was put back: '+++1651'"), "{terminal}");
    assert!(terminal.lines().all(|line| line.chars().count() <= 80), "{terminal}");
    well(&desk, &["report", folder, "--html", "r.html", "--markdown", "r.md", "--csv", "r.csv"]);
    let (html, markdown, csv) = (text(&desk, "r.html"), text(&desk, "r.md"), text(&desk, "r.csv"));
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("<td class=\"name\">imported</td>"));
    assert!(html.contains("These figures were measured by Bonnie++ 1.0x, not by fsderby"));
    assert!(
        markdown.contains("| reiserfs | imported | 1706 | 96 | > 32768 | 1651 | 91 |")
            || markdown.contains("| reiserfs | imported | 1706 | 96 | \\> 32768 | 1651 | 91 |"),
        "{markdown}"
    );
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<csv::StringRecord> = rows.records().map(|row| row.unwrap()).collect();
    assert!(
        rows.len() > 40
            && rows.iter().all(|row| &row[3] == "no" && &row[4] == "imported" && &row[21] == "imported")
    );
    let quick = rows.iter().find(|row| &row[23] == "bonnie-classic.stat-ordered.rate").unwrap();
    assert_eq!([&quick[22], &quick[25]], ["more than 32768", ""], "it is no figure, and not 0");
    let all = json(&desk, &["report", folder, "--json"]);
    let first = &all["imported"][0]["filesystems"][0];
    assert_eq!((&first["label"], &first["passes"][0]["from"]), (&"reiserfs".into(), &"raid.txt:3".into()));
}

#[test]
fn what_is_stored_is_read_again_from_its_files_before_it_is_shown() {
    let desk = with_lines();
    let folder = "results/bonnie-raid";
    assert!(well(&desk, &["verify", folder]).out.contains("1 file, 2 results and"));
    assert_eq!(json(&desk, &["verify", folder, "--json"])["wrong"], Value::Array(Vec::new()));
    let refuses = |words: &str| {
        for command in ["report", "verify"] {
            let said = desk.say(&[command, folder]);
            let told = format!("{}{}", said.out, said.err);
            assert!(
                said.code == DAMAGED && told.contains(words) && !told.contains("panicked"),
                "{command}: {said:#?}"
            );
        }
        run_beside(&desk, folder);
    };
    let import = text(&desk, "results/bonnie-raid/import.json");
    desk.file("results/bonnie-raid/import.json", import.replacen("9819.0", "9919.0", 1));
    refuses("the import's figures differ from its sources");
    desk.file("results/bonnie-raid/import.json", import.replacen("raid-backup", "provao-1g", 1));
    refuses("is not reliable");
    desk.file("results/bonnie-raid/import.json", "{");
    refuses("import.json");
    desk.file("results/bonnie-raid/import.json", &import);
    desk.file("results/bonnie-raid/sources/1.txt", LINES.replace("9819", "9919"));
    refuses("sources/1.txt is altered");
    std::fs::remove_file(desk.path("results/bonnie-raid/sources/1.txt")).unwrap();
    refuses("sources/1.txt is missing");
    std::os::unix::fs::symlink("../../../raid.txt", desk.path("results/bonnie-raid/sources/1.txt")).unwrap();
    refuses("a symbolic link");
}

#[test]
fn an_import_of_an_older_reading_is_read_again_and_says_so() {
    let desk = with_lines();
    let import: Value = serde_json::from_str(&text(&desk, "results/bonnie-raid/import.json")).unwrap();
    let store = |import: &Value| desk.file("results/bonnie-raid/import.json", import.to_string());
    let mut older = import.clone();
    older.as_object_mut().unwrap().remove("reading");
    store(&older);
    assert!(!well(&desk, &["report", "results/bonnie-raid"]).out.contains("read again"), "it says the same");
    older["entries"][0]["work"]["piece"] = 64.into();
    store(&older);
    well(&desk, &["verify", "results/bonnie-raid"]);
    let again = well(&desk, &["report", "results/bonnie-raid", "--json"]).out;
    assert!(again.contains("parsed again, because this version of fsderby parses it differently"), "{again}");
    assert_eq!(desk.say(&["verify", "results/bonnie-raid"]).code, 0);
    // One of today's is compared with its sources.
    older["reading"] = import["reading"].clone();
    store(&older);
    assert_eq!(desk.say(&["verify", "results/bonnie-raid"]).code, DAMAGED);
}

#[test]
fn an_import_is_no_run_and_a_run_is_no_import() {
    let desk = with_lines();
    run_in(desk.path("run"));
    let folder = "results/bonnie-raid";
    desk.refuses(&["report", "run", "--beside", "run"], USAGE, &["run is not an import", "try: "]);
    desk.refuses(&["report", "run", "--beside", "raid.txt"], USAGE, &["raid.txt is not an import"]);
    desk.refuses(&["report", folder, "--baseline", "xfs"], USAGE, &["imported figures are not compared"]);
    desk.refuses(&["verify", folder, "--rerun"], USAGE, &["an import has no trials"]);
    assert_ne!(desk.say(&["compare", "run", folder]).code, 0);
    assert_ne!(desk.say(&["run", "--resume", folder]).code, 0);
}

/// A damaged import is not shown beside a run either.
fn run_beside(desk: &Desk, folder: &str) {
    if !desk.path("run").exists() {
        run_in(desk.path("run"));
    }
    assert_eq!(desk.say(&["report", "run", "--beside", folder]).code, DAMAGED);
}

/// The same report of a machine that took 40 seconds, by the lines that say so: whole seconds of a short work bound nothing.
fn slower(report: &str) -> String {
    let slower = |line: &str| {
        if line.ends_with(" seconds total") {
            return "\t40 seconds total".to_owned();
        }
        let Some((amount, _)) = line.split_once('(').filter(|_| line.ends_with("bytes per second)")) else {
            return line.to_owned();
        };
        let mut words = amount.split_whitespace();
        let number: f64 = words.next().unwrap().parse().unwrap();
        let kilobytes = if words.next() == Some("megabytes") { number * 1024.0 } else { number };
        format!("{amount}({:.2} kilobytes per second)", kilobytes / 40.0)
    };
    report.lines().map(slower).collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn what_our_postmark_prints_stands_beside_a_run_of_the_same_work_and_out_of_its_verdict() {
    let desk = Desk::new();
    desk.file("cfg", SCRIPT);
    let first = well(&desk, &["postmark", "cfg"]).out;
    desk.file("xfs.txt", &first);
    desk.file("again.txt", slower(&first));
    let import = [
        "import",
        "postmark",
        "xfs.txt",
        "again.txt",
        "--label",
        "again.txt=xfs",
        "--set",
        "postmark-quick",
        "--out",
        "pm",
    ];
    well(&desk, &import);
    run_in(desk.path("run"));
    let alone = json(&desk, &["report", "run", "--json"]);
    let mut beside = json(&desk, &["report", "run", "--json", "--beside", "pm"]);
    let imported = beside["summary"]["workloads"][0].as_object_mut().unwrap().remove("imported").unwrap();
    assert_eq!(beside, alone, "nothing but the imported figures differs");
    let shown = &imported[0];
    assert_eq!(shown["beside"], "postmark-quick");
    assert!(shown.get("differences").is_none(), "the same files and bytes: {shown}");
    let xfs = &shown["filesystems"][0];
    assert_eq!((&xfs["here"], xfs["passes"].as_array().map(Vec::len)), (&"xfs".into(), Some(2)));
    let ratio = |metric: &str| xfs["ratios"].as_array().unwrap().iter().find(|r| r["metric"] == metric);
    assert!(ratio("transactions.rate").is_some_and(|r| r["ratio"].as_f64().unwrap() > 0.0), "{xfs}");
    let apart = shown["disagreements"].as_array().unwrap();
    assert!(apart.iter().any(|d| d["metric"] == "write.throughput"), "{apart:?}");
    assert!(ratio("write.throughput").is_none(), "what is in doubt is not divided by");
    let terminal = well(&desk, &["report", "run", "--beside", "pm"]).out;
    for words in [
        "imported, repetition 2",
        "here, median of 6",
        "here ÷ imported",
        "‡",
        "Some repetitions differ by more than a factor of",
        "As far as the imported files show, their workload",
    ] {
        assert!(terminal.contains(words), "{words} in:\n{terminal}");
    }
    well(
        &desk,
        &[
            "report",
            "run",
            "--beside",
            "pm",
            "--html",
            "r.html",
            "--markdown",
            "r.md",
            "--csv-trials",
            "r.csv",
        ],
    );
    assert!(text(&desk, "r.html").contains("<td class=\"name\">here ÷ imported</td>"));
    assert!(text(&desk, "r.md").contains("| xfs | imported, repetition 1 |"));
    assert!(text(&desk, "r.csv").lines().any(|line| line.contains(",imported,,,postmark-quick,xfs,")));
}

#[test]
fn other_work_is_shown_with_its_differences_and_without_a_ratio() {
    let desk = with_lines();
    desk.file("cfg", SCRIPT.replace("800", "700"));
    let report = well(&desk, &["postmark", "cfg"]).out;
    desk.file("xfs.txt", report);
    well(&desk, &["import", "postmark", "xfs.txt", "--output", "pm"]);
    run_in(desk.path("run"));
    let all = json(&desk, &["report", "run", "--json", "--beside", "pm", "--beside", "results/bonnie-raid"]);
    let shown = &all["summary"]["workloads"][0]["imported"][0];
    assert!(shown["differences"][0].as_str().unwrap().starts_with("files at first 700, here 800"), "{shown}");
    assert!(shown["filesystems"][0].get("ratios").is_none());
    let apart = &all["summary"]["imported"][0];
    assert_eq!(
        (&apart["tool"], apart.get("beside")),
        (&"Bonnie++".into(), None),
        "no workload of the run is Bonnie++'s"
    );
    let terminal = well(&desk, &["report", "run", "--beside", "results/bonnie-raid"]).out;
    assert!(terminal.contains("\nImported from Bonnie++: raid.txt\n"), "{terminal}");
}

#[test]
fn what_our_bonnie_prints_in_each_form_is_imported() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("work")).unwrap();
    let user: &[&str] = if crate::support::is_root() { &["-u", "root"] } else { &[] };
    for (version, program) in [("1.03", "1.0x"), ("1.97", "1.97"), ("1.98", "2.00a"), ("2.00a", "2.00a")] {
        let options = [
            "bonnie",
            "-d",
            "work",
            "-r",
            "0",
            "-s",
            "2:64k:50",
            "-f",
            "-n",
            "1:300:20:3",
            "-m",
            "host",
            "--as",
            version,
        ];
        desk.file("line.csv", well(&desk, &[&options[..], user].concat()).out);
        let out = format!("out-{version}");
        let all = json(&desk, &["import", "bonnie", "line.csv", "--json", "--output", &out]);
        let host = &all["imported"][0]["filesystems"][0];
        assert_eq!(
            (&host["label"], &host["passes"][0]["program"]),
            (&"host".into(), &format!("Bonnie++ {program}").into())
        );
        assert!(all["imported"][0]["work"].as_str().unwrap().starts_with("a file of 2 MiB"), "{all}");
        assert!(
            all["imported"][0]["work"]
                .as_str()
                .unwrap()
                .ends_with("1024 files of 20 to 300 bytes in 3 folders"),
            "{all}"
        );
        well(&desk, &["verify", &out]);
    }
}

#[test]
fn what_cannot_be_imported_says_where_and_why_and_leaves_nothing() {
    let desk = Desk::new();
    desk.file("raid.txt", LINES);
    desk.file("lost.txt", LINES.replace("10171,64", "1017164"));
    desk.file("prose.txt", "Nothing, of, note.\n");
    desk.file("ended.txt", "Performing transactions..........out of files!\n");
    let fifo = desk.path("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    let refuses = |words: &[&str], told: &[&str]| desk.refuses(&[&["import"], words].concat(), USAGE, told);
    refuses(&["bonnie", "raid.txt", "lost.txt"], &["lost.txt:3:28: the line has 26 fields", "try: "]);
    refuses(&["bonnie", "prose.txt"], &["prose.txt: no Bonnie++ result found", "try: "]);
    desk.file(
        "bad.txt",
        format!("{}\n{}", LINES.replace("10171,64", "1017164"), LINES.replace("4386", "43x6")),
    );
    refuses(
        &["bonnie", "lost.txt", "raid.txt", "bad.txt"],
        &[
            "lost.txt:3:28: the line has 26",
            "bad.txt:3:28: the line has 26",
            "bad.txt:11:28: field 7: '43x6'",
            "correct the lines",
        ],
    );
    refuses(&["postmark", "ended.txt"], &["no PostMark result found", "line 1: the run ran out of files"]);
    refuses(&["bony", "raid.txt"], &["unknown tool to import from 'bony'"]);
    refuses(&["bonnie", "absent.txt"], &["could not read absent.txt", "try: "]);
    refuses(&["bonnie", "fifo"], &["it is a pipe to which nobody writes"]);
    refuses(&["bonnie", "."], &["it is a directory"]);
    refuses(
        &["bonnie", "raid.txt", "--label", "white=xfs"],
        &["has the machine, file or line 'white'", "raid.txt:3 (black)"],
    );
    refuses(&["bonnie", "raid.txt", "--label", "black="], &["is not a label"]);
    refuses(
        &["bonnie", "raid.txt", "--set", "provao-1g"],
        &["raid.txt:3 is a result of another workload", "a file of 250 MiB, here 1 GiB"],
    );
    refuses(&["bonnie", "raid.txt", "--set", "raid-backp"], &["did you mean 'raid-backup'?"]);
    std::fs::create_dir(desk.path("there")).unwrap();
    refuses(&["bonnie", "raid.txt", "--output", "there"], &["there already exists"]);
    for output in ["raid.txt/x", "new/raid.txt/../../raid.txt/x", "/proc/new/x"] {
        let words = ["import", "bonnie", "raid.txt", "--output", output];
        desk.refuses(&words, MISSING, &["could not create the import's folder", "try: --output"]);
    }
}

#[test]
fn what_our_iozone_prints_is_imported_as_the_same_figures() {
    let desk = Desk::new();
    let plain =
        well(&desk, &["iozone", "-a", "-n", "64k", "-g", "64k", "-y", "32k", "-i", "0", "-i", "2", "-R"]).out;
    desk.file("rows.txt", &plain);
    desk.file("tables.txt", plain.split("Excel output is below:").nth(1).unwrap());
    desk.file("mail.txt", plain.lines().map(|line| format!("> {line}\n")).collect::<String>());
    let import = |file: &str, out: &str| {
        json(&desk, &["import", "iozone", file, "--json", "--output", out, "--label", "x"])
    };
    let figures = |all: &Value| -> Vec<Value> {
        all["imported"]
            .as_array()
            .unwrap()
            .iter()
            .map(|group| group["filesystems"][0]["passes"][0]["parts"].clone())
            .collect()
    };
    let rows = import("rows.txt", "rows");
    assert_eq!(rows["imported"].as_array().map(Vec::len), Some(2), "{rows}");
    assert_eq!(rows["imported"][1]["work"], "a file of 64 KiB in records of 64 KiB");
    assert_eq!(figures(&rows), figures(&import("tables.txt", "tables")));
    assert_eq!(figures(&rows), figures(&import("mail.txt", "mail")));
    well(&desk, &["verify", "rows"]);
    desk.refuses(
        &["import", "iozone", "rows.txt", "--set", "iozone-quick"],
        USAGE,
        &["is a result of another workload"],
    );
}

#[test]
fn what_fio_prints_as_json_stands_alone() {
    let desk = Desk::new();
    let job = r#"{"fio version":"fio-3.33","jobs":[{"jobname":"mail","error":0,"job options":{"rw":"write","bs":"4k"},
        "write":{"io_bytes":4096,"bw_bytes":2048000,"iops":500.5,"clat_ns":{"mean":1500.5,"max":9000}}}]}"#;
    desk.file("fio.json", job);
    let all = json(&desk, &["import", "fio", "fio.json", "--json", "--output", "out"]);
    assert_eq!(
        (&all["imported"][0]["work"], &all["imported"][0]["filesystems"][0]["label"]),
        (&"rw=write bs=4k".into(), &"mail".into())
    );
    assert!(well(&desk, &["report", "out"]).out.contains("500"), "{all}");
    run_in(desk.path("run"));
    let terminal = well(&desk, &["report", "run", "--beside", "out"]).out;
    assert!(terminal.contains("Imported from fio: fio.json"), "{terminal}");
    desk.file("bad.json", &job[..60]);
    desk.refuses(
        &["import", "fio", "bad.json"],
        USAGE,
        &["bad.json:1:60: the JSON is incomplete or invalid"],
    );
}

#[test]
fn passes_that_are_too_far_apart_are_told() {
    let desk = Desk::new();
    desk.file("two.csv", LINES);
    let shown = well(&desk, &["import", "bonnie", "two.csv", "--output", "two"]).out;
    // The label is the machine's, so both lines are passes of it.
    let words: Vec<&str> = shown.split_whitespace().collect();
    let said = words.join(" ");
    assert!(said.contains("black, files in order, create (2.18 times)"), "{said}");
    assert!(
        said.contains("black, files at random, stat (1.29 times)"),
        "more than 32768 beside 25493: {said}"
    );
    assert!(shown.contains("1706‡") && shown.contains("25493‡") && !shown.contains("10171‡"), "{shown}");
}

/// No text of a file of somebody's steers a terminal, a page or a spreadsheet.
#[test]
fn what_a_file_holds_is_shown_as_text() {
    let desk = Desk::new();
    let steers = "=x\u{1b}[2J<b>|\u{202e}";
    desk.file("x.csv", LINES.replace("black,", &format!("{steers},")));
    well(&desk, &["import", "bonnie", "x.csv", "--output", "x"]);
    well(&desk, &["report", "x", "--html", "r.html", "--markdown", "r.md", "--csv", "r.csv"]);
    let texts = ["r.html", "r.md", "r.csv"].map(|name| text(&desk, name));
    let said = [well(&desk, &["report", "x"]).out, well(&desk, &["report", "x", "--json"]).out];
    for shown in texts.iter().chain(&said) {
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
    }
    assert!(!texts[0].contains("<b>|") && texts[2].contains(",'=x"), "{}", texts[2]);
    assert!(Path::new(&desk.path("x/sources/1.txt")).exists());
}
