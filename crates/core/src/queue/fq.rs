//! FQ: a queue for each flow, served by deficit round robin, new flows first. A host's network card under Linux.
//!
//! Source: Linux 7.2 net/sched/sch_fq.c (`fq_fastpath_check`, `fq_enqueue`, `fq_dequeue`, `fq_gc`); Shreedhar and
//! Varghese 1996, "Efficient Fair Queuing Using Deficit Round-Robin". No two flows share a queue, unlike under FQ-CoDel.
//! A card that is almost idle serves in order of arrival: while no flow's queue holds a packet, up to `fast_path` packets
//! wait in one line, which goes first and costs no credit. The port keeps that line (`net/port/line.rs`), or a part of the discipline
//! where each departure has an event (`parts/fronted.rs`).
//! A flow that comes back keeps its credit, at least a quantum after `refill_delay`; one that was away for three seconds
//! is forgotten.
//! Linux's limits are far above the packets that TCP small queues (`transport.small_queues`) leave here; both are "none".
//!
//! Left out: pacing, which is the sender's here; priority bands and the horizon; `ce_threshold`. A frame's 14 bytes of
//! Ethernet, which Linux charges too, are not part of a packet here.

use super::drop_tail::check_limit;
use super::{Backlog, DropWhy, Line, Place, QueueCx, QueueDisc};
use crate::packet::{Flags, Packet};
use crate::params::Faults;
use crate::queue::parts::gauge::Level;
use crate::queue::parts::held::Held;
use shallows_units::{Bytes, Size, Span, Time};
use std::collections::{BTreeMap, VecDeque};

crate::params! {
    /// FQ. A queue for each flow, served by deficit round robin with new flows first: a Linux host's network card.
    pub struct Settings {
        /// Most that all queues together may hold, in packets or bytes, or "none".
        limit: Option<Size> = "none", "[1pkt, ]", "Linux: 10000 packets, which TCP small queues keep hosts from reaching";
        /// Most packets of one flow, or "none".
        flow_limit: Option<u64> = "none", "[1, ]", "Linux: 100, which TCP small queues keep a socket from reaching";
        /// Bytes that a flow may send a round.
        quantum: Bytes = "3028B", "[1B, 1MB]", "Linux fq_init: two frames of 1514 bytes";
        /// Bytes that a flow may send when it is new.
        initial_quantum: Bytes = "15140B", "[1B, 1MB]", "Linux fq_init: ten frames, an initial window";
        /// Most packets that wait in order of arrival while no flow's queue holds one, or 0.
        fast_path: u64 = 8, "", "Linux fq_fastpath_check: internal.qlen";
        /// Silence after which a flow that comes back has at least a quantum again.
        refill_delay: Span = "40ms", "", "Linux fq_init: flow_refill_delay";
    }
}

/// Linux `FQ_GC_AGE`.
const FORGET_AFTER: Span = Span::s(3);

impl Settings {
    /// Settings that contradict each other.
    pub fn check(&self, path: &str, faults: &mut Faults) {
        check_limit(self.limit, path, faults);
    }
}

/// One flow, in one direction.
#[derive(Debug)]
struct Flow {
    held: Held,
    /// Bytes that it may still send in this round.
    credit: i64,
    /// When it was detached; `None` while it stands in a list.
    idle_since: Option<Time>,
}

/// The discipline at work.
#[derive(Debug)]
pub struct Discipline {
    limit: Level,
    flow_limit: u64,
    quantum: i64,
    initial_quantum: i64,
    refill_delay: Span,
    fast_path: u64,
    flows: BTreeMap<u64, Flow>,
    new: VecDeque<u64>,
    old: VecDeque<u64>,
    /// Flows that were detached, and when, in that order; some have come back since.
    detached: VecDeque<(Time, u64)>,
    packets: u64,
    bytes: u64,
}

fn key(packet: &Packet) -> u64 {
    u64::from(packet.flow) << 1 | u64::from(packet.flags.any(Flags::REVERSE))
}

