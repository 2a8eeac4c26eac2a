//! Turns a disk's request list into counts per cell, of a size independent of the list's length.

use fsderby_diskmodel::Op;

use crate::schema::request::{MOST, Served};

/// Number of cells over time and over the disk. Each run of equal cells takes about ten bytes: under 100 KB per trial.
pub const COLUMNS: usize = 160;
pub const ROWS: usize = 48;

/// The part of the time and the partition that the picture shows.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub begin_ns: u64,
    pub end_ns: u64,
    pub first_sector: u64,
    pub sectors: u64,
}

/// Requests of one kind in each cell, row by row; the first row is the partition's start.
pub struct Grid(Vec<u32>);

pub struct Seen {
    pub reads: Grid,
    pub writes: Grid,
    /// The number of flushes in each column; there is only one row, because a flush has no position.
    pub flushes: Vec<u32>,
    pub read: u64,
    pub written: u64,
    pub flushed: u64,
    /// How long the disks held at least one request.
    pub held_ns: u64,
    /// Histogram of the distance of each read or write from the end of the previous request on its disk: see [`DISTANCES`].
    pub distances: [u64; DISTANCES.len()],
    /// Histogram of the number of requests that the disk held when a request arrived: see [`DEPTHS`].
    pub depths: [u64; DEPTHS.len()],
}

/// Columns of the histogram of distances: upper limit in sectors, and its name in bytes.
pub const DISTANCES: [(u64, &str); 6] =
    [(0, "0"), (128, "64K"), (2048, "1M"), (32_768, "16M"), (524_288, "256M"), (u64::MAX, "more")];

/// Columns of the histogram of queue depths: upper limit in requests, and its name.
pub const DEPTHS: [(u64, &str); 7] =
    [(1, "1"), (2, "2"), (4, "4"), (8, "8"), (16, "16"), (32, "32"), (u64::MAX, "more")];

/// The requests that arrived within the window, on all disks.
pub fn look(served: &[Served], window: Window) -> Seen {
    let mut came: Vec<&Served> =
        served.iter().filter(|s| (window.begin_ns..window.end_ns).contains(&s.arrived_ns)).collect();
    // The list is in completion order. Requests that arrived in the same nanosecond keep this order.
    came.sort_by_key(|s| s.arrived_ns);
    let mut seen = Seen {
        reads: Grid(vec![0; COLUMNS * ROWS]),
        writes: Grid(vec![0; COLUMNS * ROWS]),
        flushes: vec![0; COLUMNS],
        read: 0,
        written: 0,
        flushed: 0,
        held_ns: held_ns(&came, window),
        distances: [0; DISTANCES.len()],
        depths: [0; DEPTHS.len()],
    };
    let mut last_ends = [None; MOST as usize];
    for served in came {
        let column = cell(served.arrived_ns - window.begin_ns, window.end_ns - window.begin_ns, COLUMNS);
        let row = cell(served.sector.saturating_sub(window.first_sector), window.sectors, ROWS);
        match served.op {
            Op::Read => {
                seen.reads.0[row * COLUMNS + column] += 1;
                seen.read += 1;
            }
            Op::Write => {
                seen.writes.0[row * COLUMNS + column] += 1;
                seen.written += 1;
            }
            Op::Flush => {
                seen.flushes[column] += 1;
                seen.flushed += 1;
            }
            Op::Discard => {}
        }
        seen.depths[bin(u64::from(served.depth), &DEPTHS)] += 1;
        if matches!(served.op, Op::Read | Op::Write) {
            let last_end = &mut last_ends[usize::from(served.disk)];
            let before = last_end.replace(served.sector + u64::from(served.sectors));
            if let Some(end) = before {
                seen.distances[bin(served.sector.abs_diff(end), &DISTANCES)] += 1;
            }
        }
    }
    seen
}

/// The union of the intervals from arrival to completion, of requests in arrival order.
fn held_ns(came: &[&Served], window: Window) -> u64 {
    let mut held = 0;
    let mut until = window.begin_ns;
    for served in came {
        let done = served.done_ns.min(window.end_ns);
        held += done.saturating_sub(until.max(served.arrived_ns));
        until = until.max(done);
    }
    held
}

impl Grid {
    pub fn rows(&self) -> impl Iterator<Item = &[u32]> {
        self.0.chunks_exact(COLUMNS)
    }

