//! HyStart as in Linux's CUBIC: slow start ends after half a least round trip of acknowledgements without a gap, or when
//! round trips are longer than the least by an eighth.
//!
//! Source: Ha and Rhee, "Taming the elephants: new TCP slow start", 2008; Linux 7.2 tcp_cubic.c (`hystart_update`,
//! `hystart_ack_delay`, `cubictcp_acked`). Times in microseconds.

use crate::cc::{Ack, Cx, Window};
use shallows_units::Span;

/// `hystart_low_window`.
const LOW_WINDOW: f64 = 16.0;
/// `hystart_ack_delta_us`: acknowledgements further apart are no train.
const ACK_DELTA_US: u64 = 2000;
/// `HYSTART_MIN_SAMPLES`.
const MIN_SAMPLES: u32 = 8;
/// `HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`: bounds of an increase that counts as growth of the round trip.
const DELAY_US: (u64, u64) = (4000, 16_000);
/// Bursts that `hystart_ack_delay` allows for, and its most.
const BURSTS: u64 = 4;
const MOST_ACK_DELAY_US: u64 = 1000;
/// Headers of a burst on the wire that segmentation offload counts.
const FRAME_HEADERS: u64 = 66;

/// HyStart's fields of struct bictcp.
#[derive(Debug, Clone, Default)]
pub struct Train {
    /// Bytes acknowledged (SND.UNA), and sent when the round began (`end_seq`).
    una: u64,
    end: u64,
    round_start: u64,
    last_ack: u64,
    /// `curr_rtt` and `sample_cnt` of the round.
    least_of_round: u64,
    samples: u32,
    /// `delay_min`, 0 before there is one.
    least: u64,
    found: bool,
}

fn us(span: Span) -> u64 {
    (span.as_ps() / 1_000_000).max(1)
}

impl Train {
    /// An acknowledgement, before the window grows on it: may set the threshold to the window.
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack, cx: &Cx<'_>) {
        self.una += ack.acked;
        let Some(delay) = ack.rtt.map(us) else { return };
        self.least = if self.least == 0 { delay } else { self.least.min(delay) };
        if self.found || window.cwnd >= window.ssthresh {
            return;
        }
        let now = cx.now.as_ps() / 1_000_000;
        if self.una > self.end {
            (self.round_start, self.last_ack, self.end) = (now, now, ack.sent);
            (self.least_of_round, self.samples) = (u64::MAX, 0);
        }
        if window.cwnd < LOW_WINDOW * cx.rules.mss as f64 {
            return;
        }
        if self.is_train(now, window, ack, cx) || self.is_longer(delay) {
            self.found = true;
            window.ssthresh = window.cwnd;
        }
    }

    /// `bictcp_reset`, after a timeout.
    pub fn begin_again(&mut self) {
        *self = Train { una: self.una, ..Train::default() };
    }

    /// Acknowledgements have come for half the least round trip, each soon after the one before.
    fn is_train(&mut self, now: u64, window: &Window, ack: &Ack, cx: &Cx<'_>) -> bool {
        if now - self.last_ack > ACK_DELTA_US {
            return false;
        }
        self.last_ack = now;
        now - self.round_start > (self.least + ack_delay(window, ack, cx)) / 2
    }

    fn is_longer(&mut self, delay: u64) -> bool {
        self.least_of_round = self.least_of_round.min(delay);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.least_of_round > self.least + (self.least / 8).clamp(DELAY_US.0, DELAY_US.1)
    }
}

