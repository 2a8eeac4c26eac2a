//! The read and write requests that a file is read and written by.
//!
//! Without buffering, each block is one request, and so is the remainder, even of 0 bytes. With buffering, as in C streams, a
//! stream allocates its buffer of B bytes at the first block. A block first fills the free space of the buffer. If data of the
//! block remains, the buffer is flushed, whole multiples of B are written directly, and the remaining bytes go into the buffer. B
//! is `st_blksize` if that is between 1 and 8191, otherwise 8192.
//!
//! All content is a prefix of one source text, so a stream's buffer is always a slice of that text. Nothing is copied, but the
//! requests are those of a stream with a real buffer.

use std::ops::Range;

use super::rules::Rules;

/// An open file. `Ok(None)` means that the request failed and the run continues, as in the original.
pub trait Handle {
    type Error;
    /// The size of the stream's buffer; called once per buffered stream, before its first request.
    fn buffer_size(&mut self) -> Result<usize, Self::Error>;
    /// Writes that part of the source; returns the bytes written.
    fn write(&mut self, part: Range<usize>) -> Result<Option<usize>, Self::Error>;
    fn read(&mut self, asked: usize) -> Result<Option<usize>, Self::Error>;
}

/// The C library's rule for a stream's buffer. The width of `st_blksize` depends on the CPU.
pub fn stdio_buffer(st_blksize: impl Into<i64>) -> usize {
    match st_blksize.into() {
        block @ 1..=8191 => block as usize,
        _ => 8192,
    }
}

/// Buffers shorter than this are not kept aligned: larger blocks then go out whole.
const ALIGNED_FROM: usize = 128;

fn whole(bytes: usize, buffer: usize) -> usize {
    if buffer >= ALIGNED_FROM { bytes - bytes % buffer } else { bytes }
}

/// How files are read and written.
#[derive(Clone, Copy, Debug)]
pub struct Requests {
    read_block: usize,
    write_block: usize,
    buffering: bool,
}

impl Requests {
    pub fn of(rules: &Rules) -> Self {
        let (read_block, write_block) = (rules.read_block as usize, rules.write_block as usize);
        Requests { read_block, write_block, buffering: rules.buffering }
    }

    /// Writes the source's first `total` bytes, including the flush at close.
    pub fn write<H: Handle>(&self, handle: &mut H, total: u32) -> Result<(), H::Error> {
        let total = total as usize;
        if self.buffering {
            write_buffered(handle, total, self.write_block)
        } else {
            write_raw(handle, total, self.write_block)
        }
    }

    /// Reads `total` bytes; returns the bytes read.
    pub fn read<H: Handle>(&self, handle: &mut H, total: u32) -> Result<usize, H::Error> {
        let total = total as usize;
        if self.buffering {
            read_buffered(handle, total, self.read_block)
        } else {
            read_raw(handle, total, self.read_block)
        }
    }
}

/// The blocks of `total` bytes, and the remainder at their end.
fn blocks(total: usize, block: usize) -> impl Iterator<Item = Range<usize>> {
    (0..=total / block).map(move |i| i * block..total.min((i + 1) * block))
}

fn write_raw<H: Handle>(handle: &mut H, total: usize, block: usize) -> Result<(), H::Error> {
    blocks(total, block).try_for_each(|part| handle.write(part).map(|_| ()))
}

fn read_raw<H: Handle>(handle: &mut H, total: usize, block: usize) -> Result<usize, H::Error> {
    let mut got = 0;
    for part in blocks(total, block) {
        got += handle.read(part.len())?.unwrap_or(0);
    }
    Ok(got)
}

fn write_buffered<H: Handle>(handle: &mut H, total: usize, block: usize) -> Result<(), H::Error> {
    let mut stream = Writer { buffer: 0, held: 0..0 };
    for part in blocks(total, block) {
        stream.put(handle, part)?;
    }
    stream.flush(handle).map(|_| ())
}

fn read_buffered<H: Handle>(handle: &mut H, total: usize, block: usize) -> Result<usize, H::Error> {
    let mut stream = Reader { buffer: 0, have: 0, at_end: false };
    let mut got = 0;
    for part in blocks(total, block) {
        got += stream.take(handle, part.len())?;
    }
    Ok(got)
}

struct Writer {
    /// Bytes of the buffer; 0 before the first block.
    buffer: usize,
    held: Range<usize>,
}

impl Writer {
    fn put<H: Handle>(&mut self, handle: &mut H, part: Range<usize>) -> Result<(), H::Error> {
        if part.is_empty() {
            return Ok(());
        }
        let rest = self.hold(part);
        if rest.is_empty() {
            return Ok(());
        }
        if self.buffer == 0 {
            self.buffer = handle.buffer_size()?;
        }
        // A failed write loses the data of the buffer and the unwritten part of the block.
        if !self.flush(handle)? {
            return Ok(());
        }
        let middle = rest.start + whole(rest.len(), self.buffer);
        if write_all(handle, rest.start..middle)? {
            self.held = middle..rest.end;
        }
        Ok(())
    }

