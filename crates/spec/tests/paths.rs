//! Equally long paths are not the same path: telemetry, round trips and targets of senders where packets may take several.

mod common;

use common::{Tables, faults, run};
use serde_json::{Value, json};

/// Two leaves and four spines at 100 Gb/s, three messages of 20 MB without contention.
fn fabric(ecmp: &str, transport: Value) -> Value {
    json!({
        "duration": "4ms",
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 4, "hosts_per_leaf": 4, "rate": "100Gbps", "delay": "1us", "uplink_delay": "1us"},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "ecmp": ecmp,
        "port_control": "hpcc",
        "transport": transport,
        "traffic": {"x": {"kind": "bulk", "from": "h0", "to": "h4", "bytes": "20MB"}},
    })
}

/// Li 2019: a header's records are compared with those of the same path. Where each packet may take another path, none can be,
/// and the window stands still or follows noise: refused, over queue pairs and over TCP.
#[test]
fn hpcc_is_refused_where_every_packet_may_change_its_path() {
    let roce = || json!({"profile": "roce", "cc": "hpcc", "repair": "irn"});
    for transport in [roce(), json!({"cc": "hpcc"})] {
        for ecmp in ["random", "permutation", "round-robin", "least-loaded"] {
            let found = faults(&fabric(ecmp, transport.clone()));
            assert_eq!(found.len(), 1, "{found:?}");
            for part in ["ecmp: must be \"flow\"", "cc = \"hpcc\"", "from h0 to h4", "leaf0", ecmp] {
                assert!(found[0].contains(part), "{part}: {found:?}");
            }
            let mut inside = fabric(ecmp, transport.clone());
            inside["traffic"]["x"]["to"] = json!("h1"); // one path
            assert_eq!(faults(&inside), [""; 0], "{ecmp}");
        }
        for ecmp in ["flow", "weighted", "flowlet"] {
            assert_eq!(faults(&fabric(ecmp, transport.clone())), [""; 0], "{ecmp}");
        }
        let mut gapless = fabric("flowlet", transport);
        gapless["routing"] = json!({"flowlet_gap": "0s"});
        assert!(faults(&gapless)[0].contains("flowlet_gap above 0s"));
    }
    let mut other = fabric("random", json!({"profile": "roce", "cc": "swift", "repair": "irn"}));
    other["port_control"] = json!("none");
    assert_eq!(faults(&other), [""; 0]);
}

/// A path fails and is repaired: the flow takes the other meanwhile.
fn rerouted() -> Value {
    json!({
        "duration": "4ms",
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 1, "rate": "100Gbps", "delay": "1us", "uplink_delay": "1us"},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "port_control": "hpcc",
        "transport": {"profile": "roce", "cc": {"kind": "hpcc", "base_rtt": "9us"}, "repair": "irn"},
        "traffic": {"x": {"kind": "bulk", "from": "h0", "to": "h1", "bytes": "20MB"}},
        "probe": {"flow_trace": "2us", "classes": ["*"]},
        "event": {
            "cut": {"at": "200us", "link": "leaf0<->spine1", "state": "down"},
            "back": {"at": "900us", "link": "leaf0<->spine1", "state": "up"},
        },
    })
}

/// A flow alone whose path changes to one of the same length keeps its window: the counters of two ports are never subtracted.
/// Before the header had the path's identity, the first acknowledgement of the new path gave a share of up to 2^20 units.
#[test]
fn a_change_to_a_path_of_the_same_length_moves_no_window() {
    let simulation = run(&rerouted());
    let tables = Tables::of(&simulation);
    assert!(tables.u64("flows", "drops")[0] > 0, "the flow takes the path that fails");
    let (time, cwnd) = (tables.u64("flow_trace", "time_ps").to_vec(), tables.f64("flow_trace", "cwnd_bytes"));
    let steady = |from: u64, until: u64| {
        let rows = time.iter().zip(cwnd).filter(|(at, _)| (from..until).contains(&(**at / 1_000_000)));
        let windows: Vec<f64> = rows.map(|row| *row.1).collect();
        assert!(windows.len() > 50);
        windows.iter().copied().fold(f64::MAX, f64::min) / windows.iter().copied().fold(0.0, f64::max)
    };
    // The failure takes packets with it, and the sender waits. Nothing is lost when the tables return to the first path.
    for (from, until) in [(600, 890), (890, 1400)] {
        let share = steady(from, until);
        assert!(share > 0.95, "{from} us: least over most {share}");
    }
}

/// Equally many hops, other delays: a window over the shorter path's round trip could not fill the longer one. All flows have
/// the longest of both.
#[test]
fn the_round_trip_of_equal_hops_is_that_of_the_longest_path() {
    let document = |slow: &str, bdp: &str| {
        json!({
            "duration": "20ms",
            "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 8, "rate": "10Gbps", "delay": "1us", "uplink_delay": "1us"},
            "port": {(format!("leaf*->{slow}")): {"delay": "50us"}, (format!("{slow}->leaf*")): {"delay": "50us"}},
            "queue": {"kind": "drop-tail", "limit": "none"},
            "transport": {"profile": "roce", "cc": "line-rate", "repair": "irn", "bdp": bdp, "rto_low": "1ms", "rto_high": "1ms"},
            "traffic": {"x": {"kind": "bulk", "from": "h0..h7", "to": "h8..h15", "pattern": "pairs", "bytes": "1MB"}},
        })
    };
    for slow in ["spine0", "spine1"] {
        let slowest = |bdp: &str| {
            let times = Tables::of(&run(&document(slow, bdp))).u64("flows", "fct_ps").to_vec();
            times.into_iter().max().expect("eight flows")
        };
        let (own, ample) = (slowest("none"), slowest("10MB"));
        assert!(own <= ample + ample / 50, "{slow}: {own} ps, {ample} ps with an ample bound");
    }
}

/// Settings that follow from the path at a connection's opening hold for another path after a failure: the reader learns it.
#[test]
fn a_longer_path_after_a_failure_is_noted() {
    // A ring of four switches, one host each: two hops one way, three the other.
    let ends = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("x", "a"), ("y", "b")];
    let links: Vec<Value> =
        ends.iter().map(|(from, to)| json!({"from": from, "to": to, "delay": "5us"})).collect();
    let document = |transport: Value| {
        json!({
            "duration": "2ms",
            "topology": {"kind": "graph", "switches": ["a", "b", "c", "d"], "hosts": ["x", "y"], "links": links.clone()},
            "queue": {"kind": "drop-tail", "limit": "none"},
            "transport": transport,
            "traffic": {"t": {"kind": "bulk", "from": "x", "to": "y", "bytes": "100KB"}},
            "event": {"cut": {"at": "1ms", "link": "a<->b", "state": "down"}},
        })
    };
    let about = |transport: Value| {
        let notes = run(&document(transport)).notes();
        notes.into_iter().filter(|note| note.contains("keeps")).collect::<Vec<_>>()
    };
    let found = about(json!({"profile": "roce", "cc": "swift", "repair": "irn"}));
    assert_eq!(found.len(), 1, "{found:?}");
    for part in [
        "traffic t: the path of x to y has 4 switches and 50us",
        "instead of 2 and 30us",
        "transport.cc.hop_target",
        "transport.bdp",
    ] {
        assert!(found[0].contains(part), "{part}: {found:?}");
    }
    assert_eq!(about(json!({"profile": "roce", "cc": "line-rate"})), [""; 0]);
    assert_eq!(about(json!({"profile": "roce", "cc": "line-rate", "repair": "irn", "bdp": "1MB"})), [""; 0]);
}
