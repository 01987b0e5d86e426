// SPDX-License-Identifier: MIT
//! `spindle-disk show --svg`: a drive on one page: seek curve, zones, and the first tracks seen
//! from above.

use std::f64::consts::TAU;

use spindle_disk::catalogue::{DriveModel, Mark};
use spindle_disk::geometry::{Track, SECTOR_BYTES};
use spindle_disk::seek::{SeekSpec, SeekTable};

use crate::number::{gb, grouped, mb_s, ms, ms_fine};
use crate::plot::{polar, round_up, ticks, Anchor, Frame, Shape, Sheet};
use crate::show;

/// The page of a drive.
pub fn page(name: &str, model: &DriveModel) -> String {
    let title = format!("{} {}", model.file.maker.value, model.file.model.value);
    let mut sheet = Sheet::new(960, 1016, &title, &description(name, model));
    sheet.text((26.0, 42.0), "head", Anchor::Start, &title);
    for (y, facts) in [66.0, 86.0].into_iter().zip(facts(model)) {
        sheet.text((26.0, y), "", Anchor::Start, &facts);
    }
    seek_curve(&mut sheet, model);
    zone_map(&mut sheet, model);
    rotation(&mut sheet, model);
    sheet.into_text()
}

/// What the picture says, in words.
fn description(name: &str, model: &DriveModel) -> String {
    let (rows, switches) = (show::rows(model), Switches::of(model));
    let (outer, inner) = (&rows[0], &rows[rows.len() - 1]);
    let seek = |table: &SeekTable| {
        format!(
            "{} ms over one cylinder, {} ms in the mean, {} ms over the full stroke",
            ms(table.ns(1).into()),
            ms(table.mean_ns()),
            ms(table.full_ns().into())
        )
    };
    format!(
        "Drive {name}. Three plots. Seek time over distance: reads take {}; writes take {}. \
         Transfer rate over capacity in {} zones: {} sectors per track and {} MB/s sustained at \
         the outer edge, {} and {} at the inner. Where the first tracks start, seen from above: \
         track skew {}, cylinder skew {}.",
        seek(&model.seek_read),
        seek(&model.seek_write),
        rows.len(),
        outer.sectors_per_track,
        mb_s(outer.sustained_bytes_s),
        inner.sectors_per_track,
        mb_s(inner.sustained_bytes_s),
        switches.track,
        switches.cylinder,
    )
}

/// The two lines below the title.
fn facts(model: &DriveModel) -> [String; 2] {
    let (file, geometry) = (&model.file, &model.geometry);
    [
        format!(
            "{} GB ({} sectors), {} cylinders, {}, {} rpm ({} ms a revolution)",
            gb(geometry.sectors * SECTOR_BYTES),
            grouped(geometry.sectors),
            grouped(geometry.cylinders.into()),
            match geometry.heads {
                1 => "1 head".into(),
                heads => format!("{heads} heads"),
            },
            grouped(file.rpm.value.into()),
            ms_fine(revolution_ns(model)),
        ),
        format!(
            "{}, {} MB/s; buffer {} KB; up to {} tags",
            file.interface.value,
            file.interface_mb_s.value,
            grouped(file.buffer_kb.value),
            file.max_tags.value,
        ),
    ]
}

fn revolution_ns(model: &DriveModel) -> u64 {
    model.geometry.revolution_ps as u64 / 1000
}

/// The heading of a plot, with how far its numbers can be trusted.
fn heading(sheet: &mut Sheet, (x, y): (f64, f64), title: &str, marks: &[(&str, Mark)]) {
    sheet.text((x, y), "panel", Anchor::Start, title);
    let mut texts: Vec<String> = Vec::new();
    for &(what, mark) in marks {
        texts.push(format!("{what}: {}", show::mark_name(mark)));
    }
    sheet.text((x, y + 19.0), "note", Anchor::Start, &texts.join(", "));
}

