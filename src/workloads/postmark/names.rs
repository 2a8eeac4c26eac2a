//! File names, written without allocating.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::generator::Name;
use super::rules::Rules;

/// A name as a path.
pub fn path(name: &CStr) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(name.to_bytes()))
}

/// Writes names into one reused buffer.
pub struct Namer {
    locations: Vec<Vec<u8>>,
    split: bool,
    buffer: Vec<u8>,
}

impl Namer {
    pub fn new(rules: &Rules) -> Self {
        let locations: Vec<Vec<u8>> = rules.locations.iter().map(|l| l.path.clone()).collect();
        // Two slashes, `s`, two numbers of ten digits and the final NUL fit into 32 bytes.
        let longest = locations.iter().map(Vec::len).max().unwrap_or(0) + 32;
        Namer { locations, split: rules.split() > 0, buffer: Vec::with_capacity(longest) }
    }

    /// Writes the name of a file: `location/s3/17`.
    pub fn file(&mut self, name: Name) -> &CStr {
        self.enter(name.location);
        if self.split {
            self.buffer.push(b's');
            push_decimal(&mut self.buffer, name.subdirectory);
            self.buffer.push(b'/');
        }
        push_decimal(&mut self.buffer, name.number);
        self.finish()
    }

    /// Writes the name of a subdirectory: `location/s3`.
    pub fn subdirectory(&mut self, location: u32, subdirectory: u32) -> &CStr {
        self.enter(location);
        self.buffer.push(b's');
        push_decimal(&mut self.buffer, subdirectory);
        self.finish()
    }

    /// The last written name.
    pub fn last(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.buffer).unwrap_or_default()
    }

    fn enter(&mut self, location: u32) {
        self.buffer.clear();
        if let Some(path) = self.locations.get(location as usize) {
            self.buffer.extend_from_slice(path);
            self.buffer.push(b'/');
        }
    }

    fn finish(&mut self) -> &CStr {
        self.buffer.push(0);
        self.last()
    }
}

fn push_decimal(to: &mut Vec<u8>, mut number: u32) {
    let mut digits = [0; 10];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    to.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::super::rules::Location;
    use super::*;

    #[test]
    fn names_have_location_subdirectory_and_number() {
        let name = Name { number: 4_294_967_295, location: 0, subdirectory: 10 };
        assert_eq!(Namer::new(&Rules::default()).file(name), c"4294967295");
        let locations = vec![Location { path: b"/a".to_vec(), weight: 1 }];
        let mut namer = Namer::new(&Rules { subdirectories: 11, locations, ..Rules::default() });
        assert_eq!(namer.file(name), c"/a/s10/4294967295");
        assert_eq!(namer.subdirectory(0, 0), c"/a/s0");
    }
}