impl Discipline {
    /// Ready to run.
    pub fn new(settings: &Settings, _place: Place) -> Self {
        Discipline {
            limit: Level::new(settings.limit),
            flow_limit: settings.flow_limit.unwrap_or(u64::MAX),
            quantum: settings.quantum.as_u64() as i64,
            initial_quantum: settings.initial_quantum.as_u64() as i64,
            refill_delay: settings.refill_delay,
            fast_path: settings.fast_path,
            flows: BTreeMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            detached: VecDeque::new(),
            packets: 0,
            bytes: 0,
        }
    }

    /// fq_gc: a flow that has been away for long is forgotten.
    fn forget(&mut self, now: Time) {
        while let Some((since, key)) =
            self.detached.front().copied().filter(|(at, _)| now - *at > FORGET_AFTER)
        {
            self.detached.pop_front();
            if self.flows.get(&key).is_some_and(|flow| flow.idle_since == Some(since)) {
                self.flows.remove(&key);
            }
        }
    }

    /// Whether a packet of `size` bytes is too many.
    fn is_full(&self, size: u16, cx: &QueueCx<'_>) -> bool {
        let packets = self.packets + cx.line.0 + u64::from(cx.serving > 0) + 1;
        self.limit.is_below((packets, self.bytes + cx.line.1 + cx.serving + u64::from(size)))
    }
}

