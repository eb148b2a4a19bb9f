//! Static routes: next hops that are written, over those that the tables compute.
//!
//! A route holds at its switches, for packets to its hosts. All other switches keep what they compute, and learn nothing of it, as
//! with a static route that no protocol redistributes. So a route can lead in a circle, where packets would stay for ever; a circle is
//! refused before the run, in the tables of the whole network and in those after each failure and repair.
//!
//! When links fail, the tables leave out the links of a route that are down, once they follow. If no link is left, the computed next
//! hops stand in, as a router withdraws a static route whose interface is down. Until the tables follow, packets are lost there.

use super::graph::{Graph, NodeId, Role};
use super::select::{select, select_nodes, select_switches};
use super::table::Routing;
use crate::params;
use crate::params::{Code, Faults, Names, ParamType, Row};
use shallows_units::Time;
use std::collections::{BTreeMap, BTreeSet};

params! {
    /// A static route.
    pub struct RouteParams {
        /// The switches that have it, by name or pattern.
        at: Names = required, "", "the user's network";
        /// The hosts that packets go to, by name or pattern.
        to: Names = required, "", "the user's network";
        /// The next nodes, by name or pattern, on links of each of the switches.
        via: Names = required, "", "the user's network";
    }
}

/// Adds the routes of an experiment to its graph, without those at fault.
pub fn write(routes: &[Row<RouteParams>], graph: &mut Graph, faults: &mut Faults) {
    for (i, Row(route)) in routes.iter().enumerate() {
        if faults.enough() {
            break;
        }
        add(route, &format!("routing.routes.{i}"), graph, faults);
    }
}

fn add(route: &RouteParams, path: &str, graph: &mut Graph, faults: &mut Faults) {
    let mut found = |key: &str, names: &Names, nodes: Result<Vec<NodeId>, _>| {
        nodes.map_err(|rule| faults.add(&format!("{path}.{key}"), rule, &names.show())).ok()
    };
    let at = found("at", &route.at, select_switches(graph, &route.at));
    let to = found("to", &route.to, select(graph, &route.to));
    let via = found("via", &route.via, select_nodes(graph, &route.via));
    let (Some(at), Some(to), Some(via)) = (at, to, via) else { return };
    let via_path = format!("{path}.via");
    if at.is_empty() || via.is_empty() {
        let key = if at.is_empty() { "at" } else { "via" };
        let rule = Code::TooFew.rule("must name at least one node");
        return faults.add(&format!("{path}.{key}"), rule, &Names::default().show());
    }
    // A host ends packets: as a next hop it can only be the one that they go to.
    let ends =
        via.iter().find(|node| graph.role(**node) == Role::Host && to.iter().any(|host| host != *node));
    if let Some(host) = ends {
        let rule = format!("leads nowhere: \"{}\" is a host, which forwards nothing", graph.name(*host));
        return faults.add(&via_path, Code::NoPath.rule(rule), &route.via.show());
    }
    for switch in at {
        let links: Vec<u32> = via
            .iter()
            .flat_map(|node| graph.between(switch, *node))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        if links.is_empty() {
            let rule = format!("leads nowhere: no link goes there from \"{}\"", graph.name(switch));
            return faults.add(&via_path, Code::NoPath.rule(rule), &route.via.show());
        }
        for host in &to {
            if !graph.set_route(switch, *host, links.clone()) {
                let (switch, host) = (graph.name(switch), graph.name(*host));
                let rule = format!("must be the only route from \"{switch}\" to \"{host}\"");
                return faults.add(path, Code::WrittenTwice.rule(rule), &serde_json::Value::Null);
            }
        }
    }
}

