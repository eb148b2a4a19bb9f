//! Queueing theory: a port with Poisson arrivals of equal packets is an M/D/1 queue.

use crate::bench::{close, run, with};
use serde_json::{Value, json};

/// Mean wait in service times and utilisation of a port at `load`, from one seed.
fn wait(load: f64, seed: u64) -> (f64, f64) {
    let service = 1.2e6; // ps: 1500 bytes at 10 Gb/s
    let done = run(json!({
        "duration": "50ms",
        "warmup": "1ms",
        "seed": seed,
        // Many fast hosts: none of them shapes the arrivals (the chance that a packet finds its host still
        // sending is load / 64 / 100).
        "topology": {"kind": "star", "senders": 64, "rate": "10Gbps", "sender_rate": "1Tbps", "delay": "1us"},
        "queue": "drop-tail",
        "transport": {"opening": "established", "cc": "newreno"},
        "traffic": {"x": {"kind": "poisson", "from": "s*", "to": "r0", "sizes": {"kind": "fixed", "bytes": "1460B"},
            "every": format!("{}ps", (service / load).round())}},
        "probe": {"waits": false},
    }));
    let port = |column: &str| done.port("switch->r0", column);
    // Little's law, on the side: the queue with the one in service = arrival rate x (wait + service).
    // Equal up to the packets at the two ends of the measured time.
    let sojourn = port("mean_wait_ps") + service;
    close("Little", port("mean_packets"), port("packets_in") / 49e9 * sojourn, 0.001);
    (port("mean_wait_ps") / service, port("utilisation"))
}

/// Pollaczek and Khinchine, for fixed service: mean wait = rho / (2 (1 - rho)) services (Kleinrock 1975,
/// s.5.6). Ten seeds, some 12 000 to 33 000 arrivals each; four standard errors of their mean, which the
/// seeds themselves give, and at most 5 % in case they should give too much.
#[test]
fn waits_are_those_of_m_d_1() {
    for load in [0.3, 0.5, 0.7, 0.8] {
        let runs: Vec<(f64, f64)> = (1..=10).map(|seed| wait(load, seed)).collect();
        let n = runs.len() as f64;
        let summary = |values: Vec<f64>| {
            let mean = values.iter().sum::<f64>() / n;
            let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
            (mean, (variance / n).sqrt())
        };
        let (mean, error) = summary(runs.iter().map(|r| r.0).collect());
        let law = load / (2.0 * (1.0 - load));
        close(&format!("wait at load {load}"), mean, law, (4.0 * error / law).min(0.05));
        let (mean, error) = summary(runs.iter().map(|r| r.1).collect());
        close(&format!("utilisation at load {load}"), mean, load, (4.0 * error / load).min(0.02));
    }
}

/// M/D/1 on a thousand ports of one switch, each with arrivals of its own: their mean waits scatter about the law,
/// and their mean is it, within four of its standard errors.
#[test]
fn a_thousand_ports_are_a_thousand_queues() {
    let (service, load, ports) = (1.2e6, 0.5, 1000);
    let done = run(json!({
        "duration": "400us",
        "warmup": "100us",
        "topology": {"kind": "star", "senders": 64, "receivers": ports, "rate": "10Gbps", "sender_rate": "1Tbps",
            "delay": "1us"},
        "queue": "drop-tail",
        "transport": {"opening": "established", "cc": "newreno"},
        "traffic": {"x": {"kind": "poisson", "from": "s*", "to": "r*", "sizes": {"kind": "fixed", "bytes": "1460B"},
            "every": format!("{}ps", (service / load / f64::from(ports)).round())}},
        "probe": {"waits": false},
    }));
    let names = done.words("queues", "port").into_iter().zip(done.column("queues", "mean_wait_ps"));
    let waits: Vec<f64> =
        names.filter(|(name, _)| name.starts_with("switch->r")).map(|(_, wait)| wait / service).collect();
    assert_eq!(waits.len(), ports as usize);
    let n = waits.len() as f64;
    let mean = waits.iter().sum::<f64>() / n;
    let deviation = (waits.iter().map(|w| (w - mean) * (w - mean)).sum::<f64>() / (n - 1.0)).sqrt();
    let law = load / (2.0 * (1.0 - load));
    close("mean wait of all", mean, law, (4.0 * deviation / n.sqrt() / law).min(0.03));
    assert!(deviation > 0.02, "ports are apart: {deviation}");
}

