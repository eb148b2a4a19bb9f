//! Datagrams against closed forms: what leaves, what arrives, how late, and what they do to others.

use crate::bench::{MS, Run, US, close, near, run, with};
use serde_json::{Value, json};

/// One sender and one receiver behind a port of 10 Gb/s, with a faster card; 1472 bytes make 1500 on the wire.
fn one(load: Value) -> Value {
    let document = json!({
        "duration": "20ms",
        "topology": {"kind": "star", "senders": 1, "rate": "10Gbps", "sender_rate": "100Gbps", "delay": "1us"},
        "queue": {"kind": "drop-tail", "limit": "100pkt"},
        "traffic": {"x": {"kind": "datagrams", "from": "s0", "to": "r0"}},
    });
    with(document, json!({"traffic": {"x": load}}))
}

fn sum(run: &Run, column: &str) -> f64 {
    run.column("datagrams", column).iter().sum()
}

/// At a rate the datagrams are as far apart as their payload takes at it, the first at the start; nothing comes back.
#[test]
fn a_rate_is_exact_and_nothing_comes_back() {
    let done = run(one(json!({"bytes": "1250B", "rate": "1Gbps", "start": "1ms"})));
    // 10 us apart from 1 ms to 20 ms.
    assert_eq!((sum(&done, "sent"), sum(&done, "lost")), (1900.0, 0.0));
    assert_eq!(done.port("r0->switch", "packets_in"), 0.0);
    // 1278 bytes at 100 Gb/s, then at 10 Gb/s, and two delays: the same for each.
    let delay = (1278 * 80 + 1278 * 800 + 2 * 1_000_000) as f64;
    for column in ["delay_min_ps", "delay_mean_ps", "delay_max_ps"] {
        assert_eq!(sum(&done, column), delay, "{column}");
    }
    assert_eq!(sum(&done, "jitter_ps"), 0.0);
}

/// The port's queue takes 100 packets; of all further ones it carries those that its rate carries: lost is the rest.
#[test]
fn an_overloaded_port_loses_the_difference_of_the_rates() {
    // 1500 bytes on the wire for 1472 of payload: 12.5 Gb/s of payload is 12.738 on the wire.
    let done = run(one(json!({"bytes": "1472B", "rate": "12.5Gbps"})));
    let offered = 12.5e9 * 1500.0 / 1472.0;
    let packets = offered * 0.02 / 12_000.0;
    near("sent", sum(&done, "sent"), packets, 1.0);
    near("lost", sum(&done, "lost"), packets * (1.0 - 10e9 / offered) - 100.0, 2.0);
    assert_eq!(sum(&done, "lost"), done.port("switch->r0", "drops_full"));
}

/// Poisson packets of one size at a port are an M/D/1 queue (Kleinrock 1975 s.5.6): ten seeds, four standard errors.
#[test]
fn poisson_packets_wait_as_in_m_d_1() {
    let (load, service) = (0.7f64, 1.2e6f64);
    let waits: Vec<f64> = (1..=10)
        .map(|seed| {
            let every = format!("{}ps", (service * 64.0 / load).round());
            let many = json!({"seed": seed, "duration": "50ms", "warmup": "1ms", "queue": {"limit": "none"},
                "topology": {"senders": 64, "sender_rate": "1Tbps"},
                "traffic": {"x": {"from": "s*", "bytes": "1472B", "every": every, "gaps": "exponential"}}});
            run(with(one(json!({})), many)).port("switch->r0", "mean_wait_ps") / service
        })
        .collect();
    let n = waits.len() as f64;
    let mean = waits.iter().sum::<f64>() / n;
    let error = (waits.iter().map(|w| (w - mean) * (w - mean)).sum::<f64>() / (n - 1.0) / n).sqrt();
    let law = load / (2.0 * (1.0 - load));
    close("wait", mean, law, (4.0 * error / law).min(0.05));
}

/// With pauses the mean rate is that of sending times on / (on + off), whatever the distribution; with constant ones to the packet.
#[test]
fn pauses_leave_the_share_of_the_times_of_sending() {
    let pauses = |periods: &str| json!({"bytes": "125B", "rate": "1Gbps", "on": "30us", "off": "70us", "periods": periods});
    let done = run(one(pauses("constant")));
    assert_eq!(sum(&done, "sent"), 200.0 * 30.0, "one a microsecond in 30 of 100");
    for periods in ["exponential", "pareto"] {
        let rates: Vec<f64> = (1..=20)
            .map(|seed| {
                sum(&run(with(one(pauses(periods)), json!({"seed": seed, "duration": "40ms"}))), "sent")
            })
            .collect();
        let n = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / n;
        let error = (rates.iter().map(|r| (r - mean) * (r - mean)).sum::<f64>() / (n - 1.0) / n).sqrt();
        // A Pareto time of shape 1.5 has no variance, so that its sums stay low for long.
        let slack = if periods == "pareto" { 0.1 * mean } else { 4.0 * error };
        near(periods, mean, 40_000.0 * 0.3, slack);
        assert!(error > 0.0, "{periods} periods are random");
    }
}

