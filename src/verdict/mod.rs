//! From records to findings. Pure: nothing is measured, nothing is written for people.

pub mod ensemble;
