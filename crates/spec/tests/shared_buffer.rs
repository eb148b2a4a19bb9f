//! A buffer that the ports of a switch share, as experiments write it.

mod common;

use common::{Tables, run};
use serde_json::{Value, json};

/// Four senders a receiver, to two receivers.
fn document(queue: Value, switch: Value) -> Value {
    json!({
        "duration": "20ms",
        "topology": {"kind": "star", "senders": 8, "receivers": 2},
        "queue": queue,
        "switch": switch,
        "transport": {"cc": "newreno", "ecn": "off"},
        "traffic": {
            "a": {"kind": "bulk", "from": "s0..s3", "to": "r0"},
            "b": {"kind": "bulk", "from": "s4..s7", "to": "r1"},
        },
    })
}

fn whole(tables: &Tables, column: &str) -> u64 {
    tables.u64("queues", column).iter().sum()
}

#[test]
fn it_limits_every_discipline() {
    for queue in ["drop-tail", "threshold", "codel", "fq-codel", "dualpi2"] {
        let queue = json!({"kind": queue, "limit": "none"});
        for alpha in [json!(1.0), json!("none")] {
            let switch = json!({"*": {"buffer": "60KB", "alpha": alpha}});
            let simulation = run(&document(queue.clone(), switch));
            let tables = Tables::of(&simulation);
            assert!(simulation.books().balance());
            assert!(whole(&tables, "drops_buffer") > 0, "{queue}: nothing is refused");
            assert_eq!(whole(&tables, "drops_full"), 0);
            let most: Vec<u64> = ["switch->r0", "switch->r1"]
                .iter()
                .map(|port| tables.u64("queues", "max_bytes")[tables.port(port)])
                .collect();
            // One port alone may reach alpha / (1 + alpha) of the buffer, and a packet: half, or all.
            let bound = if alpha == "none" { 60_000 } else { 31_500 };
            assert!(most.iter().all(|most| *most <= bound), "{queue}: {most:?}");
            assert!(most.iter().any(|most| *most > 27_000), "{queue}: {most:?}");
        }
    }
}

#[test]
fn marking_stands_over_it() {
    let mut document = document(
        json!({"kind": "threshold", "limit": "none", "mark_at": "10pkt"}),
        json!({"switch": {"buffer": "400KB"}}),
    );
    document["transport"] = json!({"cc": "dctcp"});
    let tables = Tables::of(&run(&document));
    assert!(whole(&tables, "marks") > 0);
    assert_eq!(whole(&tables, "drops_buffer"), 0, "marks keep the queue below the buffer");
}

/// Without a limit that binds, a buffer changes nothing.
#[test]
fn a_large_buffer_changes_no_byte() {
    let queue = json!({"kind": "threshold", "limit": "none", "mark_at": "65pkt"});
    let with = run(&document(queue.clone(), json!({"*": {"buffer": "1TB", "alpha": 1000.0}})));
    let without = run(&document(queue, json!({})));
    assert_eq!(Tables::of(&with).hashes(), Tables::of(&without).hashes());
}

fn faults(switch: Value, queue: Value) -> Vec<String> {
    let faults = shallows_spec::load(&document(queue, switch).to_string()).err().unwrap_or_default();
    faults.iter().map(ToString::to_string).collect()
}

#[test]
fn what_cannot_be_is_refused() {
    let none = json!({"kind": "drop-tail", "limit": "none"});
    let found = faults(json!({"swich": {"buffer": "1MB"}}), none.clone());
    assert_eq!(
        found,
        [
            r#"switch.swich: no switch is named "swich" (switches: switch), got "swich" (did you mean "switch"?)"#
        ]
    );
    let found = faults(json!({"*": {"buffer": "1MB", "alpha": 0}}), none.clone());
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("switch.*.alpha: must be > 0"), "{found:?}");
    let found = faults(json!({"*": {"bufer": "1MB"}}), none);
    assert!(found[0].starts_with("switch.*.bufer: unknown"), "{found:?}");
    let found = faults(json!({"*": {"buffer": "1MB"}}), json!({"kind": "threshold"}));
    assert_eq!(
        found,
        [
            r#"switch.*.buffer: is shared by ports whose limit would bind too: write limit = "none" in their queue, got "250pkt""#
        ]
    );
    let found = faults(json!({"*": {"buffer": "1MB"}}), json!({"kind": "priority"}));
    assert_eq!(found.len(), 2, "both bands: {found:?}");
}

/// The last of two patterns stands, and another switch keeps its ports apart.
#[test]
fn switches_may_differ() {
    let simulation = run(&json!({
        "duration": "20ms",
        "topology": {"kind": "dumbbell", "left": 4, "right": 4},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "switch": {"*": {"buffer": "1GB"}, "left": {"buffer": "30KB", "alpha": "none"}},
        "transport": {"cc": "newreno", "ecn": "off"},
        "traffic": {"a": {"kind": "bulk", "from": "l*", "to": "r*", "pattern": "pairs"}},
    }));
    let tables = Tables::of(&simulation);
    let names = tables.words("queues", "port");
    for (port, name) in names.iter().enumerate() {
        let refused = tables.u64("queues", "drops_buffer")[port];
        assert_eq!(refused > 0, *name == "left->right", "{name}: {refused}");
    }
}
