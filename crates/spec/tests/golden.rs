//! Goldens: a printed table of some twenty rounded lines a scenario, to be read in review. They say
//! that nothing has changed; the theory tests say which values are right.

mod common;

use common::{Tables, run};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A run with its queue and windows over time, in twenty lines, and the outcome of its flows: of a few
/// from number `first` on.
fn story(mut document: Value, port: &str, first: u32) -> String {
    let rows = 20;
    let duration = document["duration"].as_str().expect("a duration").to_owned();
    let ps = shallows_units::Span::parse(&duration).expect("a time").as_ps();
    let every = format!("{}ps", ps / rows);
    document["probe"] = json!({"queue_trace": every, "flow_trace": every, "ports": port});
    let simulation = run(&document);
    assert!(simulation.books().balance());
    let tables = Tables::of(&simulation);
    windows(&tables, first)
        + &flows(&tables, first as usize)
        + &rounds(&tables)
        + &totals(&tables, port)
        + &pauses(&tables)
}

/// Time, queue, and the windows of four flows in segments of 1460 bytes; a dash for none.
fn windows(tables: &Tables, first: u32) -> String {
    let mut text = "   time us   queue pkt | flow: cwnd in segments\n".to_owned();
    let lengths = tables.u64("queue_trace", "packets");
    for (time, length) in tables.u64("queue_trace", "time_ps").iter().zip(lengths) {
        write!(text, "{:>10.1} {length:>11} |", *time as f64 / 1e6).expect("room");
        let (times, flows) = (tables.u64("flow_trace", "time_ps"), tables.u32("flow_trace", "flow"));
        let cwnd = tables.f64("flow_trace", "cwnd_bytes");
        for row in
            (0..times.len()).filter(|row| times[*row] == *time && (first..first + 4).contains(&flows[*row]))
        {
            let segments = cwnd[row] / 1460.0;
            let shown = if segments.is_nan() { "-".into() } else { format!("{segments:.1}") };
            write!(text, " {}:{shown}", flows[row]).expect("room");
        }
        text.push('\n');
    }
    text
}

fn flows(tables: &Tables, first: usize) -> String {
    let mut text =
        "flow    class  packets again timeouts marks drops   Mbit/s  wait us  alpha   fct us\n".to_owned();
    let whole = |column, row: usize| tables.u64("flows", column)[row];
    let real = |column, row: usize| tables.f64("flows", column)[row];
    for row in first..tables.rows("flows").min(first + 5) {
        let fct = Some(whole("fct_ps", row)).filter(|ps| *ps != u64::MAX);
        let fct = fct.map_or("-".into(), |ps| format!("{:.1}", ps as f64 / 1e6));
        let alpha = Some(real("alpha", row)).filter(|alpha| !alpha.is_nan());
        let alpha = alpha.map_or("-".into(), |alpha| format!("{alpha:.3}"));
        let line = writeln!(
            text,
            "{:>4} {:>8} {:>8} {:>5} {:>8} {:>5} {:>5} {:>8.1} {:>8.2} {:>6} {:>8}",
            tables.u32("flows", "id")[row],
            tables.words("flows", "class")[row],
            whole("packets_sent", row),
            whole("retransmissions", row),
            whole("timeouts", row),
            whole("marks", row),
            whole("drops", row),
            real("goodput_bps", row) / 1e6,
            real("wait_mean_ps", row) / 1e6,
            alpha,
            fct,
        );
        line.expect("room");
    }
    text
}

fn rounds(tables: &Tables) -> String {
    let whole = |column, row: usize| tables.u64("rounds", column)[row];
    let line = |row| {
        let (start, timeouts) = (whole("start_ps", row) as f64 / 1e6, whole("timeouts", row));
        match whole("fct_ps", row) {
            u64::MAX => format!("round {row} from {start:.1} us, not over\n"),
            fct => {
                format!("round {row} from {start:.1} us, {:.1} us, {timeouts} timeouts\n", fct as f64 / 1e6)
            }
        }
    };
    (0..tables.rows("rounds")).map(line).collect()
}

/// Pauses of all ports, where there is flow control.
fn pauses(tables: &Tables) -> String {
    let sent: Vec<u64> =
        tables.u64("pauses", "pauses_sent").iter().copied().filter(|n| *n < u64::MAX).collect();
    if sent.is_empty() { String::new() } else { format!("{} pauses sent\n", sent.iter().sum::<u64>()) }
}

fn totals(tables: &Tables, port: &str) -> String {
    let at = tables.port(port);
    let whole = |column| tables.u64("queues", column)[at];
    let real = |column| tables.f64("queues", column)[at];
    let ends = tables.u64("messages", "end_ps");
    format!(
        "{port}: in {} out {} drops {} marks {}; mean {:.2} pkt, p99 {}, max {}; wait {:.2} us; used {:.1} %\n\
         {} flows, {} of {} messages delivered\n",
        whole("packets_in"),
        whole("packets_out"),
        whole("drops"),
        whole("marks"),
        real("mean_packets"),
        whole("p99_packets"),
        whole("max_packets"),
        real("mean_wait_ps") / 1e6,
        real("utilisation") * 100.0,
        tables.rows("flows"),
        ends.iter().filter(|end| **end != u64::MAX).count(),
        ends.len(),
    )
}

