//! Links that fail and change: wrong events are refused all at once, books balance, and neither threads nor steps show.

mod common;

use common::{Tables, faults, run};
use proptest::prelude::*;
use serde_json::{Value, json};
use shallows_core::experiment::Cut;
use shallows_core::{Control, Simulation};
use shallows_units::{Span, Time};
use std::collections::BTreeMap;

fn network(ecmp: &str, events: Value) -> Value {
    json!({
        "duration": "2ms", "warmup": "300us", "ecmp": ecmp,
        "topology": {"kind": "leaf-spine", "leaves": 3, "spines": 3, "hosts_per_leaf": 2, "rate": "10Gbps", "delay": "3us"},
        "queue": {"kind": "drop-tail", "limit": "40pkt"},
        "transport": {"cc": "newreno", "min_rto": "200us", "initial_rto": "200us"},
        "traffic": {"x": {"kind": "poisson", "from": "h*", "to": "h*", "load": 0.5, "sizes": {"kind": "fixed", "bytes": "20KB"}}},
        "event": events,
    })
}

/// Wrong events, all at once: each by its path.
#[test]
fn wrong_events_are_refused_all_at_once() {
    let mut document = network(
        "flow",
        json!({
            "late": {"at": "2ms", "link": "leaf0->spine0", "state": "down"},
            "unknown": {"at": "1ms", "link": "leaf0->spin0", "state": "down"},
            "nothing": {"at": "1ms", "link": "leaf0->spine0"},
            "slow": {"at": "1ms", "link": "leaf0->spine0", "rate": "0bps"},
            "lossy": {"at": "1ms", "link": "leaf0->spine0", "loss": 2},
            "when": {"link": "leaf0->spine0", "stat": "down"},
        }),
    );
    document["routing"] = json!({"flowlet_gap": "1us", "reconverge": "1s"});
    document["port"] = json!({"*->*": {"weight": 2}});
    let said = faults(&document);
    for expected in [
        "routing.flowlet_gap: changes nothing: ecmp is not \"flowlet\"",
        "routing.reconverge: unknown key",
        "port.*->*.weight: changes nothing: ecmp is not \"weighted\"",
        "event.late.at: must be below the duration of 2ms: nothing happens later, got \"2ms\"",
        "event.unknown.link: no node is named \"spin0\"",
        "event.nothing.state: needs state, rate, delay, loss or pause: the event changes nothing",
        "event.slow.rate: must be > 0",
        "event.lossy.loss: must be <= 1",
        "event.when.at: is required",
        "event.when.stat: unknown key",
        "event.when.state: needs state, rate",
    ] {
        assert!(said.iter().any(|fault| fault.starts_with(expected)), "{expected}\n{said:#?}");
    }
    assert_eq!(said.len(), 11, "{said:#?}");
    let event = |at: &str, link: &str, state: &str| json!({"at": at, "link": link, "state": state});
    let found = faults(&network(
        "flow",
        json!({
            "one": event("1ms", "leaf0<->spine0", "down"),
            "again": event("1500us", "leaf0->spine*", "down"),
            "same": event("1500us", "spine0->leaf0", "up"),
            "other": event("1500us", "spine0->leaf0", "down"),
            "up": event("1ms", "leaf1->spine0", "up"),
        }),
    ));
    assert_eq!(
        found,
        [
            "event.up.state: changes nothing: leaf1->spine0 is up from the start, got \"up\"",
            "event.again.state: changes nothing: event.one has taken leaf0->spine0 down before, got \"down\"",
            "event.other.state: contradicts event.same, which sets it for spine0->leaf0 at the same time, got \"down\"",
        ]
    );
    let mut idle = network("flow", json!({}));
    idle["routing"] = json!({"reconvergence": "1ms"});
    assert_eq!(
        faults(&idle),
        ["routing.reconvergence: changes nothing: no [event.NAME] takes a link down or up, got \"1ms\""]
    );
    let mut controlled =
        network("flow", json!({"slow": {"at": "1ms", "link": "leaf0->spine0", "rate": "1Gbps"}}));
    controlled["port_control"] = json!("hpcc");
    assert!(
        faults(&controlled)[0]
            .starts_with("event.slow.rate: must not change at leaf0->spine0: its port_control \"hpcc\"")
    );
}

