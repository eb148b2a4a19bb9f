//! The rooms of the core stand in an order, and each uses only those before it: the rooms that a newcomer reads first need
//! none that come later.

use std::fs;
use std::path::Path;

/// From the ground to the roof, as the table of `lib.rs` lists them.
const ROOMS: [&str; 16] = [
    "params",
    "events",
    "packet",
    "port_control",
    "queue",
    "probe",
    "routing",
    "topology",
    "net",
    "cc",
    "transport",
    "drill",
    "hosts",
    "workload",
    "experiment",
    "engine",
];

/// A packet's extension holds the protocols' headers by value, and a controller reads packets.
const EXCEPTION: (&str, &str) = ("packet", "port_control");

/// The room of a file below `src`.
fn room_of(file: &Path) -> String {
    let first = file.components().next().expect("a file below src");
    first.as_os_str().to_string_lossy().trim_end_matches(".rs").to_string()
}

/// All Rust files below `place`.
fn files(place: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(place).expect("a directory").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The rooms that a file names behind `crate::`. Code below `#[cfg(test)]` may use any.
fn used(text: &str) -> impl Iterator<Item = &str> {
    let shipped = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    shipped.split("crate::").skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        &rest[..end]
    })
}

#[test]
fn each_room_uses_only_those_before_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let place = |room: &str| ROOMS.iter().position(|r| *r == room);
    let (mut wrong, mut exceptions, mut arrows) = (vec![], 0, 0);
    for path in files(&source) {
        let below = path.strip_prefix(&source).expect("below src");
        let (from, text) = (room_of(below), fs::read_to_string(&path).expect("a text"));
        if from == "lib" || below.ends_with("tests.rs") || below.ends_with("test_bench.rs") {
            continue;
        }
        let mine = place(&from).unwrap_or_else(|| panic!("{from} is missing from the list of rooms"));
        for to in used(&text).filter(|to| place(to).is_some()) {
            arrows += 1;
            if (from.as_str(), to) == EXCEPTION {
                exceptions += 1;
            } else if place(to) > Some(mine) {
                wrong.push(format!("{}: {to}", below.display()));
            }
        }
    }
    assert!(arrows > 100, "the test reads the sources: {arrows} uses");
    assert!(exceptions > 0, "the exception is needed no more: remove it");
    assert!(wrong.is_empty(), "used from below: {wrong:#?}");
}

/// The shipped part of a file: all but its tests.
fn shipped(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a text");
    text.split("#[cfg(test)]").next().unwrap_or_default().to_string()
}

/// How windows are counted and how losses are found is asked in many places, and decided in one.
#[test]
fn the_transports_choices_are_made_in_one_place() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (choice, home) in
        [("Arithmetic::Linux", "cc/parts/arithmetic.rs"), ("config.rack", "transport/detection.rs")]
    {
        let all = files(&source);
        let named = all.iter().filter(|path| shipped(path).contains(choice));
        let named: Vec<_> = named.map(|path| path.strip_prefix(&source).expect("below src")).collect();
        assert_eq!(named, [Path::new(home)], "{choice}");
    }
}

/// Further fields of a sender belong to a type of their own.
#[test]
fn a_sender_has_25_fields_at_most() {
    let text = include_str!("../src/transport/sender.rs");
    let (_, fields) = text.split_once("pub struct Sender {").expect("the struct");
    let (fields, _) = fields.split_once("\n}").expect("its end");
    let fields = fields.lines().filter(|line| line.starts_with("    pub")).count();
    assert!((20..=25).contains(&fields), "{fields} fields");
}

#[test]
fn the_map_lists_the_rooms_in_their_order() {
    let map = include_str!("../src/lib.rs");
    let listed: Vec<&str> =
        map.lines().filter_map(|line| line.strip_prefix("//! | [`")?.split('`').next()).collect();
    assert_eq!(listed, ROOMS);
}
