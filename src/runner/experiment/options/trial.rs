//! Options of the course of a trial.

use clap::value_parser;

use super::{Change, Setting, flag, set, switch};
use crate::runner::plan::scenarios;
use crate::schema::power_cut::PowerCut;

pub static TABLE: &[Setting] = &[
    Setting {
        name: "cold",
        flag: Some(|| {
            switch("cold", "cold", "Begin every trial with cold caches, and verify that they are cold")
        }),
        read: |flags, to| {
            to.cold = Some(to.cold.unwrap_or(false) || flags.one("cold") == Some(true));
            Ok(())
        },
        planned: |from, plan| set(&mut plan.cold, from.cold.unwrap_or(false)),
        stored: |plan, to| to.cold = Some(plan.cold),
        printed: |plan| if plan.cold { vec!["--cold".to_owned()] } else { Vec::new() },
        change: Some(Change {
            what: "cold caches",
            value: |of| of.experiment.cold.unwrap_or(false).to_string(),
        }),
        ..Setting::KEY
    },
    Setting {
        name: "power_cut",
        flag: Some(|| {
            let help = "Cut the power in each trial after this number of operations (700) or share of the workload \
                        (50%), and measure the recovery time";
            flag("power_cut", "power-cut", "N|SHARE", help).value_parser(value_parser!(PowerCut))
        }),
        read: |flags, to| flags.replace("power_cut", &mut to.power_cut),
        // The plan has it as stages of its scenarios.
        stored: |plan, to| to.power_cut = scenarios::given(plan).1,
        printed: |plan| {
            scenarios::given(plan).1.map(|cut| format!("--power-cut {cut}")).into_iter().collect()
        },
        change: Some(Change {
            what: "another power cut",
            value: |of| format!("{:?}", of.experiment.power_cut),
        }),
        ..Setting::KEY
    },
    Setting {
        name: "scenario",
        stored: |plan, to| to.scenario = scenarios::given(plan).0,
        change: Some(Change { what: "other scenarios", value: |of| format!("{:?}", of.experiment.scenario) }),
        ..Setting::KEY
    },
    Setting {
        name: "clients",
        flag: Some(|| {
            let help = "Number of clients (processes); each does the whole workload in its own directory, all \
                        at the same time";
            flag("clients", "clients", "N", help).value_parser(value_parser!(u32))
        }),
        read: |flags, to| flags.replace("clients", &mut to.clients),
        planned: |from, plan| set(&mut plan.clients, from.clients.unwrap_or(1)),
        stored: |plan, to| to.clients = Some(plan.clients),
        printed: |plan| match plan.clients {
            1 => Vec::new(),
            clients => vec![format!("--clients {clients}")],
        },
        change: Some(Change {
            what: "another number of clients",
            value: |of| of.experiment.clients.unwrap_or(1).to_string(),
        }),
        ..Setting::KEY
    },
];