/// A setting that every link of its event has already is refused; where one of them changes, the event is fine.
#[test]
fn a_change_to_the_value_in_force_is_refused() {
    let event = |at: &str, link: &str, what: Value| {
        let mut event = json!({"at": at, "link": link});
        event.as_object_mut().expect("a table").append(what.clone().as_object_mut().expect("a table"));
        event
    };
    let mut document = network(
        "flow",
        json!({
            "same": event("1ms", "leaf0->spine0", json!({"rate": "10Gbps", "delay": "10us", "loss": 0})),
            "slower": event("1ms", "leaf1->spine*", json!({"rate": "2Gbps"})),
            "again": event("1500us", "leaf1->spine1", json!({"rate": "2Gbps", "delay": "4us"})),
            "all": event("1600us", "leaf1->spine*", json!({"delay": "4us"})),
            "back": event("1700us", "leaf1->spine1", json!({"rate": "10Gbps"})),
            "port": event("1700us", "leaf2->spine0", json!({"rate": "5Gbps", "loss": 0.1})),
            "twice": event("1700us", "leaf1->spine*", json!({"rate": "1Gbps"})),
        }),
    );
    document["port"] = json!({"leaf2->spine0": {"rate": "5Gbps", "loss": 0.1}});
    let already = |event: &str, link: &str, key: &str, value: &str| {
        format!("event.{event}.{key}: changes nothing: {link} has this {key} already, got {value}")
    };
    let mut expected = vec![
        already("same", "leaf0->spine0", "rate", "\"10Gbps\""),
        already("same", "leaf0->spine0", "delay", "\"10us\""),
        already("same", "leaf0->spine0", "loss", "0.0"),
        already("again", "leaf1->spine1", "rate", "\"2Gbps\""),
        already("port", "leaf2->spine0", "rate", "\"5Gbps\""),
        already("port", "leaf2->spine0", "loss", "0.1"),
        "event.twice.rate: contradicts event.back, which sets it for leaf1->spine1 at the same time, got \"1Gbps\"".into(),
    ];
    let mut said = faults(&document);
    said.sort();
    expected.sort();
    assert_eq!(said, expected);
    // A rate that is wrong in itself hides the contradiction that its default would make, and no other fault does.
    document["event"]["back"]["rate"] = json!("10Gbits");
    said = faults(&document);
    assert!(said.iter().any(|fault| fault.starts_with("event.back.rate: ")), "{said:#?}");
    assert!(!said.iter().any(|fault| fault.contains("contradicts")) && said.len() == 7, "{said:#?}");
}

/// A port that always has something to send is busy all the time that its link is up, whatever failures interrupt: 1.2 ms a
/// packet, the link down for 1 us in each millisecond, and a packet under way when counting begins.
#[test]
fn a_transmission_that_is_cut_counts_for_as_long_as_it_lasted() {
    let mut events = serde_json::Map::new();
    for ms in 1..20 {
        let event = |at: String, state: &str| json!({"at": at, "link": "switch->r0", "state": state});
        events.insert(format!("cut{ms}"), event(format!("{ms}ms"), "down"));
        events.insert(format!("mend{ms}"), event(format!("{}us", 1000 * ms + 1), "up"));
    }
    let document = |warmup: &str| {
        json!({
            "duration": "20ms", "warmup": warmup,
            "topology": {"kind": "star", "senders": 1, "rate": "10Gbps", "delay": "1us"},
            "port": {"switch->r0": {"rate": "10Mbps"}},
            "queue": {"kind": "drop-tail", "limit": "10pkt"},
            "transport": {"cc": {"kind": "cbr", "rate": "1Gbps"}, "ecn": "off", "opening": "established"},
            "traffic": {"x": {"kind": "bulk", "from": "s0", "to": "r0"}},
            "event": Value::Object(events.clone()),
        })
    };
    for warmup in ["0s", "10500us", "19500us"] {
        let tables = Tables::of(&run(&document(warmup)));
        let row = tables.port("switch->r0");
        let busy = tables.f64("queues", "utilisation")[row];
        // After each repair the port waits for the next packet, at most 12 us of 1 ms.
        assert!((0.985..1.0).contains(&busy) || warmup == "19500us" && busy == 1.0, "{warmup}: {busy}");
        assert_eq!(tables.u64("queues", "packets_out")[row], 0, "{warmup}: no packet gets through");
    }
}

