//! Flow control by priority: nothing is lost with the headroom that the link needs, something can be with a byte less;
//! shares go by ports; a ring stands still and a Clos never does.

mod common;

use common::{Tables, load, run};
use proptest::prelude::*;
use serde_json::{Value, json};
use shallows_core::{Control, RunError};

/// The faults of a document, each as a line.
fn faults(document: &Value) -> Vec<String> {
    let found = shallows_spec::load(&document.to_string()).err().unwrap_or_default();
    found.iter().map(ToString::to_string).collect()
}

fn sum(tables: &Tables, table: &str, column: &str) -> u64 {
    tables.u64(table, column).iter().filter(|value| **value != u64::MAX).sum()
}

/// The value of a row of `pauses`.
fn of(tables: &Tables, port: &str, column: &str) -> u64 {
    let row =
        tables.words("pauses", "port").iter().position(|name| *name == port).expect("a port of the table");
    tables.u64("pauses", column)[row]
}

/// `s0` sends 40 frames of 1500 bytes back to back at 10 Gb/s towards a port that sends next to nothing, and one frame
/// comes back to it, which the switch begins one ps before the account closes. All times are such that `s0` begins
/// its last frame one ps before it obeys.
fn worst_case(headroom: &str, response: &str) -> Value {
    // XOFF at 30 000 bytes: with the 20th frame, at 20 x 1.2 us and the delay. Then 1.2 us for the frame on the way back,
    // 67.2 ns for the pause frame, and two delays of 566.401 ns: 1 ps more than two frames of 1.2 us.
    json!({
        "duration": "60us",
        "topology": {"kind": "star", "senders": 2, "receivers": 1, "rate": "10Gbps", "delay": "566401ps"},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "nic": {"kind": "drop-tail"},
        "switch": {"*": {"buffer": "1MB"}},
        "port": {
            "switch->r0": {"rate": "100Mbps"},
            "*->*": {"pfc_response": response, "pfc_alpha": "none", "pfc_xoff": "30KB"},
            "switch->s*": {"pfc_headroom": headroom},
        },
        "priority": {"3": {"pfc": true}},
        "pfc": {"lossy": "allowed"},
        "transport": {"cc": "newreno", "ecn": "off", "opening": "established", "initial_window": "100pkt", "priority": 3},
        "traffic": {"t": {"kind": "table", "flows": [
            {"from": "s0", "to": "r0", "bytes": "58400B", "start": "0s"},
            {"from": "s1", "to": "s0", "bytes": "1460B", "start": "22799999ps"},
        ]}},
    })
}

/// The sheet's least headroom: 2 delays at 10 Gb/s carry 1416 bytes, two frames of 1500, and 84.
#[test]
fn lossless_at_the_bound_and_not_a_byte_below() {
    for (response, more) in [("0s", 0), ("1200ns", 1500), ("2400ns", 3000)] {
        let bound = 1416 + 2 * 1500 + 84 + more;
        let at_bound = run(&worst_case(&format!("{bound}B"), response));
        let tables = Tables::of(&at_bound);
        assert!(at_bound.books().balance());
        assert_eq!(at_bound.books().dropped, 0, "{response}");
        assert_eq!(of(&tables, "switch->s0", "max_headroom_bytes"), bound, "every byte of it is used");
        assert_eq!(of(&tables, "switch->s0", "max_held_bytes"), 30_000 + bound);
        let below = run(&worst_case(&format!("{}B", bound - 1), response));
        assert_eq!(below.books().dropped, 1, "{response}");
        assert!(below.notes().iter().any(|note| note.contains("packets can be lost")), "{:?}", below.notes());
        // The checker asks for this bound.
        let mut refused = worst_case(&format!("{}B", bound - 1), response);
        refused["pfc"] = json!({});
        let said = faults(&refused);
        let least = format!("must be at least {}:", shallows_units::Bytes(bound));
        assert!(said.iter().any(|fault| fault.contains(&least)), "{said:?}");
    }
}