/// Records a fault for the first route that leads in a circle, or nowhere, in the tables of the whole network or in one of `tables`,
/// which follow changes of links. The graph then loses its routes, so that other checks come to an end.
pub fn check(graph: &mut Graph, seed: u64, tables: &[(Time, Vec<u32>)], faults: &mut Faults) {
    if graph.routes().is_empty() {
        return;
    }
    let mut routing = Routing::new(graph, seed);
    let hosts: BTreeSet<NodeId> = graph.routes().keys().map(|(host, _)| *host).collect();
    routing.find(hosts);
    let whole = std::iter::once((None, &[][..]));
    for (at, down) in whole.chain(tables.iter().map(|(at, down)| (Some(*at), &down[..]))) {
        if at.is_some() {
            routing.rebuild(down);
        }
        let mut walks: BTreeMap<NodeId, Walk<'_>> = BTreeMap::new();
        for (to, switch) in graph.routes().keys() {
            let walk = walks.entry(*to).or_insert_with(|| Walk::new(&routing, *to));
            let Err(way) = walk.from(*switch) else { continue };
            let names: Vec<_> = way.iter().map(|node| graph.name(*node)).collect();
            let when =
                at.map(|at| format!(" when the tables follow at {}", at - Time::ZERO)).unwrap_or_default();
            let to = graph.name(*to);
            let rule = match way.last() {
                Some(last) if way[..way.len() - 1].contains(last) => {
                    format!(
                        "must not lead in a circle{when}: packets to \"{to}\" would go {}",
                        names.join(" -> ")
                    )
                }
                _ => format!(
                    "leads nowhere{when}: packets to \"{to}\" would go {} and no further",
                    names.join(" -> ")
                ),
            };
            faults.add("routing.routes", Code::NoPath.rule(rule), &serde_json::Value::Null);
            graph.drop_routes();
            return;
        }
    }
}

/// A look at all ways to a host.
struct Walk<'a> {
    routing: &'a Routing,
    to: NodeId,
    /// Nodes from which all ways lead there.
    good: BTreeSet<NodeId>,
}

impl<'a> Walk<'a> {
    fn new(routing: &'a Routing, to: NodeId) -> Self {
        Walk { routing, to, good: BTreeSet::from([to]) }
    }

