//! Lines of the manifest for effects that no number shows; and the messages of an incast, which are its responses.

mod common;

use common::{Tables, faults, run, set};
use serde_json::{Value, json};

fn document(queue: Value, transport: Value) -> Value {
    json!({
        "duration": "20ms",
        "topology": {"kind": "star", "senders": 2},
        "queue": queue,
        "transport": transport,
        "traffic": {"long": {"kind": "bulk", "from": "s*", "to": "r0"}},
    })
}

fn notes(document: &Value) -> Vec<String> {
    let manifest = run(document).manifest_counts();
    let lines = manifest["notes"].as_array().expect("a list").iter();
    lines.map(|line| line.as_str().expect("text").to_string()).collect()
}

#[test]
fn dctcp_in_the_classic_queue_is_told() {
    let by = |classify: &str, transport: Value| {
        notes(&document(json!({"kind": "dualpi2", "classify": classify}), transport))
    };
    let found = by("ect1", json!({"cc": "dctcp"}));
    assert_eq!(
        found,
        [
            "traffic.long: dctcp sends ECT(0), and switch->s0, switch->s1, switch->r0 sorts by ECT(1), so it shares the \
          classic queue. Write transport.ect = \"ect1\" or classify = \"any_ect\" for the low-latency queue."
        ]
    );
    assert_eq!(by("any_ect", json!({"cc": "dctcp"})), [""; 0]);
    assert_eq!(by("ect1", json!({"cc": "dctcp", "ect": "ect1"})), [""; 0]);
    assert_eq!(by("ect1", json!({"cc": "newreno", "ecn": "on"})), [""; 0], "classic ECN belongs there");
    assert_eq!(by("ect1", json!({"cc": "prague"})), [""; 0]);
}

#[test]
fn a_buffer_that_was_never_short_is_told() {
    let with = |buffer: &str, alpha: Value| {
        let mut document = document(json!({"kind": "drop-tail", "limit": "none"}), json!({"cc": "newreno"}));
        document["switch"] = json!({"*": {"buffer": buffer, "alpha": alpha}});
        notes(&document)
    };
    let found = "switch: the shared buffer was never short. Its dynamic threshold (alpha) refused no packet and changed \
                nothing.";
    assert_eq!(with("1GB", json!(1.0)), [found]);
    assert_eq!(with("60KB", json!(1.0)), [""; 0]);
    assert_eq!(with("1GB", json!("none")), [""; 0], "no threshold, nothing to tell");
}

/// A round is a request to each worker and a response from each; only the responses are messages.
#[test]
fn the_messages_of_an_incast_are_its_responses() {
    for connection in ["persistent", "fresh"] {
        let mut document = document(json!({"kind": "drop-tail"}), json!({"cc": "newreno"}));
        let incast = json!({"kind": "incast", "from": "s*", "to": "r0", "response": "20KB", "rounds": 3,
            "connection": connection});
        set(&mut document, "traffic", json!({"queries": incast}));
        let simulation = run(&document);
        let tables = Tables::of(&simulation);
        assert_eq!(tables.u64("messages", "bytes"), [20_000; 6], "{connection}");
        assert_eq!(tables.u64("rounds", "bytes"), [40_000; 3]);
        // The last of a round's responses ends the round; rounds begin with the requests, before any response.
        let (rounds, responses) = (tables.u64("rounds", "fct_ps"), tables.u64("messages", "fct_ps"));
        assert!(rounds.iter().zip(responses.chunks(2)).all(|(round, two)| two.iter().all(|one| one < round)));
    }
}

/// A responder that drops what is out of order takes a packet that overtakes for a loss: with paths by packet the reader
/// learns it. IRN keeps such packets, and paths by flow keep the order.
#[test]
fn go_back_n_over_several_paths_is_refused_or_noted() {
    let document = |ecmp: &str, repair: &str, allowed: bool| {
        json!({
            "duration": "1ms",
            "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 4, "hosts_per_leaf": 2, "delay": "5us"},
            "queue": "drop-tail",
            "ecmp": ecmp,
            "transport": {"profile": "roce", "cc": "line-rate", "repair": repair, "reordering": if allowed { "allowed" } else { "refused" }},
            "traffic": {"x": {"kind": "bulk", "from": "h0", "to": "h3", "bytes": "100KB"}},
        })
    };
    let notes = |ecmp: &str, repair: &str| run(&document(ecmp, repair, false)).notes();
    for ecmp in ["random", "round-robin", "least-loaded"] {
        for repair in ["go-back-n", "go-back-0"] {
            assert_eq!(
                faults(&document(ecmp, repair, false)),
                [format!(
                    "ecmp: must be \"flow\", \"weighted\" or \"flowlet\": traffic.x has queue pairs without irn, and their packets from \
                     h0 to h3 would take several paths from leaf0 on. Each that overtakes counts as a loss. Or write \
                     repair = \"irn\" or reordering = \"allowed\" in its transport, got \"{ecmp}\""
                )]
            );
            let mut inside = document(ecmp, repair, false);
            inside["traffic"]["x"]["to"] = json!("h1"); // one path
            assert_eq!(faults(&inside), [""; 0]);
            inside["transport"]["reordering"] = json!("allowed");
            assert_eq!(run(&inside).notes(), [""; 0]); // nothing parts, so nothing overtakes
            let found = run(&document(ecmp, repair, true)).notes();
            assert!(
                found.len() == 1 && found[0].ends_with("Write ecmp = \"flow\", or repair = \"irn\"."),
                "{found:?}"
            );
        }
    }
    // With flowlets the order depends on the gap, where paths part.
    let mut inside = document("flowlet", "go-back-n", false);
    inside["traffic"]["x"]["to"] = json!("h1");
    assert_eq!(run(&inside).notes(), [""; 0]);
    assert_eq!(
        notes("flowlet", "go-back-n"),
        [
            "traffic x: a queue pair that pauses for longer than routing.flowlet_gap may take another path, and without irn each \
          packet that overtakes counts as a loss. Keep the gap above the difference of the paths' delays, queues included."
        ]
    );
    assert_eq!(
        [notes("random", "irn"), notes("flow", "go-back-n"), notes("weighted", "go-back-n")],
        [[""; 0]; 3]
    );
}

