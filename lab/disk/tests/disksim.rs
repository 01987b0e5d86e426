// SPDX-License-Identifier: MIT
//! DiskSim parameter files: every scheme and seek type, and what is said of a file that is wrong.

use std::path::{Path, PathBuf};

use spindle_disk::catalogue::{DriveModel, QueueAlgorithm, ReadAheadStop};
use spindle_disk::geometry::{Sparing, SurfaceOrder};
use spindle_import::{import, import_text, Imported};

/// A small drive: 2 heads, 6 cylinders, two zones of 10 and 8 sectors a track, 6000 rpm.
const SPECS: &str = r#"# A drive made by hand.
disksim_disk small {
   Model = dm_disk small_model {
      Number of data surfaces = 2,
      Number of cylinders = 6,
      Block count = 108,
      Layout Model = dm_layout_g1 {
         LBN-to-PBN mapping scheme = 0,
         Sparing scheme used = 0,
         Rangesize for sparing = 1,
         Skew units = "sectors",
         Zones = [
            dm_layout_g1_zone {
               First cylinder number = 0,
               Last cylinder number = 2,
               Blocks per track = 10,
               Offset of first block = 0.0,
               Empty space at zone front = 0,
               Skew for track switch = 1.5,
               Skew for cylinder switch = 2,
               Number of spares = 0,
               slips = [],
               defects = []
            },
            dm_layout_g1_zone {
               First cylinder number = 3,
               Last cylinder number = 5,
               Blocks per track = 8,
               Offset of first block = 3,
               Skew for track switch = 1,
               Skew for cylinder switch = 2,
               Number of spares = 0,
               slips = [],
               defects = []
            }
         ]
      },
      Mechanical Model = dm_mech_g1 {
         Seek type = linear,
         Average seek time = 3.0,
         Constant seek time = 2.5,
         Single cylinder seek time = 1.0,
         Full strobe seek time = 4.0,
         Full seek curve = small.seek,
         Add. write settling delay = 0.5,
         HPL seek equation values = [ 3, 1.0, 0.5, 2.0, 0.1, 0.9 ],
         First ten seek times = [ 1, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6 ],
         Head switch time = 0.75,
         Rotation speed (in rpms) = 6000,
         Percent error in rpms = 0.0
      }
   },
   Per-request overhead time = 0.1,
   Time scale for overheads = 2.0,
   Bulk sector transfer time = 0.05,
   Max queue length = 4,
   Scheduler = disksim_ioqueue { Scheduling policy = 21 },
   Number of buffer segments = 3,
   Maximum number of write segments = 2,
   Segment size (in blks) = 20,
   Use separate write segment = 0,
   High (read) water mark = 0.25,
   Enable caching in buffer = 1,
   Buffer continuous read = 3,
   Minimum read-ahead (blks) = 2,
   Maximum read-ahead (blks) = 15,
   Read-ahead on idle hit = 1,
   Read any free blocks = 1,
   Fast write level = 1,
   Immediate buffer read = 1,
   Immediate buffer write = 0,
   Allow read hits on write data = 1,
   Data preparation overhead = 0.2,
   First reselect overhead = 0.3,
   Read completion overhead = 0.4,
   Write completion overhead = 0.5,
   Read hit over. after read = 0.01,
   Read hit over. after write = 0.02,
   Read miss over. after read = 0.03,
   Read miss over. after write = 0.04,
   Write hit over. after read = 0.05,
   Write hit over. after write = 0.06,
   Write miss over. after read = 0.07,
   Write miss over. after write = 0.08,
   Preseeking level = 1
}
"#;

/// A folder with `small.seek`.
fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("disksim");
    std::fs::create_dir_all(&folder).unwrap();
    let seek = "Seek distances measured: 4\n1, 1.0\n2, 2.0\n\n# A comment.\n3, 1.5\n5, 3.0,\n";
    // Tests run side by side: nobody may find half a file.
    let part = folder.join(format!("part-{:?}", std::thread::current().id()));
    std::fs::write(&part, seek).unwrap();
    std::fs::rename(&part, folder.join("small.seek")).unwrap();
    folder
}

