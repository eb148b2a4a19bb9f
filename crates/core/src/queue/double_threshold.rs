//! Double threshold marking: it starts when the queue rises past K1 and stops when it falls below K2.
//!
//! Source: Chen, Cheng, Ren, Shu and Lin 2013, "Ease the Queue Oscillation: Analysis and
//! Enhancement of DCTCP" (ICDCS), DT-DCTCP, with K1 < K2; DT-CWA (document 004), with K1 > K2. The
//! order of the two makes two different laws, and both are meant here:
//!
//! - *Hysteresis*, K1 > K2: marking starts late and stops late. Between K2 and K1 a queue that came from
//!   below is not marked and one that came from above is.
//! - *Early mark, early release*, K1 < K2: marking starts early and stops early. Between K1 and K2 a queue
//!   that came from below is marked and one that came from above is not.
//!
//! With K1 = K2 it is the threshold queue. Whence the queue came is known from the thresholds it crossed,
//! as seen by arrivals; a queue that turns around between them has not crossed the other one, so it
//! is treated as before it turned.
//!
//! Left out: a direction taken from the slope of the queue, which changes with each packet.

use super::drop_tail::{self, check_limit};
use super::threshold::{NotEct, above};
use super::{Admission, Backlog, DropWhy, Place, Verdict};
use crate::packet::Packet;
use crate::params::{Code, Faults};
use crate::queue::parts::gauge::{Gauge, Measure};
use shallows_units::{Size, Time};
use std::cmp::Ordering;

crate::params! {
    /// Double threshold ECN marking. Marking starts when the queue rises past one threshold and stops
    /// when it falls below another, higher or lower.
    pub struct Settings {
        /// Most that the queue may hold, in bytes or packets, or "none".
        limit: Option<Size> = "250pkt", "[1pkt, ]", "as the threshold queue";
        /// K1, in bytes or packets: a queue that rises past it is marked.
        start_above: Size = "35pkt", "", "DT-CWA: K1 = 35";
        /// K2, in the unit of K1: a queue that falls below it is not. Below K1: hysteresis. Above K1: early
        /// mark and early release.
        stop_below: Size = "30pkt", "", "DT-CWA: K2 = 30";
        /// Whether the packet being transmitted counts as queued.
        count_in_service: bool = true, "", "a switch's buffer holds a packet until its last bit has left";
        /// Whether the arriving packet counts against the thresholds; against the limit it does.
        measure: Measure = "before", "", "as the threshold queue: the occupancy found upon arrival";
        /// The fate of packets that are not ECN-capable while others are marked.
        not_ect: NotEct = "pass", "", "Alizadeh 2010 marks only; Linux RED drops";
    }
}

impl Settings {
    /// Settings that contradict each other.
    pub fn check(&self, path: &str, faults: &mut Faults) {
        check_limit(self.limit, path, faults);
        if self.start_above.partial_cmp(&self.stop_below).is_none() {
            let rule = format!("must be in the unit of start_above, {}", self.start_above);
            faults.add(
                &format!("{path}.stop_below"),
                Code::Conflict.rule(rule),
                &self.stop_below.to_string().into(),
            );
        }
        for (name, size) in [("start_above", self.start_above), ("stop_below", self.stop_below)] {
            if let Some(limit) = self.limit
                && size.partial_cmp(&limit).is_some_and(|order| order.is_ge())
            {
                let rule = format!("must be below the limit of {limit}, or the queue never exceeds it");
                faults.add(&format!("{path}.{name}"), Code::Conflict.rule(rule), &size.to_string().into());
            }
        }
    }
}

fn number(size: Size) -> u64 {
    match size {
        Size::Packets(packets) => packets,
        Size::Bytes(bytes) => bytes.as_u64(),
    }
}

/// The discipline at work.
#[derive(Debug, Clone)]
pub struct Discipline {
    tail: drop_tail::Discipline,
    gauge: Gauge,
    in_bytes: bool,
    start: u64,
    stop: u64,
    /// K1 against K2.
    order: Ordering,
    drop_not_ect: bool,
    /// The queue was last seen above both thresholds, not below both.
    from_above: bool,
}

impl Discipline {
    /// Ready to run.
    pub fn new(settings: &Settings, place: Place) -> Self {
        let Settings { limit, start_above, stop_below, count_in_service, measure, not_ect } = *settings;
        let tail = drop_tail::Settings { limit, count_in_service, measure: Measure::After };
        Discipline {
            tail: drop_tail::Discipline::new(&tail, place),
            gauge: Gauge::new(count_in_service, measure == Measure::After),
            in_bytes: matches!(start_above, Size::Bytes(_)),
            start: number(start_above),
            stop: number(stop_below),
            order: start_above.partial_cmp(&stop_below).unwrap_or(Ordering::Equal),
            drop_not_ect: not_ect == NotEct::Drop,
            from_above: false,
        }
    }

    /// Whether arrivals are marked, now that `standing` is seen.
    #[inline]
    fn marks(&mut self, (packets, bytes): (u64, u64)) -> bool {
        let queue = if self.in_bytes { bytes } else { packets };
        let past_start = queue > self.start;
        let below_stop = queue < self.stop;
        match self.order {
            Ordering::Equal => past_start,
            Ordering::Greater => {
                self.from_above = past_start || (self.from_above && !below_stop);
                self.from_above
            }
            Ordering::Less => {
                self.from_above = !below_stop || (self.from_above && past_start);
                past_start && !(below_stop && self.from_above)
            }
        }
    }
}

