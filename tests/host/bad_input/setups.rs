//! Setups, states, clients and scenarios that cannot be.

use super::*;

#[test]
fn a_number_of_clients_that_cannot_be_says_what_can() {
    flags(&["--clients", "0"], &["0 clients are not possible", "try: --clients 1"]);
    flags(&["--clients", "1025"], &["1025 clients are more than 1024"]);
    flags(&["--clients", "x"], &["--clients"]);
    flags(
        &["--clients", "600", "--workloads", "postmark-quick", "--scale", "1/16"],
        &["600 clients cannot run this workload in parallel; 50 can", "try: --clients 50"],
    );
    flags(&["--clients", "2", "--workloads", "fill-80"], &["2 clients cannot run this workload", "1 can"]);
    flags(
        &["--clients", "2", "--power-cut", "50%", "--on", "vm", "--workloads", "maildir-durable"],
        &["a trial whose power is cut has one client, not 2", "without --power-cut"],
    );
    let one = "filesystems = ['ext4']\n[[workload]]\nset = 'postmark-quick'\n";
    file(&format!("{one}clients = 0"), &["0 clients are not possible"]);
    file(&format!("{one}clients = 'four'"), &["line", "expected"]);
    file(&format!("clients = -1\n{one}"), &["line 1"]);
    file(
        &format!("{one}clients = 4\n{}clients = 4", &one[22..]),
        &["two workloads have the label", "another label"],
    );
}

#[test]
fn layers_that_cannot_be_are_refused_by_name_before_anything_runs() {
    let rest = "filesystems = ['ext4']\nworkloads = ['postmark-quick']\n";
    file(&format!("layers = ['mdd:raid5']\n{rest}"), &["unknown layer 'mdd'", "did you mean 'md'?"]);
    file(
        &format!("layers = ['md:raid5']\non = 'vm:disks=2'\n{rest}"),
        &["md:raid5 needs at least 3 disks; 2 are given", "try: disks=3"],
    );
    file(&format!("layers = 'crypt'\n{rest}"), &["line 1", "expected a list"]);
    file(&format!("layer = ['crypt']\n{rest}"), &["unknown key 'layer'", "did you mean 'layers'?"]);
    flags(
        &["--on", "vm", "--layer", "md"],
        &["layer md: a RAID level is missing, for example raid5", "md:LEVEL"],
    );
    flags(&["--on", "vm", "--layer", "md:raid6"], &["unknown level 'raid6'", "raid5"]);
    flags(&["--on", "vm", "--layer", "md:raid0,chunk=5k"], &["chunk=5k is not possible", "power of 2"]);
    flags(&["--on", "vm", "--layer", "crypt:cipher=rot13-xts-plain64"], &["unknown cipher 'rot13'", "aes"]);
    flags(&["--on", "vm", "--layer", "md:raid1"], &["at least 2 disks; 1 is given", "try: disks=2"]);
    flags(&["--on", "vm:disks=2"], &["here are 2", "try: --layer md:raid0"]);
    flags(&["--on", "vm:disks=99"], &["disks=99 is not a number of disks; write 1 to 16"]);
    for testbed in ["loop", "directory:/var/tmp"] {
        let words = ["layers need a guest, and ", "--on vm or model:DISK"];
        flags(&["--on", testbed, "--memory", "none", "--layer", "crypt"], &words);
    }
}

#[test]
fn a_setup_that_cannot_be_names_its_candidate() {
    let known = "workloads = ['postmark-quick']\n";
    let own = |own: &str, words: &[&str]| {
        file(&format!("{known}[[filesystem]]\nkind = 'xfs'\n[[filesystem]]\nkind = 'ext4'\n{own}\n"), words);
    };
    own("on = 'lop'", &["ext4: unknown testbed 'lop'", "'loop'?"]);
    own("on = 'auto'", &["ext4: unknown testbed 'auto'"]);
    own("on = 'model:hdd-61tb'", &["ext4: ", "hdd-16tb"]);
    own("on = 'loop'\nkernel = '6.1'", &["ext4: ", "boots no kernel", "try: --on vm"]);
    own(
        "kernel = '/boot/vmlinuz'",
        &["ext4: '/boot/vmlinuz' is not a kernel release", "fsderby kernel list"],
    );
    own("cpus = 0", &["ext4: 0 CPUs are not possible", "--cpus 1"]);
    own("cpus = 'two'", &["line 6", "expected a whole number"]);
    own("memory = '0'", &["ext4: a memory limit of 0 bytes is not possible"]);
    own("kernle = '6.1'", &["did you mean 'kernel'?"]);
    let ext4 = |more: &str| format!("{known}filesystems = ['ext4']\n[cross]\n{more}\n");
    file(&ext4("kernle = ['6.1']"), &["unknown factor 'kernle'", "did you mean 'kernel'?"]);
    file(&ext4("kernel = ['6.1', '6.1']"), &["kernel 6.1 is given twice", "try: each value once"]);
    file(&ext4("on = ['vm', 'lop']"), &["ext4, on lop: unknown testbed 'lop'"]);
    file(&ext4("memory = '64m'"), &["line 4", "expected"]);
    flags(&["--memory", "none", "--memory", "64m"], &["none cannot be combined with other limits"]);
    flags(&["--filesystem", "ext4 cpus=two"], &["cpus=two: write a whole number of CPUs"]);
    flags(&["--filesystem", "ext4 kernel"], &["'kernel' in: ext4 kernel", "kernel=…"]);
    let twice = ["--filesystems", "ext4", "--filesystem", "ext4 memory=64m", "--on", "loop"];
    flags(&twice, &["two filesystems have the label 'ext4'", "try: another label"]);
}

