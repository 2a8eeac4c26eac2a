//! On this machine's own kernel, most of it as root: trials on loop devices, and what may go wrong with them.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod bad_input;
mod beforehand;
mod clients;
mod command;
mod compression;
mod configuration;
mod conformance;
mod fill;
mod fio;
mod full_host;
mod guard;
mod halted;
mod hostile;
mod interference;
mod interrupts;
mod kills;
mod limits;
mod mounts;
mod own_folders;
mod ready;
mod refused;
mod signed;
mod stranger;
#[path = "../support/mod.rs"]
mod support;
mod twin;
