//! The engine of IOzone: what it does in a trial, call by call, and as `fsderby iozone`.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

#[path = "../support/mod.rs"]
mod support;

mod dropin;
mod sets;
mod traces;
mod trial;
