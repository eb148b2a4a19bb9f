//! Links that fail and change, and choices among equal paths: what is lost, what is left, and in which order.

use crate::bench::{FULL, HEADER, Run, US, close, near, pair, run, watch, with};
use serde_json::{Value, json};

/// Four hosts on each of two leaves, joined by as many spines as hosts: full bisection.
fn clos(ecmp: &str) -> Value {
    json!({"duration": "6ms", "warmup": "2ms", "ecmp": ecmp,
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 4, "hosts_per_leaf": 4, "rate": "10Gbps", "delay": "2us"},
        "queue": {"kind": "drop-tail", "limit": "none"},
        // Patience with duplicates, since packets overtake each other.
        "transport": {"cc": "newreno", "ecn": "off", "opening": "established", "dup_acks": 10_000,
            "min_rto": "1s", "initial_rto": "1s"},
        "traffic": {"x": {"kind": "bulk", "from": "h0..h3", "to": "h4..h7", "pattern": "pairs"}}})
}

fn total(run: &Run) -> f64 {
    run.column("flows", "goodput_bps").iter().sum()
}

/// A permutation of hosts gets the bisection that failures leave: with n of four spines n times 10 Gb/s, less headers.
#[test]
fn a_permutation_gets_the_bisection_that_is_left() {
    for failed in 0..4u64 {
        let mut document = clos("round-robin");
        for spine in 0..failed {
            document["event"][format!("cut{spine}")] =
                json!({"at": "0s", "link": format!("leaf*<->spine{spine}"), "state": "down"});
        }
        let done = run(document);
        let want = (4 - failed) as f64 * 10e9 * (FULL - HEADER) as f64 / FULL as f64;
        close(&format!("{failed} spines failed"), total(&done), want, 0.01);
        for spine in 0..4 {
            let share = done.port(&format!("leaf0->spine{spine}"), "utilisation");
            near(&format!("spine{spine}"), share, if spine < failed { 0.0 } else { 1.0 }, 0.01);
        }
        assert_eq!(
            done.column("flows", "drops").iter().sum::<f64>(),
            0.0,
            "nothing was on a link that failed"
        );
    }
}

/// Two switches with so many cables between them, and eight hosts at each.
fn bundle(cables: u64, ecmp: &str) -> Value {
    let link =
        |host: String, switch: &str| json!({"from": host, "to": switch, "rate": "10Gbps", "delay": "2us"});
    let mut links: Vec<Value> =
        (0..8).flat_map(|i| [link(format!("a{i}"), "x"), link(format!("b{i}"), "y")]).collect();
    // The first in one row, the others in another that points the other way.
    links.push(json!({"from": "x", "to": "y", "rate": "10Gbps", "delay": "2us"}));
    if cables > 1 {
        links.push(json!({"from": "y", "to": "x", "rate": "10Gbps", "delay": "2us", "cables": cables - 1}));
    }
    json!({"duration": "6ms", "warmup": "2ms", "ecmp": ecmp,
        "topology": {"kind": "graph", "hosts": ["a0..a7", "b0..b7"], "switches": ["x", "y"], "links": links},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "transport": {"cc": "newreno", "ecn": "off", "opening": "established", "dup_acks": 10_000,
            "min_rto": "1s", "initial_rto": "1s"},
        "traffic": {"x": {"kind": "bulk", "from": "a*", "to": "b*", "pattern": "pairs"}}})
}

/// Several cables between two switches are equal next hops: packets in turn fill all of them, and each has ports of its own.
#[test]
fn cables_side_by_side_carry_their_sum() {
    for cables in 1..=4u64 {
        let done = run(bundle(cables, "round-robin"));
        let want = cables as f64 * 10e9 * (FULL - HEADER) as f64 / FULL as f64;
        close(&format!("{cables} cables"), total(&done), want, 0.01);
        for cable in 1..=cables {
            let name = if cables == 1 { "x->y".into() } else { format!("x->y#{cable}") };
            near(&name, done.port(&name, "utilisation"), 1.0, 0.01);
        }
    }
    // By a hash each flow keeps to one; sixteen of them find both of two.
    let hashed = run(with(bundle(2, "flow"), json!({"traffic": {"x": {"flows": 2}}})));
    for cable in ["x->y#1", "x->y#2"] {
        assert!(hashed.port(cable, "utilisation") > 0.9, "{cable}");
    }
}

