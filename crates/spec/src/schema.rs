//! Every section with its components and their settings, from the declarations.

use serde_json::{Value, json};
use shallows_core::cc::Algorithm;
use shallows_core::experiment::{
    EventSettings, PfcSettings, PortSettings, PrioritySettings, RoutingSettings, RunSettings, SwitchSettings,
};
use shallows_core::packet::{DropWhy, LostAt};
use shallows_core::params::custom::{PythonSettings, Section};
use shallows_core::params::{Code, Component, Facts, Faults, Kind, Param, ParamType, Table};
use shallows_core::port_control::Protocol;
use shallows_core::probe::ProbeSettings;
use shallows_core::queue::Queue;
use shallows_core::sizes::Sizes;
use shallows_core::topology::Topology;
use shallows_core::transport::Transport;
use shallows_core::workload::Traffic;
use shallows_core::workload::deadlines::Deadlines;
use std::collections::BTreeMap;

/// The schema as JSON; `python/shallows/_core.pyi` describes its form.
pub fn schema() -> String {
    let sections = [
        section("", "run", &[Component::of::<RunSettings>("run")]),
        section("topology", "topology", &Topology::list()),
        section("queue", "queue", &Queue::list()),
        section("port_control", "port control", &Protocol::list()),
        named(section("port", "port override", &[Component::of::<PortSettings>("port")])),
        named(section("switch", "switch settings", &[Component::of::<SwitchSettings>("switch")])),
        named(section("priority", "priority", &[Component::of::<PrioritySettings>("priority")])),
        section("pfc", "flow control", &[Component::of::<PfcSettings>("pfc")]),
        section("routing", "routing", &[Component::of::<RoutingSettings>("routing")]),
        named(section("event", "event", &[Component::of::<EventSettings>("event")])),
        section("transport", "transport profile", &Transport::list()),
        controls(),
        named(section("traffic", "workload", &Traffic::list())),
        section("traffic.sizes", "size distribution", &Sizes::list()),
        section("traffic.deadline", "deadline", &Deadlines::list()),
        section("probe", "probe", &[Component::of::<ProbeSettings>("probe")]),
        section("python", "Python modules", &[Component::of::<PythonSettings>("python")]),
    ];
    let code = |(code, doc): &(Code, &str)| json!({"code": code.word(), "doc": tidy(doc)});
    let codes: Vec<Value> = Code::ALL.iter().map(code).collect();
    let causes: Vec<Value> = DropWhy::ALL.into_iter().map(cause).collect();
    json!({"sections": sections, "codes": codes, "drop_causes": causes}).to_string()
}

/// A cause of losses: its column in the tables, where the packet is lost, and the cause in words.
fn cause(why: DropWhy) -> Value {
    let at = match why.lost_at() {
        LostAt::Port => "port",
        LostAt::Wire => "wire",
    };
    json!({"column": why.column(), "at": at, "why": why.why()})
}

/// The congestion controls, each with the transports that it runs over.
fn controls() -> Value {
    let mut section = section("transport.cc", "congestion control", &Algorithm::list());
    for (about, component) in
        section["components"].as_array_mut().into_iter().flatten().zip(Algorithm::list())
    {
        let mut settings = about["facts"]["example"].as_object().cloned().unwrap_or_default();
        settings.insert("kind".into(), component.name.into());
        let mut faults = Faults::default();
        let algorithm = Algorithm::read(&mut Table::new("transport.cc", &settings, &mut faults));
        let algorithm = algorithm.expect("the name is the list's");
        let pairs = algorithm.runs_over_roce();
        let over = [("tcp", true), ("roce", pairs), ("read", pairs && algorithm.runs_over_read())];
        let over: Vec<&str> = over.into_iter().filter(|(_, runs)| *runs).map(|(name, _)| name).collect();
        about["facts"]["runs_over"] = over.into();
    }
    section
}

fn section(path: &str, what: &str, components: &[Component]) -> Value {
    let open = Section::ALL.iter().any(|section| section.show() == path);
    let components: Vec<Value> = components.iter().map(component).collect();
    json!({"path": path, "what": what, "open": open, "named": false, "components": components})
}

/// A section that holds tables under names of the user's choice.
fn named(mut section: Value) -> Value {
    section["named"] = true.into();
    section
}

fn component(component: &Component) -> Value {
    let params: Vec<Value> = component.params.iter().map(param).collect();
    let mut about = json!({"name": component.name, "doc": tidy(component.doc), "params": params});
    if let Some(backend) = component.backend {
        about["backend"] = backend.into();
    }
    let Facts { example, closed_loop, fills, elsewhere, not_tcp, transport, renamed: _, words } =
        component.facts;
    about["facts"] = json!({
        "example": serde_json::from_str::<Value>(example).expect("the conformance suite reads each example"),
        "closed_loop": closed_loop,
        "fills": fills,
        "elsewhere": elsewhere.iter().copied().collect::<BTreeMap<_, _>>(),
        "not_tcp": not_tcp,
        "transport": transport,
        "words": {"deviations": words.deviations, "scope": words.scope, "tunnels": words.tunnels},
    });
    about
}

fn param(param: &Param) -> Value {
    json!({
        "name": param.name,
        "doc": tidy(param.doc),
        "kind": kind(&param.kind),
        "default": param.default,
        "required": param.default.is_null(),
        "range": param.range,
        "source": param.source,
        "choices": choices(&param.kind),
    })
}

/// Documentation without the margin that `///` leaves.
fn tidy(doc: &str) -> String {
    doc.lines().map(str::trim).collect::<Vec<_>>().join("\n").trim().to_string()
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Span => "span".into(),
        Kind::Rate => "rate".into(),
        Kind::Bytes => "bytes".into(),
        Kind::Size => "size".into(),
        Kind::Count => "count".into(),
        Kind::Real => "real".into(),
        Kind::Flag => "flag".into(),
        Kind::Text => "text".into(),
        Kind::Names => "names".into(),
        Kind::Choice(_) => "choice".into(),
        Kind::Word(_) => "text".into(),
        Kind::OrNone(inner) => format!("{} or none", self::kind(inner)),
        Kind::List(inner) => format!("list of {}", self::kind(inner)),
        Kind::Table => "table".into(),
    }
}

fn choices(kind: &Kind) -> Value {
    match kind {
        Kind::Choice(words) | Kind::Word(words) => json!(words),
        Kind::OrNone(inner) | Kind::List(inner) => choices(inner),
        _ => Value::Null,
    }
}
