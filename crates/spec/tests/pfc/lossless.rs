//! Lossless at the bound and not a byte below it, under any schedule.

use crate::common::{Tables, run};
use crate::{faults, of, sum};
use proptest::prelude::*;
use serde_json::{Value, json};
use shallows_core::Control;
use shallows_core::experiment::Cut;
use shallows_units::{Span, Time};

/// `s0` sends 40 frames of 1500 bytes back to back at 10 Gb/s towards a port that sends next to nothing, and one frame
/// comes back to it, which the switch begins one ps before the account closes. All times are such that `s0` begins
/// its last frame one ps before it obeys.
fn worst_case(headroom: &str, response: &str) -> Value {
    worst_case_with(headroom, response, "0s")
}

/// The worst case behind a switch with a latency of its own.
fn worst_case_with(headroom: &str, response: &str, latency: &str) -> Value {
    // XOFF at 30 000 bytes: with the 20th frame, at 20 x 1.2 us and the delay. Then 1.2 us for the frame on the way back,
    // 67.2 ns for the pause frame, and two delays of 566.401 ns: 1 ps more than two frames of 1.2 us.
    json!({
        "duration": "60us",
        "topology": {"kind": "star", "senders": 2, "receivers": 1, "rate": "10Gbps", "delay": "566401ps"},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "nic": {"kind": "drop-tail"},
        "switch": {"*": {"buffer": "1MB", "latency": latency}},
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
    // A response and the switch's latency both add what the link carries in their time.
    for (response, latency, more) in [
        ("0s", "0s", 0),
        ("1200ns", "0s", 1500),
        ("2400ns", "0s", 3000),
        ("0s", "1200ns", 1500),
        ("1200ns", "2400ns", 4500),
    ] {
        let bound = 1416 + 2 * 1500 + 84 + more;
        let worst_case = |headroom: &str, response: &str| worst_case_with(headroom, response, latency);
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

/// An account full to its last byte, whose cable fails and is back 1 us later, takes nothing more. The port that
/// comes up is paused at once, since the frame that renews the pause would come too late.
#[test]
fn a_cable_that_comes_back_is_paused_before_anything_is_sent() {
    let mut document = worst_case("4500B", "0s");
    let event = |at: &str, state: &str| json!({"at": at, "link": "s0<->switch", "state": state});
    document["event"] = json!({"cut": event("40us", "down"), "mend": event("41us", "up")});
    let late = json!({"from": "s0", "to": "r0", "bytes": "14600B", "start": "41us"});
    document["traffic"]["t"]["flows"].as_array_mut().expect("a list").push(late);
    let simulation = run(&document);
    let tables = Tables::of(&simulation);
    assert_eq!(of(&tables, "switch->s0", "max_headroom_bytes"), 4500);
    assert_eq!(of(&tables, "s0->switch", "paused"), 2, "before the failure, and after it");
    let dead = sum(&tables, "queues", "drops_dead");
    assert!(dead > 10, "{dead} packets waited at the card");
    assert_eq!(simulation.books().dropped, dead, "and no others are lost");
    assert!(simulation.books().balance());
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
    let numbers = (1u64..100, 0u64..5000, [0u64..4000, 0u64..3000], 2u64..=40);
    let alphas = prop::sample::select(vec![0.03, 0.125, 1.0, 16.0]);
    let law = (prop::option::of(1u64..50), prop::option::of(alphas), 0u64..4, any::<bool>());
    (shape, numbers, law, [200u64..9000, 200u64..9000], 1u64..1000).prop_map(document_of)
}

/// The numbers that a random network is made of.
type Drawn = (Value, (u64, u64, [u64; 2], u64), (Option<u64>, Option<f64>, u64, bool), [u64; 2], u64);

fn document_of((mut shape, numbers, law, sizes, seed): Drawn) -> Value {
    let (rate, delay, [response, latency], slower) = numbers;
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
        "switch": {"*": {"buffer": "1GB", "latency": format!("{}ns", latency.saturating_sub(1000))}},
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

/// Sets a buffer hardly larger than the checker demands, and with the shortest pauses.
fn with_the_least(mut document: Value) -> Value {
    if let Some(quanta) = asked(&document, "pfc.quanta", "must be at least") {
        document["pfc"]["quanta"] = json!(quanta.parse::<u64>().expect("a number"));
    }
    // Each switch has its own demand; the largest of all holds for all.
    document["switch"]["*"]["buffer"] = json!("1B");
    while let Some(least) = asked(&document, "switch", "must be more than") {
        let least = shallows_units::Bytes::parse(&least).expect("an amount").as_u64();
        document["switch"]["*"]["buffer"] = json!(format!("{}B", least + 20_000));
    }
    document
}

/// Queues of lossless priorities dropped nothing. Priority 6 is not lossless.
fn nothing_is_lost(tables: &Tables, document: &Value) -> Result<(), TestCaseError> {
    for (row, lane) in tables.words("inner_queues", "queue").iter().enumerate() {
        // A failing cable takes what waits for it.
        let lost = tables.u64("inner_queues", "drops")[row] - tables.u64("inner_queues", "drops_dead")[row];
        prop_assert!(lost == 0 || *lane == "6", "{} of priority {}: {}", lost, lane, document);
    }
    Ok(())
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
        nothing_is_lost(&tables, &document)?;
        for (used, has) in tables.u64("pauses", "max_headroom_bytes").iter().zip(tables.u64("pauses", "headroom_bytes")) {
            prop_assert!(*used == u64::MAX && *has == u64::MAX || used <= has);
        }
    }

    /// Cables that fail and come back lose what is on them and at their ports, and nothing else is lost, wherever the accounts
    /// stand as they come back.
    #[test]
    fn no_schedule_loses_a_packet_beside_a_cable_that_fails(
        document in random_network(),
        cables in prop::sample::select(vec!["*<->*", "*0<->*", "*1<->*"]),
        times in (1u64..250_000, 1u64..50_000), after in 0u64..100_000,
    ) {
        let (down, up) = (times.0, times.0 + times.1);
        let event = |at: u64, state: &str| json!({"at": format!("{at}ns"), "link": cables, "state": state});
        let mut document = with_the_least(document);
        document["event"] = json!({"cut": event(down, "down"), "mend": event(up, "up")});
        document["routing"] = json!({"reconvergence": format!("{after}ns")});
        prop_assert_eq!(faults(&document), Vec::<String>::new());
        let simulation = run(&document);
        let (books, tables) = (simulation.books(), Tables::of(&simulation));
        prop_assert!(books.balance(), "{:?}", books);
        prop_assert_eq!(simulation.outstanding(), books.in_flight);
        nothing_is_lost(&tables, &document)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, failure_persistence: None, ..ProptestConfig::default() })]

    /// One direction alone fails, where losses are allowed: pauses cannot come back, so packets may be lost; the books balance all
    /// the same, and one thread, two and steps give the same bytes.
    #[test]
    fn one_direction_that_fails_keeps_the_laws(
        document in random_network(),
        links in prop::sample::select(vec!["*->switch", "*0->*", "*->*1", "spine*->*", "*->*"]),
        times in (1u64..250_000, 1u64..50_000), after in 0u64..100_000, mode in prop::sample::select(vec!["go-on", "watchdog"]),
        action in prop::sample::select(vec!["drop", "forward", "flush"]),
    ) {
        let (down, up) = (times.0, times.0 + times.1);
        let event = |at: u64, state: &str| json!({"at": format!("{at}ns"), "link": links, "state": state});
        let mut document = with_the_least(document);
        (document["pfc"]["lossy"], document["pfc"]["deadlock"]) = (json!("allowed"), json!(mode));
        document["pfc"]["watchdog"] = json!("20us");
        (document["pfc"]["action"], document["pfc"]["restoration"]) = (json!(action), json!("30us"));
        document["event"] = json!({"cut": event(down, "down"), "mend": event(up, "up")});
        document["routing"] = json!({"reconvergence": format!("{after}ns")});
        let said = faults(&document);
        prop_assume!(!said.iter().any(|fault| fault.starts_with("event.cut.link: ")));
        prop_assert_eq!(said, Vec::<String>::new());
        let ran = |threads: usize, every: Span| {
            let mut experiment = shallows_spec::parse(&document.to_string()).expect("no faults");
            experiment.cut = Cut::Always;
            let mut simulation = experiment.build().unwrap_or_else(|faults| panic!("{:?}", faults.0));
            simulation.set_threads(threads);
            let mut until = Time::ZERO + every;
            while !simulation.advance(until, &Control::new()).expect("the run ends") {
                until += every;
            }
            simulation
        };
        let first = ran(1, Span::ms(1));
        let books = first.books();
        prop_assert!(books.balance(), "{:?}", books);
        prop_assert_eq!(first.outstanding(), books.in_flight);
        for (threads, every) in [(2, Span::ms(1)), (1, Span::us(17))] {
            let other = ran(threads, every);
            prop_assert_eq!(Tables::of(&first).hashes(), Tables::of(&other).hashes());
            prop_assert_eq!(first.notes(), other.notes());
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
