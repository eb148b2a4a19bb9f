//! Receivers by their distance: under the sender's switch, within its pod, or beyond.
//!
//! A distance is the number of switches on a shortest path: one is a rack, two or three are a pod, more are beyond. In a fat
//! tree these are its three tiers; a leaf-spine network is one pod.

use super::BuildCx;
use crate::events::random::Stream;
use crate::params::Code;
use crate::routing::graph::{Graph, NodeId, Role};
use std::collections::BTreeMap;

/// Most switches on a path within a pod.
const POD: usize = 3;

/// Shares of flows by distance, as settings give them.
pub struct Shares {
    /// Under the same switch.
    pub rack: Option<f64>,
    /// Through two or three switches.
    pub pod: Option<f64>,
    /// Through more.
    pub far: Option<f64>,
}

impl Shares {
    /// The first that is given, by its key.
    pub fn first(&self) -> Option<(&'static str, f64)> {
        let given = [("rack", self.rack), ("pod", self.pod), ("far", self.far)];
        given.into_iter().find_map(|(key, share)| Some((key, share?)))
    }
}

/// Receivers, by place in the list of all, as hosts under one switch see them; both in order.
#[derive(Default)]
struct View {
    rack: Vec<u32>,
    /// Those within the pod, the rack's included.
    near: Vec<u32>,
    /// Those within the pod, the rack's excluded.
    pod: Vec<u32>,
}

/// Draws receivers by distance.
pub struct Locality {
    /// Below the first of a number from 0 to 1 the rack is meant, below the second the pod.
    sums: [f64; 2],
    views: Vec<View>,
    /// By node: its view.
    view_of: Vec<u32>,
    /// By node: its place among the receivers, if it is one.
    place: Vec<u32>,
    receivers: u32,
}

const NOWHERE: u32 = u32::MAX;

impl Locality {
    /// The law that `shares` say, if any; faults are recorded.
    pub fn build(
        shares: &Shares,
        (from, to): (&[NodeId], &[NodeId]),
        cx: &mut BuildCx<'_>,
    ) -> Option<Option<Self>> {
        let Some((key, share)) = shares.first() else { return Some(None) };
        let given = [("rack", shares.rack), ("pod", shares.pod), ("far", shares.far)];
        let [rack, pod, far] = given.map(|(_, share)| share.unwrap_or(0.0));
        let sum = rack + pod + far;
        if (sum - 1.0).abs() > 1e-9 {
            let rule = format!("must make 1 with the other shares of rack, pod and far, and they make {sum}");
            cx.fault(key, Code::Conflict.rule(rule), share);
            return None;
        }
        let nodes = cx.graph.nodes.len();
        // Shares of nothing are never drawn, however the sums are rounded.
        let sums = match (pod > 0.0, far > 0.0) {
            (_, true) => [rack, rack + pod],
            (true, false) => [rack, 1.0],
            (false, false) => [1.0, 1.0],
        };
        let mut made = Locality {
            sums,
            views: vec![],
            view_of: vec![NOWHERE; nodes],
            place: vec![NOWHERE; nodes],
            receivers: to.len() as u32,
        };
        (0..).zip(to).for_each(|(place, host)| made.place[host.index()] = place);
        made.see(cx.graph, from);
        for host in from {
            let view = &made.views[made.view_of[host.index()] as usize];
            let own = made.place[host.index()];
            let others = |list: &[u32]| (list.len() - usize::from(list.binary_search(&own).is_ok())) as u32;
            let all = made.receivers - u32::from(own != NOWHERE);
            let counts = [others(&view.rack), others(&view.pod), all - others(&view.near)];
            let where_to = ["under its switch", "within its pod beside its switch's", "beyond its pod"];
            for (((key, share), count), where_to) in given.iter().zip(counts).zip(where_to) {
                if share.is_some_and(|share| share > 0.0) && count == 0 {
                    let name = cx.graph.name(*host);
                    let rule = format!("must be left out or 0: {name} has no other receiver {where_to}");
                    cx.fault(key, Code::Conflict.rule(rule), *share);
                    return None;
                }
            }
        }
        Some(Some(made))
    }

    /// A view for each set of switches by which senders enter the network.
    fn see(&mut self, graph: &Graph, from: &[NodeId]) {
        let mut next: Vec<Vec<NodeId>> = vec![vec![]; graph.nodes.len()];
        graph.links.iter().for_each(|link| next[link.from.index()].push(link.to));
        let mut known: BTreeMap<Vec<NodeId>, u32> = BTreeMap::new();
        for host in from {
            let mut entries = next[host.index()].clone();
            entries.sort_unstable();
            let number = *known.entry(entries.clone()).or_insert_with(|| {
                self.views.push(self.view(graph, &next, entries));
                self.views.len() as u32 - 1
            });
            self.view_of[host.index()] = number;
        }
    }

    /// The nodes seen from `entries`: switches, or the far host of a cable without any.
    fn view(&self, graph: &Graph, next: &[Vec<NodeId>], entries: Vec<NodeId>) -> View {
        let mut view = View::default();
        let mut met = vec![false; next.len()];
        let mut edge = entries;
        for switches in 0..=POD {
            let mut beyond = vec![];
            for node in edge {
                if std::mem::replace(&mut met[node.index()], true) {
                    continue;
                }
                if graph.role(node) == Role::Switch {
                    beyond.extend(&next[node.index()]);
                } else if self.place[node.index()] != NOWHERE {
                    let list = if switches <= 1 { &mut view.rack } else { &mut view.pod };
                    list.push(self.place[node.index()]);
                }
            }
            edge = beyond;
        }
        view.rack.sort_unstable();
        view.pod.sort_unstable();
        view.near = [view.rack.as_slice(), &view.pod].concat();
        view.near.sort_unstable();
        view
    }

    /// The place among the receivers of one for `from`; the caller draws again where that is `from` itself.
    pub fn draw(&self, from: NodeId, at: f64, random: &mut Stream) -> usize {
        let view = &self.views[self.view_of[from.index()] as usize];
        let mut one = |list: &[u32]| list[random.below(list.len() as u64) as usize] as usize;
        if at < self.sums[0] {
            one(&view.rack)
        } else if at < self.sums[1] {
            one(&view.pod)
        } else {
            // The one of that number among those that are not near: each near one up to it moves it on.
            let drawn = random.below(u64::from(self.receivers) - view.near.len() as u64) as u32;
            drawn as usize + skipped(&view.near, drawn)
        }
    }
}

/// How many of `near`, places in order, stand before the place with number `drawn` among all others.
fn skipped(near: &[u32], drawn: u32) -> usize {
    let (mut low, mut high) = (0, near.len());
    while low < high {
        let middle = (low + high) / 2;
        if near[middle] - middle as u32 <= drawn {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_among_the_others_pass_over_what_is_near() {
        let near = [0, 1, 4, 9];
        let others: Vec<usize> = (0..6).map(|n| n as usize + skipped(&near, n)).collect();
        assert_eq!(others, [2, 3, 5, 6, 7, 8]);
        assert_eq!(skipped(&[], 3), 0);
    }
}