#[test]
fn dctcp_dumbbell() {
    insta::assert_snapshot!(
        "dctcp_dumbbell",
        story(
            json!({
                "duration": "10ms",
                "topology": {"kind": "dumbbell", "left": 4, "right": 4},
                "queue": {"kind": "threshold", "limit": "250pkt", "mark_at": "65pkt"},
                "transport": {"cc": "dctcp"},
                "traffic": {"long": {"kind": "bulk", "from": "l*", "to": "r*", "pattern": "pairs", "stagger": "200us"}},
            }),
            "left->right",
            0,
        )
    );
}

#[test]
fn newreno_drop_tail() {
    insta::assert_snapshot!(
        "newreno_drop_tail",
        story(
            json!({
                "duration": "60ms",
                "topology": {"kind": "star", "senders": 2, "rate": "1Gbps", "sender_rate": "10Gbps"},
                "queue": {"kind": "drop-tail", "limit": "20pkt"},
                "transport": {"cc": "newreno"},
                "traffic": {"long": {"kind": "bulk", "from": "s*", "to": "r0", "stagger": "3ms"}},
            }),
            "switch->r0",
            0,
        )
    );
}

/// The published schedule of xDCTCP, its first fifth of a second.
#[test]
fn xdctcp_as_published() {
    let messages = |from: &str, bytes: &str, interval: &str, start: &str| {
        json!({"kind": "messages", "from": from, "to": "r0", "bytes": bytes, "interval": interval, "start": start,
            "stagger": "5ms", "primer": "10KB"})
    };
    insta::assert_snapshot!(
        "xdctcp_as_published",
        story(
            json!({
                "duration": "200ms",
                "topology": {"kind": "star", "senders": 8, "rate": "10Gbps", "sender_rate": "11Gbps"},
                "queue": {"kind": "threshold", "limit": "365000B", "mark_at": "94900B", "count_in_service": false,
                    "first_exempt": true},
                "nic": {"kind": "drop-tail", "limit": "1000pkt"},
                "transport": {"profile": "ns2", "receive_window": "1256pkt",
                    "cc": {"kind": "xdctcp", "initial_alpha": 0.0}},
                "traffic": {
                    "query": messages("s0..s1", "10240B", "1ms", "50ms"),
                    "short": messages("s2..s4", "512000B", "10ms", "60ms"),
                    "long": {"kind": "bulk", "from": "s5..s7", "to": "r0", "start": "50ms", "stagger": "10ms",
                        "primer": "10KB"},
                },
            }),
            "switch->r0",
            0,
        )
    );
}

#[test]
fn poisson_web_search() {
    // Points of the web-search distribution (Alizadeh et al. 2010), in bytes and per cent.
    let points = json!([
        [0, 0],
        [10_000, 15],
        [20_000, 20],
        [30_000, 30],
        [50_000, 40],
        [80_000, 53],
        [200_000, 60],
        [1_000_000, 70],
        [2_000_000, 80],
        [5_000_000, 90],
        [10_000_000, 97],
        [30_000_000, 100],
    ]);
    insta::assert_snapshot!(
        "poisson_web_search",
        story(
            json!({
                "duration": "20ms",
                "seed": 3,
                "topology": {"kind": "star", "senders": 4},
                "queue": {"kind": "threshold"},
                "transport": {"cc": "dctcp"},
                "traffic": {"web": {"kind": "poisson", "from": "s*", "to": "r0", "load": 0.9,
                    "sizes": {"kind": "empirical", "name": "web_search", "points": points}}},
            }),
            "switch->r0",
            0,
        )
    );
}

/// Sixty workers answer at once into a queue of forty packets: some answers are lost whole.
#[test]
fn incast_with_timeouts() {
    insta::assert_snapshot!(
        "incast_with_timeouts",
        story(
            json!({
                "duration": "45ms",
                "topology": {"kind": "star", "senders": 30},
                "queue": {"kind": "drop-tail", "limit": "40pkt"},
                "transport": {"cc": "newreno", "initial_window": "2pkt"},
                "traffic": {"incast": {"kind": "incast", "from": "s*", "to": "r0", "workers": 60, "response": "8KB",
                    "rounds": 3, "jitter": "20us"}},
            }),
            "switch->r0",
            60,
        )
    );
}

/// Eight ranks add up 600 KB twice, through queues that mark; one link is slower.
#[test]
fn ring_all_reduce() {
    insta::assert_snapshot!(
        "ring_all_reduce",
        story(
            json!({
                "duration": "10ms",
                "topology": {"kind": "star", "senders": 8, "receivers": 1, "rate": "10Gbps"},
                "queue": {"kind": "threshold", "limit": "100pkt", "mark_at": "20pkt"},
                "port": {"switch->s3": {"rate": "4Gbps"}},
                "transport": {"cc": "dctcp"},
                "traffic": {"sum": {"kind": "collective", "hosts": "s*", "bytes": "600KB", "rounds": 2, "gap": "100us"}},
            }),
            "switch->s3",
            0,
        )
    );
}

