//! The sending end of a queue pair: its rate limiter, its timer, and what it sends again.
//!
//! Source: InfiniBand specification s.9.7.5 and 9.7.6 (NAK, local ACK timeout, retry count). The timer runs while something is
//! outstanding, and begins again with each acknowledgement or NAK that comes (o9-85 there, as conweave quotes it); conweave's
//! with each packet sent too, so that a lost retransmission waits until nothing more may be sent. An acknowledgement that moves
//! on gives all retries back. Only timeouts use them up. Packets go while less than the window is in flight (`IsWinBound` in the
//! simulator of HPCC's authors).
//! A responder may acknowledge many packets at once. So a packet behind which the window lets no other out asks for an
//! acknowledgement (AckReq), as a message's last does. If the window has shrunk below what is in flight and no answer is due,
//! one packet more goes, and asks: the specification leaves to the requester which packets ask.

use super::irn::Selective;
use super::limiter::Limiter;
use super::wire::{ASKS, FIRST, LAST};
use crate::cc::{Congestion, CongestionControl, FlowInfo, Kind, MessageInfo, Outgoing};
use crate::net::Net;
use crate::packet::{Extension, Flags, NONE};
use crate::port_control::Feedback;
use crate::transport::cutting::Cutting;
use crate::transport::half::{Half, Turn};
use crate::transport::rtt::RttEstimator;
use crate::transport::{Config, State};
use shallows_units::{Span, Time};

/// The sending end. Its statistics count losses that NAKs reported, each once, as recoveries, and notifications that came as
/// reductions. With go-back-0 `half.una` falls back to where its message begins.
pub struct Requester {
    /// The part that all transports have in common.
    pub half: Half,
    /// Its turn at the card's port. A packet waits for that and for the rate limiter.
    pub(in crate::transport) turn: Turn,
    /// Next byte to send; falls back when all is sent again.
    pub(super) next: u64,
    /// One beyond the highest byte ever sent.
    pub(super) high: u64,
    /// Where messages end, and so packets.
    pub(super) cutting: Cutting,
    /// Packets below `high`.
    sent: u64,
    /// The responder answers the packet that ends here, at the latest.
    pub(super) asked: u64,
    /// Without IRN, a NAK below this reports no new loss.
    pub(super) reported: u64,
    /// A round ends when more than this is acknowledged.
    pub(super) round_end: u64,
    /// With IRN.
    pub(super) selective: Option<Box<Selective>>,
    /// With IRN: most packets in flight.
    bdp: Option<u64>,
    /// Timeout with few packets in flight, and with more.
    timeouts: [Span; 2],
    /// The rate limiter.
    limiter: Limiter,
    pub(super) rtt: RttEstimator,
    /// Since when the timer runs.
    timer_since: Time,
    /// Timeouts in a row.
    pub(super) retries: u64,
}

impl Requester {
    /// A queue pair that has sent nothing.
    pub fn new(flow: u32, label: u32, info: &FlowInfo<'_>, config: &Config, now: Time) -> Self {
        let path = info.path;
        let bits = u128::from(path.line_rate.as_bps()) * u128::from(path.base_rtt.as_ps());
        // Mittal 2018: in packets.
        let bdp = match config.roce.bdp {
            Some(bytes) => bytes / config.rules.mss,
            None => ((bits / 8_000_000_000_000) as u64).div_ceil(config.packet),
        };
        let [low, high] = config.roce.timeouts;
        let high = if config.roce.above_path { low.max(high + path.base_rtt) } else { high };
        Requester {
            half: Half::new(flow, label, info, config, now),
            turn: Turn::default(),
            next: 0,
            high: 0,
            cutting: Cutting::default(),
            sent: 0,
            asked: 0,
            reported: 0,
            round_end: 0,
            selective: config.roce.selective.then(Box::default),
            bdp: config.roce.selective.then_some(bdp.max(1)),
            timeouts: [low, high],
            limiter: Limiter::new(path.line_rate),
            rtt: RttEstimator::default(),
            timer_since: Time::ZERO,
            retries: 0,
        }
    }

    // ---- the application ----

    /// The application is about to post a message.
    pub fn announce(&mut self, message: &MessageInfo, config: &Config, now: Time) {
        self.cutting.announce(message.end);
        self.half.announce(message, config, now);
    }

    /// The application posts `bytes` more.
    pub fn write(&mut self, bytes: u64, config: &Config, net: &mut Net) {
        self.half.write(bytes);
        self.pump(config, net);
    }

