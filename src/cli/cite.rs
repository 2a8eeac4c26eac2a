//! `fsderby cite`: a run as a reference, for papers and artifacts.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::output::{print, say};
use crate::exit::{self, Failure};
use crate::report::cite::Citation;
use crate::store;

#[derive(Args)]
pub struct Arguments {
    /// The run's folder; the run must have ended
    #[arg(add = super::complete::runs())]
    run: PathBuf,
    /// Print only this form; default: all three
    #[arg(long, value_name = "FORM")]
    form: Option<Form>,
    /// An author; repeatable. Without this option the text has the word AUTHOR, for you to replace
    #[arg(long = "author", value_name = "NAME")]
    authors: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Form {
    /// An entry for a bibliography
    Bibtex,
    /// A file CITATION.cff
    Cff,
    /// An artifact appendix in Markdown: claims, commands, duration, requirements, and how much a repetition may differ
    Appendix,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let run = store::read(&arguments.run)?;
    if let Some(damage) = run.damage.first() {
        let text = format!(
            "a damaged run cannot be cited: {damage}\n  try: fsderby verify {}",
            arguments.run.display()
        );
        return Err(Failure::new(exit::DAMAGED, text).into());
    }
    let citation = Citation::of(&run, &arguments.authors).map_err(Failure::usage)?;
    let is_asked = |form| arguments.form.is_none_or(|asked| asked == form);
    let forms = [
        (Form::Bibtex, citation.bibtex()),
        (Form::Cff, citation.cff()),
        (Form::Appendix, citation.appendix()),
    ];
    let texts: Vec<String> =
        forms.into_iter().filter(|(form, _)| is_asked(*form)).map(|(_, text)| text).collect();
    print(&texts.join("\n"))?;
    if citation.lacks_authors() {
        say("note: no author is named; --author NAME replaces AUTHOR in the text");
    }
    Ok(ExitCode::from(exit::OK))
}
