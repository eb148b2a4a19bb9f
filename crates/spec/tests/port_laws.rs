//! Laws of a port's numbers, under every discipline: the definition of a departure, the order of
//! percentiles and extremes, and bounds that no queue can exceed.

mod common;

use common::{Tables, example, run};
use serde_json::{Value, json};
use shallows_core::queue::Queue;

/// Three loads with packets of three sizes into one port that holds little, cut off while it is busy.
fn crowded(queue: &str) -> Value {
    let load = |from: &str, mss: &str, cc: &str| {
        json!({"kind": "bulk", "from": from, "to": "r0", "flows": 3,
            "transport": {"mss": mss, "cc": cc}})
    };
    json!({
        "duration": "9987us",
        "warmup": "3003us",
        "topology": {"kind": "star", "senders": 3, "rate": "1Gbps", "sender_rate": "10Gbps", "delay": "5us"},
        "queue": {"kind": queue},
        "transport": {"profile": "datacentre", "cc": "newreno"},
        "traffic": {"large": load("s0", "8960B", "cubic"), "middle": load("s1", "1460B", "newreno"),
            "small": load("s2", "100B", "dctcp")},
        "probe": {"at_dequeue": true, "nic_queues": true},
    })
}

/// The law that each row of `queues` has to keep, and of whom a row breaks it.
fn hold(tables: &Tables, queue: &str, what: &str, law: impl Fn(usize) -> bool) {
    for (row, port) in tables.words("queues", "port").iter().enumerate() {
        assert!(law(row), "{queue}: {what} at {port}");
    }
}

#[test]
fn every_discipline_keeps_the_laws_of_ports() {
    for component in Queue::list() {
        let queue = component.name;
        let mut document = crowded(queue);
        document["queue"] = example(&component);
        // Few enough that every law of dropping has its turn.
        if component.params.iter().any(|param| param.name == "limit")
            && !["pfabric", "tc-red"].contains(&queue)
        {
            document["queue"]["limit"] = "60000B".into();
        }
        let simulation = run(&document);
        let tables = Tables::of(&simulation);
        let whole = |column: &str| tables.u64("queues", column).to_vec();
        let real = |column: &str| tables.f64("queues", column).to_vec();
        let over = whole("over_ps")[0];

        let (out, most_bytes) = (whole("packets_out"), whole("max_bytes"));
        let mut left = vec![0; out.len()];
        for (row, port) in tables.words("queue_histogram", "port").into_iter().enumerate() {
            left[tables.port(port)] += tables.u64("queue_histogram", "at_dequeue")[row];
        }
        hold(&tables, queue, "each departure is one, and a drop is none", |i| left[i] == out[i]);
        let (least, mean, most) = (whole("min_packets"), real("mean_packets"), whole("max_packets"));
        let between = |i: usize| least[i] as f64 <= mean[i] && mean[i] <= most[i] as f64;
        hold(&tables, queue, "min <= mean <= max packets", between);
        let mean_bytes = real("mean_bytes");
        hold(&tables, queue, "mean <= max bytes", |i| mean_bytes[i] <= most_bytes[i] as f64);
        let busy = real("utilisation");
        hold(&tables, queue, "0 <= utilisation <= 1", |i| (0.0..=1.0).contains(&busy[i]));
        let bottleneck = tables.port("switch->r0");
        assert!(busy[bottleneck] > 0.3, "{queue}: the port has something to do: {}", busy[bottleneck]);
        let wait = real("mean_wait_ps");
        hold(&tables, queue, "a wait is no longer than the run", |i| {
            wait[i].is_nan() || wait[i] <= over as f64
        });
    }
}

/// A port that never idles is in use for all of the time, to the last bit: not for a packet more.
#[test]
fn a_busy_port_is_used_all_the_time() {
    for queue in ["drop-tail", "codel"] {
        let simulation = run(&json!({
            "duration": "2ms",
            "warmup": "1ms",
            "topology": {"kind": "star", "senders": 2, "rate": "10Mbps", "sender_rate": "1Gbps", "delay": "1us"},
            "queue": {"kind": queue, "limit": "1000pkt"},
            "transport": {"cc": "newreno", "opening": "established", "initial_window": "100pkt"},
            "traffic": {"t": {"kind": "bulk", "from": "s*", "to": "r0"}},
        }));
        let tables = Tables::of(&simulation);
        let port = tables.port("switch->r0");
        // 1500 bytes take 1.2 ms: whole packets would count as 0 or 1.2 of the measured millisecond.
        let used = tables.f64("queues", "utilisation")[port];
        assert!((used - 1.0).abs() < 1e-9, "{queue}: {used}");
    }
}

/// A queue without limit before a slow link: packets wait longer than the run lasts, and only those count whose
/// wait ended.
#[test]
fn a_wait_ends_before_it_counts() {
    let simulation = run(&json!({
        "duration": "10ms",
        "topology": {"kind": "star", "senders": 1, "rate": "1Mbps", "sender_rate": "10Gbps", "delay": "1us"},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "transport": {"cc": "newreno", "opening": "established", "initial_window": "1000pkt"},
        "traffic": {"t": {"kind": "bulk", "from": "s0", "to": "r0"}},
    }));
    let tables = Tables::of(&simulation);
    let port = tables.port("switch->r0");
    // The first packet begins at once; the second after 12 ms.
    assert_eq!(tables.f64("queues", "mean_wait_ps")[port], 0.0);
}
