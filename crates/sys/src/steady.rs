//! A QEMU that is the same in every run, where its guest's clock counts instructions.

/// A shared library, to be loaded before the C library (`LD_PRELOAD`): `gettimeofday` is always the same, and QEMU's main loop works only
/// while its CPU waits. Why, stands in `preload/steady.rs`.
///
/// Without the first, what is in QEMU's cache of translated addresses differs from run to run, and with it whether the guest's kernel
/// meets a page whose rights it has widened with a fault or without; without the second the clock jumps by what the CPU did last before
/// it halted. Either is some hundred nanoseconds, now and then.
pub const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/steady.so"));
