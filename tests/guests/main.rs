//! In guests: real time and virtual time, every filesystem, and what becomes of a guest that dies.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod cluster;
mod conformance;
mod devices;
mod guest;
mod harness;
mod kit;
mod layers;
mod model;
mod preconditioned;
mod programs;
#[path = "../support/mod.rs"]
mod support;
mod validation;
mod vm;
mod vm_input;
mod volumes;
