//! Documents damaged at random: each is refused or runs; nothing panics, and nothing takes long.

mod common;

use common::documents::{good, with};
use proptest::prelude::*;
use serde_json::{Value, json};
use shallows_core::Control;
use std::time::{Duration, Instant};

/// Values that a document may hold by mistake or malice.
fn junk() -> impl Strategy<Value = Value> {
    let texts = "|none|0|0s|1ps|100000s|18446744s|1e30s|-1s|1bps|999Tbps|0B|1B|18446744073709551615B|1pkt\
        |18446744073709551615pkt|*|s*|s0..s99999999999|*->*|a->b|dctcp|change|\u{0}|\u{1f600}|long";
    let numbers = [
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(-1),
        json!(1e-300),
        json!(1e300),
        json!(0.5),
        json!(1000),
        json!(100_000),
        json!(u64::MAX),
        json!(1e19),
        json!([]),
        json!({}),
        json!([[[]]]),
        json!({"kind": "drop-tail"}),
        json!([1, 2]),
        json!(["s*", "r0"]),
    ];
    let all: Vec<Value> = texts.split('|').map(|text| json!(text)).chain(numbers).collect();
    prop::sample::select(all)
}

/// Valid documents of several kinds, to be damaged.
fn documents() -> Vec<Value> {
    let whole = |document: Value| {
        let answer: Value = serde_json::from_str(&shallows_spec::check(&document.to_string())).expect("JSON");
        assert!(answer["faults"].as_array().is_some_and(Vec::is_empty), "{answer}");
        answer["experiment"].clone()
    };
    let sizes = json!({"kind": "pareto", "min": "100B", "max": "1MB"});
    let table =
        json!({"kind": "table", "flows": [{"from": "s0", "to": "r0", "bytes": "5KB", "start": "1us"}]});
    let graph = json!({"kind": "graph", "hosts": ["s0", "r0"], "links": [{"from": "s0", "to": "r0"}]});
    vec![
        good(),
        whole(good()),
        whole(with(&[(
            "traffic.long",
            json!({"kind": "poisson", "from": "s*", "to": "r0", "load": 0.5, "sizes": sizes}),
        )])),
        whole(with(&[(
            "traffic.long",
            json!({"kind": "incast", "from": "s*", "to": "r0", "total": "50KB"}),
        )])),
        whole(with(&[(
            "traffic.long",
            json!({"kind": "messages", "from": "s*", "to": "r0", "bytes": "9KB", "interval": "50us"}),
        )])),
        whole(with(&[("traffic.long", table), ("topology", graph)])),
        whole(with(&[("traffic.long", json!({"kind": "collective", "hosts": "s*", "bytes": "50KB"}))])),
        whole(with(&[(
            "traffic.long",
            json!({"kind": "graph", "messages": [
                {"id": "a", "from": "s0", "to": "s1", "bytes": "5KB"},
                {"id": "b", "from": "s1", "to": "r0", "bytes": "5KB", "after": ["a"], "delay": "3us"},
            ]}),
        )])),
        whole(with(&[
            ("topology", json!({"kind": "tree", "fanout": 2})),
            ("traffic.long.from", json!("h*")),
        ])),
        whole(with(&[
            ("topology", json!("parking-lot")),
            ("traffic.long.from", json!("s")),
            ("traffic.long.to", json!("r")),
            (
                "port",
                json!({"sw0->*": {"loss": 0.1, "reorder": 0.1, "reorder_delay": "3us", "queue": "drop-tail"}}),
            ),
        ])),
    ]
}

/// Every place in a document: tables, lists and leaves.
fn places(value: &Value, here: &str, found: &mut Vec<String>) {
    if !here.is_empty() {
        found.push(here.into());
    }
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| places(value, &format!("{here}/{key}"), found))
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, value)| places(value, &format!("{here}/{i}"), found));
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// A damaged document is refused or built, soon and without a panic; a built one runs, and can
    /// be stopped.
    #[test]
    fn damaged_documents_do_no_harm(
        which in 0usize..8,
        damage in prop::collection::vec((any::<prop::sample::Index>(), junk()), 1..4),
    ) {
        let mut document = documents()[which].clone();
        for (place, value) in damage {
            let mut all = vec![];
            places(&document, "", &mut all);
            let place = all[place.index(all.len())].replace("~", "~0");
            if let Some(at) = document.pointer_mut(&place) {
                *at = value;
            }
        }
        let begin = Instant::now();
        let built = shallows_spec::load(&document.to_string());
        prop_assert!(begin.elapsed() < Duration::from_secs(10), "{:?} for {}", begin.elapsed(), document);
        if let Ok(mut simulation) = built {
            let control = Control::new();
            let done = std::sync::atomic::AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let begin = Instant::now();
                    while !done.load(std::sync::atomic::Ordering::Relaxed) {
                        if begin.elapsed() > Duration::from_millis(60) {
                            control.cancel();
                        }
                        std::thread::sleep(Duration::from_millis(1));
                    }
                });
                let _ended_or_cancelled = simulation.run(&control);
                done.store(true, std::sync::atomic::Ordering::Relaxed);
            });
            prop_assert!(begin.elapsed() < Duration::from_secs(20), "{:?} for {}", begin.elapsed(), document);
            prop_assert!(simulation.books().balance());
            simulation.tables();
        }
    }
}
