//! The receiving end of ExpressPass: it sends credits, and counts those that did not bring data.
//!
//! Source: as `mod.rs`; Cho et al. 2017 s.3.1 and 3.2. A packet that carries credit number n behind number m says that the n - m - 1
//! between them were dropped, since credits and data keep their order on one path. The update period is the time from a credit to its data,
//! smoothed by 0.2 (the authors' simulator: `update_rtt`). An update goes by all that became known since the last one. With `judged = "own"` it goes by
//! the credits that were sent in the round trip after the last one, and comes when their fates are known, a round trip later.

use super::feedback::{Feedback, Period};
use super::wire::ANSWER;
use crate::events::random::Stream;
use crate::net::Net;
use crate::packet::{Extension, Flags, Packet};
use crate::transport::Config;
use crate::transport::ranges::Ranges;
use crate::transport::receiver::ReceiverCounts;
use shallows_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;

/// The receiving end.
#[derive(Debug, Clone)]
pub struct CreditReceiver {
    flow: u32,
    label: u32,
    /// Next byte expected; everything below has been delivered.
    pub next: u64,
    /// Held beyond `next`.
    held: Ranges,
    /// When the next credit goes; never while none are wanted.
    pub credit_at: Time,
    /// Time of the soonest event that will look at the end's timers.
    pub timer_at: Time,
    control: Feedback,
    /// Credits a second that fill the link.
    most: f64,
    /// Number of the next credit.
    number: u64,
    /// Number of the oldest credit of which nothing is known.
    unknown: u64,
    /// When that one and later ones were sent.
    sent_at: VecDeque<Time>,
    /// Credits of the present period that were dropped, and all of which something is known.
    period: (u64, u64),
    updated_at: Time,
    /// Number of the first credit of the period, and one beyond the last where that is known.
    judged: (u64, Option<u64>),
    /// From a credit to its data.
    rtt: Option<Span>,
    /// When something came from the sender.
    heard_at: Time,
    random: Stream,
    /// Credits sent, for the statistics.
    pub credits: u64,
    /// Statistics.
    pub counts: ReceiverCounts,
}

/// Weight of a new round trip (the authors' simulator: `update_rtt`).
const GAIN: f64 = 0.2;

impl CreditReceiver {
    /// Waiting for a request, at the end of a link of `rate`.
    pub fn new(flow: u32, label: u32, config: &Config, rate: Rate) -> Self {
        // A credit and the packet that it asks for have the link's time together (Cho 2017 s.3.1: 84 of 84 + 1538 bytes).
        let apart = rate.transmit(Bytes(config.packet + u64::from(config.expresspass.credit)));
        let most = 1.0 / apart.as_secs_f64();
        CreditReceiver {
            flow,
            label,
            next: 0,
            held: Ranges::default(),
            credit_at: Time::MAX,
            timer_at: Time::MAX,
            control: Feedback::new(most, &config.expresspass),
            most,
            number: 0,
            unknown: 0,
            sent_at: VecDeque::new(),
            period: (0, 0),
            updated_at: Time::ZERO,
            judged: (0, None),
            rtt: None,
            heard_at: Time::ZERO,
            // The label has a hash of the ends under the run's seed.
            random: Stream::new(u64::from(label), "credits", u64::from(flow)),
            credits: 0,
            counts: ReceiverCounts::default(),
        }
    }

    /// Bytes that have arrived whole, in order or not, each once.
    pub fn arrived(&self) -> u64 {
        self.next + self.held.bytes()
    }

