//! Figures that a program prints, as counts of a phase.
//!
//! A count is an integer, so a figure is stored as two counts: its digits without the decimal point, and the number of digits after
//! the point. For example, `12.50` is stored as 1250 and 2.

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::Ended;
use crate::schema::event::Phase;
use crate::schema::metric::Better;
use crate::schema::shared::Keyed;

/// A figure: how to find it in the output, and what it measures.
#[derive(Clone, Debug)]
pub struct Figure {
    pub name: String,
    place: Place,
    pub unit: String,
    pub better: Better,
}

#[derive(Clone, Debug)]
enum Place {
    /// The figure is the group of the expression's only match in the output.
    Match(Regex),
    /// The output is JSON, and the figure is the value at this JSON pointer (RFC 6901).
    Pointer(String),
}

/// A figure as an experiment describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    #[serde(default)]
    find: Option<String>,
    #[serde(default)]
    pointer: Option<String>,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    better: Direction,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Direction {
    More,
    Less,
    #[default]
    Neither,
}

impl Figure {
    /// # Errors
    /// The error names the figure's key.
    pub fn parse(name: &str, described: Described) -> Result<Self, String> {
        let fault = |key: &str, text: String| Err(format!("metric.{name}{key}: {text}"));
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(is_plain) {
            return fault("", "write a name of small letters, digits, '-' and '_'".into());
        }
        let place = match (described.find, described.pointer) {
            (Some(find), None) => match Regex::new(&find) {
                Err(e) => return fault(".find", e.to_string().lines().last().unwrap_or_default().to_owned()),
                Ok(regex) if regex.captures_len() != 2 => {
                    return fault(".find", "put one pair of parentheses around the number".into());
                }
                Ok(regex) => Place::Match(regex),
            },
            (None, Some(pointer)) if pointer.starts_with('/') => Place::Pointer(pointer),
            (None, Some(_)) => {
                return fault(".pointer", "write a JSON pointer, such as /jobs/0/read/iops".into());
            }
            _ => {
                return fault(
                    "",
                    "write either find = 'REGULAR EXPRESSION' or pointer = '/JSON/POINTER'".into(),
                );
            }
        };
        let better = match described.better {
            Direction::More => Better::Higher,
            Direction::Less => Better::Lower,
            Direction::Neither => Better::Neither,
        };
        Ok(Figure { name: name.to_owned(), place, unit: described.unit, better })
    }

    /// The counts of the figure, from the output of a program.
    ///
    /// # Errors
    /// If the figure is not printed or printed twice, or is not a number of at least zero.
    pub fn counts(&self, ended: &Ended) -> Result<[(String, u64); 2], String> {
        let fault = |text: String| format!("metric.{}: {text}", self.name);
        let text = match &self.place {
            Place::Match(regex) => {
                let all =
                    [&ended.output, &ended.errors].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
                let mut found = all.iter().flat_map(|text| regex.captures_iter(text));
                let first = found.next().and_then(|found| Some(found.get(1)?.as_str().to_owned()));
                let first = first.ok_or_else(|| fault(format!("the command did not print '{regex}'")))?;
                if found.next().is_some() {
                    return Err(fault(format!("the command printed '{regex}' more than once")));
                }
                first
            }
            Place::Pointer(pointer) => {
                let json: Value = serde_json::from_slice(&ended.output)
                    .map_err(|e| fault(format!("the command's output is not JSON: {e}")))?;
                match json.pointer(pointer) {
                    Some(Value::Number(number)) => number.to_string(),
                    Some(Value::String(text)) => text.clone(),
                    Some(_) => return Err(fault(format!("{pointer} of the output is not a number"))),
                    None => return Err(fault(format!("the output has no {pointer}"))),
                }
            }
        };
        let (digits, decimals) =
            digits(&text).ok_or_else(|| fault(format!("'{text}' is not a number of at least zero")))?;
        Ok([(self.key("digits"), digits), (self.key("decimals"), decimals)])
    }

