//! The lines of comma-separated values that Bonnie++ prints: the fields of each form, in the order of printing.
//!
//! The program prints a header line too, in a different order: 1.9x and 2.00 write the bytes per write of a small file before the
//! number of directories, but their header names the directories first. If the data phases are left out, 1.9x writes one comma
//! less than its fields need. Sources: the behaviour of Debian's 2.00a, and published lines.

use super::rules::Semantics;
use super::trial::{STEPS, Step};

/// A field of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Version of the line's format.
    Format,
    Program,
    Machine,
    Concurrency,
    Seed,
    /// Size of the large file; in 1.0x followed by a colon and the chunk size.
    Size,
    Chunk,
    Seeks,
    Seekers,
    Rate(Step),
    /// CPU share of a step.
    Share(Step),
    /// Number of small files in units of 1024; in 1.0x followed by their sizes and the number of directories.
    Number,
    Max,
    Min,
    /// Bytes per write call to a small file.
    Piece,
    Directories,
    Latency(Step),
}

/// A form of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Bonnie++ 1.02 to 1.04; the line states no format version.
    Old,
    /// Bonnie++ 1.93 to 1.97.
    V19x,
    /// Bonnie++ 1.98 and 2.00.
    V198,
}

/// The least bytes per write call of Bonnie++. A line rarely has more directories, so this number tells the two fields apart.
pub const SMALLEST_PIECE: u64 = 256;

/// The data phases are the first six steps.
const DATA: usize = 6;

impl Layout {
    /// The form of a line, from its first field such as `1.93c` or `1.97`; `None` if that form is not known.
    pub fn of_format(format: &str) -> Option<Self> {
        let version = format.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(format);
        match version {
            "1.93" | "1.94" | "1.95" | "1.96" | "1.97" => Some(Layout::V19x),
            "1.98" => Some(Layout::V198),
            _ => None,
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Layout::Old => "1.0x",
            Layout::V19x => "1.93 to 1.97",
            Layout::V198 => "1.98",
        }
    }

    pub fn semantics(self) -> Semantics {
        if self == Layout::Old { Semantics::Classic } else { Semantics::Second }
    }

    /// The fields in the order of the line.
    pub fn fields(self) -> Vec<Field> {
        let heads = [Field::Format, Field::Program, Field::Machine, Field::Concurrency, Field::Seed];
        let seeks = [Field::Seeks, Field::Seekers];
        let files = [Field::Number, Field::Max, Field::Min, Field::Piece, Field::Directories];
        let (data, small) = STEPS.split_at(DATA);
        let figures = |steps: &[Step]| -> Vec<Field> {
            steps.iter().flat_map(|step| [Field::Rate(*step), Field::Share(*step)]).collect()
        };
        let latencies = STEPS.map(Field::Latency);
        let parts: Vec<&[Field]> = match self {
            Layout::Old => vec![&[Field::Machine, Field::Size]],
            Layout::V19x => vec![&heads, &[Field::Size, Field::Chunk]],
            Layout::V198 => vec![&heads, &[Field::Size, Field::Chunk], &seeks],
        };
        let is_old = self == Layout::Old;
        let mut fields = parts.concat();
        fields.extend(figures(data));
        fields.extend_from_slice(if is_old { &files[..1] } else { &files });
        fields.extend(figures(small));
        fields.extend(latencies.into_iter().filter(|_| !is_old));
        fields
    }

    /// The number of fields missing before the number of files in a line without data phases.
    pub fn lacks_without_data(self) -> usize {
        usize::from(self == Layout::V19x)
    }
}

impl Field {
    /// Whether this field is empty if the data phases are left out.
    pub fn is_of_data(self) -> bool {
        match self {
            Field::Size | Field::Chunk | Field::Seeks | Field::Seekers => true,
            Field::Rate(step) | Field::Share(step) => !matches!(step, Step::Small(..)),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_has_its_fields_at_the_places_of_the_originals_lines() {
        for (layout, count, seeks, number, directories) in [
            (Layout::Old, 27, 12, 14, None),
            (Layout::V19x, 48, 17, 19, Some(23)),
            (Layout::V198, 50, 19, 21, Some(25)),
        ] {
            let fields = layout.fields();
            let place = |field| fields.iter().position(|own| *own == field);
            assert_eq!(fields.len(), count);
            assert_eq!(place(Field::Rate(Step::Seek)), Some(seeks));
            assert_eq!((place(Field::Number), place(Field::Directories)), (Some(number), directories));
        }
    }

    #[test]
    fn versions_that_share_a_form_are_known_by_their_first_field() {
        for format in ["1.93", "1.93c", "1.93d", "1.94", "1.95", "1.96", "1.97"] {
            assert_eq!(Layout::of_format(format), Some(Layout::V19x), "{format}");
        }
        for format in ["1.98", "1.98a"] {
            assert_eq!(Layout::of_format(format), Some(Layout::V198), "{format}");
        }
        for format in ["1.92", "1.99", "1.03", "", "host", "1.93cc", "2.00a"] {
            assert_eq!(Layout::of_format(format), None, "{format}");
        }
    }
}
