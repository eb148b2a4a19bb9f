//! Windows, rates and timers of RoCEv2's queue pairs against their closed forms: acknowledgements that a window asks for, the
//! packets of IRN, its timers, and the rate limiter.

use crate::bench::{LINE, MS, Run, US, near, run, watch, with};
use crate::roce::{ACK, FULL, HEADER, message};
use serde_json::{Value, json};

/// IRN's answer names the packet that caused it.
const NACK: u64 = ACK + 4;

/// Nothing was lost, no timer expired, and every message ended.
fn answered(done: &Run, what: &str) {
    assert_eq!(done.column("flows", "timeouts").iter().sum::<f64>(), 0.0, "{what}");
    assert_eq!(done.column("flows", "retransmissions").iter().sum::<f64>(), 0.0, "{what}");
    let ends = done.column("messages", "end_ps");
    assert!(!ends.is_empty() && ends.iter().all(|end| !end.is_nan()), "{what}: {ends:?}");
}

/// InfiniBand leaves it to the requester which packets ask for an acknowledgement: one behind which the window lets no other
/// out does, or both ends would wait for each other. Also where the window shrinks below what is under way.
#[test]
fn a_window_below_ack_every_does_not_wait_for_the_timer() {
    for every in [16, 256, 4096] {
        let slow = run(message(1000, json!({"cc": "newreno", "ack_every": every}), json!({})));
        answered(&slow, &format!("newreno, {every}"));
        let window = json!({"cc": {"kind": "line-rate", "window_rtt": "20us"}, "ack_every": every});
        answered(&run(message(1000, window, json!({}))), &format!("line-rate, {every}"));
    }
    // Eight senders share 10 Gb/s: HPCC's windows are a packet or two.
    let eight = json!({
        "topology": {"senders": 8, "delay": "1us"}, "port_control": "hpcc", "traffic": {"x": {"from": "s*"}},
    });
    answered(&run(message(1000, json!({"cc": "hpcc", "ack_every": 16}), eight)), "hpcc");
    // Each notification halves the rate and the window of 160 packets, when 120 are under way of which none has asked.
    let cc = json!({"kind": "dcqcn", "window_rtt": "128us", "min_rate": "1Gbps"});
    let shrinks = json!({"cc": cc, "ack_every": 256, "cnp_interval": "0s"});
    answered(&run(message(1000, shrinks, json!({"port": {"s0->switch": {"mark": 1.0}}}))), "dcqcn");
}

/// A lost acknowledgement is repaired as ever: what was asked for goes again after the timer, and asks once more.
#[test]
fn a_lost_answer_that_was_asked_for_costs_one_timeout() {
    let window =
        json!({"cc": {"kind": "line-rate", "window_rtt": "20us"}, "ack_every": 256, "timeout": "1ms"});
    let done = run(message(100, window, json!({"port": {"r0->switch": {"drop_packets": [2]}}})));
    // 20 us are 25 packets, which the second answer covers. All of them go again before the first one's answer is back.
    assert_eq!([done.flow("timeouts"), done.flow("retransmissions")], [1.0, 25.0]);
}

/// A window of the rate times a time keeps just that in flight, in whole packets, and sends as much a round trip.
#[test]
fn a_window_over_a_rate_keeps_its_product_in_flight() {
    let traced =
        json!({"probe": {"flow_trace": "1us"}, "traffic": {"x": {"bytes": "none"}}, "duration": "4ms"});
    let done = run(message(1, json!({"cc": {"kind": "line-rate", "window_rtt": "40us"}}), traced));
    let most = done.column("flow_trace", "flight_bytes").into_iter().fold(0.0, f64::max);
    assert_eq!(most, 50_000.0); // 10 Gb/s x 40 us
    let round = LINE.one_way(FULL) + LINE.one_way(ACK);
    let rounds = (4 * MS / round) as f64;
    near("packets", done.flow("packets_sent"), rounds * 50.0, 50.0);
}

/// IRN's bound of the empty path's product: the link is full, and the card sends no more before an answer comes.
#[test]
fn irn_keeps_a_bandwidth_delay_product_in_flight() {
    let traced =
        json!({"probe": {"flow_trace": "10us"}, "traffic": {"x": {"bytes": "none"}}, "duration": "2ms"});
    let done = run(message(1, json!({"repair": "irn"}), traced));
    let most = done.column("flow_trace", "flight_bytes").into_iter().fold(0.0, f64::max);
    // Delays there and back, and two transmissions: in packets, rounded up.
    let bdp = 10e9 / 8.0 * (4.0 * 25e-6 + 2.0 * FULL as f64 * 8.0 / 10e9);
    assert_eq!(most, (bdp / FULL as f64).ceil() * 1000.0);
    assert!(done.port("switch->r0", "utilisation") > 0.9);
}

/// Small messages of one queue pair, written at once.
fn small(count: u64, transport: Value, changes: Value) -> Value {
    let traffic = json!({"x": {
        "kind": "messages", "from": "s0", "to": "r0", "bytes": "1B", "interval": "1ns", "count": count, "connection": "persistent",
    }});
    let mut document = message(1, transport, json!({}));
    document["traffic"] = traffic;
    with(document, changes)
}

