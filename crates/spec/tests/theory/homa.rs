//! Homa against its closed forms: messages that need no grant, grants that fill a link, least left first, overcommitment, priorities,
//! and what is lost.
//!
//! Source: Montazeri et al. 2018 (SIGCOMM) s.3, with the round trip of 10 000 bytes of the authors' simulator.

use crate::bench::{MS, Run, US, close, run, with};
use serde_json::{Map, Value, json};

/// Time of a full packet of 1440 and 60 bytes on a link of 10 Gb/s, and of a header.
const PACKET: u64 = 1500 * 800;
const HEADER: u64 = 60 * 800;
const MTU: u64 = 1440;
/// Packets that leave without a grant: 10 000 bytes in whole ones.
const BLIND: u64 = 7;
/// Delay of a link.
const DELAY: u64 = US;

/// Two links after `packets` in a row have begun to leave.
fn burst(packets: u64) -> u64 {
    PACKET * (packets + 1) + 2 * DELAY
}

fn bytes(packets: u64) -> String {
    format!("{}B", packets * MTU)
}

/// `senders` hosts and r0 on a star, with all eight priorities.
fn star(senders: u64, changes: Value) -> Value {
    let lanes: Map<String, Value> = (0..8).map(|number| (number.to_string(), json!({}))).collect();
    let document = json!({
        "duration": "1s",
        "topology": {"kind": "star", "senders": senders, "rate": "10Gbps", "delay": "1us"},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "transport": {"profile": "homa", "cc": "line-rate"},
        "priority": lanes,
        "probe": {"packets": ["r0->switch"]},
    });
    with(document, changes)
}

/// A message of so many packets from `from` to `to`.
fn message(from: &str, to: &str, packets: u64) -> Value {
    json!({"kind": "bulk", "from": from, "to": to, "bytes": bytes(packets), "start": "1us"})
}

fn alone(packets: u64, changes: Value) -> Run {
    run(with(star(1, json!({"traffic": {"x": message("s0", "r0", packets)}})), changes))
}

fn sum(run: &Run, table: &str, column: &str) -> f64 {
    run.column(table, column).iter().sum()
}

/// Completion time of the message of load `name`.
fn time(run: &Run, name: &str) -> f64 {
    let row = run.words("messages", "traffic").iter().position(|load| *load == name).expect("a row");
    run.column("messages", "fct_ps")[row]
}

/// Packets that lane `priority` of `port` was handed.
fn lane(run: &Run, port: &str, priority: u64) -> f64 {
    let (ports, queues) = (run.words("inner_queues", "port"), run.words("inner_queues", "queue"));
    let wanted = priority.to_string();
    let row = (0..ports.len()).find(|row| ports[*row] == port && queues[*row].contains(&wanted));
    row.map_or(0.0, |row| run.column("inner_queues", "packets_in")[row])
}

/// A message within a round trip's bytes goes without a grant: store and forward over two links, and one report comes back. Exact,
/// and the ideal.
#[test]
fn a_short_message_goes_without_a_grant() {
    for packets in [1, 2, BLIND] {
        let done = alone(packets, json!({}));
        assert_eq!(done.fct(), [burst(packets)], "{packets}");
        assert_eq!(done.column("messages", "ideal_ps"), [burst(packets) as f64]);
        assert_eq!(done.column("packets", "size"), [60.0], "{packets}");
    }
}

/// Each packet beyond them goes for a grant, and a round trip's bytes are on the way. Where a round trip is shorter the link is never
/// idle: packets and delays alone, exact. Where it is longer a window of seven packets goes in each.
#[test]
fn the_rest_goes_for_grants() {
    for packets in [8, 100, 1000] {
        let done = alone(packets, json!({}));
        assert_eq!(done.fct(), [burst(packets)], "{packets}");
        let grants = done.column("packets", "size").len() as u64 - 1;
        assert_eq!(grants, packets - BLIND, "{packets}");
        assert_eq!(done.flow("retransmissions"), 0.0);
    }
    let far = 25 * US;
    let round = 2 * (PACKET + far) + 2 * (HEADER + far);
    for windows in [1, 2, 5] {
        let done = alone(windows * BLIND, json!({"topology": {"delay": "25us"}}));
        let wanted = (windows - 1) * round + PACKET * (BLIND + 1) + 2 * far;
        assert_eq!(done.fct(), [wanted], "{windows}");
    }
}

