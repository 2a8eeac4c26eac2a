//! A logarithmic axis: equal distances are equal ratios, so 0.5 and 2 are equally far from 1.

use super::number::percent;

/// Free space at each end, as a share of the whole.
const MARGIN: f64 = 0.04;
/// The least ratio of the axis's two ends; with a smaller range, noise of 0.1 % would fill the axis.
const LEAST: f64 = 1.1;

/// Total width of all tick labels, in percent.
const ROOM: f64 = 60.0;
/// Width of a letter of a label, and of the gap to the next label, in percent: 6.3 and 7 of the 350 pixels that a picture's
/// axis has.
const LETTER: f64 = 1.8;
const GAP: f64 = 2.0;

pub struct LogAxis {
    /// Natural logarithms of the ends.
    from: f64,
    to: f64,
}

/// A line of the grid.
pub struct LogTick {
    pub at: String,
    pub value: f64,
    pub text: String,
    /// The anchor of the label, chosen so that the label does not cross the edge.
    pub anchor: Anchor,
}

/// The part of a text that is placed at the text's position: its start, middle or end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    /// The value of SVG's `text-anchor`.
    pub fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

impl LogAxis {
    /// An axis over all positive values; `None` if there are none.
    pub fn over(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let logs: Vec<f64> = values.into_iter().filter(|v| *v > 0.0 && v.is_finite()).map(f64::ln).collect();
        let least = logs.iter().copied().fold(f64::INFINITY, f64::min);
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let lacking = (LEAST.ln() - (most - least)).max(0.0) / 2.0;
        let margin = MARGIN * (most - least + 2.0 * lacking);
        (!logs.is_empty()).then_some(LogAxis { from: least - lacking - margin, to: most + lacking + margin })
    }

    /// The position of a value from the left, in percent.
    pub fn at(&self, value: f64) -> f64 {
        if value <= 0.0 {
            return 0.0;
        }
        ((value.ln() - self.from) / (self.to - self.from) * 100.0).clamp(0.0, 100.0)
    }

    /// Position from the left as SVG takes it: `12.34%`.
    pub fn x(&self, value: f64) -> String {
        percent(self.at(value))
    }

    /// The lines of the grid: at most `most`, at round values, each with its label, and only as many that labels do not touch.
    /// Values with the same label become one line.
    pub fn ticks(&self, most: usize, text: impl Fn(f64) -> String) -> Vec<LogTick> {
        let tick = |value: f64| {
            let at = self.at(value);
            let anchor = match at {
                ..6.0 => Anchor::Start,
                94.0.. => Anchor::End,
                _ => Anchor::Middle,
            };
            LogTick { at: percent(at), value, text: text(value), anchor }
        };
        // On a logarithmic axis equal steps get closer towards the right, and their labels must not touch.
        let apart = ROOM / most.max(1) as f64;
        let mut ticks: Vec<LogTick> = Vec::new();
        let mut free_from = f64::NEG_INFINITY;
        for value in self.round_values(most) {
            let tick = tick(value);
            let wide = tick.text.chars().count() as f64 * LETTER + GAP;
            // At the ends of the axis, a label lies on one side of its line.
            let [left, right] = match tick.anchor {
                Anchor::Start => [0.0, wide.max(0.75 * apart)],
                Anchor::End => [wide.max(0.75 * apart), 0.0],
                Anchor::Middle => [wide.max(apart) / 2.0; 2],
            };
            let is_new = ticks.last().is_none_or(|last| last.text != tick.text);
            if is_new && self.at(value) - left >= free_from {
                free_from = self.at(value) + right;
                ticks.push(tick);
            }
        }
        ticks
    }

    fn round_values(&self, most: usize) -> Vec<f64> {
        let (from, to) = (self.from.exp(), self.to.exp());
        // Steps are equal only on an axis with a small range; with a large range they would be too close at its right end.
        if to / from < 4.0 {
            let power = 10_f64.powf((to - from).log10().floor() - 1.0);
            let steps = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0].map(|step| step * power);
            let step = steps.into_iter().find(|step| ((to - from) / step) as usize <= most.max(2));
            let step = step.unwrap_or(power * 100.0);
            let first = (from / step).ceil() as i64;
            return (first..).map(|n| n as f64 * step).take_while(|value| *value <= to).collect();
        }
        let decades = from.log10().floor() as i32..=to.log10().ceil() as i32;
        let of = |digits: &[f64]| -> Vec<f64> {
            let all = decades.clone().flat_map(|d| digits.iter().map(move |digit| digit * 10_f64.powi(d)));
            all.filter(|value| (from..=to).contains(value)).collect()
        };
        let series = [of(&[1.0, 2.0, 5.0]), of(&[1.0, 3.0]), of(&[1.0])];
        let [fine, middle, coarse] = series;
        [fine, middle].into_iter().find(|values| values.len() <= most).unwrap_or_else(|| {
            let every = coarse.len().div_ceil(most.max(1)).max(1);
            coarse.into_iter().step_by(every).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number without trailing zeros: `0.85`.
    fn short(value: f64) -> String {
        format!("{value:.5}").trim_end_matches('0').trim_end_matches('.').to_owned()
    }

    fn values(values: &[f64]) -> Vec<String> {
        let axis = LogAxis::over(values.iter().copied()).expect("they have logarithms");
        axis.ticks(6, short)
            .iter()
            .map(|tick| format!("{:.5}", tick.value))
            .map(|t| t.trim_end_matches('0').to_owned())
            .collect()
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(values(&[0.72, 1.0]), ["0.75", "0.8", "0.85", "0.9", "0.95", "1."]);
        assert_eq!(values(&[0.5, 1.6]).last().map(String::as_str), Some("1.4"), "1.6 would touch it");
        assert_eq!(values(&[0.1, 1.0]), ["0.1", "0.2", "0.5", "1."]);
        assert_eq!(values(&[1e3, 1e9]).len(), 4);
        assert_eq!(values(&[1.0, 1.0]), ["0.96", "0.98", "1.", "1.02", "1.04"]);
    }

    #[test]
    fn labels_never_touch_however_long_they_are() {
        let long = |value: f64| format!("{value:.0} requests of 4 KiB");
        for ends in [[0.5, 1.6], [1.0, 60.0], [0.9, 1e3], [3.0, 2e6], [1e3, 1e9], [0.72, 1.0]] {
            let axis = LogAxis::over(ends).expect("they have logarithms");
            for ticks in [axis.ticks(6, long), axis.ticks(6, short)] {
                let place = |tick: &LogTick| {
                    let (at, wide) = (axis.at(tick.value), tick.text.chars().count() as f64 * LETTER);
                    match tick.anchor {
                        Anchor::Start => (at, at + wide),
                        Anchor::End => (at - wide, at),
                        Anchor::Middle => (at - wide / 2.0, at + wide / 2.0),
                    }
                };
                assert!(!ticks.is_empty());
                for pair in ticks.windows(2) {
                    assert!(place(&pair[0]).1 < place(&pair[1]).0, "{} and {}", pair[0].text, pair[1].text);
                    assert_ne!(pair[0].text, pair[1].text);
                }
            }
        }
    }

    #[test]
    fn half_and_double_stand_equally_far_from_one() {
        let axis = LogAxis::over([0.5, 1.0, 2.0]).expect("they have logarithms");
        assert!((axis.at(1.0) - 50.0).abs() < 1e-9);
        assert!((axis.at(2.0) - 50.0 - (50.0 - axis.at(0.5))).abs() < 1e-9);
        assert!(LogAxis::over([0.0, f64::NAN]).is_none());
    }
}