/// Connections that choose no entropy values send by one port of a card.
#[test]
fn ports_that_stay_idle_are_noted() {
    let notes = |transport: Value, planes: u64| {
        run(&json!({
            "duration": "100us",
            "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 1, "planes": planes},
            "queue": {"kind": "trimming", "excess": "drop"},
            "transport": transport,
            "traffic": {"x": {"kind": "bulk", "from": "h0", "to": "h1", "bytes": "10KB"}},
        }))
        .notes()
    };
    let chooses = json!({"profile": "uec", "cc": "nscc"});
    let one = json!({"profile": "uec", "cc": "nscc", "entropy": "single"});
    let found = notes(one.clone(), 4);
    assert!(
        found
            == [
                "traffic x: each connection has the rate of one port of its card, which has 4. Ultra Ethernet's entropy values use them \
                 all: profile \"uec\"."
            ],
        "{found:?}"
    );
    assert_eq!([notes(one, 1), notes(chooses, 4)], [[""; 0]; 2]);
}

/// Tables that follow a failure only after the end never follow it.
#[test]
fn tables_that_never_follow_are_noted() {
    let notes = |at: &str, reconvergence: &str| {
        run(&json!({
            "duration": "6ms",
            "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 1},
            "queue": "drop-tail",
            "transport": {"cc": "newreno"},
            "traffic": {"x": {"kind": "bulk", "from": "h0", "to": "h1", "bytes": "10KB"}},
            "event": {
                "cut": {"at": at, "link": "leaf0<->spine0", "state": "down"},
                "slow": {"at": "0s", "link": "leaf0<->spine1", "rate": "1Gbps"},
            },
            "routing": {"reconvergence": reconvergence},
        }))
        .notes()
    };
    let found = notes("1ms", "5ms");
    assert!(
        found
            == [
                "routing.reconvergence: the tables follow no failure or repair before the end at 6ms: the first would be at 6ms."
            ],
        "{found:?}"
    );
    assert_eq!([notes("1ms", "4999us"), notes("5999us", "0s")], [[""; 0]; 2]);
}

/// IRN's timers are those of a fabric of microseconds. Where a lone packet's answer takes longer, or pauses hold packets back,
/// they send again what is not lost, and the reader learns it.
#[test]
fn timers_of_irn_that_cannot_fit_are_noted() {
    let notes = |delay: &str, transport: Value, pfc: bool| {
        let mut transport = transport;
        set(&mut transport, "profile", json!("roce"));
        set(&mut transport, "cc", json!("line-rate"));
        let simulation = run(&json!({
            "duration": "1ms",
            "topology": {"kind": "star", "senders": 1, "rate": "10Gbps", "delay": delay},
            "queue": {"kind": "drop-tail", "limit": "none"},
            "switch": {"*": {"buffer": "10MB"}},
            "priority": {"0": {"pfc": pfc}},
            "transport": transport,
            "traffic": {"x": {"kind": "bulk", "from": "s0", "to": "r0", "bytes": "1KB"}},
        }));
        let again = Tables::of(&simulation).u64("flows", "retransmissions")[0];
        let about = |text: &str| simulation.notes().iter().filter(|note| note.contains(text)).count();
        (
            again,
            about("rto_low (100us) is not above the round trip of an empty path (101."),
            about("lossless priority"),
        )
    };
    assert_eq!(notes("25us", json!({"repair": "irn"}), false), (1, 1, 0));
    assert_eq!(notes("25us", json!({"repair": "irn", "rto_low": "200us"}), false), (0, 0, 0));
    assert_eq!(notes("20us", json!({"repair": "irn"}), true), (0, 0, 1));
    assert_eq!(notes("25us", json!({}), true), (0, 0, 0));
}
