//! The end of a queue pair that is read from: it sends what requests ask for, at the rate of its congestion control.
//!
//! Source: InfiniBand specification s.9.7 (READ in the reliable service): a request names a range; its responses take the numbers that
//! follow, first, middle and last; nobody acknowledges them. A request of a number that has passed is carried out again from
//! there, and replaces what was asked behind it. One beyond the next number expected is answered with a NAK, one a gap.
//! Congestion control works here, where the data leave. It gets notifications alone: no acknowledgement, no round-trip time, and
//! nothing that a window could count.
//! A request that goes back reports a loss, as a NAK does to a requester.

use super::limiter::Limiter;
use super::wire::{AETH, FIRST, LAST, NAK};
use crate::cc::{Congestion, CongestionControl, FlowInfo, Kind, MessageInfo, Outgoing};
use crate::net::Net;
use crate::packet::{Extension, Flags, NONE, Packet};
use crate::transport::cutting::Cutting;
use crate::transport::half::{Half, Turn};
use crate::transport::{Config, State};
use shallows_units::{Span, Time};
use std::collections::VecDeque;

/// The end that holds the data. `half.una` is the next byte to send: what was sent is done with, until a request goes back. The
/// retransmission timer is at the other end. Its statistics count losses that requests reported as recoveries, and notifications
/// that came as reductions.
pub struct Source {
    /// The part that all transports have in common.
    pub half: Half,
    /// Its turn at the card's port. A packet waits for that and for the rate limiter.
    pub(in crate::transport) turn: Turn,
    /// One beyond the highest byte ever sent.
    high: u64,
    /// Requests ask for everything below.
    asked: u64,
    /// Where the last request that went back begins: its first packet there is a first one.
    begins: u64,
    /// Where messages end, and so packets.
    cutting: Cutting,
    /// Where the last requests begin, as many as may be outstanding.
    recent: VecDeque<u64>,
    /// A request is missing, and has been asked for.
    gap: bool,
    /// A request below this reports no new loss.
    reported: u64,
    limiter: Limiter,
}

impl Source {
    /// A queue pair of which nothing was read.
    pub fn new(flow: u32, label: u32, info: &FlowInfo<'_>, config: &Config, now: Time) -> Self {
        Source {
            half: Half::new(flow, label, info, config, now),
            turn: Turn::default(),
            high: 0,
            asked: 0,
            begins: 0,
            cutting: Cutting::default(),
            recent: VecDeque::new(),
            gap: false,
            reported: 0,
            limiter: Limiter::new(info.path.line_rate),
        }
    }

    // ---- the application ----

    /// A message will be read.
    pub fn announce(&mut self, message: &MessageInfo, config: &Config, now: Time) {
        self.cutting.announce(message.end);
        self.half.announce(message, config, now);
    }

    /// `bytes` more will be read; nothing leaves before their request comes.
    pub fn write(&mut self, bytes: u64, _config: &Config, _net: &mut Net) {
        self.half.write(bytes);
    }

    /// No acknowledgement gives a round-trip time.
    pub fn srtt(&self) -> Option<Span> {
        None
    }

    // ---- arrivals ----

    /// A request or a notification.
    pub fn on_packet(&mut self, packet: &Packet, about: Option<Extension>, config: &Config, net: &mut Net) {
        let (now, high) = (net.now, self.high);
        if packet.flags.any(Flags::CNP) {
            self.half.counts.ecn_reductions += 1;
            self.half.window.with_cc(&config.rules, now, |cc, cx| {
                cc.keep_time(high, cx);
                cc.on_cnp(cx);
            });
        } else if let Some(until) = about.and_then(|about| about.sacked().first().map(|range| range.1)) {
            self.on_request(packet, until, config, net);
        }
        self.pump(config, net);
    }

    fn on_request(&mut self, packet: &Packet, until: u64, config: &Config, net: &mut Net) {
        let from = packet.seq;
        if from > self.asked {
            if !std::mem::replace(&mut self.gap, true) {
                self.ask_for_request(config, net);
            }
            return;
        }
        self.gap = false;
        if from < self.half.una {
            if from >= self.reported {
                (self.reported, self.half.counts.fast_recoveries) =
                    (self.high, self.half.counts.fast_recoveries + 1);
                self.half
                    .window
                    .with_cc(&config.rules, net.now, |cc, cx| cc.on_congestion(Congestion::Loss, 0, cx));
            }
            (self.half.una, self.begins, self.asked) = (from, from, until);
        } else {
            self.asked = self.asked.max(until);
        }
        // The oldest of more than may be outstanding has ended.
        let begins = self.cutting.message_of(from).0 == from;
        if begins && self.recent.back().is_none_or(|last| *last < from) {
            self.recent.push_back(from);
            if self.recent.len() as u64 > config.roce.reads.unwrap_or(1) {
                self.recent.pop_front();
                self.cutting.acknowledge(self.recent[0], config.rules.mss);
            }
        }
    }

    /// A request before the one that has come is missing.
    #[cold]
    fn ask_for_request(&mut self, config: &Config, net: &mut Net) {
        net.send(&self.half.packet(self.asked, (config.header + AETH, Flags::ACK.with(NAK)), NONE, net.now));
    }

    // ---- sending ----

    /// Sends the next packet if it may go now; else its time is noted.
    fn pump(&mut self, config: &Config, net: &mut Net) {
        if self.half.state != State::Established || self.half.una >= self.asked {
            self.turn.waits = false;
            return;
        }
        if config.roce.rescales {
            self.limiter.follow(self.half.window.cc().pacing_rate());
        }
        if self.limiter.at.max(self.turn.at) > net.now {
            self.turn.waits = true;
            return;
        }
        self.emit(config, net);
        self.turn.waits = self.half.una < self.asked;
    }

    fn emit(&mut self, config: &Config, net: &mut Net) {
        let (now, high, seq) = (net.now, self.high, self.half.una);
        let (starts, ends) = self.cutting.message_of(seq);
        let beyond = ends.min(seq + config.rules.mss);
        let again = seq < high;
        let outgoing =
            Outgoing { kind: Kind::Data, again, remaining: self.half.written - seq, srtt: Span::ZERO };
        self.half.window.with_cc(&config.rules, now, |cc, cx| {
            cc.keep_time(high, cx);
            cc.on_send(&outgoing, cx)
        });
        let flags = Flags::default()
            .with_if(config.ect, config.ecn)
            .with_if(FIRST, seq == starts || seq == self.begins)
            .with_if(LAST, beyond == ends)
            .with_if(Flags::RETRANSMITTED, again);
        let size = config.header + config.roce.extra(flags) + (beyond - seq) as u16;
        self.half.counts.packets += 1;
        self.half.counts.retransmissions += u64::from(again);
        let paced = if config.roce.paces_wire { u64::from(size) } else { beyond - seq };
        self.limiter.on_send(now, (size.into(), paced), self.half.window.cc().pacing_rate());
        net.send(&self.half.packet(seq, (size, flags), NONE, now));
        self.turn.at = net.leaves_host_at(self.half.flow);
        self.half.una = beyond;
        self.high = high.max(beyond);
    }

    /// When this queue pair wants to be woken.
    #[inline]
    pub fn wake_at(&self) -> Time {
        if self.turn.waits { self.limiter.at.max(self.turn.at) } else { Time::MAX }
    }

    /// A timer event has come.
    pub fn on_timer(&mut self, config: &Config, net: &mut Net) {
        self.pump(config, net);
    }
}
