//! The text table and the spreadsheet tables, with the original's columns.

use std::fmt::Write as _;

use crate::schema::units::KIB;
use crate::workloads::iozone::matrix::Pair;
use crate::workloads::iozone::table::{Pass, Test};

/// A column: its two header lines with their widths, the width of a value, and the title of its spreadsheet table.
struct Column {
    pass: Pass,
    test: Test,
    above: &'static str,
    head: &'static str,
    head_width: usize,
    width: usize,
    report: &'static str,
}

const fn column(
    (test, pass): (Test, Pass),
    [above, head]: [&'static str; 2],
    [head_width, width]: [usize; 2],
    report: &'static str,
) -> Column {
    Column { pass, test, above, head, head_width, width, report }
}

const COLUMNS: [Column; 13] = [
    column((Test::Write, Pass::Write), ["", "write"], [9, 9], "Writer"),
    column((Test::Write, Pass::Rewrite), ["", "rewrite"], [9, 9], "Re-writer"),
    column((Test::Read, Pass::Read), ["", "read"], [8, 9], "Reader"),
    column((Test::Read, Pass::Reread), ["", "reread"], [10, 9], "Re-Reader"),
    column((Test::Random, Pass::RandomRead), ["random", "read"], [8, 9], "Random read"),
    column((Test::Random, Pass::RandomWrite), ["random", "write"], [10, 9], "Random write"),
    column((Test::Backward, Pass::BackwardRead), ["bkwd", "read"], [9, 9], "Backward read"),
    column((Test::RecordRewrite, Pass::RecordRewrite), ["record", "rewrite"], [10, 10], "Record rewrite"),
    column((Test::Stride, Pass::StrideRead), ["stride", "read"], [10, 10], "Stride read"),
    column((Test::Fwrite, Pass::Fwrite), ["", "fwrite"], [9, 9], "Fwrite"),
    column((Test::Fwrite, Pass::Frewrite), ["", "frewrite"], [9, 9], "Re-Fwrite"),
    column((Test::Fread, Pass::Fread), ["", "fread"], [9, 9], "Fread"),
    column((Test::Fread, Pass::Freread), ["", "freread"], [9, 9], "Re-Fread"),
];

/// Width left blank for a test that is not selected; the last test has one column less, so that no line ends with a blank.
fn blank(test: Test) -> usize {
    match test {
        Test::Write | Test::Read | Test::Random | Test::Fwrite => 18,
        Test::Backward => 9,
        Test::RecordRewrite | Test::Stride => 10,
        Test::Fread => 17,
        Test::Mixed => 0,
    }
}

/// The two header lines of the table.
pub fn head() -> String {
    let (mut above, mut head) = (" ".repeat(24), format!("{:>16}{:>8}", "kB", "reclen"));
    for Column { above: first, head: second, head_width, .. } in &COLUMNS {
        let written =
            write!(above, "{first:>head_width$}").and_then(|()| write!(head, "{second:>head_width$}"));
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
    }
    format!("{above}\n{head}\n")
}

/// The first two columns of a row: file size and record size.
pub fn sizes(pair: Pair) -> String {
    format!("{:>16}{:>8}", pair.file / KIB, pair.record / KIB)
}

/// The cell with the value of a pass; empty if the table has no column for this pass.
pub fn value(pass: Pass, value: &str) -> String {
    let column = COLUMNS.iter().find(|column| column.pass == pass);
    column.map_or_else(String::new, |column| format!("{value:>width$}", width = column.width))
}

/// The blanks printed for a test that is not selected.
pub fn unselected(test: Test) -> String {
    " ".repeat(blank(test))
}

/// A measured value.
#[derive(Clone, Debug)]
pub struct Measured {
    pub pair: Pair,
    pub pass: Pass,
    pub value: String,
}

/// One table for each column of a selected test. A pair of file size and record size that was not measured has the value 0.
pub fn excel(measured: &[Measured], tests: &[Test], files: &[u64], records: &[u64]) -> String {
    let mut text = "Excel output is below:\n".to_owned();
    for column in COLUMNS.iter().filter(|column| tests.contains(&column.test)) {
        let heads: String = records.iter().map(|record| format!("  \"{}\"", record / KIB)).collect();
        text += &format!("\n\"{} report\"\n      {heads}\n", column.report);
        for file in files {
            let values = records.iter().map(|record| {
                let pair = Pair { file: *file, record: *record };
                let found = measured.iter().find(|m| m.pair == pair && m.pass == column.pass);
                format!(" {} ", found.map_or("0", |m| m.value.as_str()))
            });
            text += &format!("\"{}\"  {}\n", file / KIB, values.collect::<String>());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header as IOzone 3.471 prints it.
    const HEAD: &str = concat!(
        "                                                              random    random     bkwd    record    stride                                    \n",
        "              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    fread  freread\n",
    );
    const ROW: &str = "              64      16    21695    16149    16285    16087    13423     5340    16064      5324      8011     5643    15971  2467108  3588436";

    #[test]
    fn the_table_is_the_originals_to_the_blank() {
        assert_eq!(head(), HEAD);
        let values = [
            "21695", "16149", "16285", "16087", "13423", "5340", "16064", "5324", "8011", "5643", "15971",
            "2467108", "3588436",
        ];
        let pair = Pair { file: 64 * KIB, record: 16 * KIB };
        let row =
            COLUMNS.iter().zip(values).map(|(column, text)| value(column.pass, text)).collect::<String>();
        assert_eq!(sizes(pair) + &row, ROW);
        assert_eq!(value(Pass::BackwardReread, "1"), "", "which the original does not print");
    }

    #[test]
    fn a_spreadsheet_gets_a_table_for_each_pass_and_zeros_where_nothing_was_done() {
        let pair = |file, record| Pair { file: file * KIB, record: record * KIB };
        let measured = |file, record, pass, value: &str| Measured {
            pair: pair(file, record),
            pass,
            value: value.into(),
        };
        let all = [
            measured(64, 4, Pass::Write, "2114067"),
            measured(64, 8, Pass::Write, "1650291"),
            measured(128, 8, Pass::Write, "7"),
            measured(64, 4, Pass::Rewrite, "1"),
        ];
        let text = excel(&all, &[Test::Write], &[64 * KIB, 128 * KIB], &[4 * KIB, 8 * KIB]);
        let expected = "Excel output is below:\n\n\"Writer report\"\n        \"4\"  \"8\"\n\"64\"   2114067  1650291 \n\"128\"   0  7 \n\
            \n\"Re-writer report\"\n        \"4\"  \"8\"\n\"64\"   1  0 \n\"128\"   0  0 \n";
        assert_eq!(text, expected);
    }
}