/// The file with each `(from, to)` replaced once.
fn changed(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(SPECS.to_string(), |text, &(from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    })
}

fn imported(changes: &[(&str, &str)]) -> Imported {
    import_text("small.diskspecs", &changed(changes), &folder(), None).unwrap()
}

fn model(changes: &[(&str, &str)]) -> DriveModel {
    DriveModel::from_text("small", &imported(changes).toml).unwrap()
}

fn message(changes: &[(&str, &str)]) -> String {
    import_text("small.diskspecs", &changed(changes), &folder(), None)
        .unwrap_err()
        .to_string()
}

/// Seek times in us over 1, 2, ... cylinders.
fn seeks(kind: &str) -> (Vec<u32>, Vec<u32>) {
    let model = model(&[("Seek type = linear", &format!("Seek type = {kind}"))]);
    let us = |table: &spindle_disk::seek::SeekTable| (1..=5).map(|d| table.ns(d) / 1000).collect();
    (us(&model.seek_read), us(&model.seek_write))
}

#[test]
fn values_keep_their_meaning() {
    let imported = imported(&[]);
    let drive = DriveModel::from_text("small", &imported.toml).unwrap();
    let (file, geometry) = (&drive.file, &drive.geometry);
    assert_eq!(
        (geometry.heads, geometry.cylinders, geometry.sectors),
        (2, 6, 108)
    );
    assert_eq!(geometry.revolution_ps, 10_000_000_000);
    // The second track begins 1.5 sectors of 1 ms late; the second zone 3 sectors of 1.25 ms.
    let at = |lbn| geometry.angle_ps(&geometry.track(lbn), lbn) / 1_000_000;
    assert_eq!((at(0), at(10), at(20), at(60)), (0, 1500, 3500, 3750));

    assert_eq!(file.max_tags.value, 4);
    assert_eq!(file.queue.value, QueueAlgorithm::Sptf);
    assert_eq!(file.head_switch_ns.value, 750_000);
    assert_eq!(file.write_settle_ns.value, 500_000);
    assert_eq!(
        (file.read_segments.value, file.write_segments.value),
        (3, 2)
    );
    assert_eq!(file.segment_sectors.value, 20);
    assert_eq!(file.read_ahead_stop.value, ReadAheadStop::Segment);
    assert_eq!(file.read_ahead_min_sectors.value, 2);
    assert_eq!(file.read_ahead_max_sectors.value, 15);
    assert!(file.write_cache.value && file.read_ahead_resume.value);
    let flag = |entry: &Option<spindle_disk::catalogue::Entry<bool>>| entry.as_ref().unwrap().value;
    assert!(flag(&file.write_cache_appends_only) && flag(&file.read_on_arrival));
    assert!(flag(&file.zero_latency_read) && !flag(&file.zero_latency_write));
    assert!(flag(&file.read_hits_writes));
    assert_eq!(file.read_water_mark_permille.as_ref().unwrap().value, 250);
    // Overheads: with that of each request, and twice; transfers are not scaled.
    // Data preparation comes before the data of hits, too.
    assert_eq!(file.overhead_read_hit_ns.value, [620_000, 640_000]);
    assert_eq!(file.overhead_read_miss_ns.value, [260_000, 280_000]);
    assert_eq!(file.overhead_write_hit_ns.value, [700_000, 720_000]);
    assert_eq!(file.overhead_write_miss_ns.value, [340_000, 360_000]);
    assert_eq!(
        file.overhead_data_ready_ns.as_ref().unwrap().value,
        1_000_000
    );
    assert_eq!(
        file.overhead_completion_ns.as_ref().unwrap().value,
        [800_000, 1_000_000]
    );
    assert_eq!(file.sector_transfer_ns.as_ref().unwrap().value, 50_000);
    let left_out = ["Preseeking level = 1 has no counterpart and is left out"];
    assert_eq!(imported.notes, left_out);
}

