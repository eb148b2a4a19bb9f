//! The network of a document as plain data, for a backend that builds it out of other parts.

use serde_json::{Map, Value, json};
use shallows_core::Experiment;
use shallows_core::engine::check::chosen;
use shallows_core::engine::check::chosen::Chosen;
use shallows_core::experiment::{EventSettings, LinkState};
use shallows_core::params::{Fault, Faults, Names, ParamType, Params};
use shallows_core::routing::fixed;
use shallows_core::routing::graph::{Graph, Link, Node, NodeId, Role};
use shallows_core::routing::select::{select, select_links};
use shallows_core::routing::table::Routing;
use shallows_units::Span;
use std::collections::BTreeMap;

/// Nodes, ports and routes of a document: `{"nodes": [{"name", "host"}], "ports": [{"name", "from", "to", "back", "rate_bps",
/// "delay_ps", "queue", ...overrides}], "routes": [[port of each node towards the host, or null], ...]}`. `back` is the port at the
/// other end of the cable, or null.
///
/// A port whose link fails has `"dead": [[ps, ps or null], ...]`, from when until when. One whose link changes has
/// `"changes": [{"at_ps", "state", "rate_bps", "delay_ps", "loss"}, ...]` in their order, null where nothing changes. One that follows a
/// trace has `"trace": {"period_ps", "pieces": [[at_ps, bps], ...]}`; `period_ps` is null where it does not begin again. `from` and `to` are places in `nodes`; `routes` has a row a host, in the order of `nodes`. Besides,
/// `"loads": {name: {"from": [hosts], "to": [hosts]}}` has the selected hosts by their place among the hosts, and
/// `"numbers": {path: number}` has every time in ps, rate in bit/s and amount of data in bytes of the resolved record.
pub fn plan(document: &str) -> Result<String, Vec<Fault>> {
    let (experiment, mut graph, mut routing) = network(document)?;
    let mut faults = Faults::default();
    let ports = ports(&experiment, &mut graph, &mut faults);
    if !faults.0.is_empty() {
        return Err(faults.0);
    }
    let node = |n: &Node| json!({"name": n.name, "host": n.role == Role::Host});
    let nodes: Vec<Value> = graph.nodes.iter().map(node).collect();
    let (loads, routes) = (loads(document, &graph), routes(&graph, &mut routing));
    let numbers = crate::numbers::of_record(&crate::show::resolved(&experiment));
    let plan = json!({"nodes": nodes, "ports": ports, "routes": routes, "loads": loads, "numbers": numbers});
    Ok(plan.to_string())
}

/// A document's experiment and network, with the tables to all hosts.
fn network(document: &str) -> Result<(Experiment, Graph, Routing), Vec<Fault>> {
    let experiment = crate::parse(document)?;
    let mut faults = Faults::default();
    let mut graph = experiment.topology.build(&mut faults);
    fixed::write(&experiment.routing.routes, &mut graph, &mut faults);
    fixed::check(&mut graph, 0, &[], &mut faults);
    if !faults.0.is_empty() {
        return Err(faults.0);
    }
    let mut routing = Routing::new(&graph, 0);
    routing.find(graph.ids(Role::Host));
    Ok((experiment, graph, routing))
}

/// The hosts that each load names, as its own file would select them.
fn loads(document: &str, graph: &Graph) -> Map<String, Value> {
    let hosts: Vec<NodeId> = graph.ids(Role::Host).collect();
    let written: Value = serde_json::from_str(document).unwrap_or_default();
    let chosen = |load: &Value, key: &str| {
        let names = Names::parse(load.get(key)?).ok()?;
        let nodes = select(graph, &names).ok()?;
        let places = nodes.iter().filter_map(|node| hosts.binary_search(node).ok());
        Some(places.map(Value::from).collect::<Value>())
    };
    let load = |(name, load): (&String, &Value)| {
        let ends = json!({"from": chosen(load, "from"), "to": chosen(load, "to")});
        (name.clone(), ends)
    };
    written["traffic"].as_object().into_iter().flatten().map(load).collect()
}

/// Where a node has several equal next hops: `[{"node", "ports", "hosts"}]`, one entry for each group of ports of a
/// node, with the hosts behind it. Hosts are places among the hosts; `routes` of [`plan`] has the first of the ports.
pub fn ways(document: &str) -> Result<String, Vec<Fault>> {
    let (_, graph, routing) = network(document)?;
    let mut groups: BTreeMap<(u32, &[u32]), Vec<usize>> = BTreeMap::new();
    for node in 0..graph.nodes.len() as u32 {
        for (place, host) in graph.ids(Role::Host).enumerate() {
            let ports = if host.0 == node { &[] } else { routing.ways(NodeId(node), host) };
            if ports.len() > 1 {
                groups.entry((node, ports)).or_default().push(place);
            }
        }
    }
    let group = |((node, ports), hosts)| json!({"node": node, "ports": ports, "hosts": hosts});
    Ok(groups.into_iter().map(group).collect::<Value>().to_string())
}

