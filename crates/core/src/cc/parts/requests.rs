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

    const ROUND: Span = Span::us(10);

    fn at(us: u64) -> Time {
        Time::ZERO + Span::us(us)
    }

    fn packet(kind: Kind, remaining: u64) -> Outgoing {
        Outgoing { kind, again: false, remaining, srtt: ROUND }
    }

    /// A SYN asks where it knows a size, and at once again with the first data; then a packet asks once a round, from the moment on at which
    /// it is due; the FIN is the last, and of each the time of the one before is known.
    #[test]
    fn packets_ask_once_a_round_between_join_and_leave() {
        let mut unknown = Requests::new(None, 1460, Time::ZERO);
        assert_eq!(unknown.turn(&packet(Kind::Syn, 0), at(1)), None);
        assert_eq!(unknown.turn(&packet(Kind::Data, 5000), at(2)), Some((Turn::Join, Time::ZERO)));
        assert_eq!(unknown.remaining(), 5000);

        let mut known = Requests::new(Some(9000), 1460, Time::ZERO);
        assert_eq!(known.turn(&packet(Kind::Syn, 0), at(1)), Some((Turn::Join, Time::ZERO)));
        assert_eq!((known.remaining(), known.at(None)), (9000, at(1)));
        assert_eq!(known.turn(&packet(Kind::Data, 9000), at(3)), Some((Turn::Renew, at(1))));
        known.echoed(ROUND, true, at(4));
        let early = at(13) - Span::ps(1);
        assert_eq!(known.turn(&packet(Kind::Data, 7000), early), None);
        assert_eq!(known.remaining(), 7000);
        assert_eq!(known.turn(&packet(Kind::Data, 7000), at(13)), Some((Turn::Renew, at(3))));
        assert_eq!(known.turn(&packet(Kind::Fin, 0), at(14)), Some((Turn::Leave, at(13))));
        assert_eq!(known.turn(&packet(Kind::Data, 0), at(99)), None);
        assert_eq!(known.at(None), Time::MAX);
    }

    /// A rate is valid for four rounds after its echo: of the requests', or of the sender's round trips where those are longer. Then only headers leave.
    #[test]
    fn a_rate_that_is_not_renewed_ends_after_four_rounds() {
        for (srtt, until) in [(10, 45), (20, 85), (5, 45)] {
            for (late, pauses) in [(Span::ZERO, false), (Span::ps(1), true)] {
                let mut requests = asked();
                let data = Outgoing { srtt: Span::us(srtt), ..packet(Kind::Data, 1000) };
                assert!(requests.turn(&data, at(until) + late).is_some());
                assert_eq!(requests.paused(), pauses, "{srtt} {late}");
            }
        }
        // A rate comes back by an echo that brings one.
        let mut requests = asked();
        requests.hold();
        requests.echoed(ROUND, false, at(50));
        assert!(requests.paused());
        requests.echoed(ROUND, true, at(51));
        assert!(!requests.paused());
    }

    /// A patient one waits four rounds for an answer, which then counts from its request. Meanwhile its last two segments wait, so that its
    /// FIN can take all grants back.
    #[test]
    fn a_patient_one_waits_for_its_answer() {
        let patient = |remaining: u64| {
            let mut requests = Requests::new(Some(remaining), 1460, Time::ZERO).patient();
            assert!(requests.turn(&packet(Kind::Data, remaining), at(1)).is_some());
            assert_eq!(requests.at(None), at(1) + ROUND * 4);
            requests.echoed(ROUND, true, at(8));
            assert_eq!((requests.paused(), requests.at(None)), (false, at(11)));
            assert!(requests.turn(&packet(Kind::Data, remaining), at(11)).is_some());
            requests
        };
        assert!(patient(2920).paused() && !patient(2921).paused());
        let mut answered = patient(2920);
        answered.echoed(ROUND, true, at(12));
        assert!(!answered.paused());
        // An answer that has not come by the next request is taken for lost.
        let mut lost = patient(2920);
        lost.ask_now(false, at(20));
        assert!(lost.turn(&packet(Kind::Data, 2920), at(20)).is_some());
        assert!(!lost.paused());
    }

    /// A patient flow asks no more where all will have left within three rounds: one to leave, one under way, one by which the answer may be
    /// late. 1460 bytes take a round at 1168 Mb/s.
    #[test]
    fn a_patient_flow_near_its_end_asks_no_more() {
        let rate = Some(Rate::mbps(1168));
        let ends = |remaining: u64, patient: bool| {
            let requests = Requests::new(Some(remaining), 1460, Time::ZERO);
            let mut requests = if patient { requests.patient() } else { requests };
            assert!(requests.turn(&packet(Kind::Data, remaining), at(1)).is_some());
            requests.echoed(ROUND, true, at(8));
            [requests.ends_within_a_round(rate), requests.ends_within_a_round(None)]
        };
        assert_eq!(ends(4380, true), [true, false]);
        assert_eq!(ends(4381, true), [false; 2]);
        assert_eq!(ends(4380, false), [false; 2]);
        let mut paused = Requests::new(Some(1), 1460, Time::ZERO).patient();
        assert!(!paused.ends_within_a_round(rate), "no rate yet");
        paused.echoed(ROUND, true, at(8));
        assert!(paused.ends_within_a_round(rate));
        paused.rest();
        assert_eq!(paused.at(None), Time::MAX);
    }
}