#[test]
fn options_of_the_buffer() {
    let stop = |n: &str| {
        let to = format!("continuous read = {n}");
        model(&[("continuous read = 3", &to)])
            .file
            .read_ahead_stop
            .value
    };
    assert_eq!(stop("0"), ReadAheadStop::Request);
    assert_eq!(stop("1"), ReadAheadStop::Track);
    assert_eq!(stop("2"), ReadAheadStop::Cylinder);
    assert_eq!(stop("4"), ReadAheadStop::Stream);
    let off = model(&[(
        "Enable caching in buffer = 1",
        "Enable caching in buffer = 0",
    )]);
    assert_eq!(off.file.read_ahead_stop.value, ReadAheadStop::Request);
    assert!(!off.file.read_hits_writes.unwrap().value);
    let none = model(&[(
        "Maximum read-ahead (blks) = 15",
        "Maximum read-ahead (blks) = 0",
    )]);
    assert_eq!(none.file.read_ahead_max_sectors.value, 20);
    let fast = |n: &str| {
        let to = format!("Fast write level = {n}");
        let file = model(&[("Fast write level = 1", &to)]).file;
        let appends = file.write_cache_appends_only.unwrap().value;
        (file.write_cache.value, appends)
    };
    assert_eq!(fast("0"), (false, false));
    assert_eq!(fast("2"), (true, false));
    let queue = |n: &str| {
        let to = format!("policy = {n}");
        let imported = imported(&[("policy = 21", &to)]);
        let drive = DriveModel::from_text("small", &imported.toml).unwrap();
        (drive.file.queue.value.name(), imported.notes.len())
    };
    let names = ["1", "2", "3", "4", "7"].map(queue);
    let known = [
        ("fcfs", 1),
        ("look", 1),
        ("clook", 1),
        ("sstf", 1),
        ("sptf", 2),
    ];
    assert_eq!(names, known);
    // Older extractions leave the transfer to the host.
    let zero = [("transfer time = 0.05", "transfer time = 0.0")];
    let text = changed(&zero);
    let sector_ns = |given| {
        let imported = import_text("small.diskspecs", &text, &folder(), given).unwrap();
        let drive = DriveModel::from_text("small", &imported.toml).unwrap();
        drive.file.sector_transfer_ns.unwrap().value
    };
    assert_eq!((sector_ns(None), sector_ns(Some(99))), (95_520, 99));
    let text = text.replace("disksim_disk small", "disksim_disk HP_small");
    let imported = import_text("small.diskspecs", &text, &folder(), None).unwrap();
    let drive = DriveModel::from_text("small", &imported.toml).unwrap();
    assert_eq!(drive.file.sector_transfer_ns.unwrap().value, 147_000);
}

#[test]
fn what_is_kept_of_a_segment() {
    let over = |maximum: &str, n: &str| {
        let lines =
            format!("Maximum read-ahead (blks) = {maximum},\nRead-ahead over requested = {n}");
        let file = model(&[("Maximum read-ahead (blks) = 15", &lines)]).file;
        let kept = file.read_data_kept.is_none_or(|e| e.value);
        (file.read_ahead_over_requested.unwrap().value, kept)
    };
    assert_eq!(over("0", "0"), (false, true));
    assert_eq!(over("0", "1"), (true, true));
    assert_eq!(over("0", "-1"), (true, false));
    // The maximum counts from the end of the request, whatever is overwritten.
    assert_eq!(over("15", "0"), (true, true));
    let wraps = |n: &str| {
        let to = format!("continuous read = {n}");
        let file = model(&[("continuous read = 3", &to)]).file;
        file.read_ahead_wraps.is_some_and(|e| e.value)
    };
    assert_eq!((wraps("3"), wraps("4")), (false, true));
    let mark = |n: &str| {
        let to = format!("= 0.25,\nSet watermark by reqsize = {n}");
        let file = model(&[("= 0.25", &to)]).file;
        file.read_water_mark_of_segment.is_some_and(|e| e.value)
    };
    assert_eq!((mark("0"), mark("1")), (true, false));
}

