//! The `parameters` table of a trial.

use toml::{Table, Value};

use crate::schema::units::{Percent, Scale};
use crate::workloads::kit::Keys;
use crate::workloads::kit::sizes::{self, Row};

/// The target of the filling, and the sizes of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    pub to: To,
    /// Files per folder.
    pub per_folder: u32,
    /// The distribution of file sizes, with ascending rows; no file is empty.
    pub sizes: Vec<Row>,
    /// Allocates each file's space without writing to it.
    pub allocate: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// A share in millionths of the space that an ordinary user could fill before the work.
    Share(u64),
    /// Fills until there is no space left.
    Full,
}

/// The whole space, in millionths.
pub const WHOLE: u64 = 1_000_000;
const FULL: &str = "full";
const KEYS: &[&str] = &["to", "per_folder", "sizes", "allocate"];
/// The state per file must be small compared with the least memory of a trial.
const MOST_PER_FOLDER: u32 = 1_000_000;

impl Parameters {
    pub fn parse(table: &Table) -> Result<Self, String> {
        let keys = Keys::of(table, KEYS)?;
        Ok(Parameters {
            to: to(&keys.needed::<String>("to")?)?,
            per_folder: keys.number("per_folder", 1..=MOST_PER_FOLDER)?,
            sizes: sizes::rows(keys.needed("sizes")?)?,
            allocate: keys.or("allocate", false)?,
        })
    }
}

fn to(text: &str) -> Result<To, String> {
    let wrong = || format!("to = '{text}': write a share of the space, such as 80%, or {FULL}");
    if text == FULL {
        return Ok(To::Full);
    }
    let Percent(share) = text.parse().map_err(|_: String| wrong())?;
    let millionths = (share * 10_000.0).round();
    if !(1.0..=WHOLE as f64).contains(&millionths) {
        return Err(wrong());
    }
    Ok(To::Share(millionths as u64))
}

/// Scales the share; file sizes and folder widths stay, because they define the work.
pub fn scale(table: &Table, by: Scale) -> Result<Table, String> {
    let share = match Parameters::parse(table)?.to {
        To::Full if by.apply(WHOLE) == WHOLE => return Ok(table.clone()),
        To::Full => WHOLE,
        To::Share(share) => share,
    };
    let scaled = by.apply(share);
    if scaled > WHOLE {
        return Err(format!("to: scaled by {by}, the share is more than the whole space"));
    }
    let mut table = table.clone();
    table.insert("to".into(), Value::String(format!("{}%", scaled as f64 / 10_000.0)));
    Parameters::parse(&table).map(|_| table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(to: &str) -> Table {
        format!("to = '{to}'\nper_folder = 8\nsizes = [{{ up_to = '4k', weight = 1 }}]")
            .parse()
            .expect("TOML")
    }

    #[test]
    fn a_share_is_read_to_the_millionth() {
        let to = |text| Parameters::parse(&table(text)).map(|p| p.to);
        assert_eq!(to("80%"), Ok(To::Share(800_000)));
        assert_eq!(to("0.0001%"), Ok(To::Share(1)));
        assert_eq!(to("100%"), Ok(To::Share(WHOLE)));
        assert_eq!(to("full"), Ok(To::Full));
        for wrong in ["80", "101%", "0%", "-5%", "most", "nan%"] {
            assert!(to(wrong).is_err_and(|e| e.contains("80%, or full")), "{wrong}: {:?}", to(wrong));
        }
    }

    #[test]
    fn a_mistake_is_named() {
        let mut without = table("80%");
        without.remove("sizes");
        assert_eq!(Parameters::parse(&without), Err("sizes is missing".into()));
        let mut wide = table("80%");
        wide.insert("per_folder".into(), Value::Integer(0));
        assert!(Parameters::parse(&wide).is_err_and(|e| e.contains("from 1 to 1000000")));
        let mut unknown = table("80%");
        unknown.insert("too".into(), Value::Integer(0));
        assert!(Parameters::parse(&unknown).is_err_and(|e| e.contains("did you mean 'to'?")));
    }

    #[test]
    fn a_scale_changes_the_share() {
        let scaled = |to, of, by| scale(&table(to), Scale { of, by }).and_then(|t| Parameters::parse(&t));
        assert_eq!(scaled("80%", 1, 16).map(|p| p.to), Ok(To::Share(50_000)));
        assert_eq!(scaled("full", 1, 8).map(|p| p.to), Ok(To::Share(125_000)));
        assert_eq!(scaled("full", 1, 1).map(|p| p.to), Ok(To::Full));
        assert!(scaled("80%", 2, 1).is_err_and(|e| e.contains("more than the whole")));
    }
}
