//! Which lines are read, which are repaired, and which are refused.

use super::BonnieLines;
use crate::imports::{Found, Tool, Wrong};
use crate::schema::import::Figure;

/// A line as a web page has it: `++++,+++1651` has lost a comma.
const DAMAGED: &str = "black,250M,1460,86,10171,64,4242,18,1563,83,8216,27,316.6,12,16,1706,96,++++,+++1651,91,1581,90,25493,31,1562,92";
const TWICE: &str = "black,250M,1735,95,9819,26,4386,18,1491,79,8697,27,281.6,11,16,783,85,++++,+++761,73,793,86,++++,+++444,41";
const SECOND: &str = "1.98,2.00a,host,1,42,2G,,8192,5,722,29,268820,13,335600,11,629,21,1136333,25,7442,24,16,,,,,15932,17,+++++,+++,\
                      15445,13,16501,18,+++++,+++,16886,16,67548us,79567us,29516us,54512us,20639us,52457us,56061us,24072us,107ms,2s,18058us,29286us";

fn read(text: &str) -> Vec<Found> {
    BonnieLines.read(text).expect(text).found
}

fn one(line: &str) -> Found {
    let mut found = read(line);
    assert_eq!(found.len(), 1, "{line}");
    found.remove(0)
}

fn wrong(text: &str) -> Wrong {
    BonnieLines.read(text).expect_err(text).remove(0)
}

fn figure<'f>(found: &'f Found, metric: &str) -> Option<&'f Figure> {
    found.figures.iter().find(|figure| figure.metric == metric)
}

fn value(found: &Found, metric: &str) -> Option<f64> {
    figure(found, metric)?.value
}

#[test]
fn a_line_that_has_lost_a_comma_is_read_as_its_table_says() {
    let found = one(DAMAGED);
    let of = |metric: &str| value(&found, &format!("bonnie-classic.{metric}"));
    assert_eq!(of("block-write.throughput"), Some(10171.0));
    assert_eq!((of("seek.rate"), of("seek.cpu")), (Some(316.6), Some(12.0)));
    assert_eq!((of("delete-ordered.rate"), of("delete-ordered.cpu")), (Some(1651.0), Some(91.0)));
    assert_eq!((of("stat-random.rate"), of("delete-random.rate")), (Some(25493.0), Some(1562.0)));
    assert_eq!(found.notes.len(), 1);
    assert!(found.notes[0].contains("'+++1651' in column 78"), "{:?}", found.notes);
    let found = one(TWICE);
    assert_eq!(value(&found, "bonnie-classic.delete-random.rate"), Some(444.0));
    assert!(found.notes[0].contains("'+++761'") && found.notes[0].contains("'+++444'"));
}

#[test]
fn plus_signs_are_no_figure_and_no_zero_but_a_bound() {
    let found = one(DAMAGED);
    let quick = figure(&found, "bonnie-classic.stat-ordered.rate").expect("it was run");
    // 16 × 1024 files in less than half a second.
    assert_eq!((quick.value, quick.least, quick.most), (None, Some(32768.0), None));
    assert_eq!(figure(&found, "bonnie-classic.stat-ordered.cpu"), None);
}

#[test]
fn what_is_not_said_of_the_work_is_the_versions_default() {
    let found = one(SECOND);
    let text = found.work.to_string();
    assert_eq!(text, "semantics = \"2.00\"\nsize = 2147483648\nseeks = 8192\nseekers = 5\nfiles = 16384\n");
    assert_eq!(value(&found, "bonnie-2.delete-ordered.latency"), Some(107e6));
    assert_eq!(value(&found, "bonnie-2.create-random.latency"), Some(2e9));
    assert_eq!(found.program, "Bonnie++ 2.00a");
    let raid = "semantics = 'classic'\nsize = '250m'\nfiles = 16384".parse().expect("TOML");
    assert_eq!(BonnieLines.unlike(&one(DAMAGED).work, &raid), Ok(Vec::new()));
    let differs = BonnieLines.unlike(&found.work, &raid).expect("both are work");
    assert_eq!(differs.len(), 3, "{differs:?}");
    assert_eq!(differs[1], "a file of 2 GiB, here 250 MiB");
}

#[test]
fn phases_that_were_left_out_have_no_figures() {
    let data = "a,2M:64k,,,994615,24,1390048,37,,,2476798,55,+++++,+++,,,,,,,,,,,,,";
    let found = one(data);
    assert_eq!(found.work["characters"].as_integer(), Some(0));
    assert_eq!(
        (found.work["size"].as_integer(), found.work["chunk"].as_integer()),
        (Some(2 << 20), Some(64 << 10))
    );
    assert!(found.figures.iter().all(|f| !f.metric.contains("char") && !f.metric.contains("create")));
    let files = "a,,,,,,,,,,,,,,1:3000:100/2,31935,37,30502,37,1,2,3,4,5,6,7,8";
    let found = one(files);
    assert_eq!(found.work["directories"].as_integer(), Some(2));
    assert_eq!(found.work["file_size"].to_string(), "[100, 3000]");
    assert_eq!(found.figures.len(), 12);
    let links = one("a,,,,,,,,,,,,,,1:symlink,31935,37,30502,37,1,2,3,4,5,6,7,8");
    assert_eq!(links.work["links"].as_str(), Some("symbolic"));
}

