//! Whether the samples of a run cover the figures measured on real drives.
//!
//! A drive's figure is *held* if it lies between the minimum and the maximum of the model over the thirteen samples of a run,
//! or at most the margin outside. Three sets of ranges are judged: those estimated before any comparison, those fitted to all
//! drives except the judged one, and those fitted to all drives. Runs use the last.
//!
//! For each drive the fit determines three values. The first is the multiple of its seek times at which the model's single reads
//! match the measurement. The second is the number of oldest requests its firmware chooses among so that queued requests are no
//! faster than measured. The third is how much further in its tracks must lie so that streams are no faster. A range is the hull
//! of the estimate and the drives' values. The next of n such values lies within with probability (n − 1)/(n + 1), so a class
//! with fewer than three drives does not count as tested.
//!
//! Each part of the error is attributed to one factor, because a mean does not show which part of a request it comes from.

use std::collections::BTreeMap;

use fsderby_stats::screening::{RUNS, row};

use super::{Cell, published};
use crate::factor::{End, Factor, Range};
use crate::spec::{Model, Spec};
use crate::{Access, Class, Point};

/// Margin of a finding: a figure at most this factor outside the samples is held.
const MARGIN: f64 = 1.03;
/// Difference between two candidates in the share of time spent on an access.
const SHARE: f64 = 0.25;

/// The ranges estimated before any drive was compared.
const ESTIMATED: [(Factor, End, End); 4] = [
    (Factor::Seek, End::Times(17, 20), End::Times(23, 20)),
    (Factor::Position, End::Moved(-100), End::Moved(100)),
    (Factor::Destaging, End::Times(1, 4), End::Times(4, 1)),
    (Factor::Entries, End::Times(1, 4), End::Times(4, 1)),
];

/// Figures of one class and access, or of one drive.
#[derive(Clone, Debug, Default)]
pub(super) struct Covered {
    pub drives: Vec<String>,
    pub cells: usize,
    /// Figures held by the estimated ranges, by the ranges fitted without the judged drive, and by the ranges fitted to all drives.
    pub by: [Held; 3],
    /// Largest error factor of the nominal disk, at least 1.
    pub worst: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    pub cells: usize,
    /// Sums of logarithms over the cells: minimum to maximum, and nominal disk to the farther of the two.
    width: f64,
    reach: f64,
}

impl Covered {
    fn add(&mut self, judged: &Judged) {
        if !self.drives.contains(&judged.cell.disk) {
            self.drives.push(judged.cell.disk.clone());
        }
        self.cells += 1;
        self.worst = self.worst.max(judged.off);
        for (held, span) in self.by.iter_mut().zip(&judged.spans) {
            held.cells += usize::from(span.holds(&judged.cell));
            held.width += (span.most / span.least).ln();
            held.reach += (span.most / span.nominal).max(span.nominal / span.least).ln();
        }
    }

    /// Ratio of the samples' maximum to minimum, as geometric mean over the cells.
    pub fn width(&self, by: usize) -> f64 {
        (self.by[by].width / self.cells as f64).exp()
    }

    /// The smallest detectable ratio between two candidates of which one spends [`SHARE`] more of its time on this access, if the
    /// samples vary as much as in these cells: the margin times that variation.
    pub fn least_found(&self, by: usize) -> f64 {
        MARGIN * (SHARE * self.by[by].reach / self.cells as f64).exp()
    }
}

/// The model's results in the samples of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    nominal: f64,
    least: f64,
    most: f64,
}

impl Span {
    fn of(cell: &Cell, ranges: &[Range]) -> Span {
        let (spec, job) = (cell.spec(), cell.job());
        let nominal = job.value_of_a_part(&spec);
        let corners = (0..RUNS).map(|n| job.value_of_a_part(&spec.at(ranges, Point::corner(row(n)))));
        let whole = Span { nominal, least: nominal, most: nominal };
        corners.fold(whole, |span, value| Span {
            least: span.least.min(value),
            most: span.most.max(value),
            ..span
        })
    }

    fn holds(&self, cell: &Cell) -> bool {
        let (low, high) = (cell.is[0], cell.is[cell.is.len() - 1]);
        self.least <= high * MARGIN && low <= self.most * MARGIN
    }
}

/// One figure of one drive.
struct Judged {
    cell: Cell,
    class: Class,
    off: f64,
    spans: [Span; 3],
}

/// Coverage of all evidence.
pub(super) struct Coverage {
    judged: Vec<Judged>,
    pub fits: Fits,
}

impl Coverage {
    pub fn of_all() -> Coverage {
        let fits = Fits::of_all();
        let evidence = published().cell.into_iter().filter(Cell::is_evidence);
        Coverage { judged: evidence.map(|cell| judge(cell, &fits)).collect(), fits }
    }

    /// Coverage of each measured class and access; `None` stands for the whole class.
    pub fn by_class(&self) -> BTreeMap<(Class, Option<Access>), Covered> {
        let mut all: BTreeMap<_, Covered> = BTreeMap::new();
        for judged in &self.judged {
            for access in [None, Some(judged.cell.job().access)] {
                all.entry((judged.class, access)).or_default().add(judged);
            }
        }
        all
    }