/// Two messages to one receiver, which grants to one at a time: that with least left. All unscheduled packets pass, then the short one, then
/// the long one, in the link's time within two packets. The long one has no grant until the short one has all its own.
#[test]
fn least_left_is_granted_first() {
    for (first, second) in [("s0", "s1"), ("s1", "s0")] {
        let done = run(star(
            2,
            json!({"transport": {"overcommitment": 1}, "traffic": {
                "long": message(first, "r0", 100), "short": message(second, "r0", 50),
            }}),
        ));
        let [short, long] = ["short", "long"].map(|name| time(&done, name));
        let slack = 2.0 * PACKET as f64;
        assert!((short - burst(50 + BLIND) as f64).abs() <= slack, "{short}");
        assert!((long - burst(150) as f64).abs() <= slack, "{long}");
    }
}

/// Host s0 is busy with a message to s2 for 200 packets, and owes r0 300, for which r0 would grant first; s1 owes r0 400. With one
/// grant at a time r0's link is idle for 200 packets; with two it takes those of s1 meanwhile. All share one level, so that hosts send
/// what has least left.
#[test]
fn overcommitment_fills_the_link_of_a_busy_sender() {
    let last = |degree: u64| {
        let done = run(star(
            3,
            json!({"transport": {"overcommitment": degree, "scheduled_levels": 1}, "traffic": {
                "busy": message("s0", "s2", 200), "a": message("s0", "r0", 300), "b": message("s1", "r0", 400),
            }}),
        ));
        assert!((time(&done, "busy") - burst(200) as f64) < 20.0 * PACKET as f64);
        time(&done, "a").max(time(&done, "b")) / PACKET as f64
    };
    close("one at a time", last(1), 900.0, 0.03);
    close("two at a time", last(2), 700.0, 0.03);
}

/// Cut-offs after one and four packets make three unscheduled levels above five scheduled ones. A message alone has scheduled packets
/// in the lowest, and what its receiver sends is in the highest.
#[test]
fn packets_have_the_priority_of_their_message() {
    let transport = json!({"transport": {
        "unscheduled_levels": 3, "scheduled_levels": 5, "cutoffs": [bytes(1), bytes(4)],
    }});
    for (packets, level) in [(1, 7), (2, 6), (4, 6), (5, 5), (20, 5)] {
        let done = alone(packets, transport.clone());
        let blind = packets.min(BLIND);
        for port in ["s0->switch", "switch->r0"] {
            let nic = alone(packets, with(transport.clone(), json!({"probe": {"nic_queues": true}})));
            assert_eq!(lane(&nic, port, level), blind as f64, "{packets} at {port}");
            assert_eq!(lane(&nic, port, 0), (packets - blind) as f64, "{packets} at {port}");
        }
        assert_eq!(lane(&done, "switch->s0", 7), (packets - blind + 1) as f64);
    }
}

/// The longer of two messages that are granted has the lowest level, and the shorter one the next.
#[test]
fn scheduled_levels_follow_ranks() {
    let done = run(star(
        2,
        json!({"traffic": {"long": message("s0", "r0", 100), "short": message("s1", "r0", 50)}}),
    ));
    let [lowest, next] = [0, 1].map(|level| lane(&done, "switch->r0", level));
    assert_eq!(lowest + next, 150.0 - 2.0 * BLIND as f64);
    // Each may have begun alone, for a packet or two.
    assert!((next - 43.0).abs() <= 8.0, "{next} in the second lowest");
}

/// A port that holds two packets loses the third of three messages of a packet. Nobody knows of it, so that its sender sends it again
/// after twice `timeout`. Exact.
#[test]
fn a_message_of_which_nothing_came_is_sent_again() {
    let small = json!({"queue": {"limit": "2pkt"}, "traffic": {"x": message("s*", "r0", 1)}});
    let mut times = run(star(3, small)).fct();
    times.sort_unstable();
    assert_eq!(times, [burst(1), burst(2), 4 * MS + burst(1)]);
}

/// A message that never arrives is brought to mind after two timeouts, and after twice the time each time: of 1 ms five times in 100 ms,
/// since 2 (1 + 2 + 4 + 8 + 16) ms are 62, and the next would be at 126.
#[test]
fn reminders_come_after_twice_the_time() {
    let lost =
        json!({"duration": "100ms", "transport": {"timeout": "1ms"}, "port": {"s0->switch": {"loss": 1.0}}});
    assert_eq!(alone(1, lost).flow("timeouts"), 5.0);
}

