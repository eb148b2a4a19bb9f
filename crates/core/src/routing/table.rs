//! Forwarding tables: for every switch and destination the group of next hops that are equally near.
//!
//! A host on a single link is reached through the switch at its other end, so its table entry is that switch's: all
//! hosts of one switch share a column. Columns are found 64 at a time by one backward search ([`super::search`]), those
//! that an experiment uses before it runs, others when a flow first needs them.
//!
//! A page has a switch's next hops for 64 neighbouring destinations. Pages speak of a switch's own links and groups by
//! their places, and equal pages of all switches are kept once. So a tree's or a fat tree's tables shrink to a
//! few words a switch, without a rule that knows of trees: neighbours in the order of the hosts are mostly neighbours
//! in the network. A fat tree of 64-port switches takes some 2 MB.
//!
//! The nearest is the way with the fewest links, or where links have costs the one with the least sum.
//!
//! Static routes ([`super::fixed`]) override entries. A host that is the end of one has a column of its own.
//!
//! A packet carries a label: its destination, and below it a hash of its flow. Hosts never forward.
//! Left out: tables of switches that do not agree while they change.

use super::choice::{Chooser, Group, Place, Sharing, Sight};
use super::graph::{Graph, NodeId, Role};
use super::search::{Part, Wiring, search};
use crate::events::random::Stream;
use std::collections::BTreeMap;

/// Destinations of a page.
const PAGE: usize = 64;
/// Entry: no way there, or none found yet.
const NOWHERE: u32 = u32::MAX;
/// Entry: the destination is on a link of this switch.
const HERE: u32 = u32::MAX - 1;
/// Page of which nothing is known yet.
const BLANK: u32 = 0;

/// A host as a destination.
#[derive(Debug, Clone, Copy)]
struct Destination {
    /// Its column in the tables.
    column: u32,
    /// The link that leads to it from the switch that it shares its column with.
    last: u32,
}

/// How a host's packets enter the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// By its only port.
    Port(u32),
    /// By one of several, which the host chooses as a switch does.
    Any(u32),
}

/// A run of neighbours in a list.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: u32,
    size: u32,
}

impl Run {
    fn of(self, all: &[u32]) -> &[u32] {
        &all[self.first as usize..(self.first + self.size) as usize]
    }
}

/// The next hops of a node.
#[derive(Debug, Clone)]
struct Hops {
    /// Its own links, among those that leave nodes.
    links: Run,
    /// Its groups, as runs of [`Routing::members`].
    groups: Vec<Run>,
}

/// The tables of all switches.
#[derive(Debug, Default)]
pub struct Routing {
    wiring: Wiring,
    /// By node: its number among the hosts; nothing for switches.
    host: Vec<u32>,
    destinations: Vec<Destination>,
    /// By column: where its search starts.
    roots: Vec<NodeId>,
    /// Bits of a label below the destination.
    spare: u32,
    salt: u64,
    /// The packets of a connection there and back have the same hash.
    pub symmetric: bool,
    /// Pages of a node.
    width: usize,
    /// By node and page: a place in `pool`.
    pages: Vec<u32>,
    /// Distinct pages. An entry below a node's number of links is the place of one of them, others count its groups.
    pool: Vec<[u32; PAGE]>,
    /// By node.
    hops: Vec<Hops>,
    /// Links of groups.
    members: Vec<u32>,
    /// Static routes: by host that packets go to, switches and the places of their next hops among their own links.
    fixed: BTreeMap<NodeId, Vec<(u32, Vec<u32>)>>,
    known_pages: BTreeMap<[u32; PAGE], u32>,
    known_groups: BTreeMap<(u32, Vec<u32>), u32>,
}

impl Routing {
    /// The tables of `graph`, nothing searched yet; `seed` is the run's.
    pub fn new(graph: &Graph, seed: u64) -> Self {
        let wiring = Wiring::new(graph);
        let mut host = vec![NOWHERE; graph.nodes.len()];
        let (mut destinations, mut roots) = (vec![], vec![]);
        let mut columns = BTreeMap::new();
        let mut fixed: BTreeMap<NodeId, Vec<(u32, Vec<u32>)>> = BTreeMap::new();
        for ((to, at), links) in graph.routes() {
            let own = wiring.out.of(at.0).iter().zip(0..);
            let places = own.filter(|(link, _)| links.contains(link)).map(|(_, place)| place);
            fixed.entry(*to).or_default().push((at.0, places.collect()));
        }
        for (number, id) in (0..).zip(graph.ids(Role::Host)) {
            host[id.index()] = number;
            let (root, last) = match *wiring.into.of(id.0) {
                _ if fixed.contains_key(&id) => (id, NOWHERE),
                [link] if wiring.forwards(wiring.ends[link as usize].0.0) => {
                    (wiring.ends[link as usize].0, link)
                }
                _ => (id, NOWHERE),
            };
            let column = *columns.entry(root).or_insert(roots.len() as u32);
            if column as usize == roots.len() {
                roots.push(root);
            }
            destinations.push(Destination { column, last });
        }
        let bits = usize::BITS - destinations.len().saturating_sub(1).leading_zeros();
        let nodes = graph.nodes.len();
        let links = |node| {
            let (first, size) = wiring.out.run(node);
            Run { first, size }
        };
        let hops = (0..nodes as u32).map(|node| Hops { links: links(node), groups: vec![] }).collect();
        let blank = [NOWHERE; PAGE];
        Routing {
            width: roots.len().div_ceil(PAGE),
            pages: vec![BLANK; nodes * roots.len().div_ceil(PAGE)],
            pool: vec![blank],
            hops,
            members: vec![],
            fixed,
            known_pages: BTreeMap::from([(blank, BLANK)]),
            known_groups: BTreeMap::new(),
            wiring,
            host,
            destinations,
            roots,
            spare: 32 - bits.max(1),
            salt: Stream::new(seed, "ecmp", u64::MAX).below(u64::MAX),
            symmetric: false,
        }
    }

