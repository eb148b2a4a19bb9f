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

use super::choice::{Chooser, Field, Group, Place, Sharing, Sight};
use super::graph::{Graph, NodeId, Role};
use super::search::{Part, Wiring, search};
use crate::events::random::Stream;
use shallows_units::Index;
use std::collections::{BTreeMap, VecDeque};

/// Destinations of a page.
const PAGE: usize = 64;
/// Page of which nothing is known yet.
const BLANK: u32 = 0;

/// A node's next hops for a destination, in four bytes: a place among its own links, or behind them the number of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Next(u32);

impl Next {
    /// No way there, or none found yet.
    const NONE: Next = Next(u32::MAX);
    /// The destination is on a link of this switch.
    const HERE: Next = Next(u32::MAX - 1);
}

/// A host as a destination.
#[derive(Debug, Clone, Copy)]
struct Destination {
    /// Its column in the tables.
    column: u32,
    /// The link that leads to it from the switch that it shares its column with.
    last: Index,
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
    /// By node: its number among the hosts; none for switches.
    host: Vec<Index>,
    destinations: Vec<Destination>,
    /// By column: where its search starts.
    roots: Vec<NodeId>,
    /// Bits of a label below the destination.
    spare: u32,
    salt: u64,
    /// The packets of a connection there and back have the same hash.
    pub symmetric: bool,
    /// An entropy value names the path: it stands in the label as it is.
    pub structured: bool,
    /// Pages of a node.
    width: usize,
    /// By node and page: a place in `pool`.
    pages: Vec<u32>,
    /// Distinct pages.
    pool: Vec<[Next; PAGE]>,
    /// By node.
    hops: Vec<Hops>,
    /// Links of groups.
    members: Vec<u32>,
    /// By node and group: a digest of its links' places, which tells most groups apart without a look at them.
    digests: Vec<Vec<u64>>,
    /// Static routes: by host that packets go to, switches and the places of their next hops among their own links.
    fixed: BTreeMap<NodeId, Vec<(u32, Vec<u32>)>>,
    /// By digest: the place of the first such page in `pool`.
    known_pages: BTreeMap<u64, u32>,
}

/// The pages of one run of destinations while they are found.
struct Drafts {
    /// By node: the place of its page, or none yet.
    places: Vec<Index>,
    /// Nodes in the order in which they were found, each with its page.
    pages: Vec<(u32, [Next; PAGE])>,
}

impl Drafts {
    fn new(nodes: usize) -> Self {
        Drafts { places: vec![Index::NONE; nodes], pages: vec![] }
    }

    /// The page of `node`.
    fn of(&mut self, node: u32) -> &mut [Next; PAGE] {
        let place = &mut self.places[node as usize];
        if !place.is_some() {
            *place = Index::new(self.pages.len() as u32);
            self.pages.push((node, [Next::NONE; PAGE]));
        }
        &mut self.pages[place.at()].1
    }
}

/// The entries of a page as numbers.
fn words_of(page: &[Next; PAGE]) -> impl ExactSizeIterator<Item = u32> {
    page.iter().map(|entry| entry.0)
}

