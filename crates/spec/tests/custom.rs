//! Components that a document declares: read, checked and recorded as any other, and a control behind
//! the open variant runs as the one in the list.

mod common;

use common::{Tables, set};
use serde_json::{Map, Value, json};
use shallows_core::Control;
use shallows_core::cc::{Ack, Congestion, CongestionControl, Cx, FlowInfo, MakeControl, dctcp};
use shallows_core::params::Params;
use shallows_core::params::custom::Declared;
use shallows_core::workload::MakeWorkload;
use shallows_spec::Makers;
use shallows_units::Bytes;
use std::sync::Arc;

fn document() -> Value {
    json!({
        "duration": "5ms",
        "topology": {"kind": "star", "senders": 2, "rate": "1Gbps", "delay": "10us"},
        "queue": {"kind": "threshold", "limit": "40pkt", "mark_at": "20pkt"},
        "transport": {"cc": {"kind": "twin", "g": 0.125}},
        "traffic": {"long": {"kind": "bulk", "from": "s*", "to": "r0"}},
        "python": {"components": [{
            "section": "transport.cc", "name": "twin", "module": "twin.py", "class": "Twin", "source_hash": "0",
            "ecn": true,
            "params": [
                {"name": "g", "kind": "real", "default": "0.0625", "range": "(0, 1]"},
                {"name": "gain", "kind": "span", "default": "\"25us\""},
                {"name": "mode", "kind": "choice", "default": "\"fast\"", "choices": ["fast", "slow"]},
            ],
        }]},
    })
}

fn check(document: &Value) -> (Vec<String>, Value) {
    let answer: Value = serde_json::from_str(&shallows_spec::check(&document.to_string())).unwrap();
    let faults = answer["faults"].as_array().unwrap();
    let text = |f: &Value| format!("{}: {} {}", f["path"], f["rule"], f["hint"]).replace('"', "");
    (faults.iter().map(text).collect(), answer["experiment"].clone())
}

#[test]
fn a_declared_component_is_recorded_and_its_record_resolves_to_itself() {
    let (faults, resolved) = check(&document());
    assert_eq!(faults, [""; 0]);
    let cc = &resolved["traffic"]["long"]["transport"]["cc"];
    assert_eq!(*cc, json!({"kind": "twin", "g": 0.125, "gain": "25us", "mode": "fast"}));
    assert_eq!(resolved["python"]["components"][0]["source_hash"], "0");
    assert_eq!(check(&resolved), (vec![], resolved));
}

#[test]
fn what_is_declared_and_not_used_leaves_the_record_alone() {
    let mut with = document();
    set(&mut with, "transport.cc", json!("dctcp"));
    let mut without = with.clone();
    without.as_object_mut().unwrap().remove("python");
    assert_eq!(check(&with), check(&without));
}

#[test]
fn faults_of_declared_settings_come_with_path_rule_and_suggestion() {
    let mut faulty = document();
    set(
        &mut faulty,
        "transport.cc",
        json!({"kind": "twin", "g": 2.0, "gian": "5us", "mode": "fsat", "gain": 5}),
    );
    let (faults, _) = check(&faulty);
    assert_eq!(
        faults,
        [
            "transport.cc.g: must be <= 1 ",
            "transport.cc.gain: needs a unit: a time such as \\25us\\ ",
            "transport.cc.mode: unknown choice; known: fast, slow did you mean \\fast\\?",
            "transport.cc.gian: unknown key; known: kind, g, gain, mode did you mean \\gain\\?",
        ]
    );
    let mut unknown = document();
    set(&mut unknown, "transport.cc", json!("twn"));
    assert!(check(&unknown).0[0].contains(", twin did you mean \\twin\\?"), "{:?}", check(&unknown).0);
}

#[test]
fn a_declaration_must_keep_its_own_rules() {
    let mut bad = document();
    let twice = bad["python"]["components"][0].clone();
    bad["python"]["components"].as_array_mut().unwrap().push(twice);
    bad["python"]["components"][0]["params"][0]["default"] = "1.5".into();
    bad["python"]["components"][0]["params"][1]["kind"] = "spam".into();
    let (faults, _) = check(&bad);
    assert!(faults[0].starts_with("python.components.0.params.1.kind: unknown choice"), "{faults:?}");
    let all = faults.join("\n");
    assert!(
        all.contains("python.components.1.name: must not have the name of another component: twin.py:Twin"),
        "{all}"
    );
    assert!(all.contains("python.components.0.params.0.default: must be <= 1"), "{all}");
}

#[test]
fn the_documents_own_stand_over_the_list() {
    let mut over = document();
    over["python"]["components"][0]["name"] = "dctcp".into();
    set(&mut over, "transport.cc", json!({"kind": "dctcp", "gain": "5us"}));
    let (faults, resolved) = check(&over);
    assert_eq!(faults, [""; 0]);
    assert_eq!(resolved["traffic"]["long"]["transport"]["cc"]["gain"], "5us");
    assert_eq!(check(&resolved), (vec![], resolved));
}

#[test]
fn without_its_maker_it_is_checked_and_not_run() {
    let faults = shallows_spec::load(&document().to_string()).err().expect("nothing stands behind it");
    assert!(faults[0].rule.contains("needs twin.py:Twin"), "{}", faults[0]);
}

/// DCTCP behind a pointer.
struct Behind(dctcp::Control);

impl CongestionControl for Behind {
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        self.0.on_ack(ack, cx);
    }
    fn on_congestion(&mut self, why: Congestion, flight: u64, cx: &Cx<'_>) {
        self.0.on_congestion(why, flight, cx);
    }
    fn cwnd(&self) -> Bytes {
        self.0.cwnd()
    }
    fn ssthresh(&self) -> Option<f64> {
        self.0.ssthresh()
    }
    fn on_idle(&mut self, timeouts: u32, cx: &Cx<'_>) {
        self.0.on_idle(timeouts, cx);
    }
    fn on_lost_syn(&mut self, cx: &Cx<'_>) {
        self.0.on_lost_syn(cx);
    }
    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.0.observe(put);
    }
}

struct Twin(dctcp::Settings);

impl MakeControl for Twin {
    fn announce(&self, _serial: u32) {}
    fn start(&self, flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Box<dyn CongestionControl> {
        Box::new(Behind(dctcp::Control::start(&self.0, flow, cx)))
    }
}

impl Makers for Twin {
    fn control(&mut self, _: &Declared, values: &Map<String, Value>, _: u64) -> Option<Arc<dyn MakeControl>> {
        let g = values["g"].as_f64()?;
        Some(Arc::new(Twin(dctcp::Settings { g, ..dctcp::Settings::defaults() })))
    }
    fn workload(&mut self, _: &Declared, _: &Map<String, Value>) -> Option<Arc<dyn MakeWorkload>> {
        None
    }
}

#[test]
fn a_control_from_outside_runs_as_the_one_in_the_list() {
    let mut twin = Twin(dctcp::Settings::defaults());
    let mut outside = shallows_spec::load_with(&document().to_string(), &mut twin, None).expect("a maker");
    outside.run(&Control::new()).expect("the run ends");
    let mut listed = document();
    set(&mut listed, "transport.cc", json!({"kind": "dctcp", "g": 0.125}));
    let (mut ours, mut theirs) = (Tables::of(&outside).hashes(), Tables::of(&common::run(&listed)).hashes());
    assert_ne!(ours.remove("flows.cc"), theirs.remove("flows.cc"));
    assert_eq!(ours, theirs);
    assert!(outside.books().balance());
}
