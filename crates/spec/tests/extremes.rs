//! Settings at the edges of their types: an answer in words, and never a number that overflows.
//!
//! The soak draws odd values at random. Here each setting of each component has them, and each two settings of one component
//! at once, since sums and products overflow.

use serde_json::{Map, Value, json};
use shallows_core::cc::Algorithm;
use shallows_core::params::{Component, Kind, Param};
use shallows_core::queue::Queue;
use shallows_core::topology::Topology;
use shallows_core::transport::Transport;
use shallows_core::workload::Traffic;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The least and the largest values of a kind, and one that is large and legal in most places.
fn edges(kind: &Kind) -> Vec<Value> {
    let texts = |texts: &[&str]| texts.iter().map(|text| Value::from(*text)).collect();
    match kind {
        Kind::Span => texts(&["1ps", "100000s", "18446744.073709551615s"]),
        Kind::Rate => texts(&["1bps", "18446744073709551615bps"]),
        Kind::Bytes => texts(&["1B", "4GiB", "18446744073709551615B"]),
        Kind::Size => texts(&["1B", "18446744073709551615B", "1pkt", "18446744073709551615pkt"]),
        Kind::Count => vec![1.into(), 4_294_967_296u64.into(), u64::MAX.into()],
        Kind::Real => vec![json!(1e-300), json!(1.0), json!(1e300)],
        Kind::Flag => vec![true.into(), false.into()],
        Kind::Choice(words) | Kind::Word(words) => words.iter().map(|word| (*word).into()).collect(),
        Kind::OrNone(inner) => {
            let mut all = edges(inner);
            all.push("none".into());
            all
        }
        Kind::List(inner) => edges(inner).into_iter().map(|one| json!([one, one])).collect(),
        Kind::Text | Kind::Names | Kind::Table => vec![],
    }
}

/// Small documents that differ in the network and the transport.
fn bases() -> Vec<Value> {
    let document = |topology: Value, transport: Value| {
        json!({"duration": "1ms", "topology": topology, "queue": {"kind": "drop-tail", "limit": "100pkt"}, "transport": transport,
            "traffic": {"x": {"kind": "bulk", "from": "*0", "to": "*1", "bytes": "5KB"}}})
    };
    vec![
        document(json!({"kind": "star", "senders": 3, "receivers": 2}), json!({"cc": "newreno"})),
        document(json!({"kind": "leaf-spine"}), json!({"profile": "roce", "cc": "dcqcn"})),
    ]
}

/// How a component's table is put into a document.
type Put = fn(&mut Value, Map<String, Value>);

/// The settings of all components of a list, one by one and, if `pairs`, two by two; those that panic.
fn panics(components: &[Component], put: Put, pairs: bool) -> Vec<String> {
    let mut found = vec![];
    for component in components {
        let mut table: Map<String, Value> =
            serde_json::from_str(component.facts.example).expect("an example");
        table.insert("kind".into(), component.name.into());
        for base in bases() {
            let mut check = |changes: &[(&Param, &Value)]| {
                let mut changed = table.clone();
                changed
                    .extend(changes.iter().map(|(param, value)| (param.name.to_owned(), (*value).clone())));
                let mut document = base.clone();
                put(&mut document, changed);
                let document = document.to_string();
                if catch_unwind(AssertUnwindSafe(|| shallows_spec::check(&document))).is_err() {
                    found.push(document);
                }
            };
            let edges: Vec<(&Param, Vec<Value>)> =
                component.params.iter().map(|param| (param, edges(&param.kind))).collect();
            for (i, (one, values)) in edges.iter().enumerate() {
                for value in values {
                    check(&[(one, value)]);
                    let others = edges[i + 1..].iter().filter(|_| pairs);
                    for (other, others) in others {
                        others.iter().for_each(|second| check(&[(one, value), (other, second)]));
                    }
                }
            }
        }
    }
    found
}

fn put_load(document: &mut Value, table: Map<String, Value>) {
    document["traffic"]["x"] = table.into();
}

/// A collective of 2^64 - 1 bytes once overflowed the sum of its messages.
#[test]
fn no_two_settings_of_a_load_overflow() {
    let found = panics(Traffic::all(), put_load, true);
    assert!(found.is_empty(), "{} documents: {:#?}", found.len(), &found[..found.len().min(5)]);
}

#[test]
fn no_setting_overflows() {
    let mut found = panics(Topology::all(), |document, table| document["topology"] = table.into(), false);
    found.extend(panics(Queue::all(), |document, table| document["queue"] = table.into(), false));
    found.extend(panics(Queue::all(), |document, table| document["nic"] = table.into(), false));
    found.extend(panics(
        Algorithm::all(),
        |document, table| document["transport"]["cc"] = table.into(),
        false,
    ));
    let profile: Put = |document, mut table| {
        let name = table.remove("kind").expect("a name");
        table.insert("profile".into(), name);
        table.insert("cc".into(), document["transport"]["cc"].clone());
        document["transport"] = table.into();
    };
    found.extend(panics(&Transport::list(), profile, false));
    assert!(found.is_empty(), "{} documents: {:#?}", found.len(), &found[..found.len().min(5)]);
}
