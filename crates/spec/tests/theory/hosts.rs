//! Hosts' ports: flows in turn, TCP small queues, and the effect of both on a short message.

use crate::bench::{close, run, with};
use serde_json::{Value, json};

/// One host that sends to two others, at 1 Gb/s: its own port is the only queue.
fn host(changes: Value) -> Value {
    with(
        json!({
            "duration": "200ms",
            "warmup": "50ms",
            "topology": {"kind": "star", "senders": 1, "receivers": 2, "rate": "10Gbps", "sender_rate": "1Gbps", "delay": "5us"},
            "queue": "drop-tail",
            "transport": {"opening": "established", "cc": "newreno", "initial_window": "1000pkt", "cwnd_max": "1000pkt"},
            "traffic": {"a": {"kind": "bulk", "from": "s0", "to": "r0"}},
            "probe": {"nic_queues": true, "waits": false},
        }),
        changes,
    )
}

/// Profiles of today's hosts have fair queueing, those of older inputs a FIFO; where loads differ, a FIFO.
#[test]
fn the_profile_decides_how_a_hosts_port_queues() {
    let nic = |transport: Value, own: Value| {
        let document = json!({"duration": "1ms", "topology": "star", "queue": "drop-tail", "transport": transport,
            "traffic": {"a": {"kind": "bulk", "from": "s0", "to": "r0"},
                "b": {"kind": "bulk", "from": "s1", "to": "r0", "transport": own}}});
        let answer: Value = serde_json::from_str(&shallows_spec::check(&document.to_string())).expect("JSON");
        let record = &answer["experiment"];
        let word = |value: &Value| value.as_str().unwrap_or("none").to_owned();
        (word(&record["nic"]["kind"]), word(&record["traffic"]["b"]["transport"]["small_queues"]))
    };
    let of = |profile: &str| nic(json!({"cc": "newreno", "profile": profile}), json!({}));
    let pair = |kind: &str, most: &str| (kind.to_owned(), most.to_owned());
    let fair = || pair("fq", "4194304B");
    assert_eq!(
        [nic(json!({"cc": "newreno"}), json!({})), of("datacentre"), of("linux")],
        [fair(), fair(), fair()]
    );
    assert_eq!([of("rfc"), of("ns2")], [pair("drop-tail", "none"), pair("drop-tail", "none")]);
    assert_eq!(nic(json!({"cc": "newreno"}), json!({"profile": "ns2"})), pair("drop-tail", "none"));
}

/// Two connections with windows of 1000 and 100 segments: behind one FIFO they share as their windows do, in turns equally.
#[test]
fn flows_in_turn_share_a_hosts_port_equally() {
    let share = |nic: &str| {
        let done = run(host(json!({"nic": nic, "transport": {"small_queues": "none"},
            "traffic": {"b": {"kind": "bulk", "from": "s0", "to": "r1",
                "transport": {"initial_window": "100pkt", "cwnd_max": "100pkt"}}}})));
        let rates = done.column("flows", "goodput_bps");
        rates[0] / rates[1]
    };
    close("in turn", share("fq"), 1.0, 0.01);
    close("one FIFO", share("drop-tail"), 10.0, 0.1); // one of the 11 rounds measured is cut
}

/// Linux tcp_small_queue_check: a sender stops once more than the limit stands in its port, and goes on when a packet has
/// left. So the port always holds the first whole number of packets above it: a 1024th of a second at the pacing rate, of
/// senders that pace; for others tcp_limit_output_bytes at most.
#[test]
fn a_sender_puts_a_millisecond_of_its_rate_into_its_port() {
    let held = |nic: &str, transport: Value| {
        let done = run(host(json!({"nic": nic, "transport": transport})));
        done.port("s0->switch", "mean_bytes")
    };
    let above = |limit: f64| (f64::floor(limit / 1500.0) + 1.0) * 1500.0;
    let paced = json!({"cc": {"kind": "cbr", "rate": "2Gbps"}, "cwnd_max": "none"});
    for nic in ["fq", "drop-tail"] {
        close(nic, held(nic, paced.clone()), above(2e9 / 8.0 / 1024.0), 1e-6);
        close(nic, held(nic, json!({"small_queues": "150KB"})), above(150e3), 1e-6);
        // Without them the port holds the window, but for the packets under way: 22.6 us of ways and transmissions.
        close(nic, held(nic, json!({"small_queues": "none"})), 1000.0 * 1500.0 - 33e-6 * 125e6, 0.002);
    }
}

