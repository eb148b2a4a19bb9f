//! The growth of a window that its sender does not fill: a cap from the most data in flight.
//!
//! Source: draft-ietf-ccwg-ratelimited-increase s.3. Rule 1 constrains the growth while FlightSize < cwnd. Rule 2 caps the window at
//! limit(maxFS): the window to which the control would take maxFS within a round trip. maxFS is the largest FlightSize since the window
//! last decreased. A window that is full never meets the cap, so nothing asks whether it is.
//! The cap bounds growth alone: the draft's min(cwnd_new, 2 maxFS) would also shrink a first window that is not filled, but s.1
//! leaves reductions to RFC 7661.
//! Left out: rule 3, which may bound maxFS by RFC 7661's pipeACK; s.3.2.1 for controls by rate, which the setting refuses.

use super::config::Config;
use super::sender::Sender;
use super::settings::{GrowthCap, TransportSettings};
use crate::cc::{Algorithm, AnyCc, Cx, WindowRules};
use crate::params::{Code, Faults};
use shallows_units::Time;

impl TransportSettings {
    /// Whether `growth_cap` can hold with the other settings and with `cc`.
    pub(super) fn check_cap(&self, path: &str, cc: &Algorithm, faults: &mut Faults) {
        if self.growth_cap == GrowthCap::None {
            return;
        }
        let mut fault = |rule: String| {
            faults.add(&format!("{path}.growth_cap"), Code::Conflict.rule(rule), &"max-flight".into());
        };
        if self.validate_cwnd {
            fault(
                "needs validate_cwnd = false, since validate_cwnd = true stops the growth below the cap"
                    .into(),
            );
        }
        if cc.round_gain(1.0, 1.0).is_none() {
            fault(format!(
                "must be none with cc = \"{}\": no bound of its growth in a round trip is known",
                cc.kind()
            ));
        }
    }
}

impl Sender {
    /// Rule 2, limit(maxFS): 2 maxFS in slow start, and in congestion avoidance maxFS and the growth of a round trip (the draft's "1").
    fn cap(&self, config: &Config) -> f64 {
        let (most, mss) = (self.usage.max_flight as f64, config.rules.mss);
        let limit = if self.slow_start() {
            2.0 * most
        } else {
            most + config.cc.round_gain(most, mss as f64).unwrap_or(f64::INFINITY)
        };
        libm::floor(config.rules.arithmetic.round(limit, mss))
    }

    /// Rule 1: whether the window is below the cap, so that it may grow.
    pub(super) fn below_cap(&self, config: &Config) -> bool {
        (self.half.window.bytes() as f64) < self.cap(config)
    }

    /// Lets the congestion control grow the window, at most to the cap.
    #[inline(always)]
    pub(super) fn with_capped_cc(
        &mut self,
        config: &Config,
        now: Time,
        act: impl FnOnce(&mut AnyCc, &Cx<'_>),
    ) {
        if config.caps_growth && self.below_cap(config) {
            self.with_cap(config, now, act);
        } else {
            self.with_cc(config, now, act);
        }
    }

    #[inline(never)]
    fn with_cap(&mut self, config: &Config, now: Time, act: impl FnOnce(&mut AnyCc, &Cx<'_>)) {
        let cwnd_max = config.rules.cwnd_max.min(self.cap(config));
        let rules = WindowRules { cwnd_max, ..config.rules.clone() };
        self.half.window.with_cc(&rules, now, act);
    }

    /// All has been sent that may be sent: maxFS.
    pub(super) fn note_flight(&mut self, config: &Config) {
        self.usage.max_flight = self.usage.max_flight.max(self.flight(config));
    }

    /// The window has changed from `before`. If it decreased, maxFS counts from here on.
    pub(super) fn forget_flight(&mut self, before: u64) {
        if self.half.window.bytes() < before {
            self.usage.max_flight = 0;
        }
    }
}
