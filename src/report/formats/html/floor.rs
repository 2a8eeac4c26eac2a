//! The extrapolation of disk-model overhead: each pair's ratio with the disk server's work done once, twice and three times, and
//! the line through these three ratios to zero.

use crate::report::view::floor::{floor, share};
use crate::report::view::number::{count, percent, ratio};
use crate::schema::finding::{Finding, Floor};

/// Positions and labels of zero, one, two and three times the server's work.
pub const TIMES: [(&str, &str); 4] = [("6%", "0×"), ("36%", "1×"), ("66%", "2×"), ("94%", "3×")];
/// The same positions in the chart's units, which the browser stretches: 1000 across, 100 down.
const X: [f64; 4] = [60.0, 360.0, 660.0, 940.0];
const DOWN: f64 = 100.0;
/// The scale reaches at least this share up and down; otherwise noise would fill the chart.
const LEAST: f64 = 0.002;
/// Half of the width of the mark at the end of a bound.
const CAP: f64 = 8.0;
/// At most this many pairs are named; the most affected pairs come first.
const NAMED: usize = 4;

/// All pairs of one metric.
pub struct Extrapolation {
    pub grid: Vec<Grid>,
    /// The two borders of the margin, if they are within the chart.
    pub margins: Vec<String>,
    pub pairs: Vec<Line>,
    /// The most affected pairs, in words.
    pub most: String,
    pub words: String,
}

/// A horizontal line: the change of a ratio from its measured value.
pub struct Grid {
    /// Position of the line, in the chart's units and for the text beside it.
    pub y: String,
    pub from_top: String,
    pub text: String,
}

/// One pair, as SVG paths.
pub struct Line {
    pub measured: String,
    pub extrapolated: String,
    pub bound: String,
    pub words: String,
    pub is_withheld: bool,
}

/// The chart; `None` if no overhead was measured. `margin` is a share.
pub fn of(findings: &[&Finding], margin: f64) -> Option<Extrapolation> {
    let mut pairs: Vec<(&Finding, &Floor)> = findings.iter().filter_map(|f| Some((*f, floor(f)?))).collect();
    pairs.sort_by(|(_, a), (_, b)| b.moves.total_cmp(&a.moves));
    let ends = pairs.iter().flat_map(|(_, floor)| {
        let [without, low, high] = at_zero(floor);
        [without, low, high, change(floor, floor.ratios[1]), change(floor, floor.ratios[2])]
    });
    let half = ends.map(f64::abs).fold(LEAST, f64::max) * 1.05;
    let y = |change: f64| (1.0 - change / half) / 2.0 * DOWN;
    let named: Vec<String> = pairs.iter().take(NAMED).map(|(f, floor)| brief(f, floor)).collect();
    (!pairs.is_empty()).then(|| Extrapolation {
        grid: grid(half).into_iter().map(|at| line_across(at, y(at))).collect(),
        margins: [margin, -margin].iter().filter(|at| at.abs() < half).map(|at| digits(y(*at))).collect(),
        words: format!("{}; largest shift: {}", count(pairs.len(), "pair"), named.join("; ")),
        most: named.join("; "),
        pairs: pairs.into_iter().map(|(finding, floor)| line(finding, floor, &y)).collect(),
    })
}

/// The change of this ratio from the measured ratio, as a share.
fn change(floor: &Floor, ratio: f64) -> f64 {
    ratio / floor.ratios[0] - 1.0
}

/// The ratio without overhead, and the ends of its bound.
fn at_zero(floor: &Floor) -> [f64; 3] {
    let beyond = 1.0 + floor.bound;
    [floor.without, floor.without / beyond, floor.without * beyond].map(|ratio| change(floor, ratio))
}

