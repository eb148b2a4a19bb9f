//! D3 at a switch: rates for deadlines first, first come first served, and the rest in equal shares.
//!
//! Source: Wilson, Ballani, Karagiannis, Rowstron 2011, "Better Never than Late: Meeting Deadlines in Datacenter
//! Networks" (SIGCOMM), s.4.3 and its Snippet 1, a router's work on a request; Hong, Caesar, Godfrey 2012
//! (PDQ, SIGCOMM) s.5.2.1 for gains and for bounds on the fair share.
//! The papers were not at hand. Snippet 1, its order, "greater than" in it, the fair share cut at zero and the base rate
//! as its floor agree with the implementation in the Aequitas simulator (SymbioticLab/Aequitas, `ext/d3_queue.cpp`), which follows it
//! line by line. Not confirmed: s.4.3's rule for the capacity, which that one leaves out, its gains, and the size of the header.
//! Three sums over flows: N, the demand D, the allocation A. Each request brings the demand of its flow and this
//! switch's previous grant, so that no state per flow is needed.
//!
//! Left open by the paper, and chosen here. Sums drift when requests, SYN or FIN are lost or a sender
//! crashes: claims that are not renewed fade ([`super::soft`]). The fair share is never negative (PDQ's authors: a
//! flow would return what it holds). A demand beyond the link, which the paper has its sender give up
//! (s.6.1.3, "quenching"), counts as none. The capacity assigned never exceeds the link: the paper lets it, to fill the
//! room of flows that are held back elsewhere.

use super::soft::{Claim, SoftSum};
use super::{Feedback, Place, PortControl, PortView};
use crate::packet::Packet;
use shallows_units::{Span, Time};

crate::params! {
    /// D3. Each port grants the rates that deadlines need, in order of requests, and shares out the rest.
    pub struct Settings {
        /// For how long a claim stands that is not renewed, or "none" for ever.
        expiry: Option<Span> = "10ms", "(0s, 100s]", "the least retransmission timeout: a sender silent so long has stopped";
        /// Gain of spare capacity.
        alpha: f64 = 0.1, "[0, 10]", "Hong 2012 s.5.2.1: the suggested 0.1";
        /// Gain of the queue.
        beta: f64 = 1.0, "[0, 10]", "Hong 2012 s.5.2.1: the suggested 1";
        /// Interval before any sender has reported a round trip.
        initial_interval: Span = "300us", "(0s, 100s]", "of a data centre; then the average round trip";
    }
}

/// Ports on a path that can take part; those after them look on.
pub const HOPS: usize = 8;

/// A rate request. Rates are in kb/s, headers included: whole numbers, whose sums are exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Header {
    /// The demand r, and the one before.
    pub demand: Claim,
    /// The flow begins, and is counted.
    pub joins: bool,
    /// It ends, and is assigned nothing.
    pub leaves: bool,
    /// Some port gave no more than the base rate: one header a round trip.
    pub base: bool,
    /// By port on the path: its previous grant, then its present one.
    pub rates: [u32; HOPS],
    /// Ports passed.
    pub hops: u8,
    /// The sender's smoothed round trip; zero while it has none.
    pub rtt: Span,
}

impl Header {
    /// The least rate on the path in bit/s; infinity without a port that takes part.
    pub fn rate(&self) -> f64 {
        let least = self.rates[..usize::from(self.hops).min(HOPS)].iter().min();
        least.map_or(f64::INFINITY, |kbps| 1e3 * f64::from(*kbps))
    }
}

impl super::Header for Header {
    /// Four bytes each for both demands, RTT and the rate of each port, two each for the times of the demands,
    /// two for flags and ports; the echo carries rates, flags and ports.
    fn bytes(&self, back: bool) -> u16 {
        if back { 34 } else { 50 }
    }
}

