//! Makes QEMU deterministic when its guest's clock counts instructions.

/// A shared library for `LD_PRELOAD`. It makes `gettimeofday` constant, and runs QEMU's main loop only while its CPU waits;
/// `preload/steady.rs` explains why.
///
/// With a real `gettimeofday`, QEMU's cache of translated addresses differs between runs. Then it also differs whether the
/// guest's kernel faults on a page whose permissions it has widened. Without the second measure the clock jumps by the CPU's
/// last work before it halted. Each causes some hundred nanoseconds occasionally.
///
/// `None` unless the machine is x86-64.
#[cfg(target_arch = "x86_64")]
pub const LIBRARY: Option<&[u8]> = Some(include_bytes!(concat!(env!("OUT_DIR"), "/steady.so")));
#[cfg(not(target_arch = "x86_64"))]
pub const LIBRARY: Option<&[u8]> = None;

#[cfg(test)]
mod tests {
    #[test]
    fn the_library_is_there_where_guests_in_virtual_time_are() {
        let is_elf = super::LIBRARY.map(|library| library.starts_with(b"\x7fELF"));
        assert_eq!(is_elf, cfg!(target_arch = "x86_64").then_some(true));
    }
}
