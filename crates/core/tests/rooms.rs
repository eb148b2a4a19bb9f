//! The rooms of the core stand in an order, and each uses only those before it: the rooms that a newcomer reads first need
//! none that come later.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// From the ground to the roof, as the table of `lib.rs` lists them.
const ROOMS: [&str; 17] = [
    "params",
    "events",
    "sizes",
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
    if path.ends_with("tests.rs") {
        return String::new();
    }
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

/// Further fields of a sender belong to a type of their own; `Half` has those that all transports have.
#[test]
fn a_sender_has_18_fields_at_most() {
    let text = include_str!("../src/transport/sender.rs");
    let (_, fields) = text.split_once("pub struct Sender {").expect("the struct");
    let (fields, _) = fields.split_once("\n}").expect("its end");
    let fields = fields.lines().filter(|line| line.starts_with("    pub")).count();
    assert!((12..=18).contains(&fields), "{fields} fields");
}

#[test]
fn the_map_lists_the_rooms_in_their_order() {
    let map = include_str!("../src/lib.rs");
    let listed: Vec<&str> =
        map.lines().filter_map(|line| line.strip_prefix("//! | [`")?.split('`').next()).collect();
    assert_eq!(listed, ROOMS);
}

/// By file of a room, as a path of modules: the other files of the room that it takes names from. A name that a `mod.rs` only
/// passes on counts for the file that defines it.
fn names_from(room: &str) -> BTreeMap<String, BTreeSet<String>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let module = |path: &Path| {
        let below = path.strip_prefix(&source).expect("below src").with_extension("");
        let below = below.to_str().expect("a name").replace('/', "::");
        below.trim_end_matches("::mod").to_string()
    };
    let all: BTreeMap<String, String> = files(&source.join(room))
        .into_iter()
        .filter(|path| !path.ends_with("tests.rs"))
        .map(|path| (module(&path), fs::read_to_string(&path).expect("a text")))
        .collect();
    let (mut passed_on, mut used) = (BTreeMap::new(), BTreeMap::new());
    for (file, text) in &all {
        let shipped = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let body =
            shipped.lines().filter(|line| !line.contains("use ") && !line.trim_start().starts_with("//"));
        let body: String = body.collect::<Vec<_>>().join("\n");
        for statement in shipped.split(";\n") {
            let line = statement.rsplit("\n\n").next().unwrap_or_default().trim();
            let line = line.lines().skip_while(|line| line.starts_with("//") || line.starts_with('#'));
            let line: String =
                line.collect::<Vec<_>>().concat().split_whitespace().collect::<Vec<_>>().join(" ");
            let (shown, path) = match (line.strip_prefix("pub use "), line.strip_prefix("use ")) {
                (Some(path), _) => (true, path),
                (_, Some(path)) => (false, path),
                _ => continue,
            };
            for name in each_of(path) {
                let Some(place) = absolute(file, &name, &all) else { continue };
                let last = place.rsplit("::").next().unwrap_or_default().to_string();
                let takes =
                    !shown || body.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == last);
                if shown {
                    passed_on.insert(format!("{file}::{last}"), place.clone());
                }
                if takes {
                    used.entry(file.clone()).or_insert_with(Vec::new).push(place);
                }
            }
        }
    }
    let home = |place: &str| {
        let mut place = place.to_string();
        while let Some(next) = passed_on.get(&place) {
            place.clone_from(next);
        }
        let mut file = place.as_str();
        while !all.contains_key(file) {
            file = file.rsplit_once("::")?.0;
        }
        Some(file.to_string())
    };
    let homes = |file: &String, places: &Vec<String>| {
        let found = places.iter().filter_map(|place| home(place)).filter(|other| other != file);
        (file.clone(), found.collect())
    };
    used.iter().map(|(file, places)| homes(file, places)).collect()
}

/// The names of a `use`, braces opened.
fn each_of(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else {
        return vec![path.split(" as ").next().unwrap_or_default().trim().to_string()];
    };
    let inner = rest.trim().strip_suffix('}').unwrap_or(rest);
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in inner.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ',' && depth == 0 {
            parts.push(String::new())
        } else {
            parts.last_mut().expect("one").push(c)
        }
    }
    let parts = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    parts.flat_map(|part| each_of(&format!("{before}{part}"))).collect()
}

/// A path of names below `src`, if it is one of the crate.
fn absolute(file: &str, name: &str, all: &BTreeMap<String, String>) -> Option<String> {
    let name = name.trim_end_matches("::self");
    if let Some(rest) = name.strip_prefix("crate::") {
        return Some(rest.to_string());
    }
    let (mut base, mut rest) = (file.to_string(), name);
    while let Some(above) = rest.strip_prefix("super::") {
        (base, rest) = (base.rsplit_once("::")?.0.to_string(), above);
    }
    let child = format!("{base}::{}", rest.split("::").next().unwrap_or_default());
    (rest != name || all.contains_key(&child)).then(|| format!("{base}::{rest}"))
}

/// The files that are left when those that need none of the others are taken away, again and again, from both ends.
fn in_circles(mut arrows: BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    loop {
        let needed: BTreeSet<String> = arrows.values().flatten().cloned().collect();
        let before = arrows.len();
        arrows.retain(|file, others| !others.is_empty() && needed.contains(file));
        let left: BTreeSet<String> = arrows.keys().cloned().collect();
        arrows.values_mut().for_each(|others| others.retain(|other| left.contains(other)));
        if arrows.len() == before {
            return left;
        }
    }
}

/// A shared buffer asks all ports of its switch, and the network holds the buffers.
const CIRCLE: [&str; 2] = ["net", "net::switch::shared_buffer"];

/// A run holds the names in its tables, its traffic before the warm-up, and the changes of its links. Their types stand beside
/// the functions that read and change the run.
const RUN: [&str; 4] = ["engine", "engine::live", "engine::tables", "engine::timeline"];

#[test]
fn no_files_of_net_and_engine_need_each_other_but_those_named() {
    assert_eq!(Vec::from_iter(in_circles(names_from("net"))), CIRCLE);
    assert_eq!(Vec::from_iter(in_circles(names_from("engine"))), RUN);
}

#[test]
fn a_circle_is_found() {
    let arrows = |pairs: &[(&str, &str)]| {
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        pairs.iter().for_each(|(from, to)| _ = all.entry((*from).into()).or_default().insert((*to).into()));
        all
    };
    assert!(in_circles(arrows(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
    let found = in_circles(arrows(&[("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]));
    assert_eq!(Vec::from_iter(found), ["b", "c"]);
}

/// A file that needs more than so many others of its room, or so many rooms, is two files.
#[test]
fn no_file_knows_too_much() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for room in ROOMS.iter().filter(|room| source.join(room).is_dir()) {
        for (file, others) in names_from(room) {
            // One builds all, the other has all ends of connections side by side.
            let most = match file.as_str() {
                "engine::build" => 13,
                // These have each transport: its two ends; its settings.
                "transport::halves" => 19,
                "transport::config" => 11,
                "transport::profiles" => 13,
                _ => 10,
            };
            assert!(others.len() <= most, "{file} needs {others:?}");
        }
    }
    for path in files(&source) {
        let text = shipped(&path);
        let mut rooms: Vec<&str> = used(&text).filter(|room| ROOMS.contains(room)).collect();
        rooms.sort_unstable();
        rooms.dedup();
        let most = if path.ends_with("engine/build.rs") { 13 } else { 11 };
        assert!(rooms.len() <= most, "{} needs {rooms:?}", path.display());
    }
}