fn seek_curve(sheet: &mut Sheet, model: &DriveModel) {
    let (file, full) = (&model.file, model.geometry.cylinders - 1);
    heading(
        sheet,
        (26.0, 126.0),
        "(a) Seek time",
        &[
            ("reads", file.seek_read.mark),
            ("writes", file.seek_write.mark),
        ],
    );
    let curves = [
        (
            &model.seek_read,
            &file.seek_read.value,
            "first",
            "at-first",
            "read",
        ),
        (
            &model.seek_write,
            &file.seek_write.value,
            "second",
            "at-second",
            "write",
        ),
    ];
    let slowest = model.seek_read.full_ns().max(model.seek_write.full_ns());
    let frame = Frame {
        left: 76.0,
        right: 446.0,
        top: 200.0,
        bottom: 470.0,
        x_max: f64::from(full.max(1)),
        y_max: round_up(f64::from(slowest) / 1e6, 8),
    };
    frame.axes(sheet, "distance (cylinders)", "seek time (ms)");
    let key = (frame.right - 222.0, frame.bottom - 94.0);
    sheet.rectangle((key.0 - 6.0, key.1 - 6.0), (222.0, 94.0), "veil");
    for (table, spec, class, mark_class, what) in curves {
        let at = |d: u32| frame.at((f64::from(d), f64::from(table.ns(d)) / 1e6));
        let points: Vec<_> = distances(spec, full).into_iter().map(at).collect();
        sheet.polyline(&points, class);
        if full == 0 {
            continue;
        }
        let mean_ns = table.mean_ns();
        let mean = (1..=full).find(|&d| u64::from(table.ns(d)) >= mean_ns);
        let marks = [
            (1, Shape::Disc, "one cylinder", table.ns(1).into()),
            (mean.unwrap_or(full), Shape::Diamond, "mean", mean_ns),
            (full, Shape::Square, "full stroke", table.full_ns().into()),
        ];
        for (distance, shape, which, ns) in marks {
            let says = format!("{what}, {which}: {} ms", ms(ns));
            sheet.mark(at(distance), shape, mark_class, &says);
        }
    }
    if full > 0 {
        seek_key(sheet, key, model);
    }
}

/// The key of the seek curve, with the numbers at its marks.
fn seek_key(sheet: &mut Sheet, (x, y): (f64, f64), model: &DriveModel) {
    let columns = [x + 150.0, x + 212.0];
    for (right, class, what) in [
        (columns[0], "first", "read"),
        (columns[1], "second", "write"),
    ] {
        sheet.line((right - 44.0, y + 2.0), (right, y + 2.0), class);
        sheet.text((right, y + 20.0), "", Anchor::End, what);
    }
    let numbers = |of: fn(&SeekTable) -> u64| [of(&model.seek_read), of(&model.seek_write)];
    let rows = [
        (
            Shape::Disc,
            "1 cylinder",
            numbers(|table| table.ns(1).into()),
        ),
        (Shape::Diamond, "mean", numbers(SeekTable::mean_ns)),
        (
            Shape::Square,
            "full stroke",
            numbers(|table| table.full_ns().into()),
        ),
    ];
    for (row, (shape, what, times)) in rows.into_iter().enumerate() {
        let y = y + 40.0 + 20.0 * row as f64;
        sheet.mark((x + 6.0, y - 5.0), shape, "solid", "");
        sheet.text((x + 18.0, y), "", Anchor::Start, what);
        for (right, ns) in columns.into_iter().zip(times) {
            sheet.text((right, y), "", Anchor::End, &ms(ns));
        }
    }
}

/// Distances at which a curve is drawn: close together where it bends, and at its own corners.
fn distances(spec: &SeekSpec, full: u32) -> Vec<u32> {
    const STEPS: u64 = 120;
    let curved = (0..=STEPS).map(|i| (u64::from(full) * i * i / (STEPS * STEPS)) as u32);
    let mut all: Vec<u32> = match spec {
        SeekSpec::CurveNs(_) => curved.collect(),
        SeekSpec::TableNs(points) => points
            .iter()
            .filter_map(|p| u32::try_from(p[0]).ok())
            .chain([full])
            .collect(),
    };
    all.retain(|&d| d > 0 && d <= full);
    all.sort_unstable();
    all.dedup();
    all
}

