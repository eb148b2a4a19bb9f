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
use crate::transport::sender::SenderCounts;
use crate::transport::window::Window;
use crate::transport::{Config, State};
use shallows_units::{Span, Time};
use std::collections::VecDeque;

/// The end that holds the data.
pub struct Source {
    flow: u32,
    label: u32,
    /// Where the queue pair is.
    pub state: State,
    /// Congestion control and its window.
    pub window: Window,
    /// Next byte to send: what was sent is done with, until a request goes back.
    pub una: u64,
    /// One beyond the highest byte ever sent.
    high: u64,
    /// Requests ask for everything below.
    asked: u64,
    /// Where the last request that went back begins: its first packet there is a first one.
    begins: u64,
    /// Bytes that the application at the other end reads.
    pub written: u64,
    /// Where messages end, and so packets.
    cutting: Cutting,
    /// Where the last requests begin, as many as may be outstanding.
    recent: VecDeque<u64>,
    /// A request is missing, and has been asked for.
    gap: bool,
    /// A request below this reports no new loss.
    told: u64,
    limiter: Limiter,
    /// The last packet has left the card's port.
    port_at: Time,
    /// A packet waits for these two.
    waits: bool,
    /// The timer is at the other end.
    pub rto_at: Time,
    /// Time of the soonest event that will look at all these.
    pub timer_at: Time,
    /// Statistics: recoveries are losses that requests reported, reductions notifications that came.
    pub counts: SenderCounts,
}

impl Source {
    /// A queue pair of which nothing was read.
    pub fn new(flow: u32, label: u32, info: &FlowInfo<'_>, config: &Config, now: Time) -> Self {
        let cc = config.cc.start(info, &crate::cc::Cx { now, rules: &config.rules });
        Source {
            flow,
            label,
            state: State::Closed,
            window: Window::new(cc, now),
            una: 0,
            high: 0,
            asked: 0,
            begins: 0,
            written: 0,
            cutting: Cutting::default(),
            recent: VecDeque::new(),
            gap: false,
            told: 0,
            limiter: Limiter::new(info.path.line_rate),
            port_at: Time::ZERO,
            waits: false,
            rto_at: Time::MAX,
            timer_at: Time::MAX,
            counts: SenderCounts::default(),
        }
    }

    // ---- the application ----

    /// The queue pair stands.
    pub fn open(&mut self) {
        self.state = State::Established;
    }

    /// A message will be read.
    pub fn announce(&mut self, message: &MessageInfo, config: &Config, now: Time) {
        self.cutting.announce(message.end);
        self.window.steer(&config.rules, now, |cc, cx| cc.on_message(message, cx));
    }

    /// `bytes` more will be read; nothing leaves before their request comes.
    pub fn write(&mut self, bytes: u64, _config: &Config, _net: &mut Net) {
        self.written = self.written.saturating_add(bytes);
    }

    /// Everything has been sent; whether it came, the other end knows.
    pub fn all_acknowledged(&self) -> bool {
        self.una >= self.written
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
            self.counts.ecn_reductions += 1;
            self.window.steer(&config.rules, now, |cc, cx| {
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
        if from < self.una {
            if from >= self.told {
                (self.told, self.counts.fast_recoveries) = (self.high, self.counts.fast_recoveries + 1);
                self.window.steer(&config.rules, net.now, |cc, cx| cc.on_congestion(Congestion::Loss, 0, cx));
            }
            (self.una, self.begins, self.asked) = (from, from, until);
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
        net.send(&Packet {
            at: Time::ZERO,
            seq: self.asked,
            stamp: net.now,
            waited: 0,
            flow: self.flow,
            label: self.label,
            extension: NONE,
            size: config.header + AETH,
            flags: Flags::ACK.with(NAK),
        });
    }

    // ---- sending ----

    /// Sends the next packet if it may go now; else its time is noted.
    fn pump(&mut self, config: &Config, net: &mut Net) {
        if self.state != State::Established || self.una >= self.asked {
            self.waits = false;
            return;
        }
        if config.roce.rescales {
            self.limiter.follow(self.window.cc().pacing_rate());
        }
        if self.limiter.at.max(self.port_at) > net.now {
            self.waits = true;
            return;
        }
        self.emit(config, net);
        self.waits = self.una < self.asked;
    }

    fn emit(&mut self, config: &Config, net: &mut Net) {
        let (now, high, seq) = (net.now, self.high, self.una);
        let (starts, ends) = self.cutting.message_of(seq);
        let beyond = ends.min(seq + config.rules.mss);
        let again = seq < high;
        let outgoing = Outgoing { kind: Kind::Data, again, remaining: self.written - seq, srtt: Span::ZERO };
        self.window.steer(&config.rules, now, |cc, cx| {
            cc.keep_time(high, cx);
            cc.on_send(&outgoing, cx)
        });
        let flags = Flags::default()
            .with_if(config.ect, config.ecn)
            .with_if(FIRST, seq == starts || seq == self.begins)
            .with_if(LAST, beyond == ends)
            .with_if(Flags::RETRANSMITTED, again);
        let size = config.header + config.roce.extra(flags) + (beyond - seq) as u16;
        self.counts.packets += 1;
        self.counts.retransmissions += u64::from(again);
        let paced = if config.roce.paces_wire { u64::from(size) } else { beyond - seq };
        self.limiter.on_send(now, (size.into(), paced), self.window.cc().pacing_rate());
        net.send(&Packet {
            at: Time::ZERO,
            seq,
            stamp: now,
            waited: 0,
            flow: self.flow,
            label: self.label,
            extension: NONE,
            size,
            flags,
        });
        self.port_at = net.leaves_host_at(self.flow);
        self.una = beyond;
        self.high = high.max(beyond);
    }

    /// When this queue pair wants to be woken.
    #[inline]
    pub fn wake_at(&self) -> Time {
        if self.waits { self.limiter.at.max(self.port_at) } else { Time::MAX }
    }

    /// The last packet has left the card's port.
    pub fn on_room(&mut self, at: Time) {
        self.port_at = at;
    }

    /// A timer event has come.
    pub fn on_timer(&mut self, config: &Config, net: &mut Net) {
        self.pump(config, net);
    }

    /// The warm-up ends: statistics begin.
    pub fn restart_counts(&mut self, now: Time) {
        self.counts = SenderCounts::default();
        self.window.restart(now);
    }
}
