//! One port for the tests of a discipline alone: arrivals as written, service at the port's rate, and
//! the rules that every discipline keeps.

use super::{DropWhy, QueueCx, QueueDisc};
use crate::packet::tests::packet;
use crate::packet::{Flags, Packet};
use shallows_units::{Bytes, Rate, Span, Time};
use std::collections::HashMap;

/// The fates of the arrivals.
#[derive(Default)]
pub(crate) struct Seen {
    /// Sent, with the instant at which transmission began.
    pub out: Vec<(Packet, Time)>,
    /// Dropped.
    pub dropped: Vec<(Packet, DropWhy)>,
    /// Most packets held, the one being transmitted included.
    pub most: u64,
}

impl Seen {
    /// Sent packets of `flow` that are marked.
    pub(crate) fn marks(&self, flow: u32) -> usize {
        self.out.iter().filter(|(p, _)| p.flow == flow && p.flags.any(Flags::CE)).count()
    }

    /// Packets of `flow` that were dropped by the law.
    pub(crate) fn drops(&self, flow: u32) -> usize {
        self.dropped.iter().filter(|(p, why)| p.flow == flow && *why == DropWhy::Aqm).count()
    }

    /// Longest wait of `flow` from `after` on.
    pub(crate) fn longest_wait(&self, flow: u32, after: Time) -> Span {
        let waits = self.out.iter().filter(|(p, at)| p.flow == flow && *at > after);
        waits.map(|(p, at)| *at - p.at).max().unwrap_or(Span::ZERO)
    }
}

/// `count` packets of 1500 bytes of each flow, given by its `flags`, at `load` times `rate` together.
pub(crate) fn load(flags: &[Flags], load: f64, rate: Rate, count: u64) -> Vec<(Time, Packet)> {
    let gap = rate.transmit(Bytes(1500)).as_ps() as f64 / load;
    let total = count * flags.len() as u64;
    (0..total)
        .map(|n| {
            let flow = n % flags.len() as u64;
            let packet = Packet { flow: flow as u32, seq: n, flags: flags[flow as usize], ..packet(1500) };
            (Time::ps((n as f64 * gap) as u64), packet)
        })
        .collect()
}

/// Sends `arrivals` through `disc` and a transmitter of `rate`. A departure at the instant of an arrival
/// comes first.
pub(crate) fn drive(disc: &mut dyn QueueDisc, rate: Rate, arrivals: Vec<(Time, Packet)>) -> Seen {
    let mut seen = Seen::default();
    let count = arrivals.len();
    let mut marked = 0;
    let (mut serving, mut free_at) = (0, Time::ZERO);
    let mut arrivals = arrivals.into_iter().peekable();
    loop {
        let next = arrivals.peek().map(|(at, _)| *at);
        let departs = serving > 0 && next.is_none_or(|at| free_at <= at);
        let now = if departs { free_at } else { next.unwrap_or(Time::MAX) };
        if now == Time::MAX {
            break;
        }
        if departs {
            serving = 0;
        } else if let Some((at, packet)) = arrivals.next() {
            let mut cx = QueueCx::new(now, serving, free_at, &mut seen.dropped);
            disc.enqueue(Packet { at, ..packet }, &mut cx);
            marked += cx.marked();
        }
        if serving == 0 {
            let mut cx = QueueCx::new(now, 0, free_at, &mut seen.dropped);
            let packet = disc.dequeue(&mut cx);
            marked += cx.marked();
            match packet {
                Some(packet) => {
                    serving = u64::from(packet.size);
                    free_at = now + rate.transmit(Bytes(serving));
                    seen.out.push((packet, now));
                }
                None => assert_eq!(disc.backlog().packets, 0, "the transmitter idles beside packets"),
            }
        }
        seen.most = seen.most.max(disc.backlog().packets + u64::from(serving > 0));
    }
    assert_eq!((disc.backlog().packets, disc.backlog().bytes), (0, 0));
    assert_eq!(seen.out.len() + seen.dropped.len(), count, "the books balance");
    let mut last = HashMap::new();
    for (packet, _) in &seen.out {
        assert!(last.insert(packet.flow, packet.seq).is_none_or(|seq| seq < packet.seq), "reordered");
        let ect = packet.flags.any(Flags(Flags::ECT0.0 | Flags::ECT1.0));
        assert!(ect || !packet.flags.any(Flags::CE), "a packet that is not ECN-capable is marked");
    }
    let dropped_marked = seen.dropped.iter().filter(|(p, _)| p.flags.any(Flags::CE)).count();
    let out_marked = seen.out.iter().filter(|(p, _)| p.flags.any(Flags::CE)).count();
    assert_eq!(dropped_marked + out_marked, marked as usize, "marks are reported");
    seen
}

/// The rules at a tiny, a usual and a huge rate, idle and at three times the rate, for flows of each
/// codepoint. `limit` is the discipline's, in packets.
pub(crate) fn conforms(mut make: impl FnMut(Rate) -> Box<dyn QueueDisc>, limit: u64) {
    for rate in [Rate::bps(10_000), Rate::mbps(40), Rate::gbps(1600)] {
        for over in [0.1, 0.99, 3.0] {
            let flows = [Flags::default(), Flags::ECT0, Flags::ECT1];
            let mut disc = make(rate);
            let mut arrivals = load(&flows, over, rate, 500);
            // A second burst after an idle time.
            let gap = Span::s(50) + (arrivals[1499].0 - Time::ZERO) * 3;
            let again = arrivals.iter().map(|(at, p)| (*at + gap, Packet { seq: p.seq + 1500, ..*p }));
            let again: Vec<_> = again.collect();
            arrivals.extend(again);
            let seen = drive(&mut *disc, rate, arrivals);
            let ect = |flags: Flags| flags.0 & (Flags::ECT0.0 | Flags::ECT1.0);
            assert!(
                seen.out.iter().all(|(packet, _)| ect(packet.flags) == ect(flows[packet.flow as usize])),
                "a codepoint is altered"
            );
            assert!(seen.most <= limit, "{} of {limit} held", seen.most);
            if over < 0.5 {
                assert!(seen.dropped.is_empty(), "an idle queue drops nothing");
                assert!((0..3).all(|flow| seen.marks(flow) == 0), "an idle queue marks nothing");
            }
        }
    }
}