    /// Bytes in flight, as the windows count them.
    pub fn flight(&self) -> u64 {
        self.next - self.half.una
    }

    /// Bytes known to have arrived beyond the acknowledgement.
    pub fn sacked(&self) -> u64 {
        self.selective.as_ref().map_or(0, |selective| selective.arrived())
    }

    /// Smoothed round-trip time, if there is one.
    pub fn srtt(&self) -> Option<Span> {
        self.rtt.known()
    }

    // ---- sending ----

    /// With IRN: packets from the oldest that is not acknowledged on.
    fn packets_in_flight(&self, config: &Config) -> u64 {
        self.sent - self.cutting.packets_below(self.half.una, config.rules.mss)
    }

    /// The packet that the windows allow next: its first byte and its bytes.
    fn next_packet(&mut self, config: &Config) -> Option<(u64, u64)> {
        let mtu = config.rules.mss;
        if let Some((at, end)) =
            self.selective.as_ref().and_then(|selective| selective.next_lost(self.half.una))
        {
            let payload = mtu.min(self.cutting.message_of(at).1 - at).min(end.unwrap_or(u64::MAX) - at);
            // A timeout sends again as anew: as conweave does, within the window.
            let fits = end.is_some() || at - self.half.una < self.half.window.bytes();
            return fits.then_some((at, payload));
        }
        let seq = self.next;
        if seq >= self.half.written {
            return None;
        }
        let payload = mtu.min(self.cutting.message_of(seq).1 - seq);
        let fits = self.flight() < self.half.window.bytes()
            && self.bdp.is_none_or(|most| self.packets_in_flight(config) < most);
        (fits || !self.answer_is_due(config)).then_some((seq, payload))
    }

    /// Whether the responder answers a packet in flight by itself: one that asked, or the last of `ack_every`.
    fn answer_is_due(&self, config: &Config) -> bool {
        self.asked > self.half.una || self.flight() >= config.roce.ack_every * config.rules.mss
    }

    /// Whether the packet that ends at `beyond` asks for an answer: none may follow before one comes, or a timeout has passed
    /// without any.
    fn asks(&self, beyond: u64, config: &Config) -> bool {
        let full = beyond - self.half.una >= self.half.window.bytes();
        !config.roce.answers_each && (full || beyond >= self.half.written || self.retries > 0)
    }

    /// Sends the next packet if it may go now; else its time is noted.
    pub(super) fn pump(&mut self, config: &Config, net: &mut Net) {
        if self.half.state != State::Established {
            return;
        }
        let Some(packet) = self.next_packet(config) else {
            self.turn.waits = false;
            return;
        };
        if config.roce.rescales {
            self.limiter.follow(self.half.window.cc().pacing_rate());
        }
        if self.limiter.at.max(self.turn.at) > net.now {
            self.turn.waits = true;
            return;
        }
        self.emit(packet, config, net);
        self.turn.waits = self.next_packet(config).is_some();
    }

    fn emit(&mut self, (seq, payload): (u64, u64), config: &Config, net: &mut Net) {
        let (now, high) = (net.now, self.high);
        let (starts, ends) = self.cutting.message_of(seq);
        let (again, beyond) = (seq < high, seq + payload);
        let outgoing = Outgoing {
            kind: Kind::Data,
            again,
            remaining: self.half.written.saturating_sub(self.half.una),
            srtt: self.rtt.srtt(),
        };
        let explicit = config.explicit;
        let feedback = self.half.window.with_cc(&config.rules, now, |cc, cx| {
            cc.keep_time(high, cx);
            if explicit { cc.on_send(&outgoing, cx) } else { Feedback::None }
        });
        let (first, last) = (seq == starts, beyond == ends);
        let asks = !last && self.asks(beyond, config);
        let flags = Flags::default()
            .with_if(config.ect, config.ecn)
            .with_if(FIRST, first)
            .with_if(LAST, last)
            .with_if(ASKS, asks)
            .with_if(Flags::RETRANSMITTED, again);
        let reth = if first { config.roce.first } else { 0 };
        let extra = reth + feedback.bytes(false);
        let extension = match feedback {
            Feedback::None => NONE,
            feedback => net.extensions.put(&Extension { feedback, ..Extension::default() }),
        };
        let size = config.header + payload as u16 + extra;
        self.half.counts.packets += 1;
        self.half.counts.retransmissions += u64::from(again);
        let paced = if config.roce.paces_wire { u64::from(size) } else { payload };
        self.limiter.on_send(now, (size.into(), paced), self.half.window.cc().pacing_rate());
        net.send(&self.half.packet(seq, (size, flags), extension, now));
        self.turn.at = net.leaves_host_at(self.half.flow);
        match self.selective.as_mut().filter(|_| again) {
            Some(selective) => selective.on_resend(beyond),
            None => self.next = beyond,
        }
        self.high = high.max(beyond);
        self.sent += u64::from(!again);
        if asks || last || config.roce.answers_each {
            self.asked = self.asked.max(beyond);
        }
        // A repeat of the oldest packet that waited for its turn at the port is not overdue while it waits.
        if self.half.rto_at == Time::MAX || again && seq <= self.half.una {
            self.restart_timer(config, now);
        } else {
            self.set_timer(config);
        }
    }

