//! `--ground auto`: one ground for the whole comparison, never two.

use super::vm::VmKind;
use super::{Ground, GroundKind, Need, loop_image};
use crate::filesystems::KernelNeed;

/// `loop` where it can be used and this kernel has all that is asked for, or where everything is taken as it comes; else `vm`
/// where that can be used; else `loop`, whose error says what is missing.
pub fn choose(asked: &[KernelNeed], takes_all: bool, need: &Need) -> Result<Box<dyn Ground>, String> {
    let here = loop_image::LoopKind.with(None)?;
    let serves_all = || takes_all || asked.iter().all(|kernel| here.serves(kernel).is_ok());
    if here.ready(need).is_ok() && serves_all() {
        return Ok(here);
    }
    let guest = VmKind.with(None)?;
    let serves = |kernel: &KernelNeed| guest.serves(kernel).is_ok();
    Ok(if guest.ready(need).is_ok() && asked.iter().any(serves) { guest } else { here })
}
