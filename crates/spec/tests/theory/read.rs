//! READ over RoCEv2 against its closed forms: the request's way and the responses' times, losses of either, and how many requests
//! are outstanding.

use crate::bench::{LINE, MS, Run, close, run, watch, with};
use crate::roce::{ACK, FULL, HEADER, message};
use serde_json::{Value, json};

/// A request has RETH; the first and the last response have AETH.
const REQUEST: u64 = HEADER + 16;
const AETH: u64 = 4;

fn read(packets: u64, transport: Value, changes: Value) -> Value {
    message(packets, with(json!({"verb": "read"}), transport), changes)
}

/// Messages of one full packet on one queue pair, all posted at once.
fn small(count: u64, transport: Value, changes: Value) -> Run {
    let mut document = read(1, transport, json!({}));
    document["traffic"] = json!({"x": {
        "kind": "messages", "from": "s0", "to": "r0", "bytes": "1000B", "interval": "1ps", "count": count,
        "connection": "persistent",
    }});
    run(with(document, changes))
}

/// The request goes to the data, then they come, store and forward: n + 1 transmissions and two delays. Exact.
#[test]
fn a_message_takes_its_requests_way_and_its_packets_times() {
    for packets in [1, 2, 50] {
        let done = watch(read(packets, json!({}), json!({})), &["r0->switch", "s0->switch"]);
        // A message's only packet has AETH counted once, on both links.
        let aeth = if packets == 1 { 2 } else { 3 } * LINE.transmission(AETH);
        let want = LINE.one_way(REQUEST) + LINE.transmission(FULL) * (packets + 1) + aeth + 2 * LINE.delay;
        assert_eq!(done.fct(), [want], "{packets}");
        assert_eq!(done.column("messages", "ideal_ps"), [want as f64]);
        assert_eq!([done.flow("packets_sent"), done.flow("retransmissions")], [packets as f64, 0.0]);
        // Nothing is acknowledged.
        assert_eq!(done.times("r0->switch"), [0]);
        assert_eq!(done.times("s0->switch")[0], LINE.one_way(REQUEST));
        assert!(done.simulation.books().balance());
    }
}

/// The eleventh of 400 responses is lost. The twelfth says so, one request asks for the rest, and everything from the gap on is
/// sent again: as many as left until that request comes. Its first one is a first packet too. Exact.
#[test]
fn a_lost_response_is_asked_for_again() {
    let packet = LINE.transmission(FULL);
    let lost = |port: &str, numbers: &[u64]| {
        run(read(400, json!({"timeout": "4ms"}), json!({"port": {port: {"drop_packets": numbers}}})))
    };
    let whole = |packets: u64, firsts: u64| {
        LINE.one_way(REQUEST)
            + packet * (packets + 1)
            + (firsts + 2) * LINE.transmission(AETH)
            + 2 * LINE.delay
    };
    let done = lost("s0->switch", &[11]);
    let again = (LINE.one_way(FULL) + LINE.one_way(REQUEST) + packet).div_ceil(packet);
    assert_eq!([done.flow("retransmissions"), done.flow("fast_recoveries")], [again as f64, 1.0]);
    assert_eq!([done.flow("timeouts"), done.flow("delivered_bytes")], [0.0, 400_000.0]);
    assert_eq!(done.fct(), [whole(400 + again, 2)]);
    // Nothing comes behind the last one, so that the reader's timer finds it. It is a request of one packet.
    let tail = lost("s0->switch", &[400]);
    assert_eq!(
        [tail.flow("timeouts"), tail.flow("timeouts_tail"), tail.flow("retransmissions")],
        [1.0, 1.0, 1.0]
    );
    // The longer first packet counts on both links, as the longest of a train does.
    let last = whole(399, 1) - LINE.transmission(AETH);
    let only = LINE.one_way(REQUEST) + LINE.one_way(FULL + AETH);
    assert_eq!(tail.fct(), [last + 4 * MS + only]);
    // So it finds a lost request.
    let request = lost("r0->switch", &[1]);
    assert_eq!([request.flow("timeouts"), request.flow("timeouts_head")], [1.0, 1.0]);
    assert_eq!(request.flow("retransmissions"), 0.0);
    assert_eq!(request.fct(), [4 * MS + whole(400, 1)]);
}

/// One request at a time: each message takes its request's way and its own. With sixteen the ways overlap; the link carries them
/// one behind the other once the first is there.
#[test]
fn requests_are_outstanding_up_to_their_limit() {
    let each = LINE.one_way(REQUEST) + LINE.one_way(FULL + AETH);
    let one = small(32, json!({"reads": 1}), json!({}));
    assert_eq!(one.fct().last(), Some(&(32 * each - 31)), "posted a picosecond apart");
    let sixteen = small(32, json!({}), json!({}));
    let second = each + 15 * LINE.transmission(FULL + AETH);
    assert_eq!(sixteen.fct()[15], second - 15);
    // The seventeenth request leaves when the first message has come.
    assert_eq!(sixteen.fct()[16], 2 * each - 16);
    assert_eq!(sixteen.fct()[31], second + each - 31);
}

