//! The factors that all candidates have in common, and the host.

use crate::analysis::drive;
use crate::report::compose::{model, setups};
use crate::report::view::Summary;
use crate::report::view::number::count;
use crate::schema::machine::{Disk, Machine, OnMachine};
use crate::store::Run;

/// The disk in words: `sda Example Disk, 500 GiB, rotating, scheduler mq-deadline; images on cedarfs (rw,relatime)`.
fn disk_in_words(disk: &Disk) -> String {
    let named = format!("{} {}", disk.name, disk.model);
    let turns = if disk.rotational { "rotating" } else { "not rotating" };
    // The kernel lists all schedulers, with the active one in brackets.
    let scheduler = disk.scheduler.split(['[', ']']).nth(1).unwrap_or(&disk.scheduler);
    let images = format!("images on {} ({})", disk.fstype, disk.options.join(","));
    format!("{disk}, {size}, {turns}, scheduler {scheduler}; {images}", disk = named.trim(), size = disk.size)
}

pub fn of(run: &Run, summary: &Summary) -> Vec<(&'static str, String)> {
    let (plan, machine) = (&run.plan, &run.machine);
    let on = setups::shown_of_machine(run, &summary.setups);
    let linux = format!("{} {} ({})", on.kernel, on.kernel_build, machine.architecture);
    if summary.setups.differ() {
        let common = summary.setups.common.iter().map(|(factor, value)| (*factor, value.clone()));
        let host = [
            ("volume", plan.size.to_string()),
            ("host: Linux", linux),
            ("host: processor", processor(&on, machine)),
            ("host: memory", machine.memory.to_string()),
        ];
        return common.chain(host).collect();
    }
    let memory = plan.memory.map_or_else(String::new, |memory| format!(", {memory} of memory"));
    [
        ("Testbed", format!("{}, a volume of {}{memory}", plan.testbed, plan.size)),
        ("Linux", linux),
        ("Processor", model::cpu(run).unwrap_or_else(|| processor(&on, machine))),
        ("Memory", machine.memory.to_string()),
        ("Disk", model::disk(run).unwrap_or_else(|| disk_in_words(&on.disk))),
    ]
    .into_iter()
    .chain(drive::over(&run.records).map(|text| ("Drive", text)))
    .collect()
}

fn processor(on: &OnMachine, machine: &Machine) -> String {
    let under = match machine.hypervisor.as_str() {
        "" => String::new(),
        hypervisor => format!("; hypervisor: {hypervisor}"),
    };
    format!("{}, {}{under}", on.cpu, count(on.cpus as usize, "CPU"))
}
