//! Every port's settings: its overrides over the common ones.

use crate::experiment::{Experiment, PortSettings};
use crate::net::wire::trace::LinkTrace;
use crate::params::{Faults, ParamType, Params};
use crate::port_control::Protocol;
use crate::queue::Queue;
use crate::routing::graph::{Graph, NodeId, Role};
use crate::routing::select::{select_ports, select_switches};
use shallows_units::Span;
use std::collections::BTreeMap;

/// A port's parts: its own settings, its discipline's, and its controller's, which hosts have none of.
pub struct Chosen<'a> {
    /// The port's own.
    pub settings: PortSettings,
    /// Its discipline's.
    pub queue: &'a Queue,
    /// Its controller's.
    pub control: Option<&'a Protocol>,
}

impl Chosen<'_> {
    /// Its controller's protocol.
    pub fn kind(&self) -> &str {
        self.control.map_or("none", Protocol::kind)
    }
}

/// Every port's settings in the order of the graph's links, its overrides over the common ones. The links take the rates
/// and delays that overrides have, and the latencies of switches.
pub fn chosen<'a>(experiment: &'a Experiment, graph: &mut Graph, faults: &mut Faults) -> Vec<Chosen<'a>> {
    let defaults = PortSettings::defaults(); // once: a declaration lists every discipline
    let mut chosen: Vec<Chosen<'a>> = graph
        .links
        .iter()
        .map(|link| match graph.role(link.from) {
            Role::Switch => (&experiment.queue, Some(&experiment.control)),
            Role::Host => (&experiment.nic, None),
        })
        .map(|(queue, control)| Chosen { settings: defaults.clone(), queue, control })
        .collect();
    for over in &experiment.ports {
        let path = format!("port.{}", over.ports.0.join(","));
        match select_ports(graph, &over.ports) {
            Err(rule) => faults.add(&path, rule, &over.ports.show()),
            Ok(found) => {
                for port in found {
                    let port = &mut chosen[port as usize];
                    over.settings.apply(&mut port.settings);
                    port.queue = over.queue.as_ref().unwrap_or(port.queue);
                    port.control = over.control.as_ref().or(port.control);
                }
            }
        }
        if let Some(queue) = &over.queue {
            queue.check(&format!("{path}.queue"), faults);
        }
    }
    for (link, chosen) in graph.links.iter_mut().zip(&chosen) {
        let highest = chosen.settings.trace.as_ref().and_then(LinkTrace::highest);
        link.rate = highest.or(chosen.settings.rate).unwrap_or(link.rate);
        link.delay = chosen.settings.delay.unwrap_or(link.delay);
    }
    graph.set_latency(latencies(experiment, graph));
    chosen
}

/// The delays of switches themselves. Names of no switch are faults elsewhere.
fn latencies(experiment: &Experiment, graph: &Graph) -> BTreeMap<NodeId, Span> {
    let mut latencies = BTreeMap::new();
    for over in &experiment.switches {
        let Some(latency) = over.settings.latency else { continue };
        let found = select_switches(graph, &over.switches).unwrap_or_default();
        latencies.extend(found.into_iter().map(|node| (node, latency)));
    }
    latencies.retain(|_, latency| *latency > Span::ZERO);
    latencies
}
