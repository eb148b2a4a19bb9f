//! A queue pair's rate limiter: the next packet may go when the last one's bytes have passed at the rate.
//!
//! Source: the simulator of HPCC's authors (rdma-hw.cc, 9f4be2a), ChangeRate: a new rate holds for the whole wait, also for
//! the part that has passed: a flow of three packets a round trip would react half a round trip late. DCQCN's holds from the
//! next packet on, since it does not call that there.

use shallows_units::{Bytes, Rate, Span, Time};

/// When the next packet may go.
#[derive(Debug, Clone)]
pub struct Limiter {
    /// The card's rate, which none is above.
    line: Rate,
    rate: Option<Rate>,
    /// The last packet: when it went, its bytes that count, and when the card's rate lets another go.
    went: Time,
    bytes: u64,
    line_at: Time,
    /// The next packet may go.
    pub at: Time,
}

impl Limiter {
    /// The limiter of a card that has sent nothing.
    pub fn new(line: Rate) -> Self {
        Limiter { line, rate: None, went: Time::ZERO, bytes: 0, line_at: Time::ZERO, at: Time::ZERO }
    }

    /// A packet of `size` bytes goes, of which `bytes` count against `rate`.
    pub fn on_send(&mut self, now: Time, (size, bytes): (u64, u64), rate: Option<Rate>) {
        (self.went, self.bytes, self.rate) = (now, bytes, rate);
        self.line_at = now + self.line.transmit(Bytes(size));
        self.set();
    }

    /// The rate is now this.
    #[inline]
    pub fn follow(&mut self, rate: Option<Rate>) {
        if rate != self.rate {
            self.rate = rate;
            self.set();
        }
    }

    fn set(&mut self) {
        let wait = self.rate.map_or(Span::ZERO, |rate| rate.transmit(Bytes(self.bytes)));
        self.at = self.line_at.max(self.went + wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 bytes at 1 Gb/s take 8 us. At 4 Gb/s they take 2 us from when the packet went, at 0.5 Gb/s 16 us, at any rate
    /// the 0.8 us of the line.
    #[test]
    fn a_new_rate_holds_for_the_whole_wait() {
        let at = |us: u64| Time::ZERO + Span::us(us);
        let mut limiter = Limiter::new(Rate::gbps(10));
        limiter.on_send(at(100), (1000, 1000), Some(Rate::gbps(1)));
        assert_eq!(limiter.at, at(108));
        for (mbps, until) in [(4000, at(102)), (500, at(116)), (40_000, at(100) + Span::ns(800))] {
            limiter.follow(Some(Rate::mbps(mbps)));
            assert_eq!(limiter.at, until);
        }
        limiter.follow(None);
        assert_eq!(limiter.at, at(100) + Span::ns(800));
    }
}