/// A random network with flow control: its shape, rates, delays, responses, sizes, thresholds, loads. In half of them a
/// pause is as short as the checker allows, so that it must be renewed in time.
fn random_network() -> impl Strategy<Value = Value> {
    let shape = prop_oneof![
        (2u64..9).prop_map(|n| json!({"kind": "star", "senders": n, "receivers": 2})),
        (2u64..5).prop_map(|n| json!({"kind": "dumbbell", "left": n, "right": n})),
        (1u64..4).prop_map(|n| json!({"kind": "leaf-spine", "leaves": 2, "spines": n, "hosts_per_leaf": 3})),
        Just(json!({"kind": "fat-tree", "k": 2})),
    ];
    let numbers = (1u64..100, 0u64..5000, 0u64..4000, 2u64..=40);
    let alphas = prop::sample::select(vec![0.03, 0.125, 1.0, 16.0]);
    let law = (prop::option::of(1u64..50), prop::option::of(alphas), 0u64..4, any::<bool>());
    (shape, numbers, law, [200u64..9000, 200u64..9000], 1u64..1000).prop_map(document_of)
}

/// The numbers that a random network is made of.
type Drawn = (Value, (u64, u64, u64, u64), (Option<u64>, Option<f64>, u64, bool), [u64; 2], u64);

fn document_of((mut shape, numbers, law, sizes, seed): Drawn) -> Value {
    let (rate, delay, response, slower) = numbers;
    let (xoff, alpha, hysteresis, short) = law;
    shape["rate"] = json!(format!("{rate}Gbps"));
    shape["delay"] = json!(format!("{delay}ns"));
    let or_none = |value: Option<Value>| value.unwrap_or(json!("none"));
    let load = |bytes: &str, priority: u64, mss: u64| {
        json!({"kind": "poisson", "from": "*", "to": "*", "load": 0.9, "sizes": {"kind": "fixed", "bytes": bytes},
            "transport": {"priority": priority, "ack_priority": 6, "mss": format!("{mss}B"),
                "initial_window": "200pkt", "opening": "established"}})
    };
    let mut document = json!({
        "duration": "300us",
        "seed": seed,
        "topology": shape,
        "queue": {"kind": "drop-tail", "limit": "none"},
        "switch": {"*": {"buffer": "1GB"}},
        "port": {"*->*": {
            "pfc_response": format!("{response}ns"),
            "pfc_alpha": or_none(alpha.map(|alpha| json!(alpha))),
            "pfc_xoff": or_none(xoff.map(|xoff| json!(format!("{xoff}KB")))),
            "pfc_hysteresis": format!("{hysteresis}pkt"),
        }},
        "priority": {"3": {"pfc": true, "quantum": "9KB"}, "4": {"pfc": true, "quantum": "3KB"}, "6": {}},
        "pfc": {"quanta": if short { 1 } else { 65535 }},
        "transport": {"cc": "newreno", "ecn": "off"},
        "traffic": {"a": load("100KB", 3, sizes[0]), "b": load("30KB", 4, sizes[1])},
    });
    // One receiver is slow, so that pauses spread.
    let slow_port = if document["topology"]["kind"] == "star" { "switch->r0" } else { "*->*0" };
    document["port"][slow_port] = json!({"rate": format!("{}Mbps", 1000 * rate / slower)});
    document
}

/// The text of a fault about `path` after "must be `words` ".
fn asked(document: &Value, path: &str, words: &str) -> Option<String> {
    let said = faults(document);
    let about = said.iter().filter(|fault| fault.starts_with(path));
    about
        .filter_map(|fault| fault.split(words).nth(1)?.split(':').next())
        .map(|text| text.trim().to_string())
        .next()
}

