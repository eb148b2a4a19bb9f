//! RoCEv2 against its closed forms: packets and their times, what is acknowledged and when, go-back-N and IRN under random
//! loss, notifications, turns of queue pairs, DCQCN's fixed point in a lossless fabric.

use crate::bench::{LINE, MS, Run, US, close, pair, run, watch, with};
use crate::rdma::shared_queue;
use serde_json::{Value, json};

/// IPv4 20, UDP 8, BTH 12, ICRC 4, Ethernet 18; AETH 4 more, RETH 16, a notification's body 16.
pub const HEADER: u64 = 62;
pub const ACK: u64 = HEADER + 4;
pub const FULL: u64 = 1000 + HEADER;

/// A message of `packets` full packets of 1000 bytes over [`LINE`].
pub fn message(packets: u64, transport: Value, changes: Value) -> Value {
    let document = json!({
        "duration": "1s",
        "topology": {"kind": "star", "senders": 1, "rate": "10Gbps", "delay": "25us"},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "transport": with(json!({"profile": "roce", "cc": "line-rate", "mtu": "1000B", "verb": "send"}), transport),
        "traffic": {"x": {"kind": "bulk", "from": "s0", "to": "r0", "bytes": format!("{}B", packets * 1000)}},
    });
    with(document, changes)
}

/// Packets that the receiver sent for so many of the sender.
fn answers(run: &Run, sent: u64) -> u64 {
    run.simulation.net().totals.sent - sent
}

/// Store and forward over two links, back to back at the card's rate: n + 1 transmissions and two delays. A WRITE's first
/// packet is 16 bytes longer. Exact.
#[test]
fn a_message_takes_its_packets_times() {
    let time = |packets: u64| LINE.transmission(FULL) * (packets + 1) + 2 * LINE.delay;
    for repair in ["go-back-n", "irn"] {
        for packets in [1, 2, 50] {
            let changes = json!({"repair": repair});
            let done = run(message(packets, changes.clone(), json!({})));
            assert_eq!(done.fct(), [time(packets)], "{repair} {packets}");
            assert_eq!(done.column("messages", "ideal_ps"), [time(packets) as f64]);
            let write = run(message(packets, with(changes, json!({"verb": "write"})), json!({})));
            assert_eq!(write.fct(), [time(packets) + 2 * LINE.transmission(16)], "{repair} {packets}");
            assert_eq!(write.column("messages", "ideal_ps"), [write.fct()[0] as f64]);
        }
    }
}

/// InfiniBand s.9.7.5: one acknowledgement may cover many packets, and the last of a message asks for one.
#[test]
fn acknowledgements_cover_what_ack_every_says() {
    for (every, packets, want) in [(1, 100, 100), (16, 100, 7), (16, 96, 6), (256, 100, 1)] {
        let done = run(message(packets, json!({"ack_every": every}), json!({})));
        assert_eq!(answers(&done, packets), want, "{every}");
        assert_eq!(done.flow("retransmissions"), 0.0);
    }
}

