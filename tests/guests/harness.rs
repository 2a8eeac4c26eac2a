//! fsderby as the host of a guest, where a kernel may panic.

use fsderby::schema::job::Step;
use fsderby::schema::reason::Outcome;
use fsderby::schema::setup::Mount;
use fsderby::schema::units::{Bytes, MIB};

use crate::support::desk::Desk;
use crate::support::harness::{self, Disk, Host, Order};
use crate::support::harness_battery::no_list_harms_the_host;
use crate::support::harness_devices::{SHARED, SIZE, claim, sh, target};
use crate::support::harness_nfs::{self as nfs, with_nfs};
use crate::support::has_loop;
use crate::support::neighbours::job_on;
use crate::support::quiet::has_guests;
use crate::support::skipped;

/// The init of these machines, which anywhere else does nothing.
#[test]
fn inside() {
    assert!(!harness::is_inside(), "only a machine of ours has it as its first process");
}

#[test]
fn a_run_inside_alters_no_other_disk_and_a_panic_is_told_with_what_was_said_before() {
    let noise = vec![7; 3 * MIB as usize];
    let host = Host {
        disks: vec![
            Disk::with("first", &noise, Bytes(32 * MIB)),
            Disk::formatted("home", Bytes(1024 * MIB)),
            Disk::with("second", b"of somebody else", Bytes(32 * MIB)),
        ],
        mounts: vec![("home".into(), "/var/tmp".into())],
        ..Host::default()
    };
    let run = "run quick --filesystems ext4 --workloads postmark-quick --scale 1/64 --rounds 1 --seed 3 --size 256m \
        --on loop --output /root/run --quiet";
    let Some(lived) = host.carry_out(&[
        Order::fsderby(&run.split_whitespace().collect::<Vec<_>>()),
        Order::fsderby(&["verify", "/root/run"]),
        // A whole disk by its serial number, to see that a change is seen.
        Order::of(&["sh", "-c", &format!("echo ours >{}", Disk::path("second"))]),
        Order::of(&["sh", "-c", "echo c >/proc/sysrq-trigger"]),
        Order::fsderby(&["--version"]),
    ]) else {
        return;
    };
    let codes: Vec<i32> = lived.said.iter().map(|said| said.code).collect();
    assert_eq!(codes, [0, 0, 0], "{lived:#?}");
    assert!(lived.said[1].out.contains("OK"), "{lived:#?}");
    assert_eq!(lived.altered(), ["home", "second"]);
    let panic = lived.panic.as_deref().unwrap_or_default();
    assert!(panic.contains("sysrq triggered crash"), "{lived:#?}");
}

/// `make nightly PART=harness` draws two thousand.
#[test]
fn no_list_of_hostile_arguments_harms_the_host() {
    no_list_harms_the_host(50, 20_261_126);
}

/// What panics a kernel for certain, so that a refusal says something: the experiment that was handed in.
const EVIL: &str = "size = '64m'\nworkloads = ['postmark-quick']\nrounds = 1\nscale = '1/100'\n[[filesystem]]\nkind = 'ext4'\n";
const DAMAGED: &str = "mkfs = ['-S', '-O', '^metadata_csum,^uninit_bg,^64bit']\n";

#[test]
fn what_panics_a_guest_is_refused_on_the_hosts_own_kernel_before_and_at_the_mount() {
    let desk = Desk::new();
    let evil = desk.file("evil.toml", format!("{EVIL}{DAMAGED}mount = ['errors=panic']\n"));
    let stored = desk.file("stored.toml", format!("{EVIL}mkfs = ['-qepanic']\n"));
    let evil_text = std::fs::read(&evil).unwrap();
    if has_loop("what panics, by a dry run on loop") {
        for (file, option) in
            [("evil.toml", "mount option errors=panic"), ("stored.toml", "mkfs option -e panic")]
        {
            desk.refuses(&["run", file, "--on", "loop", "--dry-run"], 2, &[option, "--on vm"]);
        }
    }
    if !has_guests("what panics, in a guest") {
        return;
    }
    for file in [&evil, &stored] {
        let said = desk.say(&["run", file.to_str().unwrap(), "--on", "vm", "--dry-run"]);
        assert_eq!(said.code, 0, "{said:#?}");
    }
    // The trial's record says that its guest panicked.
    let said = desk.say(&["run", "evil.toml", "--on", "vm", "--quiet", "--output", "run"]);
    let run = fsderby::store::read(&desk.path("run")).unwrap();
    assert!(run.records.iter().all(|r| r.outcome == Outcome::Failed), "{said:#?}");
    assert!(run.records[0].why().contains("panic forced after error"), "{}", run.records[0].why());

    // On a host's own kernel the command refuses it, and the agent does if it is given the job of an older program.
    let mut job = job_on("ext4", "loop:/var/tmp", Bytes(64 * MIB), "1-evil");
    job.steps.retain(|step| matches!(step, Step::Reset | Step::Make { .. } | Step::Mount { .. }));
    let Some(Step::Mount { mount: Mount::Syscall { options, .. } }) = job.steps.last_mut() else {
        panic!("{job:?}")
    };
    options.push("errors=panic".into());
    let given = Order {
        argv: ["fsderby", "agent"].map(str::to_owned).to_vec(),
        input: format!("{}\n", serde_json::to_string(&job).unwrap()),
    };
    let host = Host {
        disks: vec![Disk::formatted("home", Bytes(1024 * MIB))],
        mounts: vec![("home".into(), "/var/tmp".into())],
        files: vec![("/root/evil.toml".into(), evil_text)],
        ..Host::default()
    };
    let run = ["run", "/root/evil.toml", "--on", "loop", "--quiet", "--output", "/root/run"];
    let lived = host.carry_out(&[Order::fsderby(&run), given]).unwrap();
    assert_eq!(lived.panic, None, "{lived:#?}");
    assert_eq!(lived.said[0].code, 2, "{lived:#?}");
    assert!(lived.said[0].err.contains("mount option errors=panic"), "{lived:#?}");
    assert!(
        lived.said[1].out.contains("errors=panic makes this machine's kernel panic at an error"),
        "{lived:#?}"
    );
}

