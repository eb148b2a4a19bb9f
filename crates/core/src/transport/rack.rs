//! State of every segment in flight, and RACK's loss decision from their send times.
//!
//! Source: RFC 8985 s.5, 6. A segment is lost when one that was sent later has been delivered and a reordering window has
//! passed. Each segment that has been sent counts as sacked, lost or sent again as Linux counts them (`sacked_out`,
//! `lost_out`, `retrans_out`), in bytes.
//! Left out: D-SACK, and so the growth of the reordering window beyond a quarter of the least round trip (s.6.2 step
//! 4); a least round trip that is forgotten after minutes.

use shallows_units::{Span, Time};
use std::collections::VecDeque;

/// A segment that has been sent and is not yet acknowledged by number.
#[derive(Debug, Clone, Copy)]
struct Segment {
    seq: u64,
    /// One beyond its last number, which may be a FIN's.
    end: u64,
    /// It ends with a FIN, which SACK does not report.
    fin: bool,
    /// When it was sent last.
    sent: Time,
    sacked: bool,
    lost: bool,
    /// A retransmission of it is in flight.
    again: bool,
    /// It has ever been sent again.
    resent: bool,
}

impl Segment {
    fn bytes(&self) -> u64 {
        self.end - self.seq
    }
}

/// A loss probe that no acknowledgement has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// RFC 8985 `TLP.end_seq`.
    pub end: u64,
    /// RFC 8985 `TLP.is_retrans`.
    pub again: bool,
}

/// State of one sender.
#[derive(Debug, Clone, Default)]
pub struct Rack {
    /// By number, without holes, from the oldest not acknowledged to the newest sent.
    segments: VecDeque<Segment>,
    /// Retransmissions in flight in the order of their sending, and such as are no longer: when, and of what.
    resent: VecDeque<(Time, u64)>,
    /// Segments below this number are delivered, lost or sent again: of them `resent` tells.
    checked: u64,
    /// The newest transmission that was delivered, `RACK.xmit_ts`, and its `RACK.end_seq`.
    newest: (Time, u64),
    /// `RACK.rtt`.
    rtt: Span,
    /// `RACK.min_RTT`, zero before there is one.
    least_rtt: Span,
    /// `RACK.fack`.
    fack: u64,
    /// The most by which later data overtook a segment, in bytes; 0 before `RACK.reordering_seen`.
    overtaken: u64,
    /// Something was delivered since losses were looked for.
    advanced: bool,
    /// Bytes and segments sacked.
    sacked: (u64, u64),
    /// Bytes lost, whether sent again or not.
    lost: u64,
    /// Lost bytes that wait to be sent again.
    waiting: u64,
    /// Bytes in flight twice: a probe sent again although the original was not lost.
    twice: u64,
    /// No segment below this number waits to be sent again.
    unsent: u64,
    /// When losses last reduced the window.
    pub reduced_at: Time,
    /// The loss probe in flight.
    pub probe: Option<Probe>,
    /// A round trip was measured since the last probe (RFC 8985 s.7.3).
    pub measured: bool,
}

/// The result of a search for losses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Found {
    /// Bytes newly lost, lost retransmissions included.
    pub bytes: u64,
    /// When the last of the retransmissions among them was sent, if there are any.
    pub again: Option<Time>,
    /// How long until all that was sent before the newest delivered is lost, if it is not.
    pub wait: Option<Span>,
}

/// RFC 8985 `RACK_sent_after`.
fn sent_after(a: (Time, u64), b: (Time, u64)) -> bool {
    a > b
}

impl Rack {
    /// New data was sent.
    #[inline]
    pub fn on_send(&mut self, seq: u64, end: u64, fin: bool, now: Time) {
        debug_assert!(self.segments.back().is_none_or(|s| s.end == seq));
        let (sacked, lost, again, resent) = (false, false, false, false);
        self.segments.push_back(Segment { seq, end, fin, sent: now, sacked, lost, again, resent });
    }

