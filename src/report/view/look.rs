//! How a filesystem looks: the colour of its family, and a mark for its mode and its options. The same in every report.

/// Distinct colours, and marks on each: plain, stripes, dots, a grid; as points a circle, a square, a diamond, a triangle.
pub const HUES: usize = 12;
pub const MARKS: usize = 4;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Look {
    /// 0 to [`HUES`] − 1.
    pub hue: usize,
    /// 0 to [`MARKS`] − 1.
    pub mark: usize,
}
