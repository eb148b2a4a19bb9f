//! The network of a document as plain data, for a backend that builds it out of other parts.

use serde_json::{Map, Value, json};
use shallows_core::Experiment;
use shallows_core::engine::check::{Chosen, chosen};
use shallows_core::params::{Fault, Faults, Params};
use shallows_core::routing::graph::{Graph, Link, Node, NodeId, Role};
use shallows_core::routing::table::Routing;

/// Nodes, ports and routes of a document: `{"nodes": [{"name", "host"}], "ports": [{"from", "to", "rate_bps",
/// "delay_ps", "queue", ...overrides}], "routes": [[port of each node towards the host, or null], ...]}`.
///
/// `from` and `to` are places in `nodes`; `routes` has a row a host, in the order of `nodes`.
pub fn plan(document: &str) -> Result<String, Vec<Fault>> {
    let experiment = crate::parse(document)?;
    let mut faults = Faults::default();
    let graph = experiment.topology.build(&mut faults);
    let ports = ports(&experiment, &graph, &mut faults);
    if !faults.0.is_empty() {
        return Err(faults.0);
    }
    let node = |n: &Node| json!({"name": n.name, "host": n.role == Role::Host});
    let nodes: Vec<Value> = graph.nodes.iter().map(node).collect();
    Ok(json!({"nodes": nodes, "ports": ports, "routes": routes(&graph)}).to_string())
}

fn ports(experiment: &Experiment, graph: &Graph, faults: &mut Faults) -> Vec<Value> {
    let port = |(link, Chosen { settings, queue, .. }): (&Link, Chosen<'_>)| {
        let mut map = Map::new();
        settings.show(&mut map);
        map.insert("from".into(), link.from.0.into());
        map.insert("to".into(), link.to.0.into());
        map.insert("rate_bps".into(), settings.rate.unwrap_or(link.rate).as_bps().into());
        map.insert("delay_ps".into(), settings.delay.unwrap_or(link.delay).as_ps().into());
        map.insert("queue".into(), Value::Object(queue.show()));
        Value::Object(map)
    };
    graph.links.iter().zip(chosen(experiment, graph, faults)).map(port).collect()
}

fn routes(graph: &Graph) -> Vec<Vec<Option<u32>>> {
    let mut routing = Routing::new(graph, 0);
    routing.find(graph.ids(Role::Host));
    let nodes: Vec<_> = (0..graph.nodes.len() as u32).map(NodeId).collect();
    let mut first = |from: NodeId, to: NodeId| {
        let leads = graph.role(from) == Role::Switch || (from != to && routing.leads(from, to));
        routing.ways(from, to).first().copied().filter(|_| leads)
    };
    graph.ids(Role::Host).map(|to| nodes.iter().map(|from| first(*from, to)).collect()).collect()
}
