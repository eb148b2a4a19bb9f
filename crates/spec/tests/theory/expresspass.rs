//! ExpressPass against its closed forms: the first packet's time, the link's share, convergence by algorithm 1, queues that credits bound,
//! the target of losses, paths there and back.
//!
//! Source: Cho, Jang and Han 2017 (SIGCOMM) s.3. At 10 Gb/s a byte takes 800 ps.

use crate::bench::{Run, US, close, run, with};
use serde_json::{Value, json};

/// A full packet, its payload, and a credit.
const FULL: u64 = 1538;
const MTU: u64 = 1460;
const CREDIT: u64 = 84;
/// A credit and its packet have the link's time together.
const APART: u64 = (FULL + CREDIT) * 800;
/// A request and a credit through a switch, and a full packet, each over two links of 1 us.
const SHORT: u64 = 2 * (CREDIT * 800 + US);
const LONG: u64 = 2 * (FULL * 800 + US);

/// `senders` hosts with a message of `packets` full packets each to one, at 10 Gb/s, 1 us a link.
fn incast(senders: u64, packets: u64, changes: Value) -> Value {
    let document = json!({
        "duration": "1s",
        "topology": {"kind": "star", "senders": senders, "rate": "10Gbps", "delay": "1us"},
        "queue": "credit",
        "transport": {"profile": "expresspass", "cc": "line-rate"},
        "traffic": {"x": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": format!("{}B", packets * MTU)}},
    });
    with(document, changes)
}

fn sum(run: &Run, table: &str, column: &str) -> u64 {
    run.column(table, column).iter().sum::<f64>() as u64
}

/// A request without an answer goes again after 1, 2, 4, 8 ... ms: four times in 20 ms.
#[test]
fn requests_without_an_answer_go_again_ever_later() {
    let done = run(incast(1, 1, json!({"duration": "20ms", "port": {"switch->r0": {"loss": 1.0}}})));
    assert_eq!((sum(&done, "flows", "timeouts"), sum(&done, "credits", "sent")), (4, 0));
}

/// The books: each credit was used, wasted or dropped once all is over, a packet left for each that was used, and nothing but credits was dropped.
fn books(done: &Run) {
    assert!(done.simulation.books().balance());
    let [sent, used, wasted, dropped, under_way] =
        ["sent", "used", "wasted", "dropped", "in_flight"].map(|column| sum(done, "credits", column));
    assert_eq!(sent, used + wasted + dropped + under_way);
    assert_eq!(used, sum(done, "flows", "packets_sent"));
    assert_eq!(dropped, done.simulation.books().dropped);
    assert_eq!(dropped, sum(done, "queues", "drops_full"));
    assert_eq!(sum(done, "flows", "retransmissions"), 0);
}

/// A message of one packet: the request, a credit, the packet. Exact.
#[test]
fn a_packet_comes_a_round_trip_after_its_request() {
    let done = run(incast(1, 1, json!({})));
    assert_eq!(done.fct(), [2 * SHORT + LONG]);
    assert_eq!(sum(&done, "credits", "used"), 1);
    books(&done);
}

/// A flow alone has the link but for the credits of the way back, which has 84 of 84 + 1538 bytes of it. By the simulator's control it sends as many credits
/// as pass. By algorithm 1 it sends a tenth more, of which the port drops 1 - 1/1.1. With 50 us a link a round trip has some 160 credits: a period's share of
/// dropped ones is then that to a hundredth, below the target.
#[test]
fn a_flow_alone_fills_its_link() {
    for (rate, control) in
        [(10.0, "simulator"), (100.0, "simulator"), (10.0, "algorithm-1"), (100.0, "algorithm-1")]
    {
        let done = run(incast(
            1,
            1,
            json!({"duration": "60ms", "warmup": "10ms", "topology": {"rate": format!("{rate}Gbps"), "delay": "50us"},
                "transport": {"control": control}, "traffic": {"x": {"bytes": "none"}}}),
        ));
        let goodput = done.flow("goodput_bps") / 1e9;
        close("the rate", goodput, rate * MTU as f64 / (FULL + CREDIT) as f64, 0.002);
        let loss = done.column("credits", "loss")[0];
        if control == "simulator" {
            assert!(loss < 0.005, "{rate}: {loss}");
        } else {
            close("lost credits", loss, 1.0 - 1.0 / 1.1, 0.03);
        }
        assert_eq!(sum(&done, "credits", "dropped"), sum(&done, "queues", "drops_full"));
    }
}

/// By hand with 1/2 for the first rate and w, and no jitter. Algorithm 1 has rates of 0.5, 0.8 and 0.95 of the link for a period each, and all of it from then
/// on: the flow loses 0.5 + 0.2 + 0.05 of a period against the link. The simulator's control halves the distance each period: 1 period in all. A
/// period has a round trip from a credit to its data, or with `own` two, one in which credits are sent and one in which they become known; it ends with the
/// next credit. The meter makes up for one packet's time, as a bucket of two credits does. A credit's time at half of the rate is 2 APART.
#[test]
fn convergence_takes_three_periods() {
    for (control, judged, periods, round_trips) in [
        ("algorithm-1", "own", 0.75, 2.0),
        ("algorithm-1", "known", 0.75, 1.0),
        ("simulator", "known", 1.0, 1.0),
    ] {
        let half =
            json!({"first_rate": 0.5, "w_first": 0.5, "jitter": 0.0, "control": control, "judged": judged});
        let packets = 2000;
        let done = run(incast(1, packets, json!({"transport": half})));
        let lost = (done.fct()[0] - (2 * SHORT + LONG) - (packets - 1) * APART) as f64;
        let (period, apart) = (round_trips * (SHORT + LONG) as f64, APART as f64);
        // The first period may last two credits' times longer, the second one credit's.
        let (least, most) =
            (periods * period - apart, periods * period + (0.5 * 4.0 + 0.5 * 3.0 - 1.0) * apart);
        assert!((least..most).contains(&lost), "{control} {judged}: {lost} is not from {least} to {most}");
        books(&done);
    }
}

/// Data never wait behind more than the credits that came in a burst: all credits to one port pass its meter on their way, which lets two leave
/// together. Requests that come together wait too. Nothing is lost, and the link hardly rests: the last message ends when all packets have had its time. It rests while the flows that
/// are left raise their rates after others have ended.
#[test]
fn an_incast_has_no_queue_and_loses_nothing() {
    for senders in [2, 16, 64] {
        let packets = 6400 / senders;
        let done = run(incast(senders, packets, json!({})));
        books(&done);
        let most = done.port("switch->r0", "max_bytes");
        assert!(most <= ((3 * FULL).max(senders * CREDIT)) as f64, "{senders}: {most}");
        let last = *done.fct().iter().max().expect("messages") as f64;
        let all = (2 * SHORT + LONG + (senders * packets - 1) * APART) as f64;
        assert!((0.999..1.05).contains(&(last / all)), "{senders}: {}", last / all);
        assert_eq!(sum(&done, "credits", "in_flight"), 0);
    }
}

/// Where credits wait in queues of their own on the way to several senders, at most eight each, data may come together that were asked for
/// apart: by as many packets as credits may wait (Cho 2017 s.3.1: the spread of delays times the link's rate).
#[test]
fn queues_are_bounded_by_the_waits_of_credits() {
    let done = run(json!({
        "duration": "10ms",
        "topology": {"kind": "star", "senders": 8, "receivers": 8, "rate": "10Gbps", "delay": "1us"},
        "queue": "credit",
        "transport": {"profile": "expresspass", "cc": "line-rate"},
        "traffic": {"x": {"kind": "bulk", "from": "s*", "to": "r*", "pattern": "all"}},
    }));
    let most = done.column("queues", "max_bytes").into_iter().fold(0.0, f64::max);
    assert!(most <= (8 + 3) as f64 * FULL as f64 + 8.0 * CREDIT as f64, "{most}");
    let dropped = sum(&done, "credits", "dropped");
    assert!(dropped > 1000 && done.simulation.books().dropped == dropped, "{dropped}");
}

/// Jain's index of rates.
fn fairness(rates: &[f64]) -> f64 {
    let (all, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
    all * all / (squares * rates.len() as f64)
}

/// Flows at one port share it, and their losses come to the target. By algorithm 1: a decrease takes the sum of rates to 1.1 of what passes, C. An increase from
/// at most C / (1 - 0.1) adds at most w (1.1 n - 1.1) C. With 0.033 for that the sum stays from 1.1 to 1.145, and the losses from 0.091 to 0.126;
/// a period's few hundred credits move that by a hundredth. By the simulator's control the target is (1 - r / C) / 8 at a rate r. Flows that share alike
/// send r = C / n / (1 - loss). So loss = (1 - 1 / (n (1 - loss))) / 8, which 0.0586 solves for two flows and 0.0906 for four; a period's credits move that
/// by a hundredth and a half.
#[test]
fn losses_of_credits_come_to_their_target() {
    for (control, judged, senders, w, least, most) in [
        ("algorithm-1", "own", 2, 0.03, 0.081, 0.136),
        ("algorithm-1", "own", 4, 0.01, 0.081, 0.136),
        ("simulator", "known", 2, 0.01, 0.0436, 0.0736),
        ("simulator", "known", 4, 0.01, 0.0756, 0.1056),
    ] {
        let done = run(incast(
            senders,
            1,
            json!({"duration": "150ms", "warmup": "50ms", "topology": {"delay": "50us"}, "traffic": {"x": {"bytes": "none"}},
                "transport": {"w_first": w, "w_min": w, "w_max": w, "control": control, "judged": judged}}),
        ));
        let loss = sum(&done, "credits", "dropped") as f64 / sum(&done, "credits", "sent") as f64;
        let rates = done.column("flows", "goodput_bps");
        assert!((least..most).contains(&loss), "{control} {senders}: {loss}");
        assert!(fairness(&rates) > 0.99, "{control} {senders}: {rates:?}");
        close("the link", rates.iter().sum::<f64>() / 1e9, 10.0 * MTU as f64 / (FULL + CREDIT) as f64, 0.002);
    }
}

/// A flow that begins at a full link has its share soon, and keeps it.
#[test]
fn a_later_flow_gets_its_share() {
    let done = run(incast(
        2,
        1,
        json!({"duration": "100ms", "warmup": "60ms", "topology": {"delay": "25us"},
            "traffic": {"x": {"bytes": "none", "stagger": "50ms"}}}),
    ));
    let rates = done.column("flows", "goodput_bps");
    assert!(fairness(&rates) > 0.99, "{rates:?}");
}

/// Lost packets of any kind are made up for: requests and stops go again, gaps that credits report too.
#[test]
fn faults_of_wires_are_repaired() {
    let done = run(incast(4, 500, json!({"port": {"*->*": {"loss": 0.01}}})));
    assert_eq!(done.column("flows", "delivered_bytes"), [(500 * MTU) as f64; 4]);
    assert!(done.simulation.books().balance());
    assert!(sum(&done, "flows", "retransmissions") > 10);
    let [sent, used, wasted, dropped] =
        ["sent", "used", "wasted", "dropped"].map(|column| sum(&done, "credits", column));
    assert_eq!(sent, used + wasted + dropped);
}

fn clos(topology: Value, from: &str, to: &str) -> Value {
    json!({
        "duration": "3ms",
        "ecmp": "symmetric",
        "topology": topology,
        "queue": "credit",
        "transport": {"profile": "expresspass", "cc": "line-rate"},
        "traffic": {"x": {"kind": "bulk", "from": from, "to": to, "bytes": "300KB"}},
    })
}

/// Credits take the links of their data: whatever port of a cable has sent something, its other port has too. Other rules are refused.
#[test]
fn credits_and_data_take_the_same_links() {
    let leaf_spine = json!({"kind": "leaf-spine", "leaves": 4, "spines": 4, "hosts_per_leaf": 2});
    let fat_tree = json!({"kind": "fat-tree", "k": 4, "rate": "10Gbps", "delay": "1us"});
    for topology in [leaf_spine, fat_tree] {
        let mut ways = std::collections::BTreeSet::new();
        for to in 2..8 {
            let document = clos(topology.clone(), "h0", &format!("h{to}"));
            let done = run(document.clone());
            let sent = done.column("queues", "packets_out");
            let ports = done.words("queues", "port");
            let busy: Vec<&str> =
                ports.iter().zip(&sent).filter(|(_, sent)| **sent > 0.0).map(|(port, _)| *port).collect();
            for port in &busy {
                let (from, to) = port.split_once("->").expect("a port");
                assert!(busy.contains(&format!("{to}->{from}").as_str()), "{busy:?}");
            }
            ways.insert(format!("{busy:?}"));
            let refused = shallows_spec::load(&with(document, json!({"ecmp": "flow"})).to_string());
            let faults = refused.err().map(|faults| format!("{faults:?}"));
            assert!(faults.is_some_and(|faults| faults.contains("must be \\\"symmetric\\\"")), "{to}");
        }
        assert!(ways.len() == 6);
    }
}

/// Ports that do not meter are refused by name.
#[test]
fn ports_without_meters_are_refused() {
    let document = incast(2, 10, json!({"queue": {"kind": "drop-tail"}}));
    let faults = shallows_spec::load(&document.to_string()).err().expect("it is refused");
    assert!(format!("{faults:?}").contains("does not meter credits"), "{faults:?}");
    let done = run(with(document, json!({"transport": {"unmetered": "allowed"}})));
    assert_eq!(sum(&done, "flows", "delivered_bytes"), 20 * MTU);
}
