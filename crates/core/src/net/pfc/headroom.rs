//! Headroom: the bytes that may still come to a switch after it has decided to pause a neighbour.
//!
//! Source: Cisco, "Priority Flow Control: Build Reliable Layer 2 Infrastructure" (white paper, 2009), whose sum is this
//! one; IEEE 802.1Qbb-2011 annex O. The pause frame waits for a frame that has just begun, is sent, and travels to the
//! neighbour, which applies it after the response time and ends the frame that it has just begun. All of that while
//! bytes come at the link's rate, and those on the wire then come too.

use super::FRAME;
use shallows_units::{Bytes, Rate, Span};

/// A link into a switch, and the way of a pause frame against it.
#[derive(Debug, Clone, Copy)]
pub struct Way {
    /// Rate and delay of the link.
    pub link: (Rate, Span),
    /// Those of the link back.
    pub back: (Rate, Span),
    /// How long the neighbour takes to apply a pause.
    pub response: Span,
    /// The largest frame that may be under way at the switch, in bytes.
    pub any_frame: u64,
    /// The largest of the paused priority.
    pub own_frame: u64,
}

impl Way {
    /// From the decision to the last moment at which the neighbour may begin a frame.
    pub fn until_applied(&self) -> Span {
        let (rate, delay) = self.back;
        rate.transmit(Bytes(self.any_frame)) + rate.transmit(Bytes(u64::from(FRAME))) + delay + self.response
    }

    /// The bytes that may come after the decision. Less can lose a packet.
    pub fn headroom(&self) -> u64 {
        let (rate, delay) = self.link;
        let time = self.until_applied() + delay;
        let bits = u128::from(time.as_ps()) * u128::from(rate.as_bps()) / 1_000_000_000_000;
        u64::try_from(bits / 8).unwrap_or(u64::MAX).saturating_add(self.own_frame)
    }
}

/// Longest response to a pause frame in quanta, by rate (IEEE 802.3-2018 s.31B.3.7).
const LIMITS: [(Rate, u64); 5] = [
    (Rate::gbps(10), 60),
    (Rate::gbps(25), 80),
    (Rate::gbps(40), 118),
    (Rate::gbps(100), 394),
    (Rate::gbps(400), 905),
];

/// The longest response that the standard allows a port of `rate`. A rate between two of its rates has the quanta of the
/// faster one, and one beyond all of them the time of the fastest.
pub fn standard_response(rate: Rate) -> Span {
    let (listed, quanta) = LIMITS.into_iter().find(|(listed, _)| rate <= *listed).unwrap_or(LIMITS[4]);
    rate.min(listed).transmit(Bytes(64)) * quanta
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 100 Gb/s and 1 us each way carry 25 000 bytes; two frames of 1106 bytes, and 84.
    #[test]
    fn the_least_is_the_round_trip_two_frames_and_the_pause_frame() {
        let link = (Rate::gbps(100), Span::us(1));
        let way = Way { link, back: link, response: Span::ZERO, any_frame: 1106, own_frame: 1106 };
        assert_eq!(way.headroom(), 25_000 + 2 * 1106 + 84);
        // The response adds rate times its time: 394 quanta of 64 bytes.
        let slow = Way { response: standard_response(Rate::gbps(100)), ..way };
        assert_eq!(slow.headroom(), way.headroom() + 394 * 64);
        // Asymmetric: at 1 Gb/s back, the frame and the pause frame take 100 times as long.
        let back = (Rate::gbps(1), Span::us(1));
        assert_eq!(Way { back, ..way }.headroom(), 25_000 + 100 * (1106 + 84) + 1106);
    }

    #[test]
    fn limits_are_the_standards() {
        let bits = |gbps| {
            let rate = Rate::gbps(gbps);
            standard_response(rate).as_ps() * gbps / 1000
        };
        let table = [(10, 30_720), (25, 40_960), (40, 60_416), (100, 201_728), (400, 463_360), (50, 201_728)];
        for (gbps, expected) in table {
            assert_eq!(bits(gbps), expected, "{gbps} Gb/s");
        }
        assert_eq!(standard_response(Rate::gbps(800)), standard_response(Rate::gbps(400)));
    }
}
