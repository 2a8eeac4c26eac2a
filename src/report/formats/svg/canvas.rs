//! Drawing primitives for SVG: text, lines, marks, in pixels from the upper left corner.
//!
//! Each shape has an attribute with its colour on a white page, which every program understands, and a CSS class. In a browser the
//! classes follow the reader's dark setting; programs that convert SVG to PNG or PDF ignore the classes.

use std::fmt::Write;

pub use crate::report::view::log_axis::Anchor;
use crate::report::view::look::{HUES, Look};
use crate::text::visible::visible;

/// A colour: its value on a white page and its value on a dark page.
#[derive(Clone, Copy)]
struct Colour {
    class: &'static str,
    light: &'static str,
    dark: &'static str,
}

const INK: Colour = Colour { class: "ink", light: "#1c2126", dark: "#e8ebee" };
const SOFT: Colour = Colour { class: "soft", light: "#5a646e", dark: "#a3adb7" };
const GRID: Colour = Colour { class: "grid", light: "#dfe3e6", dark: "#343c45" };
const PAGE: Colour = Colour { class: "page", light: "#ffffff", dark: "#14181c" };
const CELL: Colour = Colour { class: "cell", light: "#0a5c9e", dark: "#7cc0f5" };
const STALL: Colour = Colour { class: "stall", light: "#b98900", dark: "#d5a52a" };
/// Fill and line colours other than the candidates'.
const PLAIN: [Colour; 6] = [INK, SOFT, GRID, PAGE, CELL, STALL];
/// The candidates' colours, as in the HTML report's style sheet: after Okabe and Ito, with a slightly darker yellow on white.
const COLOURS: [Colour; HUES] = [
    Colour { class: "c0", light: "#6b7280", dark: "#9aa4af" },
    Colour { class: "c1", light: "#8b7fd6", dark: "#8b7fd6" },
    Colour { class: "c2", light: "#999933", dark: "#999933" },
    Colour { class: "c3", light: "#882255", dark: "#c2588f" },
    Colour { class: "c4", light: "#56b4e9", dark: "#56b4e9" },
    Colour { class: "c5", light: "#e69f00", dark: "#e69f00" },
    Colour { class: "c6", light: "#0072b2", dark: "#3b9be0" },
    Colour { class: "c7", light: "#d9c800", dark: "#f0e442" },
    Colour { class: "c8", light: "#cc79a7", dark: "#cc79a7" },
    Colour { class: "c9", light: "#009e73", dark: "#009e73" },
    Colour { class: "c10", light: "#d55e00", dark: "#d55e00" },
    Colour { class: "c11", light: "#8c6d4f", dark: "#b8946f" },
];
/// Average width of a letter, in pixels; texts are cut to fit.
const LETTER: f64 = 6.6;

pub struct Canvas {
    width: f64,
    out: String,
    described: Vec<String>,
}

/// The page that a chart is shown on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// A separate file, which is light or dark as the reader's setting says.
    Readers,
    /// A chart within a page that is always white.
    White,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    Strong,
    Normal,
    Soft,
}

impl Colour {
    /// The attributes that fill a shape: `fill="#1c2126" class="f-ink"`; with an outline, also the attributes of the outline.
    fn fill(self) -> String {
        format!("fill=\"{}\" class=\"f-{}\"", self.light, self.class)
    }

    fn stroke(self) -> String {
        format!("stroke=\"{}\" class=\"s-{}\"", self.light, self.class)
    }

    fn both(fill: Colour, stroke: Colour) -> String {
        format!(
            "fill=\"{}\" stroke=\"{}\" class=\"f-{} s-{}\"",
            fill.light, stroke.light, fill.class, stroke.class
        )
    }

    fn of(look: Look) -> Colour {
        COLOURS[look.hue % HUES]
    }
}

impl Canvas {
    pub fn new(width: f64) -> Self {
        Canvas { width, out: String::new(), described: Vec::new() }
    }

    /// Adds a sentence to the screen-reader description.
    pub fn says(&mut self, text: &str) {
        self.described.push(text.trim().to_owned());
    }