    pub(super) fn restart_timer(&mut self, config: &Config, now: Time) {
        self.timer_since = now;
        self.set_timer(config);
    }

    /// With IRN the timer is the longer one as soon as enough packets are in flight.
    fn set_timer(&mut self, config: &Config) {
        let few = self.selective.is_some() && self.packets_in_flight(config) < config.roce.few;
        self.half.rto_at = self.timer_since + self.timeouts[usize::from(!few)];
    }

    // ---- timers ----

    /// When this queue pair wants to be woken.
    #[inline]
    pub fn wake_at(&self) -> Time {
        if self.turn.waits {
            self.half.rto_at.min(self.limiter.at.max(self.turn.at))
        } else {
            self.half.rto_at
        }
    }

    /// A timer event has come.
    pub fn on_timer(&mut self, config: &Config, net: &mut Net) {
        if net.now >= self.half.rto_at {
            self.on_timeout(config, net.now);
        }
        self.pump(config, net);
    }

    #[cold]
    fn on_timeout(&mut self, config: &Config, now: Time) {
        self.half.counts.timeouts += 1;
        if self.retries >= config.roce.retry_count {
            self.half.state = State::Failed;
            (self.half.rto_at, self.turn.waits) = (Time::MAX, false);
            return;
        }
        self.retries += 1;
        self.reported = self.high;
        let flight = self.flight();
        let from = self.first_lost(config);
        match &mut self.selective {
            None => self.go_back(from),
            Some(selective) => selective.on_timeout(self.half.una, self.high, config.roce.resends_all),
        }
        self.restart_timer(config, now);
        self.half
            .window
            .with_cc(&config.rules, now, |cc, cx| cc.on_congestion(Congestion::Timeout, flight, cx));
    }

    /// Where all is sent again from, without IRN: the oldest byte that is not acknowledged, with go-back-0 the first of its
    /// message.
    pub(super) fn first_lost(&mut self, config: &Config) -> u64 {
        if config.roce.restarts { self.cutting.message_of(self.half.una).0 } else { self.half.una }
    }

