//! The sending end's part in protocols with explicit feedback: headers that leave with packets or alone,
//! and echoes that come back.

use super::config::Config;
use super::sender::Sender;
use crate::cc::{CongestionControl, Kind, Outgoing};
use crate::net::Net;
use crate::packet::{Extension, Flags, NONE};
use crate::port_control::Feedback;
use shallows_units::{Bytes, Span, Time};

/// A sender's state of a protocol with headers of its own.
#[derive(Debug, Clone, Copy)]
pub struct Explicit {
    /// When the algorithm wants a header sent, if need be alone.
    pub ask_at: Time,
    /// The least round-trip time so far, as an exact clock shows it.
    pub least_rtt: Span,
}

impl Default for Explicit {
    fn default() -> Self {
        Explicit { ask_at: Time::MAX, least_rtt: Span::ZERO }
    }
}

impl Sender {
    /// The algorithm's header for a packet with `flags` and so much payload: the place of its
    /// extension and the bytes it adds.
    pub(super) fn header(
        &mut self,
        payload: u64,
        flags: Flags,
        config: &Config,
        net: &mut Net,
    ) -> (u32, u16) {
        let kind = if flags.any(Flags::SYN) {
            Kind::Syn
        } else if flags.any(Flags::FIN) {
            Kind::Fin
        } else if flags.any(Flags::PROBE) {
            Kind::Probe
        } else if payload > 0 {
            Kind::Data
        } else {
            return (NONE, 0); // an acknowledgement
        };
        let packet = Outgoing {
            kind,
            again: flags.any(Flags::RETRANSMITTED) || (kind == Kind::Syn && self.rtt.timeouts > 0),
            remaining: self.half.written.saturating_sub(self.half.una),
            srtt: self.round_trip(config),
        };
        let feedback = self.with_cc(config, net.now, |cc, cx| cc.on_send(&packet, cx));
        if matches!(feedback, Feedback::None) {
            return (NONE, 0);
        }
        let bytes = feedback.bytes(false);
        // A header beside data takes its share of the rate; a header alone may always be sent.
        if payload > 0
            && let Some(rate) = self.half.window.cc().pacing_rate()
        {
            self.pacing.postpone(rate.transmit(Bytes(bytes.into())), net.now);
        }
        (net.extensions.put(&Extension { feedback, ..Extension::default() }), bytes)
    }

    /// A packet has come back that was sent for a packet of `stamp`.
    pub(super) fn note_round_trip(&mut self, stamp: Time, now: Time) {
        let took = now - stamp;
        let least = &mut self.explicit.least_rtt;
        *least = if *least == Span::ZERO { took } else { (*least).min(took) };
    }

    /// Smoothed round-trip time, zero before there is one. A clock that shows no more than its tick has measured nothing;
    /// then the least that an exact one shows counts, since these protocols ask once a round trip.
    fn round_trip(&self, config: &Config) -> Span {
        let srtt = self.rtt.srtt();
        if srtt == Span::ZERO {
            srtt
        } else if srtt <= config.settings.clock_grain {
            self.explicit.least_rtt
        } else {
            srtt.max(self.explicit.least_rtt)
        }
    }

    /// The echo of a header has come with a packet that was sent at `stamp`.
    pub(super) fn read_feedback(&mut self, feedback: &Feedback, stamp: Time, config: &Config, now: Time) {
        if matches!(feedback, Feedback::None) {
            return;
        }
        let took = now - stamp;
        let srtt = Some(self.round_trip(config)).filter(|srtt| *srtt > Span::ZERO).unwrap_or(took);
        if self.high == self.half.una {
            self.rtt.progress();
            self.half.rto_at = Time::MAX; // it watched over headers alone
        }
        let before = self.half.window.cc().pacing_rate();
        self.with_cc(config, now, |cc, cx| cc.on_feedback(feedback, srtt, cx));
        // The rest of the wait for the next packet passes at the new rate.
        if let (Some(before), Some(after)) = (before, self.half.window.cc().pacing_rate())
            && self.pacing.at > now
        {
            let left = u128::from((self.pacing.at - now).as_ps()) * u128::from(before.as_bps());
            let left = left / u128::from(after.as_bps());
            self.pacing.at = now + Span::ps(left.min(u128::from(u64::MAX >> 1)) as u64);
        }
    }

    /// Sends all that is allowed, and a header alone where the algorithm wants one.
    pub(super) fn pump_explicit(&mut self, config: &Config, net: &mut Net) {
        let waiting = self.half.written > self.half.una;
        // A FIN alone is no data.
        if !(waiting && self.half.window.cc().paused()) {
            self.pump_data(config, net);
        }
        if waiting && self.half.window.cc().request_at() <= net.now {
            self.emit_raw(self.next, 0, Flags::PROBE, config, net);
            // Headers that nobody answers end a connection as data does.
            if self.half.rto_at == Time::MAX {
                self.half.rto_at = self.rto_from(net.now, config);
            }
        }
        self.explicit.ask_at = if waiting { self.half.window.cc().request_at() } else { Time::MAX };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::FlowInfo;
    use crate::params::{Faults, Table};
    use crate::transport::Transport;
    use serde_json::json;

    /// The smoothed round trip counts, or the least one if that is longer. A clock that shows no more than its tick has measured
    /// nothing, and before any measurement there is none.
    #[test]
    fn a_coarse_clock_leaves_the_least_round_trip() {
        let us = |us: u64| Time::ZERO + Span::us(us);
        for (grain, sample, round_trip) in [
            ("0s", Some(30), 30),
            ("0s", Some(10), 20),
            ("0s", None, 0),
            ("100us", Some(100), 20),
            ("99us", Some(198), 198),
        ] {
            let map =
                json!({"cc": {"kind": "rcp"}, "clock_grain": grain}).as_object().expect("a table").clone();
            let mut faults = Faults::default();
            let transport = Transport::read(&mut Table::new("transport", &map, &mut faults), &map.clone());
            let config = Config::new(&transport.expect("no fault"));
            let mut sender = Sender::new(0, 0, &FlowInfo::default(), &config, Time::ZERO);
            for (stamp, now) in [(100, 125), (200, 220), (300, 330)] {
                sender.note_round_trip(us(stamp), us(now));
            }
            assert_eq!(sender.explicit.least_rtt, Span::us(20));
            if let Some(sample) = sample {
                sender.rtt.sample(Span::us(sample), &config.settings);
            }
            assert_eq!(sender.round_trip(&config), Span::us(round_trip), "{grain} {sample:?}");
        }
    }
}
