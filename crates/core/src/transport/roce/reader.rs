//! The end of a queue pair that reads: it asks for messages, and for the rest of them where responses are missing.
//!
//! Source: InfiniBand specification s.9.7 (READ in the reliable service): responses have numbers, and one beyond a gap says that others are
//! lost; the reader asks again for everything from there on, once a gap. A timer runs while something is outstanding, and begins
//! again with each response that comes in order. So many timeouts in a row as the retry count says are survived. No more than
//! a given number of requests are outstanding: both ends agree on it when they connect.

use super::responder::{Notifications, answer};
use super::wire::{NAK, RETH};
use crate::net::Net;
use crate::packet::{Extension, Flags, Packet};
use crate::transport::Config;
use crate::transport::receiver::ReceiverCounts;
use shallows_units::Time;
use std::collections::VecDeque;

/// The end that reads.
#[derive(Debug, Clone)]
pub struct Reader {
    flow: u32,
    label: u32,
    /// Next byte expected; everything below has been read.
    pub next: u64,
    /// Ends of messages that are not read whole.
    posted: VecDeque<u64>,
    /// So many of them, the oldest, have been asked for.
    outstanding: usize,
    /// The gap at `next` causes no request before this.
    ask_at: Time,
    notifications: Notifications,
    /// When the timer expires.
    pub rto_at: Time,
    /// Timeouts in a row.
    retries: u64,
    /// Its retries are used up.
    failed: bool,
    /// Timeouts so far.
    pub timeouts: u64,
    /// Time of the soonest event that will look at the timer.
    pub timer_at: Time,
    /// Statistics.
    pub counts: ReceiverCounts,
}

impl Reader {
    /// Has read nothing.
    pub fn new(flow: u32, label: u32) -> Self {
        Reader {
            flow,
            label,
            next: 0,
            posted: VecDeque::new(),
            outstanding: 0,
            ask_at: Time::ZERO,
            notifications: Notifications::default(),
            rto_at: Time::MAX,
            retries: 0,
            failed: false,
            timeouts: 0,
            timer_at: Time::MAX,
            counts: ReceiverCounts::default(),
        }
    }

    /// The application reads on, up to byte `end`.
    pub fn post(&mut self, end: u64, config: &Config, net: &mut Net) {
        self.posted.push_back(end);
        self.ask_more(config, net);
    }

    /// A response, or a NAK of a request.
    pub fn on_packet(&mut self, packet: &Packet, config: &Config, net: &mut Net) {
        let rules = &config.roce;
        if packet.flags.any(NAK) {
            return self.ask_again(packet.seq, config, net);
        }
        let marked = self.counts.add(packet, net.now);
        if marked && self.notifications.due(rules, net.now) {
            Notifications::send((self.flow, self.label), packet, config, net);
        }
        if packet.seq > self.next && net.now >= self.ask_at {
            self.ask_at = net.now + rules.nak_interval;
            self.ask_again(self.next, config, net);
        }
        if packet.seq != self.next || self.failed {
            return;
        }
        self.next += u64::from(packet.size - config.header - rules.extra(packet.flags));
        (self.ask_at, self.retries) = (Time::ZERO, 0);
        while self.posted.front().is_some_and(|end| *end <= self.next) {
            self.posted.pop_front();
            self.outstanding -= 1;
        }
        self.ask_more(config, net);
        self.rto_at = if self.outstanding > 0 { net.now + rules.timeouts[0] } else { Time::MAX };
    }

    /// Asks for messages while more may be outstanding.
    fn ask_more(&mut self, config: &Config, net: &mut Net) {
        let most = config.roce.reads.unwrap_or(1) as usize;
        while self.outstanding < most.min(self.posted.len()) && !self.failed {
            self.ask(self.outstanding, config, net);
            self.outstanding += 1;
            self.rto_at = self.rto_at.min(net.now + config.roce.timeouts[0]);
        }
    }

    /// Asks again for all that is outstanding from `from` on.
    #[cold]
    fn ask_again(&mut self, from: u64, config: &Config, net: &mut Net) {
        for number in 0..self.outstanding {
            if self.posted[number] > from {
                self.ask(number, config, net);
            }
        }
    }

    /// Asks for message `number` of those that are not read whole, or for its rest.
    fn ask(&self, number: usize, config: &Config, net: &mut Net) {
        let from = number.checked_sub(1).map_or(self.next, |before| self.posted[before]);
        let mut range = Extension { blocks: 1, ..Extension::default() };
        range.sack[0] = (from, self.posted[number]);
        let extension = net.extensions.put(&range);
        let size = config.header + RETH;
        answer((self.flow, self.label), (Flags::default(), from), (size, extension), net.now, net);
    }

    /// A timer event has come.
    pub fn on_timer(&mut self, config: &Config, net: &mut Net) {
        if net.now < self.rto_at {
            return;
        }
        self.timeouts += 1;
        if self.retries >= config.roce.retry_count {
            (self.failed, self.rto_at) = (true, Time::MAX);
            return;
        }
        self.retries += 1;
        self.rto_at = net.now + config.roce.timeouts[0];
        self.ask_again(self.next, config, net);
    }
}