/// The same with a buffer hardly larger than the checker demands, and with the shortest pauses.
fn with_the_least(mut document: Value) -> Value {
    if let Some(quanta) = asked(&document, "pfc.quanta", "must be at least") {
        document["pfc"]["quanta"] = json!(quanta.parse::<u64>().expect("a number"));
    }
    // Each switch has its own demand; the largest of all holds for all.
    document["switch"] = json!({"*": {"buffer": "1B"}});
    while let Some(least) = asked(&document, "switch", "must be more than") {
        let least = shallows_units::Bytes::parse(&least).expect("an amount").as_u64();
        document["switch"] = json!({"*": {"buffer": format!("{}B", least + 20_000)}});
    }
    document
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_schedule_loses_a_packet(document in random_network()) {
        let document = with_the_least(document);
        prop_assert_eq!(faults(&document), Vec::<String>::new());
        let simulation = run(&document);
        let (books, tables) = (simulation.books(), Tables::of(&simulation));
        prop_assert!(books.balance(), "{:?}", books);
        prop_assert_eq!(simulation.outstanding(), books.in_flight);
        let drops = ["drops_full", "drops_aqm", "drops_evicted", "drops_buffer"].map(|c| tables.u64("inner_queues", c));
        for (row, lane) in tables.words("inner_queues", "queue").iter().enumerate() {
            let lost: u64 = drops.iter().map(|column| column[row]).sum();
            prop_assert!(lost == 0 || *lane == "6", "{} of priority {}: {}", lost, lane, document);
        }
        for (used, has) in tables.u64("pauses", "max_headroom_bytes").iter().zip(tables.u64("pauses", "headroom_bytes")) {
            prop_assert!(*used == u64::MAX && *has == u64::MAX || used <= has);
        }
    }
}

/// Others may fill the memory while an account is open and idle, so that its threshold falls below its charge (the
/// dynamic threshold's usual error). It takes a packet more and closes; when the others have left it opens, even
/// though none of its own packets has left meanwhile.
#[test]
fn a_threshold_that_falls_and_rises_closes_and_opens_accounts() {
    // `s0` sends 20 frames to a receiver whose port takes 240 us a frame, and one more at 170 us. Meanwhile `s1` and `s2`
    // share the memory, some 90 KB each with as much free, of which a quarter is less than the 30 KB of `s0`. They have
    // sent all by 360 us. XON comes before 260 us, when half of the memory is free; a packet of `s0` leaves at 241 us,
    // which is too early, and at 481 us.
    let flow = |from: &str, to: &str, bytes: u64, start: &str| json!({"from": from, "to": to, "bytes": format!("{bytes}B"), "start": start});
    let document = |others: u64| {
        json!({
            "duration": "1ms",
            "topology": {"kind": "star", "senders": 3, "receivers": 2, "rate": "10Gbps", "delay": "1us"},
            "queue": {"kind": "drop-tail", "limit": "none"},
            "switch": {"*": {"buffer": "650KB"}},
            "port": {"*->*": {"pfc_response": "0s", "pfc_alpha": 1.0}, "switch->r0": {"rate": "50Mbps"},
                "switch->s0": {"pfc_alpha": 0.25}},
            "priority": {"3": {"pfc": true}},
            "transport": {"cc": "newreno", "ecn": "off", "opening": "established", "initial_window": "1000pkt", "priority": 3,
                "min_rto": "100ms", "initial_rto": "100ms"},
            "traffic": {"t": {"kind": "table", "flows": [
                flow("s0", "r0", 20 * 1460, "0s"), flow("s0", "r0", 1460, "170us"),
                flow("s1", "r1", others * 1460, "0s"), flow("s2", "r1", others * 1460, "0s"),
            ]}},
        })
    };
    let (full, empty) = (run(&document(150)), run(&document(1)));
    let (full, empty) = (Tables::of(&full), Tables::of(&empty));
    assert_eq!(of(&empty, "switch->s0", "pauses_sent"), 0, "alone it is far below its threshold");
    assert_eq!(of(&full, "switch->s0", "pauses_sent"), 1);
    assert_eq!(of(&full, "s0->switch", "paused"), 1);
    let paused = of(&full, "s0->switch", "paused_ps");
    assert!((50_000_000..100_000_000).contains(&paused), "{paused}");
    assert_eq!(sum(&full, "queues", "drops_buffer"), 0);
}

