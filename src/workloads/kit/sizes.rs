//! A distribution of file sizes, as a table. Integers only, so that a seed gives the same sizes everywhere.

use rand_core::Rng;
use serde::Deserialize;

use crate::schema::random::below;
use crate::schema::units::{Bytes, GIB};

/// A range of sizes, from above the previous row's size up to this row's size, uniformly distributed, with this total weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub up_to: u32,
    pub weight: u32,
}

/// A row in the parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    up_to: Bytes,
    weight: u32,
}

/// The largest file size in a mix.
const LARGEST: u64 = GIB;

/// Checks the table, whose sizes must ascend.
pub fn rows(written: Vec<Written>) -> Result<Vec<Row>, String> {
    let mut rows: Vec<Row> = Vec::new();
    for Written { up_to, weight } in written {
        let above = rows.last().map_or(0, |row| u64::from(row.up_to));
        if up_to.0 <= above || up_to.0 > LARGEST {
            return Err(format!(
                "sizes: up_to = {up_to}: each row must be larger than the row before, at most {}",
                Bytes(LARGEST)
            ));
        }
        rows.push(Row { up_to: up_to.0 as u32, weight });
    }
    if rows.iter().all(|row| row.weight == 0) {
        return Err("sizes: at least one row needs a weight".into());
    }
    Ok(rows)
}

/// The sum of all weights.
pub fn whole(rows: &[Row]) -> u64 {
    rows.iter().map(|row| u64::from(row.weight)).sum()
}

/// Draws a row by weight, then a size of that row uniformly.
pub fn draw(rows: &[Row], whole: u64, source: &mut impl Rng) -> u32 {
    debug_assert!(whole == self::whole(rows) && whole > 0, "{whole} is not the sum of the weights");
    let mut at = below(source, whole);
    let mut above = 0;
    for row in rows {
        if at < u64::from(row.weight) {
            return above + 1 + below(source, u64::from(row.up_to - above)) as u32;
        }
        at -= u64::from(row.weight);
        above = row.up_to;
    }
    above
}

/// The largest possible size.
pub fn largest(rows: &[Row]) -> Bytes {
    Bytes(rows.last().map_or(0, |row| row.up_to.into()))
}

/// The weighted mean size; at least 1.
pub fn mean(rows: &[Row]) -> u64 {
    let mut above = 0;
    let mut sum = 0;
    for row in rows {
        sum += u128::from(row.weight) * (u128::from(above) + 1 + u128::from(row.up_to)) / 2;
        above = row.up_to;
    }
    u64::try_from(sum / u128::from(whole(rows).max(1))).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::random::seeded;

    #[test]
    fn the_mean_is_that_of_many_draws() {
        let rows = [Row { up_to: 1000, weight: 3 }, Row { up_to: 9000, weight: 1 }];
        // The mean of 500.5 with weight 3/4 and 5000.5 with weight 1/4.
        assert_eq!(mean(&rows), 1625);
        let mut source = seeded(&[b"mean"]);
        let n = 40_000;
        let drawn: u64 = (0..n).map(|_| u64::from(draw(&rows, whole(&rows), &mut source))).sum();
        // The standard deviation of a draw is 2290, and of this mean 11.5; the bound is four standard deviations of the mean.
        assert!((drawn / n).abs_diff(1625) < 46, "{}", drawn / n);
    }
}