fn zone_map(sheet: &mut Sheet, model: &DriveModel) {
    let (file, geometry, rows) = (&model.file, &model.geometry, show::rows(model));
    let mut marks = vec![("zones", file.zones.mark)];
    // Rows of four bring their skews along, and the drive then need not state any.
    if let Some(skew) = &file.track_skew_ns {
        marks.push(("skews", skew.mark));
    }
    let title = match rows.len() {
        1 => "(b) Transfer rate, one zone".into(),
        zones => format!("(b) Transfer rate, {zones} zones"),
    };
    heading(sheet, (506.0, 126.0), &title, &marks);
    let fastest = rows.iter().map(|r| r.track_bytes_s).max().unwrap_or(1);
    let gigabytes = |sectors: u64| (sectors * SECTOR_BYTES) as f64 / 1e9;
    let frame = Frame {
        left: 556.0,
        right: 876.0,
        top: 200.0,
        bottom: 470.0,
        x_max: gigabytes(geometry.sectors),
        y_max: round_up(fastest as f64 / 1e6, 8),
    };
    frame.axes(sheet, "place in LBN order (GB)", "transfer rate (MB/s)");
    // A track's rate is its sectors over the revolution, so both fit one line.
    let sectors = frame.y_max * 1e6 / SECTOR_BYTES as f64 * geometry.revolution_ps as f64 / 1e12;
    frame.right_axis(sheet, sectors, "sectors per track");
    let places: Vec<_> = ticks(f64::from(geometry.cylinders), 6)
        .into_iter()
        .filter_map(|tick| {
            let lbn = first_lbn(model, tick.value as u32)?;
            Some((gigabytes(lbn), tick.text))
        })
        .collect();
    frame.top_axis(sheet, &places, "cylinder");
    let steps = |rate: fn(&show::Row) -> u64| -> Vec<(f64, f64)> {
        let mut points = Vec::new();
        for (zone, row) in geometry.zones.iter().zip(&rows) {
            // The zones may hold more than the drive shows.
            let end = (zone.first_lbn + zone.sectors).min(geometry.sectors);
            for lbn in [zone.first_lbn.min(end), end] {
                points.push(frame.at((gigabytes(lbn), rate(row) as f64 / 1e6)));
            }
        }
        points
    };
    sheet.polyline(&steps(|row| row.track_bytes_s), "first");
    sheet.polyline(&steps(|row| row.sustained_bytes_s), "second");
    zone_key(sheet, (frame.left + 14.0, frame.bottom - 74.0), &rows);
}

/// The key of the zone map, with the numbers at both edges.
fn zone_key(sheet: &mut Sheet, (x, y): (f64, f64), rows: &[show::Row]) {
    sheet.rectangle((x - 6.0, y - 6.0), (300.0, 76.0), "veil");
    let columns = [x + 216.0, x + 280.0];
    for (right, what) in columns.into_iter().zip(["outer", "inner"]) {
        sheet.text((right, y + 8.0), "", Anchor::End, what);
    }
    let edges = [&rows[0], &rows[rows.len() - 1]];
    let lines = [
        (
            "first",
            "in the track (MB/s)",
            edges.map(|r| mb_s(r.track_bytes_s)),
        ),
        (
            "second",
            "sustained (MB/s)",
            edges.map(|r| mb_s(r.sustained_bytes_s)),
        ),
        (
            "",
            "sectors per track",
            edges.map(|r| grouped(r.sectors_per_track.into())),
        ),
    ];
    for (row, (class, what, numbers)) in lines.into_iter().enumerate() {
        let y = y + 27.0 + 19.0 * row as f64;
        if !class.is_empty() {
            sheet.line((x, y - 5.0), (x + 30.0, y - 5.0), class);
        }
        sheet.text((x + 38.0, y), "", Anchor::Start, what);
        for (right, number) in columns.into_iter().zip(numbers) {
            sheet.text((right, y), "", Anchor::End, &number);
        }
    }
}

/// LBN of a cylinder's first sector (spares of a zone spread evenly); none past the last cylinder.
fn first_lbn(model: &DriveModel, cylinder: u32) -> Option<u64> {
    let geometry = &model.geometry;
    let zone = geometry.zones.iter().find(|z| {
        (z.spec.first_cylinder..z.spec.first_cylinder + z.cylinders).contains(&cylinder)
    })?;
    let before = u64::from(cylinder - zone.spec.first_cylinder);
    Some(zone.first_lbn + zone.sectors * before / u64::from(zone.cylinders))
        .filter(|&lbn| lbn < geometry.sectors)
}

/// The skews of the outer zone as text.
struct Switches {
    track: String,
    cylinder: String,
}

impl Switches {
    fn of(model: &DriveModel) -> Self {
        let spec = &model.geometry.zones[0].spec;
        let text = |milli: u32| {
            let (skew, sectors) = (f64::from(milli) / 1000.0, u64::from(spec.sectors_per_track));
            let turn = skew / sectors as f64;
            let ns = revolution_ns(model) * u64::from(milli) / sectors / 1000;
            format!("{skew} sectors = {:.1}° = {} ms", turn * 360.0, ms_fine(ns))
        };
        Self {
            track: text(spec.track_skew_milli),
            cylinder: text(spec.cylinder_skew_milli),
        }
    }
}

