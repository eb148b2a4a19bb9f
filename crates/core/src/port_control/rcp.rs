//! RCP at a switch: one rate for all flows, from which spare capacity adds and a queue takes away.
//!
//! Source: Dukkipati, Kobayashi, Zhang-Shen, McKeown 2005, "Processor Sharing Flows in the Internet"
//! (IWQoS), s.3; the authors' ns-2 code (rcp.cc) for three points that the paper leaves open: the average of round
//! trips, the first rate, the least rate.
//! Left out: the rate of the return path, since data flows one way.

use super::{Feedback, Place, PortControl, PortView};
use crate::packet::Packet;
use shallows_units::{Span, Time};

crate::choices! {
    /// The effect of the first round trip that a sender reports on the initial one.
    pub enum FirstRtt {
        /// Takes its place.
        Replaces = "replaces",
        /// Moves it as any other does: a shorter one by its share of the flows (rcp.cc).
        Averages = "averages",
    }
}

crate::params! {
    /// RCP. Each port offers one rate to all flows, updated from spare capacity and queue.
    pub struct Settings {
        /// Gain of spare capacity.
        alpha: f64 = 0.4, "(0, 10]", "the authors' ns-2 code: 0.4";
        /// Gain of the queue.
        beta: f64 = 0.4, "[0, 10]", "the authors' ns-2 code: 0.4";
        /// Longest time between updates; they come every average round trip where that is shorter.
        interval: Span = "10ms", "(0s, 1s]", "Dukkipati 2005 s.3: T = min(RTT, chosen); the authors' scripts: 10 ms";
        /// Share of the capacity that is offered.
        target: f64 = 1.0, "(0, 1]", "Dukkipati 2005 eq. (1); later scripts of the authors: 0.95";
        /// First rate on offer, as a share of the capacity.
        initial_share: f64 = 0.05, "(0, 1]", "the authors' ns-2 code: 0.05";
        /// Round trip taken for the average before any sender has reported one.
        initial_rtt: Span = "300us", "(0s, 100s]", "of a data centre; the authors' ns-2 code: 200 ms";
        /// The effect of the first reported round trip on the initial one.
        first_rtt: FirstRtt = "replaces", "", "of a data centre: 200 ms by the authors' average would last for minutes";
    }
}

/// Least rate on offer, in bits a round trip: the authors' ns-2 scripts keep a hundredth of a packet of
/// 1000 bytes.
const LEAST_BITS: f64 = 0.01 * 8000.0;

/// The header: the sender fills in its round trip, each port lowers the rate to its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Header {
    /// Least rate on the path in bit/s, headers included.
    pub rate: f64,
    /// The sender's smoothed round trip; zero while it has none.
    pub rtt: Span,
}

impl super::Header for Header {
    /// Rate and round trip, four bytes each (Dukkipati 2005 s.3: "header fields").
    fn bytes(&self, _back: bool) -> u16 {
        8
    }
}

/// One port.
pub struct Control {
    settings: Settings,
    /// C in bit/s.
    capacity: f64,
    /// R in bit/s.
    rate: f64,
    /// d0 in s.
    rtt: f64,
    known: bool,
    /// Bits that arrived since the last update.
    arrived: f64,
    /// Round trips in s reported since then, weighted by bits, and those bits.
    rtts: (f64, f64),
    updated: Time,
}

impl Control {
    /// Everything is known at arrival.
    pub const DEPARTURES: bool = false;

    /// At a port of `rate`.
    pub fn new(settings: &Settings, at: Place) -> Self {
        let rate = at.rate;
        let capacity = settings.target * rate.as_bps() as f64;
        Control {
            capacity,
            rate: settings.initial_share * capacity,
            rtt: settings.initial_rtt.as_secs_f64(),
            known: false,
            arrived: 0.0,
            rtts: (0.0, 0.0),
            updated: Time::ZERO,
            settings: settings.clone(),
        }
    }

    /// T: time to the next update.
    fn interval(&self) -> Span {
        Span::ps((self.rtt * 1e12) as u64).min(self.settings.interval).max(Span::ns(1))
    }

    /// Brings the average round trip up to the one reported in this interval, which was `period` s long.
    fn average(&mut self, period: f64) {
        let (sum, bits) = std::mem::take(&mut self.rtts);
        if bits == 0.0 {
            return;
        }
        let mean = sum / bits;
        if !self.known && self.settings.first_rtt == FirstRtt::Replaces {
            (self.rtt, self.known) = (mean, true);
            return;
        }
        // rcp.cc: a longer round trip counts at once, a shorter one by its share of the flows.
        let weight = period / self.rtt;
        let weight =
            if mean >= self.rtt { weight } else { weight * self.rate / self.capacity * mean / self.rtt };
        self.rtt += (mean - self.rtt) * weight.min(1.0);
    }
}

impl PortControl for Control {
    fn on_arrive(&mut self, packet: &Packet, header: &mut Feedback, _port: &PortView) {
        let bits = 8.0 * f64::from(packet.size);
        self.arrived += bits;
        let Feedback::Rcp(header) = header else { return };
        if header.rtt > Span::ZERO {
            self.rtts.0 += header.rtt.as_secs_f64() * bits;
            self.rtts.1 += bits;
        }
        header.rate = header.rate.min(self.rate);
    }