/// A receiver asks for what is missing after `timeout`: the first message that lost packets ends a round trip and its packets' times
/// later. Others may lose a repeated packet again, where all of them come at once.
#[test]
fn a_lost_packet_is_asked_for_after_the_timeout() {
    for timeout in [1, 2, 5] {
        let done = run(star(
            4,
            json!({"queue": {"limit": "4pkt"}, "transport": {"timeout": format!("{timeout}ms")},
                "traffic": {"x": message("s*", "r0", 6)}}),
        ));
        let lost = done.simulation.books().dropped;
        assert!(lost > 0);
        assert!(sum(&done, "flows", "retransmissions") as u64 >= lost);
        assert_eq!(sum(&done, "flows", "delivered_bytes"), (24 * MTU) as f64);
        let late: Vec<u64> = done.fct().into_iter().filter(|time| *time > 100 * US).collect();
        let soonest = late.into_iter().min().expect("one is late");
        assert!((timeout * MS..timeout * MS + 100 * US).contains(&soonest), "{soonest}");
    }
}

/// Wires that lose a packet in fifty, either way: grants, requests and reports are lost too, and each message still ends.
#[test]
fn whatever_is_lost_messages_end() {
    let lossy = json!({"port": {"*->*": {"loss": 0.02}}, "traffic": {
        "many": {"kind": "messages", "from": "s*", "to": "r0", "bytes": "60KB", "interval": "50us", "count": 20, "connection": "fresh"},
        "kept": {"kind": "messages", "from": "s*", "to": "r0", "bytes": "3KB", "interval": "70us", "count": 20},
    }});
    let done = run(star(4, lossy));
    assert!(done.simulation.books().dropped > 50);
    let ends = done.column("messages", "end_ps");
    assert!(ends.len() == 160 && ends.iter().all(|end| end.is_finite()));
    assert_eq!(sum(&done, "flows", "delivered_bytes"), (80 * 63_000) as f64);
}

/// Other controls, TCP's settings, undeclared priorities and levels that contradict each other are refused by name.
#[test]
fn what_homa_has_not_is_refused() {
    let faults = |changes: Value| {
        let document = with(star(1, json!({"traffic": {"x": message("s0", "r0", 1)}})), changes);
        let found = shallows_spec::load(&document.to_string()).err().unwrap_or_default();
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(faults(json!({})), Vec::<String>::new());
    let even = json!({"kind": "uniform", "min": "1KB", "max": "9KB"});
    assert_eq!(
        faults(json!({"transport": {"unscheduled_levels": 4, "scheduled_levels": 4, "sizes": even}})),
        Vec::<String>::new()
    );
    for (changes, path, rule) in [
        (json!({"transport": {"cc": "dctcp"}}), "transport.cc", "must be \"line-rate\""),
        (
            json!({"transport": {"cc": {"kind": "line-rate", "window_rtt": "1ms"}}}),
            "window_rtt",
            "changes nothing",
        ),
        (json!({"transport": {"min_rto": "1ms"}}), "min_rto", "has Homa"),
        (json!({"transport": {"scheduled_levels": 8}}), "scheduled_levels", "must be at most 7"),
        (json!({"transport": {"unscheduled_levels": 3, "scheduled_levels": 5}}), "cutoffs", "must have 2"),
        (json!({"transport": {"cutoffs": ["1KB"]}}), "cutoffs", "must have 0"),
        (
            json!({"transport": {"unscheduled_levels": 3, "scheduled_levels": 5, "cutoffs": ["2KB", "1KB"]}}),
            "cutoffs.1",
            "above the one before",
        ),
        (json!({"transport": {"sizes": even, "cutoffs": ["2KB"]}}), "cutoffs", "follow from sizes"),
    ] {
        let found = faults(changes.clone());
        assert!(
            found.iter().any(|fault| fault.contains(path) && fault.contains(rule)),
            "{changes}: {found:?}"
        );
    }
    let mut bare = star(1, json!({"traffic": {"x": message("s0", "r0", 1)}}));
    bare["priority"] = json!({"0": {}});
    let found = shallows_spec::load(&bare.to_string()).err().expect("it is refused");
    assert!(found.iter().any(|fault| fault.to_string().contains("write [priority.7]")), "{found:?}");
}