    /// Keeps the part that fits into the buffer and returns the remaining part.
    fn hold(&mut self, part: Range<usize>) -> Range<usize> {
        let fits = part.len().min(self.buffer - self.held.len());
        let start = if self.held.is_empty() { part.start } else { self.held.start };
        self.held = start..part.start + fits;
        part.start + fits..part.end
    }

    fn flush<H: Handle>(&mut self, handle: &mut H) -> Result<bool, H::Error> {
        let held = std::mem::replace(&mut self.held, 0..0);
        write_all(handle, held)
    }
}

fn write_all<H: Handle>(handle: &mut H, mut part: Range<usize>) -> Result<bool, H::Error> {
    while !part.is_empty() {
        match handle.write(part.clone())? {
            Some(written) if written > 0 => part.start += written,
            _ => return Ok(false),
        }
    }
    Ok(true)
}

struct Reader {
    /// Bytes of the buffer; 0 before the first block.
    buffer: usize,
    /// Number of bytes read ahead.
    have: usize,
    /// Whether the buffer could not be filled; the read is then not repeated.
    at_end: bool,
}

impl Reader {
    fn take<H: Handle>(&mut self, handle: &mut H, wanted: usize) -> Result<usize, H::Error> {
        if wanted == 0 {
            return Ok(0);
        }
        if self.buffer == 0 {
            self.buffer = handle.buffer_size()?;
        }
        let mut left = wanted;
        loop {
            let ready = left.min(self.have);
            self.have -= ready;
            left -= ready;
            if left == 0 {
                return Ok(wanted);
            }
            let came = if left < self.buffer { self.fill(handle)? } else { self.direct(handle, &mut left)? };
            if !came || left == 0 {
                return Ok(wanted - left);
            }
        }
    }

    fn fill<H: Handle>(&mut self, handle: &mut H) -> Result<bool, H::Error> {
        if self.at_end {
            return Ok(false);
        }
        let got = handle.read(self.buffer)?;
        self.at_end = got == Some(0);
        self.have = got.unwrap_or(0);
        Ok(self.have > 0)
    }

    fn direct<H: Handle>(&mut self, handle: &mut H, left: &mut usize) -> Result<bool, H::Error> {
        let got = handle.read(whole(*left, self.buffer))?;
        self.at_end |= got == Some(0);
        *left -= got.unwrap_or(0);
        Ok(got.unwrap_or(0) > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file in memory that records its requests; requests beyond `room` fail.
    struct Paper {
        bytes: usize,
        at: usize,
        room: usize,
        requests: Vec<usize>,
    }

    impl Handle for Paper {
        type Error = std::convert::Infallible;
        fn buffer_size(&mut self) -> Result<usize, Self::Error> {
            Ok(4096)
        }
        fn write(&mut self, part: Range<usize>) -> Result<Option<usize>, Self::Error> {
            self.requests.push(part.len());
            let written = part.len().min(self.room);
            self.room -= written;
            Ok((written > 0).then_some(written))
        }
        fn read(&mut self, asked: usize) -> Result<Option<usize>, Self::Error> {
            self.requests.push(asked);
            let got = asked.min(self.bytes - self.at);
            self.at += got;
            Ok(Some(got))
        }
    }

    fn requests(bytes: usize, room: usize, act: impl FnOnce(&mut Paper)) -> Vec<usize> {
        let mut paper = Paper { bytes, at: 0, room, requests: Vec::new() };
        act(&mut paper);
        paper.requests
    }

    fn writes(total: usize, block: usize, room: usize) -> Vec<usize> {
        requests(0, room, |p| {
            let Ok(()) = write_buffered(p, total, block);
        })
    }

    #[test]
    fn a_buffered_file_goes_out_in_whole_buffers_and_a_tail() {
        assert_eq!(writes(9766, 512, usize::MAX), [4096, 4096, 1574]);
        assert_eq!(writes(4096, 512, usize::MAX), [4096]);
        assert_eq!(writes(12_000, 5000, usize::MAX), [4096, 4096, 3808]);
    }

    #[test]
    fn a_failed_flush_loses_the_block_and_goes_on_with_the_next() {
        assert_eq!(writes(9766, 512, 4100), [4096, 4096, 4092, 1062]);
    }

    #[test]
    fn a_raw_file_ends_with_a_request_for_the_remainder_of_nothing() {
        let raw = requests(8192, 0, |p| assert_eq!(read_raw(p, 8192, 4096), Ok(8192)));
        assert_eq!(raw, [4096, 4096, 0]);
    }

    #[test]
    fn a_buffered_read_asks_for_whole_buffers() {
        let ask =
            |bytes, block| requests(bytes, 0, |p| assert_eq!(read_buffered(p, bytes, block), Ok(bytes)));
        assert_eq!(ask(4961, 512), [4096, 4096]);
        assert_eq!(ask(20_000, 10_000), [8192, 4096, 4096, 4096]);
    }
}