    /// A packet from the sender.
    #[inline(never)]
    pub fn on_packet(&mut self, packet: &Packet, config: &Config, net: &mut Net) {
        self.heard_at = net.now;
        if packet.flags.any(Flags::PROBE) {
            if packet.flags.any(Flags::FIN) {
                self.rest();
                self.send(ANSWER, self.next, config, net);
            } else if self.credit_at == Time::MAX {
                self.begin(config, net);
            }
            return;
        }
        let about = net.extension(packet).unwrap_or_default();
        self.note_credit(about.sack[0].0, net.now);
        let beyond = packet.seq + u64::from(packet.size - config.header);
        self.counts.packets += 1;
        self.counts.marks += u64::from(packet.flags.any(Flags::CE));
        self.counts.wait_sum += u128::from(packet.waited);
        self.counts.delay_sum += u128::from((net.now - packet.stamp).as_ps());
        if packet.seq > self.next {
            self.held.add(packet.seq, beyond);
        } else if beyond > self.next {
            self.next = beyond;
            while let Some(end) = self.held.take_through(self.next) {
                self.next = self.next.max(end);
            }
        }
    }

    /// A request has come: credits begin, at the first rate (the authors' simulator: `recv_credit_request`).
    fn begin(&mut self, config: &Config, net: &mut Net) {
        self.control = Feedback::new(self.most, &config.expresspass);
        (self.period, self.updated_at) = ((0, 0), net.now);
        (self.unknown, self.judged, self.credit_at) = (self.number, (self.number, None), net.now);
        self.sent_at.clear();
        self.give(config, net);
    }

    /// No more credits.
    pub fn rest(&mut self) {
        self.credit_at = Time::MAX;
    }

    /// Data have come for credit `number`.
    fn note_credit(&mut self, number: u64, now: Time) {
        // One of before a stop, or one that was overtaken, says nothing.
        let Some(passed) = number.checked_sub(self.unknown).filter(|_| number < self.number) else { return };
        let mut sent_at = now;
        (0..=passed).for_each(|_| sent_at = self.sent_at.pop_front().unwrap_or(now));
        self.unknown = number + 1;
        // The period has the credits from its first number to its last: the one that came, and dropped ones below it.
        let (first, beyond) = (self.judged.0.max(number - passed), self.judged.1.unwrap_or(u64::MAX));
        let dropped = number.min(beyond).saturating_sub(first);
        let came = u64::from((first..beyond).contains(&number));
        self.period = (self.period.0 + dropped, self.period.1 + dropped + came);
        let rtt = now - sent_at;
        let smooth =
            |old: Span| Span::ps(((1.0 - GAIN) * old.as_ps() as f64 + GAIN * rtt.as_ps() as f64) as u64);
        self.rtt = Some(self.rtt.map_or(rtt, smooth));
    }

    /// A timer event has come.
    #[inline(never)]
    pub fn on_timer(&mut self, config: &Config, net: &mut Net) {
        if self.credit_at > net.now {
            return;
        }
        if net.now >= self.heard_at + config.expresspass.patience {
            return self.rest();
        }
        self.give(config, net);
    }

    /// Sends a credit and sets the time of the next one.
    fn give(&mut self, config: &Config, net: &mut Net) {
        let (rules, now) = (&config.expresspass, net.now);
        if let Some(rtt) = self.rtt.filter(|rtt| now - self.updated_at >= *rtt) {
            let beyond = *self.judged.1.get_or_insert(self.number);
            if self.period.1 > 0 && (rules.known || self.unknown >= beyond) {
                let ((dropped, total), round_trip) = (self.period, rtt.as_secs_f64());
                // News about a period's own credits spans the round trip in which they were sent.
                let seconds = if rules.known {
                    (now - self.updated_at).as_secs_f64()
                } else {
                    total as f64 / self.control.rate
                };
                self.control.update(Period { dropped, total, seconds, round_trip }, rules);
                let first = if rules.known { 0 } else { self.number };
                (self.period, self.updated_at, self.judged) = ((0, 0), now, (first, None));
            } else if rules.known {
                self.judged.1 = None;
            }
        }
        self.credits += 1;
        self.sent_at.push_back(now);
        self.send(Flags::CREDIT, self.number, config, net);
        self.number += 1;
        let gap = 1e12 / self.control.rate * (1.0 + rules.jitter * (2.0 * self.random.unit() - 1.0));
        self.credit_at = now + Span::ps((gap as u64).max(1));
    }

