//! Ports that wait for each other in a cycle: found, named, ended; and never in a Clos.

use crate::common::{Tables, load, run};
use crate::sum;
use serde_json::{Value, json};
use shallows_core::{Control, RunError};

/// A ring of five switches with a host each, which sends to the host two switches on.
fn ring(pfc: Value) -> Value {
    let link = |from: String, to: String| json!({"from": from, "to": to, "rate": "10Gbps", "delay": "1us"});
    let hosts = (0..5).map(|i| link(format!("h{i}"), format!("sw{i}")));
    let ring = (0..5).map(|i| link(format!("sw{i}"), format!("sw{}", (i + 1) % 5)));
    let flow = |i: u64| json!({"from": format!("h{i}"), "to": format!("h{}", (i + 2) % 5), "bytes": "1GB", "start": "0s"});
    json!({
        "duration": "10ms",
        "topology": {"kind": "graph", "hosts": "h0..h4", "switches": "sw0..sw4", "links": hosts.chain(ring).collect::<Vec<_>>()},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "switch": {"*": {"buffer": "300KB"}},
        "priority": {"3": {"pfc": true}, "6": {}},
        "pfc": pfc,
        "transport": {"cc": "newreno", "ecn": "off", "priority": 3, "ack_priority": 6, "initial_window": "1000pkt"},
        "traffic": {"around": {"kind": "table", "flows": (0..5).map(flow).collect::<Vec<_>>()}},
    })
}

fn goodput(document: &Value) -> (f64, Tables) {
    let tables = Tables::of(&run(document));
    (tables.f64("flows", "goodput_bps").iter().sum(), tables)
}

#[test]
fn a_ring_stands_still() {
    let mut simulation = load(&ring(json!({})));
    let Err(RunError::Deadlock(found)) = simulation.run(&Control::new()) else { panic!("the ring works") };
    assert_eq!(found.priority, 3);
    let mut cycle = found.cycle.clone();
    cycle.sort();
    assert_eq!(cycle, ["sw0->sw1", "sw1->sw2", "sw2->sw3", "sw3->sw4", "sw4->sw0"]);
    assert!(
        found.to_string().contains("each of these ports waits for the next: sw0->sw1, sw1->sw2"),
        "{found}"
    );
    // It lasts: what was found at the first look holds to the end.
    let mut late = ring(json!({"deadlock": "go-on"}));
    late["warmup"] = json!("1ms");
    let whole = run(&late);
    assert_eq!(Tables::of(&whole).f64("flows", "goodput_bps"), [0.0; 5]);
    assert!(
        whole.notes().iter().any(|note| note.contains("a deadlock in priority 3 since")),
        "{:?}",
        whole.notes()
    );
    assert!(whole.books().balance());
}

/// A link of the cycle fails: that ends the deadlock, so the run goes on and a note has its time. A failure elsewhere does not, so
/// the run ends after it.
#[test]
fn a_failure_ends_a_deadlock() {
    let cut = |link: &str, mode: &str| {
        let mut document = ring(json!({"deadlock": mode}));
        document["transport"]["min_rto"] = json!("1ms");
        document["transport"]["initial_rto"] = json!("1ms");
        document["warmup"] = json!("6500us");
        document["event"] = json!({"cut": {"at": "5ms", "link": link, "state": "down"}});
        document
    };
    let mut notes = vec![];
    for mode in ["stop", "go-on"] {
        for threads in [1, 2] {
            let mut simulation = load(&cut("sw0<->sw1", mode));
            simulation.set_threads(threads);
            simulation.run(&Control::new()).unwrap_or_else(|error| panic!("{mode}: {error}"));
            let rate: f64 = Tables::of(&simulation).f64("flows", "goodput_bps").iter().sum();
            assert!(rate > 15e9, "{mode}: {rate}");
            assert!(simulation.books().balance());
            notes.extend(simulation.notes().into_iter().filter(|note| note.starts_with("a deadlock")));
        }
    }
    assert!(notes[0].starts_with("a deadlock in priority 3 from "), "{notes:?}");
    assert!(
        notes[0].contains(" until 5ms, when a link failed: each of these ports waited for the next: sw"),
        "{notes:?}"
    );
    assert!(notes.len() == 4 && notes.iter().all(|note| *note == notes[0]), "{notes:?}");
    // The card of `h0` waits too, but not in the cycle.
    let mut elsewhere = load(&cut("h0<->sw0", "stop"));
    let Err(RunError::Deadlock(found)) = elsewhere.run(&Control::new()) else { panic!("the ring works") };
    assert_eq!(found.cycle.len(), 5);
    let lasts = run(&cut("h0<->sw0", "go-on")).notes();
    assert!(lasts[0].contains("each of these ports waits for the next"), "{lasts:?}");
}

/// The watchdog ends it, at the price of packets.
#[test]
fn a_watchdog_ends_a_deadlock() {
    let mut document = ring(json!({"deadlock": "watchdog", "watchdog": "1ms", "action": "flush"}));
    document["duration"] = json!("30ms");
    document["transport"]["min_rto"] = json!("1ms");
    let (rate, tables) = goodput(&document);
    assert!(rate > 1e9, "{rate}");
    assert!(sum(&tables, "queues", "drops_evicted") > 0);
    // Without flow control on the same ring no one waits.
    let mut lossy = document.clone();
    lossy["priority"] = json!({"3": {}, "6": {}});
    lossy.as_object_mut().expect("a table").remove("pfc");
    let alone = goodput(&lossy).0;
    assert!(alone > 2.0 * rate, "{alone} {rate}");
}

/// Up and down a Clos no ports wait in a cycle, however small the buffers: all flows of all-to-all traffic go on.
#[test]
fn a_clos_never_stands_still() {
    let hosts: Vec<String> = (0..16).map(|i| format!("h{i}")).collect();
    let flow = |(i, j): (usize, usize)| json!({"from": hosts[i], "to": hosts[(i + j) % 16], "bytes": "200KB", "start": "0s"});
    let pairs = (0..16).flat_map(|i| [1, 4, 5, 8, 11].map(|j| (i, j)));
    let simulation = run(&json!({
        "duration": "20ms",
        "topology": {"kind": "fat-tree", "k": 4, "rate": "10Gbps", "delay": "1us"},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "switch": {"*": {"buffer": "250KB"}},
        "priority": {"3": {"pfc": true}, "6": {}},
        "transport": {"cc": "newreno", "ecn": "off", "priority": 3, "ack_priority": 6, "initial_window": "100pkt"},
        "traffic": {"all": {"kind": "table", "flows": pairs.map(flow).collect::<Vec<_>>()}},
    }));
    let tables = Tables::of(&simulation);
    assert!(tables.u64("flows", "end_ps").iter().all(|end| *end != u64::MAX), "all messages arrive");
    assert_eq!(simulation.books().dropped, 0);
    assert!(sum(&tables, "pauses", "paused") > 100, "pauses spread");
}