/// Sixteen senders of one port share it equally: each has a port of its own into the switch. Nothing is lost, and the
/// bottleneck is in use all the time, whatever the buffer.
#[test]
fn an_incast_is_lossless_and_keeps_the_port_busy() {
    let tables = Tables::of(&run(&json!({
        "duration": "5ms",
        "warmup": "1ms",
        "topology": {"kind": "star", "senders": 16, "rate": "10Gbps", "delay": "1us"},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "switch": {"*": {"buffer": "1MB"}},
        "priority": {"3": {"pfc": true}, "6": {}},
        "transport": {"cc": "newreno", "ecn": "off", "priority": 3, "ack_priority": 6},
        "traffic": {"long": {"kind": "bulk", "from": "s*", "to": "r0"}},
    })));
    assert_eq!(sum(&tables, "queues", "drops_buffer") + sum(&tables, "flows", "retransmissions"), 0);
    assert!(tables.f64("queues", "utilisation")[tables.port("switch->r0")] > 0.999);
    let shares = tables.f64("flows", "goodput_bps");
    let mean = shares.iter().sum::<f64>() / 16.0;
    assert!(shares.iter().all(|share| (share / mean - 1.0).abs() < 0.05), "{shares:?}");
    assert!(sum(&tables, "pauses", "pauses_sent") > 100);
    assert_eq!(of(&tables, "switch->r0", "pauses_sent"), 0, "a receiver is never paused");
}

/// Parking lot by ports: three flows come by one port and one by another. The shares are 1/2 and three times 1/6,
/// where shares by flows would be quarters.
#[test]
fn shares_follow_ports_not_flows() {
    let link = |from: &str, to: &str| json!({"from": from, "to": to, "rate": "10Gbps", "delay": "1us"});
    let links = [("a0", "sw0"), ("a1", "sw0"), ("a2", "sw0"), ("sw0", "sw1"), ("b", "sw1"), ("sw1", "r")];
    let tables = Tables::of(&run(&json!({
        "duration": "12ms",
        "warmup": "2ms",
        "topology": {"kind": "graph", "hosts": ["a0", "a1", "a2", "b", "r"], "switches": ["sw0", "sw1"],
            "links": links.map(|(from, to)| link(from, to))},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "switch": {"*": {"buffer": "400KB"}},
        "priority": {"3": {"pfc": true}, "6": {}},
        "transport": {"cc": "newreno", "ecn": "off", "priority": 3, "ack_priority": 6, "initial_window": "100pkt"},
        "traffic": {"near": {"kind": "bulk", "from": "b", "to": "r"}, "far": {"kind": "bulk", "from": "a*", "to": "r"}},
    })));
    let shares = tables.f64("flows", "goodput_bps");
    let whole: f64 = shares.iter().sum();
    assert_eq!(sum(&tables, "flows", "drops"), 0);
    for (class, share) in tables.words("flows", "class").iter().zip(shares) {
        let expected = if *class == "near" { 1.0 / 2.0 } else { 1.0 / 6.0 };
        assert!((share / whole / expected - 1.0).abs() < 0.05, "{shares:?}");
    }
}

/// A ring of five switches with a host each, which sends to the host two switches on.
fn ring(pfc: Value) -> Value {
    let link = |from: String, to: String| json!({"from": from, "to": to, "rate": "10Gbps", "delay": "1us"});
    let hosts = (0..5).map(|i| link(format!("h{i}"), format!("sw{i}")));
    let ring = (0..5).map(|i| link(format!("sw{i}"), format!("sw{}", (i + 1) % 5)));
    let flow = |i: u64| json!({"from": format!("h{i}"), "to": format!("h{}", (i + 2) % 5), "bytes": "1GB", "start": "0s"});
    json!({
        "duration": "10ms",
        "topology": {"kind": "graph", "hosts": "h0..h4", "switches": "sw0..sw4", "links": hosts.chain(ring).collect::<Vec<_>>()},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "switch": {"*": {"buffer": "300KB"}},
        "priority": {"3": {"pfc": true}, "6": {}},
        "pfc": pfc,
        "transport": {"cc": "newreno", "ecn": "off", "priority": 3, "ack_priority": 6, "initial_window": "1000pkt"},
        "traffic": {"around": {"kind": "table", "flows": (0..5).map(flow).collect::<Vec<_>>()}},
    })
}

