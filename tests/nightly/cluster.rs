//! A task of Slurm that reaches its time limit, whose smallest is a minute.

use std::fs;

use crate::support::desk::{Desk, run};
use crate::support::quiet::has_guests;
use crate::support::slurm::Cluster;
use fsderby::runner::verify::verify;
use fsderby::store;

/// Forty rounds take longer than a minute.
const PLAN: &str = "name = \"cluster\"\nsize = \"320m\"\nmemory = \"64m\"\non = \"model:hdd-16tb,samples=off\"\nworkloads = [\"postmark-quick\"]\n\
                    filesystems = [\"ext4\"]\nrounds = 40\nseed = 7\nscale = \"1/64\"\n";

#[test]
fn a_task_at_its_time_limit_ends_cleanly_and_continues_until_it_is_done() {
    if !has_guests("a time limit on Slurm") {
        return;
    }
    let Some(cluster) = Cluster::start("a time limit on Slurm") else { return };
    let desk = Desk::new();
    desk.file("plan.toml", PLAN);
    let words = ["slurm", "plan.toml", "--output", "campaign", "--tasks", "1", "--time", "1", "--submit"];
    let said = run(desk.fsderby(&words).env("SLURM_CONF", cluster.path("slurm.conf")));
    assert_eq!(said.code, 0, "{said:#?}");
    let campaign = desk.path("campaign");
    let log = || fs::read_to_string(campaign.join("log/shards-1.txt")).unwrap_or_default();
    let times = || log().matches("interrupted; finished trials are kept").count();
    cluster.wait("interruption", |_| times() > 0);
    // Each wait lasts five minutes at most.
    cluster
        .wait("end of the shard or another interruption", |_| times() > 2 || campaign.join("run").exists());
    cluster.wait("end of the campaign", |_| campaign.join("ended/check").exists());
    let merged = store::read(&campaign.join("run")).unwrap();
    assert_eq!(verify(&merged).wrong, Vec::<String>::new());
    // An integrity check, and the work of the disk model doubled and tripled.
    assert_eq!(merged.current().len(), 40 + 1 + 2, "{}", log());
    assert_eq!(fs::read_to_string(campaign.join("ended/check")).unwrap(), "0\n");
}
