//! The engine of IOzone: what it does in a trial, call by call, and as `fsderby iozone`.

mod dropin;
mod sets;
mod traces;
mod trial;