/// The port of a link that changes has two events a packet from the start. Where no two events meet, that shows in no number of a
/// flow or queue: an event at the last instant leaves everything as it is. (Waits count with the packet's arrival or departure.)
#[test]
fn an_event_at_the_end_leaves_a_run_as_it_is() {
    let small = |kind: &str| json!({"kind": kind, "limit": "15pkt"});
    let queues = [
        small("drop-tail"),
        json!({"kind": "threshold", "limit": "15pkt", "mark_at": "8pkt"}),
        small("codel"),
        small("fq"),
        json!("red"),
        json!("fq-codel"),
        json!("dualpi2"),
    ];
    for queue in queues {
        let mut document = network("flow", json!({}));
        // With seed 1 acknowledgements meet: one comes to a port in the picosecond in which another leaves it, and RED's
        // average counts the other or not. With seed 3 none do.
        document["seed"] = json!(3);
        document["queue"] = queue.clone();
        document["traffic"]["x"]["load"] = json!(0.8);
        document["port"] = json!({
            "h*->*": {"rate": "9973Mbps", "delay": "3001237ps"}, "leaf*->spine*": {"rate": "7919Mbps", "delay": "2000351ps"},
            "spine*->*": {"rate": "8887Mbps", "delay": "2503789ps"}, "leaf*->h*": {"rate": "6997Mbps", "delay": "1702127ps"},
        });
        document["traffic"]["x"]["sizes"] = json!({"kind": "uniform", "min": "1KB", "max": "60KB"});
        let without = run(&document);
        document["event"] = json!({"late": {"at": "1999999999ps", "link": "*->*", "delay": "99us"}});
        let with = run(&document);
        assert!(without.books().hops > 4000, "{queue}: {:?}", without.books());
        let (without, with) = (Tables::of(&without), Tables::of(&with));
        let busy = |tables: &Tables| tables.f64("queues", "utilisation").to_vec();
        assert!(
            busy(&without).iter().zip(&busy(&with)).all(|(one, other)| (one - other).abs() < 1e-6),
            "{queue}"
        );
        let (without, with) = (without.hashes(), with.hashes());
        let apart = |column: &str| column == "queues.utilisation" || column.contains("_wait_ps");
        let other = without.iter().filter(|(column, hash)| !apart(column) && with.get(*column) != Some(hash));
        let other: Vec<_> = other.map(|(column, _)| column).collect();
        assert!(other.is_empty(), "{queue}: {other:?}");
    }
}

/// The resolved record has what matters, and resolves to itself.
#[test]
fn a_record_keeps_events_and_resolves_to_itself() {
    let mut document =
        network("flowlet", json!({"cut": {"at": "1ms", "link": "leaf0<->spine0", "state": "down"}}));
    let resolved = |document: &Value| -> Value {
        let answer: Value = serde_json::from_str(&shallows_spec::check(&document.to_string())).expect("JSON");
        assert_eq!(answer["faults"], json!([]));
        answer["experiment"].clone()
    };
    let first = resolved(&document);
    assert_eq!(first["routing"], json!({"reconvergence": "0s", "flowlet_gap": "500us"}));
    assert_eq!(first["event"]["cut"]["delay"], "none");
    assert_eq!(resolved(&first), first);
    document.as_object_mut().expect("a table").remove("event");
    document["ecmp"] = json!("flow");
    let plain = resolved(&document);
    assert!(plain.get("routing").is_none() && plain.get("event").is_none());
}

