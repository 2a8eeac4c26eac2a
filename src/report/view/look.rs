//! The look of a filesystem, the same in every report: the colour of its family, and a mark for its mode and options.

/// The number of distinct colours. Each colour has four marks: in bars plain, stripes, dots, grid; as points circle, square,
/// diamond, triangle.
pub const HUES: usize = 12;
pub const MARKS: usize = 4;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Look {
    /// The colour, from 0 to [`HUES`] − 1.
    pub hue: usize,
    /// The mark, from 0 to [`MARKS`] − 1.
    pub mark: usize,
}
