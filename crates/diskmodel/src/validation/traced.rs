//! Drives with published response-time traces. These files serve validation only; runs cannot use them.

/// (name, text) of each.
pub(super) const TRACED: &[(&str, &str)] = &[
    ("dec-rz26", include_str!("traced/dec-rz26.toml")),
    ("hp-c2247a", include_str!("traced/hp-c2247a.toml")),
    ("hp-c3323a", include_str!("traced/hp-c3323a.toml")),
    ("ibm-dnes-309170w", include_str!("traced/ibm-dnes-309170w.toml")),
    ("quantum-atlas-10k", include_str!("traced/quantum-atlas-10k.toml")),
    ("quantum-atlas-iii", include_str!("traced/quantum-atlas-iii.toml")),
    ("seagate-st32171w", include_str!("traced/seagate-st32171w.toml")),
    ("seagate-st34501n", include_str!("traced/seagate-st34501n.toml")),
    ("seagate-st39102lw", include_str!("traced/seagate-st39102lw.toml")),
    ("seagate-st41601n", include_str!("traced/seagate-st41601n.toml")),
];
