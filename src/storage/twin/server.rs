//! The process that serves the file: one thread receives the kernel's requests and answers questions about totals, one paces
//! the disk.

use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use anyhow::Context;
use fsderby_diskmodel::{Drive, Sample, Spec};
use fsderby_sys::process::die_with_parent;
use fuser::{Config, Session, SessionACL};
use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};

use super::file::OneFile;
use super::pace::{Pace, prepare_thread};
use crate::schema::units::Bytes;
use crate::storage::disk::Totals;
use crate::storage::disk::layout::SECTOR;

/// The server's orders, sent as one line.
#[derive(Debug, Serialize, Deserialize)]
pub struct Orders {
    pub spec: String,
    pub sample: Sample,
    pub volume: Bytes,
    pub offset: Bytes,
}

/// The text that requests the server's totals.
pub const TOTALS: &str = "totals";

/// The internal subcommand `twin`: standard input is connected to the agent, standard output to the kernel.
pub fn main() -> anyhow::Result<u8> {
    die_with_parent()?;
    let mut lines = io::stdin().lock().lines();
    let orders = lines.next().context("the agent sent no orders")??;
    let orders: Orders = serde_json::from_str(&orders).context("could not parse the orders")?;
    let spec = Spec::parse(&orders.spec).context("the disk's description could not be parsed")?;
    let image = memfd_create("fsderby-twin", MemfdFlags::CLOEXEC)?;
    rustix::fs::ftruncate(&image, orders.volume.0)?;
    let drive = Drive::new(&spec, orders.sample);
    let totals = Arc::new(Mutex::new(Totals::default()));
    let (asks, asked) = mpsc::channel();
    let pace = Pace::new(drive, orders.offset.0 / SECTOR, image.into(), asked, totals.clone());
    thread::Builder::new().name("pace".into()).spawn(move || pace.run())?;
    let file = OneFile::new(orders.volume.0, spec.way().request_bytes, asks);
    let kernel = rustix::stdio::stdout().try_clone_to_owned()?;
    let session = Session::from_fd(file, kernel, SessionACL::All, Config::default())
        .context("could not start the FUSE session")?;
    thread::Builder::new().name("kernel".into()).spawn(move || {
        let ended = prepare_thread().and_then(|()| session.run());
        // The device is removed; nobody waits for requests still in the queue.
        std::process::exit(i32::from(ended.is_err()))
    })?;
    let mut line = std::fs::File::from(rustix::stdio::stdin().try_clone_to_owned()?);
    for asked in lines {
        if asked? == TOTALS {
            let totals = *totals.lock().unwrap_or_else(PoisonError::into_inner);
            writeln!(line, "{}", serde_json::to_string(&totals)?)?;
        }
    }
    // The agent has closed its side; the server ends when the kernel does.
    loop {
        thread::park();
    }
}
