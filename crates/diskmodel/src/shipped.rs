//! The disks that come with the program.

/// (name, text) of each file of `disks/`.
pub const SHIPPED: &[(&str, &str)] = &[
    ("3ware-raid5", include_str!("../../../disks/3ware-raid5.toml")),
    ("arena-ide-raid5", include_str!("../../../disks/arena-ide-raid5.toml")),
    ("cloud-volume", include_str!("../../../disks/cloud-volume.toml")),
    ("diamondmax-plus-8", include_str!("../../../disks/diamondmax-plus-8.toml")),
    ("fujitsu-mpd3064at", include_str!("../../../disks/fujitsu-mpd3064at.toml")),
    ("hdd-16tb", include_str!("../../../disks/hdd-16tb.toml")),
    ("hdd-smr", include_str!("../../../disks/hdd-smr.toml")),
    ("hgst-ultrastar-7k8", include_str!("../../../disks/hgst-ultrastar-7k8.toml")),
    ("kingston-kc3000-2048", include_str!("../../../disks/kingston-kc3000-2048.toml")),
    ("micron-7300-pro-3840", include_str!("../../../disks/micron-7300-pro-3840.toml")),
    ("samsung-850-evo-250", include_str!("../../../disks/samsung-850-evo-250.toml")),
    ("samsung-870-evo", include_str!("../../../disks/samsung-870-evo.toml")),
    ("samsung-pm883-960", include_str!("../../../disks/samsung-pm883-960.toml")),
    ("samsung-pm9a3-1920", include_str!("../../../disks/samsung-pm9a3-1920.toml")),
    ("sd-card", include_str!("../../../disks/sd-card.toml")),
    ("seagate-st2000dm006", include_str!("../../../disks/seagate-st2000dm006.toml")),
    ("ssd-nvme", include_str!("../../../disks/ssd-nvme.toml")),
    ("ssd-sata", include_str!("../../../disks/ssd-sata.toml")),
    ("wd-caviar-se-160", include_str!("../../../disks/wd-caviar-se-160.toml")),
    ("zero", include_str!("../../../disks/zero.toml")),
];
