//! Text for a terminal: wrapped lines, sentences, bars.

pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let fits = |line: &String| line.chars().count() + 1 + word.chars().count() <= width;
        match lines.last_mut() {
            Some(line) if fits(line) => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(format!("  {word}")),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// An abbreviation, such as CPU, keeps its capitals.
pub fn lower_first(text: &str) -> String {
    if text.chars().nth(1).is_some_and(char::is_uppercase) {
        return text.to_owned();
    }
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// A bar in eighths of a column.
pub fn bar_of(value: f64, most: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if most <= 0.0 {
        return String::new();
    }
    let eighths = (value / most * width as f64 * 8.0).round().max(0.0) as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// Draws the values as a row of columns. Each column is as high as the mean of its part of the values, in eighths of a line; zero
/// is blank.
pub fn spark_of(values: &[f64], width: usize) -> String {
    const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let column = |of: &[f64]| {
        let mean = of.iter().sum::<f64>() / of.len() as f64;
        EIGHTHS[((mean / most * 8.0).ceil() as usize).min(8)]
    };
    values.chunks(values.len().div_ceil(width.max(1)).max(1)).map(column).collect()
}

/// Draws an interval with its mark on an axis of `width` columns, with `│` at 1. The position of the mark, the ends of the
/// interval, and the position of 1 are percents of the axis.
pub fn interval_of(mark: (f64, char), ends: Option<(f64, f64)>, one: f64, width: usize) -> String {
    let column = |percent: f64| (percent / 100.0 * (width.max(1) - 1) as f64).round() as usize;
    let mut line = vec![' '; width];
    line[column(one)] = '│';
    if let Some((low, high)) = ends {
        line[column(low)..=column(high)].fill('─');
        if line[column(one)] == '─' {
            line[column(one)] = '┼';
        }
        (line[column(low)], line[column(high)]) = ('├', '┤');
    }
    line[column(mark.0)] = mark.1;
    line.into_iter().collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_the_first_line_is_set_in() {
        assert_eq!(wrapped("one two three", 8), ["one two", "  three"]);
    }

    #[test]
    fn an_interval_is_drawn_around_its_mark_and_beside_one() {
        assert_eq!(interval_of((50.0, '●'), Some((25.0, 75.0)), 100.0, 9), "  ├─●─┤ │");
        assert_eq!(interval_of((50.0, '○'), Some((25.0, 100.0)), 75.0, 9), "  ├─○─┼─┤");
        assert_eq!(interval_of((100.0, '●'), None, 100.0, 5), "    ●");
    }

    #[test]
    fn a_spark_is_as_high_as_its_share_of_the_most() {
        assert_eq!(spark_of(&[8.0, 4.0, 0.5, 0.0], 4), "█▄▁ ");
        assert_eq!(spark_of(&[8.0, 8.0, 2.0, 2.0], 2), "█▂");
        assert_eq!(spark_of(&[0.0, 0.0], 2), "  ");
    }

    #[test]
    fn a_bar_is_as_long_as_its_share_of_the_most() {
        assert_eq!([bar_of(8.0, 8.0, 2), bar_of(4.5, 8.0, 2), bar_of(1.0, 0.0, 2)], ["██", "█▏", ""]);
    }
}