fn ports(experiment: &Experiment, graph: &mut Graph, faults: &mut Faults) -> Vec<Value> {
    let chosen = chosen(experiment, graph, faults);
    let graph: &Graph = graph;
    let port = |(number, (link, Chosen { settings, queue, .. })): (u32, (&Link, Chosen<'_>))| {
        let mut map = Map::new();
        settings.show(&mut map);
        map.insert("name".into(), graph.port_name(number).into());
        map.insert("back".into(), graph.back(number).into());
        map.insert("from".into(), link.from.0.into());
        map.insert("to".into(), link.to.0.into());
        map.insert("rate_bps".into(), link.rate.as_bps().into());
        map.insert("delay_ps".into(), link.delay.as_ps().into());
        map.insert("reorder_delay_ps".into(), settings.reorder_delay.as_ps().into());
        map.insert("jitter_ps".into(), settings.jitter.as_ps().into());
        map.insert("queue".into(), Value::Object(queue.show()));
        if let Some(trace) = &settings.trace {
            let (pieces, period) = trace.pieces();
            let pieces: Vec<Value> = pieces.iter().map(|(at, rate)| json!([at.as_ps(), rate])).collect();
            map.insert("trace".into(), json!({"period_ps": period.map(Span::as_ps), "pieces": pieces}));
        }
        Value::Object(map)
    };
    let mut ports: Vec<Value> = (0..).zip(graph.links.iter().zip(chosen)).map(port).collect();
    for (link, spans) in failures(experiment, graph) {
        let spans: Vec<Value> =
            spans.iter().map(|(from, until)| json!([from.as_ps(), until.map(Span::as_ps)])).collect();
        ports[link as usize]["dead"] = spans.into();
    }
    for (link, changes) in changes(experiment, graph) {
        ports[link as usize]["changes"] = changes.into();
    }
    ports
}

/// The events in their order: by time, then as in the file.
fn in_order(experiment: &Experiment) -> Vec<&EventSettings> {
    let mut events: Vec<_> = experiment.events.iter().map(|event| &event.settings).collect();
    events.sort_by_key(|event| event.at); // stable
    events
}

/// By link: its changes.
fn changes(experiment: &Experiment, graph: &Graph) -> BTreeMap<u32, Vec<Value>> {
    let mut changes: BTreeMap<u32, Vec<Value>> = BTreeMap::new();
    for event in in_order(experiment) {
        let state = event.state.map(|state| if state == LinkState::Up { "up" } else { "down" });
        let rate = event.rate.map(|rate| rate.as_bps());
        for link in select_links(graph, &event.link).unwrap_or_default() {
            let latency = graph.latency(graph.links[link as usize].to);
            let delay = event.delay.map(|delay| (delay + latency).as_ps());
            changes.entry(link).or_default().push(json!({
                "at_ps": event.at.as_ps(), "state": state, "rate_bps": rate, "delay_ps": delay, "loss": event.loss,
            }));
        }
    }
    changes
}

/// By link: from when until when it is down. Faults of events are the checks' matter.
fn failures(experiment: &Experiment, graph: &Graph) -> BTreeMap<u32, Vec<(Span, Option<Span>)>> {
    let mut failures: BTreeMap<u32, Vec<(Span, Option<Span>)>> = BTreeMap::new();
    for event in in_order(experiment) {
        for link in select_links(graph, &event.link).unwrap_or_default() {
            let spans = failures.entry(link).or_default();
            let down = spans.last_mut().filter(|(_, until)| until.is_none());
            match (event.state, down) {
                (Some(LinkState::Down), None) => spans.push((event.at, None)),
                (Some(LinkState::Up), Some(span)) => span.1 = Some(event.at),
                _ => {}
            }
        }
    }
    failures.retain(|_, spans| !spans.is_empty());
    failures
}

fn routes(graph: &Graph, routing: &mut Routing) -> Vec<Vec<Option<u32>>> {
    let nodes: Vec<_> = (0..graph.nodes.len() as u32).map(NodeId).collect();
    let mut first = |from: NodeId, to: NodeId| {
        let leads = graph.role(from) == Role::Switch || (from != to && routing.leads(from, to));
        routing.ways(from, to).first().copied().filter(|_| leads)
    };
    graph.ids(Role::Host).map(|to| nodes.iter().map(|from| first(*from, to)).collect()).collect()
}