/// One port.
pub struct Control {
    settings: Settings,
    /// N.
    flows: SoftSum,
    /// D in kb/s.
    demand: SoftSum,
    /// A in kb/s.
    allocated: SoftSum,
    /// Rate of the link in kb/s.
    full: f64,
    /// C in kb/s.
    capacity: f64,
    interval: Span,
    /// Bytes that arrived in this interval.
    arrived: u64,
    /// Sum of round trips reported in this interval in s, and how many.
    rtts: (f64, f64),
}

/// A header alone, TCP's and this protocol's.
const HEADER_BITS: f64 = 8.0 * (40 + 50) as f64;

impl Control {
    /// Everything is known at arrival.
    pub const DEPARTURES: bool = false;

    /// At a port of `rate`, without flows.
    pub fn new(settings: &Settings, at: Place) -> Self {
        let rate = at.rate;
        let sum = || SoftSum::new(settings.expiry);
        let full = rate.as_bps() as f64 / 1e3;
        Control {
            flows: sum(),
            demand: sum(),
            allocated: sum(),
            full,
            capacity: full,
            interval: settings.initial_interval,
            arrived: 0,
            rtts: (0.0, 0.0),
            settings: settings.clone(),
        }
    }

    /// The part of a demand that counts: none where the link could never carry it.
    fn counted(&self, demand: f64) -> f64 {
        if demand > self.full { 0.0 } else { demand }
    }

    /// Wilson 2011, Snippet 1, in its order.
    fn allocate(&mut self, request: &Header, before: f64, now: Time) -> f64 {
        let Claim { then, at, .. } = request.demand;
        let claim = |before: f64, now: f64| Claim { before, then, now, at };
        let one = |is: bool| f64::from(u8::from(is));
        self.flows.claim(&claim(one(!request.joins), one(!request.leaves)), now);
        // Returns the old allocation.
        self.allocated.claim(&claim(before, 0.0), now);
        let left = self.capacity - self.allocated.total(now);
        // D <- D - r_t + r_t+1.
        let wanted = self.counted(request.demand.now);
        self.demand.claim(&claim(self.counted(request.demand.before), wanted), now);
        if request.leaves {
            return 0.0;
        }
        let fair = (self.capacity - self.demand.total(now)).max(0.0) / self.flows.total(now).max(1.0);
        let given = if left > wanted { wanted + fair } else { left };
        let given = f64::floor(given.max(self.base_rate()));
        self.allocated.claim(&claim(0.0, given), now);
        given
    }

    /// s.4.3: the rate at which a flow sends one header a round trip.
    fn base_rate(&self) -> f64 {
        f64::floor(HEADER_BITS / self.interval.as_secs_f64() / 1e3).max(1.0)
    }
}

impl PortControl for Control {
    fn on_arrive(&mut self, packet: &Packet, header: &mut Feedback, port: &PortView) {
        self.arrived += u64::from(packet.size);
        let Feedback::D3(request) = header else { return };
        if request.rtt > Span::ZERO {
            self.rtts.0 += request.rtt.as_secs_f64();
            self.rtts.1 += 1.0;
        }
        let hop = usize::from(request.hops);
        if hop >= HOPS {
            return;
        }
        let given = self.allocate(request, f64::from(request.rates[hop]), port.now);
        request.base |= given <= self.base_rate();
        request.rates[hop] = given as u32;
        request.hops += 1;
    }

    fn on_tick(&mut self, port: &PortView) -> Option<Span> {
        let period = self.interval.as_secs_f64();
        let (sum, count) = std::mem::take(&mut self.rtts);
        let arrived = std::mem::take(&mut self.arrived);
        let load = 8e-3 * arrived as f64 / period;
        // The packet being transmitted is served, not waiting.
        let queue = 8e-3 * (port.backlog.bytes - port.backlog.serving) as f64;
        // s.4.3: C(t + T) = C(t) + alpha (C - u / T) - beta q / T. A tenth is always left to assign.
        let Settings { alpha, beta, .. } = self.settings;
        let next = self.capacity + alpha * (self.full - load) - beta * queue / period;
        self.capacity = next.clamp(0.1 * self.full, self.full);
        if count > 0.0 {
            self.interval = Span::ps((sum / count * 1e12) as u64).max(Span::ns(1));
        }
        let idle = self.flows.total(port.now) == 0.0 && port.backlog.bytes == 0 && arrived == 0;
        (!idle).then_some(self.interval)
    }