impl Admission for Discipline {
    #[inline]
    fn admit(&mut self, packet: &Packet, backlog: Backlog, _now: Time) -> Verdict {
        let marks = self.marks(self.gauge.read(backlog, packet.size));
        if self.tail.is_full(self.tail.gauge().read(backlog, packet.size)) {
            Verdict::Drop(DropWhy::Full)
        } else if !marks {
            Verdict::Pass
        } else {
            above(packet, self.drop_not_ect)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::packet;
    use crate::params::Params;
    use crate::queue::tests::place;

    fn settings(k1: u64, k2: u64) -> Settings {
        Settings { start_above: Size::Packets(k1), stop_below: Size::Packets(k2), ..Settings::defaults() }
    }

    fn fates(settings: &Settings, queue: &[u64]) -> String {
        let mut discipline = Discipline::new(settings, place());
        let fate = |n: &u64| {
            let backlog = Backlog {
                packets: *n,
                bytes: n * 1500,
                serving: if *n > 0 { 1500 } else { 0 },
                ..Backlog::default()
            };
            match discipline.admit(&packet(1500), backlog, Time::ZERO) {
                Verdict::Pass => '.',
                Verdict::Mark => 'M',
                Verdict::Drop(_) => 'D',
            }
        };
        queue.iter().map(fate).collect()
    }

    #[test]
    fn hysteresis_starts_past_the_upper_and_stops_below_the_lower() {
        //                  rises                  falls                   rises again
        let queue = [0, 3, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 4, 5, 6, 7, 8];
        assert_eq!(fates(&settings(7, 4), &queue), ".....MMMMMMM.....M");
    }

    #[test]
    fn early_marking_starts_past_the_lower_and_stops_below_the_upper() {
        let queue = [0, 3, 4, 5, 6, 7, 8, 7, 6, 5, 4, 3, 4, 5, 6, 7];
        assert_eq!(fates(&settings(4, 7), &queue), "...MMMMM.....MMM");
    }

    #[test]
    fn a_queue_that_turns_between_the_thresholds_stays_as_it_was() {
        // Hysteresis: up to K1 and back; down to K2 and back.
        assert_eq!(fates(&settings(7, 4), &[5, 6, 7, 6, 5, 6, 7]), ".......");
        assert_eq!(fates(&settings(7, 4), &[8, 6, 5, 4, 5, 6, 7]), "MMMMMMM");
        // Early: up to just below K2 and back; down to just above K1 and up past K2.
        assert_eq!(fates(&settings(4, 8), &[5, 6, 7, 6, 5, 4, 5]), "MMMMM.M");
        assert_eq!(fates(&settings(4, 8), &[8, 7, 6, 5, 6, 7, 8]), "M.....M");
    }

    #[test]
    fn equal_thresholds_are_the_threshold_queue() {
        use super::super::threshold;
        let queue: Vec<u64> = (0..200).map(|i| i * 7 % 11).collect();
        let single = threshold::Settings { mark_at: Size::Packets(5), ..threshold::Settings::defaults() };
        let mut single = threshold::Discipline::new(&single, place());
        let expected: String = queue
            .iter()
            .map(|n| {
                let backlog = Backlog { packets: *n, bytes: n * 1500, ..Backlog::default() };
                if single.admit(&packet(1500), backlog, Time::ZERO) == Verdict::Mark { 'M' } else { '.' }
            })
            .collect();
        assert_eq!(fates(&settings(5, 5), &queue), expected);
    }

    #[test]
    fn a_full_queue_drops_and_its_crossing_counts() {
        let settings = Settings { limit: Some(Size::Packets(8)), ..settings(7, 4) };
        assert_eq!(fates(&settings, &[7, 8, 7, 4, 3]), ".DMM.");
    }

    #[test]
    fn packets_that_cannot_be_marked_may_be_dropped() {
        let mut discipline = Discipline::new(&Settings { not_ect: NotEct::Drop, ..settings(5, 4) }, place());
        let mut plain = packet(1500);
        plain.flags = Default::default();
        let backlog = Backlog { packets: 6, bytes: 9000, serving: 1500, ..Backlog::default() };
        assert_eq!(discipline.admit(&plain, backlog, Time::ZERO), Verdict::Drop(DropWhy::Aqm));
    }

    #[test]
    fn mixed_units_and_thresholds_beyond_the_limit_are_refused() {
        let mut faults = Faults::default();
        Settings { stop_below: Size::parse("45KB").unwrap(), ..settings(35, 30) }.check("queue", &mut faults);
        settings(35, 250).check("queue", &mut faults);
        let faults: Vec<_> = faults.0.iter().map(ToString::to_string).collect();
        assert_eq!(
            faults,
            [
                "queue.stop_below: must be in the unit of start_above, 35pkt, got \"45KB\"",
                "queue.stop_below: must be below the limit of 250pkt, or the queue never exceeds it, \
                 got \"250pkt\"",
            ]
        );
    }
}