#[test]
fn a_number_of_cpus_that_cannot_be_kept_is_refused_where_it_cannot() {
    let desk = Desk::new();
    let here = ["run", "--filesystems", "ext4", "--output", "out"];
    let refused = |more: &[&str], words: &[&str]| desk.refuses(&[&here[..], more].concat(), MISSING, words);
    refused(&["--on", "loop", "--cpus", "2"], &["loop uses the CPUs of this machine", "try: --on vm"]);
    refused(&["--on", "model:hdd-16tb", "--cpus", "2"], &["--on model has one vCPU"]);
    refused(&["--on", "vm", "--cpus", "4096"], &["needs as many CPUs", "try: --cpus "]);
    let both = ["--on", "loop", "--cpus", "1", "--cpus", "4096"];
    refused(&both, &["ext4, cpus 1: loop uses the CPUs of this machine"]);
}

#[test]
fn what_is_mounted_already_stands_alone() {
    let desk = Desk::new();
    let alone = |more: &[&str], words: &[&str]| {
        let common = ["run", "quick", "--on", "directory:.", "--memory", "none", "--output", "out"];
        desk.refuses(&[&common[..], more].concat(), USAGE, words);
    };
    alone(&["--on", "loop"], &["they cannot be compared", "try: directories alone"]);
}

#[test]
fn a_scenario_that_cannot_be_is_refused_with_its_stage() {
    for (stages, words) in [
        ("{ work = 'postmark' }", &["stage 1 (work postmark)", "unknown workload 'postmark'"][..]),
        ("{ work = 'maildir-quick', measured = false }", &["no stage of the scenario is measured"]),
        ("{ work = 'maildir-quick' }, 'recover'", &["stage 2 (recover)", "directly follow power-cut"]),
        ("{ work = 'maildir-quick' }, 'umount'", &["unknown stage 'umount'", "remount"]),
        ("{ work = 'maildir-quick', clock = 4 }", &["clock"]),
        ("7", &["7 is no stage"]),
    ] {
        let text = "filesystems = ['ext4']\nworkloads = ['maildir-quick']\n[[scenario]]\nlabel = 'x'\n";
        file(&format!("{text}stages = [{stages}]"), words);
    }
    file("scenario = ['x']", &["line 1"]);
}

#[test]
fn a_state_that_cannot_be_is_refused_and_one_that_does_not_fit_skips() {
    let known = "filesystems = ['ext4']\nworkloads = ['postmark-quick']\n";
    file(&format!("state = 'filed 80%'\n{known}"), &["unknown state 'filed'", "did you mean 'filled'?"]);
    file(
        &format!("{known}[cross]\nstate = ['fresh', 'filled']"),
        &["ext4, state filled: the share is missing"],
    );
    flags(&["--state", "aged by postmork"], &["unknown workload 'postmork'"]);
    let full =
        ["run", "quick", "--on", "loop", "--size", "512m", "--state", "filled 99%", "--filesystems", "ext4"];
    let words = ["of which the initial state leaves 1%", "try: --size or --scale"];
    Desk::new().refuses(&[&full[..], &["--output", "out"]].concat(), USAGE, &words);
}

#[test]
fn an_era_that_no_filesystem_or_paper_has_is_refused() {
    flags(&["--era", "1999"], &["unknown era '1999'"]);
    let words = ["the era 2006 has options only for ext2", "try: without --era"];
    flags(&["--era", "2006", "--filesystems", "ext4"], &words);
    flags(&["--era", "2006", "--on", "directory:/"], &words);
    let column = ["reproduce", "lauper-2002", "--column", "era", "--output", "out"];
    let words = ["lauper-2002 names no era", "try: --column then"];
    Desk::new().refuses(&column, USAGE, &words);
}

/// `-d file` and `-z` make mkfs create files, also when it only checks.
#[test]
fn a_dry_run_refuses_options_that_mkfs_refuses_and_makes_nothing() {
    let desk = Desk::new();
    let words = |filesystem: &str| -> Vec<String> {
        let words = ["run", "quick", "--on", "loop", "--filesystem", filesystem, "--dry-run"];
        words.map(str::to_owned).to_vec()
    };
    let refused = |filesystem: &str, said: &[&str]| {
        let words = words(filesystem);
        desk.refuses(&words.iter().map(String::as_str).collect::<Vec<_>>(), USAGE, said);
    };
    refused("ext4 mkfs='-O bogus'", &["ext4: mke2fs refuses its options: ", "bogus"]);
    refused("xfs label=odd mkfs='-m crc=7'", &["odd: mkfs.xfs refuses its options: ", "crc"]);
    let dry_run = |filesystem: &str| {
        let words = words(filesystem);
        run(&mut desk.fsderby(&words.iter().map(String::as_str).collect::<Vec<_>>()))
    };
    refused("ext4 mkfs='-T nosuch -I 100'", &["refuses its options: ", "invalid inode size 100"]);
    let taken = dry_run("xfs mkfs='-m reflink=0'");
    assert_eq!(taken.code, 0, "{taken:?}");
    let made = desk.path("made");
    for options in ["xfs mkfs='-d file,name=MADE,size=1g'", "ext4 mkfs='-z MADE'"] {
        dry_run(&options.replace("MADE", made.to_str().unwrap()));
        assert!(!made.exists(), "{options}");
    }
}
