//! Options of commands that take minutes, a cluster, or a disk of their own: a wrong value is refused by name, and nothing is left
//! behind. That they work is shown by `tests/guests` and `tests/nightly`, where a machine for it can be had.

use crate::support::desk::Desk;
use fsderby::exit::{MISSING, USAGE};

#[test]
fn a_wrong_value_is_refused_and_leaves_nothing() {
    let desk = Desk::new();
    let before = desk.names();
    let cases: [(&[&str], u8, &str); 11] = [
        (&["disk", "twin", "--disk", "no-such"], USAGE, "unknown disk 'no-such'"),
        (&["disk", "twin", "--mips", "0"], USAGE, "mips"),
        (&["disk", "twin", "--rounds", "0"], USAGE, "--rounds"),
        (&["disk", "steady", "no-such", "--guest"], USAGE, "unknown disk 'no-such'"),
        (&["machine", "measure", "--filesystems", "no-such"], USAGE, "unknown filesystem 'no-such'"),
        (&["machine", "measure", "--rounds", "0"], USAGE, "--rounds"),
        (&["kernel", "fetch", "--replace", "./no-such.deb"], MISSING, "could not open ./no-such.deb"),
        (&["merge", "out", "no-such", "--sign", "no-key"], USAGE, "could not read the key no-key"),
        (
            &["slurm", "hard-disk", "--tasks", "4", "--guest", "no-such"],
            MISSING,
            "'no-such' is not a guest bundle",
        ),
        (&["verify", "run", "--rerun", "1", "--times", "0"], USAGE, "--times"),
        (&["device", "claim", "no-such", "--full"], MISSING, "fsderby: "),
    ];
    for (arguments, code, words) in cases {
        desk.refuses(arguments, code.into(), &[words]);
        assert_eq!(desk.names(), before, "{arguments:?}");
    }
}