    /// Coverage of each drive, in the order of the table.
    pub fn by_drive(&self) -> Vec<Covered> {
        let mut all: Vec<Covered> = Vec::new();
        for judged in &self.judged {
            match all.iter_mut().find(|covered| covered.drives[0] == judged.cell.disk) {
                Some(known) => known.add(judged),
                None => {
                    let mut covered = Covered::default();
                    covered.add(judged);
                    all.push(covered);
                }
            }
        }
        all
    }
}

fn judge(cell: Cell, fits: &Fits) -> Judged {
    let class = cell.spec().class();
    let estimated = fits.estimated(class);
    let all = [estimated.clone(), fits.ranges(class, Some(&cell.disk)), fits.ranges(class, None)];
    let mut known: Vec<(&[Range], Span)> = Vec::new();
    let spans = all.each_ref().map(|ranges| {
        let same = known.iter().find(|(others, _)| *others == ranges.as_slice());
        let span = same.map_or_else(|| Span::of(&cell, ranges), |(_, span)| *span);
        known.push((ranges, span));
        span
    });
    let off = (cell.job().value(&cell.spec()) / cell.middle()).ln().abs().exp();
    Judged { class, off, spans, cell }
}

/// The range values that each measured hard disk requires.
pub(super) struct Fits {
    pub by_drive: BTreeMap<String, Fit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fit {
    /// Multiple of the drive's seek times, in twentieths.
    pub seeks: Option<u64>,
    pub oldest: Option<u64>,
    /// How much further in the tracks must lie, in thousandths of the disk.
    pub further_in: Option<i32>,
}

impl Fits {
    pub fn of_all() -> Fits {
        let mut by_drive = BTreeMap::new();
        let evidence: Vec<Cell> = published().cell.into_iter().filter(Cell::is_evidence).collect();
        for cell in evidence.iter().filter(|cell| cell.spec().class() == Class::Hard) {
            let own: Vec<&Cell> = evidence.iter().filter(|other| other.disk == cell.disk).collect();
            by_drive.entry(cell.disk.clone()).or_insert_with(|| Fit::of(&own));
        }
        Fits { by_drive }
    }

    fn estimated(&self, class: Class) -> Vec<Range> {
        let estimated = |range: &Range| {
            let known = ESTIMATED.iter().find(|(factor, ..)| *factor == range.factor);
            known.map_or(*range, |(_, low, high)| Range { low: *low, high: *high, ..*range })
        };
        class.ranges().iter().map(estimated).collect()
    }

