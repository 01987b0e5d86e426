// SPDX-License-Identifier: MIT
//! Where sectors are: every sparing scheme by hand on a tiny drive, and the rules of a layout on
//! random ones.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::Index;
use spindle_disk::geometry::{Geometry, Layout, Sparing, SurfaceOrder, ZoneSpec};

/// Time of a sector on the tiny drive, in ps.
const SECTOR_PS: i64 = 1000;

fn layout(sparing: Sparing) -> Layout {
    Layout {
        sparing,
        ..Layout::default()
    }
}

/// A zone of 4 sectors a track without skews.
fn tiny(spares: u64, slips: &[u64]) -> ZoneSpec {
    ZoneSpec {
        spares,
        slips: slips.to_vec(),
        ..ZoneSpec::plain(0, 4, 0, 0)
    }
}

/// The LBNs of a drive of 4 sectors a track as they pass its heads, cylinder by cylinder and head
/// by head; a point where nothing is.
fn picture(zone: ZoneSpec, layout: Layout, heads: u32, cylinders: u32) -> String {
    let geometry = Geometry::of_zones(&[zone], layout, heads, cylinders, 4 * SECTOR_PS).unwrap();
    let mut at = vec!["."; 4 * (heads * cylinders) as usize]
        .into_iter()
        .map(String::from)
        .collect::<Vec<_>>();
    for lbn in 0..geometry.sectors {
        let track = geometry.track(lbn);
        let slot = geometry.angle_ps(&track, lbn) / SECTOR_PS;
        let row = track.place.cylinder * heads + track.place.head;
        let place = &mut at[(row * 4) as usize + slot as usize];
        assert_eq!(place, ".", "two LBNs at one place");
        *place = lbn.to_string();
    }
    let tracks: Vec<_> = at.chunks(4).map(|t| t.join(" ")).collect();
    tracks.join(" | ")
}

/// The same with 2 heads and 2 cylinders: 16 places.
fn small(sparing: Sparing, spares: u64, slips: &[u64]) -> String {
    picture(tiny(spares, slips), layout(sparing), 2, 2)
}

#[test]
fn without_spares_a_slip_is_skipped() {
    assert_eq!(
        small(Sparing::None, 0, &[]),
        "0 1 2 3 | 4 5 6 7 | 8 9 10 11 | 12 13 14 15"
    );
    assert_eq!(
        small(Sparing::None, 0, &[5, 15]),
        "0 1 2 3 | 4 . 5 6 | 7 8 9 10 | 11 12 13 ."
    );
}

#[test]
fn spare_tracks_end_the_zone() {
    assert_eq!(
        small(Sparing::Tracks, 1, &[]),
        "0 1 2 3 | 4 5 6 7 | 8 9 10 11 | . . . ."
    );
    // A slip names a track, which uses up the spare one.
    assert_eq!(
        small(Sparing::Tracks, 1, &[1]),
        "0 1 2 3 | . . . . | 4 5 6 7 | 8 9 10 11"
    );
}

#[test]
fn spares_of_each_cylinder_take_its_slips() {
    assert_eq!(
        small(Sparing::Cylinder, 2, &[]),
        "0 1 2 3 | 4 5 . . | 6 7 8 9 | 10 11 . ."
    );
    // The slip moves the end of its own cylinder alone; what follows passes a sector later.
    assert_eq!(
        small(Sparing::Cylinder, 2, &[1]),
        "0 . 1 2 | 3 4 5 . | 9 6 7 8 | . 10 11 ."
    );
}

#[test]
fn spares_of_each_track_take_its_slips() {
    assert_eq!(
        small(Sparing::Track, 1, &[]),
        "0 1 2 . | 3 4 5 . | 6 7 8 . | 9 10 11 ."
    );
    assert_eq!(
        small(Sparing::Track, 1, &[1]),
        "0 . 1 2 | . 3 4 5 | . 6 7 8 | . 9 10 11"
    );
}