/// A lossless network with links that fail and come back.
fn lossless(links: [&str; 2]) -> Value {
    let mut document = network(
        "random",
        json!({
            "cut": {"at": "700us", "link": links[0], "state": "down"},
            "mend": {"at": "1400us", "link": links[1], "state": "up"},
        }),
    );
    document["queue"]["limit"] = json!("none");
    document["switch"] = json!({"*": {"buffer": "300KB"}});
    document["priority"] = json!({"3": {"pfc": true}, "6": {}});
    document["transport"]["priority"] = json!(3);
    document["transport"]["ack_priority"] = json!(6);
    document["transport"]["initial_window"] = json!("100pkt");
    document["traffic"]["x"] = json!({"kind": "bulk", "from": "h1..h5", "to": "h0"});
    document["warmup"] = json!("0s");
    document["routing"] = json!({"reconvergence": "50us"});
    document
}

/// A cable that fails takes its packets and no others: accounts, pauses and frames begin anew, and flows go on.
#[test]
fn a_lossless_network_loses_what_was_on_the_cable_alone() {
    for cable in ["leaf*<->spine0", "leaf0<->spine*", "h1<->leaf0", "h0<->leaf0"] {
        let simulation = run(&lossless([cable, cable]));
        let tables = Tables::of(&simulation);
        let sum = |column: &str| tables.u64("queues", column).iter().sum::<u64>();
        assert!(simulation.books().balance(), "{cable}");
        assert_eq!(simulation.outstanding(), simulation.books().in_flight, "{cable}");
        assert!(sum("drops_dead") + sum("drops_cut") > 0, "{cable}");
        assert_eq!(sum("drops"), sum("drops_dead") + sum("drops_cut"), "{cable}");
        assert!(tables.u64("pauses", "paused").iter().sum::<u64>() > 10, "{cable}");
        let mut late = lossless([cable, cable]);
        late["warmup"] = json!("1800us");
        let rates = Tables::of(&run(&late)).f64("flows", "goodput_bps").to_vec();
        assert!(
            rates.iter().all(|rate| *rate > 1e8) && rates.iter().sum::<f64>() > 5e9,
            "{cable}: {rates:?}"
        );
    }
    let one_way = faults(&lossless(["leaf0->spine0", "leaf0->spine0"]));
    assert!(
        one_way[0].starts_with("event.cut.link: must name both directions (\"leaf0<->spine0\")"),
        "{one_way:?}"
    );
    let mut slower = lossless(["leaf0<->spine0"; 2]);
    slower["event"]["storm"] = json!({"at": "1ms", "link": "leaf1->spine0", "pause": [5]});
    let said = faults(&slower);
    let rule = "event.storm.pause: must name lossless priorities of leaf1->spine0";
    assert!(said.len() == 1 && said[0].starts_with(rule), "{said:?}");
}

/// A random change of some links.
fn change() -> impl Strategy<Value = (u64, &'static str, Value)> {
    let links = prop::sample::select(vec![
        "leaf0<->spine0",
        "leaf*->spine1",
        "spine*<->leaf1",
        "spine2->leaf*",
        "h0<->leaf0",
        "leaf1->h2",
        "leaf*<->spine*",
    ]);
    let what = prop_oneof![
        4 => Just(json!({"state": "down"})),
        3 => Just(json!({"state": "up"})),
        2 => (1u64..40).prop_map(|gbps| json!({"rate": format!("{gbps}Gbps")})),
        2 => (0u64..60).prop_map(|us| json!({"delay": format!("{}ns", 1000 * us + 200)})),
        1 => (0.0..0.2f64).prop_map(|loss| json!({"loss": loss})),
    ];
    (1u64..1999, links, what)
}

