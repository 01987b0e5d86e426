// SPDX-License-Identifier: MIT
//! Where a sector is: zones, cylinders, heads, skews, spares, and the angle at which it passes
//! the head.
//!
//! A zone is a row of places for sectors ("slots"), track after track. Most hold the next LBN;
//! spares, slipped defects and the empty front of a zone hold none, and a remapped sector lives
//! in a spare elsewhere. Angles are times: picoseconds of rotation from a mark that is fixed to
//! the spindle. Skews are in thousandths of a sector, which is as fine as published extractions
//! give them.

use serde::Deserialize;

/// Bytes in a sector.
pub const SECTOR_BYTES: u64 = 512;

/// Thousandths of a sector in a sector.
const MILLI: u32 = 1000;

/// Most sectors on a track: keeps angles far inside 63 bits.
const TRACK_SECTORS_MAX: u32 = 10_000;

/// Most tracks of a drive; with spares or slips, each takes 12 bytes.
const TRACKS_MAX: u64 = 4_000_000;

/// Where spare sectors lie, and how far a slipped sector pushes the others.
///
/// The names follow G. Ganger et al., DiskSim 4.0 reference manual, layout model g1 (its number
/// in brackets).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sparing {
    /// No spares \[0\].
    #[default]
    None,
    /// Whole tracks at the end of each zone; slips and remaps name tracks \[1\].
    Tracks,
    /// At the end of each cylinder \[2\].
    Cylinder,
    /// At the end of each track \[3\].
    Track,
    /// As `cylinder`, but a slip pushes all that follows in the zone \[4\].
    CylinderSlipToEnd,
    /// At the front of each cylinder \[5\].
    CylinderFront,
    /// As `cylinder_front`, but a slip pushes all that follows in the zone \[6\].
    CylinderFrontSlipToEnd,
    /// As `cylinder_slip_to_end`; drives extracted so have slips and no spares \[7\].
    End,
    /// At the end of each range of cylinders \[8\].
    Range,
    /// At the end of each zone \[9\].
    Zone,
    /// As `zone`, with as many sectors fewer as there are slips \[10\].
    ZoneSlipToEnd,
}

/// In which order the tracks of a cylinder come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SurfaceOrder {
    /// From head 0 up, on every cylinder.
    #[default]
    Forward,
    /// Down on every second cylinder of a zone: a cylinder switch keeps the head.
    Serpentine,
    /// Down on every odd cylinder of the drive.
    SerpentineByCylinder,
}

/// What holds for all zones of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Where the spares are.
    pub sparing: Sparing,
    /// Cylinders in a range ([`Sparing::Range`]).
    pub spare_range_cylinders: u32,
    /// In which order the heads come.
    pub surface_order: SurfaceOrder,
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            sparing: Sparing::None,
            spare_range_cylinders: 1,
            surface_order: SurfaceOrder::Forward,
        }
    }
}

/// What the catalogue says of a zone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ZoneSpec {
    /// First cylinder, counted from the outer edge.
    pub first_cylinder: u32,
    /// Last cylinder; without it, the one before the next zone.
    pub last_cylinder: Option<u32>,
    /// Sectors per track.
    pub sectors_per_track: u32,
    /// How much later a track starts than the one before it on its cylinder, in 1/1000 sector.
    pub track_skew_milli: u32,
    /// How much later the first track of a cylinder starts than the last of the one before, in
    /// 1/1000 sector.
    pub cylinder_skew_milli: u32,
    /// Angle of the zone's first slot, in 1/1000 of its sectors; without it, a cylinder skew after
    /// the end of the zone before.
    pub offset_milli: Option<u32>,
    /// Sectors at the front of the zone that hold no LBN.
    pub empty_sectors: u64,
    /// Spares of each unit of the sparing scheme: sectors, or tracks ([`Sparing::Tracks`]).
    pub spares: u64,
    /// Defective places that are skipped, from the zone's first slot on (or track, see above).
    pub slips: Vec<u64>,
    /// `[defect, place that stands in for it]`, counted like the slips.
    pub remaps: Vec<[u64; 2]>,
}

