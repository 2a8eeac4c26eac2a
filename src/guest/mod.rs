//! What every guest starts from: a kernel with its modules, and an initramfs with tools and our own program as its init.

pub mod apt;
mod ar;
mod boot_image;
mod bounded;
pub mod cache;
mod closure;
mod cpio;
pub mod initramfs;
pub mod kernel;
mod modules;
mod package;
mod slim;

pub use closure::Closure;
