//! The receiving end of datagrams: it counts what comes.
//!
//! Source: RFC 3550 s.6.4.1 and A.8 for the interarrival jitter, in ps where RTP has units of its own clock.

use crate::packet::{Flags, Packet};
use crate::transport::receiver::ReceiverCounts;
use shallows_units::{Span, Time};

/// Gain of the jitter's mean (RFC 3550 s.6.4.1).
const JITTER_GAIN: f64 = 1.0 / 16.0;

/// Datagrams that came, of those that were sent since the statistics began.
#[derive(Debug, Clone, Copy)]
pub struct Received {
    /// Datagrams, each once.
    pub datagrams: u64,
    /// Their bytes of payload.
    pub bytes: u64,
    /// Copies of some, which faults of a wire made.
    pub copies: u64,
    /// Datagrams that came after one with a higher number.
    pub overtaken: u64,
    /// Sum of their one-way delays in ps.
    pub delay_sum: u128,
    /// The least of them.
    pub least: Span,
    /// The greatest.
    pub greatest: Span,
    /// The jitter in ps: the mean deviation of the delay from that of the datagram before.
    pub jitter: f64,
}

impl Default for Received {
    fn default() -> Self {
        Received {
            datagrams: 0,
            bytes: 0,
            copies: 0,
            overtaken: 0,
            delay_sum: 0,
            least: Span::ps(u64::MAX),
            greatest: Span::ZERO,
            jitter: 0.0,
        }
    }
}

/// The receiving end.
#[derive(Debug, Clone, Default)]
pub struct DatagramReceiver {
    /// Bytes of payload that have come in the whole run, each datagram once.
    pub bytes: u64,
    /// One beyond the highest number that has come.
    highest: u64,
    /// Delay of the datagram that came last, of those in the statistics.
    last: Option<Span>,
    /// The statistics begin then.
    from: Time,
    /// Datagrams that came since.
    pub received: Received,
    /// Statistics that all transports have.
    pub counts: ReceiverCounts,
}

impl DatagramReceiver {
    /// A datagram has come at `now`, with a header of so many bytes.
    #[inline]
    pub fn on_packet(&mut self, packet: &Packet, header: u16, now: Time) {
        let payload = u64::from(packet.size - header);
        let delay = now - packet.stamp;
        let copy = packet.flags.any(Flags::COPY);
        let new = packet.seq >= self.highest;
        self.highest = self.highest.max(packet.seq + 1);
        self.bytes += if copy { 0 } else { payload };
        if packet.stamp < self.from {
            return;
        }
        let received = &mut self.received;
        if copy {
            received.copies += 1;
            return;
        }
        let change = |last: Span| last.max(delay).as_ps() - last.min(delay).as_ps();
        let jitter = self.last.replace(delay).map_or(0, change);
        self.counts.add(packet, now);
        received.datagrams += 1;
        received.bytes += payload;
        received.overtaken += u64::from(!new);
        received.delay_sum += u128::from(delay.as_ps());
        received.least = received.least.min(delay);
        received.greatest = received.greatest.max(delay);
        received.jitter += (jitter as f64 - received.jitter) * JITTER_GAIN;
    }

    /// The warm-up ends at `now`: statistics begin.
    pub fn restart(&mut self, now: Time) {
        (self.from, self.last) = (now, None);
        (self.received, self.counts) = (Received::default(), ReceiverCounts::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(seq: u64, sent_us: u64, flags: Flags) -> Packet {
        Packet { seq, stamp: Time::ZERO + Span::us(sent_us), size: 128, flags, ..Packet::BLANK }
    }

    /// RFC 3550 A.8 by hand: delays of 10, 26, 10 us give D = 16, 16 us; J = 1, then 1 + (16 - 1) / 16.
    #[test]
    fn the_jitter_is_that_of_rfc_3550() {
        let mut receiver = DatagramReceiver::default();
        for (seq, (sent, came)) in (0..).zip([(0, 10), (20, 46), (40, 50)]) {
            receiver.on_packet(&datagram(seq, sent, Flags::default()), 28, Time::ZERO + Span::us(came));
        }
        let received = receiver.received;
        assert!((received.jitter - 1e6 * (1.0 + 15.0 / 16.0)).abs() < 1e-6, "{}", received.jitter);
        assert_eq!((received.datagrams, received.bytes, received.overtaken), (3, 300, 0));
        assert_eq!((received.least, received.greatest), (Span::us(10), Span::us(26)));
    }

    #[test]
    fn copies_and_overtaken_datagrams_are_told_apart() {
        let mut receiver = DatagramReceiver::default();
        let came = [(0, Flags::default()), (2, Flags::default()), (2, Flags::COPY), (1, Flags::default())];
        for (place, (seq, flags)) in (0..).zip(came) {
            receiver.on_packet(&datagram(seq, 0, flags), 28, Time::ZERO + Span::us(10 + place));
        }
        let received = receiver.received;
        assert_eq!((received.datagrams, received.copies, received.overtaken), (3, 1, 1));
        assert_eq!(receiver.bytes, 300);
    }

    /// One that left before the statistics began is in none of them.
    #[test]
    fn statistics_count_by_the_time_of_sending() {
        let mut receiver = DatagramReceiver::default();
        receiver.restart(Time::ZERO + Span::us(5));
        receiver.on_packet(&datagram(0, 4, Flags::default()), 28, Time::ZERO + Span::us(14));
        receiver.on_packet(&datagram(1, 5, Flags::default()), 28, Time::ZERO + Span::us(15));
        assert_eq!((receiver.received.datagrams, receiver.counts.packets, receiver.bytes), (1, 1, 200));
    }
}
