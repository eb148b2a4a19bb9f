//! Paths that flows take, as runs of port numbers in one table.

use super::graph::{Graph, NodeId};
use super::routes::Routes;
use shallows_units::{Bytes, Rate, Span};
use std::collections::BTreeMap;

/// Ends a path.
pub const END: u32 = u32::MAX;

/// All paths in use; a packet carries its place in the table.
pub struct Paths {
    routes: Routes,
    table: Vec<u32>,
    known: BTreeMap<Vec<u32>, u32>,
    /// Places of all shortest paths between two hosts, for packets that share them: a run of `of_fan`.
    fans: BTreeMap<(NodeId, NodeId), (u32, u32)>,
    of_fan: Vec<u32>,
}

/// Most shortest paths between two hosts that packets share; of more, these many are taken.
const MAX_FAN: usize = 4096;

impl Paths {
    /// No path yet.
    pub fn new(graph: &Graph) -> Self {
        let (known, fans) = (BTreeMap::new(), BTreeMap::new());
        Paths { routes: Routes::new(graph), table: vec![], known, fans, of_fan: vec![] }
    }

    /// The port at `place`, or [`END`].
    #[inline]
    pub fn port(&self, place: u32) -> u32 {
        self.table[place as usize]
    }

    /// Place of a shortest path from `from` to `to`; among equally short ones, `choice` picks.
    pub fn find(&mut self, from: NodeId, to: NodeId, choice: u64) -> Option<u32> {
        let path = self.routes.path(from, to, choice)?;
        Some(self.place(path))
    }

    fn place(&mut self, path: Vec<u32>) -> u32 {
        if let Some(place) = self.known.get(&path) {
            return *place;
        }
        let place = self.table.len() as u32;
        self.table.extend_from_slice(&path);
        self.table.push(END);
        self.known.insert(path, place);
        place
    }

    /// All shortest paths from `from` to `to`, which must exist: where [`Paths::of_fan`] has the first one's
    /// place, and how many there are.
    pub fn fan(&mut self, from: NodeId, to: NodeId) -> (u32, u32) {
        if let Some(fan) = self.fans.get(&(from, to)) {
            return *fan;
        }
        let first = self.of_fan.len() as u32;
        for path in self.routes.all(from, to, MAX_FAN) {
            let place = self.place(path);
            self.of_fan.push(place);
        }
        let fan = (first, self.of_fan.len() as u32 - first);
        self.fans.insert((from, to), fan);
        fan
    }

    /// Place of a path out of a fan.
    #[inline]
    pub fn of_fan(&self, place: u32) -> u32 {
        self.of_fan[place as usize]
    }

    /// The ports from `place` to the end of the path.
    pub fn ports(&self, place: u32) -> impl Iterator<Item = u32> + '_ {
        self.table[place as usize..].iter().copied().take_while(|port| *port != END)
    }
}

/// Time from handing the first byte to the NIC until the last is at the far end, for `packets` full
/// packets of `full` bytes followed by one of `last` bytes, alone on the empty path of `links`
/// (rate, delay). Store and forward, exact: on each link a packet begins when it is there and its
/// predecessor has gone.
pub fn passage(links: &[(Rate, Span)], packets: u64, full: Bytes, last: Bytes) -> Span {
    // Full packets leave link h at (sum of their transmissions to h) + (n - 1) x (slowest so far).
    let (mut travelled, mut slowest) = (Span::ZERO, Span::ZERO);
    let mut last_arrives = Span::ZERO;
    for (rate, delay) in links {
        let each = rate.transmit(full);
        slowest = slowest.max(each);
        let full_gone = if packets > 0 { travelled + each + slowest * (packets - 1) } else { Span::ZERO };
        travelled = travelled + each + *delay;
        last_arrives = last_arrives.max(full_gone) + rate.transmit(last) + *delay;
    }
    last_arrives
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passage_of_one_packet_is_the_sum_of_its_parts() {
        let links = [(Rate::gbps(10), Span::us(25)), (Rate::gbps(1), Span::us(5))];
        assert_eq!(passage(&links, 0, Bytes(1500), Bytes(1500)), Span::ns(1200 + 12_000 + 30_000));
    }

    #[test]
    fn the_slowest_link_spaces_the_packets() {
        let links = [(Rate::gbps(10), Span::ZERO), (Rate::gbps(1), Span::ZERO), (Rate::gbps(10), Span::ZERO)];
        // 10 packets: 1.2 us on the first link, 10 x 12 us on the second, 1.2 us on the third.
        assert_eq!(passage(&links, 9, Bytes(1500), Bytes(1500)), Span::ns(1200 + 120_000 + 1200));
    }
}