    /// All from `from` on goes again, and what was sent says no more.
    pub(super) fn go_back(&mut self, from: u64) {
        if from < self.half.una {
            self.round_end = from;
        }
        (self.half.una, self.next, self.asked) = (from, from, from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::PathInfo;
    use crate::params::{Faults, Table};
    use crate::transport::Transport;
    use serde_json::{Value, json};

    /// A queue pair over a path of 10 Gb/s and this round trip. Its control has a window of ten packets of 1024 bytes.
    fn requester(changes: Value, base_rtt: Span) -> (Requester, Config) {
        let mut map =
            json!({"profile": "roce", "cc": {"kind": "newreno"}}).as_object().expect("a table").clone();
        map.extend(changes.as_object().expect("a table").clone());
        let mut faults = Faults::default();
        let transport = Transport::read(&mut Table::new("transport", &map, &mut faults), &map.clone());
        let config = Config::new(&transport.expect("no fault"));
        let info = FlowInfo::default();
        let info = FlowInfo { path: PathInfo { base_rtt, ..info.path }, ..info };
        (Requester::new(0, 0, &info, &config, Time::ZERO), config)
    }

    const RTT: Span = Span::us(100);

    /// Mittal 2018: IRN bounds the packets in flight by the bandwidth-delay product, 125 000 bytes here, in packets of 1086 bytes on the wire; one that
    /// is written counts payload. At least one may go.
    #[test]
    fn irn_bounds_packets_by_the_product() {
        let bdp = |changes: Value| requester(changes, RTT).0.bdp;
        assert_eq!(bdp(json!({})), None);
        assert_eq!(bdp(json!({"repair": "irn"})), Some(125_000u64.div_ceil(1086)));
        let written = |bytes: &str| bdp(json!({"repair": "irn", "bdp": bytes}));
        assert_eq!(["9215B", "9216B", "1B"].map(written), [Some(8), Some(9), Some(1)]);
    }

    /// Mittal 2018: the timeout is the long one while at least `rto_low_packets` are in flight. Where it follows the path, it is no shorter than the short
    /// one.
    #[test]
    fn few_packets_have_the_short_timeout() {
        let timeouts = |changes: Value, rtt: Span| requester(changes, rtt).0.timeouts;
        assert_eq!(timeouts(json!({"timeout": "4ms"}), RTT), [Span::ms(4); 2]);
        let irn = json!({"repair": "irn"});
        assert_eq!(timeouts(irn.clone(), RTT), [Span::us(100), Span::us(320)]);
        let path = json!({"repair": "irn", "rto_high": "none"});
        assert_eq!(timeouts(path.clone(), Span::us(99)), [Span::us(100); 2]);
        assert_eq!(timeouts(path, Span::us(101)), [Span::us(100), Span::us(101)]);
        for (sent, span) in [(2, 100), (3, 320)] {
            let (mut requester, config) = requester(irn.clone(), RTT);
            requester.sent = sent;
            requester.restart_timer(&config, Time::ZERO + Span::us(5));
            assert_eq!(requester.half.rto_at, Time::ZERO + Span::us(5 + span));
        }
        let (mut go_back, config) = requester(json!({"timeout": "4ms"}), RTT);
        go_back.restart_timer(&config, Time::ZERO + Span::us(5));
        assert_eq!(go_back.half.rto_at, Time::ZERO + Span::us(4005));
    }

    /// A packet asks where none may follow: at the end of what is posted, or of the window, 10 240 bytes; and after a timeout. A responder that answers
    /// each packet need not be asked.
    #[test]
    fn the_last_packet_of_a_window_asks() {
        let asks = |every: u64, una: u64, beyond: u64, written: u64, retries: u64| {
            let (mut requester, config) = requester(json!({"ack_every": every}), RTT);
            (requester.half.una, requester.half.written, requester.retries) = (una, written, retries);
            requester.asks(beyond, &config)
        };
        assert_eq!([10_239, 10_240].map(|beyond| asks(4, 0, beyond, 99_999, 0)), [false, true]);
        assert_eq!([11_239, 11_240].map(|beyond| asks(4, 1000, beyond, 99_999, 0)), [false, true]);
        assert_eq!([4999, 5000].map(|beyond| asks(4, 0, beyond, 5000, 0)), [false, true]);
        assert!(asks(4, 0, 1, 5000, 1));
        assert!(!asks(1, 0, 10_240, 10_240, 1));
    }

    /// An answer comes for a packet that asked, or for the last of `ack_every`.
    #[test]
    fn an_answer_is_due_for_a_request_and_for_enough_packets() {
        let due = |asked: u64, next: u64| {
            let (mut requester, config) = requester(json!({"ack_every": 4}), RTT);
            (requester.half.una, requester.asked, requester.next) = (1000, asked, next);
            assert_eq!(requester.flight(), next - 1000);
            requester.answer_is_due(&config)
        };
        assert_eq!([1000, 1001].map(|asked| due(asked, 1000)), [false, true]);
        assert_eq!([4095, 4096].map(|flight| due(0, 1000 + flight)), [false, true]);
    }

    /// A packet that waits goes when the limiter and the port have let the last one out, unless the timer is first.
    #[test]
    fn a_waiting_packet_wakes_it_when_both_have_room() {
        let us = |us: u64| Time::ZERO + Span::us(us);
        for (waits, limiter, port, rto, wakes) in
            [(false, 3, 4, 9, 9), (true, 3, 4, 9, 4), (true, 5, 4, 9, 5), (true, 3, 10, 9, 9)]
        {
            let (mut requester, _) = requester(json!({}), RTT);
            (requester.turn.waits, requester.turn.at) = (waits, us(port));
            (requester.limiter.at, requester.half.rto_at) = (us(limiter), us(rto));
            assert_eq!(requester.wake_at(), us(wakes));
        }
    }
}
