//! Numbers and notes of queue pairs that depend on a choice: when a message counts as done, what a timer waits for, what a row of a
//! table opens, whether packets may be marked, and whether one phase was run.

mod common;

use common::{Tables, faults, run, set};
use serde_json::{Value, json};

fn notes(document: &Value, about: &str) -> Vec<String> {
    run(document).notes().into_iter().filter(|note| note.contains(about)).collect()
}

/// A message alone at 100 Gb/s over two links of 1 us: the acknowledgement of 66 bytes takes 2 us and two transmissions more.
/// For every transport it comes after the completion, never sooner than over the empty network, and of a READ never.
#[test]
fn the_last_acknowledgement_is_a_time_of_its_own() {
    let document = |transport: Value| {
        json!({
            "duration": "20ms",
            "topology": {"kind": "star", "senders": 4, "rate": "100Gbps", "delay": "1us"},
            "queue": {"kind": "drop-tail", "limit": "100pkt"},
            "transport": transport,
            "traffic": {"x": {"kind": "messages", "from": "s*", "to": "r0", "bytes": "100KB", "interval": "2ms", "count": 3, "stagger": "500us"}},
        })
    };
    let times = |transport: Value| {
        let simulation = run(&document(transport));
        let tables = Tables::of(&simulation);
        let column = |name: &str| tables.u64("messages", name).to_vec();
        let (fct, ideal) = (column("fct_ps"), column("ideal_ps"));
        (
            fct,
            ideal,
            column("acked_ps"),
            column("ideal_acked_ps"),
            tables.f64("messages", "slowdown_acked").to_vec(),
        )
    };
    let back = 2_000_000 + 2 * 66 * 80; // 80 ps a byte
    for repair in ["go-back-n", "go-back-0", "irn"] {
        let (fct, ideal, acked, ideal_acked, slowdown) =
            times(json!({"profile": "roce", "cc": "line-rate", "repair": repair}));
        assert_eq!(fct.len(), 12);
        for row in 0..12 {
            assert_eq!((acked[row] - fct[row], ideal_acked[row] - ideal[row]), (back, back), "{repair}");
            assert!((slowdown[row] - acked[row] as f64 / ideal_acked[row] as f64).abs() < 1e-9);
        }
    }
    for transport in [json!({"cc": "dctcp"}), json!({"cc": "newreno", "ack_every": 2})] {
        let (fct, _, acked, ideal_acked, _) = times(transport);
        assert!((0..12).all(|row| acked[row] > fct[row] && acked[row] >= ideal_acked[row]));
    }
    let reads = times(json!({"profile": "roce", "cc": "line-rate", "verb": "read"}));
    assert!(
        reads.0.iter().all(|fct| *fct != u64::MAX)
            && reads.2.iter().chain(&reads.3).all(|acked| *acked == u64::MAX)
    );
}

/// Whole flows agree too. One whose last acknowledgement is lost with the run's end has a completion time alone.
#[test]
fn a_flow_that_ends_before_its_acknowledgement_has_none() {
    let flow = |duration: &str| {
        let simulation = run(&json!({
            "duration": duration,
            "topology": {"kind": "star", "senders": 1, "rate": "100Gbps", "delay": "1us"},
            "queue": "drop-tail",
            "transport": {"profile": "roce", "cc": "line-rate"},
            "traffic": {"x": {"kind": "bulk", "from": "s0", "to": "r0", "bytes": "1000B"}},
        }));
        let tables = Tables::of(&simulation);
        ["fct_ps", "acked_ps"].map(|name| tables.u64("flows", name)[0])
    };
    let [fct, acked] = flow("1ms");
    assert_eq!(acked - fct, 2_000_000 + 2 * 66 * 80);
    assert_eq!(flow("3us"), [fct, u64::MAX]);
}

