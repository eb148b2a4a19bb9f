//! The bandwidth-delay product of a network, in which an experiment may write thresholds of ports.
//!
//! Source: Ultra Ethernet Specification 1.0.3 table 3-82: the lesser rate of sender and receiver, times `config_base_rtt`, the round trip
//! of a full packet over the longest path of the idle network. Its switches' settings (p. 418) are shares of that.
//! The rate is the greatest that two hosts can have between them by a port of each. A card with ports in several planes has one product
//! a plane, of which its switches take shares (Plane_BDP, p. 418). The packet goes there whole, and its answer comes without a
//! payload, as senders here take their base round trips.

use super::chosen::chosen;
use crate::experiment::Experiment;
use crate::params::Faults;
use crate::routing::fixed;
use crate::routing::graph::{Graph, NodeId, Role};
use crate::routing::ideal::Wire;
use crate::routing::longest::Longest;
use crate::routing::table::Routing;
use crate::transport::Config;
use shallows_units::{Bytes, Rate, Span};
use std::collections::BTreeMap;

impl Experiment {
    /// The product of rate and round trip, for full packets of its loads; nothing where no two hosts reach each other.
    pub fn bdp(&self) -> Option<Bytes> {
        let mut faults = Faults::default();
        let mut graph = self.topology.build(&mut faults);
        fixed::write(&self.routing.routes, &mut graph, &mut faults);
        chosen(self, &mut graph, &mut faults);
        let packet = self.loads.iter().map(|load| Config::new(&load.transport).packet).max()?;
        let wires: Vec<Wire> = graph.links.iter().map(|link| (link.rate, link.delay)).collect();
        let rate = common_rate(&graph)?;
        let round_trip = round_trip(&graph, &wires, packet, self.run.seed)?;
        let product = u128::from(rate.as_bps()) * u128::from(round_trip.as_ps()) / 8_000_000_000_000;
        u64::try_from(product).ok().map(Bytes)
    }
}

/// The second greatest of the hosts' fastest ports: no two hosts have more between them by a port of each.
fn common_rate(graph: &Graph) -> Option<Rate> {
    let mut of_host = BTreeMap::new();
    for link in graph.links.iter().filter(|link| graph.role(link.from) == Role::Host) {
        let fastest = of_host.entry(link.from).or_insert(0);
        *fastest = link.rate.as_bps().max(*fastest);
    }
    let mut rates: Vec<u64> = of_host.into_values().collect();
    rates.sort_unstable();
    rates.iter().rev().nth(1).map(|bps| Rate::bps(*bps))
}

/// The longest round trip of two hosts. Those that are joined to one node by equal links stand for each other.
fn round_trip(graph: &Graph, wires: &[Wire], packet: u64, seed: u64) -> Option<Span> {
    let mut routing = Routing::new(graph, seed);
    let hosts = (0..graph.nodes.len() as u32).map(NodeId).filter(|node| graph.role(*node) == Role::Host);
    let mut alike: BTreeMap<Vec<(u32, u64, Span)>, Vec<NodeId>> = BTreeMap::new();
    for host in hosts {
        let there = routing.links_of(host).iter().map(|link| (routing.end(*link).0, *link));
        let back = routing.links_into(host).iter().map(|link| (routing.start(*link).0, *link));
        let wire = |(node, link): (u32, u32)| {
            let (rate, delay) = wires[link as usize];
            (node, rate.as_bps(), delay)
        };
        let stand_ins = alike.entry(there.chain(back).map(wire).collect()).or_default();
        if stand_ins.len() < 2 {
            stand_ins.push(host);
        }
    }
    let hosts: Vec<NodeId> = alike.into_values().flatten().collect();
    routing.find(hosts.iter().copied());
    let mut longest = Longest::default();
    let mut most = None;
    for from in &hosts {
        for to in hosts.iter().filter(|to| *to != from) {
            if routing.leads(*from, *to) && routing.leads(*to, *from) {
                let there = longest.time(&routing, (*from, *to), packet, wires);
                most = most.max(Some(there + longest.time(&routing, (*to, *from), 0, wires)));
            }
        }
    }
    most
}
