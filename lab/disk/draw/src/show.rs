// SPDX-License-Identifier: MIT
//! `spindle-disk show`: what a drive file means, as text or JSON.

use std::fmt::Write;

use serde_json::json;
use spindle_disk::catalogue::{DriveModel, Mark};

/// A mark as it is written in files.
pub fn mark_name(mark: Mark) -> &'static str {
    match mark {
        Mark::Datasheet => "datasheet",
        Mark::Measured => "measured",
        Mark::Seed => "seed",
        Mark::Derived => "derived",
        Mark::Assumed => "assumed",
        Mark::Log => "log",
    }
}

/// Distances at which the seek curve is printed, in cylinders.
const DISTANCES: [u32; 12] = [1, 2, 5, 10, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000];

/// The page of a drive.
pub fn page(name: &str, model: &DriveModel, as_json: bool) -> String {
    if as_json {
        json_page(name, model)
    } else {
        text_page(name, model)
    }
}

/// Milliseconds, rounded to the microsecond.
fn ms(ns: u64) -> f64 {
    (ns as f64 / 1e3).round() / 1e3
}

/// 10^6 bytes a second, rounded to the hundredth.
fn mb_s(bytes_s: u64) -> f64 {
    (bytes_s as f64 / 1e4).round() / 1e2
}

fn distances(model: &DriveModel) -> impl Iterator<Item = u32> {
    let full = model.geometry.cylinders - 1;
    DISTANCES
        .into_iter()
        .filter(move |&d| d < full)
        .chain([full])
}

/// The zones as rows: first cylinder, cylinders, sectors per track, skews, rate in the track and
/// sustained, in bytes a second.
#[allow(missing_docs)] // The names say it, with the comment above.
pub struct Row {
    pub first_cylinder: u32,
    pub cylinders: u32,
    pub sectors_per_track: u32,
    pub track_skew: u32,
    pub cylinder_skew: u32,
    pub track_bytes_s: u64,
    pub sustained_bytes_s: u64,
}

/// A row for each zone.
pub fn rows(model: &DriveModel) -> Vec<Row> {
    let geometry = &model.geometry;
    let row = |zone: &spindle_disk::geometry::Zone| Row {
        first_cylinder: zone.spec.first_cylinder,
        cylinders: zone.cylinders,
        sectors_per_track: zone.spec.sectors_per_track,
        track_skew: zone.spec.track_skew_milli / 1000,
        cylinder_skew: zone.spec.cylinder_skew_milli / 1000,
        track_bytes_s: u64::from(zone.spec.sectors_per_track) * 512 * 1_000_000_000
            / (geometry.revolution_ps as u64 / 1000),
        sustained_bytes_s: geometry.sustained_bytes_s(zone),
    };
    geometry.zones.iter().map(row).collect()
}

fn json_page(name: &str, model: &DriveModel) -> String {
    let (file, geometry, rows) = (&model.file, &model.geometry, rows(model));
    let zones: Vec<_> = rows
        .iter()
        .map(|r| {
            json!({
                "first_cylinder": r.first_cylinder, "cylinders": r.cylinders,
                "sectors_per_track": r.sectors_per_track, "track_skew_sectors": r.track_skew,
                "cylinder_skew_sectors": r.cylinder_skew,
                "track_mb_s": mb_s(r.track_bytes_s), "sustained_mb_s": mb_s(r.sustained_bytes_s),
            })
        })
        .collect();
    let seeks: Vec<_> = distances(model)
        .map(|d| {
            json!({"cylinders": d, "read_ms": ms(model.seek_read.ns(d).into()),
                   "write_ms": ms(model.seek_write.ns(d).into())})
        })
        .collect();
    let page = json!({
        "drive": name,
        "model": file.model.value,
        "maker": file.maker.value,
        "media": file.media.value,
        "capacity_gb": file.capacity_gb.value,
        "sectors": geometry.sectors,
        "rpm": file.rpm.value,
        "revolution_ns": geometry.revolution_ps / 1000,
        "heads": geometry.heads,
        "cylinders": geometry.cylinders,
        "seek_read_ms_mean": ms(model.seek_read.mean_ns()),
        "seek_write_ms_mean": ms(model.seek_write.mean_ns()),
        "seek_read_ms_full": ms(model.seek_read.full_ns().into()),
        "seek_write_ms_full": ms(model.seek_write.full_ns().into()),
        "sustained_outer_mb_s": mb_s(rows[0].sustained_bytes_s),
        "sustained_inner_mb_s": mb_s(rows[rows.len() - 1].sustained_bytes_s),
        "buffer_kb": file.buffer_kb.value,
        "interface": file.interface.value,
        "interface_mb_s": file.interface_mb_s.value,
        "max_tags": file.max_tags.value,
        "read_segments": file.read_segments.value,
        "write_segments": file.write_segments.value,
        "segment_sectors": file.segment_sectors.value,
        "write_pool_sectors": file.write_pool_sectors.as_ref().map_or(0, |e| e.value),
        "zones": zones,
        "seeks": seeks,
    });
    format!("{page:#}\n")
}

fn text_page(name: &str, model: &DriveModel) -> String {
    let (file, geometry) = (&model.file, &model.geometry);
    let mut page = String::new();
    let mut line = |text: String| writeln!(page, "{text}").expect("writing to a string");
    line(format!("{name}: {} {}", file.maker.value, file.model.value));
    line(format!(
        "  {} sectors ({} GB), {}, {} cylinders, {} rpm ({:.3} ms a revolution)",
        geometry.sectors,
        file.capacity_gb.value,
        file.media.value,
        geometry.cylinders,
        file.rpm.value,
        ms(geometry.revolution_ps as u64 / 1000),
    ));
    let (reads, writes) = (file.read_segments.value, file.write_segments.value);
    let size = file.segment_sectors.value;
    let pool = file.write_pool_sectors.as_ref().map_or(0, |e| e.value);
    let buffer = match pool {
        0 => format!("{reads} read and {writes} write segments of {size} sectors"),
        _ => format!(
            "{reads} read segments of {size} sectors and {pool} sectors for up to {writes} written \
             extents"
        ),
    };
    line(format!(
        "  {} at {} MB/s, buffer {} KB in {buffer}, {} tags",
        file.interface.value, file.interface_mb_s.value, file.buffer_kb.value, file.max_tags.value,
    ));
    line("\n  seek (cylinders)   read ms  write ms".into());
    for distance in distances(model) {
        line(format!(
            "  {distance:16} {:9.3} {:9.3}",
            ms(model.seek_read.ns(distance).into()),
            ms(model.seek_write.ns(distance).into())
        ));
    }
    line(format!(
        "  mean of all pairs{:9.3} {:9.3}",
        ms(model.seek_read.mean_ns()),
        ms(model.seek_write.mean_ns())
    ));
    line(
        "\n  zone  first cyl      cyl  sectors/track  skews (sectors)  track MB/s  sustained"
            .into(),
    );
    for (number, r) in rows(model).iter().enumerate() {
        line(format!(
            "  {number:4} {:10} {:8} {:14} {:7} {:8} {:11.2} {:10.2}",
            r.first_cylinder,
            r.cylinders,
            r.sectors_per_track,
            r.track_skew,
            r.cylinder_skew,
            mb_s(r.track_bytes_s),
            mb_s(r.sustained_bytes_s)
        ));
    }
    page
}
