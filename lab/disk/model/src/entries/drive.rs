// SPDX-License-Identifier: MIT
//! A drive's file, and the drive that it describes, checked and tabulated.

use std::path::Path;

use serde::Deserialize;

use super::{parse, read, value_or, BusKind, Entry, Note};
use crate::error::Error;
use crate::geometry::{Geometry, Layout, Sparing, SurfaceOrder, ZoneSpec};
use crate::seek::{SeekSpec, SeekTable};

/// Most segments of a buffer.
const SEGMENTS_MAX: u32 = 4096;

/// The order in which a drive serves its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueAlgorithm {
    /// First come, first served.
    Fcfs,
    /// Shortest positioning (seek and rotation) time first.
    Sptf,
    /// Rising LBN, then back to the lowest.
    Clook,
    /// Rising LBN, then falling LBN, turning where nothing lies ahead.
    Look,
    /// Shortest seek first, by cylinders.
    Sstf,
    /// As SPTF, but waiting makes a command cheaper, so that none waits for ever.
    AgedSptf,
}

impl QueueAlgorithm {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Fcfs,
        Self::Look,
        Self::Clook,
        Self::Sstf,
        Self::Sptf,
        Self::AgedSptf,
    ];

    /// The algorithm called `name`, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|q| q.name() == name)
    }

    /// Its name in files and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fcfs => "fcfs",
            Self::Sptf => "sptf",
            Self::Clook => "clook",
            Self::Look => "look",
            Self::Sstf => "sstf",
            Self::AgedSptf => "aged_sptf",
        }
    }
}

/// Where read-ahead stops at the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadAheadStop {
    /// At the end of the request: no read-ahead.
    Request,
    /// At the end of the track.
    Track,
    /// At the end of the track; a stream that has come from the track before reads the next, too.
    Stream,
    /// At the end of the cylinder.
    Cylinder,
    /// When the segment is full.
    Segment,
}

/// Which commands stop read-ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadAheadAbort {
    /// Those that need the arm.
    Arm,
    /// Every command that does not go on where it reads.
    Command,
}

/// Who may be at a segment of the buffer: the medium and the host at the same time, or one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentAccess {
    /// Both.
    Overlapped,
    /// One; read-ahead stands still while the host takes data from its segment.
    HostFirst,
    /// One; the host gets data when read-ahead has come to its end.
    MediumFirst,
}

/// A row of `zones`: short, or with all that was measured of a zone.
#[derive(Debug, Clone)]
pub enum ZoneRow {
    /// `[first cylinder, sectors per track]`, or these and both skews in sectors.
    Short(Vec<u32>),
    /// With spares, slips and the zone's angle.
    Full(ZoneTable),
}

/// A zone as it was extracted from a drive; skews and offset are in 1/1000 of its sectors.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // The keys are documented in catalogue/README.md, once.
pub struct ZoneTable {
    pub first_cylinder: u32,
    pub last_cylinder: Option<u32>,
    pub sectors_per_track: u32,
    pub track_skew_millisectors: u32,
    pub cylinder_skew_millisectors: u32,
    pub offset_millisectors: Option<u32>,
    #[serde(default)]
    pub empty_sectors: u64,
    #[serde(default)]
    pub spares: u64,
    #[serde(default)]
    pub slips: Vec<u64>,
    #[serde(default)]
    pub remaps: Vec<[u64; 2]>,
}

