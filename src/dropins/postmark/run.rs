//! A run, its progress messages and its report.

use std::io::{self, Write};

use super::files::Lenient;
use super::report::{Counters, Report, Seconds};
use super::{Flow, Refused, Session};
use crate::workloads::postmark::drive::{self, Ended, Extent};
use crate::workloads::postmark::generator::{Generator, afford};
use crate::workloads::postmark::kernel::Kernel;
use crate::workloads::postmark::names::Namer;

/// Number of dots that the transactions phase prints; sometimes one more.
const DOTS: u32 = 10;

const OUT_OF_FILES: &str = "out of files!\n\
    For this workload, either increase the number of files or\n\
    decrease the number of transactions.\n";

impl Session<'_> {
    pub(super) fn run_once(&mut self, name: Option<&[u8]>) -> io::Result<Flow> {
        if let Err(reason) = self.check() {
            self.refused = Refused(true);
            self.console.error(format!("cannot run: {reason}").as_bytes())?;
            return Ok(Flow::Next);
        }
        let report = self.work()?;
        let file = self.output(name)?;
        let Some(report) = report else { return Ok(Flow::Next) };
        let text = if self.settings.terse { report.terse() } else { report.to_string() };
        match file {
            Some(mut file) => file.write_all(text.as_bytes())?,
            None => self.console.print(text)?,
        }
        Ok(Flow::Next)
    }

    fn check(&self) -> Result<(), String> {
        let rules = &self.settings.rules;
        if rules.transactions < DOTS {
            let given = rules.transactions;
            return Err(format!(
                "{given} transactions are fewer than {DOTS}; set transactions {DOTS} or more"
            ));
        }
        rules.check()?;
        afford(rules)
    }

    /// Runs the workload in the current directory; `None` if it ran out of files.
    fn work(&mut self) -> io::Result<Option<Report>> {
        let rules = &self.settings.rules;
        let (mut generator, source) = Generator::new(rules);
        let mut files = Lenient {
            kernel: Kernel::new(rules, source),
            namer: Namer::new(rules),
            counters: Counters::default(),
            console: &mut self.console,
        };
        let split = rules.split() > 0;
        if split {
            files.step("Creating subdirectories...", |files| drive::make_directories(&generator, files))?;
        }
        let start = files.console.now();
        files.step("Creating files...", |files| {
            drive::create_pool(&mut generator, files, Extent::WHOLE, || ())
        })?;
        files.print("Performing transactions")?;
        let before = files.console.now();
        let ended = files.transactions(&mut generator)?;
        let after = files.console.now();
        files.print(if ended == Ended::Complete { "Done\n" } else { OUT_OF_FILES })?;
        let deleted = files.counters.deleted;
        files.step("Deleting files...", |files| drive::delete_pool(&mut generator, files, || ()))?;
        let end = files.console.now();
        if split {
            files.step("Deleting subdirectories...", |files| drive::remove_directories(&generator, files))?;
        }
        let report = Report {
            number: rules.number,
            transactions: rules.transactions,
            deleted_alone: files.counters.deleted - deleted,
            counters: files.counters,
            seconds: Seconds::between([start, before, after, end]),
        };
        Ok((ended == Ended::Complete).then_some(report))
    }
}

impl Lenient<'_, '_> {
    fn print(&mut self, text: &str) -> io::Result<()> {
        self.console.print(text)?;
        self.console.out.flush()
    }

    fn step(&mut self, text: &str, act: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        self.print(text)?;
        act(self)?;
        self.console.print("Done\n")
    }

    fn transactions(&mut self, generator: &mut Generator) -> io::Result<Ended> {
        let every = generator.rules().transactions / DOTS;
        let mut printed = Ok(());
        let ended = drive::transactions(generator, self, Extent::WHOLE, |files, index| {
            if index % every == 0 && printed.is_ok() {
                printed = files.print(".");
            }
        })?;
        printed.map(|()| ended)
    }
}
