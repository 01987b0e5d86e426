// SPDX-License-Identifier: MIT
//! `spindle-disk show --svg`: the picture is well-formed, says the right numbers, is the same
//! every time, and what cannot be drawn is one clear line.

use std::path::{Path, PathBuf};
use std::process::Command;

use roxmltree::{Document, Node};

const DRIVES: &str = "lab/disk/catalogue/drives";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn show(arguments: &[&str]) -> (bool, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_spindle-disk"))
        .current_dir(root())
        .arg("show")
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (out.status.success(), text(out.stdout), text(out.stderr))
}

fn picture(drive: &str) -> String {
    let (good, out, err) = show(&[drive, "--svg", "-"]);
    assert!(good, "{err}");
    out
}

/// The message of a call that must fail; it is one line.
fn message(arguments: &[&str]) -> String {
    let (good, out, err) = show(arguments);
    assert!(!good && out.is_empty(), "{out}");
    assert_eq!(err.lines().count(), 1, "{err}");
    err
}

fn temporary(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    path.to_str().unwrap().into()
}

fn texts<'a>(picture: &'a Document) -> Vec<&'a str> {
    let is_text = |node: &Node| node.has_tag_name("text");
    let nodes = picture.descendants().filter(is_text);
    nodes.filter_map(|node| Some(node.text()?.trim())).collect()
}

fn number(node: &Node, attribute: &str) -> f64 {
    node.attribute(attribute).unwrap().parse().unwrap()
}

#[test]
fn picture_has_the_drive_s_numbers() {
    let text = picture("deskstar-75gxp");
    let page = Document::parse(&text).unwrap();
    let texts = texts(&page);
    for expected in [
        "IBM Deskstar 75GXP (DTLA-307030)",
        // Seek: one cylinder, mean, full stroke, of reads and of writes.
        "1.20",
        "7.00",
        "14.71",
        "1.50",
        "8.00",
        "15.69",
        // Rates and sectors of the outer and the inner zone.
        "42.64",
        "36.98",
        "694",
        "25.07",
        "21.73",
        "408",
        // Skews.
        "track skew: 100 sectors = 51.9° = 1.201 ms",
        "cylinder skew: 125 sectors = 64.8° = 1.501 ms",
        // Axes.
        "distance (cylinders)",
        "seek time (ms)",
        "transfer rate (MB/s)",
        "place in LBN order (GB)",
        "sectors per track",
    ] {
        assert!(texts.contains(&expected), "no {expected:?} in {texts:?}");
    }
}

#[test]
fn picture_is_read_aloud() {
    let text = picture("ultrastar-36zx");
    let page = Document::parse(&text).unwrap();
    let svg = page.root_element();
    assert_eq!(svg.attribute("role"), Some("img"));
    let labels = svg.attribute("aria-labelledby").unwrap().split(' ');
    let says: Vec<_> = labels
        .map(|id| {
            let labelled = page.descendants().find(|n| n.attribute("id") == Some(id));
            labelled.unwrap().text().unwrap().trim()
        })
        .collect();
    assert_eq!(says[0], "IBM Ultrastar 36ZX 18 GB (DMVS-18V)");
    assert!(
        says[1].contains("reads take 0.60 ms over one cylinder, 4.90 ms in the mean")
            && says[1].contains("382 sectors per track and 29.22 MB/s sustained"),
        "{}",
        says[1]
    );
}

#[test]
fn picture_puts_tracks_where_the_table_says() {
    for (drive, starts) in [
        ("deskstar-75gxp", [0.0, 51.9, 103.7, 155.6, 220.5, 272.3]),
        ("ultrastar-36zx", [0.0, 39.6, 79.2, 118.7, 356.2, 63.1]),
    ] {
        let text = picture(drive);
        let page = Document::parse(&text).unwrap();
        let bars = page
            .descendants()
            .filter(|n| n.attribute("class") == Some("start"));
        let drawn = bars.map(|bar| {
            let across = number(&bar, "x2") - number(&bar, "x1");
            let down = number(&bar, "y2") - number(&bar, "y1");
            across.atan2(-down).to_degrees().rem_euclid(360.0)
        });
        for (drawn, start) in drawn.zip(starts) {
            // Coordinates have two decimals on bars of a dozen pixels.
            assert!((drawn - start).abs() < 0.2, "{drive}: {drawn} for {start}");
            assert!(
                texts(&page).contains(&format!("{start:.1}°").as_str()),
                "{drive}: {start}"
            );
        }
    }
}