#[test]
fn slips_to_the_end_push_the_next_cylinder() {
    // The last slot of each cylinder stays spare, whatever is slipped.
    assert_eq!(
        small(Sparing::CylinderSlipToEnd, 1, &[]),
        "0 1 2 3 | 4 5 6 . | 7 8 9 10 | 11 12 13 ."
    );
    assert_eq!(
        small(Sparing::CylinderSlipToEnd, 1, &[1]),
        "0 . 1 2 | 3 4 5 . | 9 6 7 8 | . 10 11 12"
    );
}

#[test]
fn spares_at_the_front_of_each_cylinder() {
    assert_eq!(
        small(Sparing::CylinderFront, 2, &[]),
        ". . 0 1 | 2 3 4 5 | . . 6 7 | 8 9 10 11"
    );
    // The slip makes its cylinder begin one slot earlier.
    assert_eq!(
        small(Sparing::CylinderFront, 2, &[5]),
        ". 0 1 2 | 3 . 4 5 | 7 . . 6 | 11 8 9 10"
    );
    // One among the spares takes nothing from the data, and moves nothing on its cylinder.
    assert_eq!(
        small(Sparing::CylinderFront, 2, &[0]),
        ". . 0 1 | 2 3 4 5 | 7 . . 6 | 11 8 9 10"
    );
}

#[test]
fn spares_at_the_front_with_slips_to_the_end() {
    assert_eq!(
        small(Sparing::CylinderFrontSlipToEnd, 1, &[]),
        ". 0 1 2 | 3 4 5 6 | . 7 8 9 | 10 11 12 13"
    );
    assert_eq!(
        small(Sparing::CylinderFrontSlipToEnd, 1, &[2]),
        ". 0 . 1 | 2 3 4 5 | 8 . 6 7 | 12 9 10 11"
    );
}

#[test]
fn slips_to_the_end_of_the_zone() {
    assert_eq!(
        small(Sparing::End, 0, &[1, 9]),
        "0 . 1 2 | 3 4 5 6 | 7 . 8 9 | 10 11 12 13"
    );
}

#[test]
fn spares_of_a_range_of_cylinders() {
    let two = |slips: &[u64]| {
        let layout = Layout {
            sparing: Sparing::Range,
            spare_range_cylinders: 2,
            ..Layout::default()
        };
        // 1 head, 5 cylinders: two ranges and half a range, which has no spares.
        picture(tiny(3, slips), layout, 1, 5)
    };
    assert_eq!(
        two(&[]),
        "0 1 2 3 | 4 . . . | 5 6 7 8 | 9 . . . | 10 11 12 13"
    );
    assert_eq!(
        two(&[2, 16]),
        "0 1 . 2 | 3 4 . . | 5 6 7 8 | 9 . . . | . 10 11 12"
    );
}

#[test]
fn spares_of_the_zone_take_its_slips_or_not() {
    assert_eq!(
        small(Sparing::Zone, 3, &[2]),
        "0 1 . 2 | 3 4 5 6 | 7 8 9 10 | 11 12 . ."
    );
    assert_eq!(
        small(Sparing::ZoneSlipToEnd, 3, &[2]),
        "0 1 . 2 | 3 4 5 6 | 7 8 9 10 | 11 . . ."
    );
}

#[test]
fn empty_sectors_stand_before_the_first_lbn() {
    let zone = ZoneSpec {
        empty_sectors: 5,
        ..tiny(1, &[6])
    };
    assert_eq!(
        picture(zone, layout(Sparing::Zone), 2, 2),
        ". . . . | . 0 . 1 | 2 3 4 5 | 6 7 8 9"
    );
}

#[test]
fn remapped_sectors_live_in_their_spares() {
    let zone = |remaps: &[[u64; 2]]| ZoneSpec {
        remaps: remaps.to_vec(),
        ..tiny(2, &[])
    };
    assert_eq!(
        picture(zone(&[[1, 15], [9, 14]]), layout(Sparing::Zone), 2, 2),
        "0 . 2 3 | 4 5 6 7 | 8 . 10 11 | 12 13 9 1"
    );
    // Of a slip on the same track, the rest is where it was.
    let both = ZoneSpec {
        slips: vec![2],
        ..zone(&[[1, 15]])
    };
    assert_eq!(
        picture(both, layout(Sparing::Zone), 2, 2),
        "0 . . 2 | 3 4 5 6 | 7 8 9 10 | 11 12 13 1"
    );
    // Whole tracks.
    assert_eq!(
        picture(zone(&[[0, 3]]), layout(Sparing::Tracks), 2, 2),
        ". . . . | 4 5 6 7 | . . . . | 0 1 2 3"
    );
}

