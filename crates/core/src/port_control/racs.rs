//! RACS at a switch: capacity shared by weight, over slots of the average round trip.
//!
//! Source: Munir 2012, "Improving Flow Completion Times in Data Center Networks" (MS thesis, NUST), ch. 4:
//! s.4.1.3, eqs. (4.2) and (4.3), s.4.2.
//!
//! Left open by the thesis, and chosen here. W drifts when requests, SYN or FIN are lost or a sender
//! crashes: claims that are not renewed fade ([`super::soft`]). A link assigned to the last bit never
//! loses a queue that once stood: what a slot cannot carry beside the queue found, times `drain`, is not
//! assigned (`drain = 0` is eq. (4.2) alone). "A flow is first admitted in the network and then assigned": the
//! sum of the last slot alone does not hold it yet where a slot, the average round trip, is longer than the
//! round trip of a new flow, and a burst of n flows would be assigned the link n times. So rates follow from
//! the larger of that sum and the present one: weight that comes counts at once, weight that goes with the slot.

use super::soft::{Claim, SoftSum};
use super::{Feedback, Place, PortControl, PortView};
use crate::packet::Packet;
use shallows_units::{Span, Time};

crate::params! {
    /// RACS. Each port shares its capacity among the flows by their weights.
    pub struct Settings {
        /// For how long a weight stands that is not renewed, or "none" for ever.
        expiry: Option<Span> = "10ms", "(0s, 100s]", "the least retransmission timeout: a sender silent so long has stopped";
        /// Share of the capacity that is assigned.
        share: f64 = 1.0, "(0, 1]", "eq. (4.2): all of it";
        /// Share of a standing queue that a slot is to drain.
        drain: f64 = 0.15, "[0, 1]", "not in the thesis; below 1 / (2 e), so that over the two slots of delay a queue drains without swinging";
        /// Slot before any sender has reported a round trip.
        initial_slot: Span = "300us", "(0s, 100s]", "thesis s.3.4.1: 300 us; t_p is the average round trip";
    }
}

/// A rate request (thesis figure 4.2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Header {
    /// w_p and w_c, and when they were claimed.
    pub claim: Claim,
    /// It only admits the flow, with the SYN, and is assigned no rate.
    pub admits: bool,
    /// R in bit/s, headers included: the least on the path.
    pub rate: f64,
    /// The sender's smoothed round trip; zero while it has none.
    pub rtt: Span,
    /// t_trans: the shortest slot on the path.
    pub round: Span,
}

impl super::Header for Header {
    /// Four bytes each for w_c, w_p, R, RTT and t_trans, and two each for the times of w_c and w_p; the echo carries
    /// R and t_trans.
    fn bytes(&self, back: bool) -> u16 {
        if back { 8 } else { 24 }
    }
}

/// One port.
pub struct Control {
    settings: Settings,
    /// W as requests come in.
    weights: SoftSum,
    /// W as it stood at the end of the last slot, from which this one assigns.
    assigned: f64,
    /// Bit/s to assign in this slot.
    capacity: f64,
    slot: Span,
    /// Sum of round trips reported in this slot in s, and how many.
    rtts: (f64, f64),
}

impl Control {
    /// Everything is known at arrival.
    pub const DEPARTURES: bool = false;

    /// At a port of `rate`, without flows.
    pub fn new(settings: &Settings, at: Place) -> Self {
        let rate = at.rate;
        Control {
            weights: SoftSum::new(settings.expiry),
            assigned: 0.0,
            capacity: settings.share * rate.as_bps() as f64,
            slot: settings.initial_slot,
            rtts: (0.0, 0.0),
            settings: settings.clone(),
        }
    }
}

impl PortControl for Control {
    fn on_arrive(&mut self, _packet: &Packet, header: &mut Feedback, port: &PortView) {
        let Feedback::Racs(request) = header else { return };
        // Eq. (4.3): W <- W + w_c - w_p.
        self.weights.claim(&request.claim, port.now);
        if request.rtt > Span::ZERO {
            self.rtts.0 += request.rtt.as_secs_f64();
            self.rtts.1 += 1.0;
        }
        // s.4.2: one slot sums, the next assigns from the sum, and nobody before being in it.
        let weight = request.claim.now;
        let sum = self.assigned.max(self.weights.total(port.now));
        if weight > 0.0 && !request.admits {
            // Eq. (4.2): R = w C / W; a flow that the sum does not hold yet is not given more than there is.
            request.rate = request.rate.min(weight * self.capacity / sum.max(weight));
        }
        request.round = request.round.min(self.slot);
    }

    fn on_tick(&mut self, port: &PortView) -> Option<Span> {
        let (sum, count) = std::mem::take(&mut self.rtts);
        if count > 0.0 {
            // s.4.1.3, note: t_p = avgRTT.
            self.slot = Span::ps((sum / count * 1e12) as u64).max(Span::ns(1));
        }
        self.assigned = self.weights.total(port.now);
        let queue = 8.0 * (port.backlog.bytes - port.backlog.serving) as f64;
        let full = self.settings.share * port.rate.as_bps() as f64;
        // A tenth is always left to assign, so that no queue stops the packets that would report its end.
        self.capacity = (full - self.settings.drain * queue / self.slot.as_secs_f64()).max(0.1 * full);
        let idle = self.assigned == 0.0 && port.backlog.bytes == 0 && count == 0.0;
        (!idle).then_some(self.slot)
    }

