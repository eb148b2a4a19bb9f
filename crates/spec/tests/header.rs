//! The header that switches write into: it has room for the whole path, and every port on the way writes.

mod common;

use common::{Tables, faults, run};
use serde_json::{Value, json};

/// A ring of nine switches with a host each.
fn ring(events: Value, cc: Value) -> Value {
    let link = |from: String, to: String| json!({"from": from, "to": to, "rate": "10Gbps", "delay": "1us"});
    let hosts = (0..9).map(|i| link(format!("h{i}"), format!("sw{i}")));
    let ring = (0..9).map(|i| link(format!("sw{i}"), format!("sw{}", (i + 1) % 9)));
    json!({
        "duration": "4ms",
        "topology": {"kind": "graph", "hosts": "h0..h8", "switches": "sw0..sw8", "links": hosts.chain(ring).collect::<Vec<_>>()},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "port_control": "hpcc",
        "transport": {"cc": cc, "opening": "established", "min_rto": "200us", "initial_rto": "200us"},
        "traffic": {"x": {"kind": "bulk", "from": ["h0", "h2"], "to": ["h1"]}},
        "event": events,
    })
}

/// HPCC's header has room for seven switches, or for as many as the path had: where tables that follow a failure make the path
/// longer, switches would be left out without a word.
#[test]
fn a_header_without_room_for_the_path_after_a_failure_is_refused() {
    let cut = |cable: &str| json!({"cut": {"at": "200us", "link": cable, "state": "down"}});
    let with = |events: Value, hops: Value| {
        let mut document = ring(events, json!({"kind": "hpcc", "header_hops": hops}));
        document["routing"] = json!({"reconvergence": "100us"});
        document
    };
    assert_eq!(
        faults(&with(cut("sw0<->sw1"), json!("none"))),
        [
            "traffic.x: needs paths of at most 7 switches: the header of cc = \"hpcc\" has no room for more, and h0 to h1 has 9 \
          when the tables follow at 300us, got 9"
        ]
    );
    // One way back is as long as it was: data of `h0` goes as before.
    assert_eq!(faults(&with(cut("sw1->sw0"), json!("none"))), [""; 0]);
    // Tables that follow after the end never change a path.
    let mut late = with(cut("sw0<->sw1"), json!("none"));
    late["event"]["cut"]["at"] = json!("3950us");
    assert_eq!(faults(&late), [""; 0]);
    // From `h5` to `h0` it is 5 switches, and 6 without the cable.
    let mut grows = with(cut("sw0<->sw8"), json!("none"));
    grows["traffic"]["x"] = json!({"kind": "bulk", "from": "h5", "to": "h0"});
    assert_eq!(
        faults(&grows),
        [
            "traffic.x.transport.cc.header_hops: must be 6 or more: events change the path of h5 to h0 from 5 switches to 6, and \
          \"none\" has room for the path at a connection's opening only, got \"none\""
        ]
    );
    grows["transport"]["cc"]["header_hops"] = json!(6);
    assert_eq!(faults(&grows), [""; 0]);
    let rate = Tables::of(&run(&grows)).f64("flows", "goodput_bps")[0];
    assert!(rate > 5e9, "{rate}");
}

/// HPCC's window counts the links that the header tells. Where a port on the way writes nothing, it would fill that port without end.
#[test]
fn a_port_on_the_way_that_writes_nothing_into_the_header_is_refused() {
    let said = |mut document: Value, port: &str| {
        document["port"] = json!({port: {"port_control": "none"}});
        faults(&document)
    };
    let rule = |port: &str, ends: &str| {
        vec![format!(
            "traffic.x: needs port_control = \"hpcc\" at every port of a switch that its data may pass: cc = \"hpcc\" learns nothing about \
             the queue at {port}, between {ends}"
        )]
    };
    let whole = ring(json!({}), json!("hpcc"));
    assert_eq!(said(whole.clone(), "sw0->sw1"), rule("sw0->sw1", "h0 and h1"));
    assert_eq!(said(whole.clone(), "sw1->h1"), rule("sw1->h1", "h0 and h1"));
    // Acknowledgements alone pass these, or nothing does.
    assert_eq!(said(whole.clone(), "sw1->sw0"), [""; 0]);
    assert_eq!(said(whole, "sw5->*"), [""; 0]);
    // Any of several paths may be taken.
    let mut fabric = ring(json!({}), json!("hpcc"));
    fabric["topology"] = json!({"kind": "leaf-spine", "leaves": 2, "spines": 3, "hosts_per_leaf": 1, "rate": "10Gbps", "delay": "1us"});
    fabric["traffic"]["x"] = json!({"kind": "bulk", "from": "h0", "to": "h1"});
    for spine in 0..3 {
        let port = format!("spine{spine}->leaf1");
        assert_eq!(said(fabric.clone(), &port), rule(&port, "h0 and h1"));
    }
    // A path that tables take after a failure passes others.
    let events = json!({"cut": {"at": "200us", "link": "sw0<->sw8", "state": "down"}});
    let mut grows = ring(events, json!({"kind": "hpcc", "header_hops": 6}));
    grows["routing"] = json!({"reconvergence": "100us"});
    grows["traffic"]["x"] = json!({"kind": "bulk", "from": "h5", "to": "h0"});
    assert_eq!(said(grows, "sw1->sw0"), rule("sw1->sw0", "h5 and h0 when the tables follow at 300us"));
}