    /// Whether all ways from `start` lead to the host. Otherwise a way that does not: its last node stands in it before, or has no
    /// way on.
    fn from(&mut self, start: NodeId) -> Result<(), Vec<NodeId>> {
        if self.good.contains(&start) {
            return Ok(());
        }
        // Nodes on the way from the start, each with the next hops that are still to be looked at.
        let mut way = vec![(start, self.routing.ways(start, self.to))];
        while let Some((node, left)) = way.last_mut() {
            let Some((link, others)) = left.split_first() else {
                let node = *node;
                if self.routing.ways(node, self.to).is_empty() {
                    return Err(way.into_iter().map(|(node, _)| node).collect());
                }
                self.good.insert(node);
                way.pop();
                continue;
            };
            *left = others;
            let next = self.routing.end(*link);
            if self.good.contains(&next) {
                continue;
            }
            let circle = way.iter().any(|(node, _)| *node == next);
            way.push((next, self.routing.ways(next, self.to)));
            if circle {
                return Err(way.into_iter().map(|(node, _)| node).collect());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shallows_units::{Rate, Span};

    fn graph(hosts: u64, switches: u64, links: &[(u32, u32)]) -> Graph {
        let mut graph = Graph::default();
        graph.hosts_named("h", hosts);
        (0..switches).for_each(|i| _ = graph.switch(format!("sw{i}")));
        for (from, to) in links {
            graph.link(NodeId(*from), NodeId(*to), Rate::gbps(10), Span::us(1));
        }
        graph
    }

    /// sw0, sw1 and sw2 joined in a ring, with h0, h1 at sw0, h2 at sw1, and h3 and h4 at sw2.
    fn ring() -> Graph {
        graph(5, 3, &[(5, 6), (6, 7), (7, 5), (0, 5), (1, 5), (2, 6), (3, 7), (4, 7)])
    }

    fn written(graph: &mut Graph, routes: &[(&str, &str, &str)], tables: &[(Time, Vec<u32>)]) -> Vec<String> {
        let names =
            |text: &str| Names(text.split(' ').filter(|name| !name.is_empty()).map(Into::into).collect());
        let row = |(at, to, via): &(&str, &str, &str)| {
            Row(RouteParams { at: names(at), to: names(to), via: names(via) })
        };
        let mut faults = Faults::default();
        write(&routes.iter().map(row).collect::<Vec<_>>(), graph, &mut faults);
        check(graph, 1, tables, &mut faults);
        faults.0.iter().map(ToString::to_string).collect()
    }

    fn next(routing: &Routing, graph: &Graph, at: &str, to: &str) -> Vec<String> {
        let [at, to] = [at, to].map(|name| graph.find(name).unwrap());
        routing.ways(at, to).iter().map(|link| graph.port_name(*link)).collect()
    }

    #[test]
    fn a_route_holds_at_its_switch_for_its_host_alone() {
        let mut graph = ring();
        assert_eq!(written(&mut graph, &[("sw0", "h3", "sw1")], &[]), [""; 0]);
        let mut routing = Routing::new(&graph, 1);
        routing.find(graph.ids(Role::Host));
        assert_eq!(next(&routing, &graph, "sw0", "h3"), ["sw0->sw1"]);
        assert_eq!(next(&routing, &graph, "sw0", "h4"), ["sw0->sw2"]);
        assert_eq!(next(&routing, &graph, "sw1", "h3"), ["sw1->sw2"]);
        assert_eq!(next(&routing, &graph, "sw2", "h3"), ["sw2->h3"]);
        let ends = |from: u32| (NodeId(from), NodeId(3));
        assert_eq!(
            (routing.most_links(ends(0)), routing.most_links(ends(2)), routing.most_links(ends(4))),
            (4, 3, 2)
        );
    }

    /// Several next hops are a group. Those whose links are down are left out, and without any the computed one stands in.
    #[test]
    fn links_that_are_down_leave_a_route() {
        let mut graph = ring();
        let faults = written(&mut graph, &[("sw0", "h3", "sw1 sw2")], &[]);
        assert_eq!(faults, [""; 0]);
        let mut routing = Routing::new(&graph, 1);
        routing.find(graph.ids(Role::Host));
        let link = |from: &str, to: &str| {
            graph.find_link(graph.find(from).unwrap(), graph.find(to).unwrap(), 0).unwrap()
        };
        assert_eq!(next(&routing, &graph, "sw0", "h3"), ["sw0->sw1", "sw0->sw2"]);
        routing.rebuild(&[link("sw0", "sw2")]);
        assert_eq!(next(&routing, &graph, "sw0", "h3"), ["sw0->sw1"]);
        routing.rebuild(&[link("sw0", "sw1")]);
        assert_eq!(next(&routing, &graph, "sw0", "h3"), ["sw0->sw2"]);
        // Neither link is left: the switch has no way, and keeps the one that it would have without failures.
        routing.rebuild(&[link("sw0", "sw1"), link("sw0", "sw2")]);
        assert_eq!(next(&routing, &graph, "sw0", "h3"), ["sw0->sw2"]);
        routing.rebuild(&[]);
        assert_eq!(next(&routing, &graph, "sw0", "h3"), ["sw0->sw1", "sw0->sw2"]);
    }

    #[test]
    fn circles_and_dead_ends_are_refused() {
        let fault = |routes: &[(&str, &str, &str)]| written(&mut ring(), routes, &[]).join("\n");
        assert_eq!(
            fault(&[("sw1", "h3", "sw0"), ("sw0", "h3", "sw1")]),
            "routing.routes: must not lead in a circle: packets to \"h3\" would go sw0 -> sw1 -> sw0"
        );
        // sw2 has the host itself.
        assert_eq!(
            fault(&[("sw2", "h3", "sw0")]),
            "routing.routes: must not lead in a circle: packets to \"h3\" would go sw2 -> sw0 -> sw2"
        );
        assert_eq!(
            fault(&[("sw0", "h3", "h1")]),
            "routing.routes.0.via: leads nowhere: \"h1\" is a host, which forwards nothing, got \"h1\""
        );
        assert_eq!(
            fault(&[("sw0", "h3 h4", "h3")]),
            "routing.routes.0.via: leads nowhere: \"h3\" is a host, which forwards nothing, got \"h3\""
        );
        assert_eq!(
            fault(&[("sw0", "h3", "h3")]),
            "routing.routes.0.via: leads nowhere: no link goes there from \"sw0\", got \"h3\""
        );
        assert_eq!(
            fault(&[("sw0", "h3", "sw1"), ("sw*", "h3", "sw2")]),
            "routing.routes.1: must be the only route from \"sw0\" to \"h3\""
        );
        assert_eq!(fault(&[("", "h3", "sw1")]), "routing.routes.0.at: must name at least one node, got []");
        assert_eq!(fault(&[("sw0", "h3", "")]), "routing.routes.0.via: must name at least one node, got []");
        assert!(fault(&[("h0", "h9", "sw9")]).lines().count() == 3);
        // A switch with a way in and none out.
        let mut blind = ring();
        let end = blind.switch("blind");
        let from = blind.find("sw0").unwrap();
        blind.simplex(from, end, Rate::gbps(1), Span::ZERO);
        assert_eq!(
            written(&mut blind, &[("sw0", "h3", "blind")], &[]),
            ["routing.routes: leads nowhere: packets to \"h3\" would go sw0 -> blind and no further"]
        );
        assert!(blind.routes().is_empty());
    }

    /// sw0 sends by sw1, which computes the direct way to sw2. When that fails, sw1 sends by sw0.
    #[test]
    fn a_circle_after_a_failure_is_refused() {
        let mut graph = ring();
        let direct = graph.find_link(graph.find("sw1").unwrap(), graph.find("sw2").unwrap(), 0).unwrap();
        let at = Time::ZERO + Span::ms(3);
        assert_eq!(
            written(&mut graph, &[("sw0", "h3", "sw1")], &[(at, vec![direct])]),
            [
                "routing.routes: must not lead in a circle when the tables follow at 3ms: packets to \"h3\" would go \
              sw0 -> sw1 -> sw0"
            ]
        );
    }

    proptest! {
        /// With routes that the check accepts, packets come to their end from wherever they start, whatever next hops they take.
        /// Routes that it refuses let some packet pass a switch twice, or end at a node that has no way.
        #[test]
        fn routes_are_accepted_just_if_all_ways_lead_there(
            pairs in prop::collection::btree_set((3u32..9, 3u32..9), 5..16),
            routes in prop::collection::vec((3u32..9, 0u32..3, prop::collection::vec(3u32..9, 1..3)), 1..4),
            down in prop::collection::vec(prop::bool::weighted(0.15), 60),
        ) {
            // Three hosts at the first three of six switches.
            let mut links = vec![(0, 3), (1, 4), (2, 5)];
            links.extend(pairs.iter().filter(|(a, b)| a < b));
            let mut graph = graph(3, 6, &links);
            for (at, to, via) in routes {
                let via = via.iter().filter_map(|node| graph.find_link(NodeId(at), NodeId(*node), 0)).collect::<BTreeSet<_>>();
                if !via.is_empty() {
                    graph.set_route(NodeId(at), NodeId(to), via.into_iter().collect());
                }
            }
            let down: Vec<u32> = (0..graph.links.len() as u32).filter(|link| down[*link as usize]).collect();
            let mut routing = Routing::new(&graph, 1);
            routing.find(graph.ids(Role::Host));
            let mut good = leads_there(&routing, &graph);
            routing.rebuild(&down);
            good &= leads_there(&routing, &graph);
            let mut faults = Faults::default();
            check(&mut graph, 1, &[(Time::ZERO, down)], &mut faults);
            prop_assert_eq!(faults.0.is_empty(), good, "{:?}", faults.0);
        }
    }

    /// From each switch of a route, after as many hops as there are nodes no packet is still under way, and none is stuck.
    fn leads_there(routing: &Routing, graph: &Graph) -> bool {
        graph.routes().keys().all(|(to, at)| {
            let mut stand = BTreeSet::from([*at]);
            for _ in 0..graph.nodes.len() {
                let ways: Vec<_> =
                    stand.iter().filter(|node| *node != to).map(|node| routing.ways(*node, *to)).collect();
                if ways.iter().any(|links| links.is_empty()) {
                    return false;
                }
                stand = ways.into_iter().flatten().map(|link| routing.end(*link)).collect();
            }
            stand.iter().all(|node| node == to)
        })
    }
}
