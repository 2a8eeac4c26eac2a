//! NFS over the loopback of a machine that is its own server, without the daemons of a distribution: what they would answer the
//! kernel is written into its caches.

use super::harness::{Host, Order};

/// Modules of client and server: of a host, and in no guest.
pub const MODULES: [&str; 2] = ["nfsd", "nfsv4"];

/// `include/uapi/linux/nfsd/export.h`: any port, no subtree check, root as root, a filesystem number; writes are synchronous.
const EXPORT: u32 = 0x0002 | 0x0400 | 0x2000;
const FOREVER: u32 = 2_147_483_647;

/// What the orders of [`mounted`] need.
pub fn with_nfs(mut host: Host) -> Host {
    host.modules.extend(MODULES.map(str::to_owned));
    host.programs.extend(["mount", "ip", "mkdir"].map(str::to_owned));
    host
}

/// Serves this folder by NFS 4.2 and mounts it there, over the loopback device.
pub fn mounted(from: &str, at: &str) -> Order {
    let lines = [
        format!("mkdir -p {from} {at}"),
        "ip link set lo up".into(),
        "mount -i -t nfsd nfsd /proc/fs/nfsd".into(),
        // Who asks, which filesystem the root of its names is, and how that is exported.
        format!("echo 'nfsd 127.0.0.1 {FOREVER} us' >/proc/net/rpc/auth.unix.ip/channel"),
        format!("echo 'us 1 \\x00000000 {FOREVER} {from}' >/proc/net/rpc/nfsd.fh/channel"),
        format!("echo 'us {from} {FOREVER} {EXPORT} 65534 65534 0' >/proc/net/rpc/nfsd.export/channel"),
        "echo '-2 -3 +4 +4.1 +4.2' >/proc/fs/nfsd/versions".into(),
        // The shortest there are: nobody has a lock to reclaim.
        "echo 10 >/proc/fs/nfsd/nfsv4leasetime".into(),
        "echo 10 >/proc/fs/nfsd/nfsv4gracetime".into(),
        "echo 'tcp 2049' >/proc/fs/nfsd/portlist".into(),
        "echo 2 >/proc/fs/nfsd/threads".into(),
        format!("mount -i -t nfs4 -o vers=4.2,addr=127.0.0.1,clientaddr=127.0.0.1 127.0.0.1:/ {at}"),
        // Until those seconds are over, nothing is opened.
        format!("echo ready >{at}/ready"),
    ];
    Order::of(&["sh", "-exc", &lines.join("\n")])
}
