//! Several queue pairs between two hosts: parts of a message, turns of messages, the paths that hashes find, and the end of a message.
//!
//! Closed forms: a port sends what its queue pairs hold without a gap; a message over N queue pairs finds S(1 - (1 - 1/S)^N) of S paths in
//! the mean, since each hash is uniform.

use crate::bench::{Run, US, run, with};
use crate::roce::{FULL, message};
use serde_json::{Value, json};

/// A full packet of 100 Gb/s takes 80 ps a byte.
const BYTE: u64 = 80;

/// One sender's messages to one receiver, each of `packets` packets of 1000 bytes, through a star at 100 Gb/s.
fn star(packets: u64, transport: Value, changes: Value) -> Value {
    let network = json!({"topology": {"rate": "100Gbps", "delay": "1us"}});
    message(packets, transport, with(network, changes))
}

/// `pairs` of hosts, each with a leaf of its own and `spines` ways between the two, of a `spines`th of the hosts' rate each.
fn fabric(pairs: u64, spines: u64, transport: Value, bytes: Value, seed: u64) -> Value {
    let leaves = 2 * pairs;
    json!({
        "duration": "100ms",
        "seed": seed,
        "topology": {
            "kind": "leaf-spine", "leaves": leaves, "spines": spines, "hosts_per_leaf": 1, "rate": "100Gbps", "delay": "1us",
            "uplink_delay": "1us", "uplink_rate": format!("{}Gbps", 100 / spines),
        },
        "queue": {"kind": "drop-tail", "limit": "none"},
        "transport": with(json!({"profile": "roce", "cc": "line-rate", "mtu": "1000B", "verb": "send"}), transport),
        "traffic": {"x": {
            "kind": "bulk", "from": format!("h0..h{}", pairs - 1), "to": format!("h{pairs}..h{}", leaves - 1),
            "pattern": "pairs", "bytes": bytes,
        }},
    })
}

/// The order of two pairs by their first numbers.
fn f64_pairs(one: &(f64, f64), other: &(f64, f64)) -> std::cmp::Ordering {
    one.0.total_cmp(&other.0)
}

/// Bytes that each of the first `leaves` leaves sent to each spine.
fn uplinks(run: &Run, leaves: u64) -> Vec<Vec<f64>> {
    let (names, bytes) = (run.words("queues", "port"), run.column("queues", "bytes_out"));
    let of_leaf = |leaf: u64| {
        let start = format!("leaf{leaf}->spine");
        let own = names.iter().zip(&bytes).filter(|(name, _)| name.starts_with(&start));
        own.map(|(_, bytes)| *bytes).collect()
    };
    (0..leaves).map(of_leaf).collect()
}

/// Alone, a message takes as long as over one queue pair: each has a packet in the host's port, and the link never idles. It is one row
/// among the messages, with all its bytes and the ideal of one; the queue pairs are the flows.
#[test]
fn parts_take_the_time_of_the_whole() {
    for (qps, packets) in [(1, 50), (2, 50), (4, 50), (8, 50), (4, 3), (4, 4), (256, 50)] {
        let done = run(star(packets, json!({"qps": qps}), json!({})));
        let time = BYTE * FULL * (packets + 1) + 2 * US;
        let ended = done.column("messages", "fct_ps");
        assert_eq!(ended, [time as f64], "{qps} {packets}");
        assert_eq!(done.column("messages", "ideal_ps"), [time as f64]);
        assert_eq!(done.column("messages", "bytes"), [(packets * 1000) as f64]);
        let own = done.column("flows", "bytes");
        assert_eq!(own.len() as u64, qps.min(packets), "{qps} {packets}");
        assert_eq!(own.iter().sum::<f64>() as u64, packets * 1000);
        let most = own.iter().fold(0.0, |most: f64, bytes| most.max(*bytes));
        assert!(own.iter().all(|bytes| most - bytes <= 1000.0), "{own:?}");
        // The last acknowledgement of all parts, of 66 bytes, comes back over two links.
        let acked = done.column("messages", "acked_ps");
        assert_eq!(acked, [(time + 2 * US + 2 * BYTE * 66) as f64], "{qps} {packets}");
    }
}

/// Messages in turn: two of three queue pairs' messages go whole over one of them each.
#[test]
fn in_turns_messages_stay_whole() {
    let kept = json!({"traffic": {"x": {
        "kind": "messages", "from": "s0", "to": "r0", "bytes": "5000B", "interval": "10us", "count": 7, "connection": "persistent",
    }}});
    let done = run(star(1, json!({"qps": 3, "qp_share": "turns"}), kept.clone()));
    assert_eq!(done.column("flows", "bytes"), [15_000.0, 10_000.0, 10_000.0]);
    let one = run(star(1, json!({}), kept.clone()));
    assert_eq!(done.column("messages", "fct_ps"), one.column("messages", "fct_ps"));
    assert_eq!(done.column("messages", "acked_ps"), one.column("messages", "acked_ps"));
    // In parts each message fills all three, and lasts as long.
    let parts = run(star(1, json!({"qps": 3}), kept));
    assert_eq!(parts.column("messages", "fct_ps"), one.column("messages", "fct_ps"));
    assert_eq!(parts.column("flows", "bytes").iter().sum::<f64>(), 35_000.0);
}