impl QueueDisc for Discipline {
    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx<'_>) {
        self.forget(cx.now);
        if self.is_full(packet.size, cx) {
            return cx.drop(packet, DropWhy::Full);
        }
        let key = key(&packet);
        let fresh = || Flow { held: Held::default(), credit: self.initial_quantum, idle_since: Some(cx.now) };
        let flow = self.flows.entry(key).or_insert_with(fresh);
        if flow.held.packets() >= self.flow_limit {
            return cx.drop(packet, DropWhy::Full);
        }
        if let Some(since) = flow.idle_since.take() {
            if cx.now - since > self.refill_delay {
                flow.credit = flow.credit.max(self.quantum);
            }
            self.new.push_back(key);
        }
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        flow.held.push(packet);
    }

    fn dequeue(&mut self, cx: &mut QueueCx<'_>) -> Option<Packet> {
        if self.packets == 0 {
            return None; // fq_dequeue: flows that have sent all stay in their lists
        }
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let key = *list.front()?;
            let flow = self.flows.get_mut(&key).expect("a listed flow is known");
            if flow.credit <= 0 {
                flow.credit += self.quantum;
                list.pop_front();
                self.old.push_back(key);
                continue;
            }
            if let Some(packet) = flow.held.pop() {
                flow.credit -= i64::from(packet.size);
                self.packets -= 1;
                self.bytes -= u64::from(packet.size);
                return Some(packet);
            }
            list.pop_front();
            if from_new && !self.old.is_empty() {
                self.old.push_back(key); // a pass through the old flows, so that new ones do not starve them
            } else {
                flow.idle_since = Some(cx.now);
                self.detached.push_back((cx.now, key));
            }
        }
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets, bytes: self.bytes, ..Backlog::default() }
    }

    /// fq_fastpath_check: no flow's queue holds a packet, and the common line is short.
    fn line(&self) -> Option<Line> {
        (self.fast_path > 0).then_some(Line { most: self.fast_path, limit: self.limit })
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("new_flows", self.new.len() as f64);
        put("old_flows", self.old.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::packet;
    use crate::params::Params;
    use crate::queue::test_bench::conforms;
    use crate::queue::tests::place;

    fn put(fq: &mut Discipline, flow: u32, packets: u64, size: u16, at: Time) -> usize {
        let mut dropped = vec![];
        for _ in 0..packets {
            let mut cx = QueueCx::new(at, 0, at, &mut dropped);
            fq.enqueue(Packet { flow, flags: Flags::default(), ..packet(size) }, &mut cx);
        }
        dropped.len()
    }

    /// The flows of the next packets, all taken at `at`.
    fn take(fq: &mut Discipline, packets: usize, at: Time) -> Vec<u32> {
        let mut dropped = vec![];
        (0..packets)
            .map_while(|_| fq.dequeue(&mut QueueCx::new(at, 0, at, &mut dropped)).map(|p| p.flow))
            .collect()
    }

    fn fq(settings: &Settings) -> Discipline {
        Discipline::new(settings, place())
    }

    /// By hand: 3 new packets each (quantum 3, first 3: one packet of 1000 at a time beyond); then round by round.
    #[test]
    fn flows_take_turns_by_bytes_whatever_their_packets() {
        let settings =
            Settings { quantum: Bytes(3000), initial_quantum: Bytes(3000), ..Settings::defaults() };
        let mut fq = fq(&settings);
        put(&mut fq, 1, 100, 1000, Time::ZERO);
        put(&mut fq, 2, 100, 500, Time::ZERO);
        let order = take(&mut fq, 18, Time::ZERO);
        assert_eq!(order, [[1; 3].as_slice(), &[2; 6], &[1; 3], &[2; 6]].concat());
    }

    /// A flow that has waited for nothing overtakes a backlog of any length: by its initial quantum of ten frames.
    #[test]
    fn a_new_flow_goes_before_a_backlog() {
        let mut fq = fq(&Settings::defaults());
        put(&mut fq, 1, 1000, 1514, Time::ZERO);
        assert_eq!(take(&mut fq, 20, Time::ZERO), [1; 20]);
        put(&mut fq, 2, 13, 1514, Time::ZERO);
        let order = take(&mut fq, 17, Time::ZERO);
        // Ten frames of the new one. The other's credit was spent, so that its round is over, and the first two frames of
        // the next are the new one's again; then two a round each.
        assert_eq!(order, [[2; 12].as_slice(), &[1, 1, 2, 1, 1]].concat());
    }

    /// A flow that returns within 40 ms has the credit that it left with, later a quantum at least, after 3 s all is new. A
    /// flow leaves its list when its turn comes while others have packets (fq_dequeue): `pass` gives two to another.
    #[test]
    fn credit_outlives_a_short_silence() {
        let settings =
            Settings { initial_quantum: Bytes(1000), quantum: Bytes(1000), ..Settings::defaults() };
        let at = |ms| Time::ZERO + Span::ms(ms);
        let credit = |fq: &Discipline| fq.flows[&2].credit;
        let pass = |fq: &mut Discipline, ms| {
            put(fq, 2, 2, 1000, at(ms));
            assert_eq!(take(fq, 3, at(ms)), [2, 2]);
            assert_eq!(fq.flows[&2].idle_since, Some(at(ms)));
        };
        let mut fq = fq(&settings);
        put(&mut fq, 1, 1, 1000, at(0));
        put(&mut fq, 2, 1, 1000, at(0));
        assert_eq!(take(&mut fq, 2, at(0)), [1, 2]);
        pass(&mut fq, 0);
        assert_eq!(credit(&fq), 1000, "spent, and refilled in its second round, before it was found empty");
        put(&mut fq, 1, 1, 600, at(10));
        assert_eq!(take(&mut fq, 1, at(10)), [1]);
        pass(&mut fq, 10);
        assert_eq!(credit(&fq), 400);
        put(&mut fq, 1, 1, 100, at(20));
        assert_eq!(credit(&fq), 400);
        take(&mut fq, 1, at(20));
        pass(&mut fq, 20);
        put(&mut fq, 1, 1, 100, at(61));
        assert_eq!(credit(&fq), 1000);
        take(&mut fq, 1, at(61));
        pass(&mut fq, 61);
        put(&mut fq, 9, 1, 100, at(4000));
        assert!(!fq.flows.contains_key(&2), "the silent one is forgotten");
    }

    #[test]
    fn limits_are_of_a_flow_and_of_all() {
        let mut one = fq(&Settings { flow_limit: Some(5), ..Settings::defaults() });
        assert_eq!([put(&mut one, 1, 8, 1000, Time::ZERO), put(&mut one, 2, 5, 1000, Time::ZERO)], [3, 0]);
        let mut all = fq(&Settings { limit: Some(Size::Bytes(Bytes(5000))), ..Settings::defaults() });
        assert_eq!(put(&mut all, 1, 4, 1000, Time::ZERO) + put(&mut all, 2, 4, 1000, Time::ZERO), 3);
    }

    #[test]
    fn it_keeps_the_rules() {
        let settings = Settings { limit: Some(Size::Packets(100)), ..Settings::defaults() };
        conforms(|_| Box::new(fq(&settings)), 100);
    }
}
