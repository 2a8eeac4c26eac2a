//! A QEMU that is the same in every run, where its guest's clock counts instructions.

/// A shared library, to be loaded before the C library (`LD_PRELOAD`): `gettimeofday` is always the same, and QEMU's main loop works only
/// while its CPU waits. Why, stands in `preload/steady.rs`.
///
/// Without the first, what is in QEMU's cache of translated addresses differs from run to run, and with it whether the guest's kernel
/// meets a page whose rights it has widened with a fault or without; without the second the clock jumps by what the CPU did last before
/// it halted. Either is some hundred nanoseconds, now and then.
///
/// `None` on a machine that is not x86-64.
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