/// A ring of the view from above: a track, how far it is turned from the one before it, and
/// whether tracks between the two are left out.
struct Ring {
    number: u32,
    track: Track,
    start_turn: f64,
    later_turn: f64,
    by_arm: bool,
    after_gap: bool,
}

/// More rings than these would be too thin to read.
const RINGS_MAX: u32 = 8;

/// The first tracks up to the second one of the second cylinder; of many heads, the first four
/// and the last.
fn rings(model: &DriveModel) -> Vec<Ring> {
    let geometry = &model.geometry;
    let turn = |track: &Track| {
        geometry.angle_ps(track, track.first) as f64 / geometry.revolution_ps as f64
    };
    let count = (geometry.heads + 2).max(5);
    let gap = if count > RINGS_MAX {
        4..geometry.heads - 1
    } else {
        0..0
    };
    let mut rings: Vec<Ring> = Vec::new();
    let mut before: Option<Track> = None;
    let mut lbn = 0;
    for index in 0..count {
        if lbn >= geometry.sectors {
            break;
        }
        let track = geometry.track(lbn);
        if !gap.contains(&index) {
            let start_turn = turn(&track);
            rings.push(Ring {
                number: index + 1,
                track,
                start_turn,
                later_turn: before
                    .map_or(0.0, |before| (start_turn - turn(&before)).rem_euclid(1.0)),
                by_arm: before.is_some_and(|b| b.place.cylinder != track.place.cylinder),
                after_gap: !gap.is_empty() && index == gap.end,
            });
        }
        before = Some(track);
        lbn = track.end;
    }
    rings
}

/// From a track's start to the middle of its number.
const NUMBER_PIXELS: f64 = 10.0;

fn rotation(sheet: &mut Sheet, model: &DriveModel) {
    let (file, rings) = (&model.file, rings(model));
    let mut marks = Vec::new();
    for (what, skew) in [
        ("track skew", &file.track_skew_ns),
        ("cylinder skew", &file.cylinder_skew_ns),
    ] {
        marks.push((what, skew.as_ref().map_or(file.zones.mark, |s| s.mark)));
    }
    heading(
        sheet,
        (26.0, 556.0),
        "(c) Where the first tracks start, seen from above",
        &marks,
    );
    let (centre, outer) = ((236.0, 778.0), 152.0);
    let places = rings.len() + rings.iter().filter(|r| r.after_gap).count();
    let width = (110.0 / places as f64).min(19.0);
    protractor(sheet, centre, outer, revolution_ns(model));
    let mut radius = outer - width / 2.0;
    for ring in &rings {
        if ring.after_gap {
            sheet.circle(centre, radius, 2.0, "left-out");
            radius -= width;
        }
        let band = width - 3.0;
        sheet.circle(centre, radius, band, "track");
        if ring.later_turn > 0.0 {
            let class = if ring.by_arm { "by-arm" } else { "by-head" };
            let from = ring.start_turn - ring.later_turn;
            sheet.arc(centre, radius, (from, ring.start_turn), band, class);
        }
        let edge = |r: f64| polar(centre, r, ring.start_turn);
        sheet.line(
            edge(radius - width / 2.0),
            edge(radius + width / 2.0),
            "start",
        );
        // Just past the start, where the track's first sectors are.
        let (x, y) = polar(
            centre,
            radius,
            ring.start_turn + NUMBER_PIXELS / (TAU * radius),
        );
        let number = ring.number.to_string();
        sheet.text((x, y + 4.0), "ring", Anchor::Middle, &number);
        radius -= width;
    }
    ring_table(sheet, (500.0, 600.0), model, &rings);
}