#[test]
fn the_way_of_a_write_without_a_cache() {
    let none = ("Fast write level = 1", "Fast write level = 0");
    let file = model(&[none]).file;
    assert_eq!(file.overhead_write_hit_ns.value, [300_000, 320_000]);
    assert_eq!(file.overhead_write_miss_ns.value, [340_000, 360_000]);
    assert_eq!(file.overhead_write_data_ns.unwrap().value, 400_000);
    assert_eq!(file.overhead_write_status_ns.unwrap().value, 600_000);
    assert!(file.overhead_write_disconnect_ns.is_none() && file.write_seek_min_ns.is_none());
    let extra = "Preseeking level = 0,\nExtra write disconnect = 1,\n\
        Extradisc command overhead = 1.0,\nExtradisc disconnect overhead = 0.1,\n\
        Extradisc inter-disconnect delay = 0.2,\nExtradisc seek delta = 0.3,\n\
        Extradisc 2nd disconnect overhead = 0.4,\nOther reselect overhead = 0.5,\n\
        Minimum seek delay = 0.6";
    let file = model(&[none, ("Preseeking level = 1", extra)]).file;
    // Twice: 0.1 + 1.0 + 0.3 until the arm goes; 0.1 + 0.2 + 0.3 + 0.2 - 0.3 more until the data.
    let times = file.overhead_write_disconnect_ns.unwrap().value;
    assert_eq!(times, [2_800_000, 1_000_000, 1_000_000]);
    assert_eq!(file.write_seek_min_ns.unwrap().value, 1_200_000);
}

#[test]
fn every_sparing_scheme() {
    // 1 spare per unit and slips at 3 and 22 in a first zone of 6 tracks of 10, and none in the
    // second of 6 tracks of 8.
    let schemes = [
        // Slips take from the data.
        (0, Sparing::None, 60 - 2),
        (2, Sparing::Cylinder, 60 - 3),
        (3, Sparing::Track, 60 - 6),
        (4, Sparing::CylinderSlipToEnd, 60 - 3 - 2),
        (5, Sparing::CylinderFront, 60 - 3),
        (6, Sparing::CylinderFrontSlipToEnd, 60 - 3 - 2),
        (7, Sparing::End, 60 - 3 - 2),
        // The range of two cylinders has two slips for one spare; the third cylinder has none.
        (8, Sparing::Range, 60 - 2),
        (9, Sparing::Zone, 60 - 1 - 1),
        (10, Sparing::ZoneSlipToEnd, 60 - 1 - 2),
    ];
    for (number, sparing, first_zone) in schemes {
        let drive = model(&[
            ("scheme used = 0", &format!("scheme used = {number}")),
            ("Rangesize for sparing = 1", "Rangesize for sparing = 2"),
            ("spares = 0", "spares = 1"),
            ("slips = []", "slips = [3 22]"),
        ]);
        assert_eq!(drive.geometry.layout.sparing, sparing);
        assert_eq!(
            drive.geometry.zones[0].sectors, first_zone,
            "scheme {number}"
        );
        assert_eq!(drive.geometry.sectors, first_zone + 48);
    }
    let drive = model(&[
        ("scheme used = 0", "scheme used = 1"),
        ("spares = 0", "spares = 1"),
        ("slips = []", "slips = [3]"),
    ]);
    assert_eq!(drive.geometry.layout.sparing, Sparing::Tracks);
    assert_eq!(drive.geometry.zones[0].sectors, 50);
    let moved = [
        ("scheme used = 0", "scheme used = 9"),
        ("spares = 0", "spares = 1"),
        ("defects = []", "defects = [0, 59]"),
    ];
    let drive = model(&moved);
    let place = drive.geometry.track(0).place;
    assert_eq!((place.cylinder, place.head), (2, 1));
}

