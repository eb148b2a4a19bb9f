//! The delay of switches themselves: a packet that crosses one with latency L is L later, and nothing else changes.

use crate::bench::{LINE, MSS, Run, US, pair, run, with};
use serde_json::{Value, json};

fn times(run: &Run) -> [f64; 3] {
    ["fct_ps", "ideal_ps", "acked_ps"].map(|column| run.column("messages", column)[0])
}

/// A message of one segment crosses one switch, and so does its acknowledgement.
#[test]
fn a_message_is_later_by_the_latencies_on_its_way() {
    let message = |switch: Value| {
        times(&run(with(pair(json!({}), json!({"bytes": format!("{MSS}B")})), json!({"switch": switch}))))
    };
    let [there, back] = [LINE.one_way(1500), LINE.round() - LINE.one_way(1500)].map(|ps| ps as f64);
    assert_eq!(message(json!({})), [there, there, there + back]);
    let l = 3.0 * US as f64;
    assert_eq!(message(json!({"*": {"latency": "3us"}})), [there + l, there + l, there + back + 2.0 * l]);
    // A later pattern overrides a former one, and a pattern without a latency leaves it.
    let layered = json!({"*": {"latency": "1s"}, "switch": {"latency": "3us"}, "s*": {"alpha": 2.0}});
    assert_eq!(message(layered), message(json!({"*": {"latency": "3us"}})));
    // On a path of three switches, each has its own.
    let leaf_spine = json!({"topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 1},
        "traffic": {"x": {"from": "h0", "to": "h1", "bytes": "1460B"}}});
    let across = |switch: Value| {
        let mut document = with(pair(json!({}), json!({})), json!({"switch": switch}));
        document["topology"] = leaf_spine["topology"].clone();
        times(&run(with(document, leaf_spine.clone())))[0]
    };
    let bare = across(json!({}));
    assert_eq!(across(json!({"leaf*": {"latency": "700ns"}})), bare + 2.0 * 700e3);
    assert_eq!(across(json!({"spine0": {"latency": "300ns"}, "leaf1": {"latency": "1us"}})), bare + 1300e3);
}

/// A latency at a switch gives the tables that longer links into it give, whatever happens in its queues: with losses, shared
/// memory, several loads, and a delay that an event changes.
#[test]
fn a_latency_is_worth_a_longer_link_into_the_switch() {
    let incast = |latency: &str, into: &str, later: &str| {
        let run = run(json!({
            "duration": "20ms",
            "topology": {"kind": "star", "senders": 4, "receivers": 1, "rate": "10Gbps", "delay": "5us"},
            "queue": {"kind": "drop-tail", "limit": "none"},
            "switch": {"*": {"buffer": "60KB", "alpha": 0.5, "latency": latency}},
            "port": {"*->switch": {"delay": into}},
            "event": {"longer": {"at": "3ms", "link": "s0->switch", "delay": later}},
            "transport": {"cc": "newreno", "ecn": "off"},
            "traffic": {
                "long": {"kind": "bulk", "from": "s*", "to": "r0"},
                "short": {"kind": "poisson", "from": "s*", "to": "r0", "every": "200us",
                    "sizes": {"kind": "uniform", "min": "1KB", "max": "50KB"}},
            },
        }));
        assert!(run.simulation.books().dropped > 0, "memory is short");
        format!("{:?}", run.simulation.tables())
    };
    let with_latency = incast("2us", "5us", "40us");
    assert_eq!(with_latency, incast("0s", "7us", "42us"));
    assert_ne!(with_latency, incast("0s", "7us", "40us"));
}

/// The value of a port in the table `pauses`.
fn of(run: &Run, port: &str, column: &str) -> f64 {
    let row = run.words("pauses", "port").iter().position(|name| *name == port).expect("a port");
    run.column("pauses", column)[row]
}

/// A port's MAC obeys pause frames. So the latency of its switch delays them only where it is longer than the response.
/// Two switches at 10 Gb/s: each microsecond more brings 1250 bytes more into the headroom, to a packet.
#[test]
fn a_pause_frame_takes_the_response_or_the_latency() {
    let headroom = |latency: &str| {
        let done = run(json!({
            "duration": "2ms",
            "topology": {"kind": "graph", "hosts": ["a", "b"], "switches": ["near", "far"], "links": [
                {"from": "a", "to": "near", "delay": "1us"},
                {"from": "near", "to": "far", "delay": "1us"},
                {"from": "far", "to": "b", "delay": "1us", "rate": "100Mbps"},
            ]},
            "queue": {"kind": "drop-tail", "limit": "none"},
            "nic": {"kind": "drop-tail"},
            "switch": {"*": {"buffer": "1MB"}, "near": {"latency": latency}},
            "port": {"*->*": {"pfc_response": "4us", "pfc_alpha": "none", "pfc_xoff": "30KB"}},
            "priority": {"3": {"pfc": true}},
            "transport": {"cc": "newreno", "ecn": "off", "opening": "established", "initial_window": "200pkt",
                "priority": 3},
            "traffic": {"t": {"kind": "bulk", "from": "a", "to": "b", "bytes": "292KB"}},
        }));
        assert_eq!(done.simulation.books().dropped, 0, "{latency}");
        let [used, has] =
            ["max_headroom_bytes", "headroom_bytes"].map(|column| of(&done, "far->near", column));
        assert!(used <= has && used > has - 2.0 * 1500.0, "{latency}: {used} of {has}");
        has
    };
    let bare = headroom("0s");
    assert_eq!(headroom("1us"), bare, "the MAC of near obeys after 4us all the same");
    assert_eq!(headroom("4us"), bare);
    assert_eq!(headroom("12us"), bare + 8.0 * 1250.0);
}
