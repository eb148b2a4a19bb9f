//! How fast a queue drains, measured at its departures, for PIE's delay by Little's law.
//!
//! Source: RFC 8033 s.5.2 and appendix B, which differ: the section's pseudocode ends a measurement that
//! has not yet seen enough bytes at every departure, so that none would ever end; the appendix is
//! followed. There the first measurement stands as it is, later ones are averaged.

use shallows_units::Time;

/// PIE's measurement of the departure rate.
#[derive(Debug, Clone)]
pub struct DepartureRate {
    /// DQ_THRESHOLD, in bytes.
    threshold: u64,
    /// measurement_start_, while in_measurement_.
    started: Option<Time>,
    /// dq_count_.
    count: u64,
    /// avg_dq_time_ in seconds; 0 before the first measurement.
    average: f64,
}

impl DepartureRate {
    /// No measurement yet; each takes `threshold` bytes.
    pub fn new(threshold: u64) -> Self {
        DepartureRate { threshold, started: None, count: 0, average: 0.0 }
    }

    /// Forgets all, and measures from `now` on.
    pub fn restart(&mut self, now: Time) {
        *self = DepartureRate { started: Some(now), ..DepartureRate::new(self.threshold) };
    }

    /// Gives up a measurement under way.
    pub fn stop(&mut self) {
        self.started = None;
    }

    /// current_qdelay, in seconds: how long `bytes` take at the rate measured last; 0 before that.
    pub fn delay(&self, bytes: u64) -> f64 {
        bytes as f64 * self.average / self.threshold as f64
    }

    /// A packet of `size` bytes departs at `now` and leaves `left` bytes behind.
    pub fn departed(&mut self, size: u16, left: u64, now: Time) {
        if let Some(started) = self.started {
            self.count += u64::from(size);
            if self.count >= self.threshold {
                let took = (now - started).as_secs_f64();
                let weight = self.threshold as f64 / 65_536.0;
                self.average =
                    if self.average == 0.0 { took } else { took * weight + self.average * (1.0 - weight) };
                self.started = None;
            }
        }
        if self.started.is_none() && left >= self.threshold {
            (self.started, self.count) = (Some(now), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallows_units::Span;

    /// Departures of 1500 bytes every `gap`, `left` bytes behind each.
    fn depart(rate: &mut DepartureRate, from: Time, gap: Span, left: u64, packets: u64) -> Time {
        (1..=packets).for_each(|n| rate.departed(1500, left, from + gap * n));
        from + gap * packets
    }

    #[test]
    fn a_steady_queue_has_the_delay_of_its_bytes() {
        let mut rate = DepartureRate::new(16_384);
        assert_eq!(rate.delay(100_000), 0.0);
        // 40 Mb/s: 300 us a packet. Eleven of them, 16 500 bytes, make a measurement of 3.3 ms.
        depart(&mut rate, Time::ZERO, Span::us(300), 60_000, 12);
        let seconds = 60_000.0 * 0.0033 / 16_384.0;
        assert!((rate.delay(60_000) - seconds).abs() < 1e-15);
        assert!(
            (seconds / 0.012 - 1.0).abs() < 0.01,
            "60 000 bytes take 12 ms, within a packet a measurement"
        );
    }

    #[test]
    fn later_measurements_weigh_a_quarter() {
        let mut rate = DepartureRate::new(16_384);
        let now = depart(&mut rate, Time::ZERO, Span::us(300), 60_000, 12);
        depart(&mut rate, now, Span::us(600), 60_000, 11);
        let expected = 0.25 * 0.0066 + 0.75 * 0.0033;
        assert!((rate.delay(16_384) - expected).abs() < 1e-12);
    }

    #[test]
    fn a_short_queue_is_not_measured() {
        let mut rate = DepartureRate::new(16_384);
        depart(&mut rate, Time::ZERO, Span::us(300), 10_000, 100);
        assert_eq!(rate.delay(10_000), 0.0);
        // But one that was restarted measures at once; stopped, it does not.
        rate.restart(Time::ZERO);
        rate.stop();
        depart(&mut rate, Time::ZERO, Span::us(300), 10_000, 11);
        assert_eq!(rate.delay(16_384), 0.0);
        rate.restart(Time::ZERO);
        depart(&mut rate, Time::ZERO, Span::us(300), 10_000, 11);
        assert!((rate.delay(16_384) - 0.0033).abs() < 1e-15);
    }
}
