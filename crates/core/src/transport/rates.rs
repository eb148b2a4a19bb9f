//! Samples of the delivery rate, for congestion controls that ask for them.
//!
//! Source: draft-ietf-ccwg-bbr (3 August 2026), s.4.1 "Delivery Rate Samples", and s.4.2 for round-trip times. A record of each
//! segment in flight keeps what the connection knew when the segment left; the newest segment that an acknowledgement
//! reports gives the sample.
//! A repair is found needless by the echo of a stamp (RFC 3522 s.3.2, Eifel): the first acknowledgement beyond the segment
//! that was sent again answers the original.
//! Left out: bytes that wait in the host's port count as in flight (the draft's C.pending_transmissions); a needless repair
//! goes on, and only the control undoes its reductions. Without RACK a segment counts as lost when it is sent again.

use super::acks::Heard;
use super::config::Config;
use super::sender::Sender;
use crate::cc::{CongestionControl, LostPacket, RateSample, Transmit};
use shallows_units::{Span, Time};
use std::collections::VecDeque;

/// State of the connection when a segment left (s.4.1.2.1.2, P).
#[derive(Debug, Clone, Copy)]
struct Record {
    seq: u64,
    end: u64,
    sent: Time,
    first_sent: Time,
    delivered: u64,
    delivered_at: Time,
    lost: u64,
    in_flight: u64,
    app_limited: bool,
    /// An acknowledgement has reported it.
    done: bool,
    /// It counts as lost since it was last sent.
    gone: bool,
    resent: bool,
}

/// State of one sender (s.4.1.2.1.1, C).
#[derive(Debug, Default)]
pub struct Rates {
    records: VecDeque<Record>,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// `C.delivered` beyond which samples are no longer limited by the application; 0 for not limited.
    app_limited: u64,
    lost: u64,
    /// One beyond the segment last found lost: the next one below it begins a range.
    lost_end: u64,
    least_rtt: Option<Span>,
    /// The newest segment that this acknowledgement reports.
    newest: Option<Record>,
    newly: u64,
    rtt: Option<Span>,
    /// When the packet was sent that an acknowledgement by number answers.
    stamp: Option<Time>,
    /// The window counts as full until so much is delivered.
    full_until: u64,
    /// When a repair first sent the oldest segment again.
    resent_at: Option<Time>,
    /// This acknowledgement shows that repair to be needless.
    needless: bool,
}

