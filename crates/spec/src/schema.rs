//! Every section with its components and their settings, from the declarations.

use serde_json::{Value, json};
use shallows_core::cc::Algorithm;
use shallows_core::experiment::{
    EventSettings, PfcSettings, PortSettings, PrioritySettings, RoutingSettings, RunSettings, SwitchSettings,
};
use shallows_core::params::custom::PythonSettings;
use shallows_core::params::{Code, Component, Kind, Param, Params};
use shallows_core::port_control::Protocol;
use shallows_core::probe::ProbeSettings;
use shallows_core::queue::Queue;
use shallows_core::topology::Topology;
use shallows_core::transport::Transport;
use shallows_core::workload::Traffic;
use shallows_core::workload::deadlines::Deadlines;
use shallows_core::workload::sizes::Sizes;

/// The schema as JSON; `python/shallows/_core.pyi` describes its form.
pub fn schema() -> String {
    let sections = [
        section("", "run", &[single::<RunSettings>("run")]),
        section("topology", "topology", &Topology::list()),
        section("queue", "queue", &Queue::list()),
        section("port_control", "port control", &Protocol::list()),
        section("port", "port override", &[single::<PortSettings>("port")]),
        section("switch", "switch settings", &[single::<SwitchSettings>("switch")]),
        section("priority", "priority", &[single::<PrioritySettings>("priority")]),
        section("pfc", "flow control", &[single::<PfcSettings>("pfc")]),
        section("routing", "routing", &[single::<RoutingSettings>("routing")]),
        section("event", "event", &[single::<EventSettings>("event")]),
        section("transport", "transport profile", &Transport::list()),
        section("transport.cc", "congestion control", &Algorithm::list()),
        section("traffic", "workload", &Traffic::list()),
        section("traffic.sizes", "size distribution", &Sizes::list()),
        section("traffic.deadline", "deadline", &Deadlines::list()),
        section("probe", "probe", &[single::<ProbeSettings>("probe")]),
        section("python", "Python modules", &[single::<PythonSettings>("python")]),
    ];
    let code = |(code, doc): &(Code, &str)| json!({"code": code.word(), "doc": tidy(doc)});
    let codes: Vec<Value> = Code::ALL.iter().map(code).collect();
    json!({"sections": sections, "codes": codes}).to_string()
}

fn single<P: Params>(name: &'static str) -> Component {
    Component { name, doc: P::DOC, params: P::list(), backend: None }
}

fn section(path: &str, what: &str, components: &[Component]) -> Value {
    json!({"path": path, "what": what, "components": components.iter().map(component).collect::<Vec<_>>()})
}

fn component(component: &Component) -> Value {
    let params: Vec<Value> = component.params.iter().map(param).collect();
    let mut about = json!({"name": component.name, "doc": tidy(component.doc), "params": params});
    if let Some(backend) = component.backend {
        about["backend"] = backend.into();
    }
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
        Kind::OrNone(inner) => format!("{} or none", self::kind(inner)),
        Kind::List(inner) => format!("list of {}", self::kind(inner)),
        Kind::Table => "table".into(),
    }
}

fn choices(kind: &Kind) -> Value {
    match kind {
        Kind::Choice(words) => json!(words),
        Kind::OrNone(inner) | Kind::List(inner) => choices(inner),
        _ => Value::Null,
    }
}