fn goodput(document: &Value) -> (f64, Tables) {
    let tables = Tables::of(&run(document));
    (tables.f64("flows", "goodput_bps").iter().sum(), tables)
}

#[test]
fn a_ring_stands_still() {
    let mut simulation = load(&ring(json!({})));
    let Err(RunError::Deadlock(found)) = simulation.run(&Control::new()) else { panic!("the ring works") };
    assert_eq!(found.priority, 3);
    let mut cycle = found.cycle.clone();
    cycle.sort();
    assert_eq!(cycle, ["sw0->sw1", "sw1->sw2", "sw2->sw3", "sw3->sw4", "sw4->sw0"]);
    assert!(
        found.to_string().contains("each of these ports waits for the next: sw0->sw1, sw1->sw2"),
        "{found}"
    );
    // It lasts: what was found at the first look holds to the end.
    let mut late = ring(json!({"deadlock": "go-on"}));
    late["warmup"] = json!("1ms");
    let whole = run(&late);
    assert_eq!(Tables::of(&whole).f64("flows", "goodput_bps"), [0.0; 5]);
    assert!(
        whole.notes().iter().any(|note| note.contains("a deadlock in priority 3 since")),
        "{:?}",
        whole.notes()
    );
    assert!(whole.books().balance());
}

/// The watchdog ends it, at the price of packets.
#[test]
fn a_watchdog_ends_a_deadlock() {
    let mut document = ring(json!({"deadlock": "watchdog", "watchdog": "1ms"}));
    document["duration"] = json!("30ms");
    document["transport"]["min_rto"] = json!("1ms");
    let (rate, tables) = goodput(&document);
    assert!(rate > 1e9, "{rate}");
    assert!(sum(&tables, "queues", "drops_evicted") > 0);
    // Without flow control on the same ring no one waits.
    let mut lossy = document.clone();
    lossy["priority"] = json!({"3": {}, "6": {}});
    lossy.as_object_mut().expect("a table").remove("pfc");
    let alone = goodput(&lossy).0;
    assert!(alone > 2.0 * rate, "{alone} {rate}");
}

/// Up and down a Clos no ports wait in a cycle, however small the buffers: all flows of all-to-all traffic go on.
#[test]
fn a_clos_never_stands_still() {
    let hosts: Vec<String> = (0..16).map(|i| format!("h{i}")).collect();
    let flow = |(i, j): (usize, usize)| json!({"from": hosts[i], "to": hosts[(i + j) % 16], "bytes": "200KB", "start": "0s"});
    let pairs = (0..16).flat_map(|i| [1, 4, 5, 8, 11].map(|j| (i, j)));
    let simulation = run(&json!({
        "duration": "20ms",
        "topology": {"kind": "fat-tree", "k": 4, "rate": "10Gbps", "delay": "1us"},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "switch": {"*": {"buffer": "250KB"}},
        "priority": {"3": {"pfc": true}, "6": {}},
        "transport": {"cc": "newreno", "ecn": "off", "priority": 3, "ack_priority": 6, "initial_window": "100pkt"},
        "traffic": {"all": {"kind": "table", "flows": pairs.map(flow).collect::<Vec<_>>()}},
    }));
    let tables = Tables::of(&simulation);
    assert!(tables.u64("flows", "end_ps").iter().all(|end| *end != u64::MAX), "all messages arrive");
    assert_eq!(simulation.books().dropped, 0);
    assert!(sum(&tables, "pauses", "paused") > 100, "pauses spread");
}

