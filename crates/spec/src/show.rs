//! The resolved record: every setting in canonical form. It is itself a document, and resolves to itself.

use serde_json::{Map, Value};
use shallows_core::Experiment;
use shallows_core::params::Params;

/// The experiment with every default in place.
pub fn resolved(experiment: &Experiment) -> Value {
    let mut map = Map::new();
    experiment.run.show(&mut map);
    map.insert("topology".into(), Value::Object(experiment.topology.show()));
    map.insert("queue".into(), Value::Object(experiment.queue.show()));
    map.insert("nic".into(), Value::Object(experiment.nic.show()));
    let mut ports = Map::new();
    for over in &experiment.ports {
        let mut port = shown(&over.settings);
        if let Some(queue) = &over.queue {
            port.insert("queue".into(), Value::Object(queue.show()));
        }
        ports.insert(over.ports.0.join(","), Value::Object(port));
    }
    map.insert("port".into(), Value::Object(ports));
    let mut traffic = Map::new();
    for load in &experiment.loads {
        let mut table = load.traffic.show();
        table.insert("class".into(), load.class.as_str().into());
        table.insert("transport".into(), Value::Object(load.transport.show()));
        traffic.insert(load.name.clone(), Value::Object(table));
    }
    map.insert("traffic".into(), Value::Object(traffic));
    map.insert("probe".into(), Value::Object(shown(&experiment.probes)));
    Value::Object(map)
}

fn shown(params: &impl Params) -> Map<String, Value> {
    let mut map = Map::new();
    params.show(&mut map);
    map
}
