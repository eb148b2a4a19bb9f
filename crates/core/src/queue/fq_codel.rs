//! FQ-CoDel: flows hashed into queues, served by deficit round robin, new ones first, each under CoDel.
//!
//! Source: RFC 8290 s.4 and s.5; the law of each queue is `codel`'s.
//!
//! Left out: the Jenkins hash over addresses and ports (the flow's number and direction are hashed,
//! salted with a random number); Linux's limit on memory, its half of the bytes where the RFC drops half
//! of the packets on overflow, and its counting of these drops in the law's count.

use super::codel::{Law, Rules, under_codel};
use super::drop_tail::check_limit;
use super::{Backlog, DropWhy, InnerQueues, Place, QueueCx, QueueDisc};
use crate::packet::{Flags, Packet};
use crate::params::Faults;
use crate::queue::parts::gauge::Level;
use crate::queue::parts::held::Held;
use crate::queue::parts::sparse::Sparse;
use shallows_units::{Bytes, Size, Span};
use std::collections::VecDeque;

crate::choices! {
    /// Whose bytes CoDel compares with the largest packet before it drops.
    pub enum Left {
        /// Those of the packet's own queue.
        Queue = "queue",
        /// Those of all queues together.
        All = "all",
    }
}

under_codel! {
    /// FQ-CoDel. Flows are hashed into queues, served by deficit round robin with new ones first, each
    /// under CoDel.
    pub struct Settings {
        /// Most that all queues together may hold, in packets or bytes, or "none".
        limit: Option<Size> = "10240pkt", "[1pkt, ]", "RFC 8290 s.5.2.3";
        /// Number of queues.
        flows: u64 = 1024, "[1, 65536]", "RFC 8290 s.5.2.5; the range is Linux's";
        /// Bytes that a queue may send a round.
        quantum: Bytes = "1514B", "[1B, 1MB]", "RFC 8290 s.5.2.4";
        /// Most packets dropped at once from the fattest queue when the limit is exceeded.
        drop_batch: u64 = 64, "[1, ]", "RFC 8290 s.4.1";
    }
    law {
        /// Wait that may last, in each queue.
        target: "RFC 8290 s.5.2.2";
        /// How long the wait may stay above the target before the first drop.
        interval: "RFC 8290 s.5.2.1";
        ecn: "RFC 8290 s.5.2.6";
        ce_threshold: "RFC 8290 s.5.2.7";
        /// Largest packet: CoDel drops nothing when no more than this is left in a queue.
        max_packet;
    }
    rest {
        /// Where no more than `max_packet` must be left for CoDel to drop nothing: in the packet's own queue, or in all
        /// queues together, as in Linux. With many flows and few packets each, "all" drops far more: a queue with a
        /// single packet is not spared. Profile "linux" has "all".
        left_in: Left = "queue", "", "RFC 8289 s.5.5: `bytes()` of the queue; \"all\": Linux `fq_codel_dequeue`, which hands `sch->qstats.backlog` to `codel_dequeue`";
        /// Whether the packet being transmitted counts as held against the limit.
        count_in_service: bool = true, "", "a switch's buffer holds a packet until its last bit has left";
    }
    linux {
        "left_in": "all";
    }
}

impl Settings {
    /// Settings that contradict each other.
    pub fn check(&self, path: &str, faults: &mut Faults) {
        check_limit(self.limit, path, faults);
    }
}

/// One queue.
#[derive(Debug, Clone, Default)]
struct Flow {
    held: Held,
    law: Law,
    /// Bytes that it may still send in this round.
    credits: i64,
    /// It stands in one of the lists.
    active: bool,
}

/// The discipline at work.
#[derive(Debug, Clone)]
pub struct Discipline {
    limit: Level,
    count_in_service: bool,
    quantum: i64,
    drop_batch: u64,
    left_in: Left,
    rules: Rules,
    salt: u64,
    flows: Sparse<Flow>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: u64,
    bytes: u64,
}

impl Discipline {
    /// Ready to run.
    pub fn new(settings: &Settings, mut place: Place) -> Self {
        Discipline {
            limit: Level::new(settings.limit),
            count_in_service: settings.count_in_service,
            quantum: settings.quantum.as_u64() as i64,
            drop_batch: settings.drop_batch,
            left_in: settings.left_in,
            rules: settings.rules(),
            salt: place.random.below(u64::MAX),
            flows: Sparse::new(settings.flows as usize),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
        }
    }