/// Within a short round trip a sender that paces nothing stops at tcp_limit_output_bytes too: the share of its window, 2 W / srtt a
/// 1024th of a second, is far above it.
#[test]
fn the_fixed_limit_holds_within_a_short_round_trip() {
    for nic in ["fq", "drop-tail"] {
        let fast =
            json!({"nic": nic, "topology": {"sender_rate": "10Gbps"}, "transport": {"small_queues": "30KB"}});
        close(nic, run(host(fast)).port("s0->switch", "mean_bytes"), 21.0 * 1500.0, 1e-6);
    }
}

/// TCP small queues of a sender that paces nothing, with a window W that never moves: it would be paced at 2 W / srtt, far below the
/// threshold of slow start (tcp_update_pacing_rate), so that the port holds L = 2 W / srtt / 1024. With srtt = base + L / C,
/// srtt (srtt - base) C = 2 W / 1024. The window is hardly more than that: a far larger one would swing about it, since each
/// round trip answers the one before.
#[test]
fn an_unpaced_senders_share_of_its_port_follows_from_its_window() {
    let (window, rate) = (200.0 * 1460.0, 125e6);
    let base = 20e-6 + 1540.0 / 1.25e9 + 40.0 / 125e6;
    let product = 2.0 * window / 1024.0 / rate;
    let srtt = (base + f64::sqrt(base * base + 4.0 * product)) / 2.0;
    for nic in ["fq", "drop-tail"] {
        let transport = json!({"initial_window": "200pkt", "cwnd_max": "200pkt"});
        let done = run(host(json!({"nic": nic, "transport": transport})));
        close(nic, done.port("s0->switch", "mean_bytes"), (srtt - base) * rate, 0.02);
    }
}

/// Linux tcp_update_pacing_rate: an unpaced sender counts as paced at twice its window a round trip while the window is below half of the
/// threshold, and at 1.2 times from there on. A first window of 100 segments, which the handshake's round trip measures, lets the
/// port hold the first whole number of packets above a 1024th of a second of that.
#[test]
fn a_window_of_half_the_threshold_counts_as_avoidance() {
    for (threshold, share) in [(202, 2.0), (200, 1.2), (198, 1.2)] {
        let transport = json!({"opening": "handshake", "initial_window": "100pkt", "cwnd_max": "none",
            "initial_ssthresh": format!("{threshold}pkt")});
        let document = host(
            json!({"duration": "6ms", "warmup": "0s", "topology": {"delay": "1ms"}, "transport": transport}),
        );
        let done = run(with(document, json!({"traffic": {"a": {"bytes": "146000B"}}})));
        let header = 40.0 * 8.0;
        let srtt = 4e-3 + 2.0 * header / 10e9 + header / 1e9 + header / 10e9;
        let limit = share * 146_000.0 / srtt / 1024.0;
        let packets = f64::floor(limit / 1500.0) + 1.0;
        assert_eq!(done.port("s0->switch", "max_bytes"), packets * 1500.0, "{threshold}");
    }
}

/// Short and long messages from one host, Poisson, load 1/2. Behind one FIFO a message waits for all that is there before it
/// (Pollaczek and Khinchine): lambda E[x^2] / 2 (1 - rho). In turns a host is a processor shared by all (Kleinrock 1976,
/// s.4.4): each takes 1 / (1 - rho) times as long as alone, whatever its size.
#[test]
fn a_short_messages_slowdown_is_that_of_processor_sharing() {
    let (short, long) = (20.0 * 1460.0, 400.0 * 1460.0);
    let service = |bytes: f64| bytes / 1460.0 * 1500.0 / 125e6;
    let (often, seldom) = (0.25 / service(short), 0.25 / service(long));
    let load = |bytes: f64, each: f64| {
        json!({"kind": "poisson", "from": "s0", "to": "r*", "sizes": {"kind": "fixed", "bytes": format!("{bytes}B")},
            "every": format!("{}ps", (1e12 / each).round())})
    };
    let slowdown = |nic: &str| {
        let done = run(with(
            host(
                json!({"nic": nic, "duration": "4s", "transport": {"small_queues": "none"}, "probe": {"nic_queues": false}}),
            ),
            json!({"traffic": {"a": load(short, often), "b": load(long, seldom)}}),
        ));
        let names = done.words("messages", "traffic");
        let rows = names.iter().zip(done.column("messages", "slowdown"));
        let mine: Vec<f64> =
            rows.filter(|(name, slow)| **name == "a" && !slow.is_nan()).map(|(_, slow)| slow).collect();
        mine.iter().sum::<f64>() / mine.len() as f64
    };
    let wait = (often * service(short) * service(short) + seldom * service(long) * service(long)) / 2.0 / 0.5;
    close("one FIFO", slowdown("drop-tail"), 1.0 + wait / service(short), 0.1);
    close("in turn", slowdown("fq"), 2.0, 0.1);
}