    /// It slept without flows and without a queue.
    fn on_wake(&mut self, _port: &PortView) -> Option<Span> {
        self.capacity = self.full;
        Some(self.interval)
    }

    fn observe(&self, now: Time, put: &mut dyn FnMut(&'static str, f64)) {
        put("flows", self.flows.clone().total(now));
        put("demand_bps", 1e3 * self.demand.clone().total(now));
        put("allocated_bps", 1e3 * self.allocated.clone().total(now));
        put("capacity_bps", 1e3 * self.capacity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Backlog;
    use crate::packet::tests::packet;
    use crate::params::Params;
    use shallows_units::Rate;

    /// 40 bytes and 50 of header in 300 us.
    const BASE: u32 = 2400;

    fn view(us: u64, queued: u64) -> PortView {
        let backlog = Backlog { packets: 0, bytes: queued, serving: 0, free_at: Time::ZERO };
        PortView { now: Time::ZERO + Span::us(us), rate: Rate::gbps(1), backlog }
    }

    fn control() -> Control {
        Control::new(&Settings::defaults(), Place { rate: Rate::gbps(1), switch: 0 })
    }

    /// A flow as its sender would keep it.
    #[derive(Default)]
    struct Flow {
        demand: u32,
        rate: u32,
        joined: bool,
        asked: u64,
    }

    impl Flow {
        /// Asks at `us` for `demand` kb/s, or leaves, and is given so many kb/s.
        fn ask(&mut self, control: &mut Control, us: u64, demand: Option<u32>) -> u32 {
            let at = |us| Time::ZERO + Span::us(us);
            let now = demand.unwrap_or(0);
            let claim =
                Claim { before: self.demand.into(), then: at(self.asked), now: now.into(), at: at(us) };
            let mut rates = [0; HOPS];
            rates[0] = self.rate;
            let mut header = Feedback::D3(Header {
                demand: claim,
                joins: !self.joined,
                leaves: demand.is_none(),
                base: false,
                rates,
                hops: 0,
                rtt: Span::us(300),
            });
            control.on_arrive(&packet(1500), &mut header, &view(us, 0));
            let Feedback::D3(header) = header else { unreachable!() };
            assert_eq!(header.hops, 1);
            (self.rate, self.demand, self.joined, self.asked) = (header.rates[0], now, true, us);
            assert_eq!(header.base, demand.is_none() || self.rate <= BASE);
            self.rate
        }
    }

    fn sums(control: &Control, us: u64) -> [f64; 3] {
        let now = Time::ZERO + Span::us(us);
        [&control.flows, &control.demand, &control.allocated].map(|sum| sum.clone().total(now))
    }

    /// Without deadlines: the second flow has the base rate until the first has learned about it, then C / 2.
    #[test]
    fn flows_without_deadlines_share_alike() {
        let (mut control, mut a, mut b) = (control(), Flow::default(), Flow::default());
        assert_eq!(a.ask(&mut control, 0, Some(0)), 1_000_000);
        assert_eq!(b.ask(&mut control, 10, Some(0)), BASE);
        assert_eq!(a.ask(&mut control, 300, Some(0)), 500_000);
        assert_eq!(b.ask(&mut control, 310, Some(0)), 500_000);
        assert_eq!(sums(&control, 310), [2.0, 0.0, 1e6]);
    }

    /// Snippet 1's arithmetic with demands of 600 and 300 Mb/s beside a flow without: the rest of the link is
    /// divided by three.
    #[test]
    fn demands_are_met_and_the_rest_is_shared() {
        let (mut control, mut flows) = (control(), [Flow::default(), Flow::default(), Flow::default()]);
        let wants = [600_000, 300_000, 0];
        let mut ask =
            |us: u64| [0, 1, 2].map(|i: usize| flows[i].ask(&mut control, us + i as u64, Some(wants[i])));
        // r + (C - D) / N = 600 + 400; then nothing is left.
        assert_eq!(ask(0), [1_000_000, BASE, BASE]);
        // D = 900: 600 + 33.3; 300 + 33.3; 33.3.
        assert_eq!(ask(300), [633_333, 333_333, 33_333]);
        assert_eq!(ask(600), [633_333, 333_333, 33_333]);
        assert_eq!(sums(&control, 610), [3.0, 900_000.0, 999_999.0]);
    }

    /// s.4.3: first come, first served. Two demands of 600 Mb/s do not both fit; the first to ask keeps its own
    /// whole, the other has the rest, in either order.
    #[test]
    fn the_first_to_ask_is_served_first() {
        for first in [0, 1] {
            let (mut control, mut flows) = (control(), [Flow::default(), Flow::default()]);
            for us in [0, 300, 600] {
                flows[first].ask(&mut control, us, Some(600_000));
                flows[1 - first].ask(&mut control, us + 10, Some(600_000));
            }
            assert_eq!([flows[first].rate, flows[1 - first].rate], [600_000, 400_000]);
            // D is 1.2 C, and the fair share not negative.
            assert_eq!(sums(&control, 700), [2.0, 1_200_000.0, 1_000_000.0]);
        }
    }

    /// Once the first has left, all it held is there for the other.
    #[test]
    fn who_leaves_takes_all_of_it_along() {
        let (mut control, mut a, mut b) = (control(), Flow::default(), Flow::default());
        for us in [0, 300, 600] {
            a.ask(&mut control, us, Some(600_000));
            b.ask(&mut control, us + 10, Some(600_000));
        }
        assert_eq!(a.ask(&mut control, 900, None), 0);
        assert_eq!(b.ask(&mut control, 910, Some(600_000)), 1_000_000);
        b.ask(&mut control, 1200, None);
        assert_eq!(sums(&control, 1200), [0.0; 3]);
    }

    #[test]
    fn a_demand_that_no_link_could_carry_counts_as_none() {
        let (mut control, mut a, mut b) = (control(), Flow::default(), Flow::default());
        for us in [0, 300, 600] {
            a.ask(&mut control, us, Some(1_000_001));
            b.ask(&mut control, us + 10, Some(0));
        }
        assert_eq!((a.rate, b.rate, sums(&control, 700)[1]), (500_000, 500_000, 0.0));
    }

    /// 300 us at 1 Gb/s are 37 500 bytes.
    #[test]
    fn a_queue_lowers_the_capacity_and_spare_capacity_raises_it() {
        let mut control = control();
        control.on_wake(&view(0, 0));
        for _ in 0..25 {
            control.on_arrive(&packet(1500), &mut Feedback::None, &view(1, 0));
        }
        // beta q / T with q a tenth of the link's bytes in T.
        control.on_tick(&view(300, 3750));
        assert!((control.capacity - 900_000.0).abs() < 1e-6, "{}", control.capacity);
        // Half used: alpha C / 2.
        for _ in 0..25 {
            control.on_arrive(&packet(750), &mut Feedback::None, &view(301, 0));
        }
        control.on_tick(&view(600, 0));
        assert!((control.capacity - 950_000.0).abs() < 1e-6, "{}", control.capacity);
        control.on_tick(&view(900, 0));
        assert_eq!(control.capacity, 1e6);
        // And it takes nothing that others need to report their end.
        control.on_tick(&view(1200, 10_000_000));
        assert_eq!(control.capacity, 1e5);
    }

    #[test]
    fn a_sender_that_crashed_is_forgotten() {
        let (mut control, mut gone, mut stays) = (control(), Flow::default(), Flow::default());
        gone.ask(&mut control, 0, Some(900_000));
        for us in (300..30_000).step_by(300) {
            stays.ask(&mut control, us, Some(0));
            control.on_tick(&view(us + 100, 0));
        }
        assert_eq!(stays.rate, 1_000_000);
        assert_eq!(sums(&control, 30_000), [1.0, 0.0, 1_000_000.0]);
    }
}