/// A digest of some numbers: the same for the same, and hardly ever for others (as SplitMix64's finaliser spreads them).
fn digest(words: impl ExactSizeIterator<Item = u32>) -> u64 {
    let length = words.len() as u64;
    words.fold(length, |sum, word| {
        let mixed = (sum ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    })
}

impl Routing {
    /// The tables of `graph`, nothing searched yet; `seed` is the run's.
    pub fn new(graph: &Graph, seed: u64) -> Self {
        let wiring = Wiring::new(graph);
        let mut host = vec![Index::NONE; graph.nodes.len()];
        let (mut destinations, mut roots) = (vec![], vec![]);
        let mut columns = BTreeMap::new();
        let mut fixed: BTreeMap<NodeId, Vec<(u32, Vec<u32>)>> = BTreeMap::new();
        for ((to, at), links) in graph.routes() {
            let own = wiring.out.of(at.0).iter().zip(0..);
            let places = own.filter(|(link, _)| links.contains(link)).map(|(_, place)| place);
            fixed.entry(*to).or_default().push((at.0, places.collect()));
        }
        for (number, id) in (0..).zip(graph.ids(Role::Host)) {
            host[id.index()] = Index::new(number);
            let (root, last) = match *wiring.into.of(id.0) {
                _ if fixed.contains_key(&id) => (id, Index::NONE),
                [link] if wiring.forwards(wiring.ends[link as usize].0.0) => {
                    (wiring.ends[link as usize].0, Index::new(link))
                }
                _ => (id, Index::NONE),
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
        let blank = [Next::NONE; PAGE];
        Routing {
            width: roots.len().div_ceil(PAGE),
            pages: vec![BLANK; nodes * roots.len().div_ceil(PAGE)],
            pool: vec![blank],
            hops,
            members: vec![],
            digests: vec![vec![]; nodes],
            fixed,
            known_pages: BTreeMap::from([(digest(words_of(&blank)), BLANK)]),
            wiring,
            host,
            destinations,
            roots,
            spare: 32 - bits.max(1),
            salt: Stream::new(seed, "ecmp", u64::MAX).below(u64::MAX),
            symmetric: false,
            structured: false,
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
        if entry.0 < links.size {
            return self.wiring.out.link(links.first + entry.0);
        }
        if entry == Next::HERE {
            return last.there();
        }
        let number = entry.0 - links.size;
        let run = groups[number as usize];
        let group = || Group { number, links: run.of(&self.members) };
        let place = chooser.choose(label, run.size, group, sight);
        debug_assert!(place < run.size, "a next hop of another group");
        self.members[(run.first + place) as usize]
    }

    #[inline(always)]
    fn entry(&self, node: u32, column: u32) -> Next {
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
        let label = |to: NodeId, flow: u64| {
            self.host[to.index()].there() << self.spare | (flow >> (64 - self.spare)) as u32
        };
        let there = flow(from, to);
        [label(to, there), label(from, if self.symmetric { there } else { flow(to, from) })]
    }

    /// The label of packets of a flow with `label` that carry the entropy value `entropy`: another hash in place of the flow's.
    pub fn with_entropy(&self, label: u32, entropy: u32) -> u32 {
        if self.structured {
            return self.with_hash_of(label, entropy);
        }
        // The finaliser of SplitMix64 (Steele et al. 2014).
        let mut z = (u64::from(label) << 32 | u64::from(entropy)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (label >> self.spare) << self.spare | (z >> (64 - self.spare)) as u32
    }

    /// The label of packets with `entropy` from a host with so many ports to the destination. Divided by their number, its hash leaves what the
    /// value leaves: values are shared equally among ports, and [`Routing::port_of`] reads the port.
    pub fn with_plane(&self, label: u32, entropy: u32, ports: u32) -> u32 {
        let whole = self.with_entropy(label, entropy);
        if self.structured {
            return whole;
        }
        let hash = whole & self.mask();
        let wanted = hash - hash % ports + entropy % ports;
        self.with_hash_of(label, if wanted > self.mask() { wanted - ports } else { wanted })
    }

    /// The place of the port that a label names among so many.
    pub fn port_of(&self, label: u32, ports: u32) -> u32 {
        (label & self.mask()) % ports
    }

    /// The label with the hash of another: an answer's, which goes back by the port and the value of its packet.
    pub fn with_hash_of(&self, label: u32, other: u32) -> u32 {
        label & !self.mask() | other & self.mask()
    }

    /// The bits of a label that hold the hash, or the value.
    pub fn mask(&self) -> u32 {
        (1 << self.spare) - 1
    }

    /// By node its field of a structured value; or two switches of one tier that a link joins, between which no tier decides.
    pub fn fields(&self) -> Result<Vec<Field>, (NodeId, NodeId)> {
        let Wiring { ends, out, into, .. } = &self.wiring;
        let nodes = self.host.len() as u32;
        let hosts = (0..nodes).filter(|node| !self.wiring.forwards(*node));
        let mut tiers: Vec<Index> = vec![Index::NONE; nodes as usize];
        let mut open: VecDeque<u32> = hosts.collect();
        open.iter().for_each(|host| tiers[*host as usize] = Index::new(0));
        while let Some(node) = open.pop_front() {
            for link in into.of(node) {
                let before = ends[*link as usize].0.0;
                if !tiers[before as usize].is_some() {
                    tiers[before as usize] = Index::new(tiers[node as usize].there() + 1);
                    open.push_back(before);
                }
            }
        }
        let tier = |node: NodeId| tiers[node.index()].get();
        let level = |(from, to): &&(NodeId, NodeId)| {
            self.wiring.forwards(from.0) && tier(*from).is_some() && tier(*from) == tier(*to)
        };
        if let Some(ends) = ends.iter().find(level) {
            return Err(*ends);
        }
        let mut widths: Vec<u32> = vec![];
        for node in (0..nodes).map(NodeId) {
            let Some(own) = tier(node) else { continue };
            let mut next: Vec<NodeId> = out.of(node.0).iter().map(|link| ends[*link as usize].1).collect();
            next.sort_unstable();
            let up = next.iter().filter(|end| tier(**end).is_some_and(|end| end > own)).count();
            let cables = next.chunk_by(|one, other| one == other).map(<[NodeId]>::len).max().unwrap_or(1);
            widths.resize(widths.len().max(own as usize + 1), 1);
            let width = &mut widths[own as usize];
            *width = (*width).max(up.max(cables) as u32);
        }
        let divisor =
            |tier: u32| widths[..tier as usize].iter().fold(1, |all: u32, width| all.saturating_mul(*width));
        let field = |tier: &Index| {
            let tier = tier.get().unwrap_or(0);
            Field {
                mask: self.mask(),
                divisor: divisor(tier),
                width: widths.get(tier as usize).copied().unwrap_or(1),
            }
        };
        Ok(tiers.iter().map(field).collect())
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
            None => self.entry(from.0, column) != Next::NONE,
            Some(first) => {
                first == to || self.wiring.forwards(first.0) && self.entry(first.0, column) != Next::NONE
            }
        }
    }

    // ---- building ----

    /// Finds the columns of these hosts, with those of their pages, where they are not known yet.
    pub fn find(&mut self, hosts: impl IntoIterator<Item = NodeId>) {
        for host in hosts {
            let column = self.destinations[self.host[host.index()].at()].column;
            // A destination's own entry is the first to be known.
            if self.entry(self.roots[column as usize].0, column) == Next::NONE {
                self.find_page(column as usize / PAGE);
            }
        }
    }

    fn find_page(&mut self, page: usize) {
        let columns = page * PAGE..self.roots.len().min((page + 1) * PAGE);
        let roots = self.roots[columns].to_vec();
        let mut drafts = Drafts::new(self.host.len());
        for (bit, root) in roots.iter().enumerate() {
            drafts.of(root.0)[bit] = Next::HERE;
        }
        self.fill(&roots, false, &mut drafts);
        if self.wiring.any_down() {
            self.fill(&roots, true, &mut drafts);
        }
        self.override_computed(&roots, &mut drafts);
        let width = self.width;
        for (node, draft) in drafts.pages {
            let next = self.pool.len() as u32;
            let mut place = *self.known_pages.entry(digest(words_of(&draft))).or_insert(next);
            if place == next || self.pool[place as usize] != draft {
                place = next;
                self.pool.push(draft);
            }
            self.pages[node as usize * width + page] = place;
        }
    }

    /// Puts static routes in the place of computed next hops, as far as their links are in order.
    fn override_computed(&mut self, roots: &[NodeId], drafts: &mut Drafts) {
        let Routing { wiring, hops, members, digests, fixed, .. } = self;
        for (bit, root) in roots.iter().enumerate() {
            for (at, places) in fixed.get(root).into_iter().flatten() {
                let own = wiring.out.of(*at);
                let up = places.iter().copied().filter(|place| wiring.works(own[*place as usize]));
                let up: Vec<u32> = up.collect();
                if !up.is_empty() {
                    drafts.of(*at)[bit] = entry_of(wiring, *at, &up, hops, members, digests);
                }
            }
        }
    }

    /// Adds next hops towards `roots` to `drafts` where there are none yet; as though all links were in order, or not.
    fn fill(&mut self, roots: &[NodeId], whole: bool, drafts: &mut Drafts) {
        let Routing { wiring, hops, members, digests, .. } = self;
        search(wiring, whole, roots, |node, parts| {
            let draft = drafts.of(node);
            for Part { bits, links } in parts {
                let mut open = ones(*bits).filter(|bit| draft[*bit] == Next::NONE);
                if open.next().is_none() {
                    continue;
                }
                let entry = entry_of(wiring, node, links, hops, members, digests);
                for bit in ones(*bits) {
                    if draft[bit] == Next::NONE {
                        draft[bit] = entry;
                    }
                }
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
        self.digests.iter_mut().for_each(Vec::clear);
        self.members.clear();
        known.into_iter().for_each(|page| self.find_page(page));
    }

    /// A chooser for every node.
    pub fn choosers(&self, sharing: &Sharing) -> Vec<Chooser> {
        (0..self.host.len() as u32).map(|node| Chooser::new(Place { sharing, node })).collect()
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        let hops = self.hops.iter().map(|own| size_of_val(own) + own.groups.capacity() * size_of::<Run>());
        let digests = self.digests.iter().map(|own| size_of_val(own) + own.capacity() * size_of::<u64>());
        self.pages.capacity() * 4
            + self.pool.capacity() * size_of::<[Next; PAGE]>()
            + self.known_pages.len() * 32
            + hops.sum::<usize>()
            + digests.sum::<usize>()
            + self.members.capacity() * 4
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

/// The places of the bits that are set.
fn ones(bits: u64) -> impl Iterator<Item = usize> {
    std::iter::successors((bits != 0).then_some(bits), |left| {
        Some(left & (left - 1)).filter(|left| *left != 0)
    })
    .map(|left| left.trailing_zeros() as usize)
}

/// The entry of a node for these of its links, by their places: a group where they are several.
fn entry_of(
    wiring: &Wiring,
    node: u32,
    links: &[u32],
    hops: &mut [Hops],
    members: &mut Vec<u32>,
    digests: &mut [Vec<u64>],
) -> Next {
    if let [link] = links {
        return Next(*link);
    }
    let own = wiring.out.of(node);
    let (groups, digests) = (&mut hops[node as usize].groups, &mut digests[node as usize]);
    let wanted = digest(links.iter().copied());
    let same = |run: Run| run.of(members).iter().eq(links.iter().map(|place| &own[*place as usize]));
    let known = (0..digests.len()).find(|place| digests[*place] == wanted && same(groups[*place]));
    let number = known.unwrap_or_else(|| {
        groups.push(Run { first: members.len() as u32, size: links.len() as u32 });
        digests.push(wanted);
        members.extend(links.iter().map(|place| own[*place as usize]));
        groups.len() - 1
    });
    Next(own.len() as u32 + number as u32)
}

mod paths;
#[cfg(test)]
pub(crate) mod tests;
