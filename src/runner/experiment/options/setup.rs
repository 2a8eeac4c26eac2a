//! Options of a setup: where trials happen, and on what.

use std::path::Path;

use clap::value_parser;
use shell_words::quote;

use super::{Change, Setting, TESTBED, flag, repeated, set};
use crate::exit::Failure;
use crate::guest::bundle_file;
use crate::guest::kernel::{self, Same};
use crate::runner::experiment::crossing;
use crate::runner::experiment::{Experiment, SIZE};
use crate::schema::setup::ImageState;
use crate::schema::units::Bytes;
use crate::states;
use crate::testbeds;
use crate::text::names;

pub static TABLE: &[Setting] = &[
    Setting {
        name: TESTBED,
        flag: Some(|| repeated(TESTBED, "on", "TESTBED", testbeds_help())),
        read: |flags, to| {
            let on: Vec<String> = flags.several(TESTBED);
            let on: Vec<String> = on.iter().map(|on| to.usual.on_machine(on)).collect();
            given(&on, &mut to.on, &mut to.cross.on)
        },
        stored: |plan, to| to.on = Some(plan.testbed.clone()),
        printed: |plan| vec![format!("--on {}", quote(&testbeds::written_out(&plan.testbed)))],
        ..Setting::KEY
    },
    Setting {
        name: "kernel",
        // A setting of testbeds, and a factor.
        is_key: false,
        flag: Some(|| {
            let help = "Kernel of virtual machines: a release in the cache (`fsderby kernel list`), or the path of a \
                kernel or its package; repeat to compare kernels";
            repeated("kernel", "kernel", "VERSION|PATH", help)
        }),
        read: |flags, to| give_kernels(&flags.several("kernel"), to),
        ..Setting::KEY
    },
    Setting {
        name: "guest",
        is_key: false,
        flag: Some(|| {
            let help = "Guest bundle (one file with kernel, programs and agent) that virtual machines use instead of \
                        this machine's kernel and programs: an ID of `fsderby guest list`, or a file";
            flag("guest", "guest", "ID|FILE", help).conflicts_with("kernel")
        }),
        read: |flags, to| give_guest(flags.one("guest"), to),
        ..Setting::KEY
    },
    Setting {
        name: "size",
        flag: Some(|| {
            let help = "Size of the volume given to mkfs: 512m, 2g";
            flag("size", "size", "SIZE", help).value_parser(value_parser!(Bytes))
        }),
        read: |flags, to| flags.replace("size", &mut to.size),
        planned: |from, plan| set(&mut plan.size, from.size.unwrap_or(SIZE)),
        stored: |plan, to| to.size = Some(plan.size),
        printed: |plan| vec![format!("--size {}", plan.size.written())],
        change: Some(Change {
            what: "another size",
            value: |of| of.experiment.size.unwrap_or(SIZE).written(),
        }),
        ..Setting::KEY
    },
    Setting {
        name: "memory",
        flag: Some(|| {
            let help = "Memory limit for page cache and workload: 64m; `none` for no limit; repeat to compare several";
            repeated("memory", "memory", "MEMORY", help).value_parser(memory)
        }),
        read: |flags, to| {
            let asked = flags.several("memory");
            given(&limits(&asked)?, &mut to.memory, &mut to.cross.memory)?;
            if matches!(asked[..], [Memory::None]) {
                to.memory = None;
                to.cross.memory.clear();
            }
            Ok(())
        },
        planned: |from, plan| set(&mut plan.memory, from.memory),
        stored: |plan, to| to.memory = plan.memory,
        printed: |plan| {
            vec![format!("--memory {}", plan.memory.map_or_else(|| "none".to_owned(), Bytes::written))]
        },
        change: Some(Change {
            what: "another memory limit",
            value: |of| format!("{:?}", of.common(|candidate| candidate.own.memory, of.experiment.memory)),
        }),
        ..Setting::KEY
    },
    Setting {
        name: "cpus",
        flag: Some(|| {
            let help = "Number of vCPUs of a guest with --on vm; default 1; repeat to compare several";
            repeated("cpus", "cpus", "N", help).value_parser(value_parser!(u32))
        }),
        read: |flags, to| given(&flags.several("cpus"), &mut to.cpus, &mut to.cross.cpus),
        planned: |from, plan| set(&mut plan.cpus, from.cpus),
        stored: |plan, to| to.cpus = plan.cpus,
        printed: |plan| plan.cpus.map(|cpus| format!("--cpus {cpus}")).into_iter().collect(),
        change: Some(Change {
            what: "another number of CPUs",
            value: |of| format!("{:?}", of.common(|candidate| candidate.own.cpus, of.experiment.cpus)),
        }),
        ..Setting::KEY
    },
    Setting {
        name: "image",
        flag: Some(|| {
            let help = "State of the image file before mkfs: `sparse` (no space allocated), `allocated` (allocated \
                but not written) or `written`";
            flag("image", "image", "STATE", help).value_parser(image)
        }),
        read: |flags, to| flags.replace("image", &mut to.image),
        planned: |from, plan| set(&mut plan.image, from.image.unwrap_or_default()),
        stored: |plan, to| to.image = Some(plan.image),
        printed: |plan| {
            let is_default = plan.image == ImageState::default();
            if is_default { Vec::new() } else { vec![format!("--image {}", plan.image.name())] }
        },
        change: Some(Change {
            what: "other image states",
            value: |of| of.experiment.image.unwrap_or_default().name().to_owned(),
        }),
        ..Setting::KEY
    },
    Setting {
        name: "state",
        flag: Some(|| {
            let help = "Initial state: `fresh`, 'filled 80%' (files with data), 'allocated 80%' (files without \
                        data), 'aged by SET' (a set of `fsderby list workloads`), or `preconditioned` (the \
                        flash drive was overwritten until its speed was steady); repeat to compare several";
            repeated("state", "state", "STATE", help)
        }),
        read: |flags, to| given(&flags.several("state"), &mut to.state, &mut to.cross.state),
        planned: |from, plan| set(&mut plan.state, from.state.clone()),
        stored: |plan, to| to.state.clone_from(&plan.state),
        printed: |plan| plan.state.iter().map(|state| format!("--state {}", quote(state))).collect(),
        // A stated `fresh` equals no stated state.
        change: Some(Change {
            what: "another state",
            value: |of| {
                let state = of.common(|candidate| candidate.own.state.clone(), of.experiment.state.clone());
                state.filter(|state| state != states::FRESH).unwrap_or_default()
            },
        }),
        ..Setting::KEY
    },
    Setting {
        name: "era",
        flag: Some(|| {
            let help = "Give every filesystem the default mkfs and mount options of this era, such as 2006, if the era covers it \
                        (`fsderby explain 2006` lists them); options of the experiment come after them";
            flag("era", "era", "ERA", help)
        }),
        // Its effect is on the candidates, which a plan stores.
        read: |flags, to| flags.replace("era", &mut to.era),
        ..Setting::KEY
    },
    Setting {
        name: "layers",
        flag: Some(|| {
            let help = "RAID or encryption (a layer) between disks and filesystem: md:raid5,chunk=64k or \
                        crypt; repeat to stack several layers, lowest first; replaces the experiment's layers";
            repeated("layers", "layer", "SPEC", help)
        }),
        read: |flags, to| {
            let layers = flags.several("layers");
            if !layers.is_empty() {
                to.layers = layers;
            }
            Ok(())
        },
        planned: |from, plan| set(&mut plan.layers, from.written_layers()?),
        stored: |plan, to| to.layers.clone_from(&plan.layers),
        printed: |plan| plan.layers.iter().map(|layer| format!("--layer {}", quote(layer))).collect(),
        change: Some(Change {
            what: "other layers",
            value: |of| {
                let layers = of.experiment.written_layers().ok();
                format!("{:?}", of.common(|candidate| candidate.own.layers.clone(), layers))
            },
        }),
        ..Setting::KEY
    },
];

