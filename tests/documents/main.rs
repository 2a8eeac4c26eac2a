//! What the documents say is true, and what they tell to add can be added.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod built_from;
mod docs;
mod made_up;
mod manual;
mod reference;
#[path = "../support/mod.rs"]
mod support;
