//! Mounted filesystems as candidates: several directories in one run, each of another type, and what may happen to them in the
//! middle. Mounts are private to the test's own mount namespace, so that nothing is left when it dies.

use std::path::{Path, PathBuf};
use std::process::Command;

use fsderby::exit;
use fsderby::schema::reason::{Outcome, Reason};
use fsderby::store;

use crate::support::desk::{Desk, Said, run};
use crate::support::{has_loop, skipped};

const USAGE: i32 = exit::USAGE as i32;
const TRIALS: i32 = exit::TRIALS as i32;

/// Makes each mount that it can, runs `then` in the same shell, and unmounts by leaving the namespace.
fn with_mounts(desk: &Desk, then: &str) -> Said {
    let script = r#"
        set -e
        mount --make-rprivate /
        cd "$1"; shift
        mkdir -p ext4 xfs ram lower upper over fuse
        truncate -s 64m ext4.img; mkfs.ext4 -q -F ext4.img; mount -o loop,noatime ext4.img ext4
        truncate -s 320m xfs.img; mkfs.xfs -q -f xfs.img; mount -o loop xfs.img xfs
        mount -t tmpfs -o size=64m ram ram
        mkdir -p ext4/upper ext4/work
        mount -t overlay -o lowerdir="$PWD/lower,upperdir=$PWD/ext4/upper,workdir=$PWD/ext4/work" over over
        if command -v ntfs-3g > /dev/null && [ -e /dev/fuse ]; then
            truncate -s 64m fuse.img; mkfs.ntfs -q -Q -F fuse.img; mount -t ntfs-3g -o loop fuse.img fuse
        fi
        eval "$THEN"
    "#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "--", "sh", "-c", script, "sh"]).arg(desk.path(".")).env("THEN", then);
    let own = desk.fsderby::<&str>(&[]);
    command.env("FSDERBY", own.get_program()).current_dir(desk.path("."));
    for (key, value) in own.get_envs() {
        value.map(|value| command.env(key, value));
    }
    run(&mut command)
}

const QUICK: &str = "--workloads postmark-quick --scale 1/16 --memory none --seed 3";

fn folder(desk: &Desk, name: &str) -> PathBuf {
    desk.path(name)
}

fn kinds(run: &Path) -> Vec<String> {
    store::read(run).unwrap().plan.candidates.iter().map(|c| format!("{}: {}", c.label, c.kind)).collect()
}

#[test]
fn mounts_of_several_types_are_candidates_of_one_run() {
    if !has_loop("several mounts") {
        return;
    }
    let desk = Desk::new();
    let then = format!(
        r#"
        [ -e fuse.img ] && fuse="--on directory:$PWD/fuse"
        run() {{ "$FSDERBY" run {QUICK} --rounds 2 --on "directory:$PWD/ext4" --on "directory:$PWD/xfs" \
            --on "directory:$PWD/ram" --on "directory:$PWD/over" $fuse --output "$1"; }}
        run one; run other
        "$FSDERBY" verify one; "$FSDERBY" compare one other
        [ -z "$(ls ram xfs | grep -v '^ram:$' | grep -v '^xfs:$')" ] || echo "left: $(ls ram xfs)"
        "#
    );
    let said = with_mounts(&desk, &then);
    assert_eq!(said.code, 0, "{said:#?}");
    let found = kinds(&folder(&desk, "one"));
    let known = ["ext4 on ext4: ext4", "xfs on xfs: xfs", "tmpfs on ram: tmpfs", "overlay on over: overlay"];
    assert_eq!(found[..4], known, "{found:?}");
    if found.len() == 4 {
        skipped("a FUSE filesystem as a candidate", "no ntfs-3g, or no /dev/fuse");
    } else {
        assert_eq!(found[4], "fuseblk on fuse: fuseblk");
    }
    let of_one = store::read(&folder(&desk, "one")).unwrap();
    assert_eq!(of_one.records.iter().filter(|r| r.outcome == Outcome::Done).count(), 3 * found.len());
    let ext4 = of_one.records.iter().find(|r| r.filesystem == "ext4 on ext4").unwrap();
    assert!(ext4.mounted.as_ref().unwrap().options.contains(&"noatime".to_owned()), "{ext4:#?}");
    let words =
        ["This run compares directories, not filesystems", "tmpfs of ram", "overlay on over", "OK: verified"];
    words.iter().for_each(|word| assert!(said.out.contains(word), "'{word}' in {said:#?}"));
    assert!(!said.out.contains("left: "), "{said:#?}");
}

