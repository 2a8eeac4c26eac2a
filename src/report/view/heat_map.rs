//! A metric over two quantities, such as file size and record size: a heat map for each candidate, and a heat map of its ratio to a
//! reference candidate.

use super::number::Scale;
use super::row::{Cell, Row};
use crate::schema::metric::{Better, Owner};
use crate::schema::units::Bytes;

#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    pub title: String,
    /// The title in a short form for a narrow column.
    pub short: String,
    /// Meaning of the metric; empty if the metric is not declared.
    pub explained: &'static str,
    pub direction: &'static str,
    pub unit: String,
    /// The work that the metric belongs to, if a trial has several works.
    pub work: Owner,
    pub down: Axis,
    pub across: Axis,
    /// One heat map for each candidate, in plan order.
    pub fields: Vec<Field>,
    better: Better,
}

/// One of the two quantities, and its values in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    name: String,
    pub values: Vec<u64>,
}

/// Row by row; `None` for cells that were not measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub filesystem: String,
    pub lines: Vec<Vec<Option<f64>>>,
}

/// A quantity with this suffix is a size.
const BYTES: &str = "_bytes";
/// A heat map has at least this many cells.
const LEAST: usize = 2;

impl Axis {
    /// The quantity's name for readers: `file`.
    pub fn title(&self) -> String {
        self.name.strip_suffix(BYTES).unwrap_or(&self.name).replace(['_', '-'], " ")
    }

    /// A value of the quantity as text: `64 KiB`, `12`.
    pub fn shown(&self, value: u64) -> String {
        if self.name.ends_with(BYTES) { Bytes(value).to_string() } else { value.to_string() }
    }
}

/// The common unit of all maps, as displayed.
pub fn common_unit(maps: &[HeatMap]) -> Option<String> {
    let mut units = maps.iter().map(|map| map.scale().unit);
    let first = units.next()?;
    units.all(|unit| unit == first).then_some(first)
}

impl Field {
    pub fn has_any(&self) -> bool {
        self.lines.iter().flatten().any(Option::is_some)
    }
}

/// Heat maps of every metric with two quantities. Each row is one cell of a heat map.
pub fn of(rows: &[Row]) -> Vec<HeatMap> {
    let mut maps: Vec<HeatMap> = Vec::new();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for row in rows.iter().filter(|row| row.is_on_a_map()) {
        if !seen.contains(&(&row.name, &row.work)) {
            seen.push((&row.name, &row.work));
            let same =
                |other: &&Row| other.is_on_a_map() && (&other.name, &other.work) == (&row.name, &row.work);
            maps.extend(one(&rows.iter().filter(same).collect::<Vec<_>>()));
        }
    }
    maps
}

fn one(rows: &[&Row]) -> Option<HeatMap> {
    let first = *rows.first().filter(|_| rows.len() >= LEAST)?;
    let [down, across] = [axis(rows, 0)?, axis(rows, 1)?];
    let field = |cell: &Cell| Field {
        filesystem: cell.filesystem.clone(),
        lines: vec![vec![None; across.values.len()]; down.values.len()],
    };
    let mut fields: Vec<Field> = first.cells.iter().map(field).collect();
    for row in rows {
        let place = |axis: &Axis, at: usize| {
            row.quantities.get(at).and_then(|(_, value)| axis.values.iter().position(|v| v == value))
        };
        let (line, column) = (place(&down, 0)?, place(&across, 1)?);
        for (field, cell) in fields.iter_mut().zip(&row.cells) {
            field.lines[line][column] = cell.median;
        }
    }
    Some(HeatMap {
        title: first.declared.map_or_else(|| first.name.clone(), |d| d.title_of(&first.name)),
        short: first.declared.map_or_else(|| first.name.clone(), |d| d.heading().replace('\n', " ")),
        explained: first.explained,
        direction: first.direction(),
        unit: first.unit.clone(),
        work: first.work.clone(),
        better: first.better,
        down,
        across,
        fields,
    })
}

/// The axis at this position; `None` unless all rows have the same quantity there.
fn axis(rows: &[&Row], at: usize) -> Option<Axis> {
    let quantities: Vec<&(String, u64)> = rows.iter().filter_map(|row| row.quantities.get(at)).collect();
    let name = quantities.first().map(|(name, _)| name.clone())?;
    let is_of_all = quantities.len() == rows.len() && quantities.iter().all(|(other, _)| *other == name);
    let mut values: Vec<u64> = quantities.into_iter().map(|(_, value)| *value).collect();
    values.sort_unstable();
    values.dedup();
    is_of_all.then_some(Axis { name, values })
}

impl HeatMap {
    pub fn scale(&self) -> Scale {
        Scale::of(&self.unit, self.values())
    }

