//! What SVG pictures are drawn with: text, lines, marks, in pixels from the upper left corner.

use std::fmt::Write;

use crate::report::view::look::{HUES, Look};
use crate::visible::visible;

const INK: &str = "#1c2126";
const SOFT: &str = "#5a646e";
const GRID: &str = "#dfe3e6";
/// As in the style sheet of the HTML report: after Okabe and Ito.
const COLOURS: [&str; HUES] = [
    "#6b7280", "#8b7fd6", "#999933", "#882255", "#56b4e9", "#e69f00", "#0072b2", "#d9c800", "#cc79a7",
    "#009e73", "#d55e00", "#8c6d4f",
];
/// Of a letter, on average; texts are cut to what fits.
const LETTER: f64 = 6.6;

pub struct Canvas {
    width: f64,
    out: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    Strong,
    Normal,
    Soft,
}

#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Canvas {
    pub fn new(width: f64) -> Self {
        Canvas { width, out: String::new() }
    }

    pub fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, ink: Ink, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (fill, size, weight) = match ink {
            Ink::Strong => (INK, 14, "600"),
            Ink::Normal => (INK, 12, "400"),
            Ink::Soft => (SOFT, 11, "400"),
        };
        let text = escaped(text);
        let _ = writeln!(
            self.out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\" font-weight=\"{weight}\" fill=\"{fill}\">{text}</text>"
        );
    }

    pub fn grid(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.line(from, to, GRID, 1.0);
    }

    pub fn ink(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.line(from, to, INK, 1.3);
    }

    fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str, width: f64) {
        let _ = writeln!(
            self.out,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\"/>"
        );
    }

    /// A point in the colour of its kind and the shape of its mark: circle, square, diamond, triangle; hollow where it is open.
    pub fn mark(&mut self, (x, y): (f64, f64), look: Look, is_open: bool) {
        let colour = COLOURS[look.hue % HUES];
        let fill = if is_open { "#ffffff" } else { colour };
        let points = |corners: &[(f64, f64)]| {
            corners
                .iter()
                .map(|(dx, dy)| format!("{:.1},{:.1}", x + dx, y + dy))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let polygon = |corners: &[(f64, f64)]| {
            format!(
                "<polygon points=\"{}\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                points(corners)
            )
        };
        let shape = match look.mark {
            0 => format!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"2\"/>"
            ),
            1 => polygon(&[(-4.5, -4.5), (4.5, -4.5), (4.5, 4.5), (-4.5, 4.5)]),
            2 => polygon(&[(0.0, -6.0), (6.0, 0.0), (0.0, 6.0), (-6.0, 0.0)]),
            _ => polygon(&[(0.0, -5.5), (5.5, 4.5), (-5.5, 4.5)]),
        };
        let _ = writeln!(self.out, "{shape}");
    }

    pub fn bar(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), look: Look) {
        let colour = COLOURS[look.hue % HUES];
        let _ = writeln!(
            self.out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\" fill-opacity=\"0.85\"/>"
        );
    }

    pub fn dot(&mut self, (x, y): (f64, f64)) {
        let _ = writeln!(
            self.out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"1.8\" fill=\"{INK}\" fill-opacity=\"0.7\"/>"
        );
    }

    /// The file, so high, with what screen readers say of it.
    pub fn done(self, height: f64, title: &str) -> String {
        let (width, title, body) = (self.width, escaped(title), self.out);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             role=\"img\" font-family=\"system-ui, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif\">\n<title>{title}</title>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n"
        )
    }
}

/// What is longer than so many pixels is cut, with `…`.
pub fn cut(text: &str, width: f64) -> String {
    let most = (width / LETTER) as usize;
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

fn escaped(text: &str) -> String {
    visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