/// A port that marks at a threshold marks each ECN-capable datagram above it and drops the others; nobody reacts to either.
#[test]
fn marks_and_drops_change_nothing_at_the_sender() {
    let load = |ecn: &str| {
        let queue =
            json!({"queue": {"kind": "threshold", "limit": "100pkt", "mark_at": "20pkt", "not_ect": "drop"}});
        let load = json!({"bytes": "1472B", "rate": "12.5Gbps", "transport": {"ecn": ecn}});
        run(with(one(load), queue))
    };
    let (plain, capable) = (load("not-ect"), load("ect0"));
    assert_eq!(sum(&plain, "sent"), sum(&capable, "sent"));
    assert_eq!((plain.flow("marks"), plain.port("switch->r0", "drops_full")), (0.0, 0.0));
    assert!(plain.port("switch->r0", "drops_aqm") > 0.0);
    assert!(capable.flow("marks") > 0.9 * sum(&capable, "arrived"));
    assert!(capable.port("switch->r0", "drops_full") > 0.0 && capable.port("switch->r0", "drops_aqm") == 0.0);
}

/// A host whose card is too slow holds datagrams back: it sends at the card's rate, with no more than its buffer in the port.
#[test]
fn a_full_socket_makes_datagrams_wait() {
    for nic in ["drop-tail", "fq"] {
        let slow = json!({"topology": {"sender_rate": "1Gbps"}, "nic": nic, "probe": {"nic_queues": true},
            "traffic": {"x": {"bytes": "1472B", "rate": "2Gbps", "transport": {"send_buffer": "30KB"}}}});
        let done = run(with(one(json!({})), slow));
        // 20 ms at 1 Gb/s, and 30 KB in the port: Linux lets a datagram in while the others are below the limit.
        near("sent", sum(&done, "sent"), 20e6 / 12e3 + 20.0, 2.0);
        assert_eq!(sum(&done, "lost"), 0.0);
        assert!(sum(&done, "late") > 0.9 * sum(&done, "sent"));
        let most = done.port("s0->switch", "max_packets");
        assert!((20.0..=21.0).contains(&most), "{nic}: {most} packets in the port");
    }
}

/// A TCP flow beside datagrams on one port gets what they leave: 10 Gb/s less 4, by headers.
#[test]
fn tcp_gets_the_rest() {
    let mixed = json!({"duration": "100ms", "warmup": "40ms",
    "topology": {"senders": 2}, "queue": {"kind": "threshold", "limit": "250pkt", "mark_at": "65pkt", "not_ect": "pass"},
    "transport": {"cc": "dctcp", "opening": "established"},
    "traffic": {
        "x": {"bytes": "1472B", "rate": "4Gbps"},
        "tcp": {"kind": "bulk", "from": "s1", "to": "r0"},
    }});
    let done = run(with(one(json!({})), mixed));
    let rest = (10e9 - 4e9 * 1500.0 / 1472.0) * 1460.0 / 1500.0;
    let tcp = done.loads().iter().position(|load| *load == "tcp").expect("a load");
    close("TCP", done.column("flows", "goodput_bps")[tcp], rest, 0.01);
    assert_eq!(sum(&done, "lost"), 0.0);
}

/// A trace is sent as it is written.
#[test]
fn a_trace_is_sent_at_its_times() {
    let rows = [(0, 100), (5, 1472), (5, 200), (9000, 300)];
    let trace: Vec<Value> = rows
        .iter()
        .map(|(at, bytes)| json!({"at": format!("{at}us"), "bytes": format!("{bytes}B")}))
        .collect();
    let done =
        run(with(one(json!({"trace": trace, "start": "1ms"})), json!({"probe": {"packets": "s0->switch"}})));
    let left: Vec<f64> = done.column("packets", "stamp_ps");
    assert_eq!(left, rows.map(|(at, _)| (MS + at * US) as f64));
    assert_eq!(done.column("packets", "payload"), rows.map(|(_, bytes)| f64::from(bytes)));
}

/// Faults of a wire: a copy is known from the datagram, one that is held back is overtaken.
#[test]
fn faults_of_a_wire_are_told_apart() {
    let faults = json!({"port": {"switch->r0": {"duplicate": 0.2, "loss": 0.1, "reorder": 0.1, "reorder_delay": "50us"}}});
    let done = run(with(one(json!({"bytes": "1000B", "rate": "1Gbps"})), faults));
    let (sent, arrived) = (sum(&done, "sent"), sum(&done, "arrived"));
    near("lost", sum(&done, "lost"), 0.1 * sent, 4.0 * (0.09 * sent).sqrt());
    near("copies", sum(&done, "copies"), 0.2 * arrived, 4.0 * (0.16 * arrived).sqrt());
    assert!(sum(&done, "overtaken") > 0.0 && sum(&done, "overtaken") < 0.11 * arrived);
    assert_eq!(sum(&done, "arrived_bytes"), 1000.0 * arrived);
}

/// Packets that leave at time 0 count where there is no warm-up.
#[test]
fn what_leaves_at_once_counts() {
    let done = run(one(json!({"bytes": "1000B", "rate": "1Gbps", "count": 1})));
    assert_eq!((sum(&done, "sent"), done.flow("packets_sent"), sum(&done, "arrived")), (1.0, 1.0, 1.0));
}
