//! `vm`: a small virtual machine with a stock kernel that has every filesystem, as an ordinary user.

pub mod apt;
mod boot_image;
pub mod kernel;
mod modules;
mod package;
