//! Needs that are written wrongly are refused before anything runs.

use super::{file, flags};

const REST: &str =
    "filesystems = ['ext4', 'xfs']\nworkloads = ['postmark-quick', 'maildir-quick']\n[needs]\n";

fn needs(text: &str, words: &[&str]) {
    file(&format!("{REST}{text}"), words);
}

#[test]
fn an_unknown_need_offers_the_nearest() {
    needs("capasity = 1", &["x.toml", "unknown need 'capasity'", "did you mean 'capacity'?"]);
    needs("require = ['jurnal']", &["unknown required capability", "did you mean 'journal'?"]);
    needs("require = ['files over 4 gigs']", &["files over 4 gigs", "is not a size"]);
    needs("draw = 'cp'", &["decide a draw", "did you mean 'cpu'?"]);
    needs(
        "profile = 'mail sever'",
        &["unknown profile of needs 'mail sever'", "did you mean 'mail-server'?"],
    );
    flags(&["--needs", "mailserver"], &["unknown profile of needs", "did you mean 'mail-server'?"]);
}

#[test]
fn a_weight_that_weighs_nothing_is_refused() {
    needs("cpu = -2", &["needs: cpu = -2", "from 0 to", "try: cpu = 1"]);
    needs("cpu = 1e99", &["a weight is a number from 0 to"]);
    needs("workloads = 0\ncpu = 0.0", &["every weight is 0", "try: workloads = 1"]);
    needs("cpu = 'high'", &["line 4"]);
}

#[test]
fn a_workload_or_metric_that_the_experiment_does_not_have_is_refused() {
    needs("workload.postmrk-quick = 1", &["unknown workload 'postmrk-quick'", "'postmark-quick'?"]);
    needs(
        "workload.maildir-quick = { 'transactions.rte' = 1 }",
        &["unknown metric of maildir-quick", "did you mean 'transactions.rate'?"],
    );
    needs(
        "workload.maildir-quick = { 'cpu.share' = 1 }",
        &["neither higher nor lower is better for cpu.share", "try: one of fsderby list metrics"],
    );
}