impl Rates {
    /// s.4.1.2.2. `in_flight` includes the segment. A sample's time begins anew where all is acknowledged (SND.NXT = SND.UNA in
    /// draft-cheng-iccrg-delivery-rate-estimation-02 s.3.2; `packets_out` in Linux, net/ipv4/tcp_rate.c): after a needless timeout
    /// nothing counts as in flight, and the next acknowledgement reports a whole window.
    fn on_sent(&mut self, seq: u64, end: u64, in_flight: u64, now: Time) {
        if self.records.is_empty() {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let fresh = Record {
            seq,
            end,
            sent: now,
            first_sent: self.first_sent,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            lost: self.lost,
            in_flight,
            app_limited: self.app_limited != 0,
            done: false,
            gone: false,
            resent: false,
        };
        if self.records.back().is_none_or(|last| seq >= last.end) {
            return self.records.push_back(fresh);
        }
        let first = self.records.partition_point(|r| r.seq < seq);
        for record in self.records.range_mut(first..).take_while(|r| r.seq < end).filter(|r| !r.done) {
            *record = Record { seq: record.seq, end: record.end, resent: true, ..fresh };
        }
    }

    /// s.4.1.2.3, UpdateRateSample.
    fn deliver(&mut self, record: &Record, now: Time) {
        let size = record.end - record.seq;
        self.delivered += size;
        self.newly += size;
        self.delivered_at = now;
        let newer = |held: &Record| {
            record.sent > self.first_sent || (record.sent == self.first_sent && record.end > held.end)
        };
        if self.newest.as_ref().is_none_or(newer) {
            self.newest = Some(*record);
            self.first_sent = record.sent;
        }
    }

    fn on_acked(&mut self, una: u64, now: Time) {
        while let Some(record) = self.records.front().copied().filter(|r| r.end <= una) {
            self.records.pop_front();
            if !record.done {
                self.deliver(&record, now);
            }
        }
        if let Some(front) = self.records.front_mut().filter(|r| r.seq < una) {
            // A misbehaving receiver acknowledges a part of a segment, which gives no sample.
            let part = if front.done { 0 } else { una - front.seq };
            front.seq = una;
            (self.delivered, self.newly) = (self.delivered + part, self.newly + part);
        }
    }

    fn on_sacked(&mut self, first: u64, beyond: u64, now: Time) {
        let mut place = self.records.partition_point(|r| r.seq < first);
        while let Some(record) = self.records.get(place).copied().filter(|r| r.end <= beyond) {
            if !record.done {
                self.deliver(&record, now);
                self.records[place].done = true;
            }
            place += 1;
        }
    }

    /// The segment at `place` counts as lost from now on.
    fn lose(&mut self, place: usize) -> Option<LostPacket> {
        let record = self.records.get_mut(place).filter(|r| !r.gone && !r.done)?;
        record.gone = true;
        let record = *record;
        self.lost += record.end - record.seq;
        let begins_range = record.seq != self.lost_end;
        self.lost_end = record.end;
        Some(LostPacket {
            bytes: record.end - record.seq,
            lost: self.lost - record.lost,
            in_flight: record.in_flight,
            app_limited: record.app_limited,
            begins_range,
            delivered: self.delivered,
        })
    }

    fn place(&self, seq: u64) -> usize {
        self.records.partition_point(|r| r.seq < seq)
    }

    /// Linux tcp_clean_rtx_queue, tcp_ack_update_rtt: by the newest packet, or by the stamp, whose unit is a millisecond
    /// (`tcp_rtt_tsopt_us`), where that was sent again.
    fn newest_rtt(&mut self, now: Time) -> Option<Span> {
        let stamp = self.stamp.take();
        let newest = self.newest.as_ref()?;
        if !newest.resent {
            return Some(now - newest.sent);
        }
        let millis = |time: Time| time.as_ps() / Span::ms(1).as_ps();
        stamp.map(|stamp| Span::ms((millis(now) - millis(stamp)).max(1)))
    }

    /// s.4.1.2.3, GenerateRateSample.
    fn sample(&mut self, in_flight: u64, now: Time) -> RateSample {
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let mut sample = RateSample {
            newly_acked: std::mem::take(&mut self.newly),
            total_delivered: self.delivered,
            rtt: std::mem::take(&mut self.rtt),
            newest_rtt: self.newest_rtt(now),
            in_flight,
            cwnd_limited: self.delivered <= self.full_until,
            ..RateSample::default()
        };
        if let Some(packet) = self.newest.take() {
            let interval = (packet.sent - packet.first_sent).max(self.delivered_at - packet.delivered_at);
            sample.prior_delivered = Some(packet.delivered);
            sample.app_limited = packet.app_limited;
            sample.delivered = self.delivered - packet.delivered;
            sample.lost = self.lost - packet.lost;
            sample.tx_in_flight = packet.in_flight;
            sample.interval = interval;
            if interval > Span::ZERO && self.least_rtt.is_none_or(|least| interval >= least) {
                sample.rate = sample.delivered as f64 / interval.as_secs_f64();
            }
        }
        sample
    }
}

impl Sender {
    /// s.4.1.2.4, MarkConnectionAppLimited where its conditions hold. Linux (`tcp_rate_check_app_limited`) wants the host's port empty
    /// of the connection's packets too; that is left out, since packets wait for pacing before the port here.
    #[inline(never)]
    pub(super) fn note_app_limit(&mut self, config: &Config) {
        let flight = self.flight(config);
        let all_resent = self.losses.rack().is_none_or(|rack| rack.next_lost().is_none());
        let idle = self.next >= self.half.limit() && flight < self.half.window.bytes() && all_resent;
        if let Some(rates) = &mut self.rates
            && idle
        {
            rates.app_limited = (rates.delivered + flight).max(1);
        }
    }

    /// A segment is about to leave.
    #[inline(never)]
    pub(super) fn note_sending(&mut self, seq: u64, payload: u64, config: &Config, now: Time) {
        let again = seq < self.high;
        if again && !self.losses.is_by_time() {
            self.note_lost(config, now, |rates| vec![rates.place(seq)]);
        }
        let flight = self.flight(config);
        let window = self.send_window(config);
        let oldest = again && seq == self.half.una && !self.recovery.is_open();
        let Some(rates) = &mut self.rates else { return };
        let transmit =
            Transmit { in_flight: flight, app_limited: rates.app_limited != 0, srtt: self.rtt.srtt() };
        if payload > 0 {
            rates.on_sent(seq, seq + payload, flight + payload, now);
        }
        if flight + payload + config.rules.mss > window {
            rates.full_until = rates.delivered + flight + payload;
        }
        if oldest {
            rates.resent_at.get_or_insert(now);
        }
        self.with_cc(config, now, |cc, cx| cc.on_transmit(&transmit, cx));
    }

    /// Parts of the stream are reported by SACK for the first time.
    #[inline(never)]
    pub(super) fn sample_sacked(&mut self, blocks: &[(u64, u64)], low: u64, now: Time) {
        let Some(rates) = &mut self.rates else { return };
        for (first, beyond) in blocks {
            let (first, beyond) = ((*first).max(low), (*beyond).min(self.high));
            self.board.each_gap(first, beyond, |first, beyond| rates.on_sacked(first, beyond, now));
        }
    }

    /// Everything below `una` is acknowledged, in answer to a packet sent at `stamp`.
    #[inline(never)]
    pub(super) fn sample_acked(&mut self, una: u64, stamp: Time, now: Time) {
        let Some(rates) = &mut self.rates else { return };
        rates.on_acked(una, now);
        (rates.rtt, rates.stamp) = (Some(now - stamp), Some(stamp));
        rates.needless = rates.resent_at.take().is_some_and(|resent| stamp < resent);
    }

