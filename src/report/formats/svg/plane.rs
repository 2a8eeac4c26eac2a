//! Speed against CPU time, as medians: up is faster, left is less CPU time. The chart shows figures, not findings.

use super::canvas::{Anchor, Canvas, Ink, Theme, cut};
use crate::report::view::entry::{Entry, look};
use crate::report::view::plane::Plane;
use crate::schema::metric::Better;

const SIZE: (f64, f64) = (720.0, 420.0);
const LEFT: f64 = 90.0;
const RIGHT: f64 = 560.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 370.0;
/// The end of an axis ÷ the largest value: slightly above 1.
const ROOM: f64 = 1.1;
const STEPS: usize = 4;

pub fn of(plane: &Plane, entries: &[Entry]) -> String {
    let most = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::MIN_POSITIVE, f64::max) * ROOM;
    let fastest = most(&mut plane.points.iter().map(|point| point.speed));
    let dearest = most(&mut plane.points.iter().map(|point| point.cpu));
    let falls = plane.speed.better == Better::Lower;
    let x = |cpu: f64| LEFT + cpu / dearest * (RIGHT - LEFT);
    let y = |speed: f64| {
        let share = speed / fastest;
        let up = if falls { 1.0 - share } else { share };
        BOTTOM - up * (BOTTOM - TOP)
    };
    let (speeds, cpus) = (plane.speeds(), plane.cpus());
    let mut canvas = Canvas::new(SIZE.0);
    let title = format!("{}: {} against {}", plane.workload, plane.speed.title, plane.cpu.title);
    canvas.text((10.0, 22.0), Anchor::Start, Ink::Strong, &cut(&title, SIZE.0 - 20.0));
    canvas.text(
        (10.0, 40.0),
        Anchor::Start,
        Ink::Soft,
        "medians, not tested; the upper left corner is faster with less CPU time",
    );
    for step in 0..=STEPS {
        let share = step as f64 / STEPS as f64;
        let (speed, cpu) = (share * fastest, share * dearest);
        canvas.grid((LEFT, y(speed)), (RIGHT, y(speed)));
        canvas.grid((x(cpu), TOP), (x(cpu), BOTTOM));
        canvas.text((LEFT - 8.0, y(speed) + 4.0), Anchor::End, Ink::Soft, &speeds.number(speed));
        canvas.text((x(cpu), BOTTOM + 16.0), Anchor::Middle, Ink::Soft, &cpus.number(cpu));
    }
    let axes =
        format!("up: {}; right: {}", speeds.heading(&plane.speed.title), cpus.heading(&plane.cpu.title));
    canvas.text((LEFT, BOTTOM + 36.0), Anchor::Start, Ink::Soft, &axes);
    canvas.says(&format!("A point for each filesystem at its medians, which are not tested. {axes}."));
    for (at, point) in plane.points.iter().enumerate() {
        let (place, number) = ((x(point.cpu), y(point.speed)), (at + 1).to_string());
        let look = look(entries, &point.filesystem);
        canvas.says(&format!(
            "{}: {}, {}.",
            point.filesystem,
            speeds.with_unit(point.speed),
            cpus.with_unit(point.cpu)
        ));
        canvas.mark(place, look, false);
        canvas.text((place.0 + 8.0, place.1 - 6.0), Anchor::Start, Ink::Normal, &number);
        let row = TOP + 18.0 * at as f64 + 8.0;
        canvas.mark((RIGHT + 24.0, row), look, false);
        let name = format!("{number} {}", point.filesystem);
        canvas.text(
            (RIGHT + 36.0, row + 4.0),
            Anchor::Start,
            Ink::Normal,
            &cut(&name, SIZE.0 - RIGHT - 40.0),
        );
    }
    let height = SIZE.1.max(TOP + 18.0 * plane.points.len() as f64 + 20.0);
    canvas.done(height, &title, Theme::Readers)
}
