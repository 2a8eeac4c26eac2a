//! A paper's claims and tables beside runs, as a page that looks like the report of a run.

use anyhow::Context;
use askama::Template;

use crate::report::view::reproduced::{ClaimShown, Reproduced};
use crate::text::visible::visible;

/// Stands in every page.
pub const MARK: &str = "<meta name=\"generator\" content=\"fsderby ";

#[derive(Template)]
#[template(path = "reproduced.html")]
struct Page<'p> {
    version: &'static str,
    page: &'p Reproduced,
}

pub fn page(page: &Reproduced) -> anyhow::Result<String> {
    let page = Page { version: env!("CARGO_PKG_VERSION"), page }.render().context("render the page")?;
    Ok(visible(&page).into_owned())
}
