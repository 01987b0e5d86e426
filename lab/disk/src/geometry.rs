// SPDX-License-Identifier: MIT
//! Where a sector is: zones, cylinders, heads, skews, and the angle at which it passes the head.
//!
//! Angles are times: picoseconds of rotation from a mark that is fixed to the spindle.

/// Bytes in a sector.
pub const SECTOR_BYTES: u64 = 512;

/// What the catalogue says of a zone; skews are in sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneSpec {
    /// First cylinder, counted from the outer edge.
    pub first_cylinder: u32,
    /// Sectors per track.
    pub sectors_per_track: u32,
    /// Sectors that a track starts later than the track before it on the same cylinder.
    pub track_skew: u32,
    /// Sectors that the first track of a cylinder starts later than the last of the one before.
    pub cylinder_skew: u32,
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
}

/// Arm position: cylinder and head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// Cylinder, 0 at the outer edge.
    pub cylinder: u32,
    /// Head.
    pub head: u32,
}

/// A track and where its sectors are.
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
    /// Slot (place on the track, counted from the zone's origin) of its first sector.
    slot: u32,
    origin_ps: i64,
}

/// The whole layout of a drive.
#[derive(Debug, Clone)]
pub struct Geometry {
    /// Zones from the outer edge in.
    pub zones: Vec<Zone>,
    /// Heads, that is, tracks per cylinder.
    pub heads: u32,
    /// Cylinders.
    pub cylinders: u32,
    /// Sectors the drive reports; the medium may have a few more.
    pub sectors: u64,
    /// One revolution in ps.
    pub revolution_ps: i64,
}

impl Geometry {
    /// Lays out `zones` (rising, the first at cylinder 0) on `heads` surfaces.
    ///
    /// # Errors
    /// The field at fault and what is wrong with it.
    pub fn new(
        zones: &[ZoneSpec],
        heads: u32,
        cylinders: u32,
        sectors: u64,
        revolution_ps: i64,
    ) -> Result<Self, (&'static str, String)> {
        if zones.first().map(|z| z.first_cylinder) != Some(0) {
            return Err(("zones", "the first zone must start at cylinder 0".into()));
        }
        if heads == 0 {
            return Err(("heads", "a drive needs at least one head".into()));
        }
        let mut laid = Vec::with_capacity(zones.len());
        let (mut first_lbn, mut origin_ps) = (0, 0);
        for (i, &spec) in zones.iter().enumerate() {
            let end = zones.get(i + 1).map_or(cylinders, |z| z.first_cylinder);
            if end <= spec.first_cylinder {
                return Err((
                    "zones",
                    format!(
                        "zone {i} starts at cylinder {} but must end before cylinder {end}",
                        spec.first_cylinder
                    ),
                ));
            }
            if spec.sectors_per_track == 0 {
                return Err(("zones", format!("zone {i} has no sectors on a track")));
            }
            for (field, skew) in [
                ("track_skew_ns", spec.track_skew),
                ("cylinder_skew_ns", spec.cylinder_skew),
            ] {
                if skew >= spec.sectors_per_track {
                    return Err((
                        field,
                        format!(
                            "{skew} sectors of skew in zone {i} are a revolution or more \
                             ({} sectors per track)",
                            spec.sectors_per_track
                        ),
                    ));
                }
            }
            let count = end - spec.first_cylinder;
            let zone = Zone {
                spec,
                cylinders: count,
                first_lbn,
                sectors: u64::from(count) * u64::from(heads) * u64::from(spec.sectors_per_track),
                origin_ps,
            };
            first_lbn += zone.sectors;
            // The next zone's first sector passes a cylinder skew after the last one of this.
            let last = zone.track(heads, count * heads - 1);
            let past = angle(revolution_ps, last.sectors, last.slot + spec.cylinder_skew);
            origin_ps = (origin_ps + past) % revolution_ps;
            laid.push(zone);
        }
        if first_lbn < sectors {
            return Err((
                "sectors",
                format!(
                    "the zones hold only {first_lbn} sectors; correct the zones or the capacity"
                ),
            ));
        }
        if (first_lbn - sectors) * 50 > first_lbn {
            return Err((
                "sectors",
                format!("the zones hold {first_lbn} sectors, over 2 % more than the capacity"),
            ));
        }
        Ok(Self {
            zones: laid,
            heads,
            cylinders,
            sectors,
            revolution_ps,
        })
    }

    /// The zone that holds `lbn`.
    pub fn zone(&self, lbn: u64) -> &Zone {
        &self.zones[self.zones.partition_point(|z| z.first_lbn <= lbn) - 1]
    }

    /// The track that holds `lbn`.
    #[inline]
    pub fn track(&self, lbn: u64) -> Track {
        let zone = self.zone(lbn);
        let index = (lbn - zone.first_lbn) / u64::from(zone.spec.sectors_per_track);
        zone.track(self.heads, index as u32)
    }