#[test]
fn parking_lot() {
    let bulk = |from: &str, to: &str| json!({"kind": "bulk", "from": from, "to": to});
    insta::assert_snapshot!(
        "parking_lot",
        story(
            json!({
                "duration": "20ms",
                "topology": {"kind": "parking-lot", "hops": 3, "rate": "1Gbps", "access_rate": "10Gbps"},
                "queue": {"kind": "threshold", "limit": "100pkt", "mark_at": "20pkt"},
                "transport": {"cc": "dctcp"},
                "traffic": {"way": bulk("s", "r"), "a1": bulk("a1", "b1"), "a2": bulk("a2", "b2"), "a3": bulk("a3", "b3")},
            }),
            "sw1->sw2",
            0,
        )
    );
}

/// Four flows over two spines, of which one fails at 2 ms and is back at 5 ms; the tables follow 300 us later.
#[test]
fn failing_link() {
    let event = |at: &str, state: &str| json!({"at": at, "link": "leaf*<->spine0", "state": state});
    insta::assert_snapshot!(
        "failing_link",
        story(
            json!({
                "duration": "8ms", "ecmp": "flowlet",
                "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "rate": "1Gbps",
                    "uplink_rate": "2Gbps"},
                "queue": {"kind": "threshold", "limit": "100pkt", "mark_at": "20pkt"},
                "transport": {"cc": "dctcp", "min_rto": "1ms"},
                "traffic": {"across": {"kind": "bulk", "from": "h0..h3", "to": "h4..h7", "pattern": "pairs"}},
                "event": {"cut": event("2ms", "down"), "mend": event("5ms", "up")},
                "routing": {"reconvergence": "300us", "flowlet_gap": "100us"},
            }),
            "leaf0->spine1",
            0,
        )
    );
}

/// Sixteen first windows of NDP meet at one port: trimmed headers, headers that return, pulls.
#[test]
fn ndp_incast() {
    insta::assert_snapshot!(
        "ndp_incast",
        story(
            json!({
                "duration": "4ms", "ecmp": "permutation",
                "topology": {"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts_per_leaf": 8, "delay": "1us"},
                "queue": {"kind": "trimming", "header_limit": "12KB"},
                "transport": {"profile": "ndp", "cc": "line-rate"},
                "traffic": {"many": {"kind": "bulk", "from": "h0..h15", "to": "h16", "bytes": "200KB", "start": "1us"}},
            }),
            "leaf2->h16",
            0,
        )
    );
}

/// Eight queue pairs write at once under DCQCN in a lossless priority: marks, notifications, pauses.
#[test]
fn lossless_incast() {
    insta::assert_snapshot!(
        "lossless_incast",
        story(
            json!({
                "duration": "2ms",
                "topology": {"kind": "star", "senders": 8, "rate": "25Gbps", "delay": "1us"},
                "queue": {"kind": "ramp", "kmin": "20KB", "kmax": "80KB", "pmax": 0.2},
                "switch": {"*": {"buffer": "400KB"}},
                "priority": {"3": {"pfc": true}, "6": {}},
                "transport": {"profile": "roce", "cc": {"kind": "dcqcn", "parameters": "vendor"}, "cnp_interval": "4us",
                    "priority": 3, "ack_priority": 6},
                "traffic": {"all": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "300KB", "jitter": "1us"}},
            }),
            "switch->r0",
            0,
        )
    );
}

/// Two queue pairs over a wire that loses packets: one NAK a gap, and everything from there on again.
#[test]
fn lossy_queue_pairs() {
    insta::assert_snapshot!(
        "lossy_queue_pairs",
        story(
            json!({
                "duration": "4ms",
                "topology": {"kind": "star", "senders": 2, "rate": "10Gbps", "delay": "1us"},
                "queue": {"kind": "drop-tail", "limit": "none"},
                "transport": {"profile": "roce", "cc": "line-rate", "timeout": "1ms"},
                "port": {"switch->r0": {"loss": 0.005}},
                "traffic": {"all": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "700KB", "jitter": "1us"}},
            }),
            "switch->r0",
            0,
        )
    );
}

/// A golden that no test reads says nothing.
#[test]
fn every_golden_is_read() {
    let scenarios = [
        "dctcp_dumbbell",
        "newreno_drop_tail",
        "xdctcp_as_published",
        "poisson_web_search",
        "incast_with_timeouts",
        "ring_all_reduce",
        "parking_lot",
        "failing_link",
        "ndp_incast",
        "lossless_incast",
        "lossy_queue_pairs",
    ];
    let expected: BTreeSet<String> = scenarios.iter().map(|name| format!("golden__{name}.snap")).collect();
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots");
    let files = std::fs::read_dir(directory).expect("a directory");
    let names = files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned());
    let found: BTreeSet<String> =
        names.filter(|name| name.starts_with("golden__") && name.ends_with(".snap")).collect();
    assert_eq!(found, expected);
}