#[test]
fn pictures_of_all_drives_stay_on_the_page() {
    let mut drives = 0;
    for entry in std::fs::read_dir(root().join(DRIVES)).unwrap() {
        let file = entry.unwrap().file_name();
        let file = file.to_str().unwrap();
        let text = picture(&format!("{DRIVES}/{file}"));
        let page = Document::parse(&text).unwrap_or_else(|e| panic!("{file}: {e}"));
        let (width, height) = (960.0, 1016.0);
        let inside = |x: f64, y: f64| (0.0..=width).contains(&x) && (0.0..=height).contains(&y);
        for node in page.descendants() {
            if let (Some(_), Some(_)) = (node.attribute("x"), node.attribute("y")) {
                let (x, y) = (number(&node, "x"), number(&node, "y"));
                assert!(inside(x, y), "{file}: {:?} at {x}, {y}", node.text());
            }
            for point in node.attribute("points").unwrap_or_default().split(' ') {
                if let Some((x, y)) = point.split_once(',') {
                    let (x, y) = (x.parse().unwrap(), y.parse().unwrap());
                    assert!(inside(x, y), "{file}: a line to {x}, {y}");
                }
            }
        }
        assert!(!text.contains("NaN") && !text.contains("inf"), "{file}");
        drives += 1;
    }
    assert!(drives >= 2);
}

/// These were looked at. Whoever changes them looks again, and keeps the new ones.
#[test]
fn pictures_are_those_that_were_looked_at() {
    for drive in ["deskstar-75gxp", "hp-97560"] {
        let kept = root().join(format!("lab/disk/tests/pictures/{drive}.svg"));
        let known = std::fs::read_to_string(&kept).unwrap();
        let now = picture(drive);
        let line = known.lines().zip(now.lines()).position(|(a, b)| a != b);
        assert!(
            known == now,
            "line {line:?} of {}: look at `spindle-disk show {drive} --svg`, and keep it there",
            kept.display()
        );
    }
}

#[test]
fn picture_is_the_same_every_time() {
    assert_eq!(picture("ultrastar-36zx"), picture("ultrastar-36zx"));
}

#[test]
fn picture_goes_to_a_file() {
    let path = temporary("drive.svg");
    let (good, out, err) = show(&["deskstar-75gxp", "--svg", &path]);
    assert!(good && out.is_empty() && err.is_empty(), "{out}{err}");
    assert_eq!(
        std::fs::read_to_string(path).unwrap(),
        picture("deskstar-75gxp")
    );
}

#[test]
fn show_takes_a_drive_file() {
    for rest in [["--json"].as_slice(), &["--svg", "-"], &[]] {
        let page = |drive: &str| {
            let mut arguments = vec![drive];
            arguments.extend(rest);
            let (good, out, err) = show(&arguments);
            assert!(good, "{err}");
            out
        };
        let path = format!("{DRIVES}/ultrastar-36zx.toml");
        assert_eq!(page(&path), page("ultrastar-36zx"));
    }
}

#[test]
fn show_has_the_skews_of_a_zone() {
    let (good, json, err) = show(&["deskstar-75gxp", "--json"]);
    assert!(good, "{err}");
    let page: serde_json::Value = serde_json::from_str(&json).unwrap();
    let outer = &page["zones"][0];
    assert_eq!(outer["track_skew_sectors"], 100);
    assert_eq!(outer["cylinder_skew_sectors"], 125);
    let (good, text, err) = show(&["deskstar-75gxp"]);
    assert!(good, "{err}");
    let words = |line: &'_ str| {
        line.split_whitespace()
            .map(String::from)
            .collect::<Vec<_>>()
    };
    let row = text
        .lines()
        .map(words)
        .find(|w| w.get(3).is_some_and(|w| w == "694"));
    assert_eq!(row.unwrap()[4..6], ["100", "125"]);
}

#[test]
fn show_says_what_it_cannot_read_or_write() {
    let known = "no entry \"deskstar\"; there are: ";
    let err = message(&["deskstar", "--svg", "-"]);
    assert!(err.contains(DRIVES) && err.contains(known), "{err}");

    let err = message(&["nowhere/my.toml", "--svg", "-"]);
    assert!(
        err.contains("nowhere/my.toml: cannot be read") && err.contains("named without .toml"),
        "{err}"
    );

    let path = temporary("no-such-folder/drive.svg");
    let err = message(&["deskstar-75gxp", "--svg", &path]);
    assert!(
        err.contains(&format!("{path}: cannot be made")) && err.contains("its folder must exist"),
        "{err}"
    );
}

#[test]
fn show_names_the_fault_of_a_drive_file() {
    let text = std::fs::read_to_string(root().join(DRIVES).join("deskstar-75gxp.toml")).unwrap();
    let path = temporary("slow.toml");
    std::fs::write(&path, text.replace("value = 7200", "value = 72")).unwrap();
    let err = message(&[&path]);
    assert!(
        err.contains(&format!("{path}: rpm: 72 is not a spindle speed")),
        "{err}"
    );
}
