//! A finding, made as small as it stays wrong, and kept in `tests/regressions/` for ever.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The document without each part that it is wrong without; at most `most` tries.
pub fn smallest(mut document: Value, mut most: usize, is_wrong: &mut dyn FnMut(&Value) -> bool) -> Value {
    'again: loop {
        for way in ways(&document) {
            if most == 0 {
                return document;
            }
            most -= 1;
            let mut smaller = document.clone();
            remove(&mut smaller, &way);
            if is_wrong(&smaller) {
                document = smaller;
                continue 'again;
            }
        }
        return document;
    }
}

/// Paths to every part, the larger parts first.
fn ways(value: &Value) -> Vec<Vec<String>> {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(table) => table.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect(),
        _ => vec![],
    };
    let mut found: Vec<Vec<String>> = inner.iter().map(|(key, _)| vec![key.clone()]).collect();
    for (key, value) in inner {
        found.extend(ways(value).into_iter().map(|way| [vec![key.clone()], way].concat()));
    }
    found.sort_by_key(Vec::len);
    found
}

fn remove(value: &mut Value, way: &[String]) {
    match (value, way) {
        (Value::Object(table), [key]) => _ = table.remove(key),
        (Value::Array(list), [key]) => _ = list.remove(key.parse::<usize>().expect("a place")),
        (Value::Object(table), [key, rest @ ..]) => remove(&mut table[key], rest),
        (Value::Array(list), [key, rest @ ..]) => {
            remove(&mut list[key.parse::<usize>().expect("a place")], rest)
        }
        _ => {}
    }
}

/// Writes a finding: `kind` is `run` or `check`.
pub fn keep(kind: &str, found: &[String], document: &Value) -> PathBuf {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/regressions");
    let found: Vec<&String> = found.iter().take(5).collect();
    let kept = json!({"document": document, "found": found, "kind": kind});
    let text = serde_json::to_string_pretty(&kept).expect("JSON") + "\n";
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let path = place.join(format!("{kind}-{:010x}.json", hash >> 24));
    std::fs::write(&path, text).expect("a writable directory of regressions");
    path
}