#[test]
fn every_mapping_scheme() {
    let head = |number: &str| {
        let drive = model(&[("mapping scheme = 0", &format!("mapping scheme = {number}"))]);
        // The first tracks of cylinders 1, 3 and 4.
        let geometry = &drive.geometry;
        let heads = [20, 60, 76].map(|lbn| geometry.track(lbn).place.head);
        (geometry.layout.surface_order, heads)
    };
    assert_eq!(head("0"), (SurfaceOrder::Forward, [0, 0, 0]));
    assert_eq!(head("1"), (SurfaceOrder::Serpentine, [1, 0, 1]));
    assert_eq!(head("2"), (SurfaceOrder::SerpentineByCylinder, [1, 1, 0]));
}

#[test]
fn every_seek_type() {
    // Straight lines from 1 ms over 1 cylinder to the mean of 3 ms over a third of the stroke
    // (5/3 cylinders), and on to 4 ms; writes settle 0.5 ms longer.
    let reads = vec![1000, 3100, 3400, 3700, 4000];
    let writes = reads.iter().map(|t| t + 500).collect::<Vec<_>>();
    for kind in ["linear", "three-point-line"] {
        assert_eq!(seeks(kind), (reads.clone(), writes.clone()), "{kind}");
    }
    // 1 + b*sqrt(d-1) + c*(d-1): b = (-10+45-20) / (3*sqrt(5)), c = (7-45+32) / 15 = -0.4. It
    // stays a little below 4 ms over 5 cylinders: as printed, it reaches that over 6.
    let curve: Vec<u32> = (1..=5)
        .map(|d| {
            let d = f64::from(d - 1);
            ((1.0 + 15.0 / (3.0 * 5_f64.sqrt()) * d.sqrt() - 0.4 * d) * 1e3) as u32
        })
        .collect();
    for kind in ["curve", "three-point", "three-point-curve"] {
        assert_eq!(seeks(kind).0, curve, "{kind}");
    }
    // 2 cylinders: 1 + 0.5*sqrt(2); from 3 on 2 + 0.1*d; the first is given.
    assert_eq!(seeks("hpl").0, [900, 1707, 2300, 2400, 2500]);
    assert_eq!(seeks("hplplus10").0, [1000, 2000, 2500, 3000, 3500]);
    assert_eq!(seeks("constant").0, [2500; 5]);
    assert_eq!(seeks("const").1, [3000; 5]);
    // Measured: 2 and 3 cylinders fall and are pooled; 4 lies on the line.
    assert_eq!(seeks("extracted").0, [1000, 1750, 1750, 2375, 3000]);
}

#[test]
fn a_falling_curve_is_noted() {
    let notes = imported(&[("Seek type = linear", "Seek type = extracted")]).notes;
    assert!(notes[0].contains("falls in places"), "{notes:?}");
    let notes = imported(&[("Block count = 108", "Block count = 107")]).notes;
    assert!(
        notes[0].contains("says 107, the zones hold 108"),
        "{notes:?}"
    );
}

#[test]
fn defects_that_cannot_be_are_left_out() {
    // Two in one place; with the note, the drive is as without them.
    let changes = [
        ("scheme used = 0", "scheme used = 9"),
        ("spares = 0", "spares = 1"),
        ("defects = []", "defects = [0, 59, 1, 59]"),
    ];
    let notes = imported(&changes).notes;
    assert!(
        notes.iter().any(|n| n.contains("they are left out")),
        "{notes:?}"
    );
    let drive = model(&changes);
    assert_eq!(drive.geometry.track(0).place.cylinder, 0);
    assert_eq!(drive.geometry.track(1).place.cylinder, 0);
}

