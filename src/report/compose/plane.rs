//! Speed against CPU time, as medians: a chart, not a finding.

use crate::report::view::plane::{Axis, Plane, Point};
use crate::report::view::row::{Cell, Row};
use crate::report::view::workload::WorkloadSummary;
use crate::schema::metric::Better;
use crate::schema::needs::Aspect;

/// The planes of all workloads in which at least two candidates have both figures; omits the A/A copy.
pub fn of(workloads: &[WorkloadSummary], copy: Option<&str>) -> Vec<Plane> {
    let planes =
        |work| rows(work).into_iter().filter_map(move |(speed, cpu)| plane(work, (speed, cpu), copy));
    workloads.iter().flat_map(planes).collect()
}

/// Each headline metric with the CPU time of the same work.
fn rows(work: &WorkloadSummary) -> Vec<(&Row, &Row)> {
    let aspect = |row: &Row| row.declared.and_then(|declared| declared.aspect);
    let speeds = work.rows().filter(|r| r.headline && r.better != Better::Neither && aspect(r).is_none());
    let cpu = |speed: &Row| {
        work.rows().find(|row| aspect(row) == Some(Aspect::Cpu) && row.work == speed.work && !row.once)
    };
    speeds.filter_map(|speed| Some((speed, cpu(speed)?))).collect()
}

fn plane(work: &WorkloadSummary, (speed, cpu): (&Row, &Row), copy: Option<&str>) -> Option<Plane> {
    let median = |row: &Row, filesystem: &str| {
        let of = |cell: &&Cell| cell.filesystem == filesystem;
        row.cells.iter().find(of).and_then(|cell| cell.median).filter(|median| *median > 0.0)
    };
    let point = |cell: &Cell| {
        let (speed, cpu) = (median(speed, &cell.filesystem)?, median(cpu, &cell.filesystem)?);
        Some(Point { filesystem: cell.filesystem.clone(), speed, cpu })
    };
    let all: Vec<Point> =
        speed.cells.iter().filter(|cell| copy != Some(&cell.filesystem)).filter_map(point).collect();
    if all.len() < 2 {
        return None;
    }
    Some(Plane { workload: work.label.clone(), speed: axis(speed), cpu: axis(cpu), points: all })
}

fn axis(row: &Row) -> Axis {
    Axis {
        metric: row.name.clone(),
        title: row.title.clone(),
        unit: row.unit.clone(),
        direction: row.direction(),
        better: row.better,
    }
}