#[test]
fn serpentine_orders_turn_at_a_cylinder() {
    let order = |surface_order, first: u32| {
        let layout = Layout {
            surface_order,
            ..Layout::default()
        };
        // Head by LBN, 1 sector a track; the second zone begins on cylinder `first`.
        let zones = [ZoneSpec::plain(0, 1, 0, 0), ZoneSpec::plain(first, 1, 0, 0)];
        let geometry = Geometry::of_zones(&zones, layout, 2, 4, 1000).unwrap();
        (0..8)
            .map(|lbn| geometry.track(lbn).place.head.to_string())
            .collect::<String>()
    };
    assert_eq!(order(SurfaceOrder::Forward, 1), "01010101");
    // By the zone's own cylinders, or by the drive's.
    assert_eq!(order(SurfaceOrder::Serpentine, 1), "01011001");
    assert_eq!(order(SurfaceOrder::Serpentine, 2), "01100110");
    assert_eq!(order(SurfaceOrder::SerpentineByCylinder, 1), "01100110");
}

#[test]
fn serpentine_skews_follow_the_order_of_the_tracks() {
    // Track skew 1, cylinder skew 2: tracks begin at 0 1 3 4 in the order in which they are read,
    // which on cylinder 1 begins with head 1.
    let layout = Layout {
        surface_order: SurfaceOrder::Serpentine,
        ..Layout::default()
    };
    let zone = ZoneSpec::plain(0, 4, 1, 2);
    assert_eq!(
        picture(zone, layout, 2, 2),
        "0 1 2 3 | 7 4 5 6 | 12 13 14 15 | 9 10 11 8"
    );
}

#[test]
fn zones_follow_each_other_or_begin_where_they_say() {
    let mut zones = [ZoneSpec::plain(0, 4, 1, 2), ZoneSpec::plain(1, 8, 2, 3)];
    let at = |zones: &[ZoneSpec]| {
        let geometry = Geometry::of_zones(zones, Layout::default(), 2, 2, 8000).unwrap();
        (
            geometry.angle_ps(&geometry.track(8), 8),
            geometry.angle_ps(&geometry.track(16), 16),
        )
    };
    // The last track begins at slot 1 of 4; 2 slots of 4 later the next zone, at 3/4 of a turn.
    assert_eq!(at(&zones), (6000, 0));
    zones[1].offset_milli = Some(1500);
    assert_eq!(at(&zones), (1500, 3500));
}

#[test]
fn gaps_between_zones_hold_nothing() {
    let mut zones = [ZoneSpec::plain(0, 4, 0, 0), ZoneSpec::plain(3, 4, 0, 0)];
    zones[0].last_cylinder = Some(1);
    let geometry = Geometry::of_zones(&zones, Layout::default(), 1, 5, 4000).unwrap();
    assert_eq!(geometry.sectors, 16);
    assert_eq!(geometry.track(7).place.cylinder, 1);
    assert_eq!(geometry.track(8).place.cylinder, 3);
}

#[test]
fn a_track_ends_with_its_last_sector() {
    // 0 1 . 2 | 3 4 5 . and so on.
    let zone = tiny(0, &[2, 7]);
    let geometry = Geometry::of_zones(&[zone], Layout::default(), 2, 2, 4 * SECTOR_PS).unwrap();
    for (lbn, slots) in [(0, 4), (3, 3), (6, 4)] {
        let track = geometry.track(lbn);
        assert_eq!(geometry.slot_ps(&track, track.end), slots * SECTOR_PS);
    }
}

