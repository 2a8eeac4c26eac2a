//! A run as a reference: BibTeX, CFF, and an artifact appendix, each with the hashes that identify it.

use std::collections::BTreeSet;

use crate::analysis::dataset::counted;
use crate::analysis::elapsed::elapsed;
use crate::report::Report;
use crate::report::view::number::{count, list};
use crate::schema::setup::ClockKind;
use crate::store::Run;
use crate::text::visible::visible;

/// In place of authors that are not given.
const AUTHOR: &str = "AUTHOR";
/// Digits of a hash that a title bears.
const SHORT: usize = 12;

/// What is cited.
pub struct Citation<'r> {
    run: &'r Run,
    authors: Vec<String>,
    /// Day of the first trial.
    day: String,
    /// What identifies the run, by name.
    hashes: Vec<(&'static str, String)>,
}

impl<'r> Citation<'r> {
    /// The citation of a run that ended.
    ///
    /// # Errors
    /// If the run has no seal or records behind it, so that nothing identifies it.
    pub fn of(run: &'r Run, authors: &[String]) -> Result<Self, String> {
        let seal = run.seal.as_ref().filter(|_| run.unsealed == 0).ok_or_else(|| {
            "the run has not ended, so it has no final hash to cite yet\n  try: fsderby run --resume FOLDER"
                .to_owned()
        })?;
        let started = run.records.iter().map(|record| record.circumstances.started.as_str()).min();
        let day = started.and_then(|at| at.get(..10)).ok_or("the run has no trial")?.to_owned();
        let mut hashes = vec![("records", seal.trials_blake3.clone()), ("plan", seal.plan_blake3.clone())];
        for part in ["qemu", "kernel"] {
            let all: BTreeSet<&String> =
                run.records.iter().filter_map(|record| record.provenance.get(part)).collect();
            hashes.extend(all.into_iter().map(|hash| (part, hash.clone())));
        }
        let authors = if authors.is_empty() { vec![AUTHOR.to_owned()] } else { authors.to_vec() };
        Ok(Citation { run, authors, day, hashes })
    }

    fn records(&self) -> &str {
        self.hashes.first().map_or("", |(_, hash)| hash)
    }

    fn title(&self) -> String {
        let labels: Vec<String> =
            self.run.plan.candidates.iter().map(|c| visible(&c.label).into_owned()).collect();
        let named = if labels.len() > 6 { count(labels.len(), "candidate") } else { list(&labels) };
        format!("Comparison '{}' of {named} on {}", visible(&self.run.plan.name), self.run.plan.testbed)
    }

    fn program(&self) -> String {
        format!("fsderby {}", self.run.machine.fsderby.version)
    }

    /// A BibTeX entry of the type `misc`, with a key from the records' hash.
    pub fn bibtex(&self) -> String {
        let hashes: Vec<String> = self.hashes.iter().map(|(name, hash)| format!("{name} {hash}")).collect();
        let authors: Vec<String> = self.authors.iter().map(|author| format!("{{{}}}", tex(author))).collect();
        format!(
            "@misc{{fsderby-{short},\n  author = {{{authors}}},\n  title = {{{{{title}}}}},\n  year = {{{year}}},\n  \
             howpublished = {{Run of {program}}},\n  note = {{BLAKE3: {hashes}}}\n}}\n",
            short = self.records().get(..SHORT).unwrap_or_default(),
            authors = authors.join(" and "),
            title = tex(&self.title()),
            year = &self.day[..4],
            program = self.program(),
            hashes = hashes.join(", "),
        )
    }

