//! Threshold marking: a packet that finds more than K in the queue is marked.
//!
//! Source: Alizadeh et al. 2010, "Data Center TCP (DCTCP)", s.3.1: mark if the instantaneous queue is
//! greater than K upon arrival; K in packets or bytes. RFC 8257 s.3.1.
//! Options hold the fine points in which simulators and switches differ.

use super::drop_tail::{self, check_limit};
use super::{Admission, Backlog, DropWhy, Place, Verdict};
use crate::packet::Packet;
use crate::params::{Code, Faults};
use crate::queue::parts::gauge::{Level, Measure};
use shallows_units::{Size, Time};

crate::choices! {
    /// The fate of packets above the threshold that cannot be marked.
    pub enum NotEct {
        /// They are queued.
        Pass = "pass",
        /// They are dropped, as Linux RED does with `ecn`.
        Drop = "drop",
    }
}

crate::params! {
    /// Threshold ECN marking. A packet that finds more than the threshold in the queue is marked;
    /// one that finds it full is dropped.
    pub struct Settings {
        /// Most that the queue may hold, in bytes or packets, or "none".
        limit: Option<Size> = "250pkt", "[1pkt, ]", "xDCTCP report: B = 250";
        /// Marking threshold K, in bytes or packets: a queue above it is marked.
        mark_at: Size = "65pkt", "", "Alizadeh 2010 s.4: K = 65 packets at 10 Gb/s";
        /// Whether the packet being transmitted counts as queued.
        count_in_service: bool = true, "", "a switch's buffer holds a packet until its last bit has left";
        /// Whether the arriving packet counts.
        measure: Measure = "before", "", "Alizadeh 2010 s.3.1: the occupancy found upon arrival";
        /// Whether the first packet that finds the queue above the threshold, after it was below,
        /// goes unmarked.
        first_exempt: bool = false, "", "the ns-2 RED queue of the xDCTCP and DCTCP inputs: true";
        /// The fate of packets above the threshold that are not ECN-capable.
        not_ect: NotEct = "pass", "", "Alizadeh 2010 marks only; Linux RED drops";
    }
}

impl Settings {
    /// Settings that contradict each other.
    pub fn check(&self, path: &str, faults: &mut Faults) {
        check_limit(self.limit, path, faults);
        if let Some(limit) = self.limit
            && self.mark_at.partial_cmp(&limit).is_some_and(|order| order.is_ge())
        {
            let rule =
                format!("must be below the limit of {limit}, or nothing is marked before it is dropped");
            faults.add(
                &format!("{path}.mark_at"),
                Code::Conflict.rule(rule),
                &self.mark_at.to_string().into(),
            );
        }
    }
}

/// The discipline at work.
#[derive(Debug, Clone)]
pub struct Discipline {
    tail: drop_tail::Discipline,
    mark_at: Level,
    first_exempt: bool,
    drop_not_ect: bool,
    /// The last arrival found the queue above the threshold.
    above: bool,
}

impl Discipline {
    /// Ready to run.
    pub fn new(settings: &Settings, place: Place) -> Self {
        let Settings { limit, mark_at, count_in_service, measure, first_exempt, not_ect } = *settings;
        Discipline {
            tail: drop_tail::Discipline::new(
                &drop_tail::Settings { limit, count_in_service, measure },
                place,
            ),
            mark_at: Level::new(Some(mark_at)),
            first_exempt,
            drop_not_ect: not_ect == NotEct::Drop,
            above: false,
        }
    }
}

/// The fate of a packet above the threshold; `drop_not_ect`: one that is not ECN-capable is dropped.
#[inline]
pub fn above(packet: &Packet, drop_not_ect: bool) -> Verdict {
    if drop_not_ect && !packet.ecn_capable() { Verdict::Drop(DropWhy::Aqm) } else { Verdict::Mark }
}

impl Admission for Discipline {
    #[inline(always)]
    fn admit(&mut self, packet: &Packet, backlog: Backlog, _now: Time) -> Verdict {
        let standing = self.tail.gauge().read(backlog, packet.size);
        if self.tail.is_full(standing) {
            return Verdict::Drop(DropWhy::Full);
        }
        let was_above = self.above;
        self.above = self.mark_at.is_below(standing);
        if !self.above || (self.first_exempt && !was_above) {
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

    fn settings(mark_at: &str) -> Settings {
        Settings { mark_at: Size::parse(mark_at).unwrap(), ..Settings::defaults() }
    }

    fn fates(settings: &Settings, queue: &[u64]) -> String {
        let mut discipline = Discipline::new(settings, place());
        queue
            .iter()
            .map(|n| {
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
            })
            .collect()
    }

    // req: RFC3168 s5 MUST drop-stays-drop
    #[test]
    fn a_queue_above_k_is_marked_and_a_full_one_drops() {
        let settings = Settings { limit: Some(Size::Packets(8)), ..settings("5pkt") };
        assert_eq!(fates(&settings, &[0, 4, 5, 6, 7, 8, 9, 5]), "...MMDD.");
    }

    #[test]
    fn a_threshold_in_bytes_counts_bytes() {
        assert_eq!(fates(&settings("7500B"), &[4, 5, 6]), "..M");
        assert_eq!(fates(&settings("7499B"), &[4, 5, 6]), ".MM");
    }

    #[test]
    fn the_fine_points_each_shift_the_threshold_by_one_packet() {
        let base = settings("5pkt");
        let without_service = Settings { count_in_service: false, ..base.clone() };
        let after = Settings { measure: Measure::After, ..base };
        assert_eq!(fates(&without_service, &[5, 6, 7]), "..M");
        assert_eq!(fates(&after, &[4, 5, 6]), ".MM");
    }

    #[test]
    fn the_first_crossing_is_exempt_each_time() {
        let settings = Settings { first_exempt: true, ..settings("5pkt") };
        assert_eq!(fates(&settings, &[6, 6, 6, 5, 6, 7]), ".MM..M");
    }

    #[test]
    fn packets_that_cannot_be_marked_may_be_dropped() {
        let mut discipline =
            Discipline::new(&Settings { not_ect: NotEct::Drop, ..settings("5pkt") }, place());
        let mut plain = packet(1500);
        plain.flags = Default::default();
        let backlog = Backlog { packets: 6, bytes: 9000, serving: 1500, ..Backlog::default() };
        assert_eq!(discipline.admit(&plain, backlog, Time::ZERO), Verdict::Drop(DropWhy::Aqm));
        assert_eq!(discipline.admit(&packet(1500), backlog, Time::ZERO), Verdict::Mark);
    }

    #[test]
    fn a_threshold_not_below_the_limit_is_refused() {
        let mut faults = Faults::default();
        settings("250pkt").check("queue", &mut faults);
        assert_eq!(faults.0.len(), 1);
        assert!(faults.0[0].to_string().starts_with("queue.mark_at: must be below the limit of 250pkt"));
    }
}
