//! The HTML report: one file that needs only a browser, no network and no script.
//!
//! The template is checked at build time and escapes every text. This module turns the summary into the template's words and
//! lengths.

mod abilities;
mod bias;
pub use bias::BIAS;
mod chart;
mod disk;
mod facts;
mod floor;
mod heat;
pub mod imported;
mod in_order;
mod latencies;
mod listing;
mod needs;
mod over_time;
mod page;
mod part;
mod ratios;
pub mod reproduced;
mod spread;
mod tails;
#[cfg(test)]
mod tests;

use std::io::Write;

pub use self::page::page;
use super::{Format, Goes};
use crate::report::Report;
use crate::report::view::imported::Imported;
use crate::text::visible::visible;

pub struct Html;

impl Format for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn help(&self) -> &'static str {
        "Write one HTML file that opens from disk, without network or scripts"
    }

    fn goes(&self) -> Goes {
        Goes::IntoFile
    }

    fn write(&self, report: &Report<'_>, to: &mut dyn Write) -> anyhow::Result<()> {
        Ok(to.write_all(visible(&page(report)?).as_bytes())?)
    }

    fn write_imported(&self, all: &[Imported], to: &mut dyn Write) -> anyhow::Result<()> {
        Ok(to.write_all(imported::page(all)?.as_bytes())?)
    }
}