    pub fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, ink: Ink, text: &str) {
        let anchor = anchor.name();
        let (colour, size, weight) = match ink {
            Ink::Strong => (INK, 14, "600"),
            Ink::Normal => (INK, 12, "400"),
            Ink::Soft => (SOFT, 11, "400"),
        };
        let (text, fill) = (escaped(text), colour.fill());
        let _ = writeln!(
            self.out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\" font-weight=\"{weight}\" {fill}>{text}</text>"
        );
    }

    pub fn grid(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.line(from, to, GRID, 1.0);
    }

    pub fn ink(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.line(from, to, INK, 1.3);
    }

    pub fn soft(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.line(from, to, SOFT, 1.3);
    }

    fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: Colour, width: f64) {
        let stroke = colour.stroke();
        let _ = writeln!(
            self.out,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {stroke} stroke-width=\"{width}\"/>"
        );
    }

    /// Draws a point in the colour and the shape of a filesystem: circle, square, diamond or triangle; hollow if `is_open`.
    pub fn mark(&mut self, (x, y): (f64, f64), look: Look, is_open: bool) {
        let colour = Colour::of(look);
        let painted = Colour::both(if is_open { PAGE } else { colour }, colour);
        let polygon = |corners: &[(f64, f64)]| {
            let corner = |(dx, dy): &(f64, f64)| format!("{:.1},{:.1}", x + dx, y + dy);
            let corners: Vec<String> = corners.iter().map(corner).collect();
            format!("<polygon points=\"{}\" {painted} stroke-width=\"2\"/>", corners.join(" "))
        };
        let shape = match look.mark {
            0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" {painted} stroke-width=\"2\"/>"),
            1 => polygon(&[(-4.5, -4.5), (4.5, -4.5), (4.5, 4.5), (-4.5, 4.5)]),
            2 => polygon(&[(0.0, -6.0), (6.0, 0.0), (0.0, 6.0), (-6.0, 0.0)]),
            _ => polygon(&[(0.0, -5.5), (5.5, 4.5), (-5.5, 4.5)]),
        };
        let _ = writeln!(self.out, "{shape}");
    }

    /// Draws a cross, for a further value of a candidate.
    pub fn cross(&mut self, (x, y): (f64, f64)) {
        self.line((x - 4.0, y - 4.0), (x + 4.0, y + 4.0), INK, 1.6);
        self.line((x - 4.0, y + 4.0), (x + 4.0, y - 4.0), INK, 1.6);
    }

    pub fn bar(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), look: Look) {
        self.rect((x, y), (width, height), Colour::of(look), 0.85);
    }

    /// Draws a cell of a heat map; `share` is the strength of the colour, from 0 to 1.
    pub fn cell(&mut self, at: (f64, f64), size: (f64, f64), share: f64) {
        self.rect(at, size, CELL, share);
    }

    /// Draws a period without progress.
    pub fn stall(&mut self, at: (f64, f64), size: (f64, f64)) {
        self.rect(at, size, STALL, 0.55);
    }

    fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), colour: Colour, opacity: f64) {
        let fill = colour.fill();
        let _ = writeln!(
            self.out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" {fill} fill-opacity=\"{opacity:.2}\"/>"
        );
    }

    /// Draws steps from left to right: the area below them, and its upper edge. `ground` is the position of zero.
    pub fn steps(&mut self, left: f64, ground: f64, steps: &[(f64, f64)], look: Look) {
        let mut edge = String::new();
        for (at, (right, y)) in steps.iter().enumerate() {
            let begin = if at == 0 { format!("M{left:.1} ") } else { "V".to_owned() };
            let _ = write!(edge, "{begin}{y:.1}H{right:.1}");
        }
        let (fill, stroke) = (Colour::of(look).fill(), INK.stroke());
        let _ = writeln!(
            self.out,
            "<path d=\"{edge}V{ground:.1}H{left:.1}z\" {fill} fill-opacity=\"0.45\"/>\n<path d=\"{edge}\" fill=\"none\" {stroke} stroke-width=\"1\"/>"
        );
    }

    pub fn dot(&mut self, (x, y): (f64, f64)) {
        let fill = INK.fill();
        let _ =
            writeln!(self.out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"1.8\" {fill} fill-opacity=\"0.7\"/>");
    }

    /// The finished chart of this height, with its screen-reader description.
    pub fn done(self, height: f64, title: &str, theme: Theme) -> String {
        let (width, title, body) = (self.width, escaped(title), self.out);
        let described = escaped(&self.described.join(" "));
        let style = if theme == Theme::Readers { dark() } else { String::new() };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             role=\"img\" font-family=\"system-ui, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif\">\n<title>{title}</title>\n\
             <desc>{described}</desc>\n{style}<rect width=\"100%\" height=\"100%\" {}/>\n{body}</svg>\n",
            PAGE.fill()
        )
    }
}

/// The rules for a dark page.
fn dark() -> String {
    let rule = |Colour { class, dark, .. }: &Colour| {
        format!(".f-{class} {{ fill: {dark}; }} .s-{class} {{ stroke: {dark}; }}")
    };
    let changed = COLOURS.iter().filter(|colour| colour.light != colour.dark);
    let rules: Vec<String> = PLAIN.iter().chain(changed).map(rule).collect();
    format!("<style>\n@media (prefers-color-scheme: dark) {{\n{}\n}}\n</style>\n", rules.join("\n"))
}

/// Cuts text longer than this many pixels, with `…`.
pub fn cut(text: &str, width: f64) -> String {
    let most = (width / LETTER) as usize;
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Without the characters that XML forbids even as references.
fn escaped(text: &str) -> String {
    visible(text)
        .replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