/// A victim: `v` sends to a free receiver by the port that an incast behind the next switch has paused.
#[test]
fn a_victim_waits_for_a_port_it_does_not_use() {
    let link = |from: &str, to: &str| json!({"from": from, "to": to, "rate": "10Gbps", "delay": "1us"});
    let links = [
        ("v", "left"),
        ("s", "left"),
        ("left", "right"),
        ("i0", "right"),
        ("i1", "right"),
        ("i2", "right"),
        ("right", "busy"),
        ("right", "free"),
    ];
    let document = |pfc: bool| {
        json!({
            "duration": "10ms",
            "warmup": "2ms",
            "topology": {"kind": "graph", "hosts": ["v", "s", "i0", "i1", "i2", "busy", "free"], "switches": ["left", "right"],
                "links": links.map(|(from, to)| link(from, to))},
            "queue": {"kind": "drop-tail", "limit": if pfc { "none" } else { "100pkt" }},
            "switch": if pfc { json!({"*": {"buffer": "500KB"}}) } else { json!({}) },
            "priority": {"3": {"pfc": pfc}, "6": {"queue": {"kind": "drop-tail", "limit": "none"}}},
            "transport": {"cc": "newreno", "ecn": "off", "priority": 3, "ack_priority": 6},
            "traffic": {"victim": {"kind": "bulk", "from": "v", "to": "free"},
                "incast": {"kind": "bulk", "from": ["s", "i0", "i1", "i2"], "to": "busy"}},
        })
    };
    let share = |pfc| {
        let tables = Tables::of(&run(&document(pfc)));
        let row =
            tables.words("flows", "class").iter().position(|class| *class == "victim").expect("the victim");
        tables.f64("flows", "goodput_bps")[row]
    };
    let (with, without) = (share(true), share(false));
    // Its port is paused whenever `s` may not send, which gets a quarter of 10 Gb/s: two flows in one line share alike.
    assert!((with / 2.5e9 - 1.0).abs() < 0.1, "{with}");
    assert!(without > 2.0 * with, "{without} {with}");
}

/// Each discipline works in a lane: two lanes that share by 3 to 1 do so in bytes, their counts add up to the port's, and
/// the books balance.
#[test]
fn every_discipline_works_in_a_lane() {
    for queue in shallows_core::queue::Queue::list().iter().map(|component| component.name) {
        let load = |from: &str, priority: u64| json!({"kind": "bulk", "from": from, "to": "r0", "transport": {"priority": priority, "ack_priority": 7}});
        let simulation = run(&json!({
            "duration": "20ms",
            "warmup": "4ms",
            "topology": {"kind": "star", "senders": 4, "rate": "10Gbps", "delay": "5us"},
            "queue": {"kind": "drop-tail", "limit": "none"},
            "priority": {
                "1": {"quantum": "9KB", "queue": queue}, "2": {"quantum": "3KB", "queue": queue},
                "7": {"nic": "fq"},
            },
            "transport": {"cc": "newreno", "min_rto": "1ms"},
            "traffic": {"much": load("s0..s1", 1), "little": load("s2..s3", 2)},
        }));
        let tables = Tables::of(&simulation);
        assert!(
            simulation.books().balance() && simulation.outstanding() == simulation.books().in_flight,
            "{queue}"
        );
        let rate = |class: &str| -> f64 {
            let classes = tables.words("flows", "class");
            let rates = classes.iter().zip(tables.f64("flows", "goodput_bps"));
            rates.filter(|(name, _)| **name == class).map(|(_, rate)| rate).sum()
        };
        let (much, little) = (rate("much"), rate("little"));
        assert!((much / little / 3.0 - 1.0).abs() < 0.25, "{queue}: {much} {little}");
        let whole = tables.u64("queues", "packets_in")[tables.port("switch->r0")];
        let ports = tables.words("inner_queues", "port");
        let lanes = ports.iter().zip(tables.u64("inner_queues", "packets_in"));
        let in_lanes: u64 = lanes.filter(|(port, _)| **port == "switch->r0").map(|(_, n)| n).sum();
        // The packet that was being transmitted when the warm-up ended had left its lane.
        assert!(whole - in_lanes <= 1, "{queue}: {whole} {in_lanes}");
    }
}
