//! The instant at which statistics begin, packet by packet: what they include, and what they leave out.

mod common;

use common::{Tables, run};
use serde_json::{Value, json};

const WARMUP: u64 = 333_000_000;

fn document(traffic: Value) -> Value {
    json!({
        "duration": "1ms",
        "warmup": "333us",
        "topology": {"kind": "star", "senders": 2, "rate": "1Gbps", "delay": "50us"},
        "queue": "drop-tail",
        "transport": {"cc": "newreno", "opening": "established"},
        "traffic": {"t": traffic},
        "probe": {"packets": "*->*", "flow_trace": "10us"},
    })
}

/// A connection whose last byte came before the warm-up's end, and whose last acknowledgement was on the wire then,
/// still stands. It has no row in `flows`, and so none in the trace from then on.
#[test]
fn a_flow_that_was_complete_before_the_warmup_is_not_traced_after_it() {
    let messages = json!({"kind": "messages", "from": "s*", "to": "r0", "bytes": "1000B", "interval": "20us", "connection": "fresh"});
    let tables = Tables::of(&run(&document(messages)));
    let kept = tables.u32("flows", "id");
    // By connection: when data last came to the receiver, and when the sender last got an acknowledgement.
    let (mut data, mut answers) = (std::collections::BTreeMap::new(), std::collections::BTreeMap::new());
    let ports = tables.words("packets", "port");
    for (row, flow) in tables.u32("packets", "flow").iter().enumerate() {
        let at = tables.u64("packets", "landed_ps")[row];
        let back = tables.u32("packets", "reverse")[row] == 1;
        if back && ports[row].starts_with("switch") {
            answers.insert(*flow, at);
        } else if !back && ports[row].ends_with("->r0") && tables.u32("packets", "payload")[row] > 0 {
            data.insert(*flow, at);
        }
    }
    let across: Vec<u32> = data
        .iter()
        .filter(|(flow, at)| **at < WARMUP && answers[flow] > WARMUP)
        .map(|(flow, _)| *flow)
        .collect();
    assert!(across.len() >= 5, "acknowledgements on the wire at the warm-up's end: {across:?}");
    assert!(across.iter().all(|flow| !kept.contains(flow)));
    let traced = tables.u64("flow_trace", "time_ps").iter().zip(tables.u32("flow_trace", "flow"));
    let late: Vec<u32> = traced.filter(|(at, _)| **at >= WARMUP).map(|(_, flow)| *flow).collect();
    assert!(late.len() > 50 && late.iter().all(|flow| kept.contains(flow)));
}

/// `drops_wire` counts the packets of `packets_out` that the wire loses. The warm-up ends while packets are on the wire:
/// they are not in `packets_out`, so their losses are not counted either.
#[test]
fn losses_of_packets_that_left_before_the_warmup_are_not_counted() {
    for queue in ["drop-tail", "codel"] {
        let mut document = document(json!({"kind": "bulk", "from": "s*", "to": "r0"}));
        document["queue"] = queue.into();
        document["transport"]["cc"] = json!({"kind": "cbr", "rate": "400Mbps"});
        document["port"] = json!({"switch->r0": {"loss": 1.0}});
        let tables = Tables::of(&run(&document));
        let place = tables.port("switch->r0");
        let mut lost = [0, 0];
        let ports = tables.words("packets", "port");
        let rows = tables.u64("packets", "time_ps").iter().zip(tables.u64("packets", "landed_ps")).zip(ports);
        // Those that are still on the wire at the end have not landed.
        let landed = |at: u64| (WARMUP..u64::MAX).contains(&at);
        for ((left, landed), _) in rows.filter(|((_, at), port)| *port == "switch->r0" && landed(**at)) {
            assert!(*landed == *left + 50_000_000);
            lost[usize::from(*left > WARMUP)] += 1;
        }
        assert!(lost[0] >= 2, "packets on the wire at the warm-up's end: {lost:?}");
        assert_eq!(tables.u64("queues", "drops_wire")[place], lost[1], "{queue}");
        assert!(lost[1] <= tables.u64("queues", "packets_out")[place]);
    }
}
