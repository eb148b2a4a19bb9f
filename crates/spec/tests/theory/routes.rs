//! Static routes at work: packets follow what is written, and what is computed where it fails.

use crate::bench::{run, with};
use serde_json::{Value, json};

/// Two leaves, three spines, and messages from each host of one leaf to one of the other.
fn fabric(ecmp: &str, routes: Value) -> Value {
    json!({"duration": "20ms", "ecmp": ecmp,
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 3, "hosts_per_leaf": 2},
        "routing": {"routes": routes},
        "queue": {"kind": "threshold", "limit": "10000pkt", "mark_at": "65pkt"},
        "transport": {"profile": "datacentre", "cc": "dctcp", "dup_acks": 10_000},
        "traffic": {"t": {"kind": "bulk", "from": "h0..h1", "to": "h2..h3", "pattern": "pairs", "bytes": "1MB"}}})
}

const UPLINKS: [&str; 3] = ["leaf0->spine0", "leaf0->spine1", "leaf0->spine2"];

/// Packets to h2 go by spine1 alone, those to h3 by all in turn. Acknowledgements have no route.
#[test]
fn packets_of_a_route_go_where_it_says() {
    let one = run(with(
        fabric("round-robin", json!([{"at": "leaf0", "to": "h2", "via": "spine1"}])),
        json!({"traffic": {"t": {"from": "h0", "to": "h2"}}}),
    ));
    let sent = UPLINKS.map(|port| one.port(port, "packets_out"));
    assert_eq!((sent[0], sent[2]), (0.0, 0.0));
    let back =
        ["spine0", "spine1", "spine2"].map(|spine| one.port(&format!("leaf1->{spine}"), "packets_out"));
    assert!(back.iter().all(|packets| (packets - back[0]).abs() <= 1.0 && *packets > 0.0), "{back:?}");
    let both = run(fabric("round-robin", json!([{"at": "leaf0", "to": "h2", "via": "spine1"}])));
    let all = UPLINKS.map(|port| both.port(port, "packets_out"));
    assert!((all[0] - all[2]).abs() <= 1.0, "{all:?}");
    assert!((all[1] - sent[1] - all[0]).abs() <= 1.0, "{all:?}, and {sent:?} for h2 alone");
    assert!(both.column("messages", "fct_ps").iter().all(|fct| !fct.is_nan()));
}

/// A detour of two more links takes their time: SYN and data by five switches, SYN-ACK by three. The ideal knows it.
#[test]
fn the_ideal_is_that_of_the_route() {
    let link = |from: &str, to: &str| json!({"from": from, "to": to, "delay": "5us"});
    let links = json!([
        link("a", "sw0"),
        link("sw0", "sw1"),
        link("sw1", "sw2"),
        link("sw0", "sw2"),
        link("sw2", "b")
    ]);
    let document = json!({"duration": "1ms",
        "topology": {"kind": "graph", "hosts": ["a", "b"], "switches": "sw0..sw2", "links": links},
        "routing": {"routes": [{"at": "sw0", "to": "b", "via": "sw1"}]},
        "queue": "drop-tail", "transport": {"profile": "datacentre", "cc": "dctcp"},
        "traffic": {"t": {"kind": "bulk", "from": "a", "to": "b", "bytes": "1KB"}}});
    let done = run(document);
    let expected = 4.0 * 5_032_000.0 + 3.0 * 5_032_000.0 + 4.0 * 5_832_000.0;
    assert_eq!(done.column("messages", "fct_ps"), [expected]);
    assert_eq!(done.column("messages", "ideal_ps"), [expected]);
}

/// The link of a route fails and is repaired. The route holds before, the computed ways in between, the route after; packets that
/// come between the failure and the tables are lost.
#[test]
fn computed_ways_stand_in_for_a_route_that_failed() {
    let route = json!([{"at": "leaf0", "to": "h2", "via": "spine1"}]);
    let events = |reconvergence: &str| {
        json!({
            "routing": {"reconvergence": reconvergence},
            "event": {
                "fail": {"at": "2ms", "link": "leaf0<->spine1", "state": "down"},
                "mend": {"at": "8ms", "link": "leaf0<->spine1", "state": "up"},
            },
            "traffic": {"t": {"from": "h0", "to": "h2", "bytes": "12MB"}},
        })
    };
    let done = run(with(fabric("flow", route.clone()), events("200us")));
    let sent = UPLINKS.map(|port| done.port(port, "bytes_out"));
    let others = sent[0] + sent[2];
    // The tables leave the route out from 2.2 ms until 8.2 ms: 7.5 MB at 10 Gb/s, less the time until the window is open again.
    assert!(others > 3e6 && others <= 7.5e6, "{sent:?}");
    assert!(sent[1] > 4e6, "{sent:?}");
    assert!(done.column("flows", "drops")[0] > 0.0);
    assert!(!done.column("messages", "fct_ps")[0].is_nan());
}

/// A circle that a table of the run would have is refused before it, by its route.
#[test]
fn routes_that_lead_nowhere_are_refused() {
    let faults = |routes: Value| {
        let document = fabric("flow", routes).to_string();
        let Err(faults) = shallows_spec::load(&document) else { panic!("it runs: {document}") };
        faults.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        faults(json!([{"at": "spine0", "to": "h2", "via": "leaf0"}])),
        ["routing.routes: must not lead in a circle: packets to \"h2\" would go spine0 -> leaf0 -> spine0"]
    );
    assert_eq!(
        faults(json!([{"at": "leaf0", "to": "h2", "via": "spine4"}, {"at": "leaf0", "to": "h2"}])).len(),
        2
    );
    assert_eq!(
        faults(json!([{"at": "leaf0", "to": "h2", "via": "leaf1"}])),
        ["routing.routes.0.via: leads nowhere: no link goes there from \"leaf0\", got \"leaf1\""]
    );
}
