//! A block device of the guest and the server thread that answers its requests.

use std::thread::{self, JoinHandle};

use anyhow::Context;
use fsderby_diskmodel::Spec;
use fsderby_sys::ublk::{Device, Shape};

use super::layout::SECTOR;
use super::server::{Shared, serve};
use crate::schema::setup::Modelled;
use crate::schema::units::Bytes;

/// An attached device; its server thread runs until the device is removed.
pub struct Attached {
    pub device: Device,
    pub server: JoinHandle<()>,
}

/// Creates the device with this number and starts its server.
pub fn attach(
    number: u32,
    server: &Shared,
    spec: &Spec,
    modelled: &Modelled,
    volume: Bytes,
) -> anyhow::Result<Attached> {
    let way = spec.way();
    let shape = Shape {
        sectors: volume.0 / SECTOR,
        logical_block: spec.logical_block(),
        physical_block: spec.physical_block(),
        depth: spec.queue_depth(),
        request: way.request_bytes,
        is_rotational: spec.is_rotational(),
        discards: spec.discards(),
        has_volatile_cache: spec.needs_flushes(),
        honours_fua: way.fua,
    };
    let mut device = Device::new(number, shape).context("the kernel has no ublk driver")?;
    let (queue, server, times) = (device.queue(), server.clone(), modelled.server_work);
    let serve = move || serve(&server, queue, way.request_bytes, times);
    let server = thread::Builder::new().name("disk".into()).spawn(serve)?;
    device.start().context("the kernel did not accept the modelled disk")?;
    Ok(Attached { device, server })
}
