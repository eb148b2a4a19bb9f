//! Wires with jitter, bursts of losses and wrong bits, links that follow a trace, and policers, seen by datagrams.

use crate::bench::{MS, Run, US, close, near, run, with};
use serde_json::{Value, json};

/// A datagram of 1000 bytes, 1028 on the wire, every 10 us, from one host to another; `wire` is the last one.
fn stream(wire: Value) -> Value {
    json!({
        "duration": "100ms",
        "topology": {"kind": "star", "senders": 1, "rate": "10Gbps", "delay": "20us"},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "port": {"switch->r0": wire},
        "traffic": {"x": {"kind": "datagrams", "from": "s0", "to": "r0", "bytes": "1000B", "every": "10us"}},
    })
}

fn sum(run: &Run, column: &str) -> f64 {
    run.column("datagrams", column).iter().sum()
}

/// Without jitter: two links of a transmission and a delay each.
const EMPTY: f64 = (2 * (1028 * 800 + 20 * US)) as f64;

/// Numbers of a class are those of its own packets: the others neither count nor are lost, and with all classes numbered
/// together the same numbers meet both loads.
#[test]
fn losses_by_number_meet_one_class() {
    let lost = |wire: Value| {
        let mut document = stream(with(json!({"drop_packets": [3, 4, 7, 20, 21]}), wire));
        let mut second = document["traffic"]["x"].clone();
        second["start"] = json!("5us");
        document["traffic"]["y"] = second;
        run(document).column("datagrams", "lost")
    };
    assert_eq!(lost(json!({})), [3.0, 2.0]); // 3, 7 and 21 of the one, 4 and 20 of the other
    assert_eq!(lost(json!({"drop_class": "x"})), [5.0, 0.0]);
    assert_eq!(lost(json!({"drop_class": "y"})), [0.0, 5.0]);
}

/// Uniform times of mean 30 us lie between 0 and 60 us; who is not kept in order overtakes, and their mean delay is exact.
#[test]
fn jitter_adds_its_times() {
    let jitter = |order: &str| json!({"jitter": "30us", "jitter_order": order});
    let free = run(stream(jitter("free")));
    let n = sum(&free, "arrived");
    // Standard deviation 60 us / sqrt(12); four standard errors.
    near("mean", sum(&free, "delay_mean_ps") - EMPTY, 30e6, 4.0 * 60e6 / (12.0 * n).sqrt());
    assert!(sum(&free, "delay_min_ps") >= EMPTY && sum(&free, "delay_max_ps") <= EMPTY + 60e6);
    assert!(sum(&free, "overtaken") > 0.3 * n);
    let kept = run(stream(jitter("kept")));
    assert_eq!((sum(&kept, "overtaken"), sum(&kept, "lost")), (0.0, 0.0));
    assert!(
        sum(&kept, "delay_mean_ps") > sum(&free, "delay_mean_ps"),
        "who keeps the order waits for others"
    );
    assert!(sum(&kept, "delay_max_ps") <= EMPTY + 60e6 + 1e4);
}

/// RFC 3550 s.6.4.1: J = J + (|D| - J) / 16. Each second datagram comes 100 ns behind another load's and waits for the rest of it, so that D
/// is that wait, up and down in turn: J = D (1 - (15/16)^(n - 1)) after n datagrams.
#[test]
fn the_interarrival_jitter_is_that_of_rtp() {
    let mut document = stream(json!({}));
    document["topology"]["senders"] = json!(2);
    let mut other = document["traffic"]["x"].clone();
    document["traffic"]["x"]["start"] = json!("1us");
    (other["from"], other["start"], other["every"]) = (json!("s1"), json!("900ns"), json!("20us"));
    document["traffic"]["y"] = other;
    for n in [2, 5, 40] {
        document["traffic"]["x"]["count"] = json!(n);
        let done = run(document.clone());
        let wait = (1028 * 800 - 100_000) as f64;
        let gone = (0..n - 1).fold(1.0, |left, _| left * 15.0 / 16.0);
        close("jitter", done.column("datagrams", "jitter_ps")[0], wait * (1.0 - gone), 1e-9);
    }
}