    /// RFC 8290 s.4.1: a salted hash of the flow's identity, modulo the number of queues.
    fn queue_of(&self, packet: &Packet) -> u32 {
        let key = u64::from(packet.flow) << 1 | u64::from(packet.flags.any(Flags::REVERSE));
        // The finaliser of SplitMix64.
        let mut z = key.wrapping_add(self.salt).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % self.flows.len() as u64) as u32
    }

    fn is_beyond_limit(&self, serving: u64) -> bool {
        let serving = if self.count_in_service { serving } else { 0 };
        self.limit.is_below((self.packets + u64::from(serving > 0), self.bytes + serving))
    }

    /// RFC 8290 s.4.1: half of the fattest queue goes, from its head; `arrived` is where a packet has
    /// just come.
    fn relieve(&mut self, arrived: u32, cx: &mut QueueCx<'_>) {
        // The first of equals, as the RFC's reference does.
        let (mut fattest, mut most) = (0, 0);
        for (i, flow) in self.flows.iter() {
            if flow.held.bytes() > most {
                (fattest, most) = (i, flow.held.bytes());
            }
        }
        let flow = self.flows.at(fattest);
        let batch = (flow.held.packets() / 2).clamp(1, self.drop_batch);
        for _ in 0..batch {
            let Some(packet) = flow.held.pop() else { break };
            self.packets -= 1;
            self.bytes -= u64::from(packet.size);
            let itself = fattest == arrived as usize && flow.held.packets() == 0;
            cx.drop(packet, if itself { DropWhy::Full } else { DropWhy::Evicted });
        }
    }
}

impl QueueDisc for Discipline {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut QueueCx<'_>) {
        packet.at = cx.now;
        let number = self.queue_of(&packet);
        let flow = self.flows.at(number as usize);
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        flow.held.push(packet);
        if !flow.active {
            flow.active = true;
            flow.credits = self.quantum;
            self.new.push_back(number);
        }
        while self.packets > 0 && self.is_beyond_limit(cx.serving) {
            self.relieve(number, cx);
        }
    }

    /// RFC 8290 s.4.2.
    fn dequeue(&mut self, cx: &mut QueueCx<'_>) -> Option<Packet> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let flow = self.flows.at(number as usize);
            // s.3: "until the value of the byte credits counter becomes zero or less".
            if flow.credits <= 0 {
                flow.credits += self.quantum;
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            let before = flow.held.backlog();
            let beside = match self.left_in {
                Left::Queue => 0,
                Left::All => self.bytes - before.bytes,
            };
            let packet = flow.law.dequeue(&mut flow.held, beside, &self.rules, cx);
            self.packets -= before.packets - flow.held.packets();
            self.bytes -= before.bytes - flow.held.bytes();
            if let Some(packet) = packet {
                flow.credits -= i64::from(packet.size);
                return Some(packet);
            }
            list.pop_front();
            if from_new {
                // "This step is crucial to prevent starvation."
                self.old.push_back(number);
            } else {
                flow.active = false;
            }
        }
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets, bytes: self.bytes, ..Backlog::default() }
    }

    fn inner(&self) -> Option<&dyn InnerQueues> {
        Some(self)
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("new_queues", self.new.len() as f64);
        put("old_queues", self.old.len() as f64);
    }
}

impl InnerQueues for Discipline {
    fn count(&self) -> usize {
        self.flows.len()
    }

    fn name(&self, number: usize) -> String {
        number.to_string()
    }

    fn of(&self, packet: &Packet, _: u8) -> usize {
        self.queue_of(packet) as usize
    }