    /// The control learns of the losses at the places that `find` gives.
    fn note_lost(&mut self, config: &Config, now: Time, find: impl FnOnce(&Rates) -> Vec<usize>) {
        let Some(rates) = &mut self.rates else { return };
        let lost: Vec<LostPacket> = find(rates).into_iter().filter_map(|place| rates.lose(place)).collect();
        for packet in lost {
            self.with_cc(config, now, |cc, cx| cc.on_packet_lost(&packet, cx));
        }
    }

    /// Losses that RACK has found.
    #[inline(never)]
    pub(super) fn note_losses(&mut self, config: &Config, now: Time) {
        let Some(rack) = self.losses.rack() else { return };
        let waiting = rack.waiting();
        self.note_lost(config, now, |rates| waiting.into_iter().map(|seq| rates.place(seq)).collect());
    }

    /// The retransmission timer expired.
    #[inline(never)]
    pub(super) fn note_timeout(&mut self, config: &Config, now: Time) {
        if self.losses.is_by_time() {
            self.note_losses(config, now);
        } else {
            self.note_lost(config, now, |rates| (0..rates.records.len()).collect());
        }
        let flight = self.flight(config);
        self.with_cc(config, now, |cc, cx| cc.on_timeout(flight, cx));
    }

    /// An acknowledgement has had its effects on everything else: the control gets its sample.
    #[inline(never)]
    pub(super) fn end_sample(&mut self, heard: Heard, config: &Config, now: Time) {
        self.note_losses(config, now);
        let flight = self.flight(config);
        let repairing = self.recovery.is_fast() || self.recovery.is_after_timeout();
        let Some(rates) = &mut self.rates else { return };
        if rates.rtt.is_none() {
            rates.rtt = rates.newest.filter(|packet| !packet.resent).map(|packet| now - packet.sent);
        }
        if let Some(rtt) = rates.rtt {
            rates.least_rtt = Some(rates.least_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        if !repairing {
            rates.resent_at = None;
        }
        let needless = std::mem::take(&mut rates.needless);
        let sample = RateSample {
            in_fast_recovery: self.recovery.is_fast(),
            repairing,
            ece: heard.ece,
            sack: config.settings.sack,
            srtt: self.rtt.srtt(),
            prior_in_flight: heard.flight,
            pacing_wait: self.pacing.at.saturating_sub(now),
            ..rates.sample(flight, now)
        };
        if needless {
            self.with_cc(config, now, |cc, cx| cc.on_needless_repair(cx));
        }
        let limits_itself = self.with_cc(config, now, |cc, cx| cc.on_sample(&sample, cx));
        if let Some(rates) = &mut self.rates
            && limits_itself
        {
            rates.app_limited = (rates.delivered + flight).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;
    const RTT: Span = Span::ms(10);

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::ms(ms)
    }

    /// A connection whose least round trip is known.
    fn measured() -> Rates {
        Rates { least_rtt: Some(RTT), ..Rates::default() }
    }

    /// S.4.1.1.4: the rate is what was delivered over the longer of the times in which it was sent and in which it was acknowledged. Ten
    /// segments leave in 9 ms, and their acknowledgements come twice as far apart, the last 28 ms after the first sending.
    #[test]
    fn a_rate_is_that_of_the_slower_direction() {
        let mut rates = measured();
        (0..10).for_each(|n| rates.on_sent(n * MSS, (n + 1) * MSS, (n + 1) * MSS, at(n)));
        (1..=10).for_each(|n| rates.on_acked(n * MSS, at(8 + 2 * n)));
        let sample = rates.sample(0, at(28));
        assert_eq!((sample.delivered, sample.interval), (10 * MSS, Span::ms(28)));
        assert_eq!(sample.rate, 10.0 * MSS as f64 / 28e-3);
    }

    /// S.4.1.2.3: "if (RS.interval < C.min_rtt) ... no reliable rate". Two segments are sent again needlessly, one after the other. The first
    /// repair begins the sample of the second, whose acknowledgement answers the original and comes 2 ms after that of the first.
    #[test]
    fn a_sample_shorter_than_the_least_round_trip_has_no_rate() {
        let mut rates = measured();
        (0..2).for_each(|n| rates.on_sent(n * MSS, (n + 1) * MSS, (n + 1) * MSS, at(n)));
        let again = |rates: &mut Rates, n: u64, sent: u64, answered: u64| {
            rates.on_sent(n * MSS, (n + 1) * MSS, MSS, at(sent));
            rates.on_acked((n + 1) * MSS, at(answered));
            rates.sample(0, at(answered))
        };
        let first = again(&mut rates, 0, 15, 16);
        assert_eq!((first.interval, first.rate), (Span::ms(16), MSS as f64 / 16e-3));
        let second = again(&mut rates, 1, 17, 18);
        assert_eq!((second.delivered, second.interval, second.rate), (MSS, Span::ms(2), 0.0));
        // A sample of just the least round trip has one.
        rates.on_sent(2 * MSS, 3 * MSS, MSS, at(20));
        rates.on_acked(3 * MSS, at(30));
        assert_eq!(rates.sample(0, at(30)).rate, MSS as f64 / 10e-3);
    }
}
