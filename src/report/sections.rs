//! The sections of a report: their order, and how each is drawn. What stands in them is declared by those who measure it.

use crate::declared::Section;

/// A section's words and looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    pub title: &'static str,
    /// How to read it; may be empty.
    pub note: &'static str,
    pub drawing: Drawing,
}

/// How a section is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Drawing {
    /// All metrics of one unit in one chart, one group of bars each.
    Grouped,
    /// A small chart with its own scale for each metric.
    Panels,
}

/// Where it stands in the report. What this fsderby does not declare, as in records of another version, comes last.
pub fn place(section: Option<Section>) -> u8 {
    match section {
        Some(Section::Headline) => 0,
        Some(Section::Own { .. }) => 1,
        Some(Section::Files) => 2,
        Some(Section::Throughput) => 3,
        Some(Section::Steps) => 4,
        Some(Section::Recovery) => 5,
        Some(Section::Processor) => 6,
        Some(Section::Device) => 7,
        Some(Section::Capacity) => 8,
        None => 9,
    }
}

pub fn shown(section: Option<Section>) -> Shown {
    let panels = |title, note| Shown { title, note, drawing: Drawing::Panels };
    let grouped = |title, note| Shown { title, note, drawing: Drawing::Grouped };
    match section {
        Some(Section::Headline) => panels("Headline", ""),
        Some(Section::Own { title, note }) => panels(title, note),
        Some(Section::Files) => grouped(
            "Files",
            "Operations on whole files in a second of the phase that is named. Figures too small to be seen beside the others \
             have a chart with a scale of its own.",
        ),
        Some(Section::Throughput) => grouped("Throughput", ""),
        Some(Section::Steps) => panels("Steps around the work", "Each has its own scale."),
        Some(Section::Recovery) => panels(
            "Recovery",
            "The power was cut in the middle of the work. Recovery is timed from the disk as it was left to the first new file; \
             the machine's own boot is not part of it.",
        ),
        Some(Section::Processor) => panels(
            "Processor and page faults",
            "A share of the CPU is neither good nor bad: work that waits for the disk has a small one. CPU seconds are what the \
             same work costs.",
        ),
        Some(Section::Device) => panels(
            "What reached the device",
            "From the start of the work to the end of the sync. Device ÷ written is what reached the device ÷ what the work \
             wrote.",
        ),
        Some(Section::Capacity) => panels("Capacity and memory", ""),
        None => {
            panels("Other", "This version of fsderby does not compute these, so it cannot say what they are.")
        }
    }
}
