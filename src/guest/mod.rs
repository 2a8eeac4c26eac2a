//! What every guest starts from: a kernel with its modules, and an initramfs with tools and our own program as its init.

pub mod apt;
mod ar;
pub mod boot_image;
mod bounded;
pub mod cache;
pub mod closure;
mod cpio;
pub mod initramfs;
pub mod kernel;
pub mod modules;
mod package;
pub mod slim;

pub use closure::Closure;