/// A lost request among several: the source answers the next one with a NAK, and no timer expires.
#[test]
fn a_missing_request_is_reported_by_the_next_one() {
    let done = small(8, json!({}), json!({"port": {"r0->switch": {"drop_packets": [3]}}}));
    assert_eq!([done.flow("timeouts"), done.flow("retransmissions")], [0.0, 0.0]);
    assert_eq!(done.flow("delivered_bytes"), 8000.0);
    // The NAK follows the first message's packet, which was leaving. Then the third one is asked for again, and comes. Exact.
    let nak = LINE.one_way(REQUEST) + LINE.one_way(FULL + AETH) + LINE.transmission(ACK);
    assert_eq!(done.fct()[2], nak + LINE.one_way(REQUEST) + LINE.one_way(FULL + AETH) - 2);
}

/// As with WRITE: a response that comes takes one transmission, a lost one the w that leave until it has been asked for. The gap
/// is asked for again just after it should have come. 4 standard errors of the losses.
#[test]
fn efficiency_under_random_loss_is_that_of_go_back_n() {
    let packet = LINE.transmission(FULL);
    let window = (LINE.one_way(FULL) + LINE.one_way(REQUEST) + packet).div_ceil(packet) as f64;
    let p = 0.005;
    let done = run(read(
        1,
        json!({"nak_interval": format!("{}ps", (window * packet as f64) as u64)}),
        json!({"duration": "200ms", "traffic": {"x": {"bytes": "none"}}, "port": {"s0->switch": {"loss": p}}}),
    ));
    assert_eq!(done.flow("timeouts"), 0.0);
    let theory = (1.0 - p) / (1.0 - p + p * window);
    let losses = 0.2e12 / packet as f64 * p * theory;
    let slack = 4.0 / losses.sqrt() * (1.0 - theory);
    close("READ", done.flow("goodput_bps") / (10e9 * 1000.0 / FULL as f64), theory, slack);
}

/// Congestion control acts where the data leave: notifications go there, as many as their distance allows, and DCQCN cuts. The
/// first one comes with the first response.
#[test]
fn notifications_reach_the_end_that_holds_the_data() {
    let marked = json!({"duration": "10ms", "traffic": {"x": {"bytes": "none"}}, "port": {"s0->switch": {"mark": 1.0}}});
    let done = run(read(1, json!({"cc": {"kind": "dcqcn", "min_rate": "10Gbps"}}), marked.clone()));
    let first = LINE.one_way(REQUEST) + LINE.one_way(FULL + AETH) + LINE.one_way(HEADER + 16);
    // 59 packets are the fewest that take 50 us.
    let want = (10 * MS - first) / (59 * LINE.transmission(FULL)) + 1;
    assert_eq!(done.flow("ecn_reductions"), want as f64);
    let cut = run(read(1, json!({"cc": "dcqcn"}), marked));
    assert!(cut.flow("goodput_bps") < 0.1 * done.flow("goodput_bps"));
}

/// The retry count is the reader's: one timeout more, and the message never ends. Whichever way is dead, all books balance.
#[test]
fn a_reader_fails_when_its_retries_are_used_up() {
    for port in ["s0->switch", "r0->switch"] {
        for retries in [0, 3] {
            let transport = json!({"retry_count": retries, "timeout": "1ms"});
            let done = run(read(100, transport, json!({"port": {port: {"loss": 1.0}}})));
            assert_eq!(done.flow("timeouts"), f64::from(retries + 1), "{port}");
            assert!(done.column("messages", "end_ps")[0].is_nan());
            assert_eq!(done.simulation.net().in_flight(), 0);
        }
    }
}

/// Nothing is acknowledged, so what needs acknowledgements is refused by name.
#[test]
fn what_needs_acknowledgements_is_refused() {
    let faults = |transport: Value| {
        let document = read(1, transport, json!({}));
        let found = shallows_spec::load(&document.to_string()).err().unwrap_or_default();
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    for cc in [json!("dcqcn"), json!("line-rate"), json!({"kind": "cbr", "rate": "1Gbps"})] {
        assert_eq!(faults(json!({"cc": cc})), Vec::<String>::new());
    }
    for (transport, path, rule) in [
        (json!({"cc": "timely"}), "transport.cc", "Over READ run cbr, dcqcn, line-rate"),
        (
            json!({"cc": {"kind": "line-rate", "window_rtt": "20us"}}),
            "transport.cc.window_rtt",
            "must be absent",
        ),
        (json!({"repair": "irn"}), "transport.repair", "must be \"go-back-n\""),
        (json!({"ack_every": 2}), "transport.ack_every", "verb = \"write\" or \"send\""),
        (json!({"verb": "send", "reads": 2}), "transport.reads", "verb = \"read\""),
    ] {
        let found = faults(transport.clone());
        assert!(
            found.iter().any(|fault| fault.starts_with(path) && fault.contains(rule)),
            "{transport}: {found:?}"
        );
    }
}