/// One queue pair finds one of four paths, N find 4(1 - (3/4)^N): 160 samples each, five standard deviations of at most 0.75.
#[test]
fn more_queue_pairs_find_more_paths() {
    let (pairs, spines, seeds) = (20, 4, 8);
    for qps in [1, 2, 4, 8] {
        let mut found = 0;
        for seed in 1..=seeds {
            let done = run(fabric(pairs, spines, json!({"qps": qps}), json!("40KB"), seed));
            let used = uplinks(&done, pairs);
            found += used.iter().flatten().filter(|bytes| **bytes > 0.0).count();
        }
        let samples = (pairs * seeds) as f64;
        let (mean, expected) = (found as f64 / samples, 4.0 * (1.0 - libm::pow(0.75, f64::from(qps))));
        assert!((mean - expected).abs() < 5.0 * 0.75 / samples.sqrt(), "{qps}: {mean} for {expected}");
    }
}

/// A message ends with the fullest of its paths: that never idles, and each packet then has the rest of the way to go.
#[test]
fn a_message_ends_with_its_fullest_path() {
    let pairs = 20;
    for qps in [1, 2, 4, 16] {
        let done = run(fabric(pairs, 4, json!({"qps": qps}), json!("1MB"), 3));
        // Rows come in the order of their ends, flows in that of the pairs.
        let mut fct: Vec<(f64, f64)> =
            done.column("messages", "flow").into_iter().zip(done.column("messages", "fct_ps")).collect();
        fct.sort_by(f64_pairs);
        for ((_, took), paths) in fct.iter().zip(uplinks(&done, pairs)) {
            let fullest = paths.iter().fold(0.0, |most: f64, bytes| most.max(*bytes));
            let slow = (4 * BYTE) as f64;
            // The first packet comes over the host's link, the last goes over two more: 4 us of delays, and the other links' times.
            let rest = 4.0 * US as f64 + (2 * BYTE * FULL) as f64 + slow * FULL as f64;
            let least = fullest * slow + rest;
            // The fullest path's first packet comes after one of each other queue pair at the latest.
            let most = least + (qps as u64 * BYTE * FULL) as f64;
            assert!(*took >= least - 1.0 && *took <= most, "{qps}: {took} for {least} to {most}");
        }
        let slowdown = done.column("messages", "slowdown");
        assert!(slowdown.iter().all(|slowdown| *slowdown >= 1.0), "{slowdown:?}");
    }
}

/// Without end each queue pair sends for ever, and together they fill the link.
#[test]
fn queue_pairs_without_end_share_the_link() {
    let forever = json!({"duration": "1ms", "traffic": {"x": {"bytes": "none"}}});
    let done = run(star(1, json!({"qps": 4}), forever));
    let delivered = done.column("flows", "delivered_bytes");
    assert_eq!(delivered.len(), 4);
    let (least, most) = delivered.iter().fold((f64::MAX, 0.0f64), |(l, m), b| (l.min(*b), m.max(*b)));
    assert!(most - least <= 1000.0, "{delivered:?}");
    let whole = 1e9 / (BYTE * FULL) as f64 * 1000.0;
    assert!(delivered.iter().sum::<f64>() > 0.995 * whole);
}

/// A wire that loses everything ends all queue pairs, and the message has one row without an end.
#[test]
fn a_message_that_fails_has_one_row() {
    let changes = json!({"duration": "20ms", "port": {"s0->switch": {"loss": 1.0}}});
    for qps in [1, 4] {
        let done = run(star(50, json!({"qps": qps, "timeout": "100us"}), changes.clone()));
        let ended = done.column("messages", "fct_ps");
        assert!(ended.len() == 1 && ended[0].is_nan(), "{qps}: {ended:?}");
        assert_eq!(done.column("messages", "bytes"), [50_000.0]);
        assert_eq!(done.column("flows", "bytes").len(), qps);
    }
}

/// Repairs, READ and controls run over several queue pairs, and books balance.
#[test]
fn repairs_and_controls_run_over_several() {
    for (transport, loss) in [
        (json!({"repair": "irn"}), 0.02),
        (json!({"repair": "go-back-0"}), 0.005),
        (json!({"timeout": "200us"}), 0.02),
        (json!({"verb": "read", "timeout": "200us"}), 0.02),
        (json!({"cc": "dcqcn", "verb": "write"}), 0.0),
        (json!({"cc": "timely"}), 0.0),
    ] {
        let changes = json!({"port": {"s0->switch": {"loss": loss}}});
        let done = run(star(200, with(transport.clone(), json!({"qps": 4})), changes));
        let ended = done.column("messages", "fct_ps");
        assert!(ended.len() == 1 && ended[0] > 0.0, "{transport}: {ended:?}");
    }
}
