//! The inputs of every guest: a kernel with modules, and an initramfs with tools and this program as init.

pub mod apt;
mod ar;
pub mod boot_image;
mod bounded;
pub mod bundle;
pub mod bundle_file;
pub mod cache;
pub mod closure;
pub mod copies;
pub mod cpio;
pub mod gather;
pub mod initramfs;
pub mod kernel;
pub mod modules;
mod owners;
mod package;
pub mod slim;
mod tree;

pub use closure::{Closure, Files, Here};