    // ---- packets ----

    /// The link by which `node` sends on a packet with this label; `chooser` is the node's, and sees its ports by `sight`.
    #[inline(always)]
    pub fn next<S: Sight>(
        &self,
        node: u32,
        label: u32,
        chooser: &mut Chooser,
        sight: impl FnOnce() -> S,
    ) -> u32 {
        let Destination { column, last } = self.destinations[(label >> self.spare) as usize];
        let entry = self.entry(node, column);
        let Hops { links, groups } = &self.hops[node as usize];
        if entry < links.size {
            return self.wiring.out.link(links.first + entry);
        }
        if entry == HERE {
            return last;
        }
        let number = entry - links.size;
        let run = groups[number as usize];
        let group = || Group { number, links: run.of(&self.members) };
        let place = chooser.choose(label, run.size, group, sight);
        debug_assert!(place < run.size, "a next hop of another group");
        self.members[(run.first + place) as usize]
    }

    #[inline(always)]
    fn entry(&self, node: u32, column: u32) -> u32 {
        let (page, place) = (column as usize / PAGE, column as usize % PAGE);
        self.pool[self.pages[node as usize * self.width + page] as usize][place]
    }

    // ---- flows ----

    /// The labels of packets there and back of connection number `serial` between two hosts.
    pub fn labels(&self, (from, to): (NodeId, NodeId), serial: u32) -> [u32; 2] {
        let flow = |from: NodeId, to: NodeId| {
            // The finaliser of SplitMix64 (Steele et al. 2014) over the values that stand for the five-tuple.
            [from.0, to.0, serial].iter().fold(self.salt, |key, part| {
                let mut z = (key ^ u64::from(*part)).wrapping_add(0x9e37_79b9_7f4a_7c15);
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                z ^ (z >> 31)
            })
        };
        let label =
            |to: NodeId, flow: u64| self.host[to.index()] << self.spare | (flow >> (64 - self.spare)) as u32;
        let there = flow(from, to);
        [label(to, there), label(from, if self.symmetric { there } else { flow(to, from) })]
    }

    /// How packets of `host` enter the network.
    pub fn enters(&self, host: NodeId) -> Entry {
        match *self.wiring.out.of(host.0) {
            [port] => Entry::Port(port),
            _ => Entry::Any(host.0),
        }
    }

    /// Where the link `port` ends, if packets go on from there.
    pub fn goes_on(&self, port: u32) -> Option<u32> {
        let to = self.wiring.ends[port as usize].1.0;
        self.wiring.forwards(to).then_some(to)
    }

    /// The node that the link `port` leaves.
    pub fn leaves(&self, port: u32) -> u32 {
        self.wiring.ends[port as usize].0.0
    }

    /// Whether packets of `from` come to `to`, two hosts.
    pub fn leads(&mut self, from: NodeId, to: NodeId) -> bool {
        self.find([to]);
        let column = self.column(to);
        match self.first_link(from).map(|link| self.end(link)) {
            _ if from == to => true,
            None => self.entry(from.0, column) != NOWHERE,
            Some(first) => {
                first == to || self.wiring.forwards(first.0) && self.entry(first.0, column) != NOWHERE
            }
        }
    }

    // ---- building ----

    /// Finds the columns of these hosts, with those of their pages, where they are not known yet.
    pub fn find(&mut self, hosts: impl IntoIterator<Item = NodeId>) {
        for host in hosts {
            let column = self.destinations[self.host[host.index()] as usize].column;
            // A destination's own entry is the first to be known.
            if self.entry(self.roots[column as usize].0, column) == NOWHERE {
                self.find_page(column as usize / PAGE);
            }
        }
    }

    fn find_page(&mut self, page: usize) {
        let columns = page * PAGE..self.roots.len().min((page + 1) * PAGE);
        let roots = self.roots[columns].to_vec();
        let mut drafts: BTreeMap<u32, [u32; PAGE]> = BTreeMap::new();
        for (bit, root) in roots.iter().enumerate() {
            drafts.entry(root.0).or_insert([NOWHERE; PAGE])[bit] = HERE;
        }
        self.fill(&roots, false, &mut drafts);
        if self.wiring.any_down() {
            self.fill(&roots, true, &mut drafts);
        }
        self.override_computed(&roots, &mut drafts);
        let width = self.width;
        for (node, draft) in drafts {
            let place = *self.known_pages.entry(draft).or_insert_with(|| {
                self.pool.push(draft);
                self.pool.len() as u32 - 1
            });
            self.pages[node as usize * width + page] = place;
        }
    }