    /// Sends a packet with the next byte expected and the first gap behind it: an answer's number is that byte itself.
    fn send(&self, flags: Flags, seq: u64, config: &Config, net: &mut Net) {
        let mut about = Extension::default();
        about.sack[0] = (self.next, self.next);
        if let Some(beyond) = self.held.next_above(self.next) {
            about.sack[0].1 = beyond;
        }
        let extension = net.extensions.put(&about);
        net.send(&Packet {
            at: Time::ZERO,
            seq,
            stamp: net.now,
            waited: 0,
            flow: self.flow,
            label: self.label,
            extension,
            size: config.expresspass.credit,
            flags,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Faults, Table};
    use crate::transport::Transport;
    use serde_json::json;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::ms(ms)
    }

    /// A receiver at 10 Gb/s that has sent credits 0 to 9, the last five of which at 5 to 9 ms, and knows of all before.
    fn receiver() -> CreditReceiver {
        let map = json!({"profile": "expresspass", "cc": {"kind": "line-rate"}});
        let map = map.as_object().expect("a table").clone();
        let mut faults = Faults::default();
        let transport = Transport::read(&mut Table::new("transport", &map, &mut faults), &map.clone());
        let config = Config::new(&transport.expect("no fault"));
        let mut receiver = CreditReceiver::new(0, 0, &config, Rate::gbps(10));
        (receiver.unknown, receiver.number) = (5, 10);
        receiver.sent_at.extend((5..10).map(ms));
        receiver
    }

    /// Cho 2017 s.3.1: a credit of 84 bytes and the packet of 1538 that it asks for have the link's time together.
    #[test]
    fn credits_fill_the_link_with_their_packets() {
        let most = receiver().most;
        assert!((most * (84.0 + 1538.0) * 8.0 / 10e9 - 1.0).abs() < 1e-6, "{most}");
    }

    /// Cho 2017 s.3.2: credits keep their order, so that data for one shows those between it and the last one to be dropped. The round trip is from
    /// its sending, smoothed by 0.2.
    #[test]
    fn data_for_a_credit_shows_which_were_dropped() {
        let mut receiver = receiver();
        receiver.note_credit(7, ms(20));
        assert_eq!((receiver.period, receiver.unknown, receiver.sent_at.len()), ((2, 3), 8, 2));
        assert_eq!(receiver.rtt, Some(Span::ms(13)));
        // One of before, and one that was never sent, say nothing.
        for number in [4, 7, 10] {
            receiver.note_credit(number, ms(25));
        }
        assert_eq!((receiver.period, receiver.unknown, receiver.rtt), ((2, 3), 8, Some(Span::ms(13))));
        receiver.note_credit(8, ms(30));
        assert_eq!((receiver.period, receiver.unknown), ((2, 4), 9));
        let smooth = (0.8 * 13.0 + 0.2 * 22.0) * 1e9;
        assert!((receiver.rtt.expect("one").as_ps() as f64 - smooth).abs() <= 1.0, "{:?}", receiver.rtt);
        receiver.note_credit(9, ms(31));
        assert_eq!((receiver.period, receiver.unknown, receiver.sent_at.len()), ((2, 5), 10, 0));
    }

    /// A period of own credits counts those from its first to its last alone, dropped or not.
    #[test]
    fn a_period_counts_its_own_credits() {
        for (judged, number, period) in [
            ((0, None), 9, (4, 5)),
            ((6, None), 9, (3, 4)),
            ((6, Some(10)), 9, (3, 4)),
            ((6, Some(9)), 9, (3, 3)),
            ((6, Some(8)), 9, (2, 2)),
            ((7, Some(8)), 7, (0, 1)),
            ((8, Some(9)), 7, (0, 0)),
        ] {
            let mut receiver = receiver();
            receiver.judged = judged;
            receiver.note_credit(number, ms(20));
            assert_eq!(receiver.period, period, "{judged:?} {number}");
        }
    }
}
