//! The requests of a sender of an explicit-rate protocol: with its SYN, then once a round with a departing
//! packet, alone if none departs, and for the last time with its FIN. RACS and D3 both ask this way. D3 is
//! `patient`: it must repeat its last grant, so it waits for the answer before asking again, and it stays
//! silent in the round that sends its last byte.
//!
//! If a request or its echo is lost, the last rate is valid for four rounds. After that only headers leave
//! until a rate comes. The same holds after a timeout and after everything has been acknowledged. A repeated
//! SYN joins again; a repeated FIN has no effect. An idle flow does not ask.

use crate::cc::{Kind, Outgoing};
use shallows_units::{Bytes, Rate, Span, Time};

/// Rounds for which a rate stands that is not renewed.
const ROUNDS: u64 = 4;

/// The meaning of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The first, with the SYN if there is one.
    Join,
    /// One of those that follow.
    Renew,
    /// The last, with the FIN.
    Leave,
}

/// One flow's requests.
#[derive(Debug, Clone)]
pub struct Requests {
    /// Bytes not acknowledged, as of the last packet that left or acknowledgement that came.
    remaining: u64,
    asked_at: Time,
    /// When the next is due.
    due_at: Time,
    answered_at: Time,
    /// Time between requests; zero until an echo says or a round trip is known.
    round: Span,
    mss: u32,
    asked: bool,
    paused: bool,
    withdrawn: bool,
    patient: bool,
    /// A patient one has asked and not yet been answered.
    unanswered: bool,
}

impl Requests {
    /// Requests of a flow that has announced so many bytes, or none.
    pub fn new(announced: Option<u64>, mss: u64, now: Time) -> Self {
        Requests {
            remaining: announced.unwrap_or(0),
            asked_at: Time::ZERO,
            due_at: Time::ZERO,
            answered_at: now,
            round: Span::ZERO,
            mss: mss as u32,
            asked: false,
            paused: true,
            withdrawn: false,
            patient: false,
            unanswered: false,
        }
    }

    /// These requests, one after the answer to the other; without an answer, after four rounds.
    pub fn patient(self) -> Self {
        Requests { patient: true, ..self }
    }

    /// Whether a packet that leaves takes a request along, and when the last one left.
    pub fn turn(&mut self, packet: &Outgoing, now: Time) -> Option<(Turn, Time)> {
        let syn = packet.kind == Kind::Syn;
        self.see(packet);
        let turn = match packet.kind {
            _ if self.withdrawn => return None,
            // No size yet: the first request will tell.
            Kind::Syn if self.remaining == 0 => return None,
            Kind::Syn => Turn::Join,
            Kind::Fin => Turn::Leave,
            _ if !self.asked => Turn::Join,
            _ if now >= self.due_at => Turn::Renew,
            _ => return None,
        };
        let then = self.asked_at;
        let round = if self.round > Span::ZERO { self.round } else { packet.srtt };
        (self.asked, self.asked_at) = (true, now);
        // Before any round trip is known, the transport's timer watches over the request.
        self.due_at = match round {
            _ if syn && !self.patient => now,
            Span::ZERO => Time::MAX,
            _ if self.patient => now + round * ROUNDS,
            _ => now + round,
        };
        self.withdrawn = turn == Turn::Leave;
        // Whose answer has not come by the next request is taken for lost, and waited for no longer.
        self.unanswered = self.patient && !self.unanswered && !self.withdrawn;
        let silent = round > Span::ZERO && now > self.answered_at + round.max(packet.srtt) * ROUNDS;
        self.paused = (self.paused || silent) && !self.withdrawn;
        Some((turn, then))
    }

    /// Notes the remaining data as a packet leaves, with a request or without.
    pub fn see(&mut self, packet: &Outgoing) {
        let syn = packet.kind == Kind::Syn;
        self.remaining = if syn { packet.remaining.max(self.remaining) } else { packet.remaining };
    }

    /// An echo has come. `rated` says that it brings a rate at which data may leave.
    pub fn echoed(&mut self, round: Span, rated: bool, now: Time) {
        if self.due_at == Time::MAX || self.patient {
            self.due_at = self.asked_at + round; // the first answer tells how long a round is
        }
        self.round = round;
        self.answered_at = now;
        self.unanswered = false;
        self.paused &= !rated;
    }