#[test]
fn labels_and_one_directory_twice() {
    if !has_loop("a directory twice") {
        return;
    }
    let desk = Desk::new();
    let then = format!(
        r#"
        "$FSDERBY" run {QUICK} --rounds 1 --on "directory:$PWD/ram" --on "directory:$PWD/ram" --output twice
        "$FSDERBY" run {QUICK} --rounds 1 --filesystem "directory:$PWD/ram label='the old disk'" \
            --filesystem "directory:$PWD/ext4 kind=ext4" --output named
        "$FSDERBY" run named/plan.toml --output again
        "#
    );
    let said = with_mounts(&desk, &then);
    assert_eq!(said.code, 0, "{said:#?}");
    assert_eq!(kinds(&folder(&desk, "twice")), ["tmpfs on ram: tmpfs", "tmpfs on ram, again: tmpfs"]);
    for run in ["named", "again"] {
        let found = kinds(&folder(&desk, run));
        assert_eq!(found[0], "the old disk: tmpfs", "{run}");
        assert!(found[1].ends_with(": ext4"), "{run}: {found:?}");
    }
}

/// Else its trials would be those of the filesystem below the mount point.
#[test]
fn a_mount_that_vanishes_voids_its_trials_and_no_other() {
    if !has_loop("a mount that vanishes") {
        return;
    }
    let desk = Desk::new();
    let then = format!(
        r#"
        (while ! grep -qs '"trial":"r01/' gone/trials.jsonl; do sleep 0.02; done; umount -l ram) &
        "$FSDERBY" run {QUICK} --rounds 4 --on "directory:$PWD/ext4" --on "directory:$PWD/ram" --output gone || code=$?
        wait; ls ram; exit $code
        "#
    );
    let said = with_mounts(&desk, &then);
    assert_eq!(said.code, TRIALS, "{said:#?}");
    let run = store::read(&folder(&desk, "gone")).unwrap();
    let (of_ram, of_ext4): (Vec<_>, Vec<_>) = run.records.iter().partition(|r| r.kind == "tmpfs");
    assert!(of_ext4.iter().all(|record| record.outcome == Outcome::Done), "{of_ext4:#?}");
    let is_said = |record: &&fsderby::schema::record::Record| match &record.reason {
        Some(Reason::OtherMount { began, now }) => began.starts_with("tmpfs") && !now.starts_with("tmpfs"),
        _ => false,
    };
    assert!(of_ram.iter().filter(|record| record.outcome == Outcome::Void).all(is_said), "{of_ram:#?}");
    assert!(of_ram.iter().any(|record| record.outcome == Outcome::Void), "{of_ram:#?}");
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_place() {
    if !has_loop("directories that are refused") {
        return;
    }
    let desk = Desk::new();
    let refused = |words: &str| {
        let then = format!(r#""$FSDERBY" run {QUICK} --rounds 1 --output out {words} || exit $?"#);
        with_mounts(&desk, &then)
    };
    for (words, code, told) in [
        (r#"--on "directory:$PWD/ram" --on loop"#, USAGE, "they cannot be compared"),
        (r#"--filesystem "directory:$PWD/ram kind=ext4""#, USAGE, "ext4 is expected in"),
        (r#"--filesystem "directory:$PWD/ram mount=noatime""#, USAGE, "mount options have no effect"),
        (r#"--on "directory:$PWD/ram" --filesystems ext4"#, USAGE, "--filesystems has no effect"),
        (r#"--on "directory:$PWD/nowhere""#, exit::MISSING as i32, "is not a directory"),
    ] {
        let said = refused(words);
        assert_eq!(said.code, code, "{words}: {said:#?}");
        assert!(said.err.contains(told), "'{told}' of {words}: {said:#?}");
        assert!(!desk.path("out").exists(), "{words}");
    }
    let of_changed = |change: &str| {
        let run = r#""$FSDERBY" run $QUICK --rounds 1 --output out --on "directory:$PWD/ram" || exit $?"#;
        with_mounts(&desk, &format!("{change}\n{}", run.replace("$QUICK", QUICK)))
    };
    let said = of_changed("mount -o remount,ro ram");
    assert!(said.code == exit::MISSING as i32 && said.err.contains("Read-only file system"), "{said:#?}");
    let said = of_changed("mount -o remount,size=2m ram");
    assert!(said.code == exit::MISSING as i32 && said.err.contains("which has 2 MiB free"), "{said:#?}");
}
