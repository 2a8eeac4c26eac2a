//! A trial of a command.

use std::os::fd::AsFd;
use std::path::PathBuf;

use fsderby_sys::process::children_usage;
use rustix::fs::{Mode, OFlags, syncfs};

use super::parameters::{Line, Parameters};
use super::{PHASE, VERSION, metrics, processes, tree};
use crate::schema::metric::Metric;
use crate::workloads::kit::files::failed;
use crate::workloads::kit::{Latencies, Phases};
use crate::workloads::{Amount, Clock, LiveFile, Log, Needs, OpError, Phase, Portion, Ready, Work};

impl Work for Parameters {
    fn needs(&self) -> Needs {
        Needs { programs: true, ..Needs::default() }
    }

    /// Nobody knows it before.
    fn amount(&self, _seed: u64) -> Amount {
        Amount::default()
    }

    fn prepare(&self, _seed: u64, portion: &Portion) -> Result<Box<dyn Ready>, String> {
        if let Some(part) = &portion.part {
            return Err(format!("it has no part {part}"));
        }
        processes::adopt().map_err(|e| format!("could not adopt the processes of the command: {e}"))?;
        let input = self.folder()?.map(PathBuf::from);
        if let Some(prepare) = &self.prepare {
            let prepared = processes::run(prepare, &[0], input.as_deref()).and_then(|_| sync());
            prepared.map_err(|e| format!("prepare: {e}"))?;
            if self.cold {
                tree::forget().map_err(|e| format!("prepare: {e}"))?;
            }
        }
        let (command, codes) = (self.command.clone(), self.exit_codes.clone());
        Ok(Box::new(Trial { command, codes, input, keeps: portion.keep_files, live: Vec::new() }))
    }

    fn metrics(&self, phases: &[Phase]) -> Vec<Metric> {
        metrics(phases)
    }

    fn metrics_version(&self) -> u32 {
        VERSION
    }
}

struct Trial {
    command: Line,
    codes: Vec<i32>,
    input: Option<PathBuf>,
    keeps: bool,
    live: Vec<LiveFile>,
}

impl Ready for Trial {
    fn run(&mut self, clock: &dyn Clock, log: &mut dyn Log) -> Result<(), OpError> {
        let mut latencies = Latencies::new(&[]);
        let mut phases = Phases::new(clock, log, &mut latencies, 1);
        phases.run(PHASE, |under| {
            let (begin, before) = (under.clock.now_ns(), children_usage());
            let ended = processes::run(&self.command, &self.codes, self.input.as_deref())?;
            let (used, returned) = (children_usage().since(before), under.clock.now_ns());
            sync()?;
            under.step();
            Ok(vec![
                ("command_ns", returned - begin),
                ("sync_ns", under.clock.now_ns() - returned),
                ("user_ns", used.user_ns),
                ("sys_ns", used.sys_ns),
                ("minflt", used.minflt),
                ("majflt", used.majflt),
                ("processes", ended.processes),
            ])
        })?;
        if self.keeps {
            self.live = tree::live()?;
        }
        Ok(())
    }

    fn live(&self) -> Vec<LiveFile> {
        self.live.clone()
    }
}

/// Everything of this filesystem to its device.
fn sync() -> Result<(), OpError> {
    let fault = |e: rustix::io::Errno| failed("sync", ".", e);
    let place = rustix::fs::open(".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    syncfs(place.map_err(fault)?.as_fd()).map_err(fault)
}
