//! Reads an ar archive, the container of a Debian package: a sequence of members, each after a text header.
//!
//! ```text
//! !<arch>\n
//! NAME/16 MTIME/12 UID/6 GID/6 MODE/8 SIZE/10 `\n      sizes of the fields in bytes, padded with blanks
//! SIZE bytes, and a line feed if SIZE is odd
//! ```
//! See ar(5) of FreeBSD. Archives are untrusted: a claimed size reserves no memory.

use std::io::{self, Read};

const MAGIC: &[u8; 8] = b"!<arch>\n";
const HEADER: usize = 60;

/// An archive; reads as its current member.
pub struct Archive<R> {
    source: R,
    /// Unread bytes of the current member.
    left: u64,
    /// Bytes between the end of the current member and the next header.
    padding: u64,
}

impl<R: Read> Archive<R> {
    /// # Errors
    /// If the source is not an ar archive.
    pub fn new(mut source: R) -> io::Result<Self> {
        let mut magic = [0; MAGIC.len()];
        source.read_exact(&mut magic)?;
        match &magic == MAGIC {
            true => Ok(Archive { source, left: 0, padding: 0 }),
            false => Err(damaged("the file does not start like an ar archive")),
        }
    }

    /// Advances to the next member and returns its name; `None` at the archive's end.
    ///
    /// # Errors
    /// If the archive is truncated, or its header is invalid.
    pub fn next_member(&mut self) -> io::Result<Option<String>> {
        let rest = self.left + self.padding;
        if io::copy(&mut self.source.by_ref().take(rest), &mut io::sink())? < rest {
            return Err(cut_short());
        }
        let mut header = Vec::with_capacity(HEADER);
        self.source.by_ref().take(HEADER as u64).read_to_end(&mut header)?;
        match header.len() {
            0 => return Ok(None),
            HEADER => {}
            _ => return Err(cut_short()),
        }
        if !header.ends_with(b"`\n") {
            return Err(damaged("the header of an ar member is not terminated"));
        }
        // The field has at most ten digits, so the number fits into u64.
        self.left =
            number(&header[48..58]).ok_or_else(|| damaged("the size of an ar member is not a number"))?;
        self.padding = self.left % 2;
        // Some programs end a name with a slash.
        Ok(Some(String::from_utf8_lossy(&header[..16]).trim_end_matches([' ', '/']).to_owned()))
    }
}

impl<R: Read> Read for Archive<R> {
    /// # Errors
    /// If the archive ends before its member: a part must not pass for the whole.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let length = self.source.read(&mut buffer[..wanted])?;
        if length == 0 && wanted > 0 {
            return Err(cut_short());
        }
        self.left -= length as u64;
        Ok(length)
    }
}

/// A number in decimal digits, followed only by blanks.
fn number(field: &[u8]) -> Option<u64> {
    let text = str::from_utf8(field).ok()?.trim_end_matches(' ');
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn cut_short() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the archive is truncated")
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// An archive of these members.
    pub fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for (name, data) in members {
            bytes.extend(header(name, &data.len().to_string()));
            bytes.extend(*data);
            bytes.extend(vec![b'\n'; data.len() % 2]);
        }
        bytes
    }

    fn header(name: &str, size: &str) -> Vec<u8> {
        // The fields of time, owner, group and mode are blank.
        format!("{name:<16}{:<32}{size:<10}`\n", "").into_bytes()
    }

    fn read(bytes: &[u8]) -> io::Result<Vec<(String, Vec<u8>)>> {
        let mut archive = Archive::new(bytes)?;
        let mut found = Vec::new();
        while let Some(name) = archive.next_member()? {
            let mut data = Vec::new();
            archive.read_to_end(&mut data)?;
            found.push((name, data));
        }
        Ok(found)
    }

    #[test]
    fn members_are_read_with_their_padding_and_whatever_ends_their_name() {
        let found = read(&archive(&[("odd", b"123"), ("even/", b"12"), ("empty", b"")])).unwrap();
        let expected = [("odd", &b"123"[..]), ("even", b"12"), ("empty", b"")];
        assert_eq!(found, expected.map(|(name, data)| (name.to_owned(), data.to_vec())));
    }

    #[test]
    fn a_member_that_nobody_read_is_passed_over() {
        let bytes = archive(&[("first", &[7; 10_001]), ("second", b"2")]);
        let mut archive = Archive::new(&bytes[..]).unwrap();
        archive.next_member().unwrap();
        archive.read_exact(&mut [0; 5]).unwrap();
        assert_eq!(archive.next_member().unwrap().as_deref(), Some("second"));
    }

    #[test]
    fn an_archive_is_cut_short_wherever_it_does_not_end_behind_a_member() {
        let whole = archive(&[("a", b"123"), ("b", b"12")]);
        let ends = [MAGIC.len(), MAGIC.len() + HEADER + 4, whole.len()];
        for length in 0..=whole.len() {
            assert_eq!(read(&whole[..length]).is_ok(), ends.contains(&length), "of {length} bytes");
        }
    }

    #[test]
    fn a_size_that_is_no_number_or_more_than_there_is_is_refused() {
        for size in ["", "-1", "+1", "0x10", "1 2", "ten", "9999999999", "4"] {
            let bytes = [MAGIC.to_vec(), header("a", size), b"123".to_vec()].concat();
            assert!(read(&bytes).is_err(), "size {size:?} was read");
            let mut archive = Archive::new(&bytes[..]).unwrap();
            let passed_over = archive.next_member().and_then(|_| archive.next_member());
            assert!(passed_over.is_err(), "size {size:?} was passed over");
        }
    }

    #[test]
    fn a_header_without_its_end_is_refused() {
        let mut bytes = archive(&[("a", b"12")]);
        bytes[MAGIC.len() + HEADER - 1] = b' ';
        assert!(read(&bytes).is_err());
    }
}