fn line(finding: &Finding, floor: &Floor, y: &dyn Fn(f64) -> f64) -> Line {
    let [once, twice, thrice] = floor.ratios.map(|ratio| digits(y(change(floor, ratio))));
    let [without, low, high] = at_zero(floor).map(|change| digits(y(change)));
    let [x0, x1, x2, x3] = X;
    let (left, right) = (x0 - CAP, x0 + CAP);
    Line {
        measured: format!("M{x1} {once}L{x2} {twice}L{x3} {thrice}"),
        extrapolated: format!("M{x1} {once}L{x0} {without}"),
        bound: format!("M{left} {low}H{right}M{x0} {low}V{high}M{left} {high}H{right}"),
        words: brief(finding, floor),
        is_withheld: crate::report::view::floor::Withheld::of(finding).is_some(),
    }
}

/// A pair in words: `alderfs ÷ birchfs: 1.05 as measured, 1.06 without disk-model overhead, shifted by up to 1.2%`.
fn brief(Finding { a, b, .. }: &Finding, floor: &Floor) -> String {
    let [measured, without] = [floor.ratios[0], floor.without].map(ratio);
    format!(
        "{a} ÷ {b}: {measured} as measured, {without} without disk-model overhead, shifted by up to {}",
        share(floor.moves)
    )
}

/// The lines of the grid, at round numbers, spaced so that the labels fit.
fn grid(half: f64) -> Vec<f64> {
    let power = 10_f64.powf(half.log10().floor());
    let steps = [0.2, 0.5, 1.0, 2.0, 5.0].map(|digit| digit * power);
    let step = steps.into_iter().find(|step| half / step < 3.0).unwrap_or(power);
    let most = (half / step).floor() as i32;
    (-most..=most).map(|n| f64::from(n) * step).collect()
}

fn line_across(at: f64, y: f64) -> Grid {
    let text = match at {
        0.0 => "0".to_owned(),
        _ => format!("{}%", ((at * 100.0) * 1e6).round() / 1e6),
    };
    let text = if at > 0.0 { format!("+{text}") } else { text.replace('-', "−") };
    Grid { y: digits(y), from_top: percent(y / DOWN * 100.0), text }
}

fn digits(value: f64) -> String {
    format!("{value:.2}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::floor;
    use crate::report::examples::model;
    use crate::schema::finding::{Evidence, Found};

    fn findings(logs: &[[f64; 3]]) -> Vec<Finding> {
        let verdict = model::samples(13).report().summary.verdict.clone();
        let with = |(finding, logs): (&Finding, &[f64; 3])| {
            let mut finding = finding.clone();
            let Evidence::Samples { floor, withheld, .. } = &mut finding.evidence else {
                panic!("no samples")
            };
            *floor = floor::measured(*logs, 500, None).floor();
            *withheld = (logs[0] > 1.0).then_some(Found::Better);
            finding
        };
        verdict.findings.iter().zip(logs).map(with).collect()
    }

    #[test]
    fn a_line_goes_through_what_was_measured_and_on_to_none() {
        let all = findings(&[[0.10, 0.08, 0.06], [0.5, 0.5, 0.5]]);
        let picture = of(&all.iter().collect::<Vec<_>>(), 0.03).expect("both were measured");
        let first = &picture.pairs[0];
        assert!(first.measured.starts_with("M360 50.00L660 "), "{}", first.measured);
        assert!(first.extrapolated.starts_with("M360 50.00L60 "), "{}", first.extrapolated);
        assert!(
            first.words.contains("1.11 as measured, 1.13 without disk-model overhead, shifted by up to 2%"),
            "{}",
            first.words
        );
        assert_eq!(picture.pairs[1].measured, "M360 50.00L660 50.00L940 50.00", "nothing moves it");
        assert_eq!(picture.margins.len(), 2, "3 % either way lie inside 3.9 %");
    }

    #[test]
    fn a_scale_has_nought_in_its_middle_and_few_round_numbers() {
        let texts = |half: f64| grid(half).iter().map(|at| line_across(*at, 0.0).text).collect::<Vec<_>>();
        assert_eq!(texts(0.041), ["−4%", "−2%", "0", "+2%", "+4%"]);
        assert_eq!(texts(0.0021), ["−0.2%", "−0.1%", "0", "+0.1%", "+0.2%"]);
    }

    #[test]
    fn where_nothing_was_measured_there_is_no_picture() {
        assert!(of(&[], 0.03).is_none());
    }
}
