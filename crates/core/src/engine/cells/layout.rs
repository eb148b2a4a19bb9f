//! The ports of a network laid out in its cells, each cell's together.

use crate::engine::cells::partition::Partition;
use crate::events::EventQueue;
use crate::experiment::{Experiment, LoadSpec, SwitchSettings};

use crate::net::port::Port;
use crate::net::{Directory, Memory, Network};
use crate::routing::choice::Sharing;
use crate::routing::graph::Graph;
use crate::routing::table::Routing;

/// The cells' parts of the network, each port's cell and place there, and the data that all cells read.
pub(in crate::engine) fn lay_out(
    ports: Vec<Port>,
    buffers: Vec<(SwitchSettings, Vec<u32>)>,
    routing: Routing,
    partition: &Partition,
    experiment: &Experiment,
    (graph, sharing): (&Graph, &Sharing),
) -> (Vec<Network>, Vec<(u32, u32)>, Directory) {
    let cell_of = |node: usize| partition.cell_of[node];
    let mut sizes = vec![0; partition.cells as usize];
    graph.links.iter().for_each(|link| sizes[cell_of(link.from.index()) as usize] += 1);
    let room = |size: usize| (Vec::with_capacity(size), Vec::with_capacity(size));
    let mut of_cell: Vec<(Vec<Port>, Vec<u32>)> = sizes.into_iter().map(room).collect();
    let links = ports.iter().map(|port| (port.rate, port.delay)).collect();
    let (mut places, mut opposites) = (vec![], vec![]);
    for ((number, mut port), link) in (0..).zip(ports).zip(&graph.links) {
        let (cell, far) = (cell_of(link.from.index()), cell_of(link.to.index()));
        opposites.push(port.opposite);
        if cell != far {
            port.set(|flags| flags.crosses = true);
            port.far_cell = far;
            port.opposite = None;
        }
        let (own, links) = &mut of_cell[cell as usize];
        places.push((cell, own.len() as u32));
        own.push(port);
        links.push(number);
    }
    let place = |link: u32| places[link as usize].1;
    let mut choosers: Vec<Vec<_>> = (0..partition.cells).map(|_| vec![]).collect();
    let all = routing.choosers(sharing);
    let node_places = (0..).zip(all).map(|(node, chooser)| {
        let own = &mut choosers[cell_of(node) as usize];
        own.push(chooser);
        own.len() as u32 - 1
    });
    let node_places = node_places.collect();
    let mut networks: Vec<Network> = of_cell
        .into_iter()
        .zip(choosers)
        .map(|((mut ports, links), choosers)| {
            for port in &mut ports {
                port.opposite = port.opposite.map(place);
                port.set(|flags| flags.short_ways = experiment.short_ways);
            }
            let mut network = Network::new(ports, EventQueue::new(experiment.tie_stride));
            network.set_routes(links, choosers, &routing);
            network
        })
        .collect();
    for (settings, ports) in buffers {
        if let (Some(size), Some(first)) = (settings.buffer, ports.first()) {
            let network = &mut networks[places[*first as usize].0 as usize];
            let reserve = settings.reserve.map_or(0, |bytes| bytes.as_u64());
            let law = Memory { size: size.as_u64(), alpha: settings.alpha, reserve };
            network.share(law, ports.iter().map(|port| place(*port)).collect());
        }
    }
    let crossing = partition.whole.is_none() && opposites.iter().any(Option::is_some);
    let opposites = if crossing { opposites.iter().map(|port| port.map(place)).collect() } else { vec![] };
    let port_places = places.iter().map(|(_, place)| *place).collect();
    let controlled = networks.iter().any(|network| network.ports.iter().any(|port| port.pausing().is_some()));
    let back = |link: u32| graph.back(link).map(place).into();
    let backs = if controlled { (0..graph.links.len() as u32).map(back).collect() } else { vec![] };
    let thresholds = |load: &LoadSpec| -> Vec<u64> {
        load.transport.settings.demote_at.iter().map(|bytes| bytes.as_u64()).collect()
    };
    let demotions: Vec<Vec<u64>> = experiment.loads.iter().map(thresholds).collect();
    let demotions = if demotions.iter().all(Vec::is_empty) { vec![] } else { demotions };
    let directory = Directory {
        connections: vec![],
        demotions,
        sprays: sharing.ecmp.sprays(),
        links,
        best: vec![],
        fastest: None,
        port_places,
        node_places,
        opposites,
        backs,
        routing,
    };
    (networks, places, directory)
}
