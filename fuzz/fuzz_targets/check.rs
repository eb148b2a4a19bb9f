//! The checker on any text: an answer, and a resolved document that resolves to itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let answer: Value = serde_json::from_str(&shallows_spec::check(text)).expect("the answer is JSON");
    if !answer["experiment"].is_null() {
        let again = shallows_spec::check(&answer["experiment"].to_string());
        let again: Value = serde_json::from_str(&again).expect("the answer is JSON");
        assert_eq!(again["experiment"], answer["experiment"]);
    }
});
