//! pFabric, transport and queue together (Alizadeh 2013, s.4).

use crate::bench::{FULL, LINE, MSS, pair, run, with};
use serde_json::{Value, json};

fn pfabric(changes: Value) -> Value {
    let whole = json!({"queue": {"kind": "pfabric", "limit": "1000pkt"}});
    with(with(pair(json!({"profile": "pfabric", "cc": "pfabric"}), json!({})), whole), changes)
}

/// A lone segment is lost: a timeout of three round trips of the empty path finds that, to the picosecond. Lost twice, it takes twice as
/// long, since the timeout does not back off. The empty round trip is that of a full packet and the delay back.
#[test]
fn a_timeout_is_three_round_trips_of_the_empty_path() {
    let base = LINE.one_way(FULL) + 2 * LINE.delay;
    for lost in [vec![1], vec![1, 2]] {
        let done = run(pfabric(json!({
            "traffic": {"x": {"kind": "messages", "bytes": format!("{MSS}B"), "interval": "1s", "start": "1ms"}},
            "port": {"s0->switch": {"drop_packets": lost}},
        })));
        assert_eq!(done.fct(), [3 * base * lost.len() as u64 + LINE.one_way(FULL)]);
    }
}

/// Three flows meet at a port. The shortest goes first, so that each ends when all that are no longer than it have been sent: the
/// completion times of shortest job first. A packet in transmission is not interrupted, and each flow before may so
/// lose a packet's time.
#[test]
fn flows_end_as_by_shortest_job_first() {
    let sizes = [20u64, 40, 80];
    let load = |(n, segments): (usize, &u64)| {
        let load = json!({"kind": "messages", "from": format!("s{n}"), "to": "r0", "bytes": format!("{}B", segments * MSS),
            "interval": "1s"});
        (format!("x{segments}"), load)
    };
    let mut traffic: serde_json::Map<String, Value> = sizes.iter().enumerate().map(load).collect();
    let mut document = pfabric(json!({"topology": {"senders": 3}, "duration": "10ms"}));
    traffic.values_mut().for_each(|load| load["start"] = "1us".into());
    document["traffic"] = traffic.into();
    let done = run(document);
    assert_eq!(done.column("flows", "timeouts"), [0.0; 3]);
    let mut before = 0;
    for (place, (fct, size)) in done.fct().into_iter().zip(sizes).enumerate() {
        before += size;
        let ideal = LINE.burst(before);
        let late = (fct as f64 - ideal as f64) / LINE.transmission(FULL) as f64;
        assert!((0.0..=place as f64 + 1.0).contains(&late), "{size} segments: {late} packets late");
    }
}

/// The whole window goes at once: a message as large as the bandwidth-delay product takes its burst's time.
#[test]
fn a_flow_starts_at_line_rate() {
    let base = LINE.one_way(FULL) + 2 * LINE.delay;
    let segments = base / LINE.transmission(MSS) + 1;
    let done =
        run(pfabric(json!({"traffic": {"x": {"kind": "messages", "bytes": format!("{}B", segments * MSS),
        "interval": "1s", "start": "1us"}}})));
    assert_eq!(done.fct(), [LINE.burst(segments)]);
}
