//! What cargo tells tests and no others, and the modules that are shared read.

fn main() {
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo:rustc-env=CARGO_BIN_EXE_fsderby=fsderby");
    println!("cargo:rustc-env=CARGO_TARGET_TMPDIR={here}/target");
}