    /// Puts static routes in the place of computed next hops, as far as their links are in order.
    fn override_computed(&mut self, roots: &[NodeId], drafts: &mut BTreeMap<u32, [u32; PAGE]>) {
        let Routing { wiring, hops, members, known_groups, fixed, .. } = self;
        for (bit, root) in roots.iter().enumerate() {
            for (at, places) in fixed.get(root).into_iter().flatten() {
                let own = wiring.out.of(*at);
                let up = places.iter().copied().filter(|place| wiring.works(own[*place as usize]));
                let up: Vec<u32> = up.collect();
                if !up.is_empty() {
                    let entry = entry_of(wiring, *at, &up, hops, members, known_groups);
                    drafts.entry(*at).or_insert([NOWHERE; PAGE])[bit] = entry;
                }
            }
        }
    }

    /// Adds next hops towards `roots` to `drafts` where there are none yet; as though all links were in order, or not.
    fn fill(&mut self, roots: &[NodeId], whole: bool, drafts: &mut BTreeMap<u32, [u32; PAGE]>) {
        let Routing { wiring, hops, members, known_groups, .. } = self;
        search(wiring, whole, roots, |node, parts| {
            let draft = drafts.entry(node).or_insert([NOWHERE; PAGE]);
            for Part { bits, links } in parts {
                let mut open =
                    (0..PAGE).filter(|bit| bits >> bit & 1 == 1 && draft[*bit] == NOWHERE).peekable();
                if open.peek().is_none() {
                    continue;
                }
                let entry = entry_of(wiring, node, links, hops, members, known_groups);
                let open: Vec<usize> = open.collect();
                open.into_iter().for_each(|bit| draft[bit] = entry);
            }
        });
    }

    /// Makes the tables anew without the links of `down`. Where no way is left, switches keep the one that they would have
    /// without failures: its packets come nearer with each hop until they meet a link that is down.
    pub fn rebuild(&mut self, down: &[u32]) {
        self.wiring.take_down(down);
        let width = self.width;
        let known: Vec<usize> = (0..width)
            .filter(|page| self.pages.iter().skip(*page).step_by(width).any(|place| *place != BLANK))
            .collect();
        self.pages.fill(BLANK);
        self.pool.truncate(1);
        self.known_pages.retain(|_, place| *place == BLANK);
        self.hops.iter_mut().for_each(|own| own.groups.clear());
        self.members.clear();
        self.known_groups.clear();
        known.into_iter().for_each(|page| self.find_page(page));
    }

    /// A chooser for every node.
    pub fn choosers(&self, sharing: &Sharing) -> Vec<Chooser> {
        (0..self.host.len() as u32).map(|node| Chooser::new(Place { sharing, node })).collect()
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        let hops = self.hops.iter().map(|own| size_of_val(own) + own.groups.capacity() * size_of::<Run>());
        let known = self.known_groups.keys().map(|key| size_of_val(key) + 4 * key.1.capacity() + 16);
        self.pages.capacity() * 4
            + self.pool.capacity() * size_of::<[u32; PAGE]>()
            + self.known_pages.len() * (size_of::<[u32; PAGE]>() + 16)
            + hops.sum::<usize>()
            + self.members.capacity() * 4
            + known.sum::<usize>()
            + self.destinations.capacity() * size_of::<Destination>()
            + self
                .fixed
                .values()
                .flatten()
                .map(|route| size_of_val(route) + 4 * route.1.capacity())
                .sum::<usize>()
            + self.wiring.memory()
    }

    /// Searches so far, and distinct pages that they gave.
    #[cfg(test)]
    fn counts(&self) -> (usize, usize) {
        let width = self.width;
        let known = |page: &usize| self.pages.iter().skip(*page).step_by(width).any(|p| *p != BLANK);
        ((0..width).filter(known).count(), self.pool.len() - 1)
    }
}

/// The entry of a node for these of its links, by their places: a group where they are several.
fn entry_of(
    wiring: &Wiring,
    node: u32,
    links: &[u32],
    hops: &mut [Hops],
    members: &mut Vec<u32>,
    known_groups: &mut BTreeMap<(u32, Vec<u32>), u32>,
) -> u32 {
    if let [link] = links {
        return *link;
    }
    let own = wiring.out.of(node);
    own.len() as u32
        + *known_groups.entry((node, links.to_vec())).or_insert_with(|| {
            let groups = &mut hops[node as usize].groups;
            groups.push(Run { first: members.len() as u32, size: links.len() as u32 });
            members.extend(links.iter().map(|place| own[*place as usize]));
            groups.len() as u32 - 1
        })
}

mod paths;
#[cfg(test)]
pub(crate) mod tests;