    /// A segment is sent again, as lost or as a probe.
    pub fn on_resend(&mut self, seq: u64, now: Time) {
        if let Some(place) = self.find(seq) {
            let segment = Segment { sent: now, again: true, resent: true, ..self.segments[place] };
            self.put(place, segment);
            self.resent.push_back((now, seq));
        }
    }

    /// `[first, beyond)` has been sacked for the first time.
    pub fn on_sack(&mut self, first: u64, beyond: u64, now: Time) {
        let mut place = self.segments.partition_point(|s| s.seq < first);
        let covered = |s: &Segment| s.seq < beyond && s.end - u64::from(s.fin) <= beyond;
        while let Some(segment) = self.segments.get(place).copied().filter(covered) {
            debug_assert!(!segment.sacked);
            // The echo is the stamp of data that came in order (RFC 7323 s.4.3) and tells nothing of this one.
            self.deliver(&segment, now, Time::MAX);
            // tcp_sacktag_one: where a probe of a segment that was not lost is in flight, one of the two still is.
            let again = segment.again && !segment.lost;
            self.put(place, Segment { sacked: true, lost: false, again, ..segment });
            place += 1;
        }
    }

    /// Everything below `una` is acknowledged, in answer to a packet sent at `stamp`.
    #[inline]
    pub fn on_ack(&mut self, una: u64, now: Time, stamp: Time) {
        while let Some(segment) = self.segments.front().copied().filter(|s| s.end <= una) {
            if !segment.sacked {
                self.deliver(&segment, now, stamp);
            }
            self.uncount(&segment);
            self.segments.pop_front();
        }
        if let Some(front) = self.segments.front().copied().filter(|s| s.seq < una) {
            self.cut(front, una);
        }
        if self.segments.is_empty() {
            self.resent.clear();
        }
    }

    /// A misbehaving receiver acknowledges a part of the oldest segment. `flight` counts outstanding bytes, and what is
    /// sacked or waits is among them; so the segment begins at `una` from now on.
    #[cold]
    fn cut(&mut self, front: Segment, una: u64) {
        self.put(0, Segment { seq: una, ..front });
        self.resent.iter_mut().filter(|(_, seq)| *seq == front.seq).for_each(|(_, seq)| *seq = una);
    }

    /// RFC 8985 s.6.2 steps 1 to 3.
    #[inline]
    fn deliver(&mut self, segment: &Segment, now: Time, stamp: Time) {
        let took = now - segment.sent;
        if segment.resent {
            if stamp < segment.sent || took < self.least_rtt {
                return; // it may have been the original
            }
        } else {
            self.on_round_trip(took);
            if segment.end < self.fack {
                self.overtaken = self.overtaken.max(self.fack - segment.seq);
            }
        }
        self.fack = self.fack.max(segment.end);
        (self.advanced, self.rtt) = (true, took);
        self.newest = self.newest.max((segment.sent, segment.end));
    }

    /// A round trip took so long.
    pub fn on_round_trip(&mut self, took: Span) {
        self.measured = true;
        self.least_rtt = if self.least_rtt == Span::ZERO { took } else { self.least_rtt.min(took) };
    }

    fn put(&mut self, place: usize, segment: Segment) {
        let old = std::mem::replace(&mut self.segments[place], segment);
        self.uncount(&old);
        let bytes = segment.bytes();
        if segment.sacked {
            self.sacked = (self.sacked.0 + bytes, self.sacked.1 + 1);
        }
        match (segment.lost, segment.again) {
            (true, again) => {
                self.lost += bytes;
                self.waiting += if again { 0 } else { bytes };
            }
            (false, true) => self.twice += bytes,
            (false, false) => {}
        }
    }

    #[inline]
    fn uncount(&mut self, segment: &Segment) {
        let bytes = segment.bytes();
        if segment.sacked {
            self.sacked = (self.sacked.0 - bytes, self.sacked.1 - 1);
        }
        match (segment.lost, segment.again) {
            (true, again) => {
                self.lost -= bytes;
                self.waiting -= if again { 0 } else { bytes };
            }
            (false, true) => self.twice -= bytes,
            (false, false) => {}
        }
    }

