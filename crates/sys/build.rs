//! Builds the library that hides the host's time from QEMU's guests; it is embedded in ours.

use std::env;
use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = "preload/steady.rs";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    // It contains x86-64 code, the CPU of guests in virtual time.
    if env::var_os("CARGO_CFG_TARGET_ARCH").is_none_or(|architecture| architecture != "x86_64") {
        return;
    }
    let variable = |name| env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"));
    let library = PathBuf::from(variable("OUT_DIR")).join("steady.so");
    let built = Command::new(variable("RUSTC"))
        .args(["--crate-type=cdylib", "--edition=2024", "-Copt-level=2", "-Cpanic=abort", "-Cstrip=symbols"])
        .args(["-Ctarget-feature=-crt-static", "-Clink-arg=-nostdlib", "-Clink-arg=-nostartfiles"])
        .arg("--target")
        .arg(variable("TARGET"))
        .arg("-o")
        .arg(&library)
        .arg(SOURCE)
        .status();
    assert!(built.is_ok_and(|status| status.success()), "could not build {SOURCE}");
}
