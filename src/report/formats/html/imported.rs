//! Imported figures alone, as a page that looks like the report of a run.

use anyhow::Context;
use askama::Template;

use crate::report::view::imported::Imported;
use crate::text::visible::visible;

#[derive(Template)]
#[template(path = "import.html")]
struct Page<'i> {
    version: &'static str,
    title: String,
    all: &'i [Imported],
}

pub fn page(all: &[Imported]) -> anyhow::Result<String> {
    let title = all.first().map(Imported::caption).unwrap_or_default();
    let page = Page { version: env!("CARGO_PKG_VERSION"), title, all }.render().context("render the page")?;
    Ok(visible(&page).into_owned())
}