    fn find(&self, seq: u64) -> Option<usize> {
        let place = self.segments.partition_point(|s| s.seq < seq);
        self.segments.get(place).filter(|s| s.seq == seq).map(|_| place)
    }

    /// RFC 8985 s.6.2 step 4, without D-SACK.
    pub fn window(&self, at_once: bool, srtt: Span) -> Span {
        if at_once && self.overtaken == 0 {
            Span::ZERO
        } else {
            Span::ps(self.least_rtt.as_ps() / 4).min(srtt)
        }
    }

    /// RFC 8985 s.6.2 step 5, where something was delivered since the last time or a timer `expired`.
    pub fn look_for_losses(&mut self, window: Span, expired: bool, now: Time) -> Found {
        let mut found = Found::default();
        if std::mem::take(&mut self.advanced) || expired {
            self.check_originals(window, now, &mut found);
            self.check_resent(window, now, &mut found);
        }
        found
    }

    fn check_originals(&mut self, window: Span, now: Time, found: &mut Found) {
        let mut place = self.segments.partition_point(|s| s.seq < self.checked);
        let mut all_known = true;
        while let Some(segment) = self.segments.get(place).copied() {
            if !(segment.sacked || segment.lost || segment.resent) {
                if !sent_after(self.newest, (segment.sent, segment.end)) {
                    break;
                }
                match self.left(&segment, window, now) {
                    Some(wait) => {
                        found.wait = found.wait.max(Some(wait));
                        all_known = false;
                    }
                    None => self.mark_lost(place, found),
                }
            }
            if all_known {
                self.checked = segment.end;
            }
            place += 1;
        }
    }

    fn check_resent(&mut self, window: Span, now: Time, found: &mut Found) {
        let newest = self.newest;
        let mut place = 0;
        while let Some((sent, seq)) = self.resent.get(place).copied() {
            let at = self.find(seq).filter(|at| self.segments[*at].again && self.segments[*at].sent == sent);
            let Some(at) = at else {
                self.resent.remove(place);
                continue;
            };
            let segment = self.segments[at];
            if segment.sacked {
                place += 1;
                continue;
            }
            if !sent_after(newest, (sent, segment.end)) {
                break;
            }
            match self.left(&segment, window, now) {
                Some(wait) => {
                    found.wait = found.wait.max(Some(wait));
                    place += 1;
                }
                None => {
                    self.mark_lost(at, found);
                    self.resent.remove(place);
                }
            }
        }
    }

    /// How long until the segment is lost; none if it is.
    fn left(&self, segment: &Segment, window: Span, now: Time) -> Option<Span> {
        let lost_at = segment.sent + self.rtt + window;
        (lost_at > now).then(|| lost_at - now)
    }

    /// tcp_mark_skb_lost.
    fn mark_lost(&mut self, place: usize, found: &mut Found) {
        let segment = self.segments[place];
        found.bytes += segment.bytes();
        found.again = found.again.max(segment.again.then_some(segment.sent));
        self.put(place, Segment { lost: true, again: false, ..segment });
        self.unsent = self.unsent.min(segment.seq);
    }

    /// The retransmission timer expired (RFC 8985 s.6.3): the oldest is lost, and all sent a round trip ago or earlier.
    pub fn on_timeout(&mut self, now: Time) {
        let mut found = Found::default();
        for place in 0..self.segments.len() {
            let segment = self.segments[place];
            if !segment.sacked && (place == 0 || self.left(&segment, Span::ZERO, now).is_none()) {
                self.mark_lost(place, &mut found);
            }
        }
        self.probe = None;
    }

    /// The lowest segment that is lost and not sent again.
    pub fn next_lost(&mut self) -> Option<(u64, u64)> {
        if self.waiting == 0 {
            return None;
        }
        let from = self.segments.partition_point(|s| s.seq < self.unsent);
        let next = self.segments.range(from..).find(|s| s.lost && !s.again)?;
        self.unsent = next.seq;
        Some((next.seq, next.end))
    }

