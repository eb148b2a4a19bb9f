//! The sending end of ExpressPass: a packet for each credit.
//!
//! Source: as `mod.rs`; Cho et al. 2017 s.3.1, and the states of the authors' simulator (`XPASS_RECV_...`). Packets of a gap that the
//! receiver reports go again for the next credits, once a `timeout`.

use super::wire::{REQUEST, STOP};
use crate::cc::{FlowInfo, MessageInfo};
use crate::net::Net;
use crate::packet::{Extension, Flags, NONE, Packet};
use crate::transport::cutting::Cutting;
use crate::transport::half::Half;
use crate::transport::{Config, State};
use shallows_units::{Span, Time};

/// Most doublings of a timeout.
const MOST_DOUBLINGS: u32 = 10;

/// The event for which a sender waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing: all that was written has arrived.
    Idle,
    /// The first credit.
    Asked,
    /// Further credits.
    Served,
    /// The answer to its stop.
    Stopped,
}

/// The sending end. Its window is the card's rate, without bound.
pub struct CreditSender {
    /// The part that all transports have in common.
    pub half: Half,
    /// Next byte that has never been sent.
    next: u64,
    cutting: Cutting,
    /// To be sent again: first byte, and one beyond the last.
    again: (u64, u64),
    /// A gap below this has gone again, and when.
    repaired: (u64, Time),
    stage: Stage,
    /// Since when it waits.
    since: Time,
    /// Timeouts since something came.
    timeouts_in_a_row: u32,
    /// The least timeout.
    timeout: Span,
    /// Number of the last credit that came, and one more.
    credit: u64,
    /// Credits that let a packet out, for the statistics.
    pub used: u64,
    /// Credits for which there was nothing to send.
    pub wasted: u64,
    /// Credits that were dropped on their way.
    pub dropped: u64,
}

impl CreditSender {
    /// A connection that has sent nothing.
    pub fn new(flow: u32, label: u32, info: &FlowInfo<'_>, config: &Config, now: Time) -> Self {
        CreditSender {
            half: Half::new(flow, label, info, config, now),
            next: 0,
            cutting: Cutting::default(),
            again: (0, 0),
            repaired: (0, Time::ZERO),
            stage: Stage::Idle,
            since: now,
            timeouts_in_a_row: 0,
            timeout: config.expresspass.timeout.max(info.path.base_rtt * 2),
            credit: 0,
            used: 0,
            wasted: 0,
            dropped: 0,
        }
    }

    // ---- the application ----

    /// The application is about to write a message.
    pub fn announce(&mut self, message: &MessageInfo, _config: &Config, _now: Time) {
        self.cutting.announce(message.end);
    }

    /// The application writes `bytes` more.
    pub fn write(&mut self, bytes: u64, config: &Config, net: &mut Net) {
        self.half.write(bytes);
        if self.half.state == State::Established && matches!(self.stage, Stage::Idle | Stage::Stopped) {
            self.tell(REQUEST, Stage::Asked, config, net);
        }
        self.set_timer();
    }

    /// Bytes sent and not yet acknowledged.
    pub fn flight(&self) -> u64 {
        self.next - self.half.una
    }

    /// It measures none.
    pub fn srtt(&self) -> Option<Span> {
        None
    }

    // ---- answers ----

    /// A credit, or the answer to a stop.
    #[inline(never)]
    pub fn on_packet(&mut self, packet: &Packet, about: Option<Extension>, config: &Config, net: &mut Net) {
        self.timeouts_in_a_row = 0;
        let (ack, gap_ends) = about.unwrap_or_default().sack[0];
        if ack > self.half.una {
            self.half.una = ack;
            self.half.counts.acks += 1;
            self.cutting.acknowledge(ack, config.rules.mss);
            self.again.0 = self.again.0.max(ack);
        }
        if gap_ends > ack && ack == self.half.una {
            self.repair(gap_ends, net.now);
        }
        if packet.is_credit() {
            self.on_credit(packet.seq, config, net);
        } else if self.stage == Stage::Stopped && self.half.una < self.next {
            // The tail was lost, or what a gap held.
            let ends = if gap_ends > ack { gap_ends } else { self.next };
            (self.again, self.repaired) = ((self.half.una, ends), (ends, net.now));
            self.tell(REQUEST, Stage::Asked, config, net);
        }
        if self.stage == Stage::Stopped && self.half.una >= self.half.written {
            self.stage = Stage::Idle;
        }
        self.set_timer();
    }

    /// The receiver misses what is below `ends`: that goes again, unless it has within a timeout.
    fn repair(&mut self, ends: u64, now: Time) {
        let (below, at) = self.repaired;
        if self.again.0 >= self.again.1 && (self.half.una >= below || now >= at + self.timeout) {
            (self.again, self.repaired) = ((self.half.una, ends), (ends, now));
        }
    }

    fn on_credit(&mut self, number: u64, config: &Config, net: &mut Net) {
        if number + 1 == self.credit {
            return; // a copy that a fault of a wire made
        }
        self.credit = number + 1;
        if self.stage == Stage::Asked {
            self.stage = Stage::Served;
        }
        if self.stage == Stage::Served {
            self.since = net.now;
        }
        let late = net.now >= self.since + self.timeout;
        if self.has_data() {
            self.emit(number, config, net);
            self.used += 1;
            if !self.has_data() {
                self.tell(STOP, Stage::Stopped, config, net);
            }
        } else {
            self.wasted += 1;
            // The stop has not come to the receiver.
            if self.stage == Stage::Served || late {
                self.tell(STOP, Stage::Stopped, config, net);
            }
        }
    }

    // ---- sending ----

