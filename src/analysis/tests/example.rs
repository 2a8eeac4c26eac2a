//! A record that tests alter: a measured trial with empty fields.

use serde_json::json;

use crate::schema::record::Record;

pub fn record() -> Record {
    let work = json!({
        "name": "w", "work": { "engine": "postmark", "parameters": {} }, "params_hash": "",
        "amount": { "files_peak": 0, "bytes_read": 0, "bytes_written": 0, "bytes_peak": 0 },
    });
    let record = json!({
        "schema": 4, "trial": "r01/w/a", "attempt": 1, "purpose": "measure", "round": 1, "order": 1,
        "filesystem": "a", "kind": "ext4", "variant": {}, "scenario": "w", "works": [work],
        "testbed": "loop", "setup": "loop", "storage": { "name": "image" }, "volume": { "size": 0, "offset": 0 },
        "memory": null, "workload_seed": 0, "clock": "host", "fidelity": "loop", "outcome": "done",
        "steps": [], "space": [], "stages": [], "validity": [], "trees": [], "histograms": [],
        "metrics": [], "metrics_version": 0, "previous": "",
        "circumstances": { "started": "", "host_ns": 0, "load": 0.5, "steal_ns": 0, "clock_drift_ns": 0 },
    });
    serde_json::from_value(record).unwrap()
}
