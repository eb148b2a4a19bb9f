//! Each code of a fault, with a document that has it. Programs rely on these words: they are added to, never renamed.

use serde_json::{Value, json};
use shallows_core::params::{Code, Fault};
use shallows_spec::NoMakers;

/// A good document with `changes` in the place of its own sections.
fn faults(changes: Value) -> Vec<Fault> {
    let mut document = json!({
        "duration": "1ms",
        "topology": "star",
        "queue": "drop-tail",
        "transport": {"cc": "dctcp"},
        "traffic": {"long": {"kind": "bulk", "from": "s0", "to": "r0"}},
    });
    let map = document.as_object_mut().expect("a table");
    for (key, value) in changes.as_object().expect("a table") {
        map.insert(key.clone(), value.clone());
    }
    map.retain(|_, value| !value.is_null());
    // No machine has an exabyte free, and this one has a byte.
    let memory = map.remove("memory").map(|_| 1);
    shallows_spec::load_with(&document.to_string(), &mut NoMakers, memory).err().unwrap_or_default()
}

fn graph(hosts: Value, links: Value) -> Value {
    json!({"topology": {"kind": "graph", "hosts": hosts, "switches": ["x"], "links": links}})
}

#[test]
fn each_code_has_a_document_that_has_it() {
    let link = |from: &str, to: &str, duplex: bool| json!({"from": from, "to": to, "rate": "1Gbps", "delay": "1us", "duplex": duplex});
    let one_way = graph(json!(["s0", "r0"]), json!([link("s0", "x", false), link("x", "r0", false)]));
    let twice = graph(json!(["s0", "r0", "r0"]), json!([link("s0", "x", true), link("x", "r0", true)]));
    let many: serde_json::Map<String, Value> =
        (0..60).map(|i| (format!("p{i}"), json!({"kind": "bulk"}))).collect();
    let examples = [
        (Code::UnknownKey, json!({"duraton": "1ms"})),
        (Code::UnknownWord, json!({"queue": "drop-tale"})),
        (Code::Missing, json!({"duration": null})),
        (Code::WrongType, json!({"nic": []})),
        (Code::WrongForm, json!({"duration": "soon"})),
        (Code::WrongUnit, json!({"duration": "1parsec"})),
        (Code::OutOfRange, json!({"duration": "0s"})),
        (Code::Conflict, json!({"warmup": "2ms"})),
        (Code::NotFound, json!({"port": {"switch->r7": {"loss": 0.1}}})),
        (Code::NoPath, one_way),
        (Code::TooFew, json!({"traffic": {}})),
        (
            Code::TooMany,
            json!({"topology": {"kind": "fat-tree", "k": 100, "hosts_per_edge": 1000},
            "traffic": {"t": {"kind": "bulk", "from": "h0", "to": "h1"}}}),
        ),
        (Code::TooMuchMemory, json!({"memory": 1})),
        (Code::WrittenTwice, twice),
        (Code::Unsupported, json!({"probe": {"port_trace": "change"}})),
        (Code::More, json!({"traffic": many})),
    ];
    for (code, changes) in &examples {
        let found = faults(changes.clone());
        let codes: Vec<Code> = found.iter().map(|fault| fault.code).collect();
        assert!(codes.contains(code), "{} is not among {codes:?}: {found:#?}", code.word());
        assert!(codes.len() == 1 || *code == Code::More, "{}: {found:#?}", code.word());
    }
    let listed: Vec<Code> = examples.iter().map(|(code, _)| *code).collect();
    let all: Vec<Code> = Code::ALL.iter().map(|(code, _)| *code).collect();
    assert_eq!(listed, all);
}

#[test]
fn a_hint_is_a_field_of_its_own() {
    let wrong = faults(json!({"duration": "1MS", "port": {"swich->r0": {"loss": 0.1}}}));
    let found: Vec<_> = wrong.iter().map(|fault| (fault.path.as_str(), fault.hint.as_str())).collect();
    assert_eq!(
        found,
        [("duration", "did you mean \"1ms\"?"), ("port.swich->r0", "did you mean \"switch\"?")]
    );
    assert!(wrong.iter().all(|fault| !fault.rule.contains("did you mean")), "{found:?}");
}

/// A fault that a default in place of a faulty setting may explain is left out; all others are listed.
#[test]
fn faults_across_settings_are_told_unless_a_default_stood_in() {
    let paths = |changes: Value| faults(changes).into_iter().map(|fault| fault.path).collect::<Vec<_>>();
    // The network is unknown: whether s9 exists is too.
    let unknown_host = json!({"long": {"kind": "bulk", "from": "s9", "to": "r0"}});
    assert_eq!(
        paths(json!({"topology": {"kind": "star", "senders": 0}, "traffic": unknown_host})),
        ["topology.senders"]
    );
    // Its hosts are known, whatever their rate.
    let bad_rate = json!({"kind": "star", "rate": "fast"});
    assert_eq!(
        paths(json!({"topology": bad_rate, "traffic": unknown_host})),
        ["topology.rate", "traffic.long.from"]
    );
    // Another key of the load does not say which hosts it joins.
    let bad_size = json!({"long": {"kind": "bulk", "from": "s9", "to": "r0", "bytes": "much"}});
    assert_eq!(paths(json!({"traffic": bad_size})), ["traffic.long.bytes", "traffic.long.from"]);
    assert_eq!(paths(json!({"duration": "soon", "warmup": "2ms"})), ["duration"]);
}