#[test]
fn layouts_that_cannot_be_are_refused() {
    let message = |zone: ZoneSpec, sparing| {
        let layout = layout(sparing);
        Geometry::of_zones(&[zone], layout, 2, 2, 4000)
            .unwrap_err()
            .1
    };
    let with = |change: fn(&mut ZoneSpec)| {
        let mut zone = tiny(0, &[]);
        change(&mut zone);
        zone
    };
    assert!(message(tiny(16, &[]), Sparing::Zone).contains("has 16 places, but 16 spares"));
    assert!(message(tiny(0, &[16]), Sparing::End).contains("a slip or remap at 16"));
    assert!(message(tiny(1, &[4]), Sparing::Tracks).contains("only 4 places"));
    let remap = with(|z| z.remaps = vec![[0, 99]]);
    assert!(message(remap, Sparing::None).contains("a slip or remap at 99"));
    let twice = with(|z| (z.spares, z.remaps) = (2, vec![[0, 15], [1, 15]]));
    assert!(message(twice, Sparing::Zone).contains("two remaps to 15"));
    let taken = with(|z| (z.spares, z.remaps) = (2, vec![[0, 3]]));
    assert!(message(taken, Sparing::Zone).contains("remap to 3, which holds data"));
    let ends = with(|z| z.last_cylinder = Some(2));
    assert!(message(ends, Sparing::None).contains("must end before cylinder 2"));
    let dense = with(|z| z.sectors_per_track = 10_001);
    assert!(message(dense, Sparing::None).contains("1 to 10000"));
    let many = Geometry::of_zones(&[tiny(0, &[])], Layout::default(), 4, 1_000_001, 4000);
    let (field, message) = many.unwrap_err();
    assert_eq!(field, "heads");
    assert!(message.contains("over 4000000 tracks"), "{message}");
}

/// The schemes.
const SCHEMES: [Sparing; 11] = [
    Sparing::None,
    Sparing::Tracks,
    Sparing::Cylinder,
    Sparing::Track,
    Sparing::CylinderSlipToEnd,
    Sparing::CylinderFront,
    Sparing::CylinderFrontSlipToEnd,
    Sparing::End,
    Sparing::Range,
    Sparing::Zone,
    Sparing::ZoneSlipToEnd,
];

/// The slots of a zone that hold LBNs, in their order, found the plain way: unit by unit, what is
/// neither slipped nor spare.
fn slots_of(zone: &ZoneSpec, tracks: u64, heads: u64, layout: &Layout) -> Vec<u64> {
    let per_track = u64::from(zone.sectors_per_track);
    let per_cylinder = per_track * heads;
    let all = tracks * per_track;
    let spares = zone.spares;
    let slips: BTreeSet<u64> = zone.slips.iter().copied().collect();
    let good = |slot: &u64| !slips.contains(slot);
    let units = |size: u64| {
        (0..all.div_ceil(size)).map(move |u| (u * size..(u * size + size).min(all), size))
    };
    let first = |size: u64| {
        let mut slots = Vec::new();
        for (unit, size) in units(size) {
            let whole = unit.end - unit.start == size;
            let least = if whole { size - spares } else { size };
            slots.extend(unit.filter(good).take(least as usize));
        }
        slots
    };
    let (slots, less): (Vec<u64>, u64) = match layout.sparing {
        Sparing::None => ((0..all).filter(good).collect(), 0),
        Sparing::Tracks => {
            let tracks = (0..tracks).filter(|t| !slips.contains(t));
            let slots = tracks.flat_map(|t| t * per_track..(t + 1) * per_track);
            (slots.collect(), spares * per_track)
        }
        Sparing::Track => (first(per_track), spares * tracks),
        Sparing::Cylinder => (first(per_cylinder), spares * tracks / heads),
        Sparing::Range => {
            let size = per_cylinder * u64::from(layout.spare_range_cylinders);
            (first(size), spares * (all / size))
        }
        Sparing::CylinderFront => {
            let mut slots = Vec::new();
            for (unit, size) in units(per_cylinder) {
                let good: Vec<u64> = unit.filter(good).collect();
                let from = good.len().saturating_sub((size - spares) as usize);
                slots.extend(&good[from..]);
            }
            (slots, spares * tracks / heads)
        }
        Sparing::CylinderSlipToEnd | Sparing::CylinderFrontSlipToEnd | Sparing::End => {
            let front = layout.sparing == Sparing::CylinderFrontSlipToEnd;
            let data = |slot: &u64| {
                let slot = slot % per_cylinder;
                if front {
                    slot >= spares
                } else {
                    slot < per_cylinder - spares
                }
            };
            let less = spares * tracks / heads + slips.len() as u64;
            ((0..all).filter(data).filter(good).collect(), less)
        }
        Sparing::Zone => ((0..all).filter(good).collect(), spares),
        Sparing::ZoneSlipToEnd => ((0..all).filter(good).collect(), spares + slips.len() as u64),
    };
    let held = all.saturating_sub(less).saturating_sub(zone.empty_sectors);
    let slots = slots.into_iter().skip(zone.empty_sectors as usize);
    slots.take(held as usize).collect()
}

