//! The disks that come with the program.

/// (name, text) of each file of `disks/`.
pub const SHIPPED: &[(&str, &str)] = &[
    ("diamondmax-plus-8", include_str!("../../../disks/diamondmax-plus-8.toml")),
    ("zero", include_str!("../../../disks/zero.toml")),
];
