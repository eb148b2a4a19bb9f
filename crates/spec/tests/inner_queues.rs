//! Records of the queues inside a discipline: every packet in its queue once, and the books of the
//! parts add up to the port's.

mod common;

use common::{Tables, run};
use serde_json::{Value, json};

/// An ECN-capable and a plain flow through one port, and a hurried burst that overflows it.
fn document(queue: &str, warmup: &str) -> Value {
    json!({
        "duration": "400ms", "warmup": warmup,
        "topology": {"kind": "star", "senders": 3, "rate": "40Mbps", "delay": "1ms"},
        "port": {"s*->switch": {"rate": "1Gbps"}},
        "queue": {"kind": queue},
        "transport": {"profile": "rfc", "cc": "dctcp"},
        "traffic": {
            "scalable": {"kind": "bulk", "from": "s0", "to": "r0"},
            "classic": {"kind": "bulk", "from": "s1", "to": "r0", "transport": {"cc": "newreno", "ecn": "off"}},
            "short": {"kind": "bulk", "from": "s2", "to": "r0", "bytes": "60KB", "start": "200ms"},
        },
    })
}

const QUEUES: [&str; 4] = ["dualpi2", "dualq-curvy-red", "priority", "fq-codel"];

/// Sums of a column by port, over the rows that `keep` chooses.
fn by_port(tables: &Tables, table: &str, column: &str, keep: impl Fn(usize) -> bool) -> Vec<u64> {
    let mut sums = vec![0; tables.rows("queues")];
    for (row, port) in tables.words(table, "port").into_iter().enumerate().filter(|(row, _)| keep(*row)) {
        sums[tables.port(port)] += tables.u64(table, column)[row];
    }
    sums
}

#[test]
fn parts_add_up_to_the_port() {
    for queue in QUEUES {
        for warmup in ["0s", "150ms"] {
            let mut document = document(queue, warmup);
            document["queue"] = match queue {
                "priority" => json!({"kind": queue, "high_limit": "20pkt", "low_limit": "20pkt"}),
                _ => json!({"kind": queue, "limit": "30pkt"}),
            };
            let tables = Tables::of(&run(&document));
            let at_switch = |port: usize| tables.u32("queues", "is_switch")[port] == 1;
            let whole = |column: &str| tables.u64("queues", column).to_vec();
            for column in ["packets_in", "bytes_in", "drops", "marks"] {
                let parts = by_port(&tables, "inner_queues", column, |_| true);
                for (port, (part, whole)) in parts.iter().zip(whole(column)).enumerate() {
                    // When the warm-up ends, a packet being transmitted is the port's, and in no inner queue.
                    let serving = column.ends_with("_in") && warmup != "0s" && whole > *part;
                    let slack = if serving { if column == "packets_in" { 1 } else { 1500 } } else { 0 };
                    let agree = whole - part <= slack;
                    assert!(agree || !at_switch(port), "{queue} {column} {port}: {part} of {whole}");
                }
            }
            let column = |name| tables.u64("inner_queues", name);
            for row in 0..tables.rows("inner_queues") {
                let out = column("packets_out")[row] + column("packets_held")[row];
                assert_eq!(
                    column("packets_in")[row],
                    out + tables.dropped_at_port("inner_queues", row),
                    "{queue} row {row}"
                );
            }
            let left = by_port(&tables, "inner_histogram", "at_dequeue", |_| true);
            assert_eq!(left, by_port(&tables, "inner_queues", "packets_out", |_| true), "{queue}");
        }
    }
}

#[test]
fn each_sender_is_in_its_queue() {
    for (queue, low, classic) in
        [("dualpi2", "L", "C"), ("dualq-curvy-red", "L", "C"), ("priority", "high", "low")]
    {
        let mut document = document(queue, "100ms");
        document["queue"]["classify"] = "any_ect".into();
        let tables = Tables::of(&run(&document));
        let rows = |class: &str, name: &str| {
            let words = |column| tables.words("inner_queues", column);
            let is = |row: &usize| {
                let at =
                    [words("class")[*row], words("queue")[*row], words("what")[*row], words("port")[*row]];
                at == [class, name, "data", "switch->r0"]
            };
            (0..tables.rows("inner_queues")).filter(is).collect::<Vec<_>>()
        };
        let column = |name| tables.u64("inner_queues", name);
        // RFC 3168 s.6.1.5: a retransmission is not ECN-capable.
        let strays: u64 = rows("scalable", classic).iter().map(|row| column("packets_in")[*row]).sum();
        assert!(strays <= tables.u64("flows", "retransmissions").iter().sum(), "{queue}");
        assert!(rows("classic", low).is_empty(), "{queue}");
        let (scalable, plain) = (rows("scalable", low)[0], rows("classic", classic)[0]);
        assert!(column("packets_out")[scalable] > 0 && column("packets_out")[plain] > 0, "{queue}");
        assert_eq!(column("marks")[plain], 0, "{queue}: a packet that is not ECN-capable is marked");
        if queue != "priority" {
            assert!(column("marks")[scalable] > 0, "{queue} marks its low-latency queue");
            let wait = tables.f64("inner_queues", "p99_wait_ps");
            assert!(wait[scalable] < wait[plain], "{queue}: {} {}", wait[scalable], wait[plain]);
        }
    }
}

/// Marking turns an ECT(0) packet into one that `ect1` would call low-latency; it stays where it stood.
#[test]
fn a_mark_does_not_move_a_packet() {
    let tables = Tables::of(&run(&document("dualpi2", "0s")));
    let marks: u64 = tables.u64("inner_queues", "marks").iter().sum();
    assert!(marks > 0);
    assert!(tables.words("inner_queues", "queue").iter().all(|queue| *queue == "C"));
}

#[test]
fn one_queue_has_no_parts() {
    let tables = Tables::of(&run(&document("codel", "0s")));
    assert_eq!((tables.rows("inner_queues"), tables.rows("inner_histogram")), (0, 0));
}

#[test]
fn the_manifest_names_the_coupling() {
    let coupling = |queue: &str| run(&document(queue, "0s")).manifest_counts()["coupling"].clone();
    let found = ["dualq-curvy-red", "dualpi2", "pi2", "coupled", "red"].map(coupling);
    assert_eq!(found, [json!([8.0]), json!([2.0]), json!([2.0]), json!([1.63]), json!([])]);
}
