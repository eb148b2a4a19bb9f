//! Credit of receivers over Ultra Ethernet's transport: the rate that pulls make, shares of an incast, the start, and losses of any packet.
//!
//! Sources: UE 1.0.3 p. 399, uet-htsim 40ccb05, as in `transport/uec/credit.rs`.

use crate::bench::{MS, Run, US, run, with};
use serde_json::{Value, json};

/// A full packet of 100 Gb/s takes 80 ps a byte.
const BYTE: u64 = 80;
const MTU: u64 = 4096;
const FULL: u64 = MTU + 64;
/// Units of 256 bytes that a pull grants, in bytes: four packets, rounded up.
const GRANT: u64 = 65 * 256;

/// `senders` hosts with a message of `packets` full packets each to one, under `cc`, beside credit of the receiver.
fn incast(senders: u64, packets: u64, cc: &str, changes: Value) -> Value {
    let document = json!({
        "duration": "1s",
        "topology": {"kind": "star", "senders": senders, "rate": "100Gbps", "delay": "1us"},
        "queue": {"kind": "trimming", "limit": "1bdp", "last_hop_room": "1.5bdp", "header_limit": "none", "newest": 0.0},
        "transport": {"profile": "uec", "cc": cc, "receiver_credit": true},
        "traffic": {"x": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": format!("{}B", packets * MTU), "start": "1us"}},
    });
    with(document, changes)
}

fn sum(run: &Run, table: &str, column: &str) -> f64 {
    run.column(table, column).iter().sum()
}

/// A message within the first credit leaves at the line rate.
#[test]
fn the_first_credit_needs_no_answer() {
    for cc in ["line-rate", "nscc"] {
        for packets in [1, 2, 12] {
            let done = run(incast(1, packets, cc, json!({})));
            assert_eq!(done.fct(), [BYTE * FULL * (packets + 1) + 2 * US], "{cc} {packets}");
        }
    }
}

/// Beyond it a long message has 0.99 of the link: four packets for each pull. Within two round trips, of 10 us together, for the start.
#[test]
fn pulls_let_out_what_fills_the_link() {
    let packets = 4000;
    let done = run(incast(1, packets, "line-rate", json!({})));
    let spacing = GRANT * BYTE * 100 / 99;
    let least = packets * FULL / GRANT * spacing;
    let took = done.fct()[0];
    assert!(took >= least - 10 * US && took <= least + 10 * US, "{took} for {least}");
    assert_eq!(sum(&done, "queues", "trims"), 0.0);
}

/// Four packets are 16 KiB, after which an answer is due, and a pull grants as many. A sender without a window asks for no more of
/// them than where its credit ends, which is by the end of a pull.
#[test]
fn four_packets_have_an_answer_and_a_pull() {
    let packets = 4000;
    let done = run(incast(1, packets, "line-rate", json!({})));
    let ports = done.words("queues", "port").into_iter().zip(done.column("queues", "packets_out"));
    let back: f64 = ports.filter(|(port, _)| *port == "r0->switch").map(|(_, packets)| packets).sum();
    let (least, most) = ((packets / 4) as f64, (packets / 4 * 2) as f64);
    assert!(back > least && back <= 1.05 * most, "{back} for {most}");
}

/// Receivers share their link among sources by turns: all messages end together, within two turns and the first credit, and nothing is trimmed after the
/// first credits are spent.
#[test]
fn an_incast_shares_by_turns() {
    for (senders, packets) in [(8u64, 800u64), (32, 400)] {
        let done = run(incast(senders, packets, "line-rate", json!({})));
        let fct = done.fct();
        let (first, last) = (fct.iter().min().expect("messages"), fct.iter().max().expect("messages"));
        let busy = BYTE * FULL * senders * packets;
        let turn = senders * GRANT * BYTE * 100 / 99;
        // One whose first credit came through whole is ahead by that, where another's was trimmed.
        let ahead = senders * BYTE * (58_320 * 3 / 2 + FULL);
        assert!(last - first <= 2 * turn + ahead, "{senders}: {first} to {last}, a turn is {turn}");
        assert!(*last >= busy && *last <= busy * 103 / 100 + 20 * US, "{senders}: {last} for {busy}");
        // First credits are 1.5 products each, of which the queue holds 1.5 in all.
        let spent = senders as f64 * 58_320.0 * 1.5 / FULL as f64 + senders as f64;
        assert!(sum(&done, "queues", "trims") <= spent, "{}", sum(&done, "queues", "trims"));
    }
}

/// A pull grants no more than its source wants, and the next one follows sooner: an incast of short messages, each of which ends with a
/// part of a pull, takes the link's time at 0.99 and the headers on it. Sources ask more and more seldom while they wait for their turns.
#[test]
fn a_pull_grants_what_is_wanted() {
    let (senders, packets) = (100u64, 13u64);
    let done = run(incast(senders, packets, "line-rate", json!({"transport": {"timeout": "20us"}})));
    let last = *done.fct().iter().max().expect("messages");
    let trims = sum(&done, "queues", "trims") as u64;
    let data = senders * packets + sum(&done, "flows", "retransmissions") as u64;
    let headers = sum(&done, "flows", "packets_sent") as u64 - data;
    let turn = senders * GRANT * BYTE * 100 / 99;
    // A source waits a turn and the first credits at most, which so many doublings of 20 us span, for each of four pulls.
    let doublings = u64::from((2 * turn / (20 * US)).ilog2()) + 2;
    assert!(headers <= 4 * doublings * senders, "{headers} headers");
    let busy = BYTE * (FULL * senders * packets + 64 * (trims + headers));
    // A source's last packet leaves while its credit is above zero, and what it lacks is granted afterwards: a packet each at most.
    let late = senders * FULL * BYTE;
    assert!(last >= busy && last <= (busy + late) * 100 / 99, "{last} for {busy}");
}

/// The flows of one card share what one of them may want. A sender of one flow, beside two that have nine others each, gets what these two
/// leave: their cards give a tenth to each flow, so that eight tenths of the receiver's link are left. Within a twentieth, for the first
/// credits; with the whole want of each it would end a tenth later.
#[test]
fn the_flows_of_a_card_share_what_one_may_want() {
    let hosts: Vec<String> = (0..22).map(|n| format!("h{n}")).collect();
    let link = |host: &String| json!({"from": host, "to": "sw", "rate": "100Gbps", "delay": "1us"});
    let flow = |from: &str, to: &str| json!({"from": from, "to": to, "bytes": "2MB", "start": "0s"});
    let mut flows = vec![flow("h1", "h0"), flow("h2", "h0"), flow("h3", "h0")];
    flows.extend((4..13).map(|n| flow("h2", &hosts[n])));
    flows.extend((13..22).map(|n| flow("h3", &hosts[n])));
    let links: Vec<Value> = hosts.iter().map(link).collect();
    let mut document = incast(1, 1, "nscc", json!({}));
    document["topology"] = json!({"kind": "graph", "hosts": hosts, "switches": ["sw"], "links": links});
    document["traffic"] = json!({"x": {"kind": "table", "flows": flows}});
    let took = run(document).fct()[0];
    let wire = 2_000_000 * FULL / MTU * BYTE * 10 / 8;
    assert!(took * 20 >= wire * 19 && took * 20 <= wire * 21, "{took} for {wire}");
}

/// Beside NSCC, what the last hop trims says nothing to the window about the fabric, and the incast takes the link's time.
#[test]
fn it_works_beside_nscc() {
    let done = run(incast(16, 400, "nscc", json!({})));
    let last = done.fct().into_iter().max().expect("messages");
    let busy = BYTE * FULL * 16 * 400;
    assert!(last >= busy && last <= busy * 106 / 100, "{last} for {busy}");
}

/// A connection that was idle has the credit that it got unasked, up to 1.5 products: a message of so much leaves without a round trip.
#[test]
fn an_idle_source_has_credit() {
    let kept = json!({"traffic": {"x": {
        "kind": "messages", "bytes": format!("{}B", 12 * MTU), "interval": "1ms", "count": 3, "connection": "persistent", "start": "0s",
    }}});
    let done = run(incast(1, 12, "line-rate", kept));
    let alone = (BYTE * FULL * 13 + 2 * US) as f64;
    assert_eq!(done.column("messages", "fct_ps"), [alone; 3]);
}

/// Any packet may be lost, data, answers and pulls: headers ask again, and every message ends.
#[test]
fn losses_of_any_packet_end_nothing() {
    for cc in ["line-rate", "nscc"] {
        for (port, loss) in [("s*->switch", 0.02), ("switch->s*", 0.1), ("*->*", 0.02)] {
            let changes = json!({
                "port": {port: {"loss": loss}},
                "transport": {"timeout": "100us", "retries": 50, "backoff": "none"},
            });
            let done = run(incast(4, 300, cc, changes));
            assert_eq!(done.fct().len(), 4, "{cc} {port}");
            assert!(done.fct().iter().all(|took| *took < 500 * MS), "{cc} {port}");
            assert!(sum(&done, "flows", "retransmissions") > 0.0 || port.starts_with("switch"));
        }
    }
}

/// Without a window and without credit nothing bounds a sender.
#[test]
fn a_control_that_bounds_nothing_needs_credit() {
    let document = incast(1, 1, "line-rate", json!({"transport": {"receiver_credit": false}}));
    let faults = shallows_spec::load(&document.to_string()).err().unwrap_or_default();
    let found: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert!(
        found.len() == 1 && found[0].contains("receiver_credit") && found[0].contains("line-rate"),
        "{found:?}"
    );
}

/// UE 1.0.3 s.3.6.13.7: a probe after the first answer measures the path, where the configured round trip is that of a longer one. It
/// leaves unless about a product is left at most.
#[test]
fn a_probe_measures_the_base_round_trip() {
    let base = 4 * US + 2 * BYTE * FULL;
    let long = |packets: u64, probes: bool| {
        let changes = json!({
            "transport": {
                "receiver_credit": false, "start_probe": probes,
                "cc": {"kind": "nscc", "base_rtt": "30us"},
            },
            "probe": {"packets": ["s0->switch"], "flow_trace": "1us"},
        });
        run(incast(1, packets, "nscc", changes))
    };
    let headers = |done: &Run| done.column("packets", "size").iter().filter(|size| **size == 64.0).count();
    let done = long(400, true);
    assert_eq!(headers(&done), 1);
    // The greatest window is 1.5 times what the card sends in the round trip of the path.
    let greatest = |done: &Run| done.column("flow_trace", "cwnd_bytes").last().copied().expect("rows");
    // Samples of full packets count the answer's bytes over two links, too.
    let most = ((base + 2 * BYTE * 64) as f64 / BYTE as f64 * 1.5).floor();
    assert!(greatest(&done) <= most + 1.0, "{} for {most}", greatest(&done));
    let without = long(400, false);
    assert_eq!(headers(&without), 0);
    assert_eq!(headers(&long(12, true)), 0);
}

/// Marks choose paths although no window follows them: one of two ways has a quarter of the rate, and long queues that mark and do not trim. With a
/// penalty for marked values that way carries less than without one.
#[test]
fn marks_choose_paths_without_a_window() {
    let over_the_slow_way = |entropy: &str| {
        let links = [("a", "s0"), ("s0", "m0"), ("s0", "m1"), ("m0", "s1"), ("m1", "s1"), ("s1", "b")];
        let links =
            links.map(|(from, to)| json!({"from": from, "to": to, "rate": "100Gbps", "delay": "1us"}));
        let done = run(json!({
            "duration": "10ms",
            "topology": {"kind": "graph", "hosts": ["a", "b"], "switches": ["s0", "s1", "m0", "m1"], "links": links},
            "queue": {"kind": "trimming", "limit": "10MB", "kmin": "20KB", "kmax": "80KB"},
            "port": {"s0->m0": {"rate": "25Gbps"}},
            "transport": {"profile": "uec", "cc": "line-rate", "receiver_credit": true, "entropy": entropy},
            "traffic": {"x": {"kind": "bulk", "from": "a", "to": "b", "bytes": "4MB"}},
        }));
        assert_eq!(sum(&done, "queues", "trims"), 0.0, "{entropy}");
        let ways = done.words("queues", "port").into_iter().zip(done.column("queues", "packets_out"));
        ways.filter(|(port, _)| *port == "s0->m0").map(|(_, packets)| packets).sum::<f64>()
    };
    let [without, with] = ["oblivious", "bitmap"].map(over_the_slow_way);
    assert!(with < 0.7 * without, "{with} {without}");
}

/// UE 1.0.3 s.3.6.14: no marks at the last hop beside credit. They are legal, and said.
#[test]
fn marks_at_the_last_hop_are_said() {
    let marks = json!({"queue": {"kmin": "20KB", "kmax": "80KB"}});
    let plain = json!({"kind": "trimming", "limit": "1bdp", "header_limit": "none"});
    let apart = with(marks.clone(), json!({"port": {"switch->*": {"queue": plain}}}));
    let alone = with(marks.clone(), json!({"transport": {"receiver_credit": false}}));
    for (changes, said) in [(marks, true), (apart, false), (alone, false), (json!({}), false)] {
        let done = run(incast(2, 10, "nscc", changes));
        let found = done
            .simulation
            .notes()
            .iter()
            .any(|note| note.contains("switch->r0") && note.contains("no marks there"));
        assert_eq!(found, said, "{:?}", done.simulation.notes());
    }
}