    /// First numbers of the segments that are lost and not sent again, lowest first.
    pub fn waiting(&self) -> Vec<u64> {
        if self.waiting == 0 {
            return vec![];
        }
        let from = self.segments.partition_point(|s| s.seq < self.unsent);
        self.segments.range(from..).filter(|s| s.lost && !s.again).map(|s| s.seq).collect()
    }

    /// The segment that was sent last of all by number.
    pub fn last(&self) -> Option<(u64, u64)> {
        self.segments.back().map(|s| (s.seq, s.end))
    }

    /// When the oldest segment was sent last.
    pub fn oldest_sent(&self) -> Option<Time> {
        self.segments.front().map(|s| s.sent)
    }

    /// Whether a single segment is outstanding.
    pub fn is_single(&self) -> bool {
        self.segments.len() == 1
    }

    /// Whether anything is lost, sent again or not.
    pub fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// Bytes of `outstanding` that are in the network (Linux `tcp_packets_in_flight`).
    ///
    /// It is never negative. Segments cover `outstanding` without holes, since packets are sent and sent again whole, and
    /// the oldest begins at the acknowledgement ([`Rack::on_ack`]). No segment is both sacked and waiting: only segments
    /// that are not sacked are marked lost, and a sacked one is no longer lost.
    pub fn flight(&self, outstanding: u64) -> u64 {
        outstanding + self.twice - self.sacked.0 - self.waiting
    }

    /// Bytes sacked.
    pub fn sacked(&self) -> u64 {
        self.sacked.0
    }

    /// Segments outstanding (Linux `packets_out`).
    pub fn outstanding(&self) -> u64 {
        self.segments.len() as u64
    }

    /// Segments lost and sent again (Linux `lost_out`, `retrans_out`).
    pub fn lost_and_resent(&self) -> [u64; 2] {
        let count = |wanted: fn(&Segment) -> bool| self.segments.iter().filter(|s| wanted(s)).count() as u64;
        [count(|s| s.lost), count(|s| s.again)]
    }

    /// The most by which later data overtook a segment, in bytes.
    pub fn overtaken(&self) -> u64 {
        self.overtaken
    }

    /// The least round trip; zero before there is one.
    pub fn least_rtt(&self) -> Span {
        self.least_rtt
    }

