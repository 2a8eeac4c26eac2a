//! A disk under the images that fills up in the middle of a run is the host's fault: its trials are void, no filesystem is blamed,
//! and `--resume` goes on when there is room. Really full: a tmpfs of the test's own.

use std::process::Command;

use fsderby::exit;
use fsderby::schema::reason::{Outcome, Reason};
use fsderby::store;

use crate::support::desk::{Desk, run};
use crate::support::has_loop;

#[test]
fn a_full_disk_under_the_images_blames_no_filesystem() {
    if !has_loop("a full disk under the images") {
        return;
    }
    let desk = Desk::new();
    // The volume's own size is free when the run begins, which is asked then.
    let script = r#"
        set -e
        mount --make-rprivate /
        mkdir images; mount -t tmpfs -o size=420m images images
        (while [ ! -e out/plan.toml ]; do sleep 0.02; done; head -c 500m /dev/zero > images/filler 2> /dev/null || true) &
        "$FSDERBY" run quick --on "loop:$PWD/images" --image sparse --size 320m --memory 24m --filesystems ext2,ext3-ordered,ext4,xfs,btrfs \
            --workloads postmark-quick --rounds 2 --seed 2 --output out > full.txt 2>&1 || echo "ended with $?"
        wait; rm images/filler
        "$FSDERBY" run --resume out > resumed.txt 2>&1 || echo "resumed with $?"
        ls images
    "#;
    let own = desk.fsderby::<&str>(&[]);
    let mut command = Command::new("unshare");
    command.args(["--mount", "--", "sh", "-c", script]).env("FSDERBY", own.get_program());
    let said = run(command.current_dir(desk.path(".")));
    let said = format!("{said:?} {:?}", std::fs::read_to_string(desk.path("full.txt")));
    assert!(
        said.contains(&format!("ended with {}", exit::TRIALS as i32)) && !said.contains("resumed with"),
        "{said}"
    );
    let run = store::read(&desk.path("out")).unwrap();
    assert!(run.records.iter().all(|record| record.outcome != Outcome::Failed), "{said}");
    let blamed = |reason: &Option<Reason>| matches!(reason, Some(Reason::HostFault { text }) if text.contains("space"));
    let void: Vec<_> = run.records.iter().filter(|record| record.outcome == Outcome::Void).collect();
    assert!(!void.is_empty() && void.iter().all(|record| blamed(&record.reason)), "{void:#?}");
    // A round with a void trial is repeated as a whole.
    let done = run.current().iter().filter(|record| record.outcome == Outcome::Done).count();
    assert_eq!(done, 5 * 3, "five integrity checks and two rounds after all: {said}");
}