impl ZoneSpec {
    /// A zone without spares; skews in whole sectors.
    pub fn plain(first_cylinder: u32, sectors_per_track: u32, track: u32, cylinder: u32) -> Self {
        Self {
            first_cylinder,
            sectors_per_track,
            track_skew_milli: track.saturating_mul(MILLI),
            cylinder_skew_milli: cylinder.saturating_mul(MILLI),
            ..Self::default()
        }
    }
}

/// A track of a zone that is not uniform.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// LBN of its first sector, counted from the zone's.
    first: u32,
    /// Slot of its first sector, counted from the track's first slot.
    front: u32,
}

/// A zone with all that follows from the ones before it.
#[derive(Debug, Clone)]
pub struct Zone {
    /// The zone as specified.
    pub spec: ZoneSpec,
    /// Number of cylinders.
    pub cylinders: u32,
    /// LBN of its first sector.
    pub first_lbn: u64,
    /// Number of sectors.
    pub sectors: u64,
    /// Angle of slot 0 of the zone, in ps.
    origin_ps: i64,
    /// Tracks, and a last row for the end; empty where every slot of every track has its LBN.
    rows: Vec<Row>,
    /// Slipped slots, rising; empty for [`Sparing::Tracks`].
    slips: Vec<u64>,
    /// `(LBN in the zone, slot)` of remapped sectors, rising; for tracks, one entry per sector.
    remaps: Vec<(u32, u64)>,
    /// Whether a slip moves the angle of what follows (schemes with spares per track or cylinder).
    slips_push_skew: Option<Push>,
}

/// From where on slips count for the skew of a track.
#[derive(Debug, Clone, Copy)]
enum Push {
    Track,
    Cylinder,
}

/// Arm position: cylinder and head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// Cylinder, 0 at the outer edge.
    pub cylinder: u32,
    /// Head.
    pub head: u32,
}

/// A track, or a part of it between remapped sectors, and where its sectors are.
#[derive(Debug, Clone, Copy)]
pub struct Track {
    /// Its cylinder and head.
    pub place: Place,
    /// LBN of its first sector.
    pub first: u64,
    /// LBN past its last sector.
    pub end: u64,
    /// Sectors per track.
    pub sectors: u32,
    /// Angle of the first sector from the zone's origin, in 1/1000 sector.
    slot_milli: u32,
    origin_ps: i64,
    /// Slips behind the first sector: index of the zone, range of its slips, first slot.
    slips: Option<Slips>,
}

#[derive(Debug, Clone, Copy)]
struct Slips {
    zone: u32,
    from: u32,
    to: u32,
    first_slot: u64,
}

/// The whole layout of a drive.
#[derive(Debug, Clone)]
pub struct Geometry {
    /// Zones from the outer edge in.
    pub zones: Vec<Zone>,
    /// What holds for all of them.
    pub layout: Layout,
    /// Heads, that is, tracks per cylinder.
    pub heads: u32,
    /// Cylinders.
    pub cylinders: u32,
    /// Sectors the drive reports; the medium may have a few more.
    pub sectors: u64,
    /// One revolution in ps.
    pub revolution_ps: i64,
}