/// 400 queue pairs with IRN before a link of 10 Gb/s: each gets an answer once in 350 us, and a timer of 320 us sends again
/// what is not lost. The note counts it; a timer that follows from path and buffer does not expire.
fn patient(rto: Value) -> Value {
    let mut document = json!({
        "duration": "20ms",
        "topology": {"kind": "star", "senders": 400, "rate": "10Gbps", "delay": "1us"},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "switch": {"*": {"buffer": "9MB", "alpha": 8.0}},
        "transport": {"profile": "roce", "cc": "line-rate", "repair": "irn", "bdp": "40KB", "rto_low_packets": 1},
        "traffic": {"query": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "8KB"}},
    });
    set(&mut document, "transport.rto_high", rto);
    document
}

#[test]
fn timeouts_without_a_loss_are_noted() {
    let document = patient(json!("320us"));
    let simulation = run(&document);
    let timeouts: u64 = Tables::of(&simulation).u64("flows", "timeouts").iter().sum();
    let drops: u64 = Tables::of(&simulation).u64("flows", "drops").iter().sum();
    assert!(timeouts > 400 && drops == 0, "{timeouts} {drops}");
    let found = notes(&document, "timeouts");
    assert_eq!(found.len(), 1, "{found:?}");
    for part in [
        &format!("traffic query: {timeouts} timeouts, and no packet was lost"),
        "rto_high (320us)",
        "rto_high = \"none\"",
    ] {
        assert!(found[0].contains(part), "{part}: {found:?}");
    }
    // A timeout after a loss is no surprise.
    let mut lossy = document;
    lossy["duration"] = json!("300ms");
    lossy["traffic"]["query"]["from"] = json!("s0");
    lossy["port"] = json!({"s0->switch": {"drop_packets": [7, 8]}});
    let tables = Tables::of(&run(&lossy)).u64("flows", "timeouts")[0];
    assert!(tables > 0 && notes(&lossy, "timeouts").is_empty());
}

/// Mittal 2018: the longest path and a full buffer. 9 MB at 10 Gb/s take 7.2 ms; a packet that is lost for good brings the timer to
/// light. A queue without any bound has no such time, and is refused.
#[test]
fn the_longer_timer_follows_from_path_and_buffer() {
    assert_eq!(notes(&patient(json!("none")), "timeouts"), [""; 0]);
    let expires = |buffer: &str| {
        let mut document = patient(json!("none"));
        set(&mut document, "switch", json!({"*": {"buffer": buffer, "alpha": 8.0}}));
        set(
            &mut document,
            "traffic.query",
            json!({"kind": "bulk", "from": "s0", "to": "r0", "bytes": "1024B"}),
        );
        set(&mut document, "port", json!({"s0->switch": {"drop_packets": [1]}}));
        Tables::of(&run(&document)).u64("flows", "fct_ps")[0]
    };
    // From 9 to 4 MB: 5 MB at 10 Gb/s are 4 ms.
    assert_eq!(expires("9MB") - expires("4MB"), 4_000_000_000);
    let own = expires("9MB");
    assert!((7_204_000_000..7_210_000_000).contains(&own), "{own}");
    let mut limited = patient(json!("none"));
    limited.as_object_mut().expect("a table").remove("switch");
    let found = faults(&limited);
    assert!(
        found.len() == 1
            && found[0].contains("transport.rto_high: must be a time")
            && found[0].contains("switch->s0"),
        "{found:?}"
    );
    limited["queue"] = json!({"kind": "drop-tail", "limit": "1MB"});
    assert_eq!(faults(&limited), [""; 0]);
}