/// An event or an override names one cable by its number, or all of them.
#[test]
fn a_cable_of_several_fails_alone() {
    let cut = |link: &str| json!({"event": {"cut": {"at": "0s", "link": link, "state": "down"}}});
    let one = run(with(bundle(3, "round-robin"), cut("x<->y#2")));
    assert_eq!(one.port("x->y#2", "packets_out") + one.port("y->x#2", "packets_out"), 0.0);
    close("two are left", total(&one), 20e9 * (FULL - HEADER) as f64 / FULL as f64, 0.01);
    let slow = with(bundle(2, "round-robin"), json!({"port": {"x->y": {"rate": "1Gbps"}}}));
    close("both are slow", total(&run(slow)), 2e9 * (FULL - HEADER) as f64 / FULL as f64, 0.02);
}

/// A line from `a` to `b` over two switches, with a way around over a third; `a` sends 1 Gb/s.
fn around(events: Value) -> Value {
    let link = |from: &str, to: &str| json!({"from": from, "to": to, "rate": "10Gbps", "delay": "25us"});
    let links = [("a", "left"), ("left", "right"), ("left", "over"), ("over", "right"), ("right", "b")];
    json!({"duration": "6ms",
        "topology": {"kind": "graph", "hosts": ["a", "b"], "switches": ["left", "right", "over"],
            "links": links.map(|(from, to)| link(from, to))},
        "queue": {"kind": "drop-tail"},
        "transport": {"cc": {"kind": "cbr", "rate": "1Gbps"}, "ecn": "off", "opening": "established"},
        "traffic": {"x": {"kind": "bulk", "from": "a", "to": "b"}},
        "event": events})
}

/// A link that fails takes the packets of a gap: those that would land from the failure on, and those that come until the
/// tables follow. At 1 Gb/s a packet comes every 12 us, so they are (reconvergence + delay + transmission) / 12 us, to
/// the packet. The first is on the wire or in the transmitter, the others come to a port without a link.
#[test]
fn reconvergence_loses_the_packets_of_its_gap() {
    let (delay, transmission) = (25 * US, 1_200_000);
    for (failure, gap) in [(2000, 0), (2001, 500), (2007, 1000)] {
        let cut = json!({"cut": {"at": format!("{failure}us"), "link": "left->right", "state": "down"}});
        let done = watch(
            with(around(cut), json!({"routing": {"reconvergence": format!("{gap}us")}})),
            &["a->left", "left->over"],
        );
        // When each packet is at the switch: it is transmitted twice and travels once on its way to the far end.
        let comes = done.times("a->left").into_iter().map(|at| at + transmission + delay);
        let (failure, end) = (failure * US, (failure + gap) * US);
        let lost = |at: &u64| at + transmission + delay >= failure && *at < end;
        let expected = comes.filter(lost).count() as f64;
        let [dead, cut] = ["drops_dead", "drops_cut"].map(|column| done.port("left->right", column));
        assert_eq!(dead + cut, expected, "{gap} us");
        near(
            "by the rate",
            expected,
            (end - failure + delay + transmission) as f64 / (12.0 * US as f64),
            1.0,
        );
        near("on the wire", cut, delay as f64 / (12.0 * US as f64), 1.0);
        assert_eq!(done.flow("drops"), expected);
        // All later ones go around.
        assert!(done.times("left->over").iter().all(|at| *at >= end));
        assert!(done.port("left->over", "packets_out") > 200.0);
    }
}

/// A failure that is repaired before the tables have followed changes them twice, each time a reconvergence later; a
/// direction that did not fail loses nothing.
#[test]
fn tables_follow_each_change_by_itself() {
    let events = json!({
        "cut": {"at": "1ms", "link": "left->right", "state": "down"},
        "mend": {"at": "1100us", "link": "left->right", "state": "up"},
    });
    let done = watch(
        with(around(events), json!({"routing": {"reconvergence": "500us"}})),
        &["left->over", "left->right"],
    );
    let over = done.times("left->over");
    assert!(over.first().is_some_and(|at| *at >= 1500 * US) && over.last().is_some_and(|at| *at < 1600 * US));
    near("packets that go around", over.len() as f64, 100.0 / 12.0, 1.0);
    near("lost", done.port("left->right", "drops_dead"), 100.0 / 12.0, 1.0);
    assert_eq!(done.port("right->left", "drops_dead") + done.port("right->left", "drops_cut"), 0.0);
}