fn hashes(simulation: &Simulation) -> BTreeMap<String, u64> {
    assert!(simulation.books().balance(), "{:?}", simulation.books());
    assert_eq!(simulation.outstanding(), simulation.books().in_flight);
    Tables::of(simulation).hashes()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any events: books balance, ports count what came, left and was lost, nothing is faster than its ideal, and one
    /// thread, three, steps and none give the same bytes.
    #[test]
    fn any_events_keep_the_laws(
        changes in prop::collection::vec(change(), 1..8),
        ecmp in prop::sample::select(vec!["flow", "round-robin", "random", "weighted", "flowlet", "least-loaded"]),
        queue in prop::sample::select(vec!["drop-tail", "codel", "fq", "fq-codel", "red", "pfabric", "dualpi2"]),
        gap in 0u64..900, seed in 1u64..1000, every in 1u64..40,
    ) {
        let events: serde_json::Map<String, Value> = changes
            .into_iter()
            .enumerate()
            .map(|(i, (at, link, mut what))| {
                (what["at"], what["link"]) = (json!(format!("{at}us")), json!(link));
                (format!("event{i}"), what)
            })
            .collect();
        let mut document = network(ecmp, Value::Object(events));
        (document["queue"], document["seed"]) = (json!(queue), json!(seed));
        document["probe"] = json!({"nic_queues": true, "at_dequeue": true, "queue_trace": "70us", "packets": "*->*"});
        document["routing"] = json!({"reconvergence": format!("{gap}us")});
        // Changes that contradict each other are refused, all that are named at once.
        while let Some(fault) = faults(&document).first() {
            let name = fault.split('.').nth(1).and_then(|name| name.split([':', '.']).next()).unwrap_or_default();
            if fault.starts_with("routing") {
                document.as_object_mut().expect("a table").remove("routing");
            } else {
                prop_assert!(document["event"].as_object_mut().expect("a table").remove(name).is_some(), "{}", fault);
            }
        }
        let run = |how: Cut, threads: usize, every: Option<Span>| {
            let mut experiment = shallows_spec::parse(&document.to_string()).expect("no faults");
            experiment.cut = how;
            let mut simulation = experiment.build().unwrap_or_else(|faults| panic!("{:?}", faults.0));
            simulation.set_threads(threads);
            let mut until = every.map_or(Time::MAX, |every| Time::ZERO + every);
            while !simulation.advance(until, &Control::new()).expect("the run ends") {
                until += every.unwrap_or_default();
            }
            simulation
        };
        let whole = run(Cut::Never, 1, None);
        let tables = Tables::of(&whole);
        let slowdowns = tables.f64("messages", "slowdown");
        prop_assert!(slowdowns.iter().all(|s| s.is_nan() || *s >= 1.0), "{:?}", slowdowns);
        for row in 0..tables.rows("queues") {
            let of = |column: &str| tables.u64("queues", column)[row];
            let dropped = tables.dropped_at_port("queues", row);
            prop_assert_eq!(of("packets_in"), of("packets_out") + dropped + of("packets_held"));
            prop_assert!(of("drops") - dropped <= of("packets_out"));
            prop_assert!((0.0..=1.0).contains(&tables.f64("queues", "utilisation")[row]));
        }
        let stepped = run(Cut::Never, 1, Some(Span::us(every * 7)));
        prop_assert_eq!(hashes(&whole), hashes(&stepped));
        let alone = run(Cut::Always, 1, None);
        prop_assert_eq!(hashes(&alone), hashes(&run(Cut::Always, 3, None)));
        prop_assert_eq!(hashes(&alone), hashes(&run(Cut::Always, 1, Some(Span::us(every * 7)))));
    }
}
