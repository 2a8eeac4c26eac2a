//! Everything that is read from outside, tried with inputs that nobody wrote.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod bonnie_lines;
mod bundle;
mod canary;
mod disk;
mod engine;
mod event;
mod experiment;
mod import;
mod mutate;
mod package;
mod packages;
mod postmark_reports;
mod record;
mod runs;
mod script;
#[path = "../support/mod.rs"]
mod support;