/// Packets with kept order take no reordering: a TCP flow over jitter sends nothing again, over free jitter it does.
#[test]
fn kept_order_is_no_loss_to_tcp() {
    let tcp = |order: &str| {
        let load = json!({"kind": "bulk", "from": "s0", "to": "r0", "bytes": "2MB"});
        let mut document =
            stream(json!({"jitter": "100us", "jitter_law": "exponential", "jitter_order": order}));
        document["transport"] = json!({"cc": "newreno"});
        document["traffic"] = json!({"x": load});
        run(document).flow("retransmissions")
    };
    assert_eq!(tcp("kept"), 0.0);
    assert!(tcp("free") > 0.0);
}

/// Elliott 1963: a share p / (p + r) of the packets is in bursts and lost; outside them the wire loses by its own chance.
#[test]
fn bursts_and_single_losses_add_up() {
    let (p, r, single) = (0.002, 0.1, 0.01);
    let losses = json!({"burst_begins": p, "burst_ends": r, "loss": single});
    let shares: Vec<f64> =
        (1..=10).map(|seed| sum(&run(with(stream(losses.clone()), json!({"seed": seed}))), "loss")).collect();
    let mean = shares.iter().sum::<f64>() / 10.0;
    let error = (shares.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / 90.0).sqrt();
    let burst = p / (p + r);
    near("loss", mean, burst + (1.0 - burst) * single, 4.0 * error);
    assert!(error < 0.004, "{error}");
}

/// 1 - (1 - e)^(8 bytes) of the frames have a wrong bit.
#[test]
fn wrong_bits_lose_frames_by_their_length() {
    let rate = 1e-5;
    let done = run(stream(json!({"bit_errors": rate})));
    let share = 1.0 - (0..8 * 1028).fold(1.0, |right, _| right * (1.0 - rate));
    let n = sum(&done, "sent");
    near("loss", sum(&done, "loss"), share, 4.0 * (share * (1.0 - share) / n).sqrt());
    assert_eq!(done.port("switch->r0", "drops_wire"), sum(&done, "lost"));
}

/// A link of 400 Mb/s in the first 5 ms of 10 and none in the second carries half of it, and a queue builds for as long.
#[test]
fn a_link_carries_what_its_trace_has() {
    let points = json!([{"at": "0s", "rate": "400Mbps"}, {"at": "5ms", "rate": "none"}]);
    let trace = json!({"trace": {"kind": "rates", "points": points, "period": "10ms"}});
    let full = with(stream(trace.clone()), json!({"traffic": {"x": {"every": "5us"}}}));
    let done = run(full);
    close("bits", sum(&done, "arrived") * 1028.0 * 8.0, 0.05 * 400e6, 0.001);
    // A datagram every 100 us is 82 Mb/s: none is lost, and the one that comes as the link stops waits 5 ms.
    let calm = run(with(stream(trace), json!({"traffic": {"x": {"every": "100us"}}})));
    assert_eq!(sum(&calm, "lost"), 0.0);
    let longest = sum(&calm, "delay_max_ps");
    assert!(
        (5 * MS) as f64 + EMPTY - 100e6 < longest && longest < (5 * MS) as f64 + 2.0 * EMPTY,
        "{longest}"
    );
}

/// Mahimahi's opportunities: one packet of 1504 bytes a millisecond, and 12.032 Mb/s.
#[test]
fn opportunities_are_a_rate() {
    let trace = json!({"trace": {"kind": "opportunities", "at": [1, 2, 3, 4]}});
    let done = run(with(stream(trace), json!({"duration": "1s", "traffic": {"x": {"every": "100us"}}})));
    close("bits", sum(&done, "arrived") * 1028.0 * 8.0, 12.032e6, 0.002);
}