    fn on_tick(&mut self, port: &PortView) -> Option<Span> {
        let period = (port.now - self.updated).as_secs_f64();
        self.updated = port.now;
        let idle = self.arrived == 0.0 && port.backlog.bytes == 0;
        let traffic = std::mem::take(&mut self.arrived) / period;
        self.average(period);
        // The packet being transmitted is served, not waiting.
        let queue = 8.0 * (port.backlog.bytes - port.backlog.serving) as f64;
        // Dukkipati 2005 eq. (2): R <- R (1 + (T / d0) (alpha (C - y) - beta q / d0) / C).
        let spare = self.settings.alpha * (self.capacity - traffic) - self.settings.beta * queue / self.rtt;
        let step = (period / self.rtt).min(1.0) * spare / self.capacity;
        let least = LEAST_BITS / self.rtt;
        self.rate = (self.rate * (1.0 + step)).max(least).min(self.capacity);
        (!idle || self.rate < self.capacity).then_some(self.interval())
    }

    /// It slept with its rate at the top, where an idle port's goes, or has yet to begin.
    fn on_wake(&mut self, port: &PortView) -> Option<Span> {
        self.updated = port.now;
        Some(self.interval())
    }

    fn observe(&self, _now: Time, put: &mut dyn FnMut(&'static str, f64)) {
        put("rate_bps", self.rate);
        put("rtt_s", self.rtt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Backlog;
    use crate::packet::tests::packet;
    use crate::params::Params;
    use shallows_units::Rate;

    const RATE: Rate = Rate::gbps(1);

    fn place() -> Place {
        Place { rate: RATE, switch: 0 }
    }

    fn view(us: u64, queued: u64) -> PortView {
        let backlog = Backlog { packets: 0, bytes: queued, serving: 0, free_at: Time::ZERO };
        PortView { now: Time::ZERO + Span::us(us), rate: RATE, backlog }
    }

    fn header(rtt_us: u64) -> Feedback {
        Feedback::Rcp(Header { rate: 1e12, rtt: Span::us(rtt_us) })
    }

    /// Offers `bytes` in each of `rounds` intervals of 100 us, with `queued` bytes waiting at their ends.
    fn rounds(control: &mut Control, from: u64, rounds: u64, bytes: u64, queued: u64) {
        for round in 0..rounds {
            for _ in 0..bytes / 1250 {
                control.on_arrive(&packet(1250), &mut header(100), &view(100 * (from + round), queued));
            }
            control.on_tick(&view(100 * (from + round + 1), queued));
        }
    }

    #[test]
    fn a_rate_is_lowered_and_never_raised() {
        let mut control = Control::new(&Settings::defaults(), place());
        let mut high = header(0);
        control.on_arrive(&packet(1500), &mut high, &view(0, 0));
        assert_eq!(high, Feedback::Rcp(Header { rate: 50e6, rtt: Span::ZERO }));
        let mut low = Feedback::Rcp(Header { rate: 1e6, rtt: Span::ZERO });
        control.on_arrive(&packet(1500), &mut low, &view(0, 0));
        assert_eq!(low, Feedback::Rcp(Header { rate: 1e6, rtt: Span::ZERO }));
    }

    /// rcp.cc starts from 0.2 s. A round trip of 300 us lowers that by (R / C) (RTT / avg) (T / avg): with R at 5 %, 10 ms and
    /// 200 ms 0.05 x 0.0015 x 0.05 = 3.75e-6 of the difference a slot, so that it stands for minutes.
    #[test]
    fn the_first_round_trip_takes_the_initial_ones_place_or_only_moves_it() {
        let first = |first_rtt: FirstRtt| {
            let initial_rtt = Span::ms(200);
            let mut control =
                Control::new(&Settings { initial_rtt, first_rtt, ..Settings::defaults() }, place());
            control.on_arrive(&packet(1250), &mut header(300), &view(0, 0));
            control.on_tick(&view(10_000, 0));
            control.rtt
        };
        assert_eq!(first(FirstRtt::Replaces), 300e-6);
        let want = 0.2 - 3.75e-6 * (0.2 - 300e-6);
        assert!((first(FirstRtt::Averages) - want).abs() < 1e-15);
    }

    #[test]
    fn spare_capacity_raises_the_rate_by_eq_2() {
        let mut control = Control::new(&Settings::defaults(), place());
        rounds(&mut control, 0, 1, 0, 0);
        // T / d0 = 100 / 300, y = 0: R (1 + 0.4 / 3).
        assert!((control.rate / 50e6 - (1.0 + 0.4 / 3.0)).abs() < 1e-12);
        rounds(&mut control, 1, 1, 6250, 0);
        // Half the capacity used, and now T = d0: 1 + 0.4 / 2.
        assert!((control.rate / 50e6 - (1.0 + 0.4 / 3.0) * 1.2).abs() < 1e-9);
    }

    #[test]
    fn a_full_link_without_a_queue_keeps_its_rate_and_a_queue_lowers_it() {
        let mut control = Control::new(&Settings::defaults(), place());
        rounds(&mut control, 0, 1, 12_500, 0);
        let rate = control.rate;
        rounds(&mut control, 1, 5, 12_500, 0);
        assert!((control.rate - rate).abs() < 1e-3);
        rounds(&mut control, 6, 1, 12_500, 1250);
        // q / d0 = 100 Mb/s: 1 - 0.4 x 0.1.
        assert!((control.rate / rate - 0.96).abs() < 1e-9);
    }

    #[test]
    fn an_idle_port_offers_all_it_has_and_sleeps() {
        let mut control = Control::new(&Settings::defaults(), place());
        let mut ticks = 0;
        while let Some(after) = control.on_tick(&view(300 * (ticks + 1), 0)) {
            assert_eq!(after, Span::us(300));
            ticks += 1;
        }
        assert_eq!(control.rate, 1e9);
        // 1.4^n >= 20.
        assert_eq!(ticks, 9 - 1);
    }
}