#[test]
fn models_in_files_of_their_own() {
    let folder = folder().join("split");
    std::fs::create_dir_all(&folder).unwrap();
    let from = SPECS.find("dm_disk small_model").unwrap();
    let to = SPECS.find("   Per-request").unwrap();
    let model = SPECS[from..to].trim().trim_end_matches(',');
    std::fs::write(folder.join("small.model"), model).unwrap();
    let specs = SPECS.replace(&SPECS[from..to], "source small.model,\n");
    let path = folder.join("small.diskspecs");
    std::fs::write(&path, specs).unwrap();
    assert_eq!(import(&path, None).unwrap().toml, imported(&[]).toml);

    std::fs::write(
        folder.join("small.model"),
        model.replace("= 6000", "= fast"),
    )
    .unwrap();
    let message = import(&path, None).unwrap_err().to_string();
    let place = format!("{}:36: ", folder.join("small.model").display());
    assert!(message.starts_with(&place), "{message}");
    std::fs::write(folder.join("small.model"), "# empty\n").unwrap();
    let message = import(&path, None).unwrap_err().to_string();
    assert!(message.ends_with("holds 0 blocks, not one"), "{message}");
    std::fs::remove_file(folder.join("small.model")).unwrap();
    let message = import(&path, None).unwrap_err().to_string();
    assert!(message.contains("small.model: cannot be read"), "{message}");
    assert!(import(Path::new("/nowhere.diskspecs"), None).is_err());
}

#[test]
fn messages_name_file_line_and_key() {
    let cases: &[((&str, &str), &str)] = &[
        (
            ("dm_layout_g1 {", "dm_layout_g2 {"),
            "7: dm_layout_g2: is not a model that can be imported; only dm_layout_g1 is",
        ),
        (
            ("dm_layout_g1 {", "dm_layout_g4 {"),
            "7: dm_layout_g4: is not a model",
        ),
        (
            ("dm_mech_g1 {", "dm_mech_g2 {"),
            "38: dm_mech_g2: is not a model that can be imported; only dm_mech_g1 is",
        ),
        (
            ("= linear", "= quadratic"),
            "38: Seek type: quadratic is not known; there are extracted, ",
        ),
        (
            ("Seek type =", "Access time type = constant,\n Seek type ="),
            "38: Access time type: constant is not a mechanical drive",
        ),
        (
            ("scheme used = 0", "scheme used = 11"),
            "7: Sparing scheme used: 11 is not one of layout g1's 0 to 10",
        ),
        (
            ("mapping scheme = 0", "mapping scheme = 3"),
            "7: LBN-to-PBN mapping scheme: 3 is not one of layout g1's 0 to 2",
        ),
        (
            ("\"sectors\"", "\"revolutions\""),
            "7: Skew units: \"revolutions\" cannot be read",
        ),
        (
            ("Sparing scheme used = 0,", ""),
            "7: Sparing scheme used: is missing in this dm_layout_g1",
        ),
        (
            ("Number of cylinders = 6,", ""),
            "3: Number of cylinders: is missing in this dm_disk",
        ),
        (
            ("Seek type = linear,", ""),
            "38: Seek type: is missing in this dm_mech_g1",
        ),
        (
            ("Segment size (in blks) = 20,", ""),
            "2: Segment size (in blks): is missing in this disksim_disk",
        ),
        (
            ("Head switch time = 0.75", "Head switch time = -1"),
            "38: Head switch time: is a negative time",
        ),
        (
            ("= 6000", "= 60"),
            "38: Rotation speed (in rpms): 60 is no spindle speed",
        ),
        (
            ("surfaces = 2", "surfaces = two"),
            "3: Number of data surfaces: two is not a number",
        ),
        (
            ("Average seek time = 3.0", "Average seek time = 5.0"),
            "38: Average seek time: must lie between",
        ),
        (
            ("Blocks per track = 8", "Blocks per track = 8.5"),
            "25: Blocks per track: 8.5 is not a whole number",
        ),
        (
            ("slips = []", "slips = [60]"),
            "7: Zones: zone 0 has a slip or remap at 60, but only 60 places",
        ),
        (
            ("slips = []", "slips = [-1]"),
            "13: slips: -1 is not a place on the medium",
        ),
        (
            ("defects = []", "defects = [1, 2, 3]"),
            "13: defects: must be pairs",
        ),
        (
            ("Last cylinder number = 2", "Last cylinder number = 3"),
            "7: Zones: zone 0 starts at cylinder 0 but must end before cylinder 3",
        ),
        (
            ("continuous read = 3", "continuous read = 5"),
            "2: Buffer continuous read: 5 is not 0 to 4",
        ),
        (
            ("write level = 1", "write level = 3"),
            "2: Fast write level: 3 is not 0 to 2",
        ),
        (
            ("mark = 0.25", "mark = 1.25"),
            "2: High (read) water mark: 1.25 is not 0 to 1",
        ),
        // What is not closed is missed at the end of the file, or where it cannot go on.
        (
            ("Preseeking level = 1\n}", "Preseeking level = 1\n"),
            "87: expected \"key = value\" in block disksim_disk, or } after it",
        ),
        (("slips = [],", "slips = [1, 2"), "23: a value is missing"),
        (
            ("Preseeking level = 1", "Preseeking = 1"),
            "2: Preseeking: is no parameter of a drive that the importer knows",
        ),
        (
            ("Preseeking level = 1", "Read-ahead over requested = -2"),
            "2: Read-ahead over requested: -2 is not -1 to 1",
        ),
        (
            ("Preseeking level = 1\n}", "x = [1, 2\n"),
            "87: a list has no ] at its end",
        ),
        (
            ("Preseeking level = 1", "Preseeking level ="),
            "86: a value is missing",
        ),
        (
            ("Preseeking level = 1", "Preseeking level"),
            "86: expected \"key = value\"",
        ),
        (
            ("disksim_disk small {", "disksim_disk small"),
            "3: expected \"type name {",
        ),
    ];
    for &(change, expected) in cases {
        let message = message(&[change]);
        let expected = format!("small.diskspecs:{expected}");
        assert!(message.starts_with(&expected), "{change:?}: {message}");
    }
    let message = message(&[("disksim_disk", "disksim_drive")]);
    assert_eq!(message, "small.diskspecs: holds no block disksim_disk");
}