    /// The figure of a phase; `None` with several clients, because the counts are then sums.
    pub fn value(&self, counts: &Keyed<u64>) -> Option<f64> {
        let (digits, decimals) = (counts.get(&self.key("digits"))?, counts.get(&self.key("decimals"))?);
        // Parsing this text gives exactly the number that was printed.
        format!("{digits}e-{decimals}").parse().ok()
    }

    fn key(&self, what: &str) -> String {
        format!("printed.{}.{what}", self.name)
    }
}

/// The digits of a number without its decimal point, and the number of digits after the point.
fn digits(text: &str) -> Option<(u64, u64)> {
    let value: f64 = text.trim().replace(',', "").parse().ok()?;
    if !value.is_finite() || value < 0.0 {
        return None;
    }
    // `to_string` gives the shortest text that stands for the same number, without an exponent.
    let plain = value.to_string();
    let (whole, behind) = plain.split_once('.').unwrap_or((&plain, ""));
    let room = 18_usize.saturating_sub(whole.len());
    let behind = &behind[..behind.len().min(room)];
    Some((format!("{whole}{behind}").parse().ok()?, behind.len() as u64))
}

/// The figures of a phase.
pub fn values<'a>(figures: &'a [Figure], phase: &Phase) -> impl Iterator<Item = (&'a Figure, f64)> {
    figures.iter().filter_map(|figure| Some((figure, figure.value(&phase.counts)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(text: &str) -> Result<Figure, String> {
        Figure::parse("tps", toml::from_str(text).expect("TOML"))
    }

    fn printed(output: &str, errors: &str) -> Ended {
        Ended { output: output.into(), errors: errors.into() }
    }

    fn value(figure: &Figure, output: &str, errors: &str) -> Result<f64, String> {
        let counts = figure.counts(&printed(output, errors))?;
        Ok(figure.value(&counts.into_iter().collect()).expect("what was stored"))
    }

    #[test]
    fn a_figure_is_what_was_printed() {
        let tps = figure("find = 'tps = ([0-9.,e+]+)'\nunit = '1/s'\nbetter = 'more'").unwrap();
        for (text, expected) in [
            ("1234.5678", 1234.5678),
            ("0.1", 0.1),
            ("0", 0.0),
            ("1.25e+06", 1_250_000.0),
            ("12,345", 12345.0),
            ("0.000123", 0.000_123),
        ] {
            assert_eq!(value(&tps, &format!("x\ntps = {text} (y)\n"), ""), Ok(expected));
            assert_eq!(value(&tps, "", &format!("tps = {text}")), Ok(expected));
        }
        let pointer = figure("pointer = '/jobs/0/iops'").unwrap();
        assert_eq!(value(&pointer, r#"{"jobs":[{"iops":12.75}]}"#, "a warning"), Ok(12.75));
    }

    #[test]
    fn what_is_not_printed_once_as_a_number_is_said() {
        let tps = figure("find = 'tps = (.*)'").unwrap();
        let pointer = figure("pointer = '/a'").unwrap();
        for (figure, output, told) in [
            (&tps, "", "did not print"),
            (&tps, "tps = 1\ntps = 2", "more than once"),
            (&tps, "tps = fast", "'fast' is not a number"),
            (&tps, "tps = -1", "not a number of at least zero"),
            (&tps, "tps = inf", "not a number"),
            (&pointer, "a: 1", "not JSON"),
            (&pointer, "{}", "has no /a"),
            (&pointer, r#"{"a":[1]}"#, "is not a number"),
        ] {
            let error = value(figure, output, "").unwrap_err();
            assert!(error.contains(told) && error.starts_with("metric.tps"), "{output}: {error}");
        }
    }

    #[test]
    fn a_figure_has_one_place_with_one_number() {
        for (text, told) in [
            ("", "either find"),
            ("find = 'a(b)'\npointer = '/c'", "either find"),
            ("find = 'a'", "one pair of parentheses"),
            ("find = '(a)(b)'", "one pair of parentheses"),
            ("find = '('", "unclosed group"),
            ("pointer = 'a'", "JSON pointer"),
        ] {
            let error = figure(text).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
        assert!(Figure::parse("a.b", toml::from_str("find='(x)'").unwrap()).is_err());
    }
}
