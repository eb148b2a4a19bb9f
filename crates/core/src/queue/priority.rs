//! Strict priority: packets of one ECN class are sent before all others.
//!
//! Source: the scheduler of document 003's slides without their AQM; RFC 9332 s.2.4 warns that strict
//! priority lets the low-latency class starve the other. Each band is a drop-tail FIFO with a limit of
//! its own; the packet being transmitted has left its band and does not count.
//!
//! Left out: more than two bands; classes other than by the ECN field, which is all that a packet carries
//! (Linux sch_prio maps the type of service).

use super::drop_tail::check_limit;
use super::{Backlog, DropWhy, InnerQueues, Place, QueueCx, QueueDisc};
use crate::packet::Packet;
use crate::params::Faults;
use crate::queue::parts::classify::{Classifier, is_low_latency};
use crate::queue::parts::gauge::Level;
use crate::queue::parts::held::Held;
use shallows_units::Size;

crate::params! {
    /// Strict priority. Packets of one ECN class are sent before all others. A flow whose
    /// packets belong to both classes may see them reordered.
    pub struct Settings {
        /// The packets that go first.
        classify: Classifier = "any_ect", "", "document 003's slides; ect1 is RFC 9331's";
        /// Most that the first band may hold, in bytes or packets, or "none".
        high_limit: Option<Size> = "250pkt", "[1pkt, ]", "as the threshold queue";
        /// Most that the second band may hold, in bytes or packets, or "none".
        low_limit: Option<Size> = "250pkt", "[1pkt, ]", "as the threshold queue";
    }
}

impl Settings {
    /// Settings that contradict each other.
    pub fn check(&self, path: &str, faults: &mut Faults) {
        for (name, limit) in [("high_limit", self.high_limit), ("low_limit", self.low_limit)] {
            let mut found = Faults::default();
            check_limit(limit, path, &mut found);
            for fault in found.0 {
                faults.add(&format!("{path}.{name}"), fault.into_rule(), &"0B".into());
            }
        }
    }
}

/// The discipline at work; the first band goes first.
#[derive(Debug, Clone)]
pub struct Discipline {
    classify: Classifier,
    bands: [(Held, Level); 2],
}

impl Discipline {
    /// Ready to run.
    pub fn new(settings: &Settings, _place: Place) -> Self {
        let bands = [settings.high_limit, settings.low_limit];
        Discipline {
            classify: settings.classify,
            bands: bands.map(|limit| (Held::default(), Level::new(limit))),
        }
    }
}

impl QueueDisc for Discipline {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut QueueCx<'_>) {
        let band = self.of(&packet, 0);
        let (held, limit) = &mut self.bands[band];
        if limit.is_below((held.packets() + 1, held.bytes() + u64::from(packet.size))) {
            return cx.drop(packet, DropWhy::Full);
        }
        packet.at = cx.now;
        held.push(packet);
    }

    fn dequeue(&mut self, _cx: &mut QueueCx<'_>) -> Option<Packet> {
        self.bands.iter_mut().find_map(|(held, _)| held.pop())
    }

    fn backlog(&self) -> Backlog {
        let [(high, _), (low, _)] = &self.bands;
        Backlog {
            packets: high.packets() + low.packets(),
            bytes: high.bytes() + low.bytes(),
            ..Backlog::default()
        }
    }

    fn inner(&self) -> Option<&dyn InnerQueues> {
        Some(self)
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("high_packets", self.bands[0].0.packets() as f64);
        put("low_packets", self.bands[1].0.packets() as f64);
    }
}

impl InnerQueues for Discipline {
    fn count(&self) -> usize {
        2
    }

    fn name(&self, number: usize) -> String {
        ["high", "low"][number].into()
    }

    fn of(&self, packet: &Packet, _: u8) -> usize {
        usize::from(!is_low_latency(packet, self.classify))
    }

    fn len(&self, number: usize) -> u64 {
        self.bands[number].0.packets()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flags;
    use crate::packet::tests::packet;
    use crate::params::Params;
    use crate::queue::tests::place;
    use shallows_units::{Bytes, Time};

    /// Arrivals (`e` ECT(0), `1` ECT(1), `n` not ECT, numbered) and departures (`-`); the packets that left, and the drops.
    fn run(settings: &Settings, script: &str) -> (String, usize) {
        let mut discipline = Discipline::new(settings, place());
        let (mut dropped, mut out) = (vec![], String::new());
        for (seq, step) in (0..).zip(script.chars()) {
            let mut cx = QueueCx::new(Time::ZERO, 0, Time::ZERO, &mut dropped);
            let flags = match step {
                'e' => Flags::ECT0,
                '1' => Flags::ECT1,
                'n' => Flags::default(),
                _ => {
                    let left = discipline.dequeue(&mut cx).map(|p| script.as_bytes()[p.seq as usize]);
                    out.push(left.map_or('.', char::from));
                    continue;
                }
            };
            discipline.enqueue(Packet { seq, flags, ..packet(1500) }, &mut cx);
        }
        assert_eq!(discipline.backlog().bytes, discipline.backlog().packets * 1500);
        (out, dropped.len())
    }

    #[test]
    fn the_first_band_is_empty_before_the_second_sends() {
        let any = Settings::defaults();
        assert_eq!(run(&any, "nne1-n---e-----"), ("e1nnen...".into(), 0));
        let ect1 = Settings { classify: Classifier::Ect1, ..Settings::defaults() };
        assert_eq!(run(&ect1, "nne1----"), ("1nne".into(), 0));
    }

    #[test]
    fn each_band_has_its_own_limit() {
        let settings = Settings {
            high_limit: Some(Size::Packets(2)),
            low_limit: Some(Size::Bytes(Bytes(4500))),
            ..Settings::defaults()
        };
        assert_eq!(run(&settings, "eeennnnn------"), ("eennn.".into(), 4 - 1));
    }

    #[test]
    fn a_limit_of_nothing_is_refused_by_name() {
        let mut faults = Faults::default();
        Settings { low_limit: Some(Size::Bytes(Bytes(0))), ..Settings::defaults() }
            .check("queue", &mut faults);
        assert!(faults.0[0].to_string().starts_with("queue.low_limit: must be > 0B"));
    }
}
