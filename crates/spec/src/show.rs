//! The resolved record: every setting in canonical form. It is itself a document, and resolves to itself.

use serde_json::{Map, Value};
use shallows_core::Experiment;
use shallows_core::experiment::{EventSpec, PrioritySpec, SwitchOverride};
use shallows_core::params::custom::Declared;
use shallows_core::params::{ParamType, Params};
use shallows_core::routing::choice::Ecmp;
use std::sync::Arc;

/// The experiment with every default in place.
pub fn resolved(experiment: &Experiment) -> Value {
    let mut map = Map::new();
    experiment.run.show(&mut map);
    map.insert("topology".into(), Value::Object(experiment.topology.show()));
    map.insert("queue".into(), Value::Object(experiment.queue.show()));
    map.insert("nic".into(), Value::Object(experiment.nic.show()));
    map.insert("port_control".into(), Value::Object(experiment.control.show()));
    let mut ports = Map::new();
    for over in &experiment.ports {
        let mut port = shown(&over.settings);
        if let Some(queue) = &over.queue {
            port.insert("queue".into(), Value::Object(queue.show()));
        }
        if let Some(control) = &over.control {
            port.insert("port_control".into(), Value::Object(control.show()));
        }
        ports.insert(over.ports.0.join(","), Value::Object(port));
    }
    map.insert("port".into(), Value::Object(ports));
    let switch = |over: &SwitchOverride| (over.switches.0.join(","), Value::Object(shown(&over.settings)));
    map.insert("switch".into(), experiment.switches.iter().map(switch).collect());
    if !experiment.priorities.is_empty() {
        let priority = |spec: &PrioritySpec| {
            let mut table = shown(&spec.settings);
            for (key, queue) in [("queue", &spec.queue), ("nic", &spec.nic)] {
                table.extend(queue.as_ref().map(|queue| (key.to_string(), Value::Object(queue.show()))));
            }
            (spec.number.to_string(), Value::Object(table))
        };
        map.insert("priority".into(), experiment.priorities.iter().map(priority).collect());
    }
    if experiment.lossless() != 0 {
        map.insert("pfc".into(), Value::Object(shown(&experiment.pfc)));
    }
    let mut routing = shown(&experiment.routing);
    routing.retain(|key, _| match key.as_str() {
        "flowlet_gap" => experiment.run.ecmp == Ecmp::Flowlet,
        "routes" => !experiment.routing.routes.is_empty(),
        _ => experiment.reroutes(),
    });
    if !routing.is_empty() {
        map.insert("routing".into(), Value::Object(routing));
    }
    if !experiment.events.is_empty() {
        let event = |event: &EventSpec| (event.name.clone(), Value::Object(shown(&event.settings)));
        map.insert("event".into(), experiment.events.iter().map(event).collect());
    }
    let mut traffic = Map::new();
    for load in &experiment.loads {
        let mut table = load.traffic.show();
        table.insert("class".into(), load.class.as_str().into());
        table.insert("transport".into(), Value::Object(load.transport.show()));
        traffic.insert(load.name.clone(), Value::Object(table));
    }
    map.insert("traffic".into(), Value::Object(traffic));
    map.insert("probe".into(), Value::Object(shown(&experiment.probes)));
    let declared = declared(experiment);
    if !declared.is_empty() {
        let components = declared.iter().map(|one| shown(one.as_ref()).into()).collect();
        map.insert(
            "python".into(),
            Value::Object(Map::from_iter([("components".to_string(), Value::Array(components))])),
        );
    }
    Value::Object(map)
}

/// The declarations that the experiment uses: an edit of the others leaves its results as they are.
fn declared(experiment: &Experiment) -> Vec<&Arc<Declared>> {
    let mut used: Vec<&Arc<Declared>> = experiment.topology.declared().into_iter().collect();
    for load in &experiment.loads {
        used.extend(load.traffic.declared());
        used.extend(load.transport.cc.declared());
    }
    used.sort_by_key(|one| (one.section.show().to_string(), one.name.clone()));
    used.dedup();
    used
}

fn shown(params: &impl Params) -> Map<String, Value> {
    let mut map = Map::new();
    params.show(&mut map);
    map
}