/// Mittal 2018 counts packets, however small they are: ten in flight of messages of one byte, and three are few no longer.
#[test]
fn irn_counts_packets_and_not_bytes() {
    let slow = json!({"port": {"switch->r0": {"rate": "100Mbps"}}});
    let irn = json!({"repair": "irn", "bdp": "10KB", "rto_low": "10ms", "rto_high": "10ms"});
    let done = watch(small(200, irn, slow), &["switch->r0"]);
    let most = done.column("queue_trace", "packets").into_iter().fold(0.0, f64::max);
    assert_eq!(most, 10.0);
    assert_eq!(done.flow("timeouts"), 0.0);
    // All are lost: the shorter timer holds for two of them, the longer one for three.
    for (count, timeout) in [(2, 200), (3, 500)] {
        let lost = json!({"port": {"s0->switch": {"drop_packets": (1..=count).collect::<Vec<u64>>()}}});
        let irn = json!({"repair": "irn", "rto_low": "200us", "rto_high": "500us"});
        let sent = watch(small(count, irn, lost), &["s0->switch"]).times("s0->switch");
        assert_eq!(sent[count as usize], timeout * US, "{count}");
    }
}

/// The last 20 of 100 packets are lost. Mittal 2018 takes a packet for lost if a later one has arrived, and so pays a timeout
/// for each. conweave takes all packets without an answer for lost, and pays one.
#[test]
fn a_lost_tail_costs_irn_a_timeout_a_packet_or_one() {
    let lost = json!({"port": {"s0->switch": {"drop_packets": (81..=100).collect::<Vec<u64>>()}}});
    for (resends, timeouts) in [("first", 20.0), ("all", 1.0)] {
        let irn = json!({"repair": "irn", "rto_low": "200us", "bdp": "1MB", "timeout_resends": resends});
        let done = run(message(100, irn, lost.clone()));
        assert_eq!([done.flow("timeouts"), done.flow("retransmissions")], [timeouts, 20.0], "{resends}");
    }
    // Within the window of its control, which a timeout has cut to one packet: 1, 2, 4, 8 and 5 of them a round trip.
    let slow =
        json!({"cc": "newreno", "repair": "irn", "rto_low": "200us", "bdp": "1MB", "timeout_resends": "all"});
    let done = run(message(
        200,
        slow,
        json!({"port": {"s0->switch": {"drop_packets": (181..=200).collect::<Vec<u64>>()}}}),
    ));
    assert_eq!([done.flow("timeouts"), done.flow("retransmissions")], [1.0, 20.0]);
}

/// InfiniBand s.9.7.6.1.3: the timer begins again with each answer. The eleventh of 400 packets is lost, and so is its
/// retransmission. The answers to those behind it hold the timer back; it expires that long after the last of them. Exact.
#[test]
fn the_timer_begins_again_with_each_answer() {
    let packet = LINE.transmission(FULL);
    // It goes again in the turn after its first NACK, which the twelfth packet causes.
    let again = 11 + (LINE.one_way(FULL) + LINE.one_way(NACK) + packet).div_ceil(packet);
    let lost = json!({"port": {"s0->switch": {"drop_packets": [11, again]}}});
    let irn = json!({"repair": "irn", "bdp": "1MB", "rto_high": "1ms"});
    let done = run(message(400, irn, lost));
    assert_eq!([done.flow("timeouts"), done.flow("retransmissions")], [1.0, 2.0]);
    let last_answer = 401 * packet + packet + 2 * LINE.delay + LINE.one_way(NACK);
    assert_eq!(done.fct(), [last_answer + MS + LINE.one_way(FULL)]);
}

/// The simulator of HPCC's authors, ChangeRate: a new rate holds for the packet that waits too. At 100 Mb/s a packet leaves
/// each 84.96 us. The first one's answer comes 101.7 us after it. TIMELY adds 100 Mb/s then, so that the third leaves 42.48 us
/// after the second. DCQCN's cut at its notification holds for the packets behind the one that waits.
#[test]
fn a_new_rate_holds_for_the_packet_that_waits_but_for_dcqcns() {
    let marked = json!({"port": {"s0->switch": {"mark": 1.0}}});
    let sent = |packets: u64, cc: Value| {
        let transport = json!({"cc": cc, "cnp_interval": "1s"});
        watch(message(packets, transport, marked.clone()), &["s0->switch"]).times("s0->switch")
    };
    let apart = 100 * LINE.transmission(FULL);
    let timely = json!({
        "kind": "timely", "initial_rate": "100Mbps", "segment": "1000B", "t_low": "1s", "t_high": "1s", "delta": "100Mbps",
    });
    assert_eq!(sent(3, timely), [0, apart, apart + apart / 2]);
    let dcqcn = json!({
        "kind": "dcqcn", "initial_rate": "100Mbps", "min_rate": "50Mbps", "increase_period": "1s", "increase_bytes": "1GB",
    });
    assert_eq!(sent(4, dcqcn), [0, apart, 2 * apart, 4 * apart]);
}

/// Cards' set over queue pairs, a notification for each packet. The first one cuts nothing; from 4 us after it on the rate
/// halves each 4 us, alpha being 1, down to the least. A packet waits at the rate of the one before.
#[test]
fn the_vendors_set_halves_each_4_us_over_queue_pairs() {
    let cc = json!({"kind": "dcqcn", "parameters": "vendor", "min_rate": "100Mbps"});
    let marked = json!({"duration": "2ms", "traffic": {"x": {"bytes": "none"}}, "port": {"s0->switch": {"mark": 1.0}}});
    let done = run(message(1, json!({"cc": cc, "cnp_interval": "0s"}), marked));
    let first_cut = LINE.one_way(FULL) + LINE.one_way(HEADER + 16) + 4 * US;
    let (mut at, mut packets) = (0, 0);
    while at < 2 * MS {
        let cuts = if at < first_cut { 0 } else { (at - first_cut) / (4 * US) + 1 };
        packets += 1;
        at += LINE.transmission(FULL) * (1 << cuts.min(7)).min(100);
    }
    near("packets", done.flow("packets_sent"), f64::from(packets), 1.0);
}