    /// It slept without flows and without a queue.
    fn on_wake(&mut self, port: &PortView) -> Option<Span> {
        self.capacity = self.settings.share * port.rate.as_bps() as f64;
        Some(self.slot)
    }

    fn observe(&self, now: Time, put: &mut dyn FnMut(&'static str, f64)) {
        put("weights", self.weights.clone().total(now));
        put("capacity_bps", self.capacity);
        put("slot_s", self.slot.as_secs_f64());
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
    const MOST: Span = Span::s(1);

    fn view(us: u64, queued: u64) -> PortView {
        let backlog = Backlog { packets: 0, bytes: queued, serving: 0, free_at: Time::ZERO };
        PortView { now: Time::ZERO + Span::us(us), rate: RATE, backlog }
    }

    /// Asks, and is answered (rate in Mb/s, slot in us).
    fn ask(control: &mut Control, us: u64, before: f64, now: f64) -> (f64, u64) {
        let at = Time::ZERO + Span::us(us);
        let claim = Claim { before, then: Time::ps(at.as_ps().saturating_sub(100_000_000)), now, at };
        let mut header = Feedback::Racs(Header {
            claim,
            admits: false,
            rate: f64::INFINITY,
            rtt: Span::us(100),
            round: MOST,
        });
        control.on_arrive(&packet(100), &mut header, &view(us, 0));
        let Feedback::Racs(header) = header else { unreachable!() };
        (header.rate / 1e6, header.round.as_ps() / 1_000_000)
    }

    #[test]
    fn one_slot_sums_and_the_next_assigns_by_weight() {
        let mut control = Control::new(&Settings::defaults(), place());
        ask(&mut control, 0, 0.0, 1.0);
        ask(&mut control, 10, 0.0, 3.0);
        control.on_tick(&view(100, 0));
        assert_eq!(ask(&mut control, 110, 1.0, 1.0), (250.0, 100));
        assert_eq!(ask(&mut control, 120, 3.0, 3.0), (750.0, 100));
        // A third is admitted, and counts from now on.
        ask(&mut control, 130, 0.0, 4.0);
        assert_eq!(ask(&mut control, 140, 1.0, 1.0), (125.0, 100));
        control.on_tick(&view(200, 0));
        assert_eq!(ask(&mut control, 210, 1.0, 1.0), (125.0, 100));
        // It goes, and counts until the slot ends.
        ask(&mut control, 220, 4.0, 0.0);
        assert_eq!(ask(&mut control, 230, 1.0, 1.0), (125.0, 100));
        control.on_tick(&view(300, 0));
        assert_eq!(ask(&mut control, 310, 1.0, 1.0), (250.0, 100));
    }

    /// 40 flows within a slot that is longer than their round trip: none gets a rate as if it were alone.
    #[test]
    fn a_burst_is_not_assigned_the_link_many_times() {
        let settings = Settings { initial_slot: Span::ms(1), ..Settings::defaults() };
        let mut control = Control::new(&settings, place());
        assert_eq!(control.on_wake(&view(0, 0)), Some(Span::ms(1)));
        for _ in 0..40 {
            ask(&mut control, 0, 0.0, 2.0);
        }
        for _ in 0..40 {
            assert_eq!(ask(&mut control, 300, 2.0, 2.0).0, 25.0);
        }
    }

    #[test]
    fn the_lowest_rate_and_the_shortest_slot_on_the_path_stand() {
        let mut control = Control::new(&Settings::defaults(), place());
        ask(&mut control, 0, 0.0, 1.0);
        control.on_tick(&view(100, 0));
        let us = |us| Time::ZERO + Span::us(us);
        let claim = Claim { before: 1.0, then: us(50), now: 1.0, at: us(150) };
        let mut header = Feedback::Racs(Header {
            claim,
            admits: false,
            rate: 1e6,
            rtt: Span::us(100),
            round: Span::us(50),
        });
        control.on_arrive(&packet(100), &mut header, &view(150, 0));
        let Feedback::Racs(header) = header else { unreachable!() };
        assert_eq!((header.rate, header.round), (1e6, Span::us(50)));
    }

    #[test]
    fn a_standing_queue_is_drained_before_more_is_assigned() {
        let mut control = Control::new(&Settings::defaults(), place());
        ask(&mut control, 0, 0.0, 1.0);
        // 12500 bytes are 100 us of the link, a slot; 15 % of it are not assigned.
        control.on_tick(&view(100, 12_500));
        assert!((ask(&mut control, 110, 1.0, 1.0).0 - 850.0).abs() < 1e-9);
        control.on_tick(&view(200, 0));
        assert_eq!(ask(&mut control, 210, 1.0, 1.0).0, 1000.0);
    }

    #[test]
    fn a_sender_that_crashed_is_forgotten() {
        let mut control = Control::new(&Settings::defaults(), place());
        ask(&mut control, 0, 0.0, 9.0);
        for round in 0..201 {
            ask(&mut control, 100 * round, if round == 0 { 0.0 } else { 1.0 }, 1.0);
            control.on_tick(&view(100 * round + 50, 0));
        }
        assert_eq!(ask(&mut control, 20_100, 1.0, 1.0).0, 1000.0);
        assert!(control.on_tick(&view(50_000, 0)).is_some());
        assert_eq!(control.on_tick(&view(50_100, 0)), None, "nothing left, nothing to do");
    }
}