/// `hystart_ack_delay`: how long a few bursts take at the pacing rate that Linux works out for every sender (`tcp_update_pacing_rate`:
/// twice the window a round trip, from half the threshold on 1.2 times it).
fn ack_delay(window: &Window, ack: &Ack, cx: &Cx<'_>) -> u64 {
    let share = if window.cwnd < window.ssthresh / 2.0 { 2.0 } else { 1.2 };
    let rate = share * window.cwnd.max(ack.flight as f64) / us(ack.srtt) as f64; // bytes a microsecond
    let burst = cx.rules.burst * cx.rules.mss + FRAME_HEADERS;
    (((BURSTS * burst) as f64 / rate) as u64).min(MOST_ACK_DELAY_US)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::WindowRules;
    use crate::cc::parts::window::tests::{ack, rules};
    use shallows_units::Time;

    /// A round of `n` acknowledgements `gap` us apart from `from` us on, each of a round trip of `rtt` us and a segment;
    /// the window, which a test moves itself.
    fn round(train: &mut Train, segments: f64, n: u64, from: u64, gap: u64, rtt: u64) -> Window {
        let rules = WindowRules { initial_ssthresh: f64::INFINITY, ..rules() };
        let mut window = Window::new(&rules);
        window.cwnd = segments * 1000.0;
        for i in 0..n {
            let ack = Ack {
                rtt: Some(Span::us(rtt)),
                srtt: Span::us(rtt),
                sent: train.una + 1000 + (segments * 1000.0) as u64,
                ..ack(1000)
            };
            let now = Time::ZERO + Span::us(from + i * gap);
            train.on_ack(&mut window, &ack, &Cx { now, rules: &rules });
        }
        window
    }

    /// 32 segments at 10 ms: the pacing rate is 6.4 bytes a us, four bursts of 1066 bytes 666 us. (10000 + 666) / 2 = 5333 us:
    /// an acknowledgement each 400 us, the fifteenth comes 5600 us after the first.
    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        let mut train = Train::default();
        assert!(round(&mut train, 32.0, 14, 20_000, 400, 10_000).ssthresh.is_infinite());
        let mut train = Train::default();
        assert_eq!(round(&mut train, 32.0, 15, 20_000, 400, 10_000).ssthresh, 32_000.0);
        let mut train = Train::default();
        assert!(round(&mut train, 15.0, 15, 20_000, 400, 10_000).ssthresh.is_infinite()); // below hystart_low_window
    }

    /// Four bursts of 1066 bytes at the pacing rate: 64 segments in 10 ms are 6.4 bytes a us, paced at twice that below half of the threshold and
    /// at 1.2 times that from there on. The data in flight count where they are more, and a millisecond is the most.
    #[test]
    fn the_delay_of_acknowledgements_is_that_of_four_bursts() {
        let rules = rules();
        let delay = |segments: f64, flight: u64, ssthresh: f64| {
            let mut window = Window::new(&rules);
            (window.cwnd, window.ssthresh) = (segments * 1000.0, ssthresh * 1000.0);
            let ack = Ack { srtt: Span::ms(10), flight: flight * 1000, ..ack(1000) };
            ack_delay(&window, &ack, &Cx { now: Time::ZERO, rules: &rules })
        };
        let bursts = |rate: f64| (4.0 * 1066.0 / rate) as u64;
        for (ssthresh, share) in [(f64::INFINITY, 2.0), (129.0, 2.0), (128.0, 1.2), (127.0, 1.2), (64.0, 1.2)]
        {
            assert_eq!(delay(64.0, 1, ssthresh), bursts(6.4 * share), "{ssthresh}");
        }
        assert_eq!(delay(32.0, 64, f64::INFINITY), bursts(12.8));
        assert_eq!(delay(8.0, 1, f64::INFINITY), 1000);
    }

    #[test]
    fn a_gap_is_no_train() {
        let mut train = Train::default();
        assert!(round(&mut train, 32.0, 15, 20_000, 2100, 10_000).ssthresh.is_infinite());
    }

    /// 100 ms and an eighth are 112.5 ms; the ninth sample of a round decides.
    #[test]
    fn longer_round_trips_end_it() {
        let mut train = Train::default();
        round(&mut train, 32.0, 9, 0, 3000, 100_000);
        let mut longer = train.clone();
        assert!(round(&mut train, 32.0, 33, 200_000, 3000, 112_500).ssthresh.is_infinite());
        assert_eq!(round(&mut longer, 32.0, 33, 200_000, 3000, 112_600).ssthresh, 32_000.0);
    }
}
