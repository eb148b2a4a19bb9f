//! Overrides of ports and switches: several patterns that select one port merge setting by setting.

mod common;

use common::{Tables, run};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A star of two senders with these `port` and `switch` tables, in this order.
fn star(port: &[(&str, Value)], switch: &[(&str, Value)]) -> String {
    let table = |rows: &[(&str, Value)]| -> Map<String, Value> {
        rows.iter().map(|(name, settings)| ((*name).to_string(), settings.clone())).collect()
    };
    json!({
        "duration": "2ms",
        "topology": {"kind": "star", "senders": 2, "rate": "1Gbps"},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "port": table(port),
        "switch": table(switch),
        "transport": {"cc": {"kind": "newreno"}},
        "traffic": {"long": {"kind": "bulk", "from": "s*", "to": "r0"}},
    })
    .to_string()
}

/// The settings with which `name` is built.
fn planned(document: &str, name: &str) -> Value {
    let plan: Value =
        serde_json::from_str(&shallows_spec::plan(document).expect("a legal document")).unwrap();
    let node =
        |at: &Value| plan["nodes"][at.as_u64().unwrap() as usize]["name"].as_str().unwrap().to_string();
    let ports = plan["ports"].as_array().unwrap();
    let named = |port: &&Value| format!("{}->{}", node(&port["from"]), node(&port["to"])) == name;
    ports.iter().find(named).expect("a port of that name").clone()
}

#[test]
fn a_later_pattern_keeps_what_it_does_not_name() {
    let document = star(
        &[
            ("s*->switch", json!({"rate": "1001Mbps", "loss": 0.25})),
            ("*->*", json!({"queue": {"kind": "drop-tail", "limit": "50pkt"}})),
        ],
        &[],
    );
    let port = planned(&document, "s0->switch");
    assert_eq!(port["rate_bps"], 1_001_000_000);
    assert_eq!(port["loss"], 0.25);
    assert_eq!(port["queue"]["limit"], "50pkt");
    let other = planned(&document, "switch->r0");
    assert_eq!((&other["rate_bps"], &other["queue"]["limit"]), (&json!(1_000_000_000), &json!("50pkt")));
}

#[test]
fn the_last_pattern_that_names_a_setting_decides_and_none_puts_back() {
    let rate = |patterns: &[(&str, Value)]| planned(&star(patterns, &[]), "s0->switch")["rate_bps"].clone();
    let (all, one) = (("*->*", json!({"rate": "2Gbps"})), ("s0->switch", json!({"rate": "3Gbps"})));
    assert_eq!(rate(&[all.clone(), one.clone()]), 3_000_000_000_u64);
    assert_eq!(rate(&[one, all.clone()]), 2_000_000_000);
    assert_eq!(rate(&[all, ("s*->switch", json!({"rate": "none"}))]), 1_000_000_000);
}

#[test]
fn the_record_shows_each_pattern_as_written_and_resolves_to_itself() {
    let document = star(
        &[("s*->switch", json!({"rate": "1001Mbps"})), ("*->*", json!({"loss": 0.5, "delay": "none"}))],
        &[("*", json!({"buffer": "1MB"})), ("switch", json!({"alpha": 2.0}))],
    );
    let resolved = |document: &str| -> Value {
        let answer: Value = serde_json::from_str(&shallows_spec::check(document)).unwrap();
        assert_eq!(answer["faults"], json!([]));
        answer["experiment"].clone()
    };
    let first = resolved(&document);
    assert_eq!(
        first["port"],
        json!({"s*->switch": {"rate": "1001Mbps"}, "*->*": {"delay": "none", "loss": 0.5}})
    );
    assert_eq!(first["switch"], json!({"*": {"buffer": "1MB"}, "switch": {"alpha": 2.0}}));
    assert_eq!(resolved(&first.to_string()), first);
}

#[test]
fn a_later_switch_pattern_keeps_the_buffer() {
    // 3000 B for the whole switch hold two packets of 1500 B; without the shared memory nothing is dropped.
    let drops = |switch: &[(&str, Value)]| {
        let mut run = shallows_spec::load(&star(&[], switch)).expect("a legal document");
        run.run(&shallows_core::Control::default()).expect("a run");
        run.books().dropped
    };
    let buffer = ("*", json!({"buffer": "3000B", "alpha": "none"}));
    assert!(drops(std::slice::from_ref(&buffer)) > 0);
    assert!(drops(&[buffer, ("switch", json!({"alpha": 1.0}))]) > 0);
    assert_eq!(drops(&[]), 0);
}