#[test]
fn where_two_readings_are_possible_or_none_the_place_is_told() {
    // A comma between two numbers is lost, somewhere.
    let lost = wrong(&format!("text\n{}", DAMAGED.replace("10171,64", "1017164")));
    assert_eq!((lost.line, lost.column), (2, 28), "{}", lost.what);
    assert!(lost.what.contains("26 fields") && lost.what.contains("has 27"), "{}", lost.what);
    let other = wrong(&DAMAGED.replace("4242", "42x2"));
    assert_eq!((other.line, other.column), (1, 29));
    assert!(other.what.contains("field 7: '42x2'"), "{}", other.what);
    // With the comma restored, a rate would have no CPU share.
    let unpaired = wrong(&DAMAGED.replace("25493,31,1562", "25493+++,1562"));
    assert!(
        unpaired.what.contains("'25493+++'") && unpaired.what.contains("contradict each other"),
        "{}",
        unpaired.what
    );
    for unknown in ["1.92", "1.99", "2.00a", "1.98-1"] {
        let version = wrong(&SECOND.replacen("1.98", unknown, 1));
        let words = format!("version '{unknown}' is not supported");
        assert!(version.what.contains(&words), "{}", version.what);
    }
    assert!(wrong(&SECOND.replace("107ms", "107min")).what.contains("'107min' is not a latency"));
    assert!(wrong(&DAMAGED.replace("250M", "250X")).what.contains("'250X' is not a size"));
}

#[test]
fn tables_names_and_prose_are_passed_over() {
    let names = "name,file_size,putc,putc_cpu,put_block,put_block_cpu,rewrite,rewrite_cpu,getc,getc_cpu,get_block,get_block_cpu,seeks";
    let text = format!(
        "Machine   Size K/sec %CP K/sec\nblack    250M  1460  86 10171  64\n{names}\na, b, c, d, e, f, g, h, i, j, k, l, m, n, o\r\n{SECOND}\r\n"
    );
    let read = BonnieLines.read(&text).expect("text");
    assert_eq!((read.found.len(), read.other_lines, read.found[0].line), (1, 4, 5));
}

/// What follows the number of small files in a line of 1.9x or 2.00: sizes, piece and directories, as they are printed.
fn with_files(format: &str, program: &str, files: &str) -> String {
    let seeks = if format == "1.98" { "8192,5," } else { "" };
    format!(
        "{format},{program},h,1,1,16G,,{seeks}991,99,505650,48,248311,22,4198,99,686466,27,900,5,{files},1200,10,1300,12,1500,11,1600,13,\
         1700,13,1800,13,18813us,159ms,397ms,3930us,7022us,169ms,693us,587us,655us,936us,16us,923us"
    )
}

#[test]
fn directories_are_read_where_each_version_prints_them() {
    let versions =
        [("1.93c", "1.93c"), ("1.96", "1.96"), ("1.97", "1.97"), ("1.98", "1.98"), ("1.98", "2.00a")];
    for (format, program) in versions {
        for (files, directories, piece, what) in [
            ("16,,,,64", Some(64), None, "16384 empty files in 64 folders"),
            ("16,,,,", None, None, "16384 empty files"),
            ("1,300,20,,3", Some(3), None, "1024 files of 20 to 300 bytes in 3 folders"),
            ("1,link,,,2", Some(2), None, "1024 hard links in 2 folders"),
            ("16,30000,,4k,512", Some(512), Some(4096), "16384 files of 0 to 30000 bytes in 512 folders"),
            ("16,30000,,4k,", None, Some(4096), "16384 files of 0 to 30000 bytes"),
            // This line has the order of the header line, which no version of Bonnie++ prints.
            ("16,,,64,", Some(64), None, "16384 empty files in 64 folders"),
            ("16,30000,,3,4k", Some(3), Some(4096), "16384 files of 0 to 30000 bytes in 3 folders"),
        ] {
            let found = one(&with_files(format, program, files));
            let of = |key: &str| found.work.get(key).and_then(toml::Value::as_integer);
            assert_eq!((of("directories"), of("piece")), (directories, piece), "{program}: {files}");
            assert!(BonnieLines.described(&found.work).ends_with(what), "{program}: {files}");
            assert_eq!(value(&found, "bonnie-2.delete-random.rate"), Some(1800.0), "{program}: {files}");
        }
    }
    let note = one(&with_files("1.97", "1.97", "16,,,,64")).notes.remove(0);
    assert_eq!(note, "64 is taken for the number of folders, which 1.97 writes into the field after its own");
    let [one_folder, many] = ["16,,,,", "16,,,,64"].map(|files| one(&with_files("1.97", "1.97", files)).work);
    assert!(!BonnieLines.alike(&one_folder, &many), "other work");
}

