//! Equal-cost multipath: which of several equally short paths a flow, or each of its packets, takes.
//!
//! Sources: RFC 2992 (hash of the header a flow); Dixit et al., INFOCOM 2013 (random packet spraying). A flow's
//! key stands for its five-tuple: both hosts and the connection's number, under a seed named "ecmp".
//! Spraying picks the whole path at the source. All shortest paths are equally likely, as they are with a
//! draw at each switch where the switches of a tier have equally many ways up, in leaf-spine and fat tree.
//! Packets then overtake each other, and the transport sees it: nothing puts them in order again.
//! Left out: weights, flowlets, adaptive choices.

use super::graph::NodeId;
use super::paths::Paths;
use crate::events::random::Stream;
use crate::packet::{Flags, Packet};

crate::choices! {
    /// What shares several equally short paths.
    pub enum Ecmp {
        /// Flows: each keeps to one, by a hash.
        Flow = "flow",
        /// Packets: those of a flow take its paths in turn.
        RoundRobin = "round-robin",
        /// Packets: each takes one at random.
        Random = "random",
    }
}

/// The paths of one direction of a flow, and whose turn it is.
#[derive(Debug, Clone, Copy, Default)]
struct Fan {
    first: u32,
    count: u32,
    turn: u32,
}

/// Chooses paths.
pub struct Chooser {
    ecmp: Ecmp,
    salt: u64,
    random: Stream,
    /// By flow, both directions; empty where flows keep to one path.
    fans: Vec<[Fan; 2]>,
}

impl Chooser {
    /// For a run of this seed.
    pub fn new(ecmp: Ecmp, seed: u64) -> Self {
        let salt = Stream::new(seed, "ecmp", 0).below(u64::MAX);
        Chooser { ecmp, salt, random: Stream::new(seed, "ecmp", 1), fans: vec![] }
    }

    /// Packets, not flows, share paths.
    pub fn sprays(&self) -> bool {
        self.ecmp != Ecmp::Flow
    }

    /// Places of the paths there and back of connection number `serial`, which stands at place `flow`.
    pub fn open(
        &mut self,
        flow: u32,
        serial: u32,
        ends: (NodeId, NodeId),
        paths: &mut Paths,
    ) -> Option<(u32, u32)> {
        let key = self.key(ends, serial);
        let (there, back) = (paths.find(ends.0, ends.1, key)?, paths.find(ends.1, ends.0, key)?);
        if self.sprays() {
            let fans = [paths.fan(ends.0, ends.1), paths.fan(ends.1, ends.0)].map(|(first, count)| Fan {
                first,
                count,
                // Flows begin at different paths, or all first packets would meet.
                turn: (key % u64::from(count)) as u32,
            });
            let known = self.fans.len().max(flow as usize + 1);
            self.fans.resize(known, [Fan::default(); 2]);
            self.fans[flow as usize] = fans;
        }
        Some((there, back))
    }

    /// Place of the path that `packet` takes, where packets share paths.
    #[inline]
    pub fn spray(&mut self, packet: &Packet, paths: &Paths) -> u32 {
        let fan = &mut self.fans[packet.flow as usize][usize::from(packet.flags.any(Flags::REVERSE))];
        let turn = match self.ecmp {
            Ecmp::Random => self.random.below(u64::from(fan.count)) as u32,
            _ => fan.turn,
        };
        fan.turn = if fan.turn + 1 == fan.count { 0 } else { fan.turn + 1 };
        paths.of_fan(fan.first + turn)
    }

    /// A flow's key: its five-tuple, hashed (the finaliser of SplitMix64, Steele 2014, over its parts).
    fn key(&self, (from, to): (NodeId, NodeId), serial: u32) -> u64 {
        [u64::from(from.0), u64::from(to.0), u64::from(serial)].iter().fold(self.salt, |key, part| {
            let mut z = (key ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::packet;
    use crate::routing::graph::Graph;
    use shallows_units::{Rate, Span};

    /// Two hosts on leaves below four spines.
    fn fabric() -> Graph {
        let mut graph = Graph::default();
        let (a, b) = (graph.host("a"), graph.host("b"));
        let leaves = [graph.switch("l0"), graph.switch("l1")];
        for i in 0..4 {
            let spine = graph.switch(format!("s{i}"));
            for leaf in leaves {
                graph.link(leaf, spine, Rate::gbps(10), Span::us(1));
            }
        }
        graph.link(a, leaves[0], Rate::gbps(10), Span::us(1));
        graph.link(b, leaves[1], Rate::gbps(10), Span::us(1));
        graph
    }

    /// How many of `n` flows take each path, by seed.
    fn flows(seed: u64, n: u32) -> Vec<u32> {
        let (mut paths, mut chooser) = (Paths::new(&fabric()), Chooser::new(Ecmp::Flow, seed));
        (0..n).map(|i| chooser.open(i, i, (NodeId(0), NodeId(1)), &mut paths).unwrap().0).collect()
    }

    #[test]
    fn the_hash_balances_repeats_and_hangs_on_the_seed() {
        let places = flows(1, 8000);
        let mut distinct = places.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 4);
        for place in distinct {
            // Binomial with p = 1/4: standard deviation 38.7; five of them.
            let n = places.iter().filter(|p| **p == place).count() as i64;
            assert!((n - 2000).abs() < 194, "{n}");
        }
        assert_eq!(places, flows(1, 8000));
        assert_ne!(places, flows(2, 8000));
    }

    #[test]
    fn packets_take_turns_or_chances() {
        for ecmp in [Ecmp::RoundRobin, Ecmp::Random] {
            let (mut paths, mut chooser) = (Paths::new(&fabric()), Chooser::new(ecmp, 1));
            chooser.open(0, 0, (NodeId(0), NodeId(1)), &mut paths).unwrap();
            let took: Vec<u32> = (0..8000).map(|_| chooser.spray(&packet(1500), &paths)).collect();
            let mut places = took.clone();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), 4);
            for place in places {
                let n = took.iter().filter(|p| **p == place).count() as i64;
                assert!(
                    if ecmp == Ecmp::Random { (n - 2000).abs() < 194 } else { n == 2000 },
                    "{ecmp:?} {n}"
                );
            }
            let in_turn = took.windows(2).all(|w| w[0] != w[1]);
            assert_eq!(in_turn, ecmp == Ecmp::RoundRobin);
        }
    }
}
