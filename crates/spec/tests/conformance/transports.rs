//! Laws of the transports beside TCP: queue pairs with each repair, NDP, ExpressPass, Homa and Ultra Ethernet's, under each control that runs over them, through
//! each discipline. All other pairs are refused in words.

use super::{minimal, read, simulated};
use crate::common::{Tables, faults, run};
use serde_json::{Map, Value, json};
use shallows_core::cc::Algorithm;
use shallows_core::params::{Component, Fault, Kind, Param, Params};
use shallows_core::queue::Queue;
use shallows_core::transport::uec::UecSettings;

/// A control as queue pairs take it.
fn control(component: &Component) -> (Map<String, Value>, Algorithm) {
    let cc = minimal(component, &[]);
    let algorithm = read("transport.cc", &cc, Algorithm::read);
    (cc, algorithm)
}

/// Each control that runs over RoCEv2 carries messages by each repair, and by READ if it needs no acknowledgements, over a wire that loses packets: all that is posted
/// arrives, in order and once. Those that do not run there are refused by name.
#[test]
fn every_control_carries_messages_over_queue_pairs_or_is_refused() {
    let (mut carried, mut refused) = (0, 0);
    for component in simulated() {
        let (cc, algorithm) = control(&component);
        for (repair, verb) in
            [("go-back-n", "write"), ("go-back-0", "send"), ("irn", "write"), ("go-back-n", "read")]
        {
            let document = json!({
                "duration": "100ms",
                "topology": {"kind": "star", "senders": 2, "delay": "2us"},
                "queue": {"kind": "ramp"},
                "port": {"*->*": {"loss": 0.0005}},
                "port_control": algorithm.protocol().unwrap_or("none"),
                "transport": {"profile": "roce", "cc": cc, "repair": repair, "verb": verb},
                "traffic": {"load": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "3MB"}},
            });
            let mut document = document;
            if repair != "irn" {
                document["transport"]["timeout"] = "4ms".into();
            }
            if !algorithm.runs_over_roce() {
                let faults = shallows_spec::load(&document.to_string()).err().expect("it is refused");
                assert!(faults.iter().any(|fault| fault.to_string().contains("needs TCP")), "{faults:?}");
                continue;
            }
            if verb == "read" && !algorithm.runs_over_read() {
                let faults = shallows_spec::load(&document.to_string()).err().expect("it is refused");
                let found = |fault: &Fault| fault.to_string().contains("needs acknowledgements");
                assert!(faults.iter().any(found), "{faults:?}");
                continue;
            }
            let simulation = run(&document);
            let tables = Tables::of(&simulation);
            assert!(simulation.books().balance());
            let (ends, delivered) = (tables.u64("flows", "end_ps"), tables.u64("flows", "delivered_bytes"));
            assert!(
                ends.iter().all(|end| *end < 100_000_000_000),
                "{} {repair} {verb}: {ends:?}",
                component.name
            );
            assert_eq!(delivered, [3_000_000; 2], "{} {repair} {verb}", component.name);
            assert!(tables.u64("flows", "retransmissions").iter().sum::<u64>() > 0);
        }
        *if algorithm.runs_over_roce() { &mut carried } else { &mut refused } += 1;
    }
    assert!(carried > 0 && refused > 0, "{carried} run over queue pairs, {refused} do not");
}

/// Runs of a few messages each through one port with the discipline; over a lossy wire, unless it is lossless.
fn document(queue: &Value, protocol: &str, transport: &Value) -> Value {
    json!({
        "duration": "1s",
        "topology": {"kind": "star", "senders": 2, "delay": "2us"},
        "queue": queue,
        "port": {"*->*": {"loss": 0.002}},
        "port_control": protocol,
        "transport": transport,
        "traffic": {"load": {"kind": "messages", "from": "s*", "to": "r0", "bytes": "50KB", "interval": "20us", "count": 3}},
    })
}

/// With flow control in the priority of the data, and a wire that loses nothing.
fn lossless(mut document: Value) -> Value {
    document["port"] = json!({});
    document["switch"] = json!({"*": {"buffer": "2MB"}});
    document["priority"] = json!({"3": {"pfc": true}});
    document["transport"]["priority"] = 3.into();
    document
}

