//! The report on one page: as HTML for print with one chart, or as text of 72 columns for mailing lists.

mod page;
mod text;

use std::io::Write;
use std::path::Path;

use super::{Format, Goes, How};
use crate::exit::Failure;
use crate::report::Report;
use crate::text::visible::visible;

pub struct Summary;

impl Format for Summary {
    fn name(&self) -> &'static str {
        "summary"
    }

    fn help(&self) -> &'static str {
        "Write a one-page summary: FILE.html has a picture and is made for printing; FILE.txt, or - for standard \
            output, is text with 72 columns"
    }

    fn goes(&self) -> Goes {
        Goes::IntoFile
    }

    fn accepts(&self, path: &Path) -> anyhow::Result<()> {
        if is_page(path) || is_text(path) {
            return Ok(());
        }
        let text = format!(
            "--summary {file}: the file name has no known ending\n  try: a name that ends with .html or .txt, or -",
            file = path.display()
        );
        Err(Failure::usage(text).into())
    }

    fn write(&self, report: &Report<'_>, to: &mut dyn Write) -> anyhow::Result<()> {
        Ok(to.write_all(text::of(report, false).as_bytes())?)
    }

    fn write_as(&self, report: &Report<'_>, how: &How<'_>, to: &mut dyn Write) -> anyhow::Result<()> {
        if is_page(how.path) {
            return Ok(to.write_all(visible(&page::of(report)?).as_bytes())?);
        }
        Ok(to.write_all(text::of(report, how.ascii).as_bytes())?)
    }
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|own| endings.iter().any(|ending| own.eq_ignore_ascii_case(ending)))
}

fn is_page(path: &Path) -> bool {
    has_ending(path, &["html", "htm"])
}

fn is_text(path: &Path) -> bool {
    path == Path::new("-") || has_ending(path, &["txt", "text"])
}
