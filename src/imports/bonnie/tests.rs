//! What is read of lines, what is mended, and what is refused.

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
    BonnieLines.read(text).expect_err(text)
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
    // Put back it would be a rate without its share.
    let unpaired = wrong(&DAMAGED.replace("25493,31,1562", "25493+++,1562"));
    assert!(
        unpaired.what.contains("'25493+++'") && unpaired.what.contains("do not fit together"),
        "{}",
        unpaired.what
    );
    let version = wrong(&SECOND.replacen("1.98", "1.95", 1));
    assert!(version.what.contains("version '1.95' is not supported"), "{}", version.what);
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