    /// So much has been acknowledged.
    pub fn acknowledged(&mut self, acked: u64) {
        self.remaining = self.remaining.saturating_sub(acked);
        self.paused |= self.remaining == 0 && !self.withdrawn;
    }

    /// A timeout, or an idle time, is over: asks at once, and after a timeout before anything else.
    pub fn ask_now(&mut self, pause: bool, now: Time) {
        self.paused |= pause && !self.withdrawn;
        self.due_at = now;
    }

    /// All is under way: nothing to ask for, until there is more to send or a timeout.
    pub fn rest(&mut self) {
        if !self.paused() {
            self.due_at = Time::MAX;
        }
    }

    /// No rate has been given: only headers may leave until one is.
    pub fn hold(&mut self) {
        self.paused |= !self.withdrawn;
    }

    /// All will have left within a round at `rate`, the flight included: no use in asking.
    pub fn ends_within_a_round(&self, rate: Option<Rate>) -> bool {
        let Some(rate) = rate.filter(|_| self.patient && !self.paused()) else { return false };
        // A round to leave, one that is under way, and one by which the answer may be late.
        rate.transmit(Bytes(self.remaining)) <= self.round * 3
    }

    /// Only headers may leave. The last data waits for an answer under way, so that the FIN can take all grants back.
    pub fn paused(&self) -> bool {
        self.paused || (self.unanswered && self.remaining <= 2 * u64::from(self.mss))
    }

    /// When a request must leave. A packet due within the round at `rate` takes it along; else it travels
    /// alone.
    pub fn at(&self, rate: Option<Rate>) -> Time {
        if self.withdrawn {
            return Time::MAX;
        }
        let gap = rate.map_or(Span::ZERO, |rate| rate.transmit(Bytes(self.mss.into())));
        if self.paused() || gap > self.round { self.due_at } else { self.due_at + gap }
    }

    /// Bytes not acknowledged.
    pub fn remaining(&self) -> u64 {
        self.remaining
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Requests {
        let mut requests = Requests::new(Some(1000), 1460, Time::ZERO);
        let data = Outgoing { kind: Kind::Data, again: false, remaining: 1000, srtt: Span::us(10) };
        assert_eq!(requests.turn(&data, Time::ZERO), Some((Turn::Join, Time::ZERO)));
        requests.echoed(Span::us(10), true, Time::ZERO + Span::us(5));
        assert!(!requests.paused());
        requests
    }

    /// A flow whose data have all come waits for a rate before more leave. One that has taken its leave has no rate to wait for.
    #[test]
    fn a_flow_pauses_when_all_has_come_unless_it_has_left() {
        let mut idle = asked();
        idle.acknowledged(999);
        assert!(!idle.paused());
        idle.acknowledged(1);
        assert!(idle.paused());
        let mut left = asked();
        let fin = Outgoing { kind: Kind::Fin, again: false, remaining: 0, srtt: Span::us(10) };
        assert_eq!(left.turn(&fin, Time::ZERO + Span::us(6)), Some((Turn::Leave, Time::ZERO)));
        left.acknowledged(1000);
        left.hold();
        left.ask_now(true, Time::ZERO + Span::us(7));
        assert!(!left.paused());
        assert_eq!(left.at(None), Time::MAX);
    }

    /// A request travels with the packet that is due within the round. At a rate by which packets leave further apart, or where only headers may
    /// leave, it travels alone.
    #[test]
    fn a_request_travels_alone_where_no_packet_takes_it_along() {
        let mut requests = asked();
        let due = Time::ZERO + Span::us(10);
        // 1460 bytes take 10 us, a round, at 1168 Mb/s.
        for (mbps, waits) in
            [(584, Span::ZERO), (1167, Span::ZERO), (1168, Span::us(10)), (2336, Span::us(5))]
        {
            assert_eq!(requests.at(Some(Rate::mbps(mbps))), due + waits, "{mbps}");
        }
        assert_eq!(requests.at(None), due);
        requests.hold();
        assert_eq!(requests.at(Some(Rate::mbps(2336))), due);
    }
}
