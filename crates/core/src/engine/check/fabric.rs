//! The ways of loads through the network as fluids: how long they are, and what the ports on them let through.
//!
//! Each pair of hosts sends at its rate along one way, chosen at random among equal next hops, as a hash of its connection
//! chooses. A port that gets more than it carries lets each pair through in proportion. The limits of queues, and senders that
//! slow down, are the caller's.

use crate::engine::check::facts::Checked;
use crate::events::random::Stream;
use crate::hosts::Pair;
use crate::routing::graph::Role;

/// Most pairs whose ways are followed. Of more, every n-th shows how long ways are, and nothing is known of ports where they meet.
const MOST_PAIRS: usize = 20_000;
/// Longer ways go in circles.
const MOST_LINKS: usize = 64;
/// Choices of all ways, over which means are taken.
const DRAWS: u64 = 4;
/// Rounds until the rates of pairs that meet in several ports agree.
const ROUNDS: usize = 6;

/// The ways of all loads.
#[derive(Debug, Clone, Copy)]
pub struct Fabric {
    /// Ports on a way: that of a host and those of switches.
    pub hops: f64,
    /// Seconds of propagation to the first switch.
    pub first: f64,
    /// Seconds of propagation of the whole way.
    pub way: f64,
    /// The share of all data that comes through the switches, if all send as fast as their loads and cards allow.
    pub through: f64,
    /// Packets that crowded ports of switches hold; none without a limit, or where no port is crowded.
    pub room: Option<f64>,
    /// Ports of switches that get more than they carry.
    pub crowded: f64,
    /// Pairs whose own card is their narrowest port, with half of those that share a port with one other.
    pub alone: f64,
}

/// The ways of one choice.
struct Draw {
    ways: Vec<Vec<u32>>,
}

impl Draw {
    /// A way for each pair that has one.
    fn new(checked: &Checked<'_>, pairs: impl Iterator<Item = Pair>, number: u64) -> Self {
        let mut random = Stream::new(number, "ways", 0);
        let way = |(from, to): Pair| {
            let (mut at, mut way) = (from, vec![]);
            while at != to && way.len() < MOST_LINKS {
                let ways = checked.routing.ways(at, to);
                let link = *ways.get(random.below(ways.len().max(1) as u64) as usize)?;
                at = checked.graph.links[link as usize].to;
                way.push(link);
            }
            Some(way)
        };
        Draw { ways: pairs.map(way).map(Option::unwrap_or_default).collect() }
    }

    /// By pair the rate that comes through, in bits a second, and by link what it gets.
    fn flow(&self, checked: &Checked<'_>, offered: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let links = checked.graph.links.len();
        let carries = |link: u32| (checked.best[link as usize].0.as_bps() as f64).max(1.0);
        let mut scale = vec![1.0f64; links];
        let (mut through, mut load) = (offered.to_vec(), vec![0.0; links]);
        for _ in 0..ROUNDS {
            load = vec![0.0; links];
            for ((way, offered), through) in self.ways.iter().zip(offered).zip(&mut through) {
                *through = *offered;
                for link in way {
                    load[*link as usize] += *through;
                    *through *= scale[*link as usize];
                }
            }
            for (link, scale) in (0u32..).zip(&mut scale) {
                *scale = (carries(link) / load[link as usize].max(1.0)).min(1.0);
            }
        }
        (through, load)
    }
}

impl Fabric {
    /// The ways of `pairs`, each with the bits a second that it would send, whose packets keep to one way if `hashes`. `limit`
    /// gives the packets that a port holds.
    pub fn new(
        checked: &Checked<'_>,
        pairs: &[(Pair, f64)],
        hashes: bool,
        mut limit: impl FnMut(u32) -> Option<f64>,
    ) -> Self {
        let is_switch =
            |link: u32| checked.graph.role(checked.graph.links[link as usize].from) == Role::Switch;
        let every = pairs.len().div_ceil(MOST_PAIRS).max(1);
        let meet = hashes && every == 1;
        let offered: Vec<f64> = pairs.iter().step_by(every).map(|(_, rate)| *rate).collect();
        let delay = |link: u32| checked.best[link as usize].1.as_secs_f64();
        let (mut ways, mut hops, mut first, mut way) = (0.0f64, 0.0, 0.0, 0.0);
        let (mut sent, mut came, mut alone, mut crowded) = (0.0f64, 0.0, 0.0, 0.0);
        let mut room = Some(0.0);
        let draws = if meet { DRAWS } else { 1 };
        for number in 0..draws {
            let draw = Draw::new(checked, pairs.iter().step_by(every).map(|(pair, _)| *pair), number);
            for links in draw.ways.iter().filter(|links| !links.is_empty()) {
                ways += 1.0;
                hops += links.len() as f64;
                first += links.first().map_or(0.0, |link| delay(*link));
                way += links.iter().map(|link| delay(*link)).sum::<f64>();
            }
            if !meet {
                continue;
            }
            let (through, load) = draw.flow(checked, &offered);
            sent += offered.iter().sum::<f64>();
            came += through.iter().sum::<f64>();
            let shares = through.iter().zip(&offered).map(|(through, offered)| through / offered.max(1.0));
            alone += shares.filter(|share| *share > 0.49).sum::<f64>();
            for (link, load) in (0u32..).zip(load).filter(|(link, _)| is_switch(*link)) {
                if load > 1.01 * checked.best[link as usize].0.as_bps() as f64 {
                    crowded += 1.0;
                    room = room.zip(limit(link)).map(|(room, limit)| room + limit);
                }
            }
        }
        let draws = draws as f64;
        let ways = ways.max(1.0);
        Fabric {
            hops: (hops / ways).max(1.0),
            first: first / ways,
            way: way / ways,
            through: if sent > 0.0 { (came / sent).min(1.0) } else { 1.0 },
            room: room.filter(|_| crowded > 0.0).map(|room| room / draws),
            crowded: crowded / draws,
            alone: alone / draws,
        }
    }
}