    /// The hull of the estimates and of all drives' fits, except the drive `but`.
    pub fn ranges(&self, class: Class, but: Option<&str>) -> Vec<Range> {
        let fits =
            || self.by_drive.iter().filter(|(drive, _)| Some(drive.as_str()) != but).map(|(_, fit)| fit);
        let seeks = || fits().filter_map(|fit| fit.seeks);
        let (least, most) = (seeks().min().unwrap_or(20).min(17), seeks().max().unwrap_or(20).max(23));
        let further_in = fits().filter_map(|fit| fit.further_in).max().unwrap_or(0).max(100);
        let oldest = fits().filter_map(|fit| fit.oldest).min();
        let mut ranges = self.estimated(class);
        for range in &mut ranges {
            match range.factor {
                Factor::Seek => (range.low, range.high) = (End::Times(least, 20), End::Times(most, 20)),
                Factor::Position => range.high = End::Moved(further_in),
                Factor::Destaging => range.low = in_order(range.low, oldest),
                Factor::Entries if class == Class::Raid => range.low = in_order(range.low, oldest),
                _ => {}
            }
        }
        ranges
    }
}

fn in_order(low: End, oldest: Option<u64>) -> End {
    match (low, oldest) {
        (End::Times(times, of), Some(oldest)) => End::Among { times: (times, of), oldest },
        _ => low,
    }
}

impl Fit {
    /// The fit to all figures of one drive.
    fn of(cells: &[&Cell]) -> Fit {
        let of = |access: Access| cells.iter().copied().filter(move |cell| cell.job().access == access);
        let seeks = of(Access::Reads).next().map(seeks);
        let arm = End::Times(seeks.unwrap_or(20), 20);
        let oldest = of(Access::Queued).next().map(|_| {
            let is_slow =
                |oldest: &u64| of(Access::Queued).all(|cell| is_no_faster(cell, arm, Some(*oldest), 0));
            (1..=8).rev().find(is_slow).unwrap_or(1)
        });
        let further_in = of(Access::Streams).next().map(|_| {
            let is_slow =
                |permille: &i32| of(Access::Streams).all(|cell| is_no_faster(cell, arm, None, *permille));
            (0..=500).step_by(50).find(is_slow).unwrap_or(500)
        });
        Fit { seeks, oldest, further_in }
    }
}

/// The multiple in twentieths at which single reads come nearest to the measurement.
fn seeks(cell: &Cell) -> u64 {
    let off = |twentieths: &u64| {
        let ours = cell.job().value(&with(cell, End::Times(*twentieths, 20), None, 0));
        (ours / cell.middle()).ln().abs()
    };
    (10..=60).min_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(20)
}

fn is_no_faster(cell: &Cell, arm: End, oldest: Option<u64>, further_in: i32) -> bool {
    cell.job().value(&with(cell, arm, oldest, further_in)) <= cell.middle() * MARGIN
}

/// The drive of a cell with other seek times, request order and tracks.
fn with(cell: &Cell, arm: End, oldest: Option<u64>, further_in: i32) -> Spec {
    let mut spec = cell.spec();
    let range = |factor, end| Range { factor, low: end, high: end, why: "" };
    let ranges = [range(Factor::Seek, arm), range(Factor::Position, End::Moved(further_in))];
    spec = spec.at(&ranges, Point::corner(row(0)));
    if let Model::Hard(hard) = &mut spec.model {
        hard.among = oldest;
    }
    spec
}

#[cfg(test)]
impl Coverage {
    /// The evidence in the form and order of the crate's table.
    pub fn evidence(&self) -> Vec<crate::Evidence> {
        let evidence = |((class, access), covered): ((Class, Option<Access>), Covered)| crate::Evidence {
            class,
            access,
            drives: covered.drives.len() as u32,
            figures: covered.cells as u32,
            held: covered.by[1].cells as u32,
            worst_permille: (covered.worst * 1000.0).round() as u32,
        };
        self.by_class().into_iter().map(evidence).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs use the ranges fitted to all drives.
    #[test]
    fn the_ranges_are_the_hull_of_what_was_estimated_and_what_drives_ask_for() {
        let fits = Fits::of_all();
        for class in Class::ALL {
            assert_eq!(fits.ranges(class, None), class.ranges(), "{class:?}");
        }
        let fit = |drive: &str| fits.by_drive[drive];
        assert_eq!(
            fit("seagate-st2000dm006"),
            Fit { seeks: Some(33), oldest: Some(7), further_in: Some(300) }
        );
        assert_eq!(fit("hgst-ultrastar-7k8"), Fit { seeks: None, oldest: None, further_in: None });
    }

    #[test]
    fn a_range_without_a_drive_does_not_hold_what_only_it_asks_for() {
        let fit = |seeks| Fit { seeks: Some(seeks), oldest: Some(seeks / 5), further_in: Some(250) };
        let by_drive = [("a", fit(33)), ("b", fit(25)), ("c", fit(15))];
        let fits = Fits { by_drive: by_drive.map(|(name, fit)| (name.to_owned(), fit)).into() };
        let seek = |but| {
            let ranges = fits.ranges(Class::Hard, but);
            ranges.iter().find(|range| range.factor == Factor::Seek).map(|range| (range.low, range.high))
        };
        let from = |low, high| Some((End::Times(low, 20), End::Times(high, 20)));
        assert_eq!(seek(None), from(15, 33));
        assert_eq!(seek(Some("a")), from(15, 25));
        assert_eq!(seek(Some("c")), from(17, 33));
        let nothing = Fits { by_drive: BTreeMap::new() };
        assert_eq!(nothing.ranges(Class::Hard, None), nothing.estimated(Class::Hard));
        assert_eq!(nothing.ranges(Class::Flash, None), Class::Flash.ranges());
    }

    #[test]
    fn the_middle_of_the_ranges_is_the_nominal_disk() {
        for class in [Class::Hard, Class::Flash] {
            for cell in published().cell.iter().filter(|cell| cell.spec().class() == class) {
                assert_eq!(cell.spec().at(class.ranges(), Point::NOMINAL), cell.spec());
            }
        }
    }

    #[test]
    fn a_figure_is_held_within_the_samples_or_within_the_margin_of_them() {
        let mut cell = published().cell.swap_remove(0);
        let span = Span { nominal: 100.0, least: 50.0, most: 200.0 };
        for (is, holds) in [
            (vec![50.0], true),
            (vec![205.0], true),
            (vec![207.0], false),
            (vec![48.0], false),
            (vec![10.0, 60.0], true),
            (vec![10.0, 20.0], false),
        ] {
            cell.is = is;
            assert_eq!(span.holds(&cell), holds, "{:?}", cell.is);
        }
    }

    #[test]
    fn wider_samples_find_less() {
        let covered = |reach: f64| Covered {
            cells: 1,
            by: [Held { cells: 1, width: 2.0 * reach, reach }; 3],
            ..Covered::default()
        };
        assert!((covered(0.0).least_found(0) - MARGIN).abs() < 1e-12);
        let half = covered(2.0_f64.ln());
        assert!((half.least_found(2) - MARGIN * 2.0_f64.powf(SHARE)).abs() < 1e-12);
        assert!((half.width(1) - 4.0).abs() < 1e-12);
    }
}
