//! Events as lines of text: `SEQUENCE CRC32 JSON\n`.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use super::mishap::Mishap;
use crate::schema::event::Event;
use crate::schema::job::StepName;

/// Sends events from any thread.
#[derive(Clone)]
pub struct Teller(Arc<Mutex<Sender<Box<dyn Write + Send>>>>);

impl Teller {
    pub fn new(out: impl Write + Send + 'static) -> Self {
        Teller::with(out, None)
    }

    /// A teller to this output, with a mishap that happens when the work is announced.
    pub fn with(out: impl Write + Send + 'static, mishap: Option<Mishap>) -> Self {
        Teller(Arc::new(Mutex::new(Sender { out: Box::new(out), next: 0, mishap })))
    }

    /// # Errors
    /// If the host has closed its end.
    pub fn send(&self, event: &Event) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).send(event)
    }

    /// Number of events sent.
    pub fn sent(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).next
    }
}

/// Writes events, numbered from 0.
struct Sender<W> {
    out: W,
    next: u64,
    mishap: Option<Mishap>,
}

impl<W: Write> Sender<W> {
    /// Sends an event with a single write.
    fn send(&mut self, event: &Event) -> io::Result<()> {
        let json = serde_json::to_string(event)?;
        let line = format!("{} {:08x} {json}\n", self.next, crc32fast::hash(json.as_bytes()));
        self.next += 1;
        self.out.write_all(line.as_bytes())?;
        self.out.flush()?;
        match (event, self.mishap) {
            (Event::Step { step: StepName::Work, .. }, Some(mishap)) => mishap.strike(),
            _ => Ok(()),
        }
    }
}

/// Parses one line, without its end, which must have the number `expected`. The error states the fault.
pub fn decode(line: &str, expected: u64) -> Result<Event, String> {
    let mut parts = line.splitn(3, ' ');
    let (number, sum, json) = (parts.next(), parts.next(), parts.next());
    let (Some(number), Some(sum), Some(json)) = (number, sum, json) else {
        return Err(format!("the agent's event {expected} is not a whole line"));
    };
    if number.parse() != Ok(expected) {
        return Err(format!("expected the agent's event {expected}, received {number}"));
    }
    if sum != format!("{:08x}", crc32fast::hash(json.as_bytes())) {
        return Err(format!("the agent's event {expected} was damaged in transfer"));
    }
    serde_json::from_str(json).map_err(|e| format!("could not parse the agent's event {expected}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(event: &Event) -> String {
        let mut sender = Sender { out: Vec::new(), next: 0, mishap: None };
        sender.send(event).unwrap();
        String::from_utf8(sender.out).unwrap().trim_end().to_owned()
    }

    #[test]
    fn what_is_sent_is_read() {
        let event = Event::Done { clock_ns: 7 };
        assert_eq!(decode(&line(&event), 0), Ok(event));
    }

    #[test]
    fn a_gap_and_a_flipped_bit_are_noticed() {
        let sent = line(&Event::Bye { events: 3, clock_ns: 1 });
        assert!(decode(&sent, 1).unwrap_err().contains("expected the agent's event 1"));
        assert!(decode(&sent.replace('3', "4"), 0).unwrap_err().contains("damaged"));
        assert!(decode(&sent[..5], 0).unwrap_err().contains("not a whole line"));
    }
}
