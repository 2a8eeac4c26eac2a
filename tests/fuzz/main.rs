//! Everything that is read from outside, tried with inputs that nobody wrote.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod canary;
mod disk;
mod engine;
mod event;
mod experiment;
mod mutate;
mod package;
mod packages;
mod record;
mod runs;
mod script;
#[path = "../support/mod.rs"]
mod support;

/// What a refusal must be: words, not too many, and none that a terminal would obey.
fn has_words(message: &str) {
    assert!(!message.trim().is_empty(), "it is refused without a word");
    assert!(message.chars().count() <= 5000, "{} bytes: {message:.200}", message.len());
    let control = message.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(control, None, "in: {message}");
}
