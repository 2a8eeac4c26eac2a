//! A spreadsheet file in BIFF 2, the oldest format that spreadsheet programs still open.
//!
//! ```text
//! 09 00 04 00 | 02 00 10 00                                   begin: version 2, a worksheet
//! 04 00 08+n  | row column 00 00 00 n text                    a text of n bytes, 255 at most
//! 03 00 0f 00 | row column 00 00 00 number                    a number of 8 bytes
//! 0a 00 00 00                                                 end
//! ```
//! All numbers are little-endian; row and column have two bytes each. Source: OpenOffice's description of the format.

/// A worksheet that is filled row by row.
pub struct Sheet {
    bytes: Vec<u8>,
    row: u16,
}

/// A cell.
pub enum Cell<'c> {
    Text(&'c str),
    Number(f64),
}

const BEGIN: [u8; 8] = [0x09, 0, 4, 0, 2, 0, 0x10, 0];
const END: [u8; 4] = [0x0a, 0, 0, 0];
const LABEL: u16 = 0x04;
const NUMBER: u16 = 0x03;
const LONGEST: usize = 255;

impl Sheet {
    pub fn new() -> Self {
        Sheet { bytes: BEGIN.to_vec(), row: 0 }
    }

    /// The next row.
    pub fn row(&mut self, cells: &[Cell<'_>]) {
        for (column, cell) in (0_u16..).zip(cells) {
            match cell {
                Cell::Text(text) => {
                    let end = (0..=text.len().min(LONGEST)).rev().find(|at| text.is_char_boundary(*at));
                    let text = &text.as_bytes()[..end.unwrap_or(0)];
                    let length = u8::try_from(text.len()).unwrap_or(u8::MAX);
                    self.cell(LABEL, column, &[&[length], text].concat());
                }
                Cell::Number(number) => self.cell(NUMBER, column, &number.to_le_bytes()),
            }
        }
        self.row = self.row.saturating_add(1);
    }

    fn cell(&mut self, kind: u16, column: u16, content: &[u8]) {
        let length = 7 + u16::try_from(content.len()).unwrap_or(u16::MAX);
        for number in [kind, length, self.row, column] {
            self.bytes.extend(number.to_le_bytes());
        }
        self.bytes.extend([0; 3]);
        self.bytes.extend(content);
    }

    pub fn finished(mut self) -> Vec<u8> {
        self.bytes.extend(END);
        self.bytes
    }
}

/// Converts text tables to cells: words in quotes become text, all other words numbers.
pub fn of_tables(command: &str, tables: &str) -> Vec<u8> {
    let mut sheet = Sheet::new();
    sheet.row(&[Cell::Text(command)]);
    for line in tables.lines().skip_while(|line| !line.starts_with('"')) {
        let indented = line.starts_with(' ');
        let cells = cells(line);
        // The head of the columns begins over the second one.
        let first = indented.then_some(Cell::Text(""));
        sheet.row(&first.into_iter().chain(cells).collect::<Vec<_>>());
    }
    sheet.finished()
}

fn cells(line: &str) -> Vec<Cell<'_>> {
    let parts = line.split('"').enumerate();
    let cells = parts.flat_map(|(at, part)| {
        let numbers = |text: &'_ str| {
            text.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<f64>>()
        };
        if at % 2 == 0 {
            return numbers(part).into_iter().map(Cell::Number).collect::<Vec<_>>();
        }
        let text = part.trim();
        vec![text.parse().map_or(Cell::Text(text), Cell::Number)]
    });
    cells.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cells of the file as a reader decodes them: row, column, and text or number.
    fn read(mut bytes: &[u8]) -> Vec<(u16, u16, String)> {
        let mut found = Vec::new();
        assert_eq!(bytes[..8], BEGIN);
        bytes = &bytes[8..];
        loop {
            let [kind, length] = [0, 2].map(|at| u16::from_le_bytes([bytes[at], bytes[at + 1]]));
            let (content, rest) = bytes[4..].split_at(length.into());
            let [row, column] =
                [0, 2].map(|at| content.get(at..at + 2).map_or(0, |n| u16::from_le_bytes([n[0], n[1]])));
            match kind {
                LABEL => {
                    assert_eq!(usize::from(content[7]), content.len() - 8);
                    found.push((row, column, String::from_utf8(content[8..].to_vec()).expect("text")));
                }
                NUMBER => {
                    let number = f64::from_le_bytes(content[7..].try_into().expect("8 bytes"));
                    found.push((row, column, number.to_string()));
                }
                _ => {
                    assert!(kind == 0x0a && rest.is_empty());
                    return found;
                }
            }
            bytes = rest;
        }
    }

    #[test]
    fn a_table_of_text_is_the_same_cells() {
        let tables =
            "Excel output is below:\n\n\"Writer report\"\n        \"4\"  \"8\"\n\"64\"   2114067  1650291 \n";
        let said = |row, column, text: &str| (row, column, text.to_owned());
        let expected = [
            said(0, 0, "iozone -Rb x"),
            said(1, 0, "Writer report"),
            said(2, 0, ""),
            said(2, 1, "4"),
            said(2, 2, "8"),
            said(3, 0, "64"),
            said(3, 1, "2114067"),
            said(3, 2, "1650291"),
        ];
        assert_eq!(read(&of_tables("iozone -Rb x", tables)), expected);
    }

    #[test]
    fn a_long_text_is_cut_between_letters() {
        let cells = read(&of_tables(&"é".repeat(200), ""));
        assert_eq!(cells[0].2.len(), 254);
    }
}