#[test]
fn lines_of_1_93_to_1_96_have_one_form_and_one_comma_less_without_the_large_file() {
    let first = one(
        "1.93c,1.93c,host-a,1,1125982584,800M,,496,87,34925,12,37639,16,868,99,566685,98,3144,39,16,,,,,100,99,199,99,1480,\
        98,148,99,201,99,349,99,753ms,380ms,9518us,18260us,8728us,95532us,39390us,19146us,10730us,22799us,18930us,16815us",
    );
    assert_eq!((first.machine.as_str(), first.program.as_str()), ("host-a", "Bonnie++ 1.93c"));
    assert_eq!(value(&first, "bonnie-2.seek.rate"), Some(3144.0));
    assert_eq!(value(&first, "bonnie-2.delete-random.latency"), Some(16_815e3));
    let small = "60,32,32,,,1702,14,2025,12,1332,4,1873,16,2047,13,1266,3,,,,,,,3874ms,6645ms,8659ms,505ms,7257ms,9627ms";
    for version in ["1.93", "1.93d", "1.94", "1.95", "1.96", "1.97"] {
        for commas in [14, 15] {
            let found = one(&format!("{version},{version},host-b,1,1374655110{}{small}", ",".repeat(commas)));
            assert_eq!(found.work["size"].as_integer(), Some(0), "{version}");
            assert_eq!(found.work["files"].as_integer(), Some(60 * 1024), "{version}");
            assert_eq!(value(&found, "bonnie-2.create-ordered.rate"), Some(1702.0), "{version}");
            assert_eq!(value(&found, "bonnie-2.create-ordered.latency"), Some(3874e6), "{version}");
            assert_eq!((found.figures.len(), found.notes.len()), (18, 0), "{version}");
        }
    }
    // 2.00a writes all of them, and a line of 1.9x with data lacks nothing.
    wrong(&format!("1.98,2.00a,host-b,1,1374655110{}{small}", ",".repeat(16)));
    one(&format!("1.98,2.00a,host-b,1,1374655110{}{small}", ",".repeat(17)));
    wrong(&with_files("1.97", "1.97", "16,,,,").replacen("16G,,", "16G,", 1));
}

#[test]
fn lines_in_mails_pages_and_commands_are_found_with_a_note_of_what_was_cut_off() {
    let line = "host-d,31G,106862,68,103016,3,39518,2,110741,66,106129,2,206.5,0,16,+++++,+++,+++++,+++,+++++,+++,+++++,+++,+++++,+++,+++++,+++";
    for (text, note) in [
        (format!("> >{line}"), "the quote marks of a mail"),
        (format!("{line}<br />"), "the tags of a page"),
        (format!("<td>{line}</td>"), "the tags of a page"),
        (format!("    > {line}\\"), "the quote marks of a mail and a backslash at the end"),
        (format!("`{line}`"), "the quotes around it"),
        (format!("$ echo \"{line}\" | bon_csv2html >x.html"), "the shell command around it"),
        (format!("&gt; {line}<br>"), "the quote marks of a mail and the tags of a page"),
    ] {
        let found = one(&text);
        assert_eq!(found.machine, "host-d", "{text}");
        assert_eq!(value(&found, "bonnie-classic.seek.rate"), Some(206.5), "{text}");
        assert_eq!(found.notes, [format!("read without {note}")], "{text}");
    }
    // If a line and its echo are both in the text, the echo is not a second result.
    let twice = format!("> {line}\\\n> $ echo {line} | bon_csv2html >>x\n");
    let read = BonnieLines.read(&twice).expect("text");
    assert_eq!((read.found.len(), read.other_lines), (1, 1));
    let echo_first = format!("$ echo {line} | bon_csv2html\n{line}\n");
    assert_eq!(BonnieLines.read(&echo_first).expect("text").found.len(), 1, "whichever stands first");
    let different = format!("{line}\n$ echo {} | bon_csv2html\n", line.replace("106862", "106863"));
    assert_eq!(BonnieLines.read(&different).expect("text").found.len(), 2);
}

#[test]
fn all_bad_lines_are_told_with_their_places_in_the_text() {
    let bad = DAMAGED.replace("10171,64", "1017164");
    let text = format!("{DAMAGED}\n> {bad}\n{SECOND}\n{}\n", SECOND.replacen("1.98", "1.92", 1));
    let wrong = BonnieLines.read(&text).expect_err("two are bad");
    let places: Vec<(usize, usize)> = wrong.iter().map(|wrong| (wrong.line, wrong.column)).collect();
    assert_eq!(places, [(2, 30), (4, 1)], "{wrong:?}");
}
