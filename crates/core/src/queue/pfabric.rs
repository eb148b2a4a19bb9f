//! pFabric: the packet of the flow with least left goes first, that of the flow with most left is dropped.
//!
//! Source: Alizadeh et al., "pFabric: Minimal near-optimal datacenter transport", SIGCOMM 2013, s.4.1-4.2. A
//! packet's priority is the rest of its flow: here the bytes from its first one to the end of the data that its
//! flow has to send, which is the paper's unacknowledged rest less the packet's place in the window. A
//! connection of several messages counts to the end of the one written last. Acknowledgements go first.
//! The earliest packet of the flow that is served leaves (s.4.1): later packets of a flow have less left, and
//! those before them would starve.
//!
//! The minimal transport of s.4.3 is `transport = { profile = "pfabric", cc = "pfabric" }`.
//! Left out: the probe mode of a sender with five timeouts in a row.

use super::{Backlog, DropWhy, Place, QueueCx, QueueDisc};
use crate::packet::{Flags, Packet};
use crate::params::Faults;
use crate::queue::drop_tail::check_limit;
use crate::queue::parts::gauge::Level;
use shallows_units::Size;
use std::collections::BTreeMap;

crate::params! {
    /// pFabric. The packet of the flow with least left to send goes first; when the queue is full, one of the
    /// flow with most left is dropped.
    pub struct Settings {
        /// Most that the queue may hold, in bytes or packets, the packet being transmitted excluded.
        limit: Size = "24pkt", "[1pkt, ]", "Alizadeh 2013 s.5.1: 36 KB, twice the bandwidth-delay product at 10 Gb/s";
    }
}

impl Settings {
    /// Settings that contradict each other.
    pub fn check(&self, path: &str, faults: &mut Faults) {
        check_limit(Some(self.limit), path, faults);
    }
}

/// Which stream a packet belongs to: the data of a flow, or its acknowledgements.
type Stream = (u32, bool);

/// The stream of `packet`.
fn stream(packet: &Packet) -> Stream {
    (packet.flow, packet.flags.any(Flags::REVERSE))
}

/// The discipline at work. Two trees have the same packets, so that a long queue of a host's port costs no search through it.
#[derive(Debug, Clone)]
pub struct Discipline {
    /// By what is left of the flow, of equals by arrival.
    by_rest: BTreeMap<(u64, u64), Stream>,
    /// By stream, and within it by arrival, with what is left.
    by_stream: BTreeMap<(Stream, u64), (Packet, u64)>,
    /// Packets that ever came: the next one's number.
    arrived: u64,
    bytes: u64,
    limit: Level,
}

impl Discipline {
    /// Ready to run.
    pub fn new(settings: &Settings, _place: Place) -> Self {
        let limit = Level::new(Some(settings.limit));
        Discipline { by_rest: BTreeMap::new(), by_stream: BTreeMap::new(), arrived: 0, bytes: 0, limit }
    }

    /// Takes packet `number` of `stream` out.
    fn take(&mut self, stream: Stream, number: u64) -> Packet {
        let (packet, remaining) = self.by_stream.remove(&(stream, number)).expect("it is held");
        self.by_rest.remove(&(remaining, number));
        self.bytes -= u64::from(packet.size);
        packet
    }
}