/// Help of `--on`: the syntax of all testbeds.
fn testbeds_help() -> String {
    let usages: Vec<String> = testbeds::TABLE.iter().map(|kind| format!("`{}`", kind.usage())).collect();
    let usages = usages.join(", ");
    format!(
        "Testbed, on which the trials run (`fsderby list testbeds` describes each): {usages} or `{auto}`; repeat to \
         compare several testbeds",
        auto = testbeds::AUTO
    )
}

#[derive(Clone, Copy, Debug)]
enum Memory {
    Limit(Bytes),
    None,
}

fn memory(text: &str) -> Result<Memory, String> {
    if text == "none" { Ok(Memory::None) } else { text.parse().map(Memory::Limit) }
}

/// `none` means no limit, so it cannot be combined with limits.
fn limits(memory: &[Memory]) -> Result<Vec<Bytes>, Failure> {
    let limit = |memory: &Memory| match memory {
        Memory::Limit(limit) => Some(*limit),
        Memory::None => None,
    };
    let limits: Vec<Bytes> = memory.iter().filter_map(limit).collect();
    if limits.len() < memory.len() && memory.len() > 1 {
        let text =
            "--memory none cannot be combined with other limits\n  try: the machine's memory size as a limit";
        return Err(Failure::usage(text));
    }
    Ok(limits)
}

fn image(text: &str) -> Result<ImageState, String> {
    let known = ImageState::ALL.map(ImageState::name);
    let found = ImageState::ALL.into_iter().find(|state| state.name() == text);
    found.ok_or_else(|| names::unknown("state of an image", text, known))
}

/// One value applies to all candidates; several values are combined with each candidate.
fn given<T: Clone>(values: &[T], common: &mut Option<T>, cross: &mut Vec<T>) -> anyhow::Result<()> {
    match values {
        [] => {}
        [one] => {
            *common = Some(one.clone());
            cross.clear();
        }
        several => {
            *common = None;
            *cross = several.to_vec();
        }
    }
    Ok(())
}

/// Adds kernels to the testbeds' settings; kernel files are imported into the cache.
fn give_kernels(kernels: &[String], experiment: &mut Experiment) -> anyhow::Result<()> {
    let release = |kernel: &String| match kernel.contains('/') {
        true => Ok(kernel::import(Path::new(kernel), Same::Refuse)?.index.release),
        false => Ok(kernel.clone()),
    };
    let releases: Vec<String> = kernels.iter().map(release).collect::<anyhow::Result<_>>()?;
    match releases.as_slice() {
        [] => {}
        [one] if experiment.cross.on.is_empty() => {
            let on = experiment.on.as_deref().unwrap_or(testbeds::AUTO);
            experiment.on = Some(crossing::with_kernel(on, one).map_err(Failure::usage)?);
            experiment.cross.kernel.clear();
        }
        _ => experiment.cross.kernel = releases,
    }
    Ok(())
}

/// Adds a guest bundle to the testbeds' settings; a bundle file is imported into the cache.
pub fn give_guest(guest: Option<String>, experiment: &mut Experiment) -> anyhow::Result<()> {
    let Some(guest) = guest else { return Ok(()) };
    let bundle = bundle_file::named(&guest)?;
    let with = |on: &str| crossing::with_guest(on, bundle.short()).map_err(Failure::usage);
    if experiment.cross.on.is_empty() {
        experiment.on = Some(with(experiment.on.as_deref().unwrap_or(testbeds::AUTO))?);
    }
    for on in &mut experiment.cross.on {
        *on = with(on)?;
    }
    Ok(())
}