/// A zone before its cylinders are known, and what picks its remaps.
type Draft = (ZoneSpec, u32, Vec<(Index, Index)>);

fn draft() -> impl Strategy<Value = Draft> {
    let numbers = (2..12_u32, 0..2000_u32, 0..2000_u32, 0..4_u64, 0..9_u64);
    let slips = prop::collection::vec(any::<Index>(), 0..4);
    let remaps = prop::collection::vec(any::<(Index, Index)>(), 0..4);
    let offset = prop::option::of(0..2000_u32);
    (numbers, slips, remaps, offset, 1..5_u32).prop_map(
        |((sectors, track, cylinder, spares, empty), slips, remaps, offset, cylinders)| {
            let zone = ZoneSpec {
                sectors_per_track: sectors,
                track_skew_milli: track,
                cylinder_skew_milli: cylinder,
                offset_milli: offset,
                empty_sectors: empty,
                spares,
                // Drawn as places once the heads are known.
                slips: slips.iter().map(|i| i.index(1 << 20) as u64).collect(),
                ..ZoneSpec::default()
            };
            (zone, cylinders, remaps)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1500,
        // A drive without room for data is no case.
        max_global_rejects: 1_000_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Every LBN has one place, which is where the scheme says; no two share one; and the angle
    /// of an LBN leads back to it.
    #[test]
    fn every_lbn_has_its_own_place(
        drafts in prop::collection::vec(draft(), 1..4),
        heads in 1..4_u32,
        scheme in 0..SCHEMES.len(),
        range in 1..4_u32,
        order in 0..3_usize,
        gap in any::<bool>(),
    ) {
        let layout = Layout {
            sparing: SCHEMES[scheme],
            spare_range_cylinders: range,
            surface_order: [
                SurfaceOrder::Forward,
                SurfaceOrder::Serpentine,
                SurfaceOrder::SerpentineByCylinder,
            ][order],
        };
        let by_track = layout.sparing == Sparing::Tracks;
        let revolution_ps = 997_001;
        let mut zones: Vec<ZoneSpec> = Vec::new();
        // Of each LBN, the place that it must have: cylinder, head, angle.
        let mut expected: Vec<(u32, u32, i64)> = Vec::new();
        let (mut cylinder, mut follows_ps) = (0_u32, 0_i64);
        for (mut zone, cylinders, picks) in drafts {
            let (spt, h) = (u64::from(zone.sectors_per_track), u64::from(heads));
            let tracks = u64::from(cylinders) * h;
            let (places, unit) = if by_track { (tracks, spt) } else { (tracks * spt, 1) };
            zone.first_cylinder = cylinder;
            zone.last_cylinder = gap.then_some(cylinder + cylinders - 1);
            zone.spares = zone.spares.min(if layout.sparing == Sparing::Track { spt - 1 } else { spt * h - 1 });
            if matches!(layout.sparing, Sparing::None | Sparing::End) {
                zone.spares = 0;
            }
            for slip in &mut zone.slips {
                *slip %= places;
            }
            let holds = slots_of(&zone, tracks, h, &layout);
            prop_assume!(!holds.is_empty());
            // Remaps go from data to what holds none, and no two to the same place.
            let held: BTreeSet<u64> = holds.iter().map(|s| s / unit).collect();
            let slips: BTreeSet<u64> = zone.slips.iter().copied().collect();
            let mut free: Vec<u64> = (0..places).filter(|p| !held.contains(p) && !slips.contains(p)).collect();
            let mut stand_ins = BTreeMap::new();
            for (from, to) in picks {
                if !free.is_empty() {
                    let from = holds[from.index(holds.len())] / unit;
                    stand_ins.entry(from).or_insert_with(|| free.remove(to.index(free.len())));
                }
            }
            zone.remaps = stand_ins.iter().map(|(&from, &to)| [from, to]).collect();

            // Angles, in thousandths of a sector from the zone's origin.
            let angle_ps = |milli: u64| (milli as i64) * revolution_ps / (spt as i64 * 1000);
            let skew = |index: u64| {
                let (row, nth) = (index / h, index % h);
                let track = u64::from(zone.track_skew_milli);
                let mut skew = row * ((h - 1) * track + u64::from(zone.cylinder_skew_milli)) + nth * track;
                let counted_to = match layout.sparing {
                    Sparing::Track => index,
                    Sparing::Cylinder | Sparing::CylinderSlipToEnd
                    | Sparing::CylinderFront | Sparing::CylinderFrontSlipToEnd => row * h,
                    _ => 0,
                };
                skew += slips.range(..counted_to * spt).count() as u64 * 1000;
                skew % (spt * 1000)
            };
            let origin_ps = match zone.offset_milli {
                Some(milli) => angle_ps(u64::from(milli)),
                None => follows_ps,
            };
            for slot in holds {
                let place = stand_ins.get(&(slot / unit)).map_or(slot, |to| to * unit + slot % unit);
                let (index, nth) = (place / spt, place % spt);
                let row = (index / h) as u32;
                let down = match layout.surface_order {
                    SurfaceOrder::Forward => false,
                    SurfaceOrder::Serpentine => row % 2 == 1,
                    SurfaceOrder::SerpentineByCylinder => (cylinder + row) % 2 == 1,
                };
                let head = (index % h) as u32;
                let head = if down { heads - 1 - head } else { head };
                let angle = (origin_ps + angle_ps(skew(index) + nth * 1000)) % revolution_ps;
                expected.push((cylinder + row, head, angle));
            }
            follows_ps = (origin_ps + angle_ps(skew(tracks - 1) + u64::from(zone.cylinder_skew_milli)))
                % revolution_ps;
            cylinder += cylinders + u32::from(gap);
            // Skews and offsets are below a revolution by construction: at least 2 sectors of it.
            zones.push(zone);
        }

        let geometry = Geometry::of_zones(&zones, layout, heads, cylinder, revolution_ps).unwrap();
        prop_assert_eq!(geometry.sectors, expected.len() as u64, "{:?}", &zones);
        let mut seen = BTreeSet::new();
        for (lbn, &place) in (0..).zip(&expected) {
            let track = geometry.track(lbn);
            prop_assert!(track.first <= lbn && lbn < track.end && track.end <= geometry.sectors);
            let got = (track.place.cylinder, track.place.head, geometry.angle_ps(&track, lbn));
            prop_assert_eq!(got, place, "LBN {} of {:?}", lbn, &zones);
            prop_assert!(seen.insert(got), "LBN {} shares its place", lbn);
            // All of the track is on it, rising, and angles lead back to LBNs.
            let slot_ps = geometry.slot_ps(&track, lbn);
            prop_assert_eq!(geometry.lbn_at(&track, slot_ps), lbn);
            if lbn > track.first {
                prop_assert_eq!(geometry.lbn_at(&track, slot_ps - 1), lbn - 1);
                prop_assert_eq!(geometry.track(lbn - 1).place, track.place);
            }
            let end_ps = geometry.slot_ps(&track, track.end);
            prop_assert!(end_ps > slot_ps && end_ps - slot_ps <= revolution_ps);
            prop_assert_eq!(geometry.lbn_at(&track, end_ps), track.end);
            prop_assert_eq!(geometry.lbn_at(&track, end_ps - 1), track.end - 1);
        }
    }
}
