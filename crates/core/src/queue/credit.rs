//! Credit: a port meters credits so that the packets that they ask for fill the link of the way there, and drops the others.
//!
//! Source: Cho, Jang and Han 2017, "Credit-Scheduled Delay-Bounded Congestion Control for Datacenters" (SIGCOMM; ExpressPass) s.3.1, with the
//! constants of the authors' simulator (github.com/kaist-ina/ns2-xpass, `queue/xpass-drop-tail.cc`). Credits wait in a queue of their
//! own, of eight credits. They leave by a token bucket, ahead of data: a credit and a full packet have the link's time together, so that
//! credits take 84 of 84 + 1538 bytes, 5.2 per cent, and data of the way there at most the rest. All else waits in order of arrival.
//!
//! Left out: several credit queues in turn.

use super::drop_tail::check_limit;
use super::{Backlog, DropWhy, Place, QueueCx, QueueDisc};
use crate::packet::Packet;
use crate::params::{Code, Faults};
use crate::queue::parts::gauge::Level;
use crate::queue::parts::held::Held;
use shallows_units::{Bytes, Rate, Size, Span, Time};

crate::params! {
    /// Credit (ExpressPass). Credits are metered so that the data that they ask for fill the link, and few of them wait. All other
    /// packets have a queue beside them.
    pub struct Settings {
        /// Most data that wait, in bytes or packets, or "none".
        limit: Option<Size> = "250pkt", "[1pkt, ]", "the authors' simulator at 10 Gb/s: 250 packets of 1538 bytes";
        /// Most credits that wait.
        credit_limit: Size = "8pkt", "[1pkt, ]", "Cho 2017 s.3.1: eight credits";
        /// Credits that may leave in a row after a time without any.
        credit_burst: u64 = 2, "[1, 1000]", "the authors' simulator: maxCreditBurst, 84 * 2 bytes";
        /// Bytes on the wire of the packet that a credit asks for.
        full: Bytes = "1538B", "[1B, 9300B]", "Cho 2017 s.3.1: the largest Ethernet frame, with preamble and gap";
    }
}

impl Settings {
    /// Settings that contradict each other.
    pub fn check(&self, path: &str, faults: &mut Faults) {
        check_limit(self.limit, path, faults);
        if self.credit_limit == Size::Bytes(Bytes(0)) {
            faults.add(&format!("{path}.credit_limit"), Code::OutOfRange.rule("must be > 0B"), &"0B".into());
        }
    }
}

/// The discipline at work.
#[derive(Debug, Clone)]
pub struct Discipline {
    data: Held,
    credits: Held,
    limit: Level,
    credit_limit: Level,
    full: u64,
    rate: Rate,
    /// Credits that the bucket holds beside the next one.
    more: u64,
    /// When the bucket would be empty of debts: the generic cell rate algorithm's theoretical arrival time.
    due: Time,
}

impl Discipline {
    /// Ready to run.
    pub fn new(settings: &Settings, place: Place) -> Self {
        Discipline {
            data: Held::default(),
            credits: Held::default(),
            limit: Level::new(settings.limit),
            credit_limit: Level::new(Some(settings.credit_limit)),
            full: settings.full.as_u64(),
            rate: place.rate,
            more: settings.credit_burst - 1,
            due: Time::ZERO,
        }
    }

    /// The link's time of a credit of `size` bytes and of the packet that it asks for.
    fn apart(&self, size: u16) -> Span {
        self.rate.transmit(Bytes(self.full + u64::from(size)))
    }

    /// When the first waiting credit may leave.
    fn credit_at(&self) -> Option<Time> {
        let size = self.credits.newest()?.size; // all have one size
        let early = self.apart(size) * self.more;
        Some(Time::ZERO + (self.due - Time::ZERO).saturating_sub(early))
    }
}

