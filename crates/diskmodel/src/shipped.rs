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
    ("sd-card", include_str!("../../../disks/sd-card.toml")),
    ("ssd-nvme", include_str!("../../../disks/ssd-nvme.toml")),
    ("ssd-sata", include_str!("../../../disks/ssd-sata.toml")),
    ("wd-caviar-se-160", include_str!("../../../disks/wd-caviar-se-160.toml")),
    ("zero", include_str!("../../../disks/zero.toml")),
];
