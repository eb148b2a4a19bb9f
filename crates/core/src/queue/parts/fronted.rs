//! A discipline with its line in front, for a port that needs an event for each packet and so keeps no line itself.
//!
//! It serves as the port would (`net/port/line.rs`): packets of the line in order of arrival, and before all others.

use super::held::Held;
use crate::packet::Packet;
use crate::queue::{Backlog, InnerQueues, Line, QueueCx, QueueDisc};
use shallows_units::{Index, Rate, Time};

/// A line and the discipline behind it.
pub struct Fronted {
    line: Line,
    front: Held,
    behind: Box<dyn QueueDisc>,
}

impl Fronted {
    /// `disc`, with its line in front where it has one.
    pub fn around(disc: Box<dyn QueueDisc>) -> Box<dyn QueueDisc> {
        match disc.line() {
            Some(line) => Box::new(Fronted { line, front: Held::default(), behind: disc }),
            None => disc,
        }
    }
}

impl QueueDisc for Fronted {
    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx<'_>) {
        let standing = self.front.with_serving(cx.serving);
        if self.behind.backlog().packets == 0 && self.line.has_room(standing, packet.size) {
            return self.front.push(packet);
        }
        cx.line = (self.front.packets(), self.front.bytes());
        self.behind.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut QueueCx<'_>) -> Option<Packet> {
        self.front.pop().or_else(|| self.behind.dequeue(cx))
    }

    fn backlog(&self) -> Backlog {
        let behind = self.behind.backlog();
        let (packets, bytes) = (self.front.packets() + behind.packets, self.front.bytes() + behind.bytes);
        Backlog { packets, bytes, ..behind }
    }

    fn rate_changes(&mut self, rate: Rate) {
        self.behind.rate_changes(rate);
    }

    fn ready_at(&self) -> Option<Time> {
        self.behind.ready_at()
    }

    fn reads_remaining(&self) -> bool {
        self.behind.reads_remaining()
    }

    fn holds_from(&self, priority: u8, came_by: Index) -> bool {
        self.behind.holds_from(priority, came_by)
    }

    fn inner(&self) -> Option<&dyn InnerQueues> {
        self.behind.inner()
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.behind.observe(put);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::packet;
    use crate::params::Params;
    use crate::queue::fq;
    use crate::queue::parts::gauge::Level;
    use crate::queue::tests::place;
    use shallows_units::{Bytes, Size};

    /// A discipline with a line of two packets, which answers each question otherwise than by default.
    struct Spy {
        rate: Rate,
        held: Held,
        lines: Vec<(u64, u64)>,
    }

    impl InnerQueues for Spy {
        fn count(&self) -> usize {
            5
        }
        fn name(&self, number: usize) -> String {
            number.to_string()
        }
        fn of(&self, _: &Packet, _: u8) -> usize {
            0
        }
        fn len(&self, _: usize) -> u64 {
            0
        }
    }

    impl QueueDisc for Spy {
        fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx<'_>) {
            self.lines.push(cx.line);
            self.held.push(packet);
        }
        fn dequeue(&mut self, _cx: &mut QueueCx<'_>) -> Option<Packet> {
            self.held.pop()
        }
        fn backlog(&self) -> Backlog {
            self.held.backlog()
        }
        fn line(&self) -> Option<Line> {
            Some(Line { most: 2, limit: Level::NEVER })
        }
        fn rate_changes(&mut self, rate: Rate) {
            self.rate = rate;
        }
        fn ready_at(&self) -> Option<Time> {
            Some(Time::MAX)
        }
        fn reads_remaining(&self) -> bool {
            true
        }
        fn holds_from(&self, priority: u8, came_by: Index) -> bool {
            priority == 3 && came_by == Index::new(4)
        }
        fn inner(&self) -> Option<&dyn InnerQueues> {
            Some(self)
        }
        fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
            put("bps", self.rate.as_bps() as f64);
            self.lines.iter().for_each(|(packets, bytes)| put("line", (packets * 10_000 + bytes) as f64));
        }
    }

    /// The discipline behind a line answers for both, and learns what waits in the line at each packet that comes to it.
    #[test]
    fn a_line_asks_the_discipline_behind_it() {
        let spy = Spy { rate: Rate::gbps(1), held: Held::default(), lines: vec![] };
        let mut disc = Fronted::around(Box::new(spy));
        let mut dropped = vec![];
        let mut cx = QueueCx::new(Time::ZERO, 0, Time::ZERO, &mut dropped);
        for size in [100, 200, 300, 400] {
            disc.enqueue(packet(size), &mut cx);
        }
        let backlog = disc.backlog();
        assert_eq!((backlog.packets, backlog.bytes), (4, 1000));
        disc.rate_changes(Rate::gbps(2));
        let mut seen = vec![];
        disc.observe(&mut |name, value| seen.push((name, value)));
        assert_eq!(seen, [("bps", 2e9), ("line", 20_300.0), ("line", 20_300.0)]);
        assert_eq!((disc.ready_at(), disc.reads_remaining()), (Some(Time::MAX), true));
        assert!(disc.holds_from(3, Index::new(4)));
        assert!(!disc.holds_from(3, Index::new(3)) && !disc.holds_from(2, Index::new(4)));
        assert_eq!(disc.inner().map(InnerQueues::count), Some(5));
        // While packets wait behind it, an empty line takes none.
        let sizes = |disc: &mut dyn QueueDisc, cx: &mut QueueCx<'_>, count: usize| -> Vec<u16> {
            (0..count).filter_map(|_| disc.dequeue(cx)).map(|packet| packet.size).collect()
        };
        assert_eq!(sizes(&mut *disc, &mut cx, 3), [100, 200, 300]);
        disc.enqueue(packet(500), &mut cx);
        assert_eq!(sizes(&mut *disc, &mut cx, 9), [400, 500]);
    }

    /// As in `net/port/line.rs`, by hand: of 11 packets of one flow one is transmitted, eight wait in line and two behind it, where the
    /// other flow's two have to wait too; these four take turns. A limit counts all.
    #[test]
    fn a_line_goes_first_and_opens_when_nothing_waits_behind_it() {
        let settings = fq::Settings {
            initial_quantum: Bytes(1500),
            quantum: Bytes(1500),
            limit: Some(Size::Packets(13)),
            ..fq::Settings::defaults()
        };
        let mut disc = Fronted::around(Box::new(fq::Discipline::new(&settings, place())));
        let mut dropped = vec![];
        let (mut serving, mut taken) = (0, vec![]);
        for flow in [[1; 11].as_slice(), &[2; 3]].concat() {
            let mut cx = QueueCx::new(Time::ZERO, serving, Time::ZERO, &mut dropped);
            disc.enqueue(Packet { flow, flags: crate::packet::Flags::default(), ..packet(1500) }, &mut cx);
            if serving == 0 {
                taken.extend(disc.dequeue(&mut cx).map(|packet| packet.flow));
                serving = 1500;
            }
        }
        assert_eq!((dropped.len(), disc.backlog().packets, disc.backlog().bytes), (1, 12, 12 * 1500));
        let mut drops = vec![];
        let mut cx = QueueCx::new(Time::ZERO, 0, Time::ZERO, &mut drops);
        taken.extend(std::iter::from_fn(|| disc.dequeue(&mut cx)).map(|packet| packet.flow));
        assert_eq!(taken, [[1; 9].as_slice(), &[1, 2, 1, 2]].concat());
    }
}