/// All that was posted has arrived, in order and once. How many packets were sent again.
fn carries(document: &Value, what: &str) -> u64 {
    let simulation = run(document);
    let tables = Tables::of(&simulation);
    assert!(simulation.books().balance(), "{what}");
    assert_eq!(tables.u64("flows", "delivered_bytes"), [150_000; 2], "{what}");
    let ends = tables.u64("messages", "end_ps");
    assert!(ends.len() == 6 && ends.iter().all(|end| *end != u64::MAX), "{what}: {ends:?}");
    tables.u64("flows", "retransmissions").iter().sum()
}

/// A discipline with its limits, and what it marks from below them.
fn discipline(component: &Component, limit: &str) -> Value {
    let limits = ["limit", "high_limit", "low_limit"].map(|name| (name, limit));
    let marks = [("mark_at", "6pkt"), ("start_above", "6pkt"), ("stop_below", "4pkt")];
    Value::Object(minimal(component, &[&limits[..], &marks].concat()))
}

/// Queue pairs under each control get their messages through each discipline by each repair, over a wire that loses packets. In a
/// lossless priority nothing is sent again, and disciplines that trim or do not keep the order of arrival are refused there.
#[test]
fn every_discipline_carries_queue_pairs_by_each_repair() {
    let (mut keep_order, mut refused) = (0, 0);
    for component in Queue::list() {
        // Most hold as much as comes in a lossless priority. One that has a limit always cannot reach it there.
        let (small, whole) = (discipline(&component, "30pkt"), discipline(&component, "none"));
        let queue = read("queue", small.as_object().expect("a table"), Queue::read);
        let mut again = 0;
        for (control, algorithm) in
            simulated().map(|each| control(&each)).filter(|(_, cc)| cc.runs_over_roce())
        {
            let protocol = algorithm.protocol().unwrap_or("none");
            for repair in ["go-back-n", "go-back-0", "irn"] {
                let mut transport = json!({"profile": "roce", "cc": control, "repair": repair});
                if repair != "irn" {
                    transport["timeout"] = "4ms".into();
                }
                let what = format!("{} {} {repair}", component.name, control["kind"]);
                again += carries(&document(&small, protocol, &transport), &what);
            }
            let held = lossless(document(&whole, protocol, &json!({"profile": "roce", "cc": control})));
            let found = faults(&held);
            if found.is_empty() {
                let what = format!("{} {} lossless", component.name, control["kind"]);
                assert_eq!(carries(&held, &what), 0, "{what}");
                assert!(queue.keeps_order() && !queue.trims(), "{what}");
                keep_order += 1;
            } else {
                refused += 1;
                let why = if queue.trims() {
                    "must be absent beside trimming"
                } else {
                    "must keep the order of arrival"
                };
                assert!(found.iter().any(|fault| fault.contains(why)), "{}: {found:?}", component.name);
            }
        }
        assert!(again > 0, "{}: nothing was lost", component.name);
    }
    assert!(keep_order > 0 && refused > 0, "{keep_order} serve lossless priorities, {refused} are refused");
}

/// NDP gets its messages through each discipline, whether it trims or drops; those that drop must be allowed to. It has no
/// control but its pulls, and refuses each other by name.
#[test]
fn every_discipline_carries_ndp_and_no_control_runs_over_it() {
    let mut again = vec![];
    for component in Queue::list() {
        let queue = discipline(&component, "8pkt");
        let mut document = document(&queue, "none", &json!({"profile": "ndp", "cc": "line-rate"}));
        let trims = read("queue", queue.as_object().expect("a table"), Queue::read).trims();
        if !trims {
            let found = faults(&document);
            assert!(
                found.len() == 1 && found[0].contains("which learns of losses by trimmed headers"),
                "{found:?}"
            );
            document["transport"]["untrimmed"] = "allowed".into();
        }
        // Limits in bytes alone, which are not written here, hold all that comes.
        let is_limit = |param: &&Param| param.name.ends_with("limit");
        let mut limits = component.params.iter().filter(is_limit).peekable();
        let in_bytes = limits.peek().is_some() && limits.all(|param| param.kind == Kind::Bytes);
        again.push((component.name, in_bytes, carries(&document, component.name)));
    }
    assert!(again.iter().all(|(_, in_bytes, packets)| *packets > 0 || *in_bytes), "{again:?}");
    for (cc, _) in simulated().map(|each| control(&each)).filter(|(cc, _)| cc["kind"] != "line-rate") {
        let found =
            faults(&document(&json!({"kind": "trimming"}), "none", &json!({"profile": "ndp", "cc": cc})));
        assert!(found.iter().any(|fault| fault.contains("must be \"line-rate\"")), "{found:?}");
    }
}