impl QueueDisc for Discipline {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut QueueCx<'_>) {
        packet.at = cx.now;
        let mine = self.arrived;
        self.arrived += 1;
        self.bytes += u64::from(packet.size);
        self.by_rest.insert((cx.remaining, mine), stream(&packet));
        self.by_stream.insert((stream(&packet), mine), (packet, cx.remaining));
        while self.limit.is_below((self.by_rest.len() as u64, self.bytes)) {
            // s.4.2: the packet with most left is dropped, of several the last to come.
            let ((_, worst), stream) = self.by_rest.last_key_value().expect("one is held");
            let (worst, stream) = (*worst, *stream);
            let why = if worst == mine { DropWhy::Full } else { DropWhy::Evicted };
            let given_up = self.take(stream, worst);
            cx.drop(given_up, why);
            if worst == mine {
                break;
            }
        }
    }

    fn dequeue(&mut self, _cx: &mut QueueCx<'_>) -> Option<Packet> {
        let best = *self.by_rest.first_key_value()?.1;
        let ((_, earliest), _) = self.by_stream.range((best, 0)..).next()?;
        Some(self.take(best, *earliest))
    }

    fn reads_remaining(&self) -> bool {
        true
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.by_rest.len() as u64, bytes: self.bytes, ..Backlog::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::packet;
    use crate::params::Params;
    use crate::queue::tests::place;
    use shallows_units::Time;

    /// Arrivals as (flow, seq, remaining), then all departures, by flow and seq; and the drops.
    #[allow(clippy::type_complexity)]
    fn run(limit: Size, arrivals: &[(u32, u64, u64)]) -> (Vec<(u32, u64)>, Vec<(u32, u64, DropWhy)>) {
        let mut discipline = Discipline::new(&Settings { limit }, place());
        let mut dropped = vec![];
        for (flow, seq, remaining) in arrivals {
            let mut cx = QueueCx::new(Time::ZERO, 0, Time::ZERO, &mut dropped);
            cx.remaining = *remaining;
            discipline.enqueue(Packet { flow: *flow, seq: *seq, ..packet(1500) }, &mut cx);
        }
        let mut out = vec![];
        let mut unused = vec![];
        while let Some(p) = discipline.dequeue(&mut QueueCx::new(Time::ZERO, 0, Time::ZERO, &mut unused)) {
            out.push((p.flow, p.seq));
        }
        assert_eq!(discipline.backlog(), Backlog::default());
        (out, dropped.iter().map(|(p, why)| (p.flow, p.seq, *why)).collect())
    }

    #[test]
    fn least_left_goes_first_and_a_flow_keeps_its_order() {
        // Flow 1's second packet has least left of all, and its first leaves in its stead.
        let arrivals = [(0, 0, 5000), (1, 0, 6000), (1, 1, 4500), (2, 0, 4800)];
        let (out, dropped) = run(Settings::defaults().limit, &arrivals);
        assert_eq!(out, [(1, 0), (1, 1), (2, 0), (0, 0)]);
        assert_eq!(dropped, []);
    }

    #[test]
    fn most_left_is_dropped_whoever_comes() {
        let arrivals = [(0, 0, 9000), (1, 0, 3000), (2, 0, 5000), (3, 0, 9000), (1, 1, 1000)];
        let (out, dropped) = run(Size::Packets(2), &arrivals);
        assert_eq!(out, [(1, 0), (1, 1)]);
        use DropWhy::{Evicted, Full};
        assert_eq!(dropped, [(0, 0, Evicted), (3, 0, Full), (2, 0, Evicted)]);
    }

    #[test]
    fn of_equals_the_last_to_come_is_dropped() {
        let (out, dropped) = run(Size::Packets(1), &[(0, 0, 7), (1, 0, 7)]);
        assert_eq!((out, dropped), (vec![(0, 0)], vec![(1, 0, DropWhy::Full)]));
    }

    /// A search through all packets, as the paper's switch does it, gives the same departures and drops.
    #[test]
    fn a_search_through_all_packets_gives_the_same() {
        let mut state = 1u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for limit in [3, 10, 1000] {
            let arrivals: Vec<(u32, u64, u64)> =
                (0..500).map(|seq| (next(9) as u32, seq, next(12))).collect();
            let mut held: Vec<(u32, u64, u64)> = vec![];
            let (mut out, mut dropped) = (vec![], vec![]);
            for arrival in &arrivals {
                held.push(*arrival);
                if held.len() > limit {
                    let worst = (0..held.len()).max_by_key(|i| held[*i].2).expect("one is held");
                    let why = if worst + 1 == held.len() { DropWhy::Full } else { DropWhy::Evicted };
                    let (flow, seq, _) = held.remove(worst);
                    dropped.push((flow, seq, why));
                }
            }
            while let Some(best) = held.iter().min_by_key(|entry| entry.2).map(|entry| entry.0) {
                let (flow, seq, _) =
                    held.remove(held.iter().position(|entry| entry.0 == best).expect("held"));
                out.push((flow, seq));
            }
            assert_eq!(run(Size::Packets(limit as u64), &arrivals), (out, dropped));
        }
    }
}