impl<'de> Deserialize<'de> for ZoneRow {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = ZoneRow;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a list of numbers, or a table of a zone")
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, list: A) -> Result<ZoneRow, A::Error> {
                let list = serde::de::value::SeqAccessDeserializer::new(list);
                Vec::deserialize(list).map(ZoneRow::Short)
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                table: A,
            ) -> Result<ZoneRow, A::Error> {
                let table = serde::de::value::MapAccessDeserializer::new(table);
                ZoneTable::deserialize(table).map(ZoneRow::Full)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// A drive file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // The keys are documented in catalogue/README.md, once.
pub struct DriveFile {
    pub model: Note<String>,
    pub maker: Note<String>,
    pub media: Note<String>,
    pub capacity_gb: Note<u64>,
    pub interface: Note<String>,
    pub interface_mb_s: Note<u64>,
    pub buffer_kb: Entry<u64>,
    pub bus_kind: Entry<BusKind>,
    pub max_tags: Entry<u32>,
    pub queue_algorithms: Entry<Vec<QueueAlgorithm>>,
    pub queue: Entry<QueueAlgorithm>,
    pub write_cache: Entry<bool>,
    pub write_cache_appends_only: Option<Entry<bool>>,
    pub sectors: Entry<u64>,
    pub rpm: Entry<u32>,
    pub revolution_ns: Option<Entry<u64>>,
    pub heads: Entry<u32>,
    pub cylinders: Entry<u32>,
    pub zones: Entry<Vec<ZoneRow>>,
    pub sparing: Option<Entry<Sparing>>,
    pub spare_range_cylinders: Option<Entry<u32>>,
    pub surface_order: Option<Entry<SurfaceOrder>>,
    pub track_skew_ns: Option<Entry<u64>>,
    pub cylinder_skew_ns: Option<Entry<u64>>,
    pub seek_read: Entry<SeekSpec>,
    pub seek_write: Entry<SeekSpec>,
    pub seek_read_mean_ns: Entry<u64>,
    pub seek_write_mean_ns: Entry<u64>,
    pub head_switch_ns: Entry<u64>,
    pub write_settle_ns: Entry<i64>,
    pub resettle_ns: Option<Entry<u64>>,
    pub zero_latency_read: Option<Entry<bool>>,
    pub zero_latency_write: Option<Entry<bool>>,
    pub read_segments: Entry<u32>,
    pub write_segments: Entry<u32>,
    pub segment_sectors: Entry<u64>,
    pub write_pool_sectors: Option<Entry<u64>>,
    pub segment_access: Option<Entry<SegmentAccess>>,
    pub read_on_arrival: Option<Entry<bool>>,
    pub read_hits_writes: Option<Entry<bool>>,
    pub read_water_mark_permille: Option<Entry<u32>>,
    pub read_water_mark_of_segment: Option<Entry<bool>>,
    pub read_ahead_min_sectors: Entry<u64>,
    pub read_ahead_max_sectors: Entry<u64>,
    pub read_ahead_stop: Entry<ReadAheadStop>,
    pub read_ahead_resume: Entry<bool>,
    pub read_ahead_over_requested: Option<Entry<bool>>,
    pub read_ahead_wraps: Option<Entry<bool>>,
    pub read_data_kept: Option<Entry<bool>>,
    pub read_ahead_abort: Entry<ReadAheadAbort>,
    pub overhead_read_hit_ns: Entry<[u64; 2]>,
    pub overhead_read_miss_ns: Entry<[u64; 2]>,
    pub overhead_write_hit_ns: Entry<[u64; 2]>,
    pub overhead_write_miss_ns: Entry<[u64; 2]>,
    pub overhead_data_ready_ns: Option<Entry<u64>>,
    pub overhead_write_data_ns: Option<Entry<u64>>,
    pub overhead_write_status_ns: Option<Entry<u64>>,
    pub overhead_write_disconnect_ns: Option<Entry<[u64; 3]>>,
    pub write_seek_min_ns: Option<Entry<u64>>,
    pub overhead_completion_ns: Option<Entry<[u64; 2]>>,
    pub sector_transfer_ns: Option<Entry<u64>>,
    pub aged_sptf_permille: Option<Entry<u32>>,
    pub command_age_limit_ns: Option<Entry<u64>>,
    pub queue_window_commands: Option<Entry<u32>>,
    pub queue_selection_ns: Option<Entry<u64>>,
}

/// A drive ready to be simulated: the file's values, checked and tabulated.
#[derive(Debug, Clone)]
pub struct DriveModel {
    /// The file it came from.
    pub file: DriveFile,
    /// Its layout.
    pub geometry: Geometry,
    /// Seek times of reads.
    pub seek_read: SeekTable,
    /// Seek times of writes.
    pub seek_write: SeekTable,
    /// Time to take up an access on the same track or cylinder that does not continue where the
    /// head is, in ns. Not in data sheets; unless the file has it, half a single-cylinder seek and
    /// never more than the track skew (docs/validity.md: what six measured drives show).
    pub resettle_ns: u64,
}

impl DriveModel {
    /// Reads, checks and tabulates a drive file.
    ///
    /// # Errors
    /// A file that cannot be read or parsed, or an impossible drive.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let text = read(path).map_err(|e| match e {
            Error::File { path, message } => Error::file(
                path,
                message + "; a drive of the catalogue is named without .toml",
            ),
            other => other,
        })?;
        Self::from_text(&path.display().to_string(), &text)
    }

    /// The same from text; `path` is for messages.
    ///
    /// # Errors
    /// As [`DriveModel::load`].
    pub fn from_text(path: &str, text: &str) -> Result<Self, Error> {
        Self::new(path, parse(path, text)?)
    }

    /// Heap bytes of a drive's tables; its buffer and queue add a few KB.
    pub fn bytes(&self) -> usize {
        self.geometry.bytes() + self.seek_read.bytes() + self.seek_write.bytes()
    }

    /// Checks and tabulates a drive file; `path` is for messages.
    ///
    /// # Errors
    /// The field at fault.
    pub fn new(path: &str, file: DriveFile) -> Result<Self, Error> {
        let wrong = |field: &str, message: String| Err(Error::field(path, field, message));
        if !(300..=100_000).contains(&file.rpm.value) {
            return wrong("rpm", format!("{} is not a spindle speed", file.rpm.value));
        }
        let nominal_ps = 60_000_000_000_000 / i64::from(file.rpm.value);
        let revolution_ps = match &file.revolution_ns {
            None => nominal_ps,
            Some(entry) => {
                let ps = i64::try_from(entry.value)
                    .unwrap_or(i64::MAX)
                    .saturating_mul(1000);
                if (ps - nominal_ps).abs() > nominal_ps / 100 {
                    return wrong(
                        "revolution_ns",
                        format!("{} is over 1 % off what rpm gives", entry.value),
                    );
                }
                ps
            }
        };
        let mut zones = Vec::new();
        for (i, row) in file.zones.value.iter().enumerate() {
            zones.push(
                zone_spec(&file, row, revolution_ps).map_err(|message| {
                    Error::field(path, "zones", format!("zone {i}: {message}"))
                })?,
            );
        }
        if !(1..=1_000_000).contains(&file.cylinders.value) {
            return wrong("cylinders", "must be 1 to 1000000".into());
        }
        let layout = Layout {
            sparing: value_or(&file.sparing, Sparing::None),
            spare_range_cylinders: value_or(&file.spare_range_cylinders, 1),
            surface_order: value_or(&file.surface_order, SurfaceOrder::Forward),
        };
        let geometry = Geometry::new(
            &zones,
            layout,
            file.heads.value,
            file.cylinders.value,
            file.sectors.value,
            revolution_ps,
        )
        .map_err(|(field, message)| Error::field(path, field, message))?;
        let cylinders = file.cylinders.value;
        let table = |field: &str, spec: &SeekSpec| {
            SeekTable::new(spec, cylinders).map_err(|m| Error::field(path, field, m))
        };
        let seek_read = table("seek_read", &file.seek_read.value)?;
        let seek_write = table("seek_write", &file.seek_write.value)?;
        for (field, stated, got) in [
            (
                "seek_read_mean_ns",
                file.seek_read_mean_ns.value,
                seek_read.mean_ns(),
            ),
            (
                "seek_write_mean_ns",
                file.seek_write_mean_ns.value,
                seek_write.mean_ns(),
            ),
        ] {
            if stated.abs_diff(got).saturating_mul(50) > stated {
                return wrong(
                    field,
                    format!("{stated} is stated, but the curve's mean is {got}: over 2 % off"),
                );
            }
        }
        if !(1..=256).contains(&file.max_tags.value) {
            return wrong("max_tags", "must be 1 to 256".into());
        }
        if !file.queue_algorithms.value.contains(&file.queue.value) {
            return wrong("queue", "is not one of queue_algorithms".into());
        }
        if value_or(&file.command_age_limit_ns, 1) == 0 {
            return wrong("command_age_limit_ns", "must be above 0".into());
        }
        let buffered = file.bus_kind.value != BusKind::Ipi;
        let (reads, writes) = (file.read_segments.value, file.write_segments.value);
        let segment = file.segment_sectors.value;
        if !buffered {
            let pool = value_or(&file.write_pool_sectors, 0);
            if u64::from(reads) + u64::from(writes) + segment + pool + file.buffer_kb.value > 0
                || file.write_cache.value
            {
                return wrong(
                    "buffer_kb",
                    "an IPI-2 drive has no buffer: buffer_kb, read_segments, write_segments and \
                     segment_sectors are 0, write_cache is false, there is no write_pool_sectors"
                        .into(),
                );
            }
        } else {
            for (field, value) in [("read_segments", reads), ("write_segments", writes)] {
                if !(1..=SEGMENTS_MAX).contains(&value) {
                    return wrong(field, format!("must be 1 to {SEGMENTS_MAX}"));
                }
            }
            // A shared pool counts once: what writes may take of it, reads have not.
            let buffer = file.buffer_kb.value.saturating_mul(2);
            let pool = value_or(&file.write_pool_sectors, 0);
            let own = if pool > 0 { 0 } else { writes };
            let segments = u64::from(reads) + u64::from(own);
            let together = segment.saturating_mul(segments);
            if segment < 2 || together > buffer {
                return wrong(
                    "segment_sectors",
                    format!(
                        "{segments} segments of {segment} sectors do not fit into buffer_kb = {}",
                        file.buffer_kb.value
                    ),
                );
            }
            if pool == 1 || pool > buffer - together {
                return wrong(
                    "write_pool_sectors",
                    format!(
                        "{pool} sectors: {segments} read segments of {segment} leave {} of buffer_kb \
                         = {}, and it must have 2 at least, or 0 for write segments of one size",
                        buffer - together,
                        file.buffer_kb.value
                    ),
                );
            }
        }
        let overheads = [
            &file.overhead_read_hit_ns,
            &file.overhead_read_miss_ns,
            &file.overhead_write_hit_ns,
            &file.overhead_write_miss_ns,
        ];
        let longest = overheads.iter().flat_map(|e| e.value).max().unwrap_or(0);
        if longest
            .max(file.head_switch_ns.value)
            .max(file.write_settle_ns.value.unsigned_abs())
            .max(value_or(&file.overhead_data_ready_ns, 0))
            .max(value_or(&file.sector_transfer_ns, 0))
            .max(value_or(&file.queue_selection_ns, 0))
            .max(value_or(&file.resettle_ns, 0))
            .max(value_or(&file.overhead_write_data_ns, 0))
            .max(value_or(&file.overhead_write_status_ns, 0))
            .max(value_or(&file.write_seek_min_ns, 0))
            .max(
                value_or(&file.overhead_write_disconnect_ns, [0; 3])
                    .into_iter()
                    .max()
                    .unwrap_or(0),
            )
            .max(
                value_or(&file.overhead_completion_ns, [0, 0])
                    .into_iter()
                    .max()
                    .unwrap_or(0),
            )
            > 1_000_000_000
        {
            return wrong(
                "overhead_*_ns, head_switch_ns, write_settle_ns, write_seek_min_ns, \
                 sector_transfer_ns, queue_selection_ns",
                "over 1 s".into(),
            );
        }
        let outer = &geometry.zones[0].spec;
        let skew_ns = i64::from(outer.track_skew_milli) * (revolution_ps / 1000)
            / i64::from(outer.sectors_per_track)
            / 1000;
        let one_ns = if file.cylinders.value > 1 {
            seek_read.ns(1)
        } else {
            0
        };
        let resettle_ns = value_or(
            &file.resettle_ns,
            u64::from(one_ns / 2).min(skew_ns.unsigned_abs()),
        );
        Ok(Self {
            file,
            geometry,
            seek_read,
            seek_write,
            resettle_ns,
        })
    }
}

