//! The guaranteed minimum of lossy priorities beside lossless ones: acknowledgements and notifications come through while the
//! data stand in the headrooms.

use crate::common::{Tables, faults, run};
use serde_json::{Value, json};

/// Many senders fill a small switch: their data reach into the headrooms. `reserve` is that of the lossy lane.
fn storm(senders: u64, buffer: &str, cc: Value, reserve: Value) -> Value {
    json!({
        "duration": "3ms",
        "topology": {"kind": "star", "senders": senders, "rate": "100Gbps", "delay": "1us"},
        "queue": {"kind": "ramp", "kmin": "400KB", "kmax": "1600KB", "pmax": 0.2},
        "switch": {"*": {"buffer": buffer, "reserve": reserve}},
        "priority": {"3": {"pfc": true}, "6": {}},
        "transport": {"profile": "roce", "cc": cc, "cnp_interval": "4us", "priority": 3, "ack_priority": 6},
        "traffic": {"x": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "200KB"}},
    })
}

/// Drops of the lane of acknowledgements and notifications, and of data; and the notes about them.
fn lost(document: &Value) -> (u64, u64, Vec<String>) {
    let simulation = run(document);
    let tables = Tables::of(&simulation);
    let (what, drops) = (tables.words("inner_queues", "what"), tables.u64("inner_queues", "drops_buffer"));
    let of = |kind: &str| what.iter().zip(drops).filter(|row| *row.0 == kind).map(|row| row.1).sum();
    let notes = simulation.notes().into_iter().filter(|note| note.contains("control packets")).collect();
    (of("ack"), of("data"), notes)
}

/// The lossy lane loses thousands without a reserve, and nothing with the usual one; the note counts what was lost.
#[test]
fn a_reserve_keeps_the_lane_of_acknowledgements_alive() {
    for cc in [json!("line-rate"), json!({"kind": "dcqcn", "parameters": "vendor"})] {
        let (acks, data, notes) = lost(&storm(128, "8MB", cc.clone(), json!("0B")));
        assert!(acks > 50 && data == 0, "{cc}: {acks} {data}");
        assert!(
            notes.len() == 1 && notes[0].starts_with(&format!("switch: {acks} control packets")),
            "{notes:?}"
        );
        assert_eq!(lost(&storm(128, "8MB", cc, json!("none"))), (0, 0, vec![]));
    }
}

/// The reserves are taken off the memory that is shared, and refused where nothing is left; so are they without flow control.
#[test]
fn reserves_have_their_place_in_the_memory() {
    let found = |buffer: &str, reserve: &str| faults(&storm(63, buffer, json!("line-rate"), json!(reserve)));
    assert_eq!(found("4MB", "4096B"), [""; 0]);
    let refused = found("4MB", "40KB");
    assert!(
        refused.len() == 1 && refused[0].contains("2560KB in reserves of lossy priorities"),
        "{refused:?}"
    );
    let lossy = |buffer: &str| {
        faults(&json!({
            "duration": "1ms",
            "topology": {"kind": "star", "senders": 3},
            "queue": {"kind": "drop-tail", "limit": "none"},
            "switch": {"*": {"buffer": buffer, "reserve": "10KB"}},
            "transport": {"cc": "newreno"},
            "traffic": {"x": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "100KB"}},
        }))
    };
    assert_eq!(lossy("41KB"), [""; 0]);
    let refused = lossy("40KB");
    assert!(refused.len() == 1 && refused[0].contains("must be more than 40KB"), "{refused:?}");
}
