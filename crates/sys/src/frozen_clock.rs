//! A program whose calendar clock stands still.

/// A shared library: a program that loads it before the C library (`LD_PRELOAD`) finds `gettimeofday` always the same.
///
/// QEMU lets its cache of translated addresses grow and shrink by that clock, even where its guest's clock counts instructions. What is in
/// that cache decides whether the guest's kernel meets a page whose rights it has widened with a fault or without: two hundred
/// instructions more or less, now and then, from run to run.
pub const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/frozen_clock.so"));
