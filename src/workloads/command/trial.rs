//! A trial of a command.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

use fsderby_sys::process::children_usage;

use super::parameters::{Need, Parameters};
use super::{PARTS, PHASE, PREPARATION, REST, VERSION, metrics};
use crate::schema::metric::Metric;
use crate::workloads::kit::files::failed;
use crate::workloads::programs::{self, Line, Run, Sources, Success};
use crate::workloads::{Amount, Clock, LiveFile, Log, Needs, OpError, Phase, Portion, Ready, Work};

impl Work for Parameters {
    fn needs(&self) -> Needs {
        let has = |need| self.needs.contains(&need);
        Needs {
            programs: true,
            hard_links: has(Need::HardLinks),
            symlinks: has(Need::Symlinks),
            preallocation: has(Need::Preallocation),
            owners: has(Need::Owners),
            largest_file: self.largest_file,
            ..Needs::default()
        }
    }

    /// The amount of work of a command is not known before.
    fn amount(&self, _seed: u64) -> Amount {
        Amount::default()
    }

    fn input(&self) -> Vec<PathBuf> {
        self.input.iter().map(|input| input.path.clone()).collect()
    }

    /// Of the command itself nothing is known.
    fn expected(&self, _seed: u64) -> Amount {
        let of = |tree: Sources| Amount {
            files_peak: tree.files.into(),
            bytes_peak: tree.bytes(),
            ..Amount::default()
        };
        self.tree.map_or_else(Amount::default, of)
    }

    fn programs(&self) -> Vec<&str> {
        self.programs.iter().map(String::as_str).collect()
    }

    fn starts_cold(&self) -> bool {
        self.cold
    }

    fn prepare(&self, seed: u64, portion: &Portion) -> Result<Box<dyn Ready>, String> {
        let part = portion.part.as_deref();
        if let Some(part) = part.filter(|part| !PARTS.contains(part)) {
            return Err(format!("the workload has no part {part}"));
        }
        programs::adopt().map_err(|e| format!("could not adopt the processes of the command: {e}"))?;
        programs::unchanged(&self.input)?;
        let input = programs::folder(&self.input)?.map(programs::seen);
        let trial = Trial {
            parameters: self.clone(),
            input,
            runs: part != Some(PREPARATION),
            keeps: portion.keep_files,
            live: Vec::new(),
        };
        if part != Some(REST) {
            trial.prepare().map_err(|e| format!("prepare: {e}"))?;
        }
        if trial.runs {
            programs::shift_start(seed);
        }
        Ok(Box::new(trial))
    }

    fn metrics(&self, phases: &[Phase]) -> Vec<Metric> {
        metrics(phases, &self.figures)
    }

    fn metrics_version(&self) -> u32 {
        VERSION
    }
}

struct Trial {
    parameters: Parameters,
    /// The folder that `$INPUT` names.
    input: Option<PathBuf>,
    /// Whether this part has the command.
    runs: bool,
    keeps: bool,
    live: Vec<LiveFile>,
}

impl Trial {
    /// Makes the tree, and runs the command that prepares.
    fn prepare(&self) -> Result<(), OpError> {
        let Parameters { tree, prepare, .. } = &self.parameters;
        tree.map_or(Ok(()), Sources::make)?;
        if let Some(prepare) = prepare {
            self.run_line(prepare, &Success::zero())?;
        }
        if tree.is_some() || prepare.is_some() { programs::sync() } else { Ok(()) }
    }

    fn run_line(&self, line: &Line, success: &Success) -> Result<programs::Ended, OpError> {
        programs::run(Run {
            line,
            success,
            input: self.input.as_deref(),
            stdin: None,
            limit: self.parameters.limit,
        })
    }
}

impl Ready for Trial {
    fn run(&mut self, clock: &dyn Clock, log: &mut dyn Log) -> Result<(), OpError> {
        if !self.runs {
            // All of it was done untimed; each part has a phase.
            log.phase(Phase { name: PREPARATION.to_owned(), ns: 0, counts: [].into() });
            return Ok(());
        }
        let parameters = &self.parameters;
        log.progress().total.store(1, Relaxed);
        let (begin, before) = (clock.now_ns(), children_usage());
        let ended = self.run_line(&parameters.command, &parameters.success)?;
        let (used, returned) = (children_usage().since(before), clock.now_ns());
        programs::sync()?;
        let synced = clock.now_ns();
        log.progress().done.store(1, Relaxed);
        log.finished();
        let counts = [
            ("commands", 1),
            ("command_ns", returned - begin),
            ("sync_ns", synced - returned),
            ("user_ns", used.user_ns),
            ("sys_ns", used.sys_ns),
            ("minflt", used.minflt),
            ("majflt", used.majflt),
            ("bytes_read", used.bytes_read),
            ("bytes_written", used.bytes_written),
        ];
        let mut counts: BTreeMap<String, u64> = counts.map(|(name, n)| (name.to_owned(), n)).into();
        for figure in &parameters.figures {
            let fault =
                |text| failed("read the output of", parameters.command.said(), io::Error::other(text));
            counts.extend(figure.counts(&ended).map_err(fault)?);
        }
        log.phase(Phase { name: PHASE.to_owned(), ns: synced - begin, counts: counts.into() });
        if self.keeps {
            self.live = programs::live()?;
        }
        Ok(())
    }

    fn live(&self) -> Vec<LiveFile> {
        self.live.clone()
    }
}