/// The bottleneck's rate is halved: goodput and utilisation are those of the new rate afterwards, and the port was busy at both
/// rates all the time.
#[test]
fn half_the_rate_is_half_the_goodput() {
    let slower = json!({"slower": {"at": "50ms", "link": "switch->r0", "rate": "5Gbps"}});
    let transport = json!({"ecn": "on", "cc": "dctcp"});
    let document = |warmup: &str| {
        with(
            pair(transport.clone(), json!({})),
            json!({"duration": "100ms", "warmup": warmup, "event": slower,
                "queue": {"kind": "threshold", "limit": "none", "mark_at": "65pkt"}}),
        )
    };
    let (whole, half) = (run(document("10ms")), run(document("50ms")));
    let payload = (FULL - HEADER) as f64 / FULL as f64;
    close("afterwards", half.flow("goodput_bps"), 5e9 * payload, 0.005);
    close("both", whole.flow("goodput_bps"), (4.0 * 10e9 + 5.0 * 5e9) / 9.0 * payload, 0.005);
    for done in [&whole, &half] {
        close("utilisation", done.port("switch->r0", "utilisation"), 1.0, 0.002);
        assert_eq!(done.port("switch->r0", "rate_bps"), 5e9);
    }
}

/// A longer wire delays each message by the difference, to the picosecond. After a shorter one packets keep their order: the
/// first waits for the last that left before.
#[test]
fn delays_move_messages_and_keep_order() {
    let load = json!({"kind": "messages", "bytes": "1460B", "interval": "1ms", "count": 9});
    let change = |delay: &str| json!({"event": {"moved": {"at": "4500us", "link": "switch->r0", "delay": delay}}, "duration": "20ms"});
    let fct = run(with(pair(json!({}), load.clone()), change("75us"))).fct();
    assert_eq!(fct[..5], [fct[0]; 5]);
    assert_eq!(fct[5..], [fct[0] + 50 * US; 4]);
    // Ideals take the shorter delay throughout.
    let mended = run(with(pair(json!({}), load), change("5us")));
    let slowdowns = mended.column("messages", "slowdown");
    assert!(
        slowdowns[..5].iter().all(|s| *s > 1.3) && slowdowns[5..].iter().all(|s| *s == 1.0),
        "{slowdowns:?}"
    );
    // A burst on the wire when the delay falls from 25 us to nothing: it comes in order, none is sent twice.
    let burst = with(
        pair(json!({"initial_window": "100pkt"}), json!({"bytes": "146KB"})),
        json!({"event": {"moved": {"at": "60us", "link": "switch->r0", "delay": "0s"}}, "duration": "5ms"}),
    );
    let done = run(burst);
    assert_eq!(done.flow("retransmissions"), 0.0);
    // The 100th packet leaves the switch 100 transmissions and one more after the host began, and the first delay.
    assert_eq!(done.fct(), [101 * 1_200_000 + 25 * US]);
}

/// Flowlets never overtake each other while the gap is longer than the difference of delays (Kandula 2007), and do where it
/// is shorter than the pause between two packets. All paths are used both times.
#[test]
fn flowlets_keep_their_order_beyond_the_difference_of_delays() {
    let retransmissions = |gap: &str| {
        // Bursts of ten packets, 1 ms apart; one spine is 100 us farther.
        let done = run(json!({"duration": "200ms", "ecmp": "flowlet", "routing": {"flowlet_gap": gap},
            "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 1, "rate": "10Gbps", "delay": "2us"},
            "port": {"*->spine1": {"delay": "102us"}},
            "queue": {"kind": "drop-tail"},
            "transport": {"cc": "newreno", "opening": "established", "ecn": "off", "initial_window": "20pkt", "idle_restart": false},
            "traffic": {"x": {"kind": "messages", "from": "h0", "to": "h1", "bytes": "14600B", "interval": "1ms"}}}));
        for spine in 0..2 {
            assert!(done.port(&format!("leaf0->spine{spine}"), "packets_out") > 300.0, "{gap}");
        }
        done.flow("retransmissions")
    };
    assert_eq!(retransmissions("110us"), 0.0);
    assert!(retransmissions("100ns") > 100.0);
}

