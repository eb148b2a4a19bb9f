//! The network as plain data: named nodes, and links between them.
//!
//! A link goes one way and is one output port of its `from` node, called `from->to`; a cable is two
//! links. Several cables between two nodes are `from->to#1`, `from->to#2` and so on. Three verbs build any network: [`Graph::host`], [`Graph::switch`] and [`Graph::link`].

use shallows_units::{Rate, Span};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// A node by its place in [`Graph::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The place in [`Graph::nodes`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A node's part: it ends or forwards packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Sends and receives, never forwards.
    Host,
    /// Forwards.
    Switch,
}

/// A host or a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Unique in its graph.
    pub name: String,
    /// How it treats packets.
    pub role: Role,
}

/// One direction of a cable: an output port of `from` and the wire to `to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The sending end, whose port this is.
    pub from: NodeId,
    /// The receiving end.
    pub to: NodeId,
    /// How fast the port sends.
    pub rate: Rate,
    /// How long a bit travels, and once [`Graph::set_latency`] was called, until its packet is at the far end's queue.
    pub delay: Span,
    /// Its number among the links between these ends in this direction, from 0.
    pub cable: u32,
}

/// Static routes: by the host that packets go to and the switch that sends them on, the links to the next hops.
pub type Routes = BTreeMap<(NodeId, NodeId), Vec<u32>>;

/// A network. Nodes and links are only ever added, so their places are their ids.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// By [`NodeId`].
    pub nodes: Vec<Node>,
    /// By link id.
    pub links: Vec<Link>,
    /// By link id: what it adds to the cost of a way, where that is not one.
    costs: BTreeMap<u32, u32>,
    routes: Routes,
    /// By switch: its own delay, where it has any.
    latencies: BTreeMap<NodeId, Span>,
    by_name: BTreeMap<String, NodeId>,
    /// By ends the first link between them. Nothing goes through it in its order, which is that of a hash.
    by_ends: HashMap<(NodeId, NodeId), u32, BuildHasherDefault<OfIds>>,
    /// By ends the further ones, in order.
    further: BTreeMap<(NodeId, NodeId), Vec<u32>>,
}

/// A hash of a few ids, by multiplication (Knuth, The Art of Computer Programming 3, s.6.4). A network of ten thousand hosts
/// looks up its links a hundred thousand times before a run, and a tree of ordered ends takes most of that time.
#[derive(Debug, Clone, Copy, Default)]
pub struct OfIds(u64);

