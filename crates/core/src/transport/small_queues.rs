//! TCP small queues: a sender puts no more into its host's port than that sends in about a millisecond.
//!
//! Source: Linux 7.2 net/ipv4/tcp_output.c `tcp_small_queue_check`, `tcp_wfree`; net/ipv4/tcp_input.c
//! `tcp_update_pacing_rate`; net/core/sock.c: `sk_pacing_shift` is 10.
//! Simplified: packets count with their bytes on the wire, not with the memory of their buffers; a retransmission never
//! waits, where Linux allows it twice as much; a timeout does not look whether its segment is still in the port
//! (`skb_still_in_host_queue`). A host with several ports is not held. Acknowledgements do not count, as in Linux
//! (`skb_set_tcp_pure_ack`).

use super::config::Config;
use super::sender::Sender;
use crate::cc::CongestionControl;
use crate::net::Net;
use shallows_units::{Rate, Span, Time};

/// Linux `sk_pacing_shift`: a 1024th of a second.
const PACING_SHIFT: u32 = 10;
/// Linux `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`, in per cent.
const SLOW_START_PERCENT: u128 = 200;
const AVOIDANCE_PERCENT: u128 = 120;
/// With a shorter round trip the limit is above three times the outstanding data: 1.2 / 3 of a 1024th of a second.
const NEVER_HELD_BELOW: Span = Span::us(390);

impl Sender {
    /// Whether the next new packet waits until fewer of this connection's bytes stand in its host's port.
    #[inline(always)]
    pub(super) fn held_by_port(&mut self, config: &Config, net: &mut Net) -> bool {
        let Some(most) = config.small_queues else { return false };
        // The port holds only outstanding data of it, and copies of that.
        let outstanding = self.high - self.half.una;
        let srtt = self.rtt.srtt();
        let at_ease = srtt > Span::ZERO && srtt < NEVER_HELD_BELOW && outstanding.saturating_mul(3) < most;
        // tcp_rtx_queue_empty_or_single_skb: one burst may always go.
        if at_ease || outstanding <= config.rules.mss * config.settings.burst {
            return false;
        }
        self.waits_for_port(most, outstanding, config, net)
    }

    #[cold]
    #[inline(never)]
    fn waits_for_port(&mut self, most: u64, outstanding: u64, config: &Config, net: &mut Net) -> bool {
        let limit = self.port_limit(most, outstanding, config);
        let Some(at) = net.held_at_host(self.half.flow, limit) else { return false };
        self.pacing.port_at = at;
        true
    }

    /// tcp_small_queue_check: bytes in the port beyond which the sender stops. The fixed limit binds senders alone that
    /// pace nothing (`SK_PACING_NONE`).
    fn port_limit(&self, most: u64, outstanding: u64, config: &Config) -> u64 {
        let two = 2 * config.packet * config.settings.burst;
        match self.half.window.cc().pacing_rate() {
            Some(rate) => two.max(of_rate(rate)),
            None => two.max(self.of_window(outstanding)).min(most),
        }
    }

    /// tcp_update_pacing_rate: the rate at which an unpaced sender would be paced, times a 1024th of a second.
    fn of_window(&self, outstanding: u64) -> u64 {
        let srtt = u128::from(self.rtt.srtt().as_ps());
        if srtt == 0 {
            return u64::MAX;
        }
        let cwnd = self.half.window.bytes();
        let slow_start =
            self.half.window.cc().ssthresh().is_none_or(|ssthresh| (cwnd as f64) < ssthresh / 2.0);
        let percent = if slow_start { SLOW_START_PERCENT } else { AVOIDANCE_PERCENT };
        let window = u128::from(cwnd.max(outstanding));
        let bytes = window * percent * u128::from(Span::s(1).as_ps()) / (100 * srtt);
        u64::try_from(bytes >> PACING_SHIFT).unwrap_or(u64::MAX)
    }

    /// Packets have left the port: the sender looks again at `at`.
    pub fn on_room(&mut self, at: Time) {
        self.pacing.port_at = at;
    }
}

fn of_rate(rate: Rate) -> u64 {
    (rate.as_bps() / 8) >> PACING_SHIFT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::FlowInfo;
    use crate::params::{Faults, Table};
    use crate::transport::Transport;
    use serde_json::{Value, json};

    /// A sender with so long a round trip, and its settings.
    fn sender(cc: Value, changes: Value, srtt: Span) -> (Sender, Config) {
        let mut map = json!({"cc": cc}).as_object().expect("a table").clone();
        map.extend(changes.as_object().expect("a table").clone());
        let mut faults = Faults::default();
        let transport = Transport::read(&mut Table::new("transport", &map, &mut faults), &map.clone());
        let config = Config::new(&transport.expect("no fault"));
        let mut sender = Sender::new(0, 0, &FlowInfo::default(), &config, Time::ZERO);
        if srtt > Span::ZERO {
            sender.rtt.sample(srtt, &config.settings);
        }
        (sender, config)
    }

    /// Linux tcp_update_pacing_rate and tcp_small_queue_check: the window, or the outstanding data if that is more, twice in slow start below half of
    /// ssthresh and 1.2 times else, by the round trip, times 1/1024 s; two packets at least, and the fixed limit at most.
    #[test]
    fn a_port_takes_a_1024th_of_a_second_of_the_window() {
        const MOST: u64 = 4 << 20;
        let limit = |changes: Value, srtt: Span, most: u64, outstanding: u64| {
            let (sender, config) = sender(json!({"kind": "newreno"}), changes, srtt);
            sender.port_limit(most, outstanding, &config)
        };
        let ms = Span::ms(1);
        // Ten segments of 1460 bytes a millisecond.
        let per_s = 14_600 * 1000;
        assert_eq!(limit(json!({}), ms, MOST, 0), per_s * 2 / 1024);
        assert_eq!(limit(json!({}), ms, MOST, 20_000), 20_000 * 1000 * 2 / 1024);
        assert_eq!(limit(json!({}), ms, 10_000, 0), 10_000);
        assert_eq!(limit(json!({"initial_ssthresh": "29201B"}), ms, MOST, 0), per_s * 2 / 1024);
        assert_eq!(limit(json!({"initial_ssthresh": "29200B"}), ms, MOST, 0), per_s * 12 / 10 / 1024);
        // Nothing is known of the path, or it is long: two packets, or two bursts, always may.
        assert_eq!(limit(json!({}), Span::ZERO, MOST, 0), MOST);
        assert_eq!(limit(json!({}), Span::s(1), MOST, 0), 2 * 1500);
        assert_eq!(limit(json!({"burst": 4}), Span::s(1), MOST, 0), 2 * 4 * 1500);
    }

    /// sk_pacing_rate: a sender with a pace has a 1024th of a second of it, two packets at least, and the fixed limit does not bind it.
    #[test]
    fn a_port_takes_a_1024th_of_a_second_of_the_pace() {
        for (rate, want) in [("1Gbps", 125_000_000 / 1024), ("1Mbps", 3000)] {
            let (sender, config) = sender(json!({"kind": "cbr", "rate": rate}), json!({}), Span::ms(1));
            assert_eq!(sender.port_limit(1, 0, &config), want, "{rate}");
        }
    }
}
