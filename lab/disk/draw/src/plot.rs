// SPDX-License-Identifier: MIT
//! What every part of a picture is drawn with: a sheet in pixels, a frame with axes on it.

use svg::node::element::{
    Circle, Description, Group, Line, Path, Polyline, Rectangle, Style, Text, Title,
};
use svg::{Document, Node};

/// Okabe and Ito's blue and vermillion: told apart by every kind of colour vision and in grey.
/// Wherever they stand for something, a dash, a shape or a word says it too.
const STYLE: &str = "\
text { font-family: 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif; \
font-size: 14px; fill: #1a1a1a }
.head { font-size: 22px; font-weight: bold }
.panel { font-size: 16px; font-weight: bold }
.note { font-size: 13px; fill: #555 }
.ring { font-size: 11px }
.bold { font-weight: bold }
.axis { stroke: #1a1a1a; fill: none }
.grid { stroke: #e4e4e4; fill: none }
.first { stroke: #0072b2; stroke-width: 2; fill: none }
.second { stroke: #d55e00; stroke-width: 2; fill: none; stroke-dasharray: 7 3 }
.at-first { fill: #0072b2; stroke: #fff }
.at-second { fill: #d55e00; stroke: #fff }
.track { stroke: #e8e8e8; fill: none }
.left-out { stroke: #9a9a9a; fill: none; stroke-dasharray: 1 5; stroke-linecap: round }
.by-head { stroke: #0072b2; fill: none }
.by-arm { stroke: #d55e00; fill: none }
.start { stroke: #1a1a1a; stroke-width: 3; fill: none }
.solid { fill: #1a1a1a }
.paper { fill: #fff }
.veil { fill: #fff; fill-opacity: 0.85 }";

/// A coordinate with a fixed number of decimals, so that a picture has the same bytes everywhere.
pub fn fixed(pixels: f64) -> String {
    // Adding 0 turns -0.0 into 0.0.
    format!("{:.2}", (pixels * 100.0).round() / 100.0 + 0.0)
}

/// Where a text stands on its point.
#[derive(Clone, Copy)]
pub enum Anchor {
    /// The point is at its left end.
    Start,
    /// The point is in its middle.
    Middle,
    /// The point is at its right end.
    End,
}

/// The shapes that mark points of a curve.
#[derive(Clone, Copy)]
pub enum Shape {
    /// A disc.
    Disc,
    /// A square on its corner.
    Diamond,
    /// A square.
    Square,
}

/// A white page to draw on; points are pixels from the upper left corner.
pub struct Sheet {
    document: Document,
}

impl Sheet {
    /// An empty page; `title` and `description` are what a screen reader says.
    pub fn new(width: u32, height: u32, title: &str, description: &str) -> Self {
        let document = Document::new()
            .set("viewBox", format!("0 0 {width} {height}"))
            .set("width", width)
            .set("height", height)
            .set("role", "img")
            .set("aria-labelledby", "title description")
            .add(Title::new(title).set("id", "title"))
            .add(
                Description::new()
                    .set("id", "description")
                    .add(svg::node::Text::new(description)),
            )
            .add(Style::new(STYLE))
            .add(
                Rectangle::new()
                    .set("class", "paper")
                    .set("width", width)
                    .set("height", height),
            );
        Self { document }
    }

    /// The page as a file.
    pub fn into_text(self) -> String {
        format!("{}\n", self.document)
    }

    /// A text.
    pub fn text(&mut self, (x, y): (f64, f64), class: &str, anchor: Anchor, text: &str) {
        self.document.append(label((x, y), class, anchor, text));
    }

    /// A text that reads upwards.
    pub fn text_upwards(&mut self, (x, y): (f64, f64), text: &str) {
        let turn = format!("rotate(-90 {} {})", fixed(x), fixed(y));
        self.document
            .append(label((x, y), "", Anchor::Middle, text).set("transform", turn));
    }

    /// A straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        self.document.append(
            Line::new()
                .set("class", class)
                .set("x1", fixed(from.0))
                .set("y1", fixed(from.1))
                .set("x2", fixed(to.0))
                .set("y2", fixed(to.1)),
        );
    }

    /// A straight line, `width` pixels wide.
    pub fn thick(&mut self, [from, to]: [(f64, f64); 2], width: f64, class: &str) {
        let path = format!(
            "M {} {} L {} {}",
            fixed(from.0),
            fixed(from.1),
            fixed(to.0),
            fixed(to.1)
        );
        self.document.append(
            Path::new()
                .set("class", class)
                .set("d", path)
                .set("stroke-width", fixed(width)),
        );
    }

    /// A line through `points`.
    pub fn polyline(&mut self, points: &[(f64, f64)], class: &str) {
        let points: Vec<_> = points
            .iter()
            .map(|&(x, y)| format!("{},{}", fixed(x), fixed(y)))
            .collect();
        self.document.append(
            Polyline::new()
                .set("class", class)
                .set("points", points.join(" ")),
        );
    }

    /// A filled rectangle from its upper left corner.
    pub fn rectangle(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), class: &str) {
        self.document.append(
            Rectangle::new()
                .set("class", class)
                .set("x", fixed(x))
                .set("y", fixed(y))
                .set("width", fixed(width))
                .set("height", fixed(height)),
        );
    }

    /// A circle's line, `width` pixels wide.
    pub fn circle(&mut self, (x, y): (f64, f64), radius: f64, width: f64, class: &str) {
        self.document.append(
            Circle::new()
                .set("class", class)
                .set("cx", fixed(x))
                .set("cy", fixed(y))
                .set("r", fixed(radius))
                .set("stroke-width", fixed(width)),
        );
    }

    /// Part of a circle's line, clockwise between two angles (in revolutions from the top).
    pub fn arc(
        &mut self,
        centre: (f64, f64),
        radius: f64,
        (from, to): (f64, f64),
        width: f64,
        class: &str,
    ) {
        let sweep = (to - from).rem_euclid(1.0);
        let (start, end) = (polar(centre, radius, from), polar(centre, radius, to));
        let path = format!(
            "M {} {} A {r} {r} 0 {} 1 {} {}",
            fixed(start.0),
            fixed(start.1),
            u8::from(sweep > 0.5),
            fixed(end.0),
            fixed(end.1),
            r = fixed(radius),
        );
        self.document.append(
            Path::new()
                .set("class", class)
                .set("d", path)
                .set("stroke-width", fixed(width)),
        );
    }

    /// A filled triangle.
    pub fn triangle(&mut self, points: [(f64, f64); 3], class: &str) {
        let [a, b, c] = points.map(|(x, y)| format!("{} {}", fixed(x), fixed(y)));
        self.document.append(
            Path::new()
                .set("class", class)
                .set("d", format!("M {a} L {b} L {c} Z")),
        );
    }

    /// A mark on a curve; `says` is shown when the pointer rests on it.
    pub fn mark(&mut self, (x, y): (f64, f64), shape: Shape, class: &str, says: &str) {
        let path = match shape {
            Shape::Disc => "M -5 0 A 5 5 0 1 1 5 0 A 5 5 0 1 1 -5 0 Z",
            Shape::Diamond => "M 0 -6.5 L 6.5 0 L 0 6.5 L -6.5 0 Z",
            Shape::Square => "M -4.5 -4.5 H 4.5 V 4.5 H -4.5 Z",
        };
        let place = format!("translate({} {})", fixed(x), fixed(y));
        let mut group = Group::new().set("transform", place).set("class", class);
        if !says.is_empty() {
            group = group.add(Title::new(says));
        }
        self.document.append(group.add(Path::new().set("d", path)));
    }
}

fn label((x, y): (f64, f64), class: &str, anchor: Anchor, text: &str) -> Text {
    let mut node = Text::new(text).set("x", fixed(x)).set("y", fixed(y));
    if !class.is_empty() {
        node = node.set("class", class);
    }
    match anchor {
        Anchor::Start => node,
        Anchor::Middle => node.set("text-anchor", "middle"),
        Anchor::End => node.set("text-anchor", "end"),
    }
}

/// The point at `turn` revolutions clockwise from the top.
pub fn polar(centre: (f64, f64), radius: f64, turn: f64) -> (f64, f64) {
    let angle = turn * std::f64::consts::TAU;
    (
        centre.0 + radius * angle.sin(),
        centre.1 - radius * angle.cos(),
    )
}

/// The area of a plot: pixels of its edges, and the values at its right and upper edge. Both
/// axes begin at 0, so that heights can be compared.
pub struct Frame {
    /// Left edge in pixels.
    pub left: f64,
    /// Right edge in pixels.
    pub right: f64,
    /// Upper edge in pixels.
    pub top: f64,
    /// Lower edge in pixels.
    pub bottom: f64,
    /// Value at the right edge.
    pub x_max: f64,
    /// Value at the upper edge.
    pub y_max: f64,
}

impl Frame {
    /// Pixels of a value on the horizontal axis.
    pub fn x(&self, value: f64) -> f64 {
        self.left + (self.right - self.left) * value / self.x_max
    }

    /// Pixels of a value on the vertical axis.
    pub fn y(&self, value: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * value / self.y_max
    }

    /// Pixels of a point.
    pub fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.x(x), self.y(y))
    }

    /// Draws the lower and the left axis, with a grid.
    pub fn axes(&self, sheet: &mut Sheet, x_label: &str, y_label: &str) {
        for tick in ticks(self.y_max, 8) {
            let y = self.y(tick.value);
            sheet.line((self.left, y), (self.right, y), "grid");
            sheet.text((self.left - 8.0, y + 5.0), "", Anchor::End, &tick.text);
        }
        for tick in ticks(self.x_max, 6) {
            let x = self.x(tick.value);
            sheet.line((x, self.bottom), (x, self.bottom + 5.0), "axis");
            let below = (x, self.bottom + 21.0);
            sheet.text(below, "", Anchor::Middle, &tick.text);
        }
        let middle = (self.left + self.right) / 2.0;
        sheet.text((middle, self.bottom + 42.0), "", Anchor::Middle, x_label);
        let middle = (self.top + self.bottom) / 2.0;
        sheet.text_upwards((self.left - 44.0, middle), y_label);
        let corner = (self.left, self.bottom);
        sheet.polyline(
            &[(self.left, self.top), corner, (self.right, self.bottom)],
            "axis",
        );
    }

    /// Draws the right axis, on which the upper edge is `max`.
    pub fn right_axis(&self, sheet: &mut Sheet, max: f64, label: &str) {
        for tick in ticks(max, 8) {
            let y = self.y(tick.value / max * self.y_max);
            sheet.line((self.right, y), (self.right + 5.0, y), "axis");
            sheet.text((self.right + 9.0, y + 5.0), "", Anchor::Start, &tick.text);
        }
        let middle = (self.top + self.bottom) / 2.0;
        sheet.text_upwards((self.right + 58.0, middle), label);
        sheet.line((self.right, self.top), (self.right, self.bottom), "axis");
    }

    /// Draws the upper axis with ticks at `places`, of which each has a value and its text.
    pub fn top_axis(&self, sheet: &mut Sheet, places: &[(f64, String)], label: &str) {
        let mut last = f64::NEG_INFINITY;
        for (value, text) in places {
            let x = self.x(*value);
            sheet.line((x, self.top), (x, self.top - 5.0), "axis");
            // The ticks crowd where the scale is narrow; a text needs some seven pixels a digit.
            let width = 7.0 * text.len() as f64 + 8.0;
            if x - last >= width {
                sheet.text((x, self.top - 9.0), "", Anchor::Middle, text);
                last = x;
            }
        }
        let middle = (self.left + self.right) / 2.0;
        sheet.text((middle, self.top - 30.0), "", Anchor::Middle, label);
        sheet.line((self.left, self.top), (self.right, self.top), "axis");
    }
}

/// A place on an axis.
pub struct Tick {
    /// Its value.
    pub value: f64,
    /// What stands beside it.
    pub text: String,
}

/// Ticks from 0 to `max` in steps of 1, 2 or 5 times a power of ten, at most `count` steps.
pub fn ticks(max: f64, count: u32) -> Vec<Tick> {
    let mut step = 10_f64.powi((max / f64::from(count)).log10().floor() as i32);
    for factor in [2.0, 2.5, 2.0] {
        if max / step > f64::from(count) {
            step *= factor;
        }
    }
    let decimals = usize::from(step < 1.0) + usize::from(step < 0.1);
    (0..)
        .map(|i| f64::from(i) * step)
        .take_while(|&value| value <= max * (1.0 + 1e-9))
        .map(|value| Tick {
            value,
            text: if decimals == 0 {
                crate::number::grouped(value.round() as u64)
            } else {
                format!("{value:.decimals$}")
            },
        })
        .collect()
}

/// The upper end of an axis for values up to `largest`: the next tick.
pub fn round_up(largest: f64, count: u32) -> f64 {
    let ticks = ticks(largest, count);
    let step = ticks[1].value;
    (largest / step).ceil() * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plot_ticks_are_round() {
        let text =
            |max, count| -> Vec<String> { ticks(max, count).into_iter().map(|t| t.text).collect() };
        assert_eq!(
            text(27_723.0, 6),
            ["0", "5,000", "10,000", "15,000", "20,000", "25,000"]
        );
        assert_eq!(
            text(16.0, 8),
            ["0", "2", "4", "6", "8", "10", "12", "14", "16"]
        );
        assert_eq!(text(0.5, 5), ["0.0", "0.1", "0.2", "0.3", "0.4", "0.5"]);
    }

    #[test]
    fn plot_axis_ends_on_a_tick() {
        assert_eq!(round_up(14.7, 8), 16.0);
        assert_eq!(round_up(42.6, 8), 50.0);
    }

    #[test]
    fn plot_coordinates_have_two_decimals() {
        assert_eq!(fixed(-0.001), "0.00");
        assert_eq!(fixed(1.0 / 3.0), "0.33");
    }
}
