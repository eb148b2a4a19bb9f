//! Copa against the closed forms of Arun and Balakrishnan 2018, s.3.

use crate::bench::{FULL, Run, near, pair, watch, with};
use serde_json::{Map, Value, json};

/// Packets that 10 Gb/s sends in a second.
const CAPACITY: f64 = 10e9 / (8 * FULL) as f64;

/// `flows` senders over one port of 10 Gb/s, one after another every 20 ms.
fn copa(cc: Value, flows: u64, changes: Value) -> Run {
    let cc = with(json!({"kind": "copa"}), cc);
    let base = pair(json!({"cc": cc, "ack_every": 1}), json!({}));
    let mut traffic = Map::new();
    for n in 1..flows {
        let start = format!("{}ms", 20 * n);
        let load = json!({"kind": "bulk", "from": format!("s{n}"), "to": "r0", "start": start});
        traffic.insert(format!("x{n}"), load);
    }
    let network = json!({"topology": {"senders": flows, "sender_rate": "100Gbps"}, "traffic": traffic, "queue": {"limit": "none"}});
    watch(with(with(base, network), changes), &["switch->r0"])
}

/// The queue from a time on: its most packets, their mean, and how often it rises from the lower quarter to the upper.
fn queue(run: &Run, from_ms: f64) -> (f64, f64, f64) {
    let [at, packets] = ["time_ps", "packets"].map(|column| run.column("queue_trace", column));
    let rows: Vec<(f64, f64)> = at.into_iter().zip(packets).filter(|row| row.0 >= from_ms * 1e9).collect();
    let span = rows[rows.len() - 1].0 - rows[0].0;
    let most = rows.iter().map(|row| row.1).fold(0.0, f64::max);
    let area: f64 = rows.windows(2).map(|pair| pair[0].1 * (pair[1].0 - pair[0].0)).sum();
    let (mut high, mut rises) = (true, vec![]);
    for (at, packets) in &rows {
        if high && *packets <= most / 4.0 {
            high = false;
        } else if !high && *packets >= most * 0.75 {
            high = true;
            rises.push(*at);
        }
    }
    let period = (rises[rises.len() - 1] - rises[0]) / (rises.len() - 1) as f64;
    (most, area / span, period / 1e12)
}

/// s.3: the queue of one flow moves between nothing and 2.5 / delta packets, so that its mean is 1.25 / delta, and takes
/// five round trips to do so. A path of 333 packets is long beside it. The packet in service counts in the queue: one more at
/// most in the mean. A window lets whole packets go, and half a round trip of samples is as coarse as they: two in the most.
#[test]
fn the_queue_moves_between_nothing_and_two_and_a_half_over_delta() {
    for delta in [0.1, 0.05] {
        let long = json!({"duration": "200ms", "topology": {"delay": "100us"}});
        let run = copa(json!({"delta": delta}), 1, long);
        let (most, mean, period) = queue(&run, 100.0);
        near("most", most, 2.5 / delta, 2.0);
        near("mean", mean, 1.25 / delta, 1.1);
        // Round trips last between those of the empty path and of the full queue. A rise is seen to a packet's time.
        let (empty, full) = (401.3e-6, 401.3e-6 + 2.5 / delta / CAPACITY);
        let least = 5.0 * empty - 1.0 / CAPACITY;
        assert!((least..=5.0 * full).contains(&period), "{period}: {least} to {}", 5.0 * full);
    }
}

/// s.3: n flows with the same delta have 2.5 n / delta between them, and equal shares, whenever they started: the queue
/// empties every five round trips, so that each learns the empty path's round-trip time.
#[test]
fn flows_that_start_one_after_another_share_equally() {
    let run = |ms: u64| copa(json!({}), 4, json!({"duration": format!("{ms}ms")}));
    let (early, late) = (run(80), run(160));
    let [before, after] = [&early, &late].map(|run| run.column("flows", "delivered_bytes"));
    let gains: Vec<f64> = before.iter().zip(&after).map(|(before, after)| after - before).collect();
    let mean = gains.iter().sum::<f64>() / 4.0;
    assert!(gains.iter().all(|gain| (gain / mean - 1.0).abs() < 0.02), "{gains:?}");
    let (most, mean, _) = queue(&late, 80.0);
    near("most", most, 2.5 * 4.0 / 0.5, 2.0);
    near("mean", mean, 1.25 * 4.0 / 0.5, 1.1);
}

/// The bound of that law: beside a path of 333 packets a queue of 5 is so short that each swing ends at a higher velocity than it began
/// with. So the link idles; with delta = 0.1 it does not.
#[test]
fn doubling_the_velocity_sustains_swings_where_the_path_is_long() {
    let used = |delta: f64| {
        let run =
            copa(json!({"delta": delta}), 1, json!({"duration": "200ms", "topology": {"delay": "100us"}}));
        run.flow("delivered_bytes") * 8.0 / 10e9 / 0.2
    };
    let (short, long) = (used(0.5), used(0.1));
    assert!(short < 0.8 && long > 0.9, "{short} {long}");
}

/// s.2.2: beside a flow that fills the buffer default mode starves, and competitive mode does not.
#[test]
fn switching_holds_its_own_beside_newreno() {
    let share = |mode: &str| {
        let changes = json!({"duration": "400ms", "queue": {"limit": "100pkt"}, "traffic": {"x1": {"start": "0s",
            "transport": {"cc": "newreno"}}}});
        let run = copa(json!({"mode": mode}), 2, changes);
        let bytes = run.column("flows", "delivered_bytes");
        bytes[0] / (bytes[0] + bytes[1])
    };
    let (default, switching) = (share("default"), share("switching"));
    assert!(default < 0.1 && (0.3..0.7).contains(&switching), "{default} {switching}");
}
