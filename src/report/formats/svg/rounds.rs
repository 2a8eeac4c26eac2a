//! Rates of the rounds of a preconditioning, and the five that are steady.

use fsderby_diskmodel::validation::rule::WINDOW;

use super::canvas::{Anchor, Canvas, Ink, Theme};
use crate::report::view::look::Look;
use crate::report::view::number::grouped;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 300.0;
/// Left, right, top and bottom of the plot.
const PLOT: [f64; 4] = [90.0, 700.0, 60.0, 260.0];

/// Requests per second of each round; `from` is the first of five steady rounds.
pub fn of(title: &str, rates: &[f64], from: Option<usize>) -> String {
    let [left, right, top, ground] = PLOT;
    let most = rates.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let x = |at: usize| left + (right - left) * (at as f64 + 0.5) / rates.len().max(1) as f64;
    let y = |rate: f64| ground - (ground - top) * rate / (most * 1.1);
    let mut canvas = Canvas::new(WIDTH);
    canvas.text((10.0, 22.0), Anchor::Start, Ink::Strong, title);
    let note = match from {
        Some(from) => {
            let five = &rates[from..from + WINDOW];
            let mean = five.iter().sum::<f64>() / WINDOW as f64;
            let (first, last) = (x(from) - 12.0, x(from + WINDOW - 1) + 12.0);
            canvas.stall((first, y(mean * 1.1)), (last - first, y(mean * 0.9) - y(mean * 1.1)));
            format!(
                "writes per second; the band is 10 % about the mean of the first five steady rounds, {}",
                grouped(&format!("{mean:.0}"))
            )
        }
        None => "writes per second; no five rounds in a row are steady".to_owned(),
    };
    canvas.text((10.0, 40.0), Anchor::Start, Ink::Soft, &note);
    for share in [0.0, 0.5, 1.0] {
        let at = y(most * share);
        canvas.grid((left, at), (right, at));
        canvas.text(
            (left - 8.0, at + 4.0),
            Anchor::End,
            Ink::Soft,
            &grouped(&format!("{:.0}", most * share)),
        );
    }
    for (at, rate) in rates.iter().enumerate() {
        canvas.mark((x(at), y(*rate)), Look::default(), false);
        canvas.text((x(at), ground + 18.0), Anchor::Middle, Ink::Soft, &(at + 1).to_string());
        canvas.says(&format!("Round {}: {rate:.0} writes per second.", at + 1));
    }
    canvas.text((right, ground + 34.0), Anchor::End, Ink::Soft, "round");
    canvas.done(HEIGHT, title, Theme::Readers)
}