    /// Something is to be sent.
    fn has_data(&self) -> bool {
        self.again.0 < self.again.1 || self.next < self.half.written
    }

    /// Sends the packet whose turn it is, for credit `number`.
    fn emit(&mut self, number: u64, config: &Config, net: &mut Net) {
        let again = self.again.0 < self.again.1;
        let seq = if again { self.again.0 } else { self.next };
        let until = if again { self.again.1 } else { self.half.written };
        let payload = config.rules.mss.min(self.cutting.message_of(seq).1 - seq).min(until - seq);
        if again {
            self.again.0 += payload;
        }
        self.next = self.next.max(seq + payload);
        self.half.counts.packets += 1;
        self.half.counts.retransmissions += u64::from(again);
        let flags = Flags::default().with_if(config.ect, config.ecn).with_if(Flags::RETRANSMITTED, again);
        let mut about = Extension::default();
        about.sack[0].0 = number;
        let extension = net.extensions.put(&about);
        net.send(&self.half.packet(seq, (config.header + payload as u16, flags), extension, net.now));
    }

    /// Sends a request or a stop, and waits for what it brings.
    fn tell(&mut self, flags: Flags, stage: Stage, config: &Config, net: &mut Net) {
        (self.stage, self.since) = (stage, net.now);
        net.send(&self.half.packet(self.next, (config.expresspass.credit, flags), NONE, net.now));
    }

    // ---- timers ----

    fn set_timer(&mut self) {
        let span = self.timeout * (1 << self.timeouts_in_a_row.min(MOST_DOUBLINGS));
        self.half.rto_at = if self.stage == Stage::Idle { Time::MAX } else { self.since + span };
    }

    /// When this sender wants to be woken.
    #[inline]
    pub fn wake_at(&self) -> Time {
        self.half.rto_at
    }

    /// A timer event has come.
    #[inline(never)]
    pub fn on_timer(&mut self, config: &Config, net: &mut Net) {
        if net.now < self.half.rto_at {
            return;
        }
        self.half.counts.timeouts += 1;
        self.timeouts_in_a_row += 1;
        match self.stage {
            Stage::Idle => {}
            Stage::Asked | Stage::Served => self.tell(REQUEST, Stage::Asked, config, net),
            Stage::Stopped => self.tell(STOP, Stage::Stopped, config, net),
        }
        self.set_timer();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::PathInfo;
    use crate::params::{Faults, Table};
    use crate::transport::Transport;
    use serde_json::json;

    fn sender(base_rtt: Span) -> CreditSender {
        let map = json!({"profile": "expresspass", "cc": {"kind": "line-rate"}});
        let map = map.as_object().expect("a table").clone();
        let mut faults = Faults::default();
        let transport = Transport::read(&mut Table::new("transport", &map, &mut faults), &map.clone());
        let config = Config::new(&transport.expect("no fault"));
        let info = FlowInfo::default();
        let info = FlowInfo { path: PathInfo { base_rtt, ..info.path }, ..info };
        CreditSender::new(0, 0, &info, &config, Time::ZERO)
    }

    fn us(us: u64) -> Time {
        Time::ZERO + Span::us(us)
    }

    /// A sender waits for 1 ms, or two round trips of the path if they are longer; that doubles ten times at most, and ends when all has arrived.
    #[test]
    fn timers_double_and_are_no_shorter_than_two_round_trips() {
        let timer = |base: u64, stage: Stage, timeouts: u32| {
            let mut sender = sender(Span::us(base));
            (sender.stage, sender.since, sender.timeouts_in_a_row) = (stage, us(7), timeouts);
            sender.set_timer();
            sender.wake_at()
        };
        assert_eq!([500, 501].map(|base| timer(base, Stage::Asked, 0)), [us(1007), us(1009)]);
        assert_eq!([Stage::Served, Stage::Stopped].map(|stage| timer(10, stage, 1)), [us(2007); 2]);
        assert_eq!([10, 11].map(|timeouts| timer(10, Stage::Asked, timeouts)), [us(1_024_007); 2]);
        assert_eq!(timer(10, Stage::Idle, 0), Time::MAX);
    }

    /// A gap that is reported goes again once a timeout: not while it does already, nor before the timeout is over, unless the receiver has got
    /// beyond it.
    #[test]
    fn a_gap_goes_again_once_a_timeout() {
        let mut sender = sender(Span::us(10));
        sender.half.una = 1000;
        sender.repair(5000, us(50));
        assert_eq!(sender.again, (1000, 5000));
        sender.again.0 = 4999;
        sender.repair(6000, us(9999));
        assert_eq!(sender.again, (4999, 5000));
        sender.again.0 = 5000;
        for (una, now, begins) in [(4999, 1049, false), (4999, 1050, true), (5000, 51, true)] {
            let mut sender = self::sender(Span::us(10));
            (sender.half.una, sender.again, sender.repaired) = (una, (5000, 5000), (5000, us(50)));
            sender.repair(8000, us(now));
            let want = if begins { ((una, 8000), (8000, us(now))) } else { ((5000, 5000), (5000, us(50))) };
            assert_eq!((sender.again, sender.repaired), want, "{una} {now}");
        }
    }

    /// Something is to be sent while a gap goes again or data is new; all between is in flight.
    #[test]
    fn gaps_and_new_data_are_to_be_sent() {
        for (again, next, has) in
            [((0, 0), 9000, false), ((0, 0), 8999, true), ((4, 5), 9000, true), ((5, 5), 9000, false)]
        {
            let mut sender = sender(Span::us(10));
            (sender.half.written, sender.half.una, sender.again, sender.next) = (9000, 4, again, next);
            assert_eq!((sender.has_data(), sender.flight(), sender.srtt()), (has, next - 4, None));
        }
    }
}
