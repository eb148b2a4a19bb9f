//! Priorities at one port: a lane for each, with a discipline of its own.
//!
//! Source: IEEE 802.1Q-2018 s.8.6.8.1 (strict priority) and s.8.6.8.3 (enhanced transmission selection). Lanes without a
//! quantum are strict: the highest number goes first, before all lanes with one. Those share the rest by deficit round
//! robin (Shreedhar and Varghese 1996, IEEE/ACM Trans. Networking 4(3)), in the form of Linux sch_fq_codel: a lane sends
//! while its credit is positive, so nobody looks at a packet before its turn. A paused lane keeps its credit and waits.
//!
//! Left out: credit-based shaping (s.8.6.8.2), gates (s.8.6.8.4), and a line in front of a lane's `fq`.

use super::fifo::Fifo;
use crate::packet::{Backlog, Packet, Verdict};
use crate::queue::{Admission, AnyAdmission, Built, InnerQueues, Passing, QueueCx, QueueDisc};
use shallows_units::{Bytes, Index, Rate, Time};
use std::collections::VecDeque;

/// Numbers of priorities: three bits of a VLAN tag (IEEE 802.1Q-2018 s.6.9.3).
pub const PRIORITIES: usize = 8;

/// A lane of a port that is to be built.
pub struct LaneOf {
    /// Its number.
    pub priority: u8,
    /// Bytes of a round, or strict.
    pub quantum: Option<u64>,
    /// Its packets are never dropped, and each remembers by which port it came.
    pub lossless: bool,
    /// Its discipline.
    pub queue: Built,
}

struct Lane {
    priority: u8,
    quantum: Option<i64>,
    credit: i64,
    disc: Box<dyn QueueDisc>,
    /// The ports by which a lossless lane's packets came, in order.
    came_by: Option<VecDeque<Index>>,
    /// When its last transmission ends.
    free_at: Time,
    /// Its contents when it was last asked.
    held: Backlog,
}

/// The lanes of a port.
pub struct Lanes {
    /// Strict ones first, the highest number first.
    lanes: Vec<Lane>,
    /// By priority: its lane.
    places: [usize; PRIORITIES],
    /// How many are strict.
    strict: usize,
    /// The contents of all lanes, kept since the port asks at each packet.
    held: Backlog,
    /// Lanes that hold packets, a bit each by place.
    waiting: u8,
    /// Whose turn it is among the others.
    turn: usize,
    /// The lane of the packet in transmission.
    sending: usize,
    rate: Rate,
}

/// The discipline of a lossless lane: it marks, and drops nothing.
struct Lossless(AnyAdmission);

impl Admission for Lossless {
    fn admit(&mut self, packet: &Packet, backlog: Backlog, now: Time) -> Verdict {
        match self.0.admit(packet, backlog, now) {
            Verdict::Drop(_) => Verdict::Pass,
            verdict => verdict,
        }
    }
    fn rate_changes(&mut self, rate: Rate) {
        self.0.rate_changes(rate);
    }
    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.0.observe(put);
    }
}

impl Lanes {
    /// Empty, before a transmitter of `rate`.
    pub fn new(all: Vec<LaneOf>, rate: Rate) -> Self {
        let lane = |of: LaneOf| Lane {
            priority: of.priority,
            quantum: of.quantum.map(|bytes| bytes as i64),
            credit: 0,
            disc: match of.queue {
                Built::Arrival(admission) if of.lossless => Box::new(Fifo::new(Lossless(admission), rate)),
                Built::Arrival(admission) => Box::new(Fifo::new(admission, rate)),
                Built::Departure(disc) => disc,
            },
            came_by: of.lossless.then(VecDeque::new),
            free_at: Time::ZERO,
            held: Backlog::default(),
        };
        let mut lanes: Vec<Lane> = all.into_iter().map(lane).collect();
        lanes.sort_by_key(|lane| (lane.quantum.is_some(), std::cmp::Reverse(lane.priority)));
        let mut places = [usize::MAX; PRIORITIES];
        lanes.iter().enumerate().for_each(|(i, lane)| places[usize::from(lane.priority)] = i);
        let strict = lanes.iter().filter(|lane| lane.quantum.is_none()).count();
        let held = Backlog::default();
        Lanes { lanes, places, strict, held, waiting: 0, turn: strict, sending: 0, rate }
    }

    /// Counts what lane number `number` holds, whose discipline has just worked.
    fn count(&mut self, number: usize) {
        let lane = &mut self.lanes[number];
        let (before, now) = (lane.held, lane.disc.backlog());
        lane.held = now;
        self.held.packets = self.held.packets - before.packets + now.packets;
        self.held.bytes = self.held.bytes - before.bytes + now.bytes;
        self.waiting = self.waiting & !(1 << number) | u8::from(now.packets > 0) << number;
    }

    /// The lanes that a pause of these priorities leaves open, a bit each by place.
    fn open(&self, paused: u8) -> u8 {
        let open = |bits, (i, lane): (usize, &Lane)| bits | u8::from(paused >> lane.priority & 1 == 0) << i;
        if paused == 0 { u8::MAX } else { self.lanes.iter().enumerate().fold(0, open) }
    }

