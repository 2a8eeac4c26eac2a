//! Speed against CPU time: who is behind another in both, and who is not.

use crate::report::view::number::list;
use crate::report::view::plane::{Axis, Plane, Point};
use crate::report::view::row::{Cell, Row};
use crate::report::view::workload::WorkloadSummary;
use crate::schema::metric::Better;
use crate::schema::needs::Aspect;
use crate::schema::units::Percent;

/// The planes of all workloads in which two or more have both figures; without the copy of one that takes part twice.
pub fn of(workloads: &[WorkloadSummary], margin: Percent, copy: Option<&str>) -> Vec<Plane> {
    let planes =
        |work| rows(work).into_iter().filter_map(move |(speed, cpu)| plane(work, (speed, cpu), margin, copy));
    workloads.iter().flat_map(planes).collect()
}

/// Each headline metric with the CPU time of its own work.
fn rows(work: &WorkloadSummary) -> Vec<(&Row, &Row)> {
    let aspect = |row: &Row| row.declared.and_then(|declared| declared.aspect);
    let speeds = work.rows().filter(|r| r.headline && r.better != Better::Neither && aspect(r).is_none());
    let cpu = |speed: &Row| {
        work.rows().find(|row| aspect(row) == Some(Aspect::Cpu) && row.work == speed.work && !row.once)
    };
    speeds.filter_map(|speed| Some((speed, cpu(speed)?))).collect()
}

fn plane(
    work: &WorkloadSummary,
    (speed, cpu): (&Row, &Row),
    margin: Percent,
    copy: Option<&str>,
) -> Option<Plane> {
    let median = |row: &Row, filesystem: &str| {
        let of = |cell: &&Cell| cell.filesystem == filesystem;
        row.cells.iter().find(of).and_then(|cell| cell.median).filter(|median| *median > 0.0)
    };
    let point = |cell: &Cell| {
        let (speed, cpu) = (median(speed, &cell.filesystem)?, median(cpu, &cell.filesystem)?);
        Some(Point { filesystem: cell.filesystem.clone(), speed, cpu, in_front: false })
    };
    let all: Vec<Point> =
        speed.cells.iter().filter(|cell| copy != Some(&cell.filesystem)).filter_map(point).collect();
    if all.len() < 2 {
        return None;
    }
    let compared = Compared { more: 1.0 + margin.0 / 100.0, faster: speed.better };
    let in_front = |point: &Point| !all.iter().any(|other| compared.dominates(other, point));
    let points: Vec<Point> =
        all.iter().map(|point| Point { in_front: in_front(point), ..point.clone() }).collect();
    Some(Plane {
        workload: work.label.clone(),
        sentence: sentence(work, speed, &points),
        speed: axis(speed),
        cpu: axis(cpu),
        points,
    })
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

struct Compared {
    /// A ratio above it is a difference.
    more: f64,
    faster: Better,
}

impl Compared {
    /// As good at both, and by more than the margin better at one.
    fn dominates(&self, a: &Point, b: &Point) -> bool {
        let speed = if self.faster == Better::Lower { b.speed / a.speed } else { a.speed / b.speed };
        let cpu = b.cpu / a.cpu;
        speed >= 1.0 && cpu >= 1.0 && (speed > self.more || cpu > self.more)
    }
}

fn sentence(work: &WorkloadSummary, speed: &Row, points: &[Point]) -> String {
    let order = |a: &&Point, b: &&Point| match speed.better {
        Better::Lower => a.speed.total_cmp(&b.speed),
        _ => b.speed.total_cmp(&a.speed),
    };
    let mut front: Vec<&Point> = points.iter().filter(|point| point.in_front).collect();
    front.sort_by(order);
    let labels: Vec<String> = front.iter().map(|point| point.filesystem.clone()).collect();
    let whose = format!("{}, {}", work.label, speed.title);
    match labels.as_slice() {
        [one] => format!("{whose}: none is faster than {one}, and none needs less CPU time."),
        several if several.len() == points.len() => {
            format!("{whose}: who is faster needs more CPU time; from the fastest on {}.", list(several))
        }
        several => format!(
            "{whose}: in front are {}, from the fastest to the one with the least CPU time; for every other, one of them is as fast \
             with less CPU time, or faster with as much.",
            list(several)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(speed: f64, cpu: f64) -> Point {
        Point { filesystem: String::new(), speed, cpu, in_front: false }
    }

    #[test]
    fn who_is_slower_and_needs_more_is_behind() {
        let rate = Compared { more: 1.03, faster: Better::Higher };
        assert!(rate.dominates(&point(100.0, 2.0), &point(90.0, 3.0)));
        assert!(!rate.dominates(&point(100.0, 3.0), &point(90.0, 2.0)), "fast and demanding");
        assert!(!rate.dominates(&point(101.0, 2.0), &point(100.0, 2.01)), "within the margin");
        let time = Compared { more: 1.03, faster: Better::Lower };
        assert!(time.dominates(&point(90.0, 2.0), &point(100.0, 2.0)));
    }
}
