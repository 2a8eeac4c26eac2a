//! Bonnie++ against the original where it is installed, system call by system call; the command by itself; and the engine as a trial
//! uses it.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod command;
mod oracle;
mod trial;