impl Hasher for OfIds {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32((*byte).into()));
    }
    fn write_u32(&mut self, id: u32) {
        // 2^64 over the golden ratio.
        self.0 = (self.0.rotate_left(32) ^ u64::from(id)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

impl Graph {
    /// Adds a host. Panics if the name is taken, as [`switch`](Self::switch) does.
    pub fn host(&mut self, name: impl Into<String>) -> NodeId {
        self.node(name.into(), Role::Host)
    }

    /// Adds a switch.
    pub fn switch(&mut self, name: impl Into<String>) -> NodeId {
        self.node(name.into(), Role::Switch)
    }

    /// Adds `count` hosts with the names `prefix0`, `prefix1` and so on.
    pub fn hosts_named(&mut self, prefix: &str, count: u64) -> Vec<NodeId> {
        (0..count).map(|i| self.host(format!("{prefix}{i}"))).collect()
    }

    fn node(&mut self, name: String, role: Role) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        let taken = self.by_name.insert(name.clone(), id);
        assert!(taken.is_none(), "two nodes are named \"{name}\"");
        self.nodes.push(Node { name, role });
        id
    }

    /// Joins two nodes in both directions: first `a->b`, then `b->a`.
    pub fn link(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Span) {
        self.simplex(a, b, rate, delay);
        self.simplex(b, a, rate, delay);
    }

    /// Joins two nodes in one direction, beside the links that they have already, and returns the link's id. Panics if the
    /// nodes are one.
    pub fn simplex(&mut self, from: NodeId, to: NodeId, rate: Rate, delay: Span) -> u32 {
        assert!(from != to, "no room for a link from {} to itself", self.name(from));
        let id = self.links.len() as u32;
        let cable = self.cables(from, to) as u32;
        self.links.push(Link { from, to, rate, delay, cable });
        if cable == 0 {
            self.by_ends.insert((from, to), id);
        } else {
            self.further.entry((from, to)).or_default().push(id);
        }
        id
    }

    /// Sets what link `id` adds to the cost of a way, at least one.
    pub fn set_cost(&mut self, id: u32, cost: u32) {
        assert!(cost > 0, "a link without cost would lead in circles");
        if cost == 1 {
            self.costs.remove(&id)
        } else {
            self.costs.insert(id, cost)
        };
    }

    /// Sets the delay of the switches themselves, once: links that lead to them are so much longer.
    pub fn set_latency(&mut self, latencies: BTreeMap<NodeId, Span>) {
        assert!(self.latencies.is_empty(), "latencies are set once");
        self.latencies = latencies;
        for link in &mut self.links {
            link.delay += self.latencies.get(&link.to).copied().unwrap_or_default();
        }
    }

    /// The delay of a node itself.
    pub fn latency(&self, node: NodeId) -> Span {
        self.latencies.get(&node).copied().unwrap_or_default()
    }

    /// The cost that each link adds to a way; nothing inside if all add one.
    pub fn costs(&self) -> Vec<u32> {
        if self.costs.is_empty() {
            return vec![];
        }
        (0..self.links.len() as u32).map(|id| self.costs.get(&id).copied().unwrap_or(1)).collect()
    }

    /// Makes the switch `at` send packets for host `to` by `links`, its own; says no if it has a static route there.
    pub fn set_route(&mut self, at: NodeId, to: NodeId, links: Vec<u32>) -> bool {
        self.routes.insert((to, at), links).is_none()
    }

    /// The static routes.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Takes all static routes away.
    pub fn drop_routes(&mut self) {
        self.routes.clear();
    }

    /// The node of this name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// The link `from->to` number `cable`, counted from 0.
    pub fn find_link(&self, from: NodeId, to: NodeId, cable: u32) -> Option<u32> {
        match cable {
            0 => self.by_ends.get(&(from, to)).copied(),
            _ => self.further.get(&(from, to))?.get(cable as usize - 1).copied(),
        }
    }

    /// All links `from->to`, in the order of their numbers.
    pub fn between(&self, from: NodeId, to: NodeId) -> impl Iterator<Item = u32> + '_ {
        let further = self.further.get(&(from, to)).into_iter().flatten();
        self.by_ends.get(&(from, to)).into_iter().chain(further).copied()
    }

    /// How many links there are `from->to`.
    pub fn cables(&self, from: NodeId, to: NodeId) -> usize {
        self.between(from, to).count()
    }

    /// The link back along the cable of link `id`, if it has both directions.
    pub fn back(&self, id: u32) -> Option<u32> {
        let link = &self.links[id as usize];
        self.find_link(link.to, link.from, link.cable)
    }

    /// Name of a node.
    pub fn name(&self, id: NodeId) -> &str {
        &self.nodes[id.index()].name
    }

    /// Whether a node is a host or a switch.
    pub fn role(&self, id: NodeId) -> Role {
        self.nodes[id.index()].role
    }

    /// All nodes of one role, in order.
    pub fn ids(&self, role: Role) -> impl Iterator<Item = NodeId> + '_ {
        (0..self.nodes.len() as u32).map(NodeId).filter(move |id| self.role(*id) == role)
    }

    /// Name of the port that sends on link `id`: `from->to`, with its number where there are several.
    pub fn port_name(&self, id: u32) -> String {
        let link = &self.links[id as usize];
        let name = format!("{}->{}", self.name(link.from), self.name(link.to));
        match link.cable > 0 || self.further.contains_key(&(link.from, link.to)) {
            false => name,
            true => format!("{name}#{}", link.cable + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_verbs_make_a_network() {
        let mut graph = Graph::default();
        let (a, b, switch) = (graph.host("a"), graph.host("b"), graph.switch("switch"));
        graph.link(a, switch, Rate::gbps(10), Span::us(25));
        graph.simplex(switch, b, Rate::gbps(1), Span::us(5));
        let ports: Vec<_> = (0..3).map(|id| graph.port_name(id)).collect();
        assert_eq!(ports, ["a->switch", "switch->a", "switch->b"]);
        assert_eq!((graph.find("b"), graph.find("c")), (Some(b), None));
        assert_eq!((graph.find_link(switch, b, 0), graph.find_link(b, switch, 0)), (Some(2), None));
        assert_eq!([0, 1, 2].map(|id| graph.back(id)), [Some(1), Some(0), None]);
        assert_eq!(graph.ids(Role::Host).collect::<Vec<_>>(), [a, b]);
    }

    #[test]
    #[should_panic(expected = "two nodes are named \"a\"")]
    fn a_name_stands_for_one_node() {
        let mut graph = Graph::default();
        graph.host("a");
        graph.switch("a");
    }

    #[test]
    #[should_panic(expected = "no room for a link from a to itself")]
    fn a_link_has_two_ends() {
        let mut graph = Graph::default();
        let a = graph.host("a");
        graph.link(a, a, Rate::gbps(1), Span::ZERO);
    }

    /// Cables between the same nodes have numbers, and each its own way back.
    #[test]
    fn several_cables_are_told_apart() {
        let mut graph = Graph::default();
        let (a, b) = (graph.switch("a"), graph.switch("b"));
        graph.link(a, b, Rate::gbps(1), Span::ZERO);
        graph.link(b, a, Rate::gbps(1), Span::ZERO);
        let ports: Vec<_> = (0..4).map(|id| graph.port_name(id)).collect();
        assert_eq!(ports, ["a->b#1", "b->a#1", "b->a#2", "a->b#2"]);
        assert_eq!([0, 1, 2, 3].map(|id| graph.back(id)), [1, 0, 3, 2].map(Some));
    }
}
