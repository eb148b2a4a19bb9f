//! Networks: parameters in, [`Graph`] out. One topology, one file.
//!
//! A topology names its hosts so that patterns pick them out (`s*`, `s0..s7`), and gives every link
//! its rate and delay. Queues are not its concern.

use crate::components;
use crate::params::{Beyond, Code, Faults, Params, Table};
use crate::routing::graph::Graph;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The most nodes that a topology may make.
pub const MAX_NODES: u64 = 1_000_000;

/// The name of a switch in a plane. One plane alone leaves it as it is.
fn in_plane(plane: u64, planes: u64, switch: String) -> String {
    if planes > 1 { format!("p{plane}.{switch}") } else { switch }
}

/// The list of topologies: `"name" => Variant(file)` adds one.
macro_rules! topologies {
    ( $( $word:literal => $variant:ident($file:ident) ),* $(,)? ) => {
        $( pub mod $file; )*

        components! {
            /// The network to simulate.
            pub enum Topology, "topology", open Topology(graph::Settings) { $( $word => $variant($file::Settings) ),* }
        }

        impl Topology {
            /// Builds the network. Settings that contradict each other are recorded, and the graph
            /// then stands in without the faulty parts.
            pub fn build(&self, faults: &mut Faults) -> Graph {
                match self {
                    $( Topology::$variant(settings) => settings.build(faults), )*
                    Topology::Custom(custom) => match &custom.made {
                        Some(network) => network.build(faults),
                        None => {
                            let rule = format!("is made by {}, and was not", custom.declared().class);
                            faults.add("topology.graph", Code::Missing.rule(rule), &Value::Null);
                            Graph::default()
                        }
                    },
                }
            }
        }
    };
}

topologies! {
    "star" => Star(star),
    "dumbbell" => Dumbbell(dumbbell),
    "parking-lot" => ParkingLot(parking_lot),
    "tree" => Tree(tree),
    "multi-rack" => MultiRack(multi_rack),
    "leaf-spine" => LeafSpine(leaf_spine),
    "fat-tree" => FatTree(fat_tree),
    "torus" => Torus(torus),
    "dragonfly" => Dragonfly(dragonfly),
    "rail" => Rail(rail),
    "graph" => Graph(graph),
}

/// A declared topology carries the network that it made, so that the record is whole without it.
impl Beyond for graph::Settings {
    fn read(table: &mut Table<'_>) -> Option<Arc<Self>> {
        let (path, plugins) = (table.at("graph"), table.plugins);
        let map = table.raw("graph")?.as_object()?;
        let mut inner = Table::new(&path, map, table.faults).with(plugins);
        let network = <Self as Params>::read(&mut inner);
        inner.finish();
        Some(Arc::new(network))
    }

    fn show(&self, map: &mut Map<String, Value>) {
        let mut network = Map::new();
        Params::show(self, &mut network);
        map.insert("graph".into(), network.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Table;
    use crate::routing::graph::Role;
    use crate::routing::table::Routing;
    use serde_json::{Value, json};

    /// Reads and builds `topology`, as a file gives it.
    pub fn build(topology: Value) -> (Graph, Vec<String>) {
        let mut faults = Faults::default();
        let map = topology.as_object().unwrap();
        let mut table = Table::new("topology", map, &mut faults);
        let topology = Topology::read(&mut table).unwrap();
        table.finish();
        let graph = topology.build(&mut faults);
        (graph, faults.0.iter().map(ToString::to_string).collect())
    }

    /// Name, rate and delay of each port.
    pub fn ports(graph: &Graph) -> Vec<String> {
        let links = graph.links.iter().zip(0..);
        links.map(|(l, i)| format!("{} {} {}", graph.port_name(i), l.rate, l.delay)).collect()
    }

    /// Whether a link goes from one node to the other.
    pub fn joined(graph: &Graph, from: &str, to: &str) -> bool {
        let [from, to] = [from, to].map(|name| graph.find(name).expect("a node"));
        graph.links.iter().any(|link| (link.from, link.to) == (from, to))
    }

    /// Links that go from the nodes that `near` names to the others.
    pub fn cut(graph: &Graph, near: impl Fn(&str) -> bool) -> usize {
        let near: Vec<_> = graph.nodes.iter().map(|node| near(&node.name)).collect();
        graph.links.iter().filter(|link| near[link.from.index()] && !near[link.to.index()]).count()
    }

    /// For each host and each other that it reaches: links between them. Searched link by link, without the tables.
    pub fn distances(graph: &Graph) -> Vec<usize> {
        let mut found = vec![];
        for from in graph.ids(Role::Host) {
            let mut far = vec![None; graph.nodes.len()];
            far[from.index()] = Some(0);
            let mut edge = std::collections::VecDeque::from([from]);
            while let Some(node) = edge.pop_front() {
                for link in graph.links.iter().filter(|link| link.from == node) {
                    if far[link.to.index()].is_none() {
                        far[link.to.index()] = far[node.index()].map(|links: usize| links + 1);
                        edge.extend((graph.role(link.to) == Role::Switch).then_some(link.to));
                    }
                }
            }
            found.extend(graph.ids(Role::Host).filter(|to| *to != from).filter_map(|to| far[to.index()]));
        }
        found
    }

    fn every_kind() -> Vec<Value> {
        let graph = json!({"hosts": ["a", "b"], "links": [{"from": "a", "to": "b"}]});
        let with = |kind: &str| {
            let mut map = if kind == "graph" { graph.clone() } else { json!({}) };
            map["kind"] = kind.into();
            map
        };
        Topology::list().into_iter().map(|component| with(component.name)).collect()
    }

    #[test]
    fn every_topology_joins_all_its_hosts() {
        for topology in every_kind() {
            let (graph, faults) = build(topology);
            assert_eq!(faults, [""; 0]);
            let hosts: Vec<_> = graph.ids(Role::Host).collect();
            let mut routing = Routing::new(&graph, 1);
            for (src, dst) in hosts.iter().flat_map(|a| hosts.iter().map(move |b| (*a, *b))) {
                assert!(routing.leads(src, dst), "{} {}", graph.name(src), graph.name(dst));
            }
        }
    }

    #[test]
    fn every_topology_shows_what_it_reads() {
        for topology in every_kind() {
            let mut faults = Faults::default();
            let read = |map: &Value, faults: &mut Faults| {
                Topology::read(&mut Table::new("topology", map.as_object().unwrap(), faults)).unwrap()
            };
            let first = read(&topology, &mut faults);
            let again = read(&first.show().into(), &mut faults);
            assert_eq!((first, faults.0), (again, vec![]));
        }
    }

    #[test]
    fn every_setting_is_documented() {
        for component in Topology::list() {
            assert!(!component.doc.trim().is_empty(), "{}", component.name);
            for param in component.params {
                assert!(!param.doc.trim().is_empty() && !param.source.is_empty(), "{}", param.name);
            }
        }
    }
}
