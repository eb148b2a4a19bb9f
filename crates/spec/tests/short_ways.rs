//! Short ways change nothing: a predicted acknowledgement has the effects of any other, and so has a packet that passes its
//! host's port.

mod common;

use common::cases::{ANY, cases};
use common::{Tables, set};
use proptest::prelude::*;
use serde_json::{Value, json};
use shallows_core::{Books, Control};
use std::collections::BTreeMap;

/// Books and tables of a run, with short ways or without.
fn ran(document: &Value, short_ways: bool) -> (Books, BTreeMap<String, u64>) {
    let mut experiment = shallows_spec::parse(&document.to_string()).expect("a legal document");
    experiment.short_ways = short_ways;
    let mut simulation = experiment.build().unwrap_or_else(|faults| panic!("{document}\n{:?}", faults.0));
    simulation.run(&Control::new()).expect("the run ends");
    (simulation.books(), Tables::of(&simulation).hashes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn short_ways_change_nothing(case in cases(ANY), probes in any::<bool>()) {
        let mut document = case.document("2ms", "300us");
        if probes {
            document["probe"] = json!({"queue_trace": "70us", "flow_trace": "change", "port_trace": "130us", "packets": "*->*"});
        }
        let (short, long) = (ran(&document, true), ran(&document, false));
        prop_assert_eq!(format!("{:?}", short.0), format!("{:?}", long.0), "{}", document);
        prop_assert_eq!(short.1, long.1, "{}", document);
    }
}

/// Cards with lines that are short, limited or recorded, windows that the receiver, the card or pacing bounds, ends of streams.
#[test]
fn corners_of_short_ways() {
    let base = json!({
        "duration": "4ms",
        "topology": {"kind": "star", "senders": 4, "rate": "10Gbps", "delay": "5us"},
        "queue": {"kind": "threshold", "limit": "60pkt", "mark_at": "10pkt"},
        "transport": {"cc": "dctcp"},
        "traffic": {"long": {"kind": "bulk", "from": "s*", "to": "r0", "flows": 3, "bytes": "1234567B"}},
    });
    for settings in [
        vec![],
        vec![("traffic.long.bytes", json!("730000B"))], // whole segments, the last with the FIN
        vec![("nic", json!({"kind": "fq", "limit": "3pkt"}))],
        vec![("nic", json!({"kind": "fq", "limit": "20KB"}))],
        vec![("nic", json!({"kind": "fq", "fast_path": 1}))],
        vec![("nic", json!({"kind": "drop-tail"}))],
        vec![("nic", json!({"kind": "drop-tail"})), ("probe.nic_queues", json!(true))],
        vec![("transport.receive_window", json!("5pkt"))],
        vec![("transport.small_queues", json!("4KB"))],
        vec![("transport.cwnd_max", json!("3pkt"))],
        vec![("transport.initial_window", json!("1pkt")), ("topology.delay", json!("1ns"))],
        vec![("transport.idle_restart", json!(true)), ("transport.min_rto", json!("20us"))],
        vec![("transport.cc", json!("newreno")), ("transport.ecn", json!("on"))],
        vec![("transport.cc", json!("swift")), ("transport.opening", json!("established"))],
        vec![("transport.cc", json!("copa")), ("transport.opening", json!("established"))],
        vec![("transport.ece_growth", json!("first"))],
        vec![("transport.ece_growth", json!("cut-first"))],
        vec![("transport.ece_growth", json!("round"))],
    ] {
        let mut document = base.clone();
        settings.iter().for_each(|(path, value)| set(&mut document, path, value.clone()));
        let (short, long) = (ran(&document, true), ran(&document, false));
        assert!(short.0.delivered > 500, "{settings:?}: {:?}", short.0);
        assert_eq!(format!("{:?}", short.0), format!("{:?}", long.0), "{settings:?}");
        assert_eq!(short.1, long.1, "{settings:?}");
    }
}