    /// Takes a packet from lane number `number`.
    fn take(&mut self, number: usize, cx: &mut QueueCx<'_>) -> Option<Packet> {
        let lane = &mut self.lanes[number];
        let free_at = std::mem::replace(&mut cx.free_at, lane.free_at);
        let packet = lane.disc.dequeue(cx);
        cx.free_at = free_at;
        self.count(number);
        let packet = packet?;
        let lane = &mut self.lanes[number];
        lane.free_at = cx.now + self.rate.transmit(Bytes(u64::from(packet.size)));
        cx.priority = lane.priority;
        cx.came_by = lane.came_by.as_mut().and_then(VecDeque::pop_front).unwrap_or(Index::NONE);
        self.sending = number;
        Some(packet)
    }

    /// Takes a packet from the lanes that share by quanta; `waiting` are those that may send, a bit each by place.
    fn take_turns(&mut self, mut waiting: u8, cx: &mut QueueCx<'_>) -> Option<Packet> {
        while waiting != 0 {
            let number = self.turn;
            let lane = &mut self.lanes[number];
            let bit = 1 << number;
            if waiting & bit != 0 && lane.credit > 0 {
                if let Some(packet) = self.take(number, cx) {
                    self.lanes[number].credit -= i64::from(packet.size);
                    return Some(packet);
                }
                waiting &= !bit; // its discipline dropped all that it had
                continue;
            }
            if waiting & bit != 0 {
                lane.credit += lane.quantum.unwrap_or(0);
            } else if lane.held.packets == 0 {
                lane.credit = lane.credit.min(0); // an empty lane saves nothing up (s.IV of the paper)
            }
            self.turn = if number + 1 < self.lanes.len() { number + 1 } else { self.strict };
        }
        None
    }
}

impl QueueDisc for Lanes {
    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx<'_>) {
        let number = self.places[usize::from(cx.priority)];
        let lane = &mut self.lanes[number];
        let (serving, free_at) = (cx.serving, cx.free_at);
        cx.serving = if number == self.sending { serving } else { 0 };
        cx.free_at = lane.free_at;
        lane.disc.enqueue(packet, cx);
        if let Some(came_by) = &mut lane.came_by {
            came_by.push_back(cx.came_by);
        }
        (cx.serving, cx.free_at) = (serving, free_at);
        self.count(number);
    }

    fn dequeue(&mut self, cx: &mut QueueCx<'_>) -> Option<Packet> {
        let mut waiting = self.waiting & self.open(cx.paused);
        while waiting != 0 {
            let number = waiting.trailing_zeros() as usize;
            if number >= self.strict {
                return self.take_turns(waiting, cx);
            }
            if let Some(packet) = self.take(number, cx) {
                return Some(packet);
            }
            waiting &= waiting - 1; // its discipline dropped all that it had
        }
        None
    }

    fn pass(&mut self, packet: &mut Packet, cx: &mut QueueCx<'_>) -> Passing {
        let number = self.places[usize::from(cx.priority)];
        // Lanes that share by quanta keep accounts of turns.
        if self.waiting != 0 || cx.paused >> cx.priority & 1 != 0 || number >= self.strict {
            return Passing::No;
        }
        let lane = &mut self.lanes[number];
        let free_at = std::mem::replace(&mut cx.free_at, lane.free_at);
        let passing = lane.disc.pass(packet, cx);
        cx.free_at = free_at;
        if passing == Passing::Sent {
            lane.free_at = cx.now + self.rate.transmit(Bytes(u64::from(packet.size)));
            cx.came_by = if lane.came_by.is_some() { cx.came_by } else { Index::NONE };
            self.sending = number;
        }
        passing
    }

    fn backlog(&self) -> Backlog {
        self.held
    }

    fn rests(&self) -> bool {
        self.waiting == 0
    }

    fn rate_changes(&mut self, rate: Rate) {
        self.rate = rate;
        self.lanes.iter_mut().for_each(|lane| lane.disc.rate_changes(rate));
    }

    fn reads_remaining(&self) -> bool {
        self.lanes.iter().any(|lane| lane.disc.reads_remaining())
    }

    fn inner(&self) -> Option<&dyn InnerQueues> {
        Some(self)
    }

    fn has_lanes(&self) -> bool {
        true
    }

    fn held_of(&self, priority: u8) -> u64 {
        self.lanes.get(self.places[usize::from(priority)]).map_or(0, |lane| lane.held.bytes)
    }

    fn holds_from(&self, priority: u8, came_by: Index) -> bool {
        let lane = &self.lanes[self.places[usize::from(priority)]];
        lane.came_by.as_ref().is_some_and(|ports| ports.contains(&came_by))
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.lanes.iter().for_each(|lane| lane.disc.observe(put));
    }
}

impl InnerQueues for Lanes {
    fn count(&self) -> usize {
        PRIORITIES
    }

    fn name(&self, number: usize) -> String {
        number.to_string()
    }

    fn of(&self, _: &Packet, priority: u8) -> usize {
        usize::from(priority)
    }

    fn len(&self, number: usize) -> u64 {
        self.lanes[self.places[number]].held.packets
    }
}

#[cfg(test)]
#[path = "lanes/tests.rs"]
mod tests;