/// InfiniBand s.9.7.5.1: an acknowledgement has the number of the last packet that it covers, a NAK that of the missing one. The second of
/// four packets is lost: the third causes the NAK, and the fourth nothing.
#[test]
fn answers_have_the_numbers_of_their_packets() {
    let changes = json!({
        "port": {"s0->switch": {"drop_packets": [2]}}, "probe": {"packets": ["s0->switch", "r0->switch"]},
    });
    let done = run(message(4, json!({"ack_every": 1}), changes));
    let numbers = |port: &str| -> Vec<f64> {
        let rows = done.words("packets", "port").into_iter().zip(done.column("packets", "psn"));
        rows.filter(|(name, _)| *name == port).map(|(_, psn)| psn).collect()
    };
    assert_eq!(numbers("s0->switch"), [0.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
    assert_eq!(numbers("r0->switch"), [0.0, 1.0, 1.0, 2.0, 3.0]);
}

/// The eleventh of 400 packets is lost. Those behind it arrive and are dropped, one NAK goes, and all from the gap on is sent
/// again: as many as left between the lost one and the NAK, which the twelfth packet causes. Exact.
#[test]
fn go_back_n_sends_all_from_the_gap_on_for_one_nak() {
    let lost = json!({"port": {"s0->switch": {"drop_packets": [11]}}});
    let done = run(message(400, json!({}), lost.clone()));
    let packet = LINE.transmission(FULL);
    let away = LINE.one_way(FULL) + LINE.one_way(ACK) + packet;
    let again = away.div_ceil(packet);
    assert_eq!(done.flow("retransmissions"), again as f64);
    assert_eq!([done.flow("fast_recoveries"), done.flow("timeouts"), done.flow("drops")], [1.0, 0.0, 1.0]);
    assert_eq!(
        answers(&done, 400 + again),
        400 + 1,
        "an acknowledgement for each packet in order, and one NAK"
    );
    let time = packet * (400 + again + 1) + 2 * LINE.delay;
    assert_eq!(done.fct(), [time]);
    // With IRN the lost one alone is sent again, and each packet behind it is answered. The message ends a packet later.
    let irn = run(message(400, json!({"repair": "irn", "bdp": "1MB"}), lost));
    assert_eq!([irn.flow("retransmissions"), irn.flow("timeouts")], [1.0, 0.0]);
    assert_eq!((answers(&irn, 401), irn.fct()), (400, vec![packet * 402 + 2 * LINE.delay]));
}

/// A gap is reported once, so that the timer alone repairs a retransmission that is lost too: 4.096 us x 2^14.
#[test]
fn a_gap_is_reported_once() {
    // The eleventh packet, and it again: it leaves after the packets that are sent until the NAK comes.
    let packet = LINE.transmission(FULL);
    let again = (LINE.one_way(FULL) + LINE.one_way(ACK) + packet).div_ceil(packet);
    let lost = json!({"port": {"s0->switch": {"drop_packets": [11, 11 + again]}}});
    let once = run(message(400, json!({}), lost.clone()));
    assert_eq!([once.flow("timeouts"), once.flow("fast_recoveries")], [1.0, 1.0]);
    assert!((67 * MS..69 * MS).contains(&once.fct()[0]), "{:?}", once.fct());
    // Reported again, it is the same loss: the control learns about it once, however often the NAK comes.
    for interval in ["150us", "1us"] {
        let each = run(message(400, json!({"nak_interval": interval}), lost.clone()));
        assert_eq!([each.flow("timeouts"), each.flow("fast_recoveries")], [0.0, 1.0], "{interval}");
        assert!(each.fct()[0] < 2 * MS);
    }
}

/// InfiniBand s.9.7.6.1.3: the retry count is the number of timeouts in a row that a queue pair survives. After the next it
/// fails: its message never ends, and all books balance.
#[test]
fn a_queue_pair_fails_when_its_retries_are_used_up() {
    for (repair, span) in [("go-back-n", json!({"timeout": "1ms"})), ("irn", json!({"rto_high": "1ms"}))] {
        for retries in [0, 3, 7] {
            let transport = with(json!({"repair": repair, "retry_count": retries}), span.clone());
            let done = run(message(100, transport, json!({"port": {"s0->switch": {"loss": 1.0}}})));
            assert_eq!(done.flow("timeouts"), f64::from(retries + 1), "{repair}");
            assert!(done.column("messages", "end_ps")[0].is_nan());
            assert_eq!(done.simulation.net().in_flight(), 0);
        }
    }
    // A lost tail: one timeout and no failure, since the packet that follows gets through.
    let done = run(message(
        100,
        json!({"retry_count": 1}),
        json!({"port": {"s0->switch": {"drop_packets": [100]}}}),
    ));
    assert_eq!([done.flow("timeouts"), done.flow("retransmissions")], [1.0, 1.0]);
}

/// Efficiency under independent loss p. Go-back-N: a packet that comes takes one transmission, a lost one the w that leave
/// until its NAK is there: (1 - p) / (1 - p + p w). A gap is reported again just after a retransmission should have come,
/// so that it costs w again if it is lost. IRN: 1 - p. 4 standard errors of the losses.
#[test]
fn efficiency_under_random_loss_is_the_closed_form() {
    let packet = LINE.transmission(FULL);
    let away = LINE.one_way(FULL) + LINE.one_way(ACK) + packet;
    let window = away.div_ceil(packet) as f64;
    for p in [0.0005, 0.005] {
        let changes = json!({
            "duration": "200ms",
            "traffic": {"x": {"bytes": "none"}},
            "port": {"s0->switch": {"loss": p}},
        });
        let goodput = |transport: Value| {
            let done = run(message(1, transport, changes.clone()));
            assert_eq!(done.flow("timeouts"), 0.0);
            done.flow("goodput_bps") / (10e9 * 1000.0 / FULL as f64)
        };
        let interval = format!("{}ps", (window * packet as f64) as u64);
        let theory = (1.0 - p) / (1.0 - p + p * window);
        let losses = 0.2e12 / packet as f64 * p * theory;
        let slack = 4.0 / losses.sqrt() * (1.0 - theory);
        close(&format!("go-back-N, {p}"), goodput(json!({"nak_interval": interval})), theory, slack);
        if p < 0.001 {
            close(&format!("IRN, {p}"), goodput(json!({"repair": "irn", "bdp": "10MB"})), 1.0 - p, 0.001);
        }
    }
}

/// Zhu 2015: a notification at once where none was sent in the last 50 us. Every packet is marked, and one comes each 849.6 ns:
/// the next may be marked 50.1264 us later. Without an interval each marked packet causes one.
#[test]
fn notifications_keep_their_distance() {
    let cc = json!({"kind": "dcqcn", "min_rate": "10Gbps"});
    let marked = json!({"duration": "10ms", "traffic": {"x": {"bytes": "none"}}, "port": {"s0->switch": {"mark": 1.0}}});
    for (interval, apart) in [(50, 59.0), (4, 5.0), (0, 1.0)] {
        let transport = json!({"cc": cc, "cnp_interval": format!("{interval}us"), "ack_every": 4096});
        let done = run(message(1, transport, marked.clone()));
        let first = (LINE.one_way(FULL) + LINE.one_way(HEADER + 16)) as f64;
        let packets = ((10 * MS) as f64 - first) / LINE.transmission(FULL) as f64;
        let want = (packets / apart).floor() + 1.0;
        assert_eq!(done.flow("ecn_reductions"), want, "{interval} us");
        assert!(want <= (10 * MS) as f64 / (interval * US).max(1) as f64 + 1.0);
    }
}

/// Queue pairs of one card take turns, packet by packet, and none has more than one packet in its port: four at the line rate
/// to four receivers get a quarter each, and at most four packets wait.
#[test]
fn queue_pairs_of_a_card_take_turns() {
    let document = json!({
        "duration": "2ms",
        "topology": {"kind": "star", "senders": 1, "receivers": 4, "rate": "10Gbps", "delay": "1us"},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "transport": {"profile": "roce", "cc": "line-rate", "mtu": "1000B", "verb": "send"},
        "traffic": {"x": {"kind": "bulk", "from": "s0", "to": "r*"}},
    });
    let lanes = json!({"priority": {"0": {}}});
    for changes in [json!({}), lanes] {
        let done = watch(with(document.clone(), changes), &["s0->switch"]);
        let packets = (2 * MS / LINE.transmission(FULL)) as f64;
        for sent in done.column("flows", "packets_sent") {
            // One of each stands in the port at the end.
            assert!((sent - 1.0 - packets / 4.0).abs() <= 1.0, "{sent} of {packets}");
        }
        let most = done.column("queue_trace", "packets").into_iter().fold(0.0, f64::max);
        assert_eq!(most, 4.0);
    }
}

/// N senders at the line rate through lossless ports: nothing is lost or sent again, and the last message ends when the link
/// has carried all, at most a bandwidth-delay product later.
#[test]
fn a_lossless_incast_takes_the_links_time() {
    for n in [2u64, 8] {
        let bytes = 1_000_000;
        let done = run(json!({
            "duration": "20ms",
            "topology": {"kind": "star", "senders": n, "rate": "40Gbps", "delay": "1us"},
            "queue": {"kind": "drop-tail", "limit": "none"},
            "switch": {"*": {"buffer": "1MB"}},
            "priority": {"3": {"pfc": true}, "6": {}},
            "transport": {"profile": "roce", "cc": "line-rate", "mtu": "1000B", "verb": "send", "priority": 3, "ack_priority": 6},
            "traffic": {"x": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": format!("{bytes}B")}},
        }));
        assert_eq!(done.simulation.books().dropped, 0);
        assert_eq!(done.column("flows", "retransmissions").iter().sum::<f64>(), 0.0);
        let last = done.fct().into_iter().max().expect("messages");
        let whole = (n * bytes / 1000 * FULL * 200 + 2 * US) as f64;
        assert!((whole..whole + 5e6).contains(&(last as f64)), "{last} for {whole}");
        let paused = done.column("pauses", "paused").iter().sum::<f64>();
        assert!(n == 2 || paused > 0.0, "{paused}");
    }
}

/// Where DCQCN's reaction points share the link, as over TCP (`rdma.rs`), with notifications of its own over queue pairs in a
/// lossless fabric: 1000 bytes a packet on the wire. Nothing is lost, and no port is paused once they rest.
#[test]
fn dcqcn_over_queue_pairs_rests_where_its_reaction_points_share_the_link() {
    for n in [2u64, 10] {
        let done = run(json!({
            "duration": "200ms",
            "warmup": "80ms",
            "topology": {"kind": "star", "senders": n, "rate": "40Gbps", "delay": "1us"},
            "queue": "drop-tail",
            "switch": {"*": {"buffer": "12MB"}},
            "priority": {"3": {"pfc": true, "queue": {"kind": "ramp"}}, "6": {"queue": {"kind": "drop-tail", "limit": "none"}}},
            "transport": {"profile": "roce", "cc": "dcqcn", "mtu": "938B", "verb": "send", "priority": 3, "cnp_priority": 6},
            "traffic": {"x": {"kind": "bulk", "from": "s*", "to": "r0", "jitter": "100us"}},
        }));
        close(&format!("N = {n}: queue"), done.port("switch->r0", "mean_bytes"), shared_queue(n), 0.1);
        assert_eq!(done.simulation.books().dropped, 0);
        assert_eq!(done.column("pauses", "paused").iter().sum::<f64>(), 0.0);
        for goodput in done.column("flows", "goodput_bps") {
            close("a share", n as f64 * goodput, 40e9 * 0.938, 0.1);
        }
    }
}

/// Li 2019: each of N windows is eta / U of itself and a step W_AI, and all together are U B T, so that U = eta + N W_AI / (B T):
/// what the link carries, and what waits behind it. Sixteen flows have two and a half packets each here. With windows of whole
/// packets, or rates that hold from the next packet on, they swing: the link carries 0.88 and U is 1.02.
#[test]
fn hpcc_rests_at_its_fixed_point_with_few_packets_a_flow() {
    let run_of = |n: u64| {
        run(json!({
            "duration": "25ms",
            "warmup": "5ms",
            "topology": {"kind": "star", "senders": n, "rate": "100Gbps", "delay": "1us"},
            "queue": {"kind": "drop-tail", "limit": "none"},
            "port_control": "hpcc",
            "transport": {"profile": "roce", "mtu": "1000B", "cc": {"kind": "hpcc", "base_rtt": "5us"}},
            "traffic": {"x": {"kind": "bulk", "from": "s*", "to": "r0", "jitter": "100us"}},
        }))
    };
    let pipe = 100e9 / 8.0 * 5e-6;
    for n in [1u64, 16] {
        let done = run_of(n);
        let load = done.port("switch->r0", "utilisation");
        let waiting = done.port("switch->r0", "mean_bytes") - load * (1000 + HEADER + 10) as f64;
        close(&format!("N = {n}"), load + waiting / pipe, 0.95 + n as f64 * 80.0 / pipe, 0.005);
        for goodput in done.column("flows", "goodput_bps") {
            close("a share", n as f64 * goodput, load * 1000.0 / (1000 + HEADER + 10) as f64 * 100e9, 0.1);
        }
    }
}

/// Li 2019 s.4.1: an acknowledgement carries the telemetry of the packet that it answers, two bytes and eight for each hop, here the switch. So do those
/// about a gap, which with IRN name the packet too.
#[test]
fn answers_carry_the_telemetry_of_their_packets() {
    for (repair, lost) in [("go-back-n", vec![]), ("go-back-n", vec![2]), ("irn", vec![2])] {
        let changes = json!({"port_control": "hpcc", "port": {"s0->switch": {"drop_packets": lost}}});
        let transport = json!({"cc": {"kind": "hpcc", "base_rtt": "60us"}, "repair": repair});
        let done = watch(message(4, transport, changes), &["r0->switch"]);
        let mut sizes: Vec<u64> = done.sent("r0->switch").iter().map(|sent| sent.bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let ack = ACK + 2 + 8;
        let want = if repair == "irn" { vec![ack, ack + 4] } else { vec![ack] };
        assert_eq!(sizes, want, "{repair} {lost:?}");
    }
}

/// TCP's settings are not a queue pair's, nor are controls that read marks or headers from acknowledgements; both are
/// refused by name, as are settings of the other repair.
#[test]
fn what_a_queue_pair_has_not_is_refused() {
    let faults = |transport: Value| {
        let document = message(1, transport, json!({}));
        let found = shallows_spec::load(&document.to_string()).err().unwrap_or_default();
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(faults(json!({})), Vec::<String>::new());
    for (transport, path, rule) in [
        (json!({"min_rto": "1ms"}), "min_rto", "is a setting of TCP"),
        (json!({"mtuu": "1000B"}), "mtuu", "unknown"),
        (json!({"cc": "dctcp"}), "transport.cc", "needs TCP"),
        (json!({"cc": "rcp"}), "transport.cc", "needs TCP"),
        (json!({"rto_low": "1ms"}), "rto_low", "repair = \"irn\""),
        (json!({"repair": "irn", "timeout": "1ms"}), "timeout", "repair = \"go-back-n\""),
        (json!({"repair": "go-back-n", "timeout_resends": "all"}), "timeout_resends", "repair = \"irn\""),
        (
            json!({"cc": "dctcp"}),
            "transport.cc",
            "run newreno, cbr, cubic, aimd, dcqcn, timely, hpcc, swift, copa, pfabric, line-rate",
        ),
        (json!({"cc": {"kind": "kernel", "name": "bbr"}}), "transport.cc", "backend linux alone"),
        (
            json!({"cc": {"kind": "dcqcn", "cut_interval": "4us"}}),
            "cc.cut_interval",
            "transport.cnp_interval",
        ),
        (json!({"cnp_priority": 5}), "cnp_priority", "no section declares"),
        (json!({"mtu": "100KB"}), "mtu", "9000B"),
    ] {
        let found = faults(transport.clone());
        assert!(
            found.iter().any(|fault| fault.contains(path) && fault.contains(rule)),
            "{transport}: {found:?}"
        );
    }
    let vendor = json!({"cc": {"kind": "dcqcn", "parameters": "vendor", "cut_interval": "8us"}});
    assert_eq!(faults(vendor), Vec::<String>::new());
}

/// A load may have the other transport: what the common one alone has stays behind. A setting that the load itself names is
/// refused where it stands, with the transport to which it belongs.
#[test]
fn a_load_of_the_other_transport_leaves_the_common_ones_settings_behind() {
    let tcp = json!({"cc": "newreno", "min_rto": "1s", "ack_every": 2, "priority": 0});
    let pairs =
        json!({"profile": "roce", "cc": "line-rate", "mtu": "1000B", "cnp_interval": "4us", "ack_every": 2});
    let faults = |common: &Value, own: Value| {
        let mut document = pair(json!({}), json!({"transport": own}));
        document["transport"] = common.clone();
        let found = shallows_spec::load(&document.to_string()).err().unwrap_or_default();
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(faults(&tcp, json!({"profile": "roce"})), Vec::<String>::new());
    assert_eq!(faults(&pairs, json!({"profile": "rfc", "cc": "cubic"})), Vec::<String>::new());
    assert_eq!(faults(&pairs, json!({"verb": "send"})), Vec::<String>::new());
    for (common, own, want) in [
        (
            &tcp,
            json!({"profile": "roce", "max_rto": "1s"}),
            "traffic.x.transport.max_rto: is a setting of TCP",
        ),
        (
            &pairs,
            json!({"profile": "rfc", "verb": "send"}),
            "traffic.x.transport.verb: is a setting of profile = \"roce\"",
        ),
        (&tcp, json!({"mtu": "1000B"}), "traffic.x.transport.mtu: is a setting of profile = \"roce\""),
        (&tcp, json!({"profile": "roce", "mtuu": "1B"}), "traffic.x.transport.mtuu: unknown"),
    ] {
        let found = faults(common, own);
        assert!(found.len() == 1 && found[0].starts_with(want), "{want}: {found:?}");
    }
}

/// A host with two cards: each queue pair has one packet in the port that it sends by, whichever the rule of next hops takes, so
/// that a port holds no more packets than there are queue pairs, and both links are full.
#[test]
fn queue_pairs_take_turns_at_each_of_several_cards() {
    let link = |from: &str, to: &str| json!({"from": from, "to": to, "rate": "10Gbps", "delay": "1us"});
    for (ecmp, repair) in [("flow", "go-back-n"), ("round-robin", "irn")] {
        for priority in [json!({}), json!({"3": {}})] {
            let lane = u64::from(priority != json!({})) * 3;
            let done = run(json!({
                "duration": "5ms",
                "ecmp": ecmp,
                "topology": {
                    "kind": "graph", "hosts": ["a", "b"], "switches": ["x", "y"],
                    "links": [link("a", "x"), link("a", "y"), link("x", "b"), link("y", "b")],
                },
                "queue": {"kind": "drop-tail", "limit": "none"},
                "priority": priority,
                "transport": {"profile": "roce", "cc": "line-rate", "repair": repair, "priority": lane},
                "traffic": {"x": {"kind": "bulk", "from": "a", "to": "b", "flows": 16}},
                "probe": {"nic_queues": true},
            }));
            let ports = done.words("queues", "port");
            for (i, port) in ports.iter().enumerate().filter(|(_, port)| port.starts_with("a->")) {
                let [most, load] = ["max_packets", "utilisation"].map(|name| done.column("queues", name)[i]);
                assert!(most <= 16.0 && load > 0.99, "{ecmp} {lane} {port}: {most} packets, {load}");
            }
        }
    }
}
