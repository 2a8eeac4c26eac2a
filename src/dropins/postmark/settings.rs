//! The settings, changed by the `set` commands and printed by `show`.

use super::report::size;
use super::text::{integer, split_last_blank};
use crate::workloads::postmark::rules::{Location, Rules};

#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub rules: Rules,
    pub terse: bool,
}

/// Text that a refused command prints after `Error: `.
pub type Complaint = Vec<u8>;

type Set = Result<(), Complaint>;

fn complaint(text: &str) -> Complaint {
    text.as_bytes().to_vec()
}

fn quoted(text: &str, name: &[u8]) -> Complaint {
    [text.as_bytes(), b" '", name, b"'"].concat()
}

/// A parameter that must be a positive 32-bit integer.
fn positive(parameter: Option<&[u8]>) -> Option<u32> {
    parameter.map(integer).and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0)
}

fn set(to: &mut u32, parameter: Option<&[u8]>, otherwise: &str) -> Set {
    *to = positive(parameter).ok_or_else(|| complaint(otherwise))?;
    Ok(())
}

impl Settings {
    pub fn size(&mut self, parameter: Option<&[u8]>) -> Set {
        let text = parameter.unwrap_or_default();
        let wrong = "no file size low or high bounds specified";
        set(&mut self.rules.low, parameter, wrong)?;
        let second =
            text.iter().position(|c| *c == b' ').and_then(|blank| positive(Some(&text[blank + 1..])));
        self.rules.high = second.filter(|high| *high >= self.rules.low).unwrap_or(self.rules.low);
        Ok(())
    }

    pub fn number(&mut self, parameter: Option<&[u8]>) -> Set {
        set(&mut self.rules.number, parameter, "invalid number of files")
    }

    pub fn seed(&mut self, parameter: Option<&[u8]>) -> Set {
        set(&mut self.rules.seed, parameter, "invalid seed for random numbers")
    }

    pub fn transactions(&mut self, parameter: Option<&[u8]>) -> Set {
        set(&mut self.rules.transactions, parameter, "no transactions specified")
    }

    pub fn subdirectories(&mut self, parameter: Option<&[u8]>) -> Set {
        set(&mut self.rules.subdirectories, parameter, "invalid number of subdirectories")
    }

    pub fn read(&mut self, parameter: Option<&[u8]>) -> Set {
        set(&mut self.rules.read_block, parameter, "invalid read block size")
    }

    pub fn write(&mut self, parameter: Option<&[u8]>) -> Set {
        set(&mut self.rules.write_block, parameter, "invalid write block size")
    }

    pub fn buffering(&mut self, parameter: Option<&[u8]>) -> Set {
        self.rules.buffering = match parameter {
            Some(b"true") => true,
            Some(b"false") => false,
            _ => return Err(complaint("no buffering mode (true/false) specified")),
        };
        Ok(())
    }

    pub fn bias_read(&mut self, parameter: Option<&[u8]>) -> Set {
        self.rules.bias_read = bias(parameter)?;
        Ok(())
    }

    pub fn bias_create(&mut self, parameter: Option<&[u8]>) -> Set {
        self.rules.bias_create = bias(parameter)?;
        Ok(())
    }

    pub fn report(&mut self, parameter: Option<&[u8]>) -> Set {
        self.terse = match parameter {
            Some(b"terse") => true,
            Some(b"verbose") => false,
            _ => return Err(complaint("either 'verbose' or 'terse' required")),
        };
        Ok(())
    }

    /// `PATH` alone replaces all locations, `+PATH` adds one, `-PATH` removes one. An invalid weight is reported, and the weight
    /// 1 is used.
    pub fn location(&mut self, parameter: Option<&[u8]>) -> Set {
        let parameter = parameter.ok_or_else(|| complaint("no directory name specified"))?;
        match parameter.split_first() {
            Some((b'+', place)) => self.add_location(place),
            Some((b'-', path)) => self.remove_location(path),
            _ => {
                self.rules.locations.clear();
                self.add_location(parameter)
            }
        }
    }

    fn add_location(&mut self, place: &[u8]) -> Set {
        let (path, weight) = match split_last_blank(place) {
            Some((path, weight)) => (path, positive(Some(weight)).ok_or(weight)),
            None => (place, Ok(1)),
        };
        self.rules.locations.push(Location { path: path.to_vec(), weight: weight.unwrap_or(1) });
        weight.map(|_| ()).map_err(|text| quoted("ignoring invalid weight", text))
    }

    fn remove_location(&mut self, path: &[u8]) -> Set {
        let at = self.rules.locations.iter().position(|l| l.path == path);
        self.rules.locations.remove(at.ok_or_else(|| quoted("cannot find location", path))?);
        Ok(())
    }

    /// The output of `show`: the text before the locations, the locations, and the text after them. The parts are separate
    /// because the original always prints locations to standard output, a defect on which scripts may rely.
    pub fn show(&self, folder: &[u8]) -> [Vec<u8>; 3] {
        let working: &[&[u8]] = match self.rules.locations.len() {
            0 => &[b"Working directory: ", folder, b"\n"],
            1 => &[b"Working directory: \n"],
            _ => &[b"Working directories: \n"],
        };
        let head = [self.show_pool().as_bytes(), &working.concat()].concat();
        let location =
            |l: &Location| [b"\t", &l.path[..], format!(" (weight={})\n", l.weight).as_bytes()].concat();
        [head, self.rules.locations.iter().flat_map(location).collect(), self.show_rest().into_bytes()]
    }

    fn show_pool(&self) -> String {
        let Rules { number, transactions, low, high, .. } = self.rules;
        let files = if low == high {
            format!("Files are {} in size", size(low))
        } else {
            format!("Files range between {} and {} in size", size(low), size(high))
        };
        format!(
            "Current configuration is:\n\
             The base number of files is {number}\n\
             Transactions: {transactions}\n\
             {files}\n"
        )
    }

    fn show_rest(&self) -> String {
        let Rules { read_block, write_block, bias_read, bias_create, buffering, seed, .. } = self.rules;
        let subdirectories = match self.rules.subdirectories {
            0 => String::new(),
            1 => "1 subdirectory will be used\n".to_owned(),
            n => format!("{n} subdirectories will be used\n"),
        };
        let [read, write] = [read_block, write_block].map(size);
        let [read_append, create_delete] = [bias_read, bias_create].map(|b| b.map_or(-1, i64::from));
        let using = if buffering { "Using" } else { "Not using" };
        let format = if self.terse { "terse" } else { "verbose" };
        format!(
            "{subdirectories}\
             Block sizes are: read={read}, write={write}\n\
             Biases are: read/append={read_append}, create/delete={create_delete}\n\
             {using} Unix buffered file I/O\n\
             Random number generator seed is {seed}\n\
             Report format is {format}.\n"
        )
    }
}

fn bias(parameter: Option<&[u8]>) -> Result<Option<u32>, Complaint> {
    match parameter.map(integer) {
        Some(-1) => Ok(None),
        Some(tenths @ 0..=10) => Ok(Some(tenths as u32)),
        _ => Err(complaint("no bias specified (0-10 for greater chance,-1 to disable)")),
    }
}
