//! `--on auto`: chooses one testbed for the whole comparison.

use super::model::ModelKind;
use super::vm::VmKind;
use super::{Need, Testbed, TestbedKind, Usual, loop_image, parse, usable};
use crate::filesystems::KernelNeed;

/// `loop` if it is usable and this kernel supports everything requested, or if kinds are taken as available. Otherwise `vm` on
/// this machine's CPU, then the modelled disk (its times say more than an emulated CPU's), then `vm` on an emulated CPU, then
/// `loop`, whose error states the requirements.
pub fn choose(
    asked: &[KernelNeed],
    takes_all: bool,
    need: &Need,
    usual: &Usual,
) -> Result<Box<dyn Testbed>, String> {
    let here = parse(&usual.in_images(loop_image::NAME))?;
    let serves_all = || takes_all || asked.iter().all(|kernel| here.serves(kernel).is_ok());
    if usable(&*here, need).is_ok() && serves_all() {
        return Ok(here);
    }
    let can = |testbed: &dyn Testbed| {
        usable(testbed, need).is_ok() && asked.iter().any(|kernel| testbed.serves(kernel).is_ok())
    };
    let guest = parse(&usual.in_images(VmKind.name()))?;
    if can(&*guest) && guest.traits().fidelity.times_count() {
        return Ok(guest);
    }
    let model = parse(&usual.on_machine(ModelKind.name()))?;
    Ok([model, guest].into_iter().find(|testbed| can(&**testbed)).unwrap_or(here))
}
