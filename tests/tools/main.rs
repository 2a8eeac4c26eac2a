//! Beside the real programs: mkfs and fsck of every kind, the tools that the engines follow, the engines themselves.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod bonnie;
mod coldread;
mod everyday;
mod filesystems_real;
mod iozone;
mod postmark;
#[path = "../support/mod.rs"]
mod support;