    /// Segments sacked.
    pub fn sacked_segments(&self) -> u64 {
        self.sacked.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;
    const WINDOW: Span = Span::ms(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::ms(ms)
    }

    /// So many segments, one sent each millisecond.
    fn sent(segments: u64) -> Rack {
        let mut rack = Rack::default();
        (0..segments).for_each(|n| rack.on_send(n * MSS, (n + 1) * MSS, false, at(n)));
        rack
    }

    /// The segment with number `n` is sacked.
    fn sack(rack: &mut Rack, n: u64, ms: u64) {
        rack.on_sack(n * MSS, (n + 1) * MSS, at(ms));
    }

    /// RFC 8985 s.6.2 step 5: a segment is lost if one that was sent later is delivered, its round trip and the reordering window ago. Of
    /// three sent at 0, 1 and 2 ms, the second comes at 11 ms: the first is lost at 0 + 10 + 1 ms, and of the third nothing is known.
    #[test]
    fn a_segment_is_lost_behind_a_later_one() {
        let mut rack = sent(3);
        sack(&mut rack, 1, 11);
        let found = rack.look_for_losses(Span::ms(2), false, at(11));
        assert_eq!(found, Found { wait: Some(Span::ms(1)), ..Found::default() });
        assert_eq!(rack.look_for_losses(Span::ms(2), true, at(12)), Found { bytes: MSS, ..Found::default() });
        assert_eq!((rack.next_lost(), rack.waiting()), (Some((0, MSS)), vec![0]));
    }

    /// The first, third and fourth of five segments are lost. They wait to be sent again, lowest first, until each has been sent.
    #[test]
    fn what_is_lost_waits_until_it_is_sent_again() {
        let mut rack = sent(5);
        (1..5).step_by(3).for_each(|n| sack(&mut rack, n, 10 + n));
        rack.look_for_losses(Span::ZERO, false, at(14));
        assert_eq!((rack.flight(5 * MSS), rack.sacked_segments()), (0, 2));
        for (n, waiting) in [(0, vec![0, 2, 3]), (2, vec![2, 3]), (3, vec![3])] {
            let waiting: Vec<u64> = waiting.into_iter().map(|n| n * MSS).collect();
            assert_eq!(rack.waiting(), waiting);
            assert_eq!(rack.next_lost(), Some((n * MSS, (n + 1) * MSS)));
            assert_eq!(rack.waiting(), waiting);
            rack.on_resend(n * MSS, at(20 + n));
        }
        assert_eq!((rack.waiting(), rack.next_lost(), rack.has_lost()), (vec![], None, true));
        assert_eq!((rack.flight(5 * MSS), rack.lost_and_resent()), (3 * MSS, [3, 3]));
    }

    /// S.6.2 step 5: a repair too is lost only if what was sent after it is delivered. A timeout gives the first repair of a segment up, and
    /// it leaves again after that of the next one. The latter's delivery concerns the first repair, which no longer counts, and
    /// no packet that was sent later: however late it is, the second repair is not lost.
    #[test]
    fn a_repair_that_was_given_up_says_nothing_of_the_next_one() {
        let mut rack = sent(2);
        rack.on_timeout(at(100));
        rack.on_resend(0, at(100));
        rack.on_resend(MSS, at(101));
        rack.on_timeout(at(200));
        rack.on_resend(0, at(200));
        sack(&mut rack, 1, 201);
        assert_eq!(rack.look_for_losses(WINDOW, false, at(201)), Found::default());
        assert_eq!(rack.look_for_losses(WINDOW, true, at(900)), Found::default());
        assert_eq!(rack.lost_and_resent(), [1, 1]);
    }

    /// S.6.2 step 5 for repairs: the second of two that were sent again comes, and so the first one is lost again, as soon as the round trip of
    /// the other and the window have passed; the search tells when it had been sent (s.9.3).
    #[test]
    fn a_lost_repair_is_found_by_a_later_one() {
        let mut rack = sent(2);
        rack.on_timeout(at(100));
        rack.on_resend(0, at(100));
        rack.on_resend(MSS, at(101));
        sack(&mut rack, 1, 111);
        let found = rack.look_for_losses(WINDOW, false, at(110));
        assert_eq!(found, Found { wait: Some(Span::ms(1)), ..Found::default() });
        let found = rack.look_for_losses(WINDOW, true, at(111));
        assert_eq!(found, Found { bytes: MSS, again: Some(at(100)), wait: None });
        assert_eq!(rack.next_lost(), Some((0, MSS)));
    }

    /// S.6.2 step 2: the answer to a segment that was sent again counts unless it may be the original's: by an older echo, or after less than the
    /// least round trip. Where it counts, two that were sent earlier are lost.
    #[test]
    fn an_answer_that_may_be_the_originals_tells_nothing() {
        let ps = Span::ps(1);
        for (stamp, now, lost) in [
            (at(100), at(110), 2 * MSS),
            (at(100) - ps, at(110), 0),
            (at(100) + ps, at(110), 2 * MSS),
            (at(100), at(110) - ps, 0),
        ] {
            let mut rack = sent(3);
            rack.on_round_trip(Span::ms(12));
            rack.on_round_trip(Span::ms(10));
            rack.on_round_trip(Span::ms(11));
            rack.on_resend(0, at(100));
            rack.on_ack(MSS, now, stamp);
            assert_eq!(
                (rack.look_for_losses(Span::ZERO, false, now).bytes, rack.least_rtt()),
                (lost, Span::ms(10))
            );
        }
    }

    /// S.6.2 step 4: where sequence was kept so far, a window that losses may have waits for nothing; else a quarter of the least round trip,
    /// and the smoothed one at most. Reordering is a segment, never sent again, that comes below the highest one.
    #[test]
    fn only_reordering_makes_repairs_wait() {
        let (least, long) = (Span::ms(8), Span::ms(99));
        let mut rack = sent(4);
        sack(&mut rack, 0, 8);
        sack(&mut rack, 1, 9);
        let windows = |rack: &Rack| {
            [rack.window(true, long), rack.window(false, long), rack.window(false, Span::ms(1))]
        };
        assert_eq!((rack.least_rtt(), rack.overtaken()), (least, 0));
        assert_eq!(windows(&rack), [Span::ZERO, Span::ms(2), Span::ms(1)]);
        sack(&mut rack, 3, 12);
        assert_eq!(rack.overtaken(), 0);
        sack(&mut rack, 2, 13);
        assert_eq!(rack.overtaken(), 2 * MSS, "from its first byte to the highest one");
        assert_eq!(windows(&rack), [Span::ms(2), Span::ms(2), Span::ms(1)]);
    }

    /// S.6.2, RACK_sent_after: of segments that left at once, the later number was sent later.
    #[test]
    fn numbers_order_what_left_at_once() {
        let mut rack = Rack::default();
        (0..3).for_each(|n| rack.on_send(n * MSS, (n + 1) * MSS, false, at(0)));
        sack(&mut rack, 1, 10);
        assert_eq!(rack.look_for_losses(Span::ZERO, false, at(10)), Found { bytes: MSS, ..Found::default() });
        assert_eq!(rack.waiting(), [0]);
    }

    /// S.6.3: a timeout takes the oldest for lost, and what was sent a round trip ago or earlier. One of 10 ms is known, and five segments left a
    /// millisecond apart.
    #[test]
    fn a_timeout_loses_what_is_a_round_trip_old() {
        let mut rack = sent(5);
        sack(&mut rack, 1, 11);
        rack.probe = Some(Probe { end: 5 * MSS, again: true });
        rack.on_timeout(at(13));
        assert_eq!((rack.waiting(), rack.probe), (vec![0, 2 * MSS, 3 * MSS], None));
        assert_eq!((rack.flight(5 * MSS), rack.sacked()), (MSS, MSS));
        let mut young = sent(2);
        young.on_round_trip(Span::ms(10));
        sack(&mut young, 1, 11);
        young.on_timeout(at(1));
        assert_eq!(young.waiting(), [0], "the oldest, however young");
    }

    /// Linux `tcp_packets_in_flight`, `tcp_sacktag_one`: a probe of a segment that is not lost is in flight beside it, and when one of the two
    /// has come the other still is.
    #[test]
    fn a_probe_is_in_flight_beside_its_segment() {
        let mut rack = sent(2);
        rack.on_resend(MSS, at(50));
        assert_eq!((rack.flight(2 * MSS), rack.lost_and_resent(), rack.has_lost()), (3 * MSS, [0, 1], false));
        sack(&mut rack, 1, 60);
        assert_eq!((rack.flight(2 * MSS), rack.sacked(), rack.sacked_segments()), (2 * MSS, MSS, 1));
        rack.on_ack(2 * MSS, at(61), at(50));
        assert_eq!((rack.flight(0), rack.outstanding(), rack.last()), (0, 0, None));
    }

    /// A part of the oldest segment is acknowledged: it begins there, and a repair of it is still one. A FIN's number needs no report by SACK.
    #[test]
    fn a_part_of_a_segment_is_taken_off() {
        let mut rack = sent(2);
        rack.on_send(2 * MSS, 3 * MSS + 1, true, at(2));
        sack(&mut rack, 2, 12);
        assert_eq!((rack.sacked(), rack.last()), (MSS + 1, Some((2 * MSS, 3 * MSS + 1))));
        rack.look_for_losses(Span::ZERO, false, at(12));
        rack.on_resend(0, at(20));
        rack.on_ack(400, at(21), at(0));
        assert_eq!((rack.oldest_sent(), rack.outstanding(), rack.is_single()), (Some(at(20)), 3, false));
        // 600 bytes of the first are sent again, the second waits, the third has come.
        assert_eq!((rack.flight(2601), rack.lost_and_resent(), rack.waiting()), (600, [2, 1], vec![MSS]));
        rack.on_ack(2 * MSS, at(30), at(20));
        assert!(rack.is_single());
    }
}
