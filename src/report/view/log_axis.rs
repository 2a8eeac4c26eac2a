//! A logarithmic axis: equal distances are equal ratios, so 0.5 and 2 are equally far from 1.

use super::number::percent;

/// Free space at each end, as a share of the whole.
const MARGIN: f64 = 0.04;
/// Least range of the axis; otherwise noise of 0.1 % would fill it.
const LEAST: f64 = 1.1;

/// Total width of all tick labels, in percent.
const ROOM: f64 = 60.0;

pub struct LogAxis {
    /// Natural logarithms of the ends.
    from: f64,
    to: f64,
}

/// A line of the grid.
pub struct LogTick {
    pub at: String,
    pub value: f64,
    /// The text anchor, chosen so that no label crosses the edge.
    pub anchor: &'static str,
}

impl LogAxis {
    /// Over all values that have a logarithm; `None` without any.
    pub fn over(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let logs: Vec<f64> = values.into_iter().filter(|v| *v > 0.0 && v.is_finite()).map(f64::ln).collect();
        let least = logs.iter().copied().fold(f64::INFINITY, f64::min);
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let lacking = (LEAST.ln() - (most - least)).max(0.0) / 2.0;
        let margin = MARGIN * (most - least + 2.0 * lacking);
        (!logs.is_empty()).then_some(LogAxis { from: least - lacking - margin, to: most + lacking + margin })
    }

    /// Position from the left, in percent.
    pub fn at(&self, value: f64) -> f64 {
        if value <= 0.0 {
            return 0.0;
        }
        ((value.ln() - self.from) / (self.to - self.from) * 100.0).clamp(0.0, 100.0)
    }

    /// The same for SVG.
    pub fn x(&self, value: f64) -> String {
        percent(self.at(value))
    }

    /// At most `most` lines, at round values.
    pub fn ticks(&self, most: usize) -> Vec<LogTick> {
        let tick = |value: f64| {
            let at = self.at(value);
            let anchor = match at {
                ..6.0 => "start",
                94.0.. => "end",
                _ => "middle",
            };
            LogTick { at: percent(at), value, anchor }
        };
        // Equal steps get closer towards the right, and their labels must not touch.
        let apart = ROOM / most.max(1) as f64;
        let mut ticks: Vec<LogTick> = Vec::new();
        let mut free_from = f64::NEG_INFINITY;
        for value in self.round_values(most) {
            // At an end a label lies on one side of its line.
            let tick = tick(value);
            let [before, behind] = match tick.anchor {
                "start" => [0.0, 1.25],
                "end" => [1.25, 0.0],
                _ => [1.0, 1.0],
            };
            if self.at(value) >= free_from + (before - 1.0) * apart {
                free_from = self.at(value) + behind * apart;
                ticks.push(tick);
            }
        }
        ticks
    }

    fn round_values(&self, most: usize) -> Vec<f64> {
        let (from, to) = (self.from.exp(), self.to.exp());
        // Equal steps crowd at the right end of a long axis.
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

    fn values(values: &[f64]) -> Vec<String> {
        let axis = LogAxis::over(values.iter().copied()).expect("they have logarithms");
        axis.ticks(6)
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
    fn half_and_double_stand_equally_far_from_one() {
        let axis = LogAxis::over([0.5, 1.0, 2.0]).expect("they have logarithms");
        assert!((axis.at(1.0) - 50.0).abs() < 1e-9);
        assert!((axis.at(2.0) - 50.0 - (50.0 - axis.at(0.5))).abs() < 1e-9);
        assert!(LogAxis::over([0.0, f64::NAN]).is_none());
    }
}