/// What somebody does with reservations of a disk, and what fsderby says then.
fn of_reservations() -> Vec<(Order, i32, &'static str)> {
    let persist = |what: &str| sh(&format!("sg_persist --out {what} {SHARED}"));
    let claims = || claim(&["SHARED1", "--yes-erase", "SHARED1"]);
    let dry = || {
        let run = "run quick --filesystems ext4 --workloads postmark-quick --scale 1/64 --rounds 1 --seed 3 --size 64m \
            --memory none --on device:SHARED1 --guard=false --dry-run";
        Order::fsderby(&run.split_whitespace().collect::<Vec<_>>())
    };
    let registered =
        "has registered the key 0xabcd for persistent reservations: another machine may use it too";
    let held =
        "is reserved (write exclusive, registrants only) by the key 0xabcd: another machine may use it too";
    vec![
        (sh(&target("/srv/shared", SIZE)), 0, "/block/sd"),
        (persist("--register --param-sark=0xabcd"), 0, ""),
        (claims(), 3, registered),
        (persist("--reserve --param-rk=0xabcd --prout-type=5"), 0, ""),
        (claims(), 3, held),
        (persist("--clear --param-rk=0xabcd"), 0, ""),
        (claims(), 0, "claimed SHARED1"),
        (persist("--register --param-sark=0xabcd"), 0, ""),
        (dry(), 3, registered),
        (Order::fsderby(&["device", "release", "SHARED1"]), 3, registered),
        (persist("--clear --param-rk=0xabcd"), 0, ""),
        (Order::fsderby(&["device", "release", "SHARED1"]), 0, "released SHARED1"),
    ]
}

#[test]
fn a_host_inside_serves_nfs_to_itself_which_takes_part_and_a_disk_that_somebody_reserved_is_refused() {
    let has_persist = fsderby::host::programs::find("sg_persist").is_some();
    if !has_persist {
        skipped(
            "persistent reservations in a guest",
            "sg_persist is not installed (apt-get install sg3-utils)",
        );
    }
    let mut host = with_nfs(Host {
        modules: ["scsi_debug", "sd_mod", "null_blk", "nvme_loop", "dm_mod", "tcm_loop", "target_core_file"]
            .map(str::to_owned)
            .to_vec(),
        programs: ["blkid", "grep", "ln", "ls", "sleep"].map(str::to_owned).to_vec(),
        disks: vec![Disk::formatted("home", Bytes(1024 * MIB))],
        mounts: vec![("home".into(), "/srv".into())],
        ..Host::default()
    });
    let run = "run quick --on directory:/mnt/nfs --workloads postmark-quick --scale 1/64 --rounds 1 --seed 3 --memory none \
        --output /root/run --quiet";
    let reservations = if has_persist { of_reservations() } else { Vec::new() };
    host.programs.extend(has_persist.then(|| "sg_persist".to_owned()));
    let mut orders = vec![
        nfs::mounted("/srv/nfs", "/mnt/nfs"),
        Order::fsderby(&run.split_whitespace().collect::<Vec<_>>()),
        Order::fsderby(&["verify", "/root/run"]),
        // The kernel looks for its devices in the background, and has had the time of a run.
        Order::of(&[
            "sh",
            "-ec",
            "cd /sys; test -e block/sda; test -e block/nullb0; test -e module/nvme_loop",
        ]),
        Order::of(&["sh", "-c", "while read line; do echo \"$line\"; done </root/run/trials.jsonl"]),
    ];
    let first = orders.len();
    orders.extend(reservations.iter().map(|(order, ..)| order.clone()));
    let Some(lived) = host.carry_out(&orders) else { return };
    let codes: Vec<i32> = lived.said.iter().map(|said| said.code).collect();
    let expected: Vec<i32> =
        [0; 5].into_iter().chain(reservations.iter().map(|(_, code, _)| *code)).collect();
    assert_eq!((codes, &lived.panic), (expected, &None), "{lived:#?}");
    for ((order, _, says), said) in reservations.iter().zip(&lived.said[first..]) {
        assert!((said.err.clone() + &said.out).contains(says), "{order:?} says {says}: {lived:#?}");
    }
    assert!(lived.said[4].out.contains("\"fstype\":\"nfs4\""), "{lived:#?}");
}
