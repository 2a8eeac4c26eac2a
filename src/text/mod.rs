//! Text for people: messages for unknown names, a parser's errors in words, and foreign text that is safe to show.

pub mod mistakes;
pub mod names;
pub mod visible;
