//! Opening and closing, and the limits of a window and of an empty network: RFC 9293 s.3.5, 3.6.

use crate::bench::{HEADER, LINE, MS, MSS, US, close, pair, run, watch, with};
use serde_json::json;

/// On an empty network a message that the initial window holds takes its ideal time, to the picosecond:
/// the ideal is defined so, and slowdown is exactly 1.
#[test]
fn a_message_within_the_initial_window_has_slowdown_one() {
    for opening in ["established", "handshake"] {
        for bytes in [1, 1459, 1460, 1461, 14_600] {
            let load = json!({"bytes": format!("{bytes}B")});
            let done = run(pair(json!({"opening": opening}), load));
            assert_eq!(done.column("messages", "slowdown"), [1.0], "{opening} {bytes}");
        }
    }
}

/// Slowdown is exactly 1 even if links differ and several switches are on the way: store and forward.
#[test]
fn slowdown_is_one_on_any_path() {
    let parking = json!({"topology": {"kind": "parking-lot"}, "duration": "10ms",
        "traffic": {"x": {"kind": "bulk", "from": "l0", "to": "r0", "bytes": "14600B"}},
        "queue": "drop-tail", "transport": {"cc": "newreno"}});
    let dumbbell = with(
        parking.clone(),
        json!({"topology": {"kind": "dumbbell", "rate": "1Gbps",
        "access_rate": "40Gbps", "left": 1, "right": 1}}),
    );
    for document in [
        dumbbell,
        with(
            parking,
            json!({"topology": {"kind": "tree"},
        "traffic": {"x": {"from": "h0", "to": "h1"}}}),
        ),
    ] {
        assert_eq!(run(document).column("messages", "slowdown"), [1.0]);
    }
}

/// A deadline is met by a message that ends at its instant, and missed one picosecond sooner; where the run
/// ends before either, nothing is said.
#[test]
fn a_deadline_is_met_to_the_picosecond() {
    let met = |deadline: serde_json::Value, bytes: &str| {
        let load = json!({"kind": "messages", "connection": "fresh", "bytes": bytes, "interval": "1s", "count": 1,
            "deadline": deadline});
        let done = run(pair(json!({}), load));
        (done.column("messages", "met")[0], done.column("messages", "fct_ps")[0])
    };
    let at = |ps: f64| json!({"kind": "fixed", "span": format!("{ps}ps")});
    let (unset, fct) = met(json!("none"), "10KB");
    assert!(unset.is_nan());
    assert_eq!(met(at(fct), "10KB").0, 1.0);
    assert_eq!(met(at(fct - 1.0), "10KB").0, 0.0);
    assert_eq!(met(at(1e9), "100GB").0, 0.0); // under way, and its deadline has passed
    assert!(met(json!({"kind": "fixed", "span": "99s"}), "100GB").0.is_nan());
}

/// RFC 9293 s.3.5: the handshake costs one round trip of bare headers before the first data.
#[test]
fn a_handshake_costs_one_round_trip() {
    let fct = |opening: &str| run(pair(json!({"opening": opening}), json!({"bytes": "10KB"}))).fct()[0];
    assert_eq!(fct("handshake") - fct("established"), 2 * LINE.one_way(HEADER));
}

/// RFC 9293 s.3.6: SYN, data with FIN on the last, the last acknowledgement; and nothing more. The other
/// way SYN+ACK, an acknowledgement a segment, the last of them with FIN.
// req: RFC5681 s4.2 MUST one-ack-a-segment
#[test]
fn a_connection_opens_sends_and_closes_with_no_packet_too_many() {
    let document = pair(json!({"opening": "handshake"}), json!({"bytes": format!("{}B", 5 * MSS)}));
    let done = watch(document, &["s0->switch", "r0->switch"]);
    let sizes = |port: &str| done.sent(port).iter().map(|sent| sent.bytes).collect::<Vec<_>>();
    assert_eq!(sizes("s0->switch"), [40, 1500, 1500, 1500, 1500, 1500, 40]);
    assert_eq!(sizes("r0->switch"), [40; 6]);
    assert_eq!(done.flow("retransmissions") + done.flow("timeouts"), 0.0);
}

/// A connection that is over leaves its place to the next: a hundred, one after the other, use one.
#[test]
fn a_closed_connection_frees_its_place() {
    let load =
        json!({"kind": "messages", "connection": "fresh", "bytes": "20KB", "interval": "1ms", "count": 100});
    let done = run(pair(json!({"opening": "handshake"}), load));
    let counts = done.simulation.manifest_counts();
    assert_eq!((&counts["counts"]["flows"], &counts["memory"]["flows_at_once"]), (&json!(100), &json!(1)));
    assert_eq!(done.column("flows", "end_ps").iter().filter(|end| end.is_nan()).count(), 0);
}