/// Events of `fan_in` flows come as often as the load says: one each `fan_in` x size / (load x capacity), and their number is
/// Poisson's: four standard deviations. The senders of one event are different hosts, and none of them is the receiver.
#[test]
fn an_arrival_with_a_fan_in_is_an_incast_of_different_senders() {
    let (load, fan_in, seconds) = (0.2, 7usize, 40e-3);
    let done = run(json!({
        "duration": "40ms",
        "topology": {"kind": "star", "senders": 10, "receivers": 1, "rate": "10Gbps", "delay": "1us"},
        "queue": "drop-tail",
        "transport": {"opening": "established", "cc": "newreno"},
        "traffic": {"x": {"kind": "poisson", "from": "*", "to": "*", "sizes": {"kind": "fixed", "bytes": "1460B"},
            "load": load, "fan_in": fan_in}},
    }));
    let (from, to) = (done.words("flows", "src"), done.words("flows", "dst"));
    let starts = done.column("flows", "start_ps");
    let events: Vec<usize> = (0..starts.len()).step_by(fan_in).collect();
    for first in &events {
        let own = *first..first + fan_in;
        assert!(own.clone().all(|flow| starts[flow] == starts[*first] && to[flow] == to[*first]));
        let mut senders: Vec<&str> = from[own].to_vec();
        senders.sort_unstable();
        senders.dedup();
        assert_eq!(senders.len(), fan_in);
        assert!(!senders.contains(&to[*first]));
    }
    let mean = load * 11.0 * 10e9 * seconds / (8.0 * 1460.0 * fan_in as f64);
    close("events", events.len() as f64, mean, 4.0 / mean.sqrt());
    // Each host receives some of them, and sends in some.
    for names in [&from, &to] {
        let mut hosts = names.to_vec();
        hosts.sort_unstable();
        hosts.dedup();
        assert_eq!(hosts.len(), 11);
    }
}

/// A burst of 40 packets comes to a port of a tenth of its rate. The port holds ten at most, the one in transmission included, whether its
/// limit is in packets or in bytes. PFabric's limit says that it leaves the one in transmission out.
#[test]
fn a_port_holds_what_its_limit_says() {
    let plain = [
        "drop-tail",
        "codel",
        "dualpi2",
        "dualq-curvy-red",
        "fq-codel",
        "fq",
        "pfabric",
        "pi2",
        "pie",
        "ramp",
        "red",
    ];
    let mut queues: Vec<Value> = plain.iter().map(|kind| json!({"kind": kind})).collect();
    queues.extend([
        json!({"kind": "threshold", "mark_at": "5pkt"}),
        json!({"kind": "double-threshold", "start_above": "5pkt", "stop_below": "3pkt"}),
        json!({"kind": "coupled"}),
        json!({"kind": "policer", "rate": "10Gbps", "burst": "1MB"}),
    ]);
    for queue in queues {
        for limit in ["10pkt", "15000B"] {
            let done = run(with(
                json!({
                    "duration": "1ms",
                    "topology": {"kind": "star", "senders": 1, "rate": "1Gbps", "sender_rate": "10Gbps", "delay": "1us"},
                    "queue": {"limit": limit},
                    "transport": {"opening": "established", "cc": "newreno", "initial_window": "40pkt"},
                    "traffic": {"x": {"kind": "bulk", "from": "s0", "to": "r0", "bytes": "58400B"}},
                }),
                json!({"queue": queue}),
            ));
            let packets = if queue["kind"] == "pfabric" { 11.0 } else { 10.0 };
            let most = ["max_packets", "max_bytes"].map(|column| done.port("switch->r0", column));
            assert_eq!(most, [packets, packets * 1500.0], "{queue} {limit}");
        }
    }
}
