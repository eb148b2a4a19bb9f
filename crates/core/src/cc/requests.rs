//! When a sender of an explicit-rate protocol asks: with its SYN, then once a round with whatever leaves,
//! alone where nothing does, and for the last time with its FIN. RACS asks so, and so would D3.
//!
//! What is lost: a request or its echo, and the last rate stands for four rounds, after which only headers
//! leave until a rate comes; so too after a timeout and after everything has been acknowledged. A
//! repeated SYN joins anew; a repeated FIN says nothing. An idle flow does not ask.

use super::{Kind, Outgoing};
use shallows_units::{Bytes, Rate, Span, Time};

/// Rounds for which a rate stands that is not renewed.
const ROUNDS: u64 = 4;

/// What a request is.
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
    heard_at: Time,
    /// Time between requests; zero until an echo says or a round trip is known.
    round: Span,
    mss: u32,
    asked: bool,
    paused: bool,
    withdrawn: bool,
}

impl Requests {
    /// Of a flow that has announced so many bytes, or none.
    pub fn new(announced: Option<u64>, mss: u64, now: Time) -> Self {
        Requests {
            remaining: announced.unwrap_or(0),
            asked_at: Time::ZERO,
            due_at: Time::ZERO,
            heard_at: now,
            round: Span::ZERO,
            mss: mss as u32,
            asked: false,
            paused: true,
            withdrawn: false,
        }
    }

    /// Whether a packet that leaves takes a request along, and when the last one left.
    pub fn turn(&mut self, packet: &Outgoing, now: Time) -> Option<(Turn, Time)> {
        let syn = packet.kind == Kind::Syn;
        self.remaining = if syn { packet.remaining.max(self.remaining) } else { packet.remaining };
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
            _ if syn => now,
            Span::ZERO => Time::MAX,
            _ => now + round,
        };
        self.withdrawn = turn == Turn::Leave;
        let silent = round > Span::ZERO && now > self.heard_at + round.max(packet.srtt) * ROUNDS;
        self.paused = (self.paused || silent) && !self.withdrawn;
        Some((turn, then))
    }

    /// An echo has come. `rated` says that it brings a rate at which data may leave.
    pub fn echoed(&mut self, round: Span, rated: bool, now: Time) {
        if self.due_at == Time::MAX {
            self.due_at = self.asked_at + round; // the first answer tells how long a round is
        }
        self.round = round;
        self.heard_at = now;
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

    /// Only headers may leave.
    pub fn paused(&self) -> bool {
        self.paused
    }

    /// When a request must leave. A packet due within the round at `rate` takes it along; else it travels
    /// alone.
    pub fn at(&self, rate: Option<Rate>) -> Time {
        if self.withdrawn {
            return Time::MAX;
        }
        let gap = rate.map_or(Span::ZERO, |rate| rate.transmit(Bytes(self.mss.into())));
        if self.paused || gap > self.round { self.due_at } else { self.due_at + gap }
    }

    /// Bytes not acknowledged.
    pub fn remaining(&self) -> u64 {
        self.remaining
    }
}