/// RFC 9293 s.3.8.1: FIN, SYN and the last acknowledgement are as lost as any packet, and the connection
/// still opens, delivers and closes. Each control packet in turn is lost.
#[test]
fn the_loss_of_any_control_packet_is_made_good() {
    let forward = [1, 2, 3]; // SYN, data with FIN, last acknowledgement
    let backward = [1, 2]; // SYN+ACK, acknowledgement with FIN
    let losses = forward.map(|n| ("s0->switch", n)).into_iter().chain(backward.map(|n| ("r0->switch", n)));
    for (port, number) in losses {
        let transport = json!({"opening": "handshake", "initial_rto": "5ms", "min_rto": "5ms"});
        let document = pair(transport, json!({"bytes": "1000B"}));
        let done = run(with(document, json!({"port": {port: {"drop_packets": [number]}}})));
        let fct = done.fct()[0];
        // Nothing but a timeout of 5 ms may come in between, and for the last two not even that.
        assert!(fct < 6 * MS, "{port} {number}: {fct}");
        let places = done.simulation.roster().places();
        assert!(done.column("flows", "end_ps")[0] > 0.0 && places == 1);
        assert!(done.simulation.roster().flow_rows.len() == 1);
    }
}

/// A window of W bytes lets W through each round trip: throughput = W / R while that is below the link's
/// rate. Counted over 1000 round trips; one window more or less is 0.1 %.
// req: RFC5681 s2 MUST window-bounds-flight
#[test]
fn a_window_limits_throughput_to_window_over_round_trip() {
    for (key, window) in [("receive_window", 20), ("cwnd_max", 20), ("cwnd_max", 1), ("receive_window", 60)] {
        let transport = json!({key: format!("{window}pkt")});
        let document = with(pair(transport, json!({})), json!({"warmup": "10ms", "duration": "113ms"}));
        let expected = (window * MSS * 8) as f64 / (LINE.round() as f64 * 1e-12);
        close(key, run(document).flow("goodput_bps"), expected, 0.001);
    }
}

/// The link's rate limits it otherwise: payload over the whole packet of it.
#[test]
fn the_link_limits_throughput_to_its_rate() {
    let document = pair(json!({"cwnd_max": "200pkt"}), json!({}));
    let done = run(with(document, json!({"warmup": "10ms", "duration": "110ms"})));
    close("goodput", done.flow("goodput_bps"), 1e10 * 1460.0 / 1500.0, 1e-4);
    close("utilisation", done.port("switch->r0", "utilisation"), 1.0, 1e-4);
}

/// One packet at a time is under way: the smoothed round trip of each transport's trace is that of the empty path, and so is their mean.
#[test]
fn the_trace_has_the_round_trip_of_the_path() {
    for (profile, cc) in [
        ("datacentre", "newreno"),
        ("roce", "timely"),
        ("uec", "nscc"),
        ("ndp", "line-rate"),
        ("homa", "line-rate"),
    ] {
        let mut document =
            pair(json!({}), json!({"kind": "messages", "bytes": "1000B", "interval": "1ms", "count": 20}));
        document["transport"] = json!({"profile": profile, "cc": cc});
        if ["uec", "ndp"].contains(&profile) {
            document["queue"] = json!({"kind": "trimming", "limit": "100KB"});
        }
        if profile == "homa" {
            document["priority"] =
                json!({"0": {}, "1": {}, "2": {}, "3": {}, "4": {}, "5": {}, "6": {}, "7": {}});
        }
        document["probe"] = json!({"flow_trace": "5ms"});
        let done = run(with(document, json!({"duration": "21ms"})));
        let trips = done.column("flow_trace", "srtt_ps");
        for trip in [*trips.last().expect("a row"), done.flow("srtt_mean_ps")] {
            assert!((100.0..105.0).contains(&(trip / US as f64)), "{profile}: {trip} {trips:?}");
        }
    }
}

/// A sender by credits measures no round trip: its trace has none, where zero would be a number.
#[test]
fn a_sender_by_credits_has_no_round_trip() {
    let mut document = pair(json!({}), json!({"bytes": "100KB"}));
    document["transport"] = json!({"profile": "expresspass", "cc": "line-rate"});
    document["queue"] = json!("credit");
    document["probe"] = json!({"flow_trace": "20us"});
    let done = run(with(document, json!({"duration": "1ms"})));
    let trips = done.column("flow_trace", "srtt_ps");
    assert!(trips.len() > 5 && trips.iter().all(|trip| trip.is_nan()), "{trips:?}");
}

/// Linux tcp_init_cwnd: a window begins within its clamp, `cwnd_max`. The third packet waits for the answer to the first.
#[test]
fn a_window_begins_within_its_clamp() {
    let document = pair(
        json!({"initial_window": "10pkt", "cwnd_max": "2pkt"}),
        json!({"bytes": format!("{}B", 6 * MSS)}),
    );
    let done = watch(document, &["s0->switch"]);
    assert_eq!(done.times("s0->switch")[..3], [0, 0, LINE.round()]);
    assert_eq!(done.column("flow_trace", "cwnd_bytes")[0], 2.0 * MSS as f64);
}
