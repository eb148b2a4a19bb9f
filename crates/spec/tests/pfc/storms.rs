//! Hosts that pause a switch, and lossless links whose rate changes.

use crate::common::{Tables, run};
use serde_json::{Value, json};

/// Queue pairs behind a port that the receiver may pause; 962 bytes make 1024 on the wire, and 101 packets come.
fn document() -> Value {
    json!({
        "duration": "5ms",
        "topology": {"kind": "star", "senders": 1, "rate": "100Gbps", "delay": "1us"},
        "queue": {"kind": "ramp", "limit": "none", "kmin": "50KB", "kmax": "51KB", "pmax": 1.0},
        "transport": {"profile": "roce", "cc": "line-rate", "mtu": "962B", "priority": 3, "ecn": "on"},
        "switch": {"*": {"buffer": "32MB"}},
        "priority": {"3": {"pfc": true}},
        "traffic": {"x": {"kind": "bulk", "from": "s0", "to": "r0", "bytes": "97162B", "start": "1ms"}},
    })
}

fn port(tables: &Tables, table: &str, column: &str) -> u64 {
    let ports = tables.words(table, "port");
    let row = ports.iter().position(|name| *name == "switch->r0").expect("a port");
    tables.u64(table, column)[row]
}

/// A storm without end: all 101 packets wait. One that ends lets them go, and those that leave more than 51 000 bytes behind
/// them are marked: the first 51, one more by chance at most (sonic-mgmt's test of ECN marking works so).
#[test]
fn a_receiver_that_pauses_fills_the_queue_and_marks_follow_its_release() {
    let mut storm = document();
    storm["event"] = json!({"storm": {"at": "500us", "link": "switch->r0", "pause": [3]}});
    let tables = Tables::of(&run(&storm));
    assert_eq!((port(&tables, "queues", "packets_held"), port(&tables, "queues", "packets_out")), (101, 0));
    // From 500 us to the end at 5 ms, one pause.
    assert_eq!((port(&tables, "pauses", "paused"), port(&tables, "pauses", "paused_ps")), (1, 4_500_000_000));
    storm["event"]["storm"]["pause_for"] = "2ms".into();
    let tables = Tables::of(&run(&storm));
    assert_eq!((port(&tables, "queues", "packets_held"), port(&tables, "queues", "drops")), (0, 0));
    assert_eq!(port(&tables, "pauses", "paused_ps"), 2_000_000_000);
    assert_eq!(tables.u64("flows", "delivered_bytes"), [97_162]);
    let marks = port(&tables, "queues", "marks");
    assert!((51..=52).contains(&marks), "{marks} marks");
}

/// The pauses spread: an incast into a held port fills the switch, whose pauses stop the senders; after the release all arrives.
#[test]
fn a_storm_spreads_to_the_senders() {
    let mut spread = document();
    spread["topology"]["senders"] = 4.into();
    spread["switch"]["*"]["buffer"] = "2MB".into();
    spread["duration"] = "8ms".into();
    spread["traffic"]["x"] = json!({"kind": "bulk", "from": "s*", "to": "r0", "bytes": "3MB"});
    spread["event"] =
        json!({"storm": {"at": "10us", "link": "switch->r0", "pause": [3], "pause_for": "3ms"}});
    let simulation = run(&spread);
    let tables = Tables::of(&simulation);
    let paused: u64 = tables.u64("pauses", "paused").iter().sum();
    assert!(paused > 4, "{paused} pauses");
    assert_eq!(tables.u64("queues", "drops").iter().sum::<u64>(), 0);
    assert_eq!(tables.u64("flows", "delivered_bytes"), [3_000_000; 4]);
    let notes = simulation.manifest_counts()["notes"].to_string();
    assert!(!notes.contains("deadlock"), "a receiver that rests is none: {notes}");
}

/// With a watchdog the switch drops what waits for a pause that lasts too long, and goes on dropping at each further look.
#[test]
fn the_watchdog_ends_a_storm() {
    let mut watched = document();
    watched["pfc"] = json!({"deadlock": "watchdog", "watchdog": "1ms"});
    watched["event"] = json!({"storm": {"at": "500us", "link": "switch->r0", "pause": [3]}});
    let tables = Tables::of(&run(&watched));
    assert!(port(&tables, "queues", "drops_evicted") >= 101);
    assert_eq!(port(&tables, "queues", "packets_held"), 0);
}

/// Pauses go back along the cable that the packets came by: with two cables side by side nothing is lost either.
#[test]
fn each_cable_pauses_its_own_peer() {
    let link = |from: &str, to: &str, cables: u64| json!({"from": from, "to": to, "rate": "100Gbps", "delay": "1us", "cables": cables});
    let mut bundle = document();
    bundle["topology"] = json!({"kind": "graph", "hosts": ["s0..s3", "r0"], "switches": ["x", "switch"],
        "links": [link("s0", "x", 1), link("s1", "x", 1), link("s2", "x", 1), link("s3", "x", 1),
            link("x", "switch", 2), link("switch", "r0", 1)]});
    bundle["duration"] = "8ms".into();
    bundle["switch"]["*"]["buffer"] = "2MB".into();
    bundle["traffic"]["x"] = json!({"kind": "bulk", "from": "s*", "to": "r0", "bytes": "3MB"});
    let tables = Tables::of(&run(&bundle));
    assert_eq!(tables.u64("queues", "drops").iter().sum::<u64>(), 0);
    assert_eq!(tables.u64("flows", "delivered_bytes"), [3_000_000; 4]);
    let ports = tables.words("pauses", "port");
    let paused =
        |name: &str| tables.u64("pauses", "paused")[ports.iter().position(|port| *port == name).unwrap()];
    assert!(paused("x->switch#1") > 0 && paused("x->switch#2") > 0);
}

/// A lossless link that changes its rate and delay loses nothing: its headroom is that of the worst of them.
#[test]
fn a_lossless_link_may_change_its_rate() {
    let mut changing = document();
    changing["topology"]["senders"] = 4.into();
    changing["duration"] = "8ms".into();
    changing["switch"]["*"]["buffer"] = "6MB".into();
    changing["traffic"]["x"] = json!({"kind": "bulk", "from": "s*", "to": "r0", "bytes": "3MB"});
    changing["event"] = json!({
        "slow": {"at": "100us", "link": "*<->*", "rate": "10Gbps"},
        "long": {"at": "200us", "link": "s*<->switch", "delay": "20us"},
        "fast": {"at": "1ms", "link": "s*<->switch", "rate": "200Gbps"},
        "out": {"at": "1500us", "link": "switch->r0", "rate": "40Gbps"},
    });
    let tables = Tables::of(&run(&changing));
    assert_eq!(tables.u64("queues", "drops").iter().sum::<u64>(), 0);
    assert_eq!(tables.u64("flows", "delivered_bytes"), [3_000_000; 4]);
    assert!(tables.u64("pauses", "paused").iter().sum::<u64>() > 4);
}
