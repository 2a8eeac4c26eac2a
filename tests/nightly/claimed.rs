//! A claimed disk in a guest that is the host: forty kills of runs at moments spread over a run, trouble of the drive, hostile arguments,
//! every ready experiment.

use crate::support::harness_devices;

/// Ten moments of the guest's seconds from this one on.
fn from(first: f64) {
    let moments: Vec<f64> = (0..10).map(|n| first + f64::from(n)).collect();
    harness_devices::kills(&moments);
}

mod first {
    #[test]
    fn ten_killed_runs_leave_nothing_and_go_on() {
        super::from(0.2);
    }
}

mod second {
    #[test]
    fn ten_killed_runs_leave_nothing_and_go_on() {
        super::from(0.45);
    }
}

mod third {
    #[test]
    fn ten_killed_runs_leave_nothing_and_go_on() {
        super::from(0.7);
    }
}

mod fourth {
    #[test]
    fn ten_killed_runs_leave_nothing_and_go_on() {
        super::from(0.95);
    }
}

mod condition {
    use crate::support::harness::Order;
    use crate::support::harness_devices::{RUN, SCSI, claim, sh, told, with_scsi_disk};

    /// Of the driver: 2 for sectors that cannot be read.
    const OPTS: &str = "/sys/bus/pseudo/drivers/scsi_debug/opts";

    /// The kernel's own messages of a failed read, a setting that somebody changes, a temperature by smartctl.
    #[test]
    fn trouble_of_the_drive_voids_a_trial_and_its_serial_number_can_be_hidden() {
        let mut host = with_scsi_disk();
        host.programs.extend(["smartctl", "dd", "cut", "ls"].map(str::to_owned));
        let hash = "$(fsderby device list --json | grep -o 'hash-[0-9a-f]*')";
        let run = |on: &str| RUN.replace("device:tenth", &format!("device:{on}"));
        let node = "/dev/$(ls -d /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*/block/* | grep -o 'sd[a-z]*$')";
        // The first record is there, and the next trial runs.
        let amid = |what: &str| format!("until test -d /root/run; do sleep 0.1; done; sleep 0.5; {what}");
        let orders = [
            Order::fsderby(&["device", "list"]),
            claim(&[SCSI, "--yes-erase", SCSI]),
            sh(&format!("echo 0 >{OPTS}; fsderby device claim {SCSI} --yes-erase {SCSI}; echo 2 >{OPTS}")),
            claim(&[SCSI, "--yes-erase", SCSI]),
            sh(&format!(
                "fsderby {} & run=$!; {}; wait $run; fsderby verify /root/run; cat /root/run/trials.jsonl",
                run(SCSI),
                amid(&format!(
                    "for n in 1 2 3; do dd if={node} of=/dev/null iflag=direct bs=512 count=1 skip=307200 || echo unreadable; sleep 0.3; done"
                ))
            )),
            sh(&format!(
                "rm -r /root/run; fsderby {} & run=$!; {}; wait $run; fsderby verify /root/run; cat /root/run/trials.jsonl",
                run(hash),
                amid(&format!("d={node}; echo 'write through' >/sys/block/${{d#/dev/}}/queue/write_cache"))
            )),
            sh(&format!("! grep -rlE 'device:{SCSI}|\"{SCSI}\"|naa\\.' /root/run")),
            Order::fsderby(&["device", "release", SCSI]),
        ];
        let Some(lived) = host.carry_out(&orders) else { return };
        let told = format!("{}\n{}", told(&lived), lived.log.join("\n"));
        assert_eq!((lived.panic.as_deref(), lived.said.len()), (None, orders.len()), "{told}");
        let says = |n: usize, texts: &[&str]| {
            let said = &lived.said[n];
            let all = said.err.clone() + &said.out;
            texts.iter().for_each(|text| assert!(all.contains(text), "{n}: {text}: {told}"));
        };
        says(1, &["could not read sda: Input/output error"]);
        says(2, &["claimed 2000"]);
        says(3, &["claimed already"]);
        says(
            4,
            &[
                "unreadable",
                "the kernel's log: ",
                "\"celsius\":38",
                "\"outcome\":\"void\"",
                "\"outcome\":\"done\"",
                "OK",
            ],
        );
        says(5, &["the write cache of sd", "\"serial\":\"hash-", "OK"]);
        assert_eq!(lived.said[6].code, 0, "no record names the serial number: {told}");
        says(7, &["released 2000"]);
        assert_eq!(lived.altered(), Vec::<&str>::new(), "{told}");
    }
}

mod battery {
    use crate::harness::entropy;
    use crate::support::harness_battery::no_list_harms_another_disk;

    #[test]
    fn none_of_a_hundred_lists_on_a_claimed_disk_alters_another() {
        no_list_harms_another_disk(100, entropy());
    }

    #[test]
    fn none_of_a_hundred_other_lists_on_a_claimed_disk_alters_another() {
        no_list_harms_another_disk(100, entropy() + 1);
    }
}

mod experiments {
    use fsderby::schema::units::{Bytes, GIB};

    use crate::support::harness::{Disk, Order};
    use crate::support::harness_devices::{claim, told, with_one_disk};

    /// Those that neither describe another disk's layers nor cut its power.
    #[test]
    fn each_ready_experiment_is_pointed_at_a_disk_by_one_option() {
        let mut host = with_one_disk();
        host.disks.push(Disk::with("large", &[], Bytes(1100 * GIB)));
        let names: Vec<String> =
            fsderby::runner::experiment::SHIPPED.iter().map(|(name, _)| (*name).to_owned()).collect();
        let mut orders = vec![claim(&["large", "--yes-erase", "large"])];
        orders.extend(
            names.iter().map(|name| Order::fsderby(&["run", name, "--on", "device:large", "--dry-run"])),
        );
        let small = "run fileserver-2002 --on device:large --filesystems ext2,ext3-ordered --scale 1/256 --size 320m --rounds 1 \
            --output /root/run";
        orders.push(Order::fsderby(&small.split_whitespace().collect::<Vec<_>>()));
        orders.push(Order::fsderby(&["verify", "/root/run"]));
        let Some(lived) = host.carry_out(&orders) else { return };
        let told = told(&lived);
        if let Ok(path) = std::env::var("FSDERBY_TOLD") {
            std::fs::write(path, &told).unwrap();
        }
        assert_eq!((lived.panic.as_deref(), lived.said.len()), (None, orders.len()), "{told}");
        for (name, said) in names.iter().zip(&lived.said[1..]) {
            assert!(said.code == 0 && said.out.contains("device:large"), "{name}: {said:#?}");
        }
        assert!(lived.said[names.len() + 2].out.contains("OK"), "{told}");
        assert_eq!(lived.altered(), ["large"], "{told}");
    }
}
