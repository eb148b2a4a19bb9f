//! Drop-tail: a packet that finds the queue full is dropped.
//!
//! Source: the discipline of every switch without active queue management; RFC 7567 s.1 describes it.

use super::{Admission, Backlog, DropWhy, Place, Verdict};
use crate::packet::Packet;
use crate::params::{Code, Faults};
use crate::queue::parts::gauge::{Gauge, Level, Measure};
use shallows_units::{Size, Time};

crate::params! {
    /// Drop-tail. A packet that finds the queue full is dropped.
    pub struct Settings {
        /// Most that the queue may hold, in bytes or packets, or "none".
        limit: Option<Size> = "none", "[1pkt, ]", "the user's switch; hosts queue without limit";
        /// Whether the packet being transmitted counts as held.
        count_in_service: bool = true, "", "a switch's buffer holds a packet until its last bit has left";
        /// Whether the arriving packet counts when held against the limit.
        measure: Measure = "after", "", "a packet that does not fit is dropped; ns-2 measures before";
    }
}

impl Settings {
    /// Settings that contradict each other.
    pub fn check(&self, path: &str, faults: &mut Faults) {
        check_limit(self.limit, path, faults);
    }
}

/// A limit that no packet could pass is a fault.
pub fn check_limit(limit: Option<Size>, path: &str, faults: &mut Faults) {
    if let Some(Size::Bytes(bytes)) = limit
        && bytes.as_u64() == 0
    {
        let rule = Code::OutOfRange.rule("must be > 0B, or \"none\"");
        faults.add(&format!("{path}.limit"), rule, &"0B".into());
    }
}

/// The discipline at work.
#[derive(Debug, Clone)]
pub struct Discipline {
    limit: Level,
    gauge: Gauge,
}

impl Discipline {
    /// Ready to run.
    pub fn new(settings: &Settings, _place: Place) -> Self {
        let gauge = Gauge::new(settings.count_in_service, settings.measure == Measure::After);
        Discipline { limit: Level::new(settings.limit), gauge }
    }

    /// The way of measuring.
    #[inline]
    pub fn gauge(&self) -> Gauge {
        self.gauge
    }

    /// A queue of that length, as measured by [`Discipline::gauge`], leaves no room.
    #[inline]
    pub fn is_full(&self, standing: (u64, u64)) -> bool {
        if self.gauge.after() { self.limit.is_below(standing) } else { self.limit.is_reached(standing) }
    }
}

impl Admission for Discipline {
    fn takes_all(&self) -> bool {
        self.limit == Level::NEVER
    }

    #[inline(always)]
    fn admit(&mut self, packet: &Packet, backlog: Backlog, _now: Time) -> Verdict {
        if self.is_full(self.gauge.read(backlog, packet.size)) {
            Verdict::Drop(DropWhy::Full)
        } else {
            Verdict::Pass
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::packet;
    use crate::params::Params;
    use crate::queue::tests::place;

    fn fate(limit: &str, in_service: bool, measure: Measure, packets: u64) -> Verdict {
        let settings =
            Settings { limit: Some(Size::parse(limit).unwrap()), count_in_service: in_service, measure };
        let backlog = Backlog {
            packets,
            bytes: packets * 1500,
            serving: if packets > 0 { 1500 } else { 0 },
            ..Backlog::default()
        };
        Discipline::new(&settings, place()).admit(&packet(1500), backlog, Time::ZERO)
    }

    #[test]
    fn the_limit_is_the_most_held() {
        assert_eq!(fate("10pkt", true, Measure::After, 9), Verdict::Pass);
        assert_eq!(fate("10pkt", true, Measure::After, 10), Verdict::Drop(DropWhy::Full));
        assert_eq!(fate("15000B", true, Measure::After, 9), Verdict::Pass);
        assert_eq!(fate("14999B", true, Measure::After, 9), Verdict::Drop(DropWhy::Full));
    }

    #[test]
    fn the_packet_in_service_may_be_left_out() {
        assert_eq!(fate("10pkt", false, Measure::After, 10), Verdict::Pass);
        assert_eq!(fate("10pkt", false, Measure::After, 11), Verdict::Drop(DropWhy::Full));
    }

    #[test]
    fn measured_before_the_arrival_a_queue_at_its_limit_drops() {
        assert_eq!(fate("15000B", true, Measure::Before, 10), Verdict::Drop(DropWhy::Full));
        assert_eq!(fate("15001B", true, Measure::Before, 10), Verdict::Pass);
    }

    #[test]
    fn no_limit_drops_nothing() {
        let mut discipline = Discipline::new(&Settings::defaults(), place());
        let backlog =
            Backlog { packets: u64::MAX / 2, bytes: u64::MAX / 2, serving: 1, ..Backlog::default() };
        assert_eq!(discipline.admit(&packet(1500), backlog, Time::ZERO), Verdict::Pass);
    }
}
