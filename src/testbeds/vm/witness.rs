//! The host's observation of a guest's disks, in total: QEMU's counters, and image pages in the host's page cache.
//!
//! QEMU is queried by its monitor (QMP, a line of JSON each way), which the guest does not notice.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::{Context, ensure};
use fsderby_sys::page_cache::cached_bytes;
use serde_json::Value;

use super::machine::drive;
use crate::schema::event::Event;
use crate::schema::job::StepName;
use crate::schema::units::sum;

/// QEMU answers within a millisecond, and must not delay a trial.
const PATIENCE: Duration = Duration::from_secs(2);
/// Our names for QEMU's counters, equal to the guest's.
const COUNTERS: [(&str, &str); 5] = [
    ("reads", "rd_operations"),
    ("bytes_read", "rd_bytes"),
    ("writes", "wr_operations"),
    ("bytes_written", "wr_bytes"),
    ("flushes", "flush_operations"),
];

pub struct Witness {
    images: Vec<File>,
    monitor: BufReader<UnixStream>,
    is_greeted: bool,
}

impl Witness {
    pub fn new(images: Vec<File>, monitor: UnixStream) -> anyhow::Result<Self> {
        monitor.set_read_timeout(Some(PATIENCE)).context("could not set a timeout")?;
        Ok(Witness { images, monitor: BufReader::new(monitor), is_greeted: false })
    }

    /// The observation that this event triggers: of the host's page cache before the work, of QEMU's counters at the end.
    pub fn hears(&mut self, event: &Event) -> Option<Event> {
        match event {
            Event::Stepped(stepped) if stepped.step == StepName::Settle => {
                Some(seen("host_cache", self.cached()))
            }
            Event::Done { .. } => Some(seen("host_block_io", self.counters())),
            _ => None,
        }
    }

    fn cached(&self) -> anyhow::Result<BTreeMap<String, u64>> {
        let each = self.images.iter().map(cached_bytes).collect::<Result<Vec<u64>, _>>();
        Ok([("cached_bytes".to_owned(), sum(each.context("mincore failed")?))].into())
    }

    /// QEMU's counters since the machine started.
    fn counters(&mut self) -> anyhow::Result<BTreeMap<String, u64>> {
        if !self.is_greeted {
            self.answer().context("QEMU's monitor sent nothing")?;
            self.ask("qmp_capabilities")?;
            self.is_greeted = true;
        }
        let stats = self.ask("query-blockstats")?;
        let disks = stats["return"].as_array().context("QEMU reports no block statistics")?;
        let mut all: BTreeMap<String, u64> = BTreeMap::new();
        for drive in (0..self.images.len()).map(drive) {
            let disk = disks.iter().find(|disk| disk["device"] == drive.as_str());
            let disk = disk.and_then(|disk| disk["stats"].as_object());
            let disk = disk.with_context(|| format!("QEMU reports no block statistics of {drive}"))?;
            for (ours, qemus) in COUNTERS {
                let value = disk.get(qemus).and_then(Value::as_u64);
                let value = value.with_context(|| format!("QEMU reports no counter {qemus}"))?;
                let so_far = all.entry(ours.to_owned()).or_default();
                *so_far = so_far.saturating_add(value);
            }
        }
        Ok(all)
    }

    fn ask(&mut self, command: &str) -> anyhow::Result<Value> {
        let line = format!("{{\"execute\":\"{command}\"}}\n");
        self.monitor.get_mut().write_all(line.as_bytes()).context("QEMU exited")?;
        loop {
            let answer = self.answer()?;
            ensure!(answer.get("error").is_none(), "QEMU refused {command}: {answer}");
            // QEMU may send events between question and answer.
            if answer.get("return").is_some() {
                return Ok(answer);
            }
        }
    }

    fn answer(&mut self) -> anyhow::Result<Value> {
        let mut line = String::new();
        let length = self.monitor.read_line(&mut line).context("QEMU did not answer")?;
        ensure!(length > 0, "QEMU exited");
        serde_json::from_str(&line).context("could not parse QEMU's answer")
    }
}

fn seen(name: &str, raw: anyhow::Result<BTreeMap<String, u64>>) -> Event {
    let name = name.to_owned();
    match raw {
        Ok(raw) => Event::Probe { name, raw: raw.into() },
        Err(e) => Event::NotAvailable { name, reason: format!("{e:#}") },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qemus_counters_are_read_over_its_own_events_and_its_end_is_told() {
        let (ours, mut qemu) = UnixStream::pair().unwrap();
        qemu.write_all(
            br#"{"QMP":{}}
{"return":{}}
{"event":"STOP"}
{"return":[{"device":"other","stats":{}},{"device":"disk0","stats":{"rd_operations":1,"rd_bytes":2,"wr_operations":3,"wr_bytes":4,"flush_operations":5}},{"device":"disk1","stats":{"rd_operations":1,"rd_bytes":2,"wr_operations":3,"wr_bytes":40,"flush_operations":50}}]}
"#,
        )
        .unwrap();
        let mut witness =
            Witness::new(vec![tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap()], ours).unwrap();
        let done = Event::Done { clock_ns: 1 };
        let Some(Event::Probe { name, raw }) = witness.hears(&done) else { panic!("no counters") };
        assert_eq!((name.as_str(), raw["bytes_written"], raw["flushes"]), ("host_block_io", 44, 55));
        drop(qemu);
        let Some(Event::NotAvailable { reason, .. }) = witness.hears(&done) else { panic!("an answer") };
        assert!(reason.contains("QEMU"), "{reason}");
    }
}