/// ExpressPass gets its messages through each discipline, whether it meters credits or not; those that do not must be allowed to. It has no
/// control but its credits, and refuses each other by name.
#[test]
fn every_discipline_carries_expresspass_and_no_control_runs_over_it() {
    for component in Queue::list() {
        let queue = discipline(&component, "8pkt");
        let mut document = document(&queue, "none", &json!({"profile": "expresspass", "cc": "line-rate"}));
        if component.name != Queue::CREDIT {
            let found = faults(&document);
            assert!(found.len() == 1 && found[0].contains("does not meter credits"), "{found:?}");
            document["transport"]["unmetered"] = "allowed".into();
        }
        carries(&document, component.name);
    }
    for (cc, _) in simulated().map(|each| control(&each)).filter(|(cc, _)| cc["kind"] != "line-rate") {
        let transport = json!({"profile": "expresspass", "cc": cc});
        let found = faults(&document(&json!({"kind": "credit"}), "none", &transport));
        assert!(found.iter().any(|fault| fault.contains("must be \"line-rate\"")), "{found:?}");
    }
}

/// Ultra Ethernet's transport gets its messages through each discipline by each choice of entropy values, under each control that learns
/// of trimmed packets; disciplines that drop must be allowed to. Each other control is refused by name.
#[test]
fn every_discipline_carries_ultra_ethernet_by_each_choice_of_paths() {
    let (mut again, mut refused) = (0, 0);
    let Kind::Choice(choices) =
        UecSettings::list().into_iter().find(|param| param.name == "entropy").expect("it has one").kind
    else {
        panic!("a choice")
    };
    for component in Queue::list() {
        let queue = discipline(&component, "8pkt");
        let trims = read("queue", queue.as_object().expect("a table"), Queue::read).trims();
        for (cc, algorithm) in simulated().map(|each| control(&each)) {
            let transport = json!({"profile": "uec", "cc": cc, "untrimmed": "allowed", "timeout": "200us"});
            if !algorithm.runs_over_uec() {
                let found = faults(&document(&queue, "none", &transport));
                assert!(found.iter().any(|fault| fault.contains("learns of trimmed packets")), "{found:?}");
                refused += 1;
                continue;
            }
            // A control that bounds nothing needs credit of the receiver; others run beside it, too.
            let alone = !algorithm.reacts();
            if alone {
                let found = faults(&document(&queue, "none", &transport));
                assert!(
                    found.iter().any(|fault| fault.contains("receiver_credit: must be true")),
                    "{found:?}"
                );
            }
            for (entropy, credit) in choices.iter().flat_map(|one| [(one, false), (one, true)]) {
                let mut transport = transport.clone();
                transport["entropy"] = (*entropy).into();
                transport["receiver_credit"] = (credit || alone).into();
                again +=
                    carries(&document(&queue, "none", &transport), &format!("{} {entropy}", component.name));
            }
            if !trims {
                let plain = json!({"profile": "uec", "cc": cc, "receiver_credit": alone});
                let found = faults(&document(&queue, "none", &plain));
                assert!(
                    found.len() == 1 && found[0].contains("which learns of losses by trimmed headers"),
                    "{found:?}"
                );
            }
        }
    }
    assert!(again > 0 && refused > 0, "{again} packets went again, {refused} pairs are refused");
}

/// Homa gets its messages through each discipline, with one level for all. It has no control but its grants, and refuses each other by
/// name.
#[test]
fn every_discipline_carries_homa_and_no_control_runs_over_it() {
    let homa = |cc: Value| json!({"profile": "homa", "cc": cc, "unscheduled_levels": 0, "scheduled_levels": 1, "timeout": "1ms"});
    let mut again = 0;
    for component in Queue::list() {
        let document = document(&discipline(&component, "8pkt"), "none", &homa("line-rate".into()));
        again += carries(&document, component.name);
    }
    assert!(again > 0, "nothing was lost");
    for (cc, _) in simulated().map(|each| control(&each)).filter(|(cc, _)| cc["kind"] != "line-rate") {
        let found = faults(&document(&json!({"kind": "drop-tail"}), "none", &homa(cc.into())));
        assert!(found.iter().any(|fault| fault.contains("must be \"line-rate\"")), "{found:?}");
    }
}