fn setting() -> impl Strategy<Value = (&'static str, Value)> {
    prop::sample::select(vec![
        ("rate", json!("3Gbps")),
        ("delay", json!("7us")),
        ("loss", json!(0.25)),
        ("drop_packets", json!([3])),
        ("mark", json!(0.5)),
        ("mark_every", json!(9)),
        ("duplicate", json!(0.125)),
        ("reorder", json!(0.75)),
        ("reorder_delay", json!("1us")),
        ("queue", json!({"kind": "drop-tail", "limit": "9pkt"})),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_order_of_patterns_with_different_settings_does_not_matter(
        settings in prop::collection::vec(setting(), 1..10),
        patterns in prop::collection::vec(prop::sample::select(vec!["*->*", "s*->*", "s0->switch", "*->r0"]), 10),
        rotate in 0usize..4,
    ) {
        // Each setting goes to the pattern that is drawn for it; no two patterns name the same setting.
        let mut tables: Vec<(&str, Map<String, Value>)> = vec![];
        let mut named = vec![];
        for ((key, value), pattern) in settings.into_iter().zip(patterns) {
            if named.contains(&key) {
                continue;
            }
            named.push(key);
            match tables.iter_mut().find(|(name, _)| *name == pattern) {
                Some((_, table)) => _ = table.insert(key.into(), value),
                None => tables.push((pattern, Map::from_iter([(key.to_string(), value)]))),
            }
        }
        let mut tables: Vec<(&str, Value)> = tables.into_iter().map(|(name, t)| (name, Value::Object(t))).collect();
        let before = star(&tables, &[]);
        let turns = rotate % tables.len();
        tables.rotate_left(turns);
        let after = star(&tables, &[]);
        for port in ["s0->switch", "s1->switch", "switch->r0", "r0->switch", "switch->s0"] {
            prop_assert_eq!(planned(&before, port), planned(&after, port));
        }
    }
}

/// A load is a share of what the receivers' links carry, wherever their rate is written.
#[test]
fn a_load_goes_by_the_rate_that_a_port_has() {
    let flows = |topology: Value, port: Value| {
        let document = json!({"duration": "20ms", "topology": topology, "port": port, "queue": {"kind": "drop-tail", "limit": "none"},
            "transport": {"cc": "newreno"},
            "traffic": {"t": {"kind": "poisson", "from": "s*", "to": "r0", "load": 0.5,
                "sizes": {"kind": "fixed", "bytes": "20KB"}}}});
        Tables::of(&run(&document)).rows("messages")
    };
    let star = |rate: &str| json!({"kind": "star", "senders": 4, "rate": rate, "sender_rate": "10Gbps"});
    let slow = flows(star("1Gbps"), json!({}));
    assert_eq!(flows(star("10Gbps"), json!({"switch->r0": {"rate": "1Gbps"}})), slow);
    assert!(flows(star("10Gbps"), json!({})) > 5 * slow);
}

#[test]
fn a_profile_sets_what_its_stack_does_where_the_file_says_nothing() {
    let settings = |profile: &str, own: Value, queue: Value| -> Value {
        let document = json!({
            "duration": "2ms",
            "topology": {"kind": "star", "senders": 2, "rate": "1Gbps"},
            "queue": queue,
            "port": {"s0->switch": {"queue": {"kind": "codel"}}},
            "transport": {"profile": profile, "cc": "newreno"},
            "traffic": {
                "a": {"kind": "bulk", "from": "s0", "to": "r0"},
                "b": {"kind": "bulk", "from": "s1", "to": "r0", "transport": own},
            },
        })
        .to_string();
        let shown = |port| planned(&document, port)["queue"].clone();
        json!([shown("switch->r0")["left_in"], shown("switch->r0")["root"], shown("s0->switch")["root"]])
    };
    let fq_codel = || json!("fq-codel");
    // Linux's sch_fq_codel and sch_codel; the RFCs elsewhere, and where loads have several profiles.
    assert_eq!(settings("linux", json!({}), fq_codel()), json!(["all", "newton", "newton"]));
    assert_eq!(settings("rfc", json!({}), fq_codel()), json!(["queue", "exact", "exact"]));
    assert_eq!(settings("linux", json!({"profile": "rfc"}), fq_codel()), json!(["queue", "exact", "exact"]));
    // A written setting stands.
    let written = json!({"kind": "fq-codel", "left_in": "queue", "root": "exact"});
    assert_eq!(settings("linux", json!({}), written), json!(["queue", "exact", "newton"]));
}