    pub fn most(&self) -> u32 {
        self.0.iter().copied().max().unwrap_or(0)
    }
}

fn cell(at: u64, of: u64, cells: usize) -> usize {
    let place = u128::from(at) * cells as u128 / u128::from(of.max(1));
    (place as usize).min(cells - 1)
}

fn bin(value: u64, bins: &[(u64, &str)]) -> usize {
    bins.iter().position(|(most, _)| value <= *most).unwrap_or(bins.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { begin_ns: 1000, end_ns: 2000, first_sector: 4800, sectors: 480 };

    fn served(arrived_ns: u64, op: Op, sector: u64, sectors: u32, depth: u8) -> Served {
        Served {
            arrived_ns,
            done_ns: arrived_ns + 5,
            sector,
            sectors,
            op,
            fua: false,
            from_cache: false,
            depth,
            seek_ns: 0,
            rotation_ns: 0,
            transfer_ns: 0,
            overhead_ns: 0,
            disk: 0,
            life: 0,
        }
    }

    #[test]
    fn a_request_is_counted_where_and_when_it_came() {
        let seen = look(&[served(1500, Op::Write, 4800 + 240, 8, 1)], WINDOW);
        let row = seen.writes.rows().nth(ROWS / 2).unwrap();
        assert_eq!((row[COLUMNS / 2], seen.writes.most(), seen.reads.most()), (1, 1, 0));
    }

    #[test]
    fn what_came_before_or_after_the_window_is_not_counted() {
        let list = [999, 1000, 1999, 2000].map(|at| served(at, Op::Read, 4800, 1, 1));
        let seen = look(&list, WINDOW);
        assert_eq!((seen.read, seen.flushed), (2, 0));
        assert_eq!(seen.reads.rows().next().unwrap()[COLUMNS - 1], 1);
    }

    #[test]
    fn distances_are_those_from_the_end_of_the_one_before_in_the_order_of_arrival() {
        // The requests complete in another order than they arrive; a flush between two writes does not move the arm.
        let list = [
            served(1300, Op::Write, 5000, 8, 1),
            served(1100, Op::Write, 4800, 8, 1),
            served(1200, Op::Flush, 0, 0, 1),
            served(1150, Op::Write, 4808, 8, 2),
        ];
        let seen = look(&list, WINDOW);
        // 4808 − 4808 = 0, and 5000 − 4816 = 184.
        assert_eq!(seen.distances, [1, 0, 1, 0, 0, 0]);
        assert_eq!(seen.depths, [3, 1, 0, 0, 0, 0, 0]);
        assert_eq!((seen.written, seen.flushed, seen.flushes.iter().sum::<u32>()), (3, 1, 1));
    }

    #[test]
    fn requests_that_overlap_are_held_once() {
        let at = |arrived_ns, done_ns| Served { done_ns, ..served(arrived_ns, Op::Write, 4800, 8, 1) };
        // From 1100 to 1400 the disk holds a request, one inside it, and one that ends later; the window's end cuts the last request.
        let list = [at(1100, 1300), at(1150, 1200), at(1250, 1400), at(1900, 2500)];
        assert_eq!(look(&list, WINDOW).held_ns, 300 + 100);
    }

    #[test]
    fn ends_of_columns_belong_to_them() {
        assert_eq!([0, 128, 129, u64::MAX].map(|d| bin(d, &DISTANCES)), [0, 1, 2, 5]);
        assert_eq!([1, 2, 3, 4, 5, 255].map(|d| bin(d, &DEPTHS)), [0, 1, 2, 2, 3, 6]);
    }

    #[test]
    fn a_distance_is_from_the_same_disks_last_request() {
        let on = |disk, arrived_ns, sector| Served { disk, ..served(arrived_ns, Op::Write, sector, 8, 1) };
        let list = [on(0, 1100, 4800), on(1, 1200, 9_004_800), on(0, 1300, 4808), on(1, 1400, 9_004_808)];
        let seen = look(&list, WINDOW);
        assert_eq!(seen.distances, [2, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn an_empty_window_is_no_accident() {
        let nothing = Window { begin_ns: 5, end_ns: 5, first_sector: 0, sectors: 0 };
        assert_eq!(look(&[served(5, Op::Read, 0, 1, 1)], nothing).read, 0);
    }
}