/// The times of a trace rise, and it ends after its begin. A wrong one is named by its place.
#[test]
fn a_trace_that_does_not_rise_is_refused_where_it_falls() {
    let fault = |at: Value| {
        let trace = json!({"trace": {"kind": "opportunities", "at": at}});
        let Err(faults) = shallows_spec::load(&stream(trace).to_string()) else { panic!("it is accepted") };
        let [fault] = &faults[..] else { panic!("{faults:?}") };
        (fault.path.clone(), fault.value.clone())
    };
    let pair = |place: &str, value: &str| (format!("port.switch->r0.trace.at{place}"), value.to_owned());
    assert_eq!(fault(json!([1, 5, 5, 3, 9])), pair(".3", "3"));
    assert_eq!(fault(json!([0, 0])), pair("", "[0,0]"));
}

/// A wire that marks every tenth packet: the rows of its port's trace have each mark once, in the interval of its packet.
#[test]
fn marks_of_a_wire_are_in_the_trace_of_its_port() {
    let mut document = stream(json!({"mark_every": 10}));
    document["traffic"]["x"]["transport"] = json!({"ecn": "ect1"});
    document["probe"] = json!({"port_trace": "1ms", "ports": ["switch->r0"]});
    let done = run(document);
    let marks = done.column("port_trace", "marks");
    assert_eq!(marks.iter().sum::<f64>(), done.port("switch->r0", "marks"));
    assert!(marks.len() > 90 && marks[1..marks.len() - 1].iter().all(|each| *each == 10.0), "{marks:?}");
}

/// RFC 2697: a token bucket lets its burst and its rate through, and drops or marks the rest; nothing waits for it.
#[test]
fn a_policer_lets_its_rate_through_and_nothing_waits() {
    let policed = |queue: Value, ecn: &str| {
        let mut document = stream(json!({"queue": queue}));
        document["traffic"]["x"]["transport"] = json!({"ecn": ecn});
        run(document)
    };
    // 822.4 Mb/s on the wire are offered.
    let bucket = json!({"kind": "policer", "rate": "200Mbps", "burst": "50KB"});
    let done = policed(bucket.clone(), "not-ect");
    near("passed", done.port("switch->r0", "packets_out"), (0.1 * 200e6 / 8.0 + 50e3) / 1028.0, 2.0);
    assert_eq!(done.port("switch->r0", "drops_aqm"), sum(&done, "lost"));
    assert_eq!(sum(&done, "delay_max_ps"), EMPTY);
    let marks = policed(with(bucket, json!({"red": "mark"})), "ect1");
    assert_eq!(sum(&marks, "lost"), 0.0);
    near("marks", marks.flow("marks"), sum(&done, "lost"), 4.0); // some are under way at the end
    // RFC 2698: yellow is what lies between the rates, red what is above both.
    let two = json!({"kind": "policer", "rate": "200Mbps", "burst": "50KB", "meter": "trtcm",
        "peak_rate": "400Mbps", "peak_burst": "50KB", "yellow": "mark"});
    let done = policed(two, "ect1");
    near("passed", done.port("switch->r0", "packets_out"), (0.1 * 400e6 / 8.0 + 50e3) / 1028.0, 4.0);
    near("marked", done.flow("marks"), 0.1 * 200e6 / 8.0 / 1028.0, 3.0);
}

/// TCP over a policer loses what exceeds the bucket, and gets no more than the rate.
#[test]
fn tcp_stays_below_a_policers_rate() {
    let mut document = stream(json!({"queue": {"kind": "policer", "rate": "200Mbps", "burst": "20KB"}}));
    document["duration"] = "2s".into();
    document["warmup"] = "500ms".into();
    document["transport"] = json!({"cc": "newreno"});
    document["traffic"] = json!({"x": {"kind": "bulk", "from": "s0", "to": "r0"}});
    let done = run(document);
    let share = done.flow("goodput_bps") / (200e6 * 1460.0 / 1500.0);
    assert!(share > 0.0 && share <= 1.0, "{share}");
    assert!(done.flow("retransmissions") > 0.0);
}
