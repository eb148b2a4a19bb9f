//! Hosts that pause a switch, and lossless links whose rate changes.

use crate::common::{Tables, run};
use serde_json::{Value, json};
use shallows_core::Control;

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

/// A flush drops what waits for a pause that lasts too long, and goes on dropping at each further look.
#[test]
fn a_flush_ends_a_storm_again_and_again() {
    let mut watched = document();
    watched["pfc"] = json!({"deadlock": "watchdog", "watchdog": "1ms", "action": "flush"});
    watched["event"] = json!({"storm": {"at": "500us", "link": "switch->r0", "pause": [3]}});
    let tables = Tables::of(&run(&watched));
    assert!(port(&tables, "queues", "drops_evicted") >= 101);
    assert_eq!(port(&tables, "queues", "packets_held"), 0);
}

/// A datagram each 10 us from 5 us on, in priority 3 and in 4; a storm in 3 from 500 us to 2500 us, and a watchdog of 1 ms.
/// A datagram is at the port some 2 us after it was sent, so the times below lie between two of them.
fn watched(rules: Value) -> Tables {
    let datagrams = |priority: u64| {
        json!({"kind": "datagrams", "from": "s0", "to": "r0", "bytes": "962B", "every": "10us", "start": "5us", "stop": "4004us",
            "transport": {"priority": priority}})
    };
    let mut watched = document();
    watched["transport"] = json!({"cc": "newreno"});
    watched["priority"] = json!({"3": {"pfc": true}, "4": {"pfc": true}});
    watched["traffic"] = json!({"x": datagrams(3), "y": datagrams(4)});
    watched["pfc"] = rules;
    watched["event"] =
        json!({"storm": {"at": "500us", "link": "switch->r0", "pause": [3], "pause_for": "2ms"}});
    let mut simulations = [1, 2].map(|threads| {
        let mut simulation = crate::common::load(&watched);
        simulation.set_threads(threads);
        simulation
    });
    simulations.iter_mut().for_each(|simulation| simulation.run(&Control::new()).expect("it ends"));
    assert!(simulations.iter().all(|simulation| simulation.books().balance()));
    let [one, two] = simulations.map(|simulation| Tables::of(&simulation));
    assert_eq!(one.hashes(), two.hashes());
    one
}

/// The record of a priority at `switch->r0`: storms, restorations, and packets that the watchdog dropped.
fn storms(tables: &Tables, priority: u32) -> (u64, u64, u64) {
    let ports = tables.words("pauses", "port");
    let mut rows = ports.iter().zip(tables.u32("pauses", "priority"));
    let row = rows.position(|(name, found)| *name == "switch->r0" && *found == priority).expect("a row");
    let of = |column| tables.u64("pauses", column)[row];
    (of("storms"), of("storms_restored"), of("watchdog_drops"))
}

/// By hand: of 400 datagrams those of 500 us to 1500 us wait, 100 of them, and are dropped with the storm's detection. Those that come until the
/// restoration, 300 us after the last pause, are dropped as they come: 130 more. The other priority has none of it.
#[test]
fn a_storm_is_detected_acted_upon_and_restored() {
    let rules = |more: Value| {
        let mut rules = json!({"deadlock": "watchdog", "watchdog": "1ms", "restoration": "300us"});
        rules.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
        rules
    };
    let dropping = watched(rules(json!({})));
    assert_eq!(dropping.u64("datagrams", "sent"), [400, 400]);
    assert_eq!((storms(&dropping, 3), storms(&dropping, 4)), ((1, 1, 230), (0, 0, 0)));
    assert_eq!(dropping.u64("datagrams", "arrived"), [170, 400]);
    assert_eq!(port(&dropping, "queues", "drops_evicted"), 230);
    // Without a restoration it drops all from 500 us on.
    let for_ever = watched(rules(json!({"restoration": "none"})));
    assert_eq!(storms(&for_ever, 3), (1, 0, 350));
    assert_eq!(for_ever.u64("datagrams", "arrived"), [50, 400]);
    // One that forwards loses none: 100 datagrams wait for 1 ms at most.
    let forwarding = watched(rules(json!({"action": "forward"})));
    assert_eq!(storms(&forwarding, 3), (1, 1, 0));
    assert_eq!(forwarding.u64("datagrams", "arrived"), [400, 400]);
    // A detection time that the storm does not reach changes nothing: all wait for its end.
    let patient = watched(rules(json!({"watchdog": "2001us"})));
    assert_eq!(storms(&patient, 3), (0, 0, 0));
    assert_eq!(patient.u64("datagrams", "arrived"), [400, 400]);
    // Waits: 1 ms and 2 ms are the longest, less the 5 us from the storm to the first datagram, and with the wire's time.
    let longest = |tables: &Tables| tables.u64("datagrams", "delay_max_ps")[0] / 1_000_000;
    assert!((990..1000).contains(&longest(&forwarding)), "{}", longest(&forwarding));
    assert!((1990..2010).contains(&longest(&patient)), "{}", longest(&patient));
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