fn zone_spec(file: &DriveFile, row: &ZoneRow, revolution_ps: i64) -> Result<ZoneSpec, String> {
    match row {
        ZoneRow::Short(row) => short_zone(file, row, revolution_ps),
        ZoneRow::Full(table) => Ok(full_zone(table)),
    }
}

fn short_zone(file: &DriveFile, row: &[u32], revolution_ps: i64) -> Result<ZoneSpec, String> {
    let skew = |entry: &Option<Entry<u64>>, field: &str, sectors: u32| {
        let ns = entry
            .as_ref()
            .ok_or_else(|| format!("has no skews, and the drive has no {field}"))?
            .value;
        // Rounded up: the switch must be over when the first sector comes.
        let slots = (u128::from(ns) * 1000 * u128::from(sectors)).div_ceil(revolution_ps as u128);
        u32::try_from(slots).map_err(|_| format!("{field} is over a revolution"))
    };
    match *row {
        [first_cylinder, sectors] => {
            let track = skew(&file.track_skew_ns, "track_skew_ns", sectors)?;
            let cylinder = skew(&file.cylinder_skew_ns, "cylinder_skew_ns", sectors)?;
            Ok(ZoneSpec::plain(first_cylinder, sectors, track, cylinder))
        }
        [first_cylinder, sectors, track, cylinder] => {
            Ok(ZoneSpec::plain(first_cylinder, sectors, track, cylinder))
        }
        _ => Err(
            "write [first cylinder, sectors per track] or, with both skews in sectors, \
                  [first cylinder, sectors per track, track skew, cylinder skew]"
                .into(),
        ),
    }
}

fn full_zone(table: &ZoneTable) -> ZoneSpec {
    ZoneSpec {
        first_cylinder: table.first_cylinder,
        last_cylinder: table.last_cylinder,
        sectors_per_track: table.sectors_per_track,
        track_skew_milli: table.track_skew_millisectors,
        cylinder_skew_milli: table.cylinder_skew_millisectors,
        offset_milli: table.offset_millisectors,
        empty_sectors: table.empty_sectors,
        spares: table.spares,
        slips: table.slips.clone(),
        remaps: table.remaps.clone(),
    }
}