#[test]
fn messages_about_the_seek_file() {
    let missing = message(&[
        ("Seek type = linear", "Seek type = extracted"),
        ("small.seek", "other.seek"),
    ]);
    assert!(missing.contains("other.seek: cannot be read"), "{missing}");
    let folder = folder();
    let wrong = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).unwrap();
        message(&[
            ("Seek type = linear", "Seek type = extracted"),
            ("small.seek", name),
        ])
    };
    let cases = [
        (
            "a.seek",
            "1, 1.0\n2; 2.0\n",
            "a.seek:2: expected \"distance, ms\"",
        ),
        ("b.seek", "1, 1.0\n2, -2.0\n", "b.seek:2: expected"),
        ("c.seek", "# nothing\n", "c.seek: holds no seek times"),
        (
            "d.seek",
            "0, 0\n1, 1\n",
            "d.seek: has a seek over no distance",
        ),
    ];
    for (name, text, expected) in cases {
        let message = wrong(name, text);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn any_name_makes_a_drive_file() {
    for name in ["a\u{2}\u{7f}b", "a\"b", "a\\b", "\u{e9}"] {
        let drive = model(&[("disksim_disk small", &format!("disksim_disk {name}"))]);
        assert!(drive.file.model.value.is_ascii(), "{name:?}");
    }
}

#[test]
fn deep_nesting_is_refused() {
    let deep = format!("disksim_disk x {{ a = {}", "[".repeat(1000));
    let message = import_text("deep", &deep, Path::new("."), None).unwrap_err();
    assert!(
        message
            .to_string()
            .contains("over 16 lists inside each other"),
        "{message}"
    );
    let deep = format!("disksim_disk x {{ {}", "a = b {".repeat(1000));
    let message = import_text("deep", &deep, Path::new("."), None).unwrap_err();
    assert!(
        message
            .to_string()
            .contains("over 16 blocks inside each other"),
        "{message}"
    );
}