/// Ten rows between the same hosts: ten queue pairs share the card, and a note says so; or one sends them in turn.
#[test]
fn a_table_may_keep_its_queue_pairs() {
    let document = |profile: Value, connection: &str| {
        let row = |n: u64| json!({"from": "s0", "to": if n == 9 { "r1" } else { "r0" }, "bytes": "100KB", "start": format!("{n}us")});
        json!({
            "duration": "5ms",
            "topology": {"kind": "star", "senders": 1, "receivers": 2, "rate": "100Gbps", "delay": "1us"},
            "queue": {"kind": "drop-tail", "limit": "none"},
            "transport": profile,
            "traffic": {"x": {"kind": "table", "connection": connection, "flows": (0..10).map(row).collect::<Vec<_>>()}},
        })
    };
    let roce = || json!({"profile": "roce", "cc": "line-rate"});
    for profile in [roce(), json!({"cc": "newreno"})] {
        for (connection, flows) in [("fresh", 10), ("persistent", 2)] {
            let simulation = run(&document(profile.clone(), connection));
            let tables = Tables::of(&simulation);
            assert_eq!(tables.u64("flows", "start_ps").len(), flows, "{profile}");
            let sizes: Vec<u64> = tables.u64("flows", "delivered_bytes").to_vec();
            assert_eq!(sizes.iter().sum::<u64>(), 1_000_000);
            let mut starts = tables.u64("messages", "start_ps").to_vec();
            starts.sort_unstable();
            assert_eq!(starts, (0..10).map(|n| n * 1_000_000).collect::<Vec<u64>>());
            assert!(
                tables.u64("flows", "fct_ps").iter().all(|fct| *fct != u64::MAX),
                "each is closed behind its last row"
            );
        }
    }
    let found = notes(&document(roce(), "fresh"), "table");
    assert!(
        found.len() == 1
            && found[0].contains("each of its 10 rows, 8 of them")
            && found[0].contains("persistent"),
        "{found:?}"
    );
    assert_eq!(notes(&document(roce(), "persistent"), "table"), [""; 0]);
    assert_eq!(notes(&document(json!({"cc": "newreno"}), "fresh"), "table"), [""; 0]);
}

/// A card's packets may be ECN-capable under a control that does not listen: then a ramp marks them, and the receiver notifies.
#[test]
fn line_rate_may_be_ecn_capable() {
    let document = |ecn: &str, cc: &str| {
        json!({
            "duration": "2ms",
            "topology": {"kind": "star", "senders": 2, "rate": "100Gbps", "delay": "1us"},
            "queue": {"kind": "ramp", "limit": "none", "kmin": "50KB", "kmax": "51KB", "pmax": 1.0},
            "transport": {"profile": "roce", "cc": cc, "ecn": ecn},
            "traffic": {"x": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "500KB"}},
        })
    };
    let seen = |ecn: &str| {
        let tables = Tables::of(&run(&document(ecn, "line-rate")));
        ["marks", "ecn_reductions"].map(|name| tables.u64("flows", name).iter().sum::<u64>())
    };
    assert_eq!(seen("auto"), [0, 0]);
    let [marks, notified] = seen("on");
    assert!(marks > 100 && notified >= 2, "{marks} {notified}");
    let found = faults(&document("off", "dcqcn"));
    assert!(found.len() == 1 && found[0].contains("transport.ecn: must be \"auto\" or \"on\""), "{found:?}");
}

/// Senders that pace from the first packet on and begin in one picosecond keep their phase, whatever the seed: the reader learns it,
/// and a jitter or starts that differ end it. Windows over acknowledgements do not pace.
#[test]
fn one_phase_of_an_incast_is_noted() {
    let document = |cc: &str, starts: Value| {
        let mut document = json!({
            "duration": "1ms",
            "topology": {"kind": "star", "senders": 8, "rate": "100Gbps", "delay": "1us"},
            "queue": {"kind": "ramp", "kmin": "100KB", "kmax": "400KB", "pmax": 0.2},
            "transport": {"profile": "roce", "cc": cc},
            "traffic": {"x": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "100KB"}},
        });
        let load = document["traffic"]["x"].as_object_mut().expect("a table");
        load.extend(starts.as_object().expect("a table").clone());
        document
    };
    for cc in ["dcqcn", "timely", "line-rate"] {
        let found = notes(&document(cc, json!({})), "picosecond");
        assert!(found.len() == 1 && found[0].starts_with("traffic x: 8 senders to r0"), "{found:?}");
        for starts in [json!({"jitter": "1us"}), json!({"stagger": "10ns"}), json!({"from": "s0"})] {
            assert_eq!(notes(&document(cc, starts), "picosecond"), [""; 0]);
        }
    }
    assert_eq!(notes(&document("newreno", json!({})), "picosecond"), [""; 0]);
    let mut faulty = document("dcqcn", json!({}));
    faulty["port"] = json!({"switch->r0": {"loss": 0.001}});
    assert_eq!(notes(&faulty, "picosecond"), [""; 0]);
}