    /// Angle in ps at which sector `lbn` of `track` begins, in 0..revolution.
    #[inline]
    pub fn angle_ps(&self, track: &Track, lbn: u64) -> i64 {
        (track.origin_ps + self.slot_ps(track, lbn)) % self.revolution_ps
    }

    /// Rotation in ps from the zone's origin to the start of `lbn`; at most two revolutions.
    #[inline]
    pub fn slot_ps(&self, track: &Track, lbn: u64) -> i64 {
        debug_assert!(lbn >= track.first && lbn <= track.end);
        angle(
            self.revolution_ps,
            track.sectors,
            track.slot + (lbn - track.first) as u32,
        )
    }

    /// The last LBN whose start is at or before `slot_ps` of rotation from the zone's origin.
    #[inline]
    pub fn lbn_at(&self, track: &Track, slot_ps: i64) -> u64 {
        // floor(s*rev/n) <= x  is  s*rev < (x+1)*n  is  s <= ((x+1)*n - 1) / rev
        let slot = ((slot_ps + 1) * i64::from(track.sectors) - 1) / self.revolution_ps;
        track.first + (slot - i64::from(track.slot)).max(0) as u64
    }

    /// LBN past the last sector on the cylinder of `track`.
    pub fn cylinder_end(&self, track: &Track) -> u64 {
        track.end + u64::from(self.heads - 1 - track.place.head) * u64::from(track.sectors)
    }

    /// Sustained rate of a zone in bytes a second: a whole cylinder over its revolutions, track
    /// skews and one cylinder skew (the drive makers' formula for sustained rate).
    pub fn sustained_bytes_s(&self, zone: &Zone) -> u64 {
        let spec = zone.spec;
        let heads = u64::from(self.heads);
        let slots = heads * u64::from(spec.sectors_per_track)
            + (heads - 1) * u64::from(spec.track_skew)
            + u64::from(spec.cylinder_skew);
        let bytes = heads * u64::from(spec.sectors_per_track) * SECTOR_BYTES;
        let ps =
            u128::from(slots) * self.revolution_ps as u128 / u128::from(spec.sectors_per_track);
        (u128::from(bytes) * 1_000_000_000_000 / ps) as u64
    }
}

impl Zone {
    #[inline]
    fn track(&self, heads: u32, index: u32) -> Track {
        let spec = self.spec;
        let (row, head) = (index / heads, index % heads);
        let per_cylinder =
            u64::from(heads - 1) * u64::from(spec.track_skew) + u64::from(spec.cylinder_skew);
        let skew = u64::from(row) * per_cylinder + u64::from(head) * u64::from(spec.track_skew);
        let first = self.first_lbn + u64::from(index) * u64::from(spec.sectors_per_track);
        Track {
            place: Place {
                cylinder: spec.first_cylinder + row,
                head,
            },
            first,
            end: first + u64::from(spec.sectors_per_track),
            sectors: spec.sectors_per_track,
            slot: (skew % u64::from(spec.sectors_per_track)) as u32,
            origin_ps: self.origin_ps,
        }
    }
}

/// Rotation from slot 0 to `slot`, rounded down to a ps: no error adds up from slot to slot.
#[inline]
fn angle(revolution_ps: i64, sectors: u32, slot: u32) -> i64 {
    i64::from(slot) * revolution_ps / i64::from(sectors)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Geometry {
        let zones = [
            ZoneSpec {
                first_cylinder: 0,
                sectors_per_track: 10,
                track_skew: 2,
                cylinder_skew: 3,
            },
            ZoneSpec {
                first_cylinder: 2,
                sectors_per_track: 5,
                track_skew: 1,
                cylinder_skew: 2,
            },
        ];
        Geometry::new(&zones, 2, 4, 60, 1_000_000).unwrap()
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
        let zone = |skew| ZoneSpec {
            first_cylinder: 0,
            sectors_per_track: 10,
            track_skew: skew,
            cylinder_skew: 0,
        };
        let field = |r: Result<Geometry, (&'static str, String)>| r.unwrap_err().0;
        assert_eq!(
            field(Geometry::new(&[zone(10)], 1, 10, 100, 1000)),
            "track_skew_ns"
        );
        assert_eq!(
            field(Geometry::new(&[zone(0)], 1, 10, 101, 1000)),
            "sectors"
        );
        assert_eq!(field(Geometry::new(&[zone(0)], 1, 10, 90, 1000)), "sectors");
        assert_eq!(field(Geometry::new(&[zone(0)], 0, 10, 100, 1000)), "heads");
        assert_eq!(field(Geometry::new(&[], 1, 10, 100, 1000)), "zones");
    }
}