    /// The title of a table line: with its work if a trial has several, and with its unit if the table does not state it.
    pub fn named(&self, says_unit: bool) -> String {
        let name = if says_unit { self.scale().heading(&self.short) } else { self.short.clone() };
        if self.work.is_empty() { name } else { format!("{}: {name}", self.work) }
    }

    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.fields.iter().flat_map(|field| field.lines.iter().flatten()).flatten().copied()
    }

    /// The reference of the ratios: the wanted candidate, or the first candidate with a figure.
    pub fn compared_with<'m>(&'m self, wanted: Option<&'m str>) -> Option<&'m str> {
        let known = self.fields.iter().filter(|field| field.has_any()).map(|field| field.filesystem.as_str());
        let known: Vec<&str> = known.collect();
        wanted.filter(|wanted| known.contains(wanted)).or(known.first().copied())
    }

    /// The ratio of every other candidate to the candidate `to`, cell by cell.
    pub fn ratios(&self, to: &str) -> Vec<Field> {
        let Some(base) = self.fields.iter().find(|field| field.filesystem == to) else { return Vec::new() };
        let times = |(value, base): (&Option<f64>, &Option<f64>)| match ((*value)?, (*base)?) {
            (value, base) if value <= 0.0 || base <= 0.0 => None,
            (value, base) if self.better == Better::Lower => Some(base / value),
            (value, base) => Some(value / base),
        };
        let line = |(line, base): (&Vec<_>, &Vec<_>)| line.iter().zip(base).map(times).collect();
        let ratio = |field: &Field| Field {
            filesystem: field.filesystem.clone(),
            lines: field.lines.iter().zip(&base.lines).map(line).collect(),
        };
        let others = self.fields.iter().filter(|field| field.filesystem != to).map(ratio);
        others.filter(|field| field.has_any()).collect()
    }

    /// Each candidate's geometric mean over the cells that all measured candidates have; `None` without such a cell.
    pub fn means(&self) -> Vec<Option<f64>> {
        let measured: Vec<&Field> = self.fields.iter().filter(|field| field.has_any()).collect();
        let places = (0..self.down.values.len())
            .flat_map(|line| (0..self.across.values.len()).map(move |column| (line, column)));
        let of_all: Vec<(usize, usize)> = places
            .filter(|(line, column)| {
                measured.iter().all(|field| field.lines[*line][*column].is_some_and(|v| v > 0.0))
            })
            .collect();
        let mean = |field: &Field| {
            let logs: Option<f64> =
                of_all.iter().map(|(line, column)| field.lines[*line][*column].map(f64::ln)).sum();
            logs.filter(|_| !of_all.is_empty()).map(|sum| (sum / of_all.len() as f64).exp())
        };
        self.fields.iter().map(mean).collect()
    }

    /// Each measured cell: its two quantities, and every candidate's value.
    pub fn cells(&self) -> Vec<(String, Vec<Option<f64>>)> {
        let mut cells = Vec::new();
        for (line, down) in self.down.values.iter().enumerate() {
            for (column, across) in self.across.values.iter().enumerate() {
                let values: Vec<Option<f64>> =
                    self.fields.iter().map(|field| field.lines[line][column]).collect();
                if values.iter().any(Option::is_some) {
                    let place = format!("{}, {}", self.down.shown(*down), self.across.shown(*across));
                    cells.push((place, values));
                }
            }
        }
        cells
    }

    /// The names of both axes: `file × record`.
    pub fn axes(&self) -> String {
        format!("{} × {}", self.down.title(), self.across.title())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(better: Better) -> HeatMap {
        let field = |name: &str, values: [Option<f64>; 4]| Field {
            filesystem: name.into(),
            lines: values.chunks(2).map(<[_]>::to_vec).collect(),
        };
        HeatMap {
            title: "write (phase write)".into(),
            short: "write".into(),
            explained: "",
            direction: "",
            unit: "MiB/s".into(),
            work: Owner::default(),
            down: Axis { name: "file_bytes".into(), values: vec![1 << 20, 1 << 30] },
            across: Axis { name: "threads".into(), values: vec![1, 2] },
            fields: vec![
                field("a", [Some(10.0), Some(20.0), Some(40.0), None]),
                field("b", [Some(20.0), Some(5.0), None, None]),
                field("c", [None; 4]),
            ],
            better,
        }
    }

    #[test]
    fn a_ratio_says_how_many_times_as_good() {
        let rates = map(Better::Higher).ratios("a");
        assert_eq!(rates.len(), 1, "without the one compared with, and without who has nothing");
        assert_eq!(rates[0].lines, [[Some(2.0), Some(0.25)], [None, None]]);
        assert_eq!(map(Better::Lower).ratios("a")[0].lines[0], [Some(0.5), Some(4.0)]);
        assert_eq!(map(Better::Higher).compared_with(Some("c")), Some("a"), "who has nothing is no base");
        assert_eq!(map(Better::Higher).compared_with(Some("b")), Some("b"));
    }

    #[test]
    fn a_mean_is_over_the_cells_that_all_have() {
        let means = map(Better::Higher).means();
        assert!(means[0].is_some_and(|mean| (mean - 200f64.sqrt()).abs() < 1e-9), "{means:?}");
        assert!(means[1].is_some_and(|mean| (mean - 10.0).abs() < 1e-9), "{means:?}");
        assert_eq!(means[2], None);
    }

    #[test]
    fn a_cell_is_called_by_its_two_quantities() {
        let names: Vec<String> = map(Better::Higher).cells().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["1 MiB, 1", "1 MiB, 2", "1 GiB, 1"]);
        assert_eq!(map(Better::Higher).axes(), "file × threads");
    }
}
