//! A machine's monitor (QEMU Machine Protocol): one object per line, answers in order, events in between.

use std::fs::File;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use serde_json::{Value, json};

/// Time limit for the answer to a command.
const PATIENCE: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_millis(20);

pub struct Monitor {
    stream: UnixStream,
    unread: Vec<u8>,
    /// Names of received events, and the status of migration events.
    events: Vec<String>,
}

impl Monitor {
    /// Our end and QEMU's end.
    pub fn pair() -> anyhow::Result<(Self, UnixStream)> {
        let (ours, theirs) = UnixStream::pair().context("could not create the socket of QEMU's monitor")?;
        ours.set_nonblocking(true)?;
        Ok((Monitor { stream: ours, unread: Vec::new(), events: Vec::new() }, theirs))
    }

    /// Executes a command.
    ///
    /// # Errors
    /// If QEMU refuses it, or has ended.
    pub fn tell(&mut self, command: &str, arguments: &Value) -> anyhow::Result<Value> {
        let line = json!({"execute": command, "arguments": arguments}).to_string();
        self.stream.write_all(line.as_bytes()).with_context(|| format!("QEMU did not accept {command}"))?;
        self.answer(command)
    }

    /// Passes this file to QEMU, under that name.
    ///
    /// # Errors
    /// If QEMU refuses it, or has ended.
    pub fn give(&mut self, name: &str, file: &File) -> anyhow::Result<()> {
        let line = json!({"execute": "getfd", "arguments": {"fdname": name}}).to_string();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        let files = [file.as_fd()];
        ensure!(
            beside.push(SendAncillaryMessage::ScmRights(&files)),
            "a control message has room for one \
            descriptor"
        );
        let pieces = [IoSlice::new(line.as_bytes())];
        sendmsg(&self.stream, &pieces, &mut beside, SendFlags::NOSIGNAL)
            .context("could not pass a file descriptor to QEMU")?;
        self.answer("getfd").map(drop)
    }

    fn answer(&mut self, command: &str) -> anyhow::Result<Value> {
        let begin = Instant::now();
        loop {
            match self.message().with_context(|| format!("QEMU did not answer {command}"))? {
                Some(mut answer) => {
                    if let Some(returned) = answer.get_mut("return") {
                        return Ok(returned.take());
                    }
                    if let Some(error) = answer.get("error") {
                        bail!(
                            "QEMU refused {command}: {}",
                            error["desc"].as_str().unwrap_or("it gives no reason")
                        );
                    }
                }
                None if begin.elapsed() > PATIENCE => bail!("QEMU did not answer {command}"),
                None => std::thread::sleep(LOOK),
            }
        }
    }

    /// Whether this event was received.
    ///
    /// # Errors
    /// If QEMU has ended.
    pub fn has(&mut self, event: &str) -> anyhow::Result<bool> {
        while self.message()?.is_some() {}
        Ok(self.events.iter().any(|known| known == event))
    }

    /// Waits for this event, which then counts as not received: a machine may migrate more than once.
    ///
    /// # Errors
    /// If the opposite event arrives, or none in time, or QEMU has ended.
    pub fn wait_for(&mut self, event: &str, opposite: &str) -> anyhow::Result<()> {
        let begin = Instant::now();
        while !self.has(event)? {
            if self.has(opposite)? {
                bail!("QEMU reported {opposite}");
            }
            if begin.elapsed() > PATIENCE {
                bail!("QEMU did not report {event}");
            }
            std::thread::sleep(LOOK);
        }
        self.events.retain(|known| known != event);
        Ok(())
    }

    /// The next available answer of QEMU; events before the answer are recorded.
    fn message(&mut self) -> anyhow::Result<Option<Value>> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                let value: Value =
                    serde_json::from_slice(&line).context("QEMU's monitor sent invalid JSON")?;
                match value["event"].as_str() {
                    Some("MIGRATION") => {
                        let status = value["data"]["status"].as_str().unwrap_or_default();
                        self.events.push(format!("MIGRATION {status}"));
                    }
                    Some(event) => self.events.push(event.to_owned()),
                    None => return Ok(Some(value)),
                }
                continue;
            }
            let mut piece = [0; 4096];
            match self.stream.read(&mut piece) {
                Ok(0) => bail!("QEMU has ended"),
                Ok(n) => self.unread.extend_from_slice(&piece[..n]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e).context("could not read QEMU's monitor"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_events_are_told_apart() {
        let (mut monitor, mut qemu) = Monitor::pair().unwrap();
        let said = concat!(
            "{\"QMP\": {}}\r\n{\"event\": \"STOP\"}\r\n{\"return\": {}}\r\n",
            "{\"event\": \"MIGRATION\", \"data\": {\"status\": \"setup\"}}\r\n",
            "{\"error\": {\"class\": \"GenericError\", \"desc\": \"no such file\"}}\r\n",
        );
        qemu.write_all(said.as_bytes()).unwrap();
        monitor.tell("one", &json!({})).unwrap();
        assert!(monitor.tell("two", &json!({})).is_err());
        for event in ["STOP", "MIGRATION setup"] {
            assert!(monitor.has(event).unwrap(), "{event}");
        }
        assert!(!monitor.has("RESUME").unwrap());
        monitor.wait_for("MIGRATION setup", "MIGRATION failed").unwrap();
        assert!(!monitor.has("MIGRATION setup").unwrap(), "another migration has its own");
    }

    #[test]
    fn a_refusal_is_an_error_with_its_words_and_so_is_an_end() {
        let (mut monitor, mut qemu) = Monitor::pair().unwrap();
        qemu.write_all(b"{\"error\": {\"desc\": \"no such file\"}}\n").unwrap();
        let refused = monitor.tell("migrate", &json!({})).unwrap_err();
        assert_eq!(refused.to_string(), "QEMU refused migrate: no such file");
        drop(qemu);
        assert!(monitor.has("STOP").is_err());
    }
}
