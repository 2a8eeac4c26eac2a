//! The content of a disk after a power failure: a second image of its sectors, which holds only data that has reached the
//! medium.
//!
//! ```text
//!  write ──▶ store: what reads see ──launched, landed──▶ medium: what a power cut leaves
//! ```
//! So nothing must be undone at the cut. When a write ends, its sectors are copied to the medium with the content that they had at
//! the start of the write. If a second write overwrites one of these sectors in the store before the first write ends, the content
//! from before the second write is kept aside, and copied to the medium when the first write ends.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use fsderby_diskmodel::{Drive, Passage, Stage};

use super::layout::SECTOR;
use super::store::{Image, Store};

type Content = [u8; SECTOR as usize];

pub struct Medium<I = Store> {
    image: I,
    /// First sector of the image on the disk.
    offset: u64,
    /// Sectors of started writes that have not reached the medium.
    launched: Vec<Range<u64>>,
    /// Earlier content of sectors that were overwritten after their write had started.
    aside: BTreeMap<u64, Content>,
    passages: Vec<Passage>,
}

impl<I: Image> Medium<I> {
    pub fn new(image: I, offset: u64) -> Self {
        Medium { image, offset, launched: Vec::new(), aside: BTreeMap::new(), passages: Vec::new() }
    }

    /// Must be called before these sectors of the store are overwritten.
    pub fn before_write(&mut self, store: &I, sectors: Range<u64>) -> io::Result<()> {
        for launched in &self.launched {
            for sector in launched.start.max(sectors.start)..launched.end.min(sectors.end) {
                if !self.aside.contains_key(&sector) {
                    let mut content = [0; SECTOR as usize];
                    store.read(&mut content, place(self.offset, sector))?;
                    self.aside.insert(sector, content);
                }
            }
        }
        Ok(())
    }

    /// Copies the sectors that the drive has written to the medium since the last call.
    pub fn follow(&mut self, drive: &mut Drive, store: &I) -> io::Result<()> {
        let mut passages = std::mem::take(&mut self.passages);
        drive.passages(&mut passages);
        let done = passages.drain(..).try_for_each(|passage| self.pass(passage, store));
        self.passages = passages;
        done
    }

    /// Copies the sectors of unfinished writes that survive the power cut.
    pub fn take_torn(&mut self, drive: &Drive, store: &I) -> io::Result<()> {
        let mut torn = Vec::new();
        drive.torn(&mut torn);
        torn.into_iter().try_for_each(|passage| self.pass(passage, store))
    }

    fn pass(&mut self, Passage { stage, start, end }: Passage, store: &I) -> io::Result<()> {
        match stage {
            Stage::Launched => {
                if !self.aside.is_empty() {
                    self.aside.retain(|sector, _| !(start..end).contains(sector));
                }
                self.launched.push(start..end);
                Ok(())
            }
            Stage::Landed => self.land(start, end, store),
        }
    }

    fn land(&mut self, start: u64, end: u64, store: &I) -> io::Result<()> {
        self.image.copy(store, place(self.offset, start), ((end - start) * SECTOR) as usize)?;
        while let Some(sector) = self.aside.range(start..end).next().map(|(sector, _)| *sector) {
            if let Some(content) = self.aside.remove(&sector) {
                self.image.write(&content, place(self.offset, sector))?;
            }
        }
        // A finished write is usually a whole started one.
        let rest = |range: &Range<u64>| [range.start..range.end.min(start), range.start.max(end)..range.end];
        self.launched = self.launched.iter().flat_map(rest).filter(|range| !range.is_empty()).collect();
        Ok(())
    }
}

fn place(offset: u64, sector: u64) -> usize {
    ((sector - offset) * SECTOR) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Image for Vec<u8> {
        fn read(&self, bytes: &mut [u8], at: usize) -> io::Result<()> {
            bytes.copy_from_slice(&self[at..at + bytes.len()]);
            Ok(())
        }

        fn write(&mut self, bytes: &[u8], at: usize) -> io::Result<()> {
            self[at..at + bytes.len()].copy_from_slice(bytes);
            Ok(())
        }

        fn copy(&mut self, from: &Self, at: usize, length: usize) -> io::Result<()> {
            self[at..at + length].copy_from_slice(&from[at..at + length]);
            Ok(())
        }
    }

    /// Sixteen sectors from sector 1000 on.
    struct Disk {
        store: Vec<u8>,
        medium: Medium<Vec<u8>>,
    }

    impl Disk {
        fn new() -> Self {
            let blank = vec![b'.'; 16 * SECTOR as usize];
            Disk { store: blank.clone(), medium: Medium::new(blank, 1000) }
        }

        fn write(&mut self, sectors: Range<u64>, what: u8) {
            self.medium.before_write(&self.store, sectors.clone()).unwrap();
            let place = place(1000, sectors.start)..place(1000, sectors.end);
            self.store[place].fill(what);
        }

        fn pass(&mut self, stage: Stage, sectors: Range<u64>) {
            let passage = Passage { stage, start: sectors.start, end: sectors.end };
            self.medium.pass(passage, &self.store).unwrap();
        }

        /// The first letter of each sector.
        fn left(&self) -> String {
            self.medium.image.iter().step_by(SECTOR as usize).map(|byte| char::from(*byte)).collect()
        }
    }

    #[test]
    fn what_has_not_landed_is_as_it_was() {
        let mut disk = Disk::new();
        disk.write(1002..1006, b'a');
        disk.pass(Stage::Launched, 1002..1006);
        assert_eq!(disk.left(), "................");
        disk.pass(Stage::Landed, 1002..1006);
        assert_eq!(disk.left(), "..aaaa..........");
        disk.write(1000..1004, b'b');
        assert_eq!(disk.left(), "..aaaa..........");
    }

    #[test]
    fn what_lands_is_what_set_out_and_not_what_was_written_over_it_since() {
        let mut disk = Disk::new();
        disk.write(1000..1008, b'a');
        disk.pass(Stage::Launched, 1000..1008);
        disk.write(1004..1012, b'b');
        disk.write(1006..1007, b'c');
        disk.pass(Stage::Landed, 1000..1008);
        assert_eq!(disk.left(), "aaaaaaaa........");
        disk.pass(Stage::Launched, 1004..1012);
        disk.pass(Stage::Landed, 1004..1012);
        assert_eq!(disk.left(), "aaaabbcbbbbb....");
        assert!(disk.medium.aside.is_empty() && disk.medium.launched.is_empty());
    }

    #[test]
    fn what_sets_out_anew_lands_as_it_is_then() {
        let mut disk = Disk::new();
        disk.write(1000..1004, b'a');
        disk.pass(Stage::Launched, 1000..1004);
        disk.write(1000..1004, b'b');
        disk.pass(Stage::Launched, 1000..1004);
        disk.pass(Stage::Landed, 1000..1004);
        assert_eq!(disk.left(), "bbbb............");
    }

    /// An array's members land their parts of a stripe one after the other; a torn write leaves its beginning.
    #[test]
    fn a_part_may_land_alone() {
        let mut disk = Disk::new();
        disk.write(1000..1009, b'a');
        disk.pass(Stage::Launched, 1000..1009);
        disk.pass(Stage::Landed, 1003..1006);
        disk.write(1000..1009, b'b');
        assert_eq!(disk.left(), "...aaa..........");
        disk.pass(Stage::Landed, 1006..1009);
        assert_eq!(disk.left(), "...aaaaaa.......");
        assert_eq!(disk.medium.launched, vec![Range { start: 1000, end: 1003 }]);
    }
}