/// The field at fault, and what is wrong with it.
pub type Fault = (&'static str, String);

impl Geometry {
    /// Lays out `zones` (rising, the first at cylinder 0) on `heads` surfaces.
    ///
    /// # Errors
    /// The field at fault and what is wrong with it.
    pub fn new(
        zones: &[ZoneSpec],
        layout: Layout,
        heads: u32,
        cylinders: u32,
        sectors: u64,
        revolution_ps: i64,
    ) -> Result<Self, Fault> {
        let mut geometry = Self::of_zones(zones, layout, heads, cylinders, revolution_ps)?;
        let room = geometry.sectors;
        if room < sectors {
            return Err((
                "sectors",
                format!("the zones hold only {room} sectors; correct the zones or the capacity"),
            ));
        }
        if (room - sectors) * 50 > room {
            return Err((
                "sectors",
                format!("the zones hold {room} sectors, over 2 % more than the capacity"),
            ));
        }
        geometry.sectors = sectors;
        Ok(geometry)
    }

    /// The same with the capacity that the zones give.
    ///
    /// # Errors
    /// As [`Geometry::new`].
    pub fn of_zones(
        zones: &[ZoneSpec],
        layout: Layout,
        heads: u32,
        cylinders: u32,
        revolution_ps: i64,
    ) -> Result<Self, Fault> {
        if zones.first().map(|z| z.first_cylinder) != Some(0) {
            return Err(("zones", "the first zone must start at cylinder 0".into()));
        }
        if heads == 0 {
            return Err(("heads", "a drive needs at least one head".into()));
        }
        if u64::from(heads) * u64::from(cylinders) > TRACKS_MAX {
            return Err((
                "heads",
                format!("{heads} heads on {cylinders} cylinders: over {TRACKS_MAX} tracks"),
            ));
        }
        if layout.spare_range_cylinders == 0 {
            return Err(("spare_range_cylinders", "must be above 0".into()));
        }
        let mut geometry = Self {
            zones: Vec::with_capacity(zones.len()),
            layout,
            heads,
            cylinders,
            sectors: 0,
            revolution_ps,
        };
        for (i, spec) in zones.iter().enumerate() {
            let next = zones.get(i + 1).map_or(cylinders, |z| z.first_cylinder);
            let zone = geometry.lay(i, spec, next)?;
            geometry.zones.push(zone);
        }
        let last = geometry.zones.last().expect("there is a zone");
        geometry.sectors = last.first_lbn + last.sectors;
        Ok(geometry)
    }

    /// Zone `i`, which ends before cylinder `next` at the latest.
    fn lay(&self, i: usize, spec: &ZoneSpec, next: u32) -> Result<Zone, Fault> {
        let wrong = |message: String| Err(("zones", format!("zone {i} {message}")));
        let end = spec
            .last_cylinder
            .map_or(next, |last| last.saturating_add(1));
        if end > next || end <= spec.first_cylinder {
            return wrong(format!(
                "starts at cylinder {} but must end before cylinder {next}",
                spec.first_cylinder
            ));
        }
        if !(1..=TRACK_SECTORS_MAX).contains(&spec.sectors_per_track) {
            return wrong(format!(
                "has {} sectors on a track; there can be 1 to {TRACK_SECTORS_MAX}",
                spec.sectors_per_track
            ));
        }
        for (field, skew) in [
            ("track_skew_ns", spec.track_skew_milli),
            ("cylinder_skew_ns", spec.cylinder_skew_milli),
            ("zones", spec.offset_milli.unwrap_or(0)),
        ] {
            if skew >= spec.sectors_per_track * MILLI {
                return Err((
                    field,
                    format!(
                        "{} sectors of skew in zone {i} are a revolution or more \
                         ({} sectors per track)",
                        skew / MILLI,
                        spec.sectors_per_track
                    ),
                ));
            }
        }
        let (first_lbn, follows_ps) = match self.zones.last() {
            None => (0, 0),
            Some(before) => {
                // The first sector passes a cylinder skew after the last one of the zone before.
                let last = before.physical_track(self, before.cylinders * self.heads - 1);
                let past = before.angle(
                    self.revolution_ps,
                    last.slot_milli + before.spec.cylinder_skew_milli,
                );
                (
                    before.first_lbn + before.sectors,
                    (before.origin_ps + past) % self.revolution_ps,
                )
            }
        };
        let mut zone = Zone {
            spec: spec.clone(),
            cylinders: end - spec.first_cylinder,
            first_lbn,
            sectors: 0,
            origin_ps: 0,
            rows: Vec::new(),
            slips: Vec::new(),
            remaps: Vec::new(),
            slips_push_skew: match self.layout.sparing {
                Sparing::Track => Some(Push::Track),
                Sparing::Cylinder
                | Sparing::CylinderSlipToEnd
                | Sparing::CylinderFront
                | Sparing::CylinderFrontSlipToEnd => Some(Push::Cylinder),
                _ => None,
            },
        };
        zone.origin_ps = match spec.offset_milli {
            Some(offset) => zone.angle(self.revolution_ps, offset),
            None => follows_ps,
        };
        zone.number(self.heads, &self.layout)
            .map_err(|message| ("zones", format!("zone {i} {message}")))?;
        Ok(zone)
    }

    fn zone_index(&self, lbn: u64) -> usize {
        self.zones.partition_point(|z| z.first_lbn <= lbn) - 1
    }

    /// The zone that holds `lbn`.
    pub fn zone(&self, lbn: u64) -> &Zone {
        &self.zones[self.zone_index(lbn)]
    }

    /// The track that holds `lbn`, or the part of it that holds LBNs in their order.
    #[inline]
    pub fn track(&self, lbn: u64) -> Track {
        let number = self.zone_index(lbn);
        let zone = &self.zones[number];
        if zone.rows.is_empty() {
            let index = (lbn - zone.first_lbn) / u64::from(zone.spec.sectors_per_track);
            return zone.physical_track(self, index as u32);
        }
        zone.track(self, number as u32, lbn)
    }

    /// The same for who knows a track that may be the one, such as that of the head.
    #[inline]
    pub fn track_beside(&self, known: &Track, lbn: u64) -> Track {
        if (known.first..known.end).contains(&lbn) {
            *known
        } else {
            self.track(lbn)
        }
    }

    /// Angle in ps at which sector `lbn` of `track` begins, in 0..revolution.
    #[inline]
    pub fn angle_ps(&self, track: &Track, lbn: u64) -> i64 {
        (track.origin_ps + self.slot_ps(track, lbn)) % self.revolution_ps
    }

    /// Rotation in ps from the zone's origin to the start of `lbn` (or, for the end of the track,
    /// to the end of the last sector); at most two revolutions.
    #[inline(always)]
    pub fn slot_ps(&self, track: &Track, lbn: u64) -> i64 {
        debug_assert!(lbn >= track.first && lbn <= track.end);
        let mut slots = (lbn - track.first) as u32;
        if let Some(slips) = &track.slips {
            let at_end = u64::from(lbn == track.end && slots > 0);
            slots += self.slipped(slips, u64::from(slots) - at_end);
        }
        angle(
            self.revolution_ps,
            track.sectors,
            track.slot_milli + slots * MILLI,
        )
    }

    /// Slips before the `nth` sector behind the first of a track.
    fn slipped(&self, slips: &Slips, nth: u64) -> u32 {
        let all = &self.zones[slips.zone as usize].slips[slips.from as usize..slips.to as usize];
        let mut at = slips.first_slot + nth;
        for slip in all {
            if *slip > at {
                break;
            }
            at += 1;
        }
        (at - slips.first_slot - nth) as u32
    }

    /// Whether so short a time after its start no sector of `track` is over. A quick look without
    /// a division: false says nothing.
    #[inline(always)]
    pub fn within_sector(&self, track: &Track, since_ps: i64) -> bool {
        // Sectors are a revolution over their number long, rounded down at the least.
        (since_ps + 1) * i64::from(track.sectors) <= self.revolution_ps
    }

    /// The last LBN whose start is at or before `slot_ps` of rotation from the zone's origin; the
    /// end of the track, if all of it is.
    #[inline]
    pub fn lbn_at(&self, track: &Track, slot_ps: i64) -> u64 {
        // floor(s*rev/n) <= x  is  s*rev < (x+1)*n  is  s <= ((x+1)*n - 1) / rev
        let milli =
            ((slot_ps + 1) * i64::from(track.sectors) * i64::from(MILLI) - 1) / self.revolution_ps;
        let slots = (milli - i64::from(track.slot_milli)).max(0) as u64 / u64::from(MILLI);
        let Some(slips) = &track.slips else {
            return track.first + slots;
        };
        let mut lbn = (track.first + slots).min(track.end);
        while lbn > track.first && self.slot_ps(track, lbn) > slot_ps {
            lbn -= 1;
        }
        debug_assert!(slips.from < slips.to);
        lbn
    }

    /// LBN past the last sector on the cylinder of `track`.
    pub fn cylinder_end(&self, track: &Track) -> u64 {
        let mut end = track.end;
        while end < self.sectors {
            let next = self.track(end);
            if next.place.cylinder != track.place.cylinder {
                break;
            }
            end = next.end;
        }
        end
    }

    /// Sustained rate of a zone in bytes a second: a whole cylinder over its revolutions, track
    /// skews and one cylinder skew (the drive makers' formula for sustained rate). Spares pass
    /// under the head, too, but carry nothing.
    pub fn sustained_bytes_s(&self, zone: &Zone) -> u64 {
        let spec = &zone.spec;
        let heads = u64::from(self.heads);
        let milli = heads * u64::from(spec.sectors_per_track) * u64::from(MILLI)
            + (heads - 1) * u64::from(spec.track_skew_milli)
            + u64::from(spec.cylinder_skew_milli);
        let bytes = u128::from(zone.sectors) * u128::from(SECTOR_BYTES);
        let ps = u128::from(milli) * self.revolution_ps as u128 * u128::from(zone.cylinders)
            / u128::from(spec.sectors_per_track)
            / u128::from(MILLI);
        (bytes * 1_000_000_000_000 / ps) as u64
    }

    /// Heap bytes of the layout's tables.
    pub fn bytes(&self) -> usize {
        self.zones
            .iter()
            .map(|z| {
                std::mem::size_of::<Zone>()
                    + z.rows.len() * std::mem::size_of::<Row>()
                    + (z.slips.len() + 2 * z.remaps.len()) * 8
            })
            .sum()
    }
}

impl Zone {
    fn angle(&self, revolution_ps: i64, milli: u32) -> i64 {
        angle(revolution_ps, self.spec.sectors_per_track, milli)
    }

    #[inline]
    fn place(&self, geometry: &Geometry, index: u32) -> Place {
        let (row, nth) = (index / geometry.heads, index % geometry.heads);
        let cylinder = self.spec.first_cylinder + row;
        let down = match geometry.layout.surface_order {
            SurfaceOrder::Forward => false,
            SurfaceOrder::Serpentine => row % 2 == 1,
            SurfaceOrder::SerpentineByCylinder => cylinder % 2 == 1,
        };
        let head = if down { geometry.heads - 1 - nth } else { nth };
        Place { cylinder, head }
    }

    /// Angle of slot 0 of track `index` from the zone's origin, in 1/1000 sector.
    #[inline]
    fn skew_milli(&self, heads: u32, index: u32) -> u32 {
        let spec = &self.spec;
        let (row, nth) = (u64::from(index / heads), u64::from(index % heads));
        let track = u64::from(spec.track_skew_milli);
        let cylinder = u64::from(heads - 1) * track + u64::from(spec.cylinder_skew_milli);
        let mut skew = row * cylinder + nth * track;
        if let Some(push) = self.slips_push_skew {
            let tracks = match push {
                Push::Track => index,
                Push::Cylinder => index / heads * heads,
            };
            let before = u64::from(tracks) * u64::from(spec.sectors_per_track);
            skew += self.slips.partition_point(|&s| s < before) as u64 * u64::from(MILLI);
        }
        (skew % (u64::from(spec.sectors_per_track) * u64::from(MILLI))) as u32
    }

    /// Track `index` of the zone with an LBN in every slot.
    #[inline]
    fn physical_track(&self, geometry: &Geometry, index: u32) -> Track {
        let sectors = self.spec.sectors_per_track;
        let first = self.first_lbn + u64::from(index) * u64::from(sectors);
        Track {
            place: self.place(geometry, index),
            first,
            end: first + u64::from(sectors),
            sectors,
            slot_milli: self.skew_milli(geometry.heads, index),
            origin_ps: self.origin_ps,
            slips: None,
        }
    }

    fn track(&self, geometry: &Geometry, number: u32, lbn: u64) -> Track {
        let wanted = (lbn - self.first_lbn) as u32;
        let per_track = u64::from(self.spec.sectors_per_track);
        let next = self.remaps.partition_point(|&(at, _)| at < wanted);
        if let Some(&(at, slot)) = self.remaps.get(next).filter(|r| r.0 == wanted) {
            let mut track = self.physical_track(geometry, (slot / per_track) as u32);
            track.slot_milli += (slot % per_track) as u32 * MILLI;
            track.first = self.first_lbn + u64::from(at);
            track.end = track.first + 1;
            return track;
        }
        // Where it would be if all tracks held the same; a few steps from there.
        let tracks = self.rows.len() - 1;
        let guess = u128::from(wanted) * tracks as u128 / u128::from(self.sectors.max(1));
        let mut index = (guess as usize).min(tracks - 1);
        while self.rows[index].first > wanted {
            index -= 1;
        }
        while self.rows[index + 1].first <= wanted {
            index += 1;
        }
        let row = self.rows[index];
        let mut track = self.physical_track(geometry, index as u32);
        track.slot_milli += row.front * MILLI;
        track.first = self.first_lbn + u64::from(row.first);
        track.end = self.first_lbn + u64::from(self.rows[index + 1].first);
        let start = index as u64 * per_track;
        let first_slot = start + u64::from(row.front);
        let from = self.slips.partition_point(|&s| s < first_slot);
        let to = self.slips.partition_point(|&s| s < start + per_track);
        if from < to {
            track.slips = Some(Slips {
                zone: number,
                from: from as u32,
                to: to as u32,
                first_slot,
            });
        }
        if !self.remaps.is_empty() {
            self.between_remaps(geometry, &mut track, next, wanted);
        }
        track
    }

    /// Cuts a track down to the part around `wanted` that has no remapped sector.
    fn between_remaps(&self, geometry: &Geometry, track: &mut Track, next: usize, wanted: u32) {
        if let Some(&(at, _)) = self.remaps.get(next) {
            track.end = track.end.min(self.first_lbn + u64::from(at));
        }
        let Some(&(at, _)) = next.checked_sub(1).map(|i| &self.remaps[i]) else {
            return;
        };
        let first = self.first_lbn + u64::from(at) + 1;
        if first <= track.first {
            return;
        }
        debug_assert!(u64::from(wanted) + self.first_lbn >= first);
        let skipped = (first - track.first) as u32;
        let mut slots = skipped;
        if let Some(slips) = &mut track.slips {
            // The zone is not part of the geometry yet while it is laid; here it always is.
            slots += geometry.slipped(slips, u64::from(skipped));
            slips.first_slot += u64::from(slots);
            let all = &self.slips[..slips.to as usize];
            slips.from = all.partition_point(|&s| s < slips.first_slot) as u32;
        }
        track.slips = track.slips.filter(|s| s.from < s.to);
        track.slot_milli += slots * MILLI;
        track.first = first;
    }

    /// Gives every slot its LBN.
    fn number(&mut self, heads: u32, layout: &Layout) -> Result<(), String> {
        let spec = &self.spec;
        let per_track = u64::from(spec.sectors_per_track);
        let tracks = u64::from(self.cylinders) * u64::from(heads);
        let slots = tracks * per_track;
        if slots > u64::from(u32::MAX) {
            return Err(format!("has {slots} sectors, more than 2^32"));
        }
        let by_track = layout.sparing == Sparing::Tracks;
        let places = if by_track { tracks } else { slots };
        let named = spec.slips.iter().chain(spec.remaps.iter().flatten());
        if let Some(place) = named.copied().find(|&p| p >= places) {
            return Err(format!(
                "has a slip or remap at {place}, but only {places} places"
            ));
        }
        let mut slips = spec.slips.clone();
        slips.sort_unstable();
        slips.dedup();
        let per_cylinder = per_track * u64::from(heads);
        let cylinders = u64::from(self.cylinders);
        let range = per_cylinder * u64::from(layout.spare_range_cylinders);
        let at_front = matches!(
            layout.sparing,
            Sparing::CylinderFront | Sparing::CylinderFrontSlipToEnd
        );
        // The unit that has its own spares, how many, and how many LBNs the zone has in all.
        let slip_count = slips.len() as u64;
        let (unit, spares, less) = match layout.sparing {
            Sparing::None => (slots, 0, 0),
            Sparing::Tracks => (slots, 0, spec.spares * per_track),
            Sparing::Track => (per_track, spec.spares, spec.spares * tracks),
            Sparing::Cylinder | Sparing::CylinderFront => {
                (per_cylinder, spec.spares, spec.spares * cylinders)
            }
            Sparing::CylinderSlipToEnd | Sparing::CylinderFrontSlipToEnd => (
                per_cylinder,
                spec.spares,
                spec.spares * cylinders + slip_count,
            ),
            Sparing::End => (
                per_cylinder,
                spec.spares,
                slip_count + spec.spares * cylinders,
            ),
            Sparing::Range => (range, spec.spares, spec.spares * (slots / range)),
            Sparing::Zone => (slots, 0, spec.spares),
            Sparing::ZoneSlipToEnd => (slots, 0, spec.spares + slip_count),
        };
        let held = slots
            .checked_sub(less)
            .and_then(|s| s.checked_sub(spec.empty_sectors))
            .filter(|&s| s > 0);
        let Some(held) = held else {
            return Err(format!(
                "has {slots} places, but {less} spares and slips and {} empty ones",
                spec.empty_sectors
            ));
        };
        if less == 0 && spec.empty_sectors == 0 && slips.is_empty() && spec.remaps.is_empty() {
            self.sectors = slots;
            return Ok(());
        }
        // Whether slips of a unit use up its spares, so that the next one starts on time.
        let own = matches!(
            layout.sparing,
            Sparing::Track | Sparing::Cylinder | Sparing::CylinderFront | Sparing::Range
        );
        let mut lbns = 0_u64;
        let mut rows = Vec::with_capacity(tracks as usize + 1);
        // Of each slot its LBN, for the remaps alone.
        let mut numbers = std::collections::BTreeMap::new();
        let stand_ins: std::collections::BTreeMap<u64, u64> = spec
            .remaps
            .iter()
            .flat_map(|&[from, to]| {
                let unit = if by_track { per_track } else { 1 };
                (0..unit).map(move |i| (from * unit + i, to * unit + i))
            })
            .collect();
        let mut left_empty = spec.empty_sectors;
        let mut in_unit = 0;
        for track in 0..tracks {
            let start = track * per_track;
            if start % unit == 0 {
                in_unit = 0;
            }
            // A last unit that is cut short has no spares.
            let whole = slots - start / unit * unit >= unit;
            let in_range = |from: u64, to: u64| {
                let bad = |&s: &u64| if by_track { s * per_track } else { s };
                let from = slips.partition_point(|s| bad(s) < from);
                &slips[from..from + slips[from..].partition_point(|s| bad(s) < to)]
            };
            let mut spare = if whole { spares } else { 0 };
            if at_front && own {
                // Each slip behind the spares lets the data begin a slot earlier; one that is among
                // the spares by then takes nothing.
                let unit_start = start / unit * unit;
                for slip in in_range(unit_start, unit_start + unit).iter().rev() {
                    if slip - unit_start >= spare {
                        spare = spare.saturating_sub(1);
                    }
                }
            }
            // Slots of this track before `from` or from `to` on are spares.
            let here = start % unit;
            let (from, to) = if at_front {
                (spare.saturating_sub(here).min(per_track), per_track)
            } else if own {
                (0, per_track)
            } else {
                (0, (unit - spare).saturating_sub(here).min(per_track))
            };
            let most = if own && !at_front {
                (unit - spare).saturating_sub(in_unit)
            } else {
                u64::MAX
            };
            let bad = in_range(start, start + per_track);
            let first = lbns;
            let mut front = None;
            let mut take = |slot: u64, lbns: &mut u64| {
                if left_empty > 0 {
                    left_empty -= 1;
                } else if *lbns < held {
                    front.get_or_insert(slot);
                    if let Some(&to) = stand_ins.get(&(start + slot)) {
                        numbers.insert(*lbns as u32, to);
                    }
                    *lbns += 1;
                }
            };
            if bad.is_empty() && stand_ins.range(start..start + per_track).next().is_none() {
                let n = (to - from).min(most);
                in_unit += n;
                let empty = left_empty.min(n);
                left_empty -= empty;
                let n = (n - empty).min(held - lbns);
                front = (n > 0).then_some(from + empty);
                lbns += n;
            } else {
                let mut taken = 0;
                for slot in from..to {
                    let slipped = by_track || bad.binary_search(&(start + slot)).is_ok();
                    if (!slipped || bad.is_empty()) && taken < most {
                        taken += 1;
                        take(slot, &mut lbns);
                    }
                }
                in_unit += taken;
            }
            rows.push(Row {
                first: first as u32,
                front: front.unwrap_or(0) as u32,
            });
        }
        rows.push(Row {
            first: lbns as u32,
            front: 0,
        });
        if lbns == 0 {
            return Err("has no place left for data".into());
        }
        let holds_data = |slot: u64| {
            let (track, nth) = ((slot / per_track) as usize, slot % per_track);
            let (row, next) = (rows[track], rows[track + 1]);
            let Some(behind) = nth.checked_sub(u64::from(row.front)) else {
                return false;
            };
            let (slipped, good) = if by_track {
                (0, true)
            } else {
                let before = |s: u64| slips.partition_point(|&slip| slip < s);
                let slipped = before(slot) - before(slot - behind);
                (slipped as u64, slips.binary_search(&slot).is_err())
            };
            good && behind - slipped < u64::from(next.first - row.first)
        };
        let mut taken = std::collections::BTreeSet::new();
        for &[from, to] in &spec.remaps {
            if !taken.insert(to) {
                return Err(format!("has two remaps to {to}"));
            }
            // DiskSim writes a defect that stays where it is as its own stand-in.
            let size = if by_track { per_track } else { 1 };
            if from != to && (to * size..(to + 1) * size).any(holds_data) {
                return Err(format!("has a remap to {to}, which holds data"));
            }
        }
        self.slips = if by_track { Vec::new() } else { slips };
        self.rows = rows;
        self.remaps = numbers.into_iter().collect();
        self.sectors = lbns;
        Ok(())
    }
}

/// Rotation from slot 0 to `milli` thousandths of a sector, rounded down to a ps: no error adds
/// up from slot to slot.
#[inline]
fn angle(revolution_ps: i64, sectors: u32, milli: u32) -> i64 {
    i64::from(milli) * revolution_ps / (i64::from(sectors) * i64::from(MILLI))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Geometry {
        let zones = [ZoneSpec::plain(0, 10, 2, 3), ZoneSpec::plain(2, 5, 1, 2)];
        Geometry::new(&zones, Layout::default(), 2, 4, 60, 1_000_000).unwrap()
    }

    #[test]
    fn geometry_zone_boundaries() {
        let g = small();
        let place = |lbn| (g.track(lbn).place.cylinder, g.track(lbn).place.head);
        assert_eq!(place(0), (0, 0));
        assert_eq!(place(9), (0, 0));
        assert_eq!(place(10), (0, 1));
        assert_eq!(place(20), (1, 0));
        assert_eq!(place(39), (1, 1));
        assert_eq!(place(40), (2, 0));
        assert_eq!(place(44), (2, 0));
        assert_eq!(place(45), (2, 1));
        assert_eq!(place(59), (3, 1));
        assert_eq!(g.cylinder_end(&g.track(12)), 20);
        assert_eq!(g.cylinder_end(&g.track(41)), 50);
    }

    #[test]
    fn geometry_angles_with_skew() {
        let g = small();
        let at = |lbn| g.angle_ps(&g.track(lbn), lbn);
        assert_eq!(at(0), 0);
        assert_eq!(at(3), 300_000);
        assert_eq!(at(10), 200_000);
        assert_eq!(at(18), 0);
        assert_eq!(at(20), 500_000);
        assert_eq!(at(30), 700_000);
        // The last sector of the zone ends at 0.7; the next zone starts 3 slots of 0.1 later.
        assert_eq!(at(40), 0);
        assert_eq!(at(45), 200_000);
        assert_eq!(at(50), 600_000);
    }

    #[test]
    fn geometry_lbn_at_inverts_slot() {
        let g = small();
        for lbn in 0..60 {
            let track = g.track(lbn);
            let slot = g.slot_ps(&track, lbn);
            assert_eq!(g.lbn_at(&track, slot), lbn);
            if lbn > track.first {
                assert_eq!(g.lbn_at(&track, slot - 1), lbn - 1);
            }
        }
    }

    #[test]
    fn geometry_sustained_rate() {
        // 20 sectors in 20 + 2 + 3 slots of 0.1 us.
        let g = small();
        assert_eq!(
            g.sustained_bytes_s(&g.zones[0]),
            20 * 512 * 1_000_000 * 10 / 25
        );
    }

    #[test]
    fn geometry_refuses_what_cannot_be() {
        let zone = |skew| ZoneSpec::plain(0, 10, skew, 0);
        let new = |zones: &[ZoneSpec], heads, cylinders, sectors| {
            Geometry::new(zones, Layout::default(), heads, cylinders, sectors, 1000)
        };
        let field = |r: Result<Geometry, (&'static str, String)>| r.unwrap_err().0;
        assert_eq!(field(new(&[zone(10)], 1, 10, 100)), "track_skew_ns");
        assert_eq!(field(new(&[zone(0)], 1, 10, 101)), "sectors");
        assert_eq!(field(new(&[zone(0)], 1, 10, 90)), "sectors");
        assert_eq!(field(new(&[zone(0)], 0, 10, 100)), "heads");
        assert_eq!(field(new(&[], 1, 10, 100)), "zones");
    }
}