impl QueueDisc for Discipline {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut QueueCx<'_>) {
        packet.at = cx.now;
        let credit = packet.is_credit();
        let (held, limit) =
            if credit { (&mut self.credits, self.credit_limit) } else { (&mut self.data, self.limit) };
        if limit.is_below((held.packets() + 1, held.bytes() + u64::from(packet.size))) {
            return cx.drop(packet, DropWhy::Full);
        }
        held.push(packet);
    }

    fn dequeue(&mut self, cx: &mut QueueCx<'_>) -> Option<Packet> {
        if self.credit_at().is_some_and(|at| at <= cx.now) {
            let credit = self.credits.pop()?;
            self.due = self.due.max(cx.now) + self.apart(credit.size);
            return Some(credit);
        }
        self.data.pop()
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.data.packets() + self.credits.packets(),
            bytes: self.data.bytes() + self.credits.bytes(),
            ..Backlog::default()
        }
    }

    fn rate_changes(&mut self, rate: Rate) {
        self.rate = rate;
    }

    fn ready_at(&self) -> Option<Time> {
        self.credit_at()
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("data_packets", self.data.packets() as f64);
        put("credit_packets", self.credits.packets() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flags;
    use crate::packet::tests::packet;
    use crate::params::Params;
    use crate::queue::tests::place;

    fn credit(seq: u64) -> Packet {
        Packet { seq, flags: Flags::CREDIT, ..packet(84) }
    }

    fn ns(ns: u64) -> Time {
        Time::ZERO + Span::ns(ns)
    }

    struct Bench(Discipline, Vec<(Packet, DropWhy)>);

    impl Bench {
        fn new(change: impl FnOnce(&mut Settings)) -> Self {
            let mut settings = Settings::defaults();
            change(&mut settings);
            Bench(Discipline::new(&settings, place()), vec![])
        }

        fn put(&mut self, packet: Packet, now: Time) {
            self.0.enqueue(packet, &mut QueueCx::new(now, 0, Time::ZERO, &mut self.1));
        }

        /// The packet that leaves at `now`, as (seq, size).
        fn take(&mut self, now: Time) -> Option<(u64, u16)> {
            let taken = self.0.dequeue(&mut QueueCx::new(now, 0, Time::ZERO, &mut self.1));
            taken.map(|packet| (packet.seq, packet.size))
        }
    }

    /// By hand at 10 Gb/s: 1622 bytes take 1297.6 ns. Of ten credits at once eight stay and two are dropped; two leave at once, and then one each
    /// 1297.6 ns.
    #[test]
    fn credits_leave_a_packets_time_apart_and_few_wait() {
        let mut bench = Bench::new(|_| {});
        (0..10).for_each(|seq| bench.put(credit(seq), ns(5000)));
        let gone: Vec<_> = bench.1.iter().map(|(packet, why)| (packet.seq, *why)).collect();
        assert_eq!(gone, [(8, DropWhy::Full), (9, DropWhy::Full)]);
        assert_eq!(
            (bench.take(ns(5000)), bench.take(ns(5000)), bench.take(ns(5000))),
            (Some((0, 84)), Some((1, 84)), None)
        );
        for seq in 2..8 {
            let at = Time::ps(5_000_000 + 1_297_600 * (seq - 1));
            assert_eq!(bench.0.ready_at(), Some(at));
            assert_eq!((bench.take(Time::ps(at.as_ps() - 1)), bench.take(at)), (None, Some((seq, 84))));
        }
        assert_eq!((bench.0.ready_at(), bench.0.backlog()), (None, Backlog::default()));
    }

    /// A credit that may leave goes before data, and data before one that may not.
    #[test]
    fn a_credit_whose_time_has_come_goes_first() {
        let mut bench = Bench::new(|s| s.credit_burst = 1);
        (0..2).for_each(|seq| bench.put(credit(seq), ns(0)));
        (10..13).for_each(|seq| bench.put(Packet { seq, ..packet(1538) }, ns(0)));
        let times = [0, 0, 0, 1298];
        let left: Vec<_> = times.iter().map(|at| bench.take(ns(*at)).map(|(seq, _)| seq)).collect();
        assert_eq!(left, [Some(0), Some(10), Some(11), Some(1)]);
    }

    /// Credits and data have their own limits; the answer of a stop is no credit.
    #[test]
    fn data_have_a_limit_of_their_own() {
        let mut bench = Bench::new(|s| s.limit = Some(Size::Packets(2)));
        (0..8).for_each(|seq| bench.put(credit(seq), ns(0)));
        (10..12).for_each(|seq| bench.put(Packet { seq, ..packet(1538) }, ns(0)));
        bench.put(Packet { seq: 12, flags: Flags::REVERSE.with(Flags::ACK), ..packet(84) }, ns(0));
        assert_eq!(bench.1.iter().map(|(packet, _)| packet.seq).collect::<Vec<_>>(), [12]);
    }
}
