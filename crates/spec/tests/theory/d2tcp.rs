//! D2TCP against DCTCP: Vamanan et al., SIGCOMM 2012, s.3.1.

use crate::bench::{run, with};
use serde_json::{Value, json};

/// Eight senders of messages through one port; `cc` and `deadline` as given.
fn document(cc: &str, deadline: &Value) -> Value {
    json!({"duration": "30ms", "seed": 3,
        "topology": {"kind": "star", "senders": 8, "rate": "10Gbps", "delay": "25us"},
        "queue": {"kind": "threshold", "limit": "250pkt", "mark_at": "20pkt"},
        "transport": {"profile": "datacentre", "cc": cc},
        "traffic": {
            "long": {"kind": "bulk", "from": "s0..s3", "to": "r0"},
            "short": {"kind": "messages", "from": "s4..s7", "to": "r0", "bytes": "300KB", "interval": "2ms",
                "phase": "random", "deadline": deadline}}})
}

/// Without deadlines d = 1 and p = alpha: every number of every table is DCTCP's.
#[test]
fn without_deadlines_d2tcp_is_dctcp() {
    let [mine, dctcp] = ["d2tcp", "dctcp"].map(|cc| run(document(cc, &json!("none"))).simulation.tables());
    assert_eq!(mine.len(), dctcp.len());
    for (mine, dctcp) in mine.iter().zip(&dctcp) {
        for (a, b) in mine.columns.iter().zip(&dctcp.columns) {
            // NaN stands for null, so compare as shown.
            let same = format!("{:?}", a.data) == format!("{:?}", b.data);
            assert!(same || a.name == "cc", "{}.{}", mine.name, a.name);
        }
    }
}

/// Near deadlines give way less than far ones: more of them are met than DCTCP meets.
#[test]
fn more_messages_meet_a_tight_deadline() {
    let met = |cc: &str| {
        let tight = json!({"kind": "fixed", "span": "1500us"});
        let done = run(with(document(cc, &tight), json!({"duration": "200ms"})));
        let met: Vec<f64> = done.column("messages", "met").into_iter().filter(|met| !met.is_nan()).collect();
        met.iter().sum::<f64>() / met.len() as f64
    };
    let (d2tcp, dctcp) = (met("d2tcp"), met("dctcp"));
    assert!(d2tcp > dctcp, "{d2tcp} against {dctcp}");
}
