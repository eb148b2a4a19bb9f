//! Findings of the soak (`tests/regressions/`), with the overflow checks of a debug build: no panic, the same
//! answer twice.

mod common;

use common::{Tables, run};
use serde_json::Value;
use std::path::Path;

#[test]
fn findings_of_the_soak_do_not_panic_and_repeat() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/regressions");
    for entry in std::fs::read_dir(place).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let kept: Value = serde_json::from_str(&text).expect("JSON");
        let document = &kept["document"];
        match document.as_str() {
            Some(text) => assert_eq!(shallows_spec::check(text), shallows_spec::check(text)),
            None => assert_eq!(Tables::of(&run(document)).hashes(), Tables::of(&run(document)).hashes()),
        }
    }
}