    fn len(&self, number: usize) -> u64 {
        self.flows.get(number).map_or(0, |flow| flow.held.packets())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::packet;
    use crate::params::Params;
    use crate::queue::tests::place;
    use shallows_units::Time;

    struct Bench {
        fq: Discipline,
        dropped: Vec<(Packet, DropWhy)>,
    }

    impl Bench {
        fn new(settings: &Settings) -> Self {
            Bench { fq: Discipline::new(settings, place()), dropped: vec![] }
        }

        fn put(&mut self, flow: u32, seq: u64, size: u16, at: Span) {
            let mut cx = QueueCx::new(Time::ZERO + at, 0, Time::ZERO, &mut self.dropped);
            let flags = Flags::default();
            self.fq.enqueue(Packet { flow, seq, flags, ..packet(size) }, &mut cx);
        }

        fn get(&mut self, at: Span) -> Option<(u32, u64)> {
            let mut cx = QueueCx::new(Time::ZERO + at, 0, Time::ZERO, &mut self.dropped);
            self.fq.dequeue(&mut cx).map(|packet| (packet.flow, packet.seq))
        }

        fn credits(&self, flow: u32) -> i64 {
            let number = self.fq.queue_of(&Packet { flow, ..packet(1) });
            self.fq.flows.get(number as usize).expect("a used queue").credits
        }
    }

    fn settings(quantum: u64) -> Settings {
        Settings { quantum: Bytes(quantum), ..Settings::defaults() }
    }

    #[test]
    fn credits_go_as_ns3s_test_has_them() {
        // ns-3 fq-codel-queue-disc, deficit: quantum 90, packets of 120 B; a second flow comes after the first
        // departure.
        let mut bench = Bench::new(&settings(90));
        for seq in 0..3 {
            bench.put(0, seq, 120, Span::ZERO);
        }
        assert_eq!(bench.credits(0), 90);
        assert_eq!(bench.get(Span::ZERO), Some((0, 0)));
        assert_eq!(bench.credits(0), -30);
        bench.put(1, 0, 120, Span::ZERO);
        bench.put(1, 1, 120, Span::ZERO);
        // Flow 0 is out of credits: it gets a quantum and goes to the old list, flow 1 sends.
        assert_eq!(bench.get(Span::ZERO), Some((1, 0)));
        assert_eq!((bench.credits(0), bench.credits(1)), (60, -30));
        assert_eq!((bench.fq.new.len(), bench.fq.old.len()), (1, 1));
        // Flow 1 likewise; then flow 0 is first of the old.
        assert_eq!(bench.get(Span::ZERO), Some((0, 1)));
        assert_eq!((bench.credits(0), bench.credits(1)), (-60, 60));
        assert_eq!((bench.fq.new.len(), bench.fq.old.len()), (0, 2));
        assert_eq!(bench.get(Span::ZERO), Some((1, 1)));
        assert_eq!((bench.credits(0), bench.credits(1)), (30, -60));
        assert_eq!(bench.get(Span::ZERO), Some((0, 2)));
        assert_eq!((bench.credits(0), bench.credits(1)), (-90, 30));
        // Empty: both leave the list.
        assert_eq!(bench.get(Span::ZERO), None);
        assert_eq!((bench.fq.new.len(), bench.fq.old.len()), (0, 0));
        assert_eq!(bench.fq.backlog(), Backlog::default());
    }

    #[test]
    fn flows_share_by_bytes_whatever_their_packets() {
        let mut bench = Bench::new(&settings(1500));
        for seq in 0..600 {
            bench.put(0, seq, 500, Span::ZERO);
            bench.put(1, seq, 1500, Span::ZERO);
        }
        let mut bytes = [0, 0];
        for _ in 0..400 {
            let (flow, _) = bench.get(Span::ZERO).unwrap();
            bytes[flow as usize] += [500, 1500][flow as usize];
        }
        assert_eq!(bytes, [150_000, 150_000]);
    }

    #[test]
    fn a_new_flow_goes_first_once() {
        let mut bench = Bench::new(&settings(1500));
        (0..10).for_each(|seq| bench.put(0, seq, 1500, Span::ZERO));
        (0..3).for_each(|seq| assert_eq!(bench.get(Span::ZERO), Some((0, seq))));
        bench.put(1, 0, 100, Span::ZERO);
        assert_eq!(bench.get(Span::ZERO), Some((1, 0)));
        // Empty, it moves to the end of the old list: a packet that comes now waits for flow 0.
        assert_eq!(bench.get(Span::ZERO), Some((0, 3)));
        bench.put(1, 1, 100, Span::ZERO);
        assert_eq!(bench.get(Span::ZERO), Some((1, 1)));
    }

    // req: RFC8290 s5.2.3 MUST limit
    #[test]
    fn overflow_takes_half_of_the_fattest_queue_from_its_head() {
        let mut bench = Bench::new(&Settings { limit: Some(Size::Packets(20)), ..settings(1514) });
        (0..2).for_each(|seq| bench.put(1, seq, 1500, Span::ZERO));
        (0..18).for_each(|seq| bench.put(0, seq, 1500, Span::ZERO));
        assert_eq!(bench.dropped.len(), 0);
        bench.put(2, 0, 1500, Span::ZERO);
        let dropped: Vec<_> = bench.dropped.iter().map(|(p, why)| (p.flow, p.seq, *why)).collect();
        assert_eq!(dropped, (0..9).map(|seq| (0, seq, DropWhy::Evicted)).collect::<Vec<_>>());
        // At most a batch; and the arriving packet itself where all others are alone in their queues.
        let limit = Some(Size::Packets(200));
        let mut bench = Bench::new(&Settings { limit, ..settings(1514) });
        (0..201).for_each(|seq| bench.put(0, seq, 1500, Span::ZERO));
        assert_eq!((bench.dropped.len(), bench.fq.backlog().packets), (64, 137));
        let mut bench = Bench::new(&Settings { limit: Some(Size::Packets(1)), ..settings(1514) });
        bench.put(0, 0, 100, Span::ZERO);
        bench.put(1, 0, 1500, Span::ZERO);
        assert_eq!((bench.dropped[0].0.flow, bench.dropped[0].1), (1, DropWhy::Full));
    }

    /// A switch's buffer holds the packet in service too: one byte beyond the limit, and the arriving packet goes, since it alone can; also where the
    /// packet in service alone is more than the limit.
    #[test]
    fn the_packet_in_service_counts_against_the_limit() {
        let bytes = |bytes| Size::Bytes(Bytes(bytes));
        let dropped = |limit, count_in_service| {
            let mut bench = Bench::new(&Settings { limit: Some(limit), count_in_service, ..settings(1514) });
            let mut cx = QueueCx::new(Time::ZERO, 1500, Time::ZERO, &mut bench.dropped);
            bench.fq.enqueue(packet(100), &mut cx);
            let held = bench.fq.backlog();
            assert_eq!(held.bytes, 100 * held.packets);
            let why: Vec<_> = bench.dropped.iter().map(|(_, why)| *why).collect();
            assert_eq!(why.len() as u64 + held.packets, 1);
            why
        };
        for (limit, drops) in [
            (bytes(1600), vec![]),
            (bytes(1599), vec![DropWhy::Full]),
            (bytes(1499), vec![DropWhy::Full]),
            (Size::Packets(2), vec![]),
            (Size::Packets(1), vec![DropWhy::Full]),
        ] {
            assert_eq!(dropped(limit, true), drops, "{limit:?}");
        }
        for (limit, drops) in
            [(bytes(100), vec![]), (bytes(99), vec![DropWhy::Full]), (Size::Packets(1), vec![])]
        {
            assert_eq!(dropped(limit, false), drops, "{limit:?}");
        }
    }

    /// RFC 8290 s.4.1: "hashed modulo the number of queues". A thousand flows, in both directions, use each of a few queues, and none beyond.
    #[test]
    fn flows_use_all_queues_and_none_beyond() {
        for flows in [1, 2, 7, 64] {
            let fq = Discipline::new(&Settings { flows, ..settings(1514) }, place());
            let mut used = std::collections::BTreeSet::new();
            for flow in 0..1000 {
                let [there, back] = [Flags::default(), Flags::REVERSE]
                    .map(|flags| fq.queue_of(&Packet { flow, flags, ..packet(1) }));
                used.extend([there, back]);
            }
            assert!(used.into_iter().eq(0..flows as u32), "{flows}");
        }
    }

    #[test]
    fn each_queue_has_a_law_of_its_own() {
        let mut bench = Bench::new(&settings(1514));
        (0..100).for_each(|seq| bench.put(0, seq, 1000, Span::ZERO));
        bench.get(Span::ms(10));
        bench.put(1, 0, 1000, Span::ms(110));
        assert_eq!(bench.get(Span::ms(110)), Some((0, 2)).filter(|_| bench.dropped.len() == 1));
        assert_eq!(bench.dropped[0].0.flow, 0);
    }

    // req: RFC8289 s4.4 SHOULD occupancy-of-all
    #[test]
    fn a_queues_last_packet_is_spared_unless_all_queues_count() {
        // 20 flows with two packets each wait for longer than target and interval.
        let drops = |left_in| {
            let mut bench = Bench::new(&Settings { left_in, ..settings(1500) });
            let queue = |flow| bench.fq.queue_of(&Packet { flow, ..packet(1) });
            let alone = |flow: &u32| (0..*flow).all(|other| queue(other) != queue(*flow));
            let flows: Vec<u32> = (0..100).filter(alone).take(20).collect();
            for round in 0..2 {
                flows.iter().for_each(|flow| bench.put(*flow, round, 1500, Span::ZERO));
            }
            (0..20).for_each(|_| assert!(bench.get(Span::ms(10)).is_some()));
            (0..20).for_each(|_| _ = bench.get(Span::ms(200)));
            (bench.dropped.len(), bench.fq.backlog())
        };
        // RFC 8289 s.5.5: after each packet its queue holds nothing, so none is dropped.
        assert_eq!(drops(Left::Queue), (0, Backlog::default()));
        // Linux asks the whole discipline: all are dropped but the last, after which an MTU's worth is left nowhere.
        assert_eq!(drops(Left::All), (18, Backlog::default()));
    }

    #[test]
    fn the_salt_moves_flows() {
        let with = |seed| {
            let random = crate::events::random::Stream::new(seed, "queue", 0);
            let fq = Discipline::new(&Settings::defaults(), Place { random, ..place() });
            (0..100).map(|flow| fq.queue_of(&Packet { flow, ..packet(1) })).collect::<Vec<_>>()
        };
        assert_eq!(with(1), with(1));
        assert_ne!(with(1), with(2));
        // 100 flows in 1024 queues: 95.3 of them are in use on average (RFC 8290 s.5.3: 9.1 % have company).
        let mut queues = with(1);
        queues.sort_unstable();
        queues.dedup();
        assert!((87..=100).contains(&queues.len()), "{}", queues.len());
    }
}