/// The queues of equal ports are never more than a packet apart when each packet takes the least loaded one.
#[test]
fn the_least_loaded_port_keeps_queues_within_a_packet() {
    let spines: Vec<String> = (0..4).map(|spine| format!("leaf0->spine{spine}")).collect();
    let document = with(
        clos("least-loaded"),
        json!({"duration": "500us", "warmup": "0s", "topology": {"uplink_rate": "2500Mbps"},
            "traffic": {"x": {"from": "h0..h2", "to": "h4..h6"}},
            "probe": {"queue_trace": "change", "ports": spines}}),
    );
    let done = run(document);
    let (ports, times) = (done.words("queue_trace", "port"), done.column("queue_trace", "time_ps"));
    let mut rows: Vec<(u64, usize, f64)> = vec![];
    for (row, packets) in done.column("queue_trace", "packets").into_iter().enumerate() {
        let port = spines.iter().position(|name| *name == ports[row]).expect("a port that is traced");
        rows.push((times[row] as u64, port, packets));
    }
    rows.sort_by_key(|row| row.0);
    let (mut held, mut most, mut apart) = ([0.0f64; 4], 0.0f64, 0.0f64);
    for (i, (at, port, packets)) in rows.iter().enumerate() {
        held[*port] = *packets;
        if rows.get(i + 1).is_none_or(|next| next.0 != *at) {
            let (high, low) =
                (held.iter().copied().fold(0.0, f64::max), held.iter().copied().fold(1e9, f64::min));
            (most, apart) = (most.max(high), apart.max(high - low));
        }
    }
    assert!(most > 20.0, "queues stand: {most}");
    assert_eq!(apart, 1.0);
}

/// Weights share flows: of 400 equal ones a port of weight 3 beside one of weight 1 carries three quarters, within five
/// standard deviations; with the weights of the rates no link is fuller than another.
#[test]
fn weights_share_flows() {
    let flow = |i: u64| json!({"from": format!("h{}", i % 4), "to": format!("h{}", 4 + i % 4), "bytes": "14600B", "start": format!("{i}us")});
    let done = run(json!({"duration": "10ms", "ecmp": "weighted",
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "rate": "10Gbps", "delay": "2us"},
        "port": {"leaf*->spine0": {"weight": 3}},
        "queue": {"kind": "drop-tail"},
        "transport": {"cc": "newreno", "opening": "established"},
        "traffic": {"x": {"kind": "table", "flows": (0..400).map(flow).collect::<Vec<_>>()}}}));
    let flows = done.port("leaf0->spine0", "packets_out") / 10.0;
    near("flows over the first spine", flows, 300.0, 5.0 * (400.0f64 * 0.75 * 0.25).sqrt());
    assert_eq!(flows + done.port("leaf0->spine1", "packets_out") / 10.0, 400.0);
}

/// A host that is cut off waits: its flow sends again at its timeouts, and ends after the repair. One that is cut off for
/// ever harms nobody.
#[test]
fn a_host_that_is_cut_off_waits_and_ends() {
    let cut = json!({"cut": {"at": "100us", "link": "r0<->switch", "state": "down"}});
    let mut events = cut.clone();
    events["mend"] = json!({"at": "20ms", "link": "r0<->switch", "state": "up"});
    let document = |events: Value| {
        with(
            pair(json!({"min_rto": "1ms", "initial_rto": "1ms"}), json!({"bytes": "1MB"})),
            json!({"duration": "500ms", "event": events}),
        )
    };
    let mended = run(document(events));
    assert!(mended.flow("timeouts") >= 4.0, "{}", mended.flow("timeouts"));
    let end = mended.fct()[0];
    assert!(end > 20_000 * US && end < 60_000 * US, "{end}");
    let dead = run(document(cut));
    assert!(dead.column("messages", "end_ps")[0].is_nan());
    let lost = dead.port("switch->r0", "drops_dead") + dead.port("switch->r0", "drops_cut");
    assert_eq!(
        dead.flow("drops"),
        lost + dead.port("r0->switch", "drops_dead") + dead.port("r0->switch", "drops_cut")
    );
}

/// The shortest way is slow, and fails: the way around takes a tenth of the time a packet, and no message is faster than its
/// ideal, which is the time on that way.
#[test]
fn an_ideal_knows_the_ways_that_failures_open() {
    let events = json!({"cut": {"at": "5ms", "link": "left<->right", "state": "down"}});
    let done = run(with(
        around(events),
        json!({"duration": "20ms",
            "port": {"left->right": {"rate": "1Gbps"}, "left->over": {"delay": "1us"}, "over->right": {"delay": "1us"}},
            "transport": {"cc": "newreno"},
            "traffic": {"x": {"kind": "messages", "bytes": "14600B", "interval": "500us"}}}),
    ));
    let slowdowns = done.column("messages", "slowdown");
    let (before, after) = slowdowns.split_at(10);
    assert!(before.iter().all(|s| *s > 1.5), "{before:?}");
    assert!(after.len() > 20 && after.iter().all(|s| *s == 1.0), "{after:?}");
}