    /// A file `CITATION.cff` (Citation File Format 1.2.0) for a folder that holds the run.
    pub fn cff(&self) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let authors: String =
            self.authors.iter().map(|author| format!("  - name: {}\n", quoted(author))).collect();
        let each = |(name, hash): &(&str, String)| {
            format!(
                "  - type: other\n    value: {}\n    description: {}\n",
                quoted(hash),
                quoted(&format!("BLAKE3 of {name}"))
            )
        };
        let identifiers: String = self.hashes.iter().map(each).collect();
        format!(
            "cff-version: 1.2.0\nmessage: Please cite this run.\ntype: dataset\ntitle: {title}\nauthors:\n{authors}date-released: {day}\n\
             identifiers:\n{identifiers}references:\n  - type: software\n    title: fsderby\n    version: {version}\n    authors:\n      \
             - name: The fsderby developers\n",
            title = quoted(&self.title()),
            day = self.day,
            version = quoted(&self.run.machine.fsderby.version),
        )
    }

    /// An artifact appendix in Markdown: what is claimed, how to check it, what that needs, and when it counts as repeated.
    pub fn appendix(&self) -> String {
        let run = self.run;
        let is_virtual = !run.records.is_empty() && run.records.iter().all(|r| r.clock == ClockKind::Virtual);
        let heading = Report::of(run).summary.heading;
        let answer = heading.choice.iter().chain(&heading.answer).map(|sentence| sentence.to_string());
        let claims: Vec<String> = answer.chain(heading.sure).map(|said| format!("> {said}\n")).collect();
        let nothing = "> This run has no findings, because it has too few rounds.\n".to_owned();
        let claims = if claims.is_empty() { nothing } else { claims.concat() };
        let counted = counted(run);
        let minutes = (elapsed(run.records.iter()).as_secs_f64() / 60.0).ceil();
        let memory = run.plan.memory.map_or("the machine's".to_owned(), |memory| memory.to_string());
        let hashes: String =
            self.hashes.iter().map(|(name, hash)| format!("| {name} | `{hash}` |\n")).collect();
        let checked = match is_virtual {
            true => {
                "The trials use virtual time, a clock that counts executed instructions: with the same QEMU and the same guest \
                 bundle, every figure is the same to the nanosecond on any x86-64 machine. If a single byte of a repeated trial \
                 differs, `verify` names the trial and ends with exit code 7."
            }
            false => {
                "The trials use the machine's own clock, so figures differ between machines. The findings must agree: if this run \
                 found that one filesystem is better than another, the repeated run must not find the opposite. `fsderby run` \
                 prints the findings of the repeated run. `fsderby compare` prints how each filesystem's figures differ \
                 between the two runs."
            }
        };
        let rerun = if is_virtual { "fsderby verify RUN --rerun 10%\n" } else { "" };
        format!(
            "# Artifact appendix\n\n\
             **Claims.** What this run found ({title}; {trials}, {day}):\n\n{claims}\n\
             **Check.** RUN is the run's folder. `fsderby verify` recomputes every figure and finding from the raw records.\n\n\
             ```\nfsderby verify RUN\n{rerun}fsderby report RUN\n```\n\n\
             **Repeat.** The original run took {minutes:.0} min on {cpus} of {cpu}.\n\n```\nfsderby run RUN/plan.toml --output AGAIN\n\
             fsderby compare RUN AGAIN\n```\n\n\
             **Needs.** Linux on {architecture}, {program}; memory limit of each trial: {memory}, volume: {size}.\n\n\
             **Tolerance.** {checked}\n\n| BLAKE3 of | |\n|---|---|\n{hashes}",
            title = self.title(),
            trials = count(counted.len(), "counted trial"),
            day = self.day,
            cpus = count(run.machine.cpus as usize, "CPU"),
            cpu = if run.machine.cpu.is_empty() { "an unnamed kind" } else { &run.machine.cpu },
            architecture = run.machine.architecture,
            program = self.program(),
            size = run.plan.size,
        )
    }

    /// Whether the authors are still to be filled in.
    pub fn lacks_authors(&self) -> bool {
        self.authors == [AUTHOR]
    }
}

/// Text for BibTeX.
fn tex(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '\\' => out += "\\textbackslash{}",
            '~' => out += "\\textasciitilde{}",
            '^' => out += "\\textasciicircum{}",
            '#' | '$' | '%' | '&' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(letter);
            }
            _ => out.push(letter),
        }
    }
    out
}