/// The scale around the view: degrees, and the time until the place passes the head.
fn protractor(sheet: &mut Sheet, centre: (f64, f64), radius: f64, revolution_ns: u64) {
    for step in 0..24 {
        let turn = f64::from(step) / 24.0;
        let long = if step % 6 == 0 { 9.0 } else { 5.0 };
        sheet.line(
            polar(centre, radius + 3.0, turn),
            polar(centre, radius + 3.0 + long, turn),
            "axis",
        );
    }
    let at = |quarter: u64| format!("{}° = {} ms", quarter * 90, ms(revolution_ns * quarter / 4));
    let (x, y) = centre;
    let r = radius + 16.0;
    sheet.text((x + r, y), "", Anchor::Start, "90°");
    let right = format!("{} ms", ms(revolution_ns / 4));
    sheet.text((x + r, y + 17.0), "", Anchor::Start, &right);
    sheet.text((x, y + r + 12.0), "", Anchor::Middle, &at(2));
    sheet.text((x - r, y), "", Anchor::End, "270°");
    let left = format!("{} ms", ms(revolution_ns * 3 / 4));
    sheet.text((x - r, y + 17.0), "", Anchor::End, &left);
    sheet.text(
        (x + 12.0, y - r - 3.0),
        "",
        Anchor::Start,
        "0°: under the head at time 0",
    );
    let tip = (x, y - r + 2.0);
    sheet.triangle(
        [tip, (x - 6.0, tip.1 - 13.0), (x + 6.0, tip.1 - 13.0)],
        "solid",
    );
    // Which way the platter turns: against the order of the sectors.
    sheet.arc(centre, 22.0, (0.2, 0.95), 1.5, "axis");
    let tip = polar(centre, 22.0, 0.17);
    sheet.triangle(
        [tip, polar(centre, 27.0, 0.24), polar(centre, 17.0, 0.24)],
        "solid",
    );
    sheet.text((x, y + 4.0), "ring", Anchor::Middle, "turns");
}

/// How to read the rings.
const NOTE: [&str; 2] = [
    "A black bar is where a track's first sector begins; the others follow clockwise, as the platter turns the other way.",
    "On the drive the tracks of a cylinder lie above each other; here each is a ring. Coloured: what passes during a switch.",
];

/// The rings in numbers, and beside the skews what they have to hide.
fn ring_table(sheet: &mut Sheet, (x, y): (f64, f64), model: &DriveModel, rings: &[Ring]) {
    let revolution_ns = revolution_ns(model) as f64;
    let columns = [20.0, 88.0, 138.0, 228.0, 300.0, 366.0, 428.0].map(|right| x + right);
    let heads = [
        "track",
        "cylinder",
        "head",
        "first LBN",
        "starts at",
        "later by",
        "",
    ];
    for (right, text) in columns.into_iter().zip(heads) {
        sheet.text((right, y), "bold", Anchor::End, text);
    }
    sheet.line((x - 18.0, y + 7.0), (x + 432.0, y + 7.0), "axis");
    let mut y = y + 26.0;
    for ring in rings {
        if ring.after_gap {
            sheet.text((columns[2], y - 4.0), "", Anchor::End, "…");
            y += 14.0;
        }
        let place = ring.track.place;
        let mut cells = vec![
            ring.number.to_string(),
            grouped(place.cylinder.into()),
            place.head.to_string(),
            grouped(ring.track.first),
            format!("{:.1}°", ring.start_turn * 360.0),
        ];
        if ring.number > 1 {
            cells.push(format!("{:.1}°", ring.later_turn * 360.0));
            cells.push(format!(
                "{} ms",
                ms((ring.later_turn * revolution_ns) as u64)
            ));
        }
        for (right, text) in columns.into_iter().zip(&cells) {
            sheet.text((right, y), "", Anchor::End, text);
        }
        y += 20.0;
    }
    let switches = Switches::of(model);
    let (file, one) = (&model.file, 1.min(model.geometry.cylinders - 1));
    let mut notes = vec![
        (
            "by-head",
            format!("track skew: {}", switches.track),
            format!(
                "a head switch takes {} ms to read, {} ms to write",
                ms_fine(file.head_switch_ns.value),
                ms_fine(
                    file.head_switch_ns
                        .value
                        .saturating_add_signed(file.write_settle_ns.value)
                )
            ),
        ),
        (
            "by-arm",
            format!("cylinder skew: {}", switches.cylinder),
            format!(
                "a one-cylinder seek takes {} ms to read, {} ms to write",
                ms_fine(model.seek_read.ns(one).into()),
                ms_fine(model.seek_write.ns(one).into())
            ),
        ),
    ];
    if model.geometry.heads == 1 {
        notes.remove(0);
    }
    y += 12.0;
    for (class, skew, switch) in notes {
        let x = x - 18.0;
        let swatch = [(x, y - 5.0), (x + 24.0, y - 5.0)];
        sheet.thick(swatch, 12.0, class);
        sheet.text((x + 34.0, y), "", Anchor::Start, &skew);
        sheet.text((x + 34.0, y + 19.0), "note", Anchor::Start, &switch);
        y += 46.0;
    }
    for (line, text) in NOTE.into_iter().enumerate() {
        let y = 980.0 + 19.0 * line as f64;
        sheet.text((26.0, y), "note", Anchor::Start, text);
    }
}
