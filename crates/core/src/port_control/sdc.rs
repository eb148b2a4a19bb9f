//! SDC at a switch: the load factor of each interval, and the highest class of size that is active.
//!
//! Source: Munir 2012, "Improving Flow Completion Times in Data Center Networks" (MS thesis, NUST), ch. 3:
//! s.3.2.2 and eq. (3.4).
//! The thesis counts classes by SYN and FIN and leaves open how the counters recover when those are
//! lost or a sender falls silent: they drift. Here each flow renews its claim to a class once a round
//! trip, and a claim that is not renewed fades ([`super::soft`]); the next packet reports a change of class.
//! `expiry = "none"` is the thesis' counter, drift and all.
//! Nor does it say how q_av is taken: here of the queue that each packet finds, until the next comes, which a
//! switch can know whatever its discipline. Where packets of two flows come in pairs it is less than the mean over time.

use super::soft::{Claim, SoftSum};
use super::{Feedback, Place, PortControl, PortView};
use crate::packet::Packet;
use shallows_units::{Span, Time};

crate::params! {
    /// SDC. Each port tells its load factor and the highest class that is active.
    pub struct Settings {
        /// Interval t_p over which the load is measured.
        interval: Span = "300us", "(0s, 1s]", "thesis s.3.4.1: t_p is the round trip, 300 us there";
        /// For how long a claim to a class stands that is not renewed, or "none" for ever.
        expiry: Option<Span> = "10ms", "(0s, 100s]", "the least retransmission timeout: a sender silent so long has stopped";
    }
}

/// Most classes, highest first; a sender's thresholds say how many there are.
pub const CLASSES: usize = 5;

/// Stands for no class.
pub const NO_CLASS: u8 = CLASSES as u8;

/// A flow's claim to be of a class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Membership {
    /// The class claimed before, or [`NO_CLASS`].
    pub from: u8,
    /// When that was.
    pub then: Time,
    /// The class claimed now, or [`NO_CLASS`] with the FIN.
    pub to: u8,
    /// When this is.
    pub at: Time,
}

/// The header.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Header {
    /// Greatest load factor on the path.
    pub load: f32,
    /// It travels in two bits, since the sender asks for it so.
    pub quantised: bool,
    /// t_p where the load is greatest; the same in a whole network, and so not carried in bytes.
    pub interval: Span,
    /// Highest class active on the path, or [`NO_CLASS`].
    pub highest: u8,
    /// The sender's claim, with the SYN, the FIN, and once a round trip.
    pub claim: Option<Membership>,
}

impl super::Header for Header {
    /// On the way out the class is in the ToS byte and two bits of load in the ECN field; in full the load
    /// takes 4 bytes, and a claim 4: two classes, two times. The echo is a TCP option: kind, length, and a byte or five.
    fn bytes(&self, back: bool) -> u16 {
        let load = if self.quantised { 0 } else { 4 };
        let claim = if self.claim.is_some() { 4 } else { 0 };
        if back { 4 + load } else { load + claim }
    }
}

/// Thresholds of the two-bit load: Xia et al. 2005 (VCP) s.3.2, which eq. (3.4) comes from.
const HIGH_LOAD: f64 = 0.8;

/// A load factor in the steps that two bits allow.
fn quantise(load: f64) -> f64 {
    if load >= 1.0 {
        1.0
    } else if load >= HIGH_LOAD {
        HIGH_LOAD
    } else {
        0.0
    }
}

/// One port.
pub struct Control {
    settings: Settings,
    classes: [SoftSum; CLASSES],
    /// f of the last interval.
    load: f64,
    /// Bytes that arrived in this one.
    arrived: u64,
    /// Integral over this one of the bytes that waited when last looked at, in byte s.
    queued: f64,
    /// The queue at the last look, and the time of that look.
    waiting: (u64, Time),
}

impl Control {
    /// Everything is known at arrival.
    pub const DEPARTURES: bool = false;

    /// At a port, idle.
    pub fn new(settings: &Settings, _at: Place) -> Self {
        Control {
            classes: std::array::from_fn(|_| SoftSum::new(settings.expiry)),
            load: 0.0,
            arrived: 0,
            queued: 0.0,
            waiting: (0, Time::ZERO),
            settings: settings.clone(),
        }
    }

    /// Adds to the queue's integral. The packet being transmitted does not wait.
    fn look(&mut self, port: &PortView) {
        let (bytes, since) = self.waiting;
        self.queued += bytes as f64 * (port.now - since).as_secs_f64();
        self.waiting = (port.backlog.bytes - port.backlog.serving, port.now);
    }

    /// The highest class with a flow, or [`NO_CLASS`].
    fn highest(&mut self, now: Time) -> u8 {
        let active = self.classes.iter_mut().position(|class| class.total(now) > 0.5);
        active.map_or(NO_CLASS, |class| class as u8)
    }

    fn enroll(&mut self, claim: &Membership, now: Time) {
        for (number, class) in (0..NO_CLASS).zip(&mut self.classes) {
            let is = |one: u8| f64::from(u8::from(one == number));
            if is(claim.from) + is(claim.to) > 0.0 {
                let claim =
                    Claim { before: is(claim.from), then: claim.then, now: is(claim.to), at: claim.at };
                class.claim(&claim, now);
            }
        }
    }
}

impl PortControl for Control {
    fn on_arrive(&mut self, packet: &Packet, header: &mut Feedback, port: &PortView) {
        self.look(port);
        self.arrived += u64::from(packet.size);
        let Feedback::Sdc(header) = header else { return };
        if let Some(claim) = &header.claim {
            self.enroll(claim, port.now);
        }
        let load = if header.quantised { quantise(self.load) } else { self.load };
        if load as f32 >= header.load {
            (header.load, header.interval) = (load as f32, self.settings.interval);
        }
        header.highest = header.highest.min(self.highest(port.now));
    }

    fn on_tick(&mut self, port: &PortView) -> Option<Span> {
        self.look(port);
        let over = self.settings.interval.as_secs_f64();
        let arrived = std::mem::take(&mut self.arrived) as f64;
        let queued = std::mem::take(&mut self.queued);
        // Eq. (3.4): f = (lambda + q_av) / (C t_p).
        self.load = 8.0 * (arrived + queued / over) / (port.rate.as_bps() as f64 * over);
        let idle = arrived == 0.0 && port.backlog.bytes == 0 && self.highest(port.now) == NO_CLASS;
        (!idle).then_some(self.settings.interval)
    }

    /// Nothing has been measured; the load is that of an idle port until a whole t_p has passed.
    fn on_wake(&mut self, port: &PortView) -> Option<Span> {
        self.load = 0.0;
        self.arrived = 0;
        self.queued = 0.0;
        self.waiting = (0, port.now);
        Some(self.settings.interval)
    }

    fn observe(&self, now: Time, put: &mut dyn FnMut(&'static str, f64)) {
        put("load", self.load);
        let names = ["class_a", "class_b", "class_c", "class_d", "class_e"];
        for (name, class) in names.into_iter().zip(&self.classes) {
            put(name, class.clone().total(now));
        }
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

    fn header(us: u64, claim: Option<(u8, u8)>) -> Feedback {
        let at = |us| Time::ZERO + Span::us(us);
        let then = at(us.saturating_sub(300));
        let claim = claim.map(|(from, to)| Membership { from, then, to, at: at(us) });
        Feedback::Sdc(Header { load: 0.0, quantised: false, interval: Span::ZERO, highest: NO_CLASS, claim })
    }

    fn arrive(control: &mut Control, us: u64, queued: u64, claim: Option<(u8, u8)>) -> Header {
        let mut header = header(us, claim);
        control.on_arrive(&packet(1500), &mut header, &view(us, queued));
        let Feedback::Sdc(header) = header else { unreachable!() };
        header
    }

    /// 300 us at 1 Gb/s are 25 packets of 1500 bytes.
    #[test]
    fn the_load_factor_counts_arrivals_and_the_mean_queue() {
        let mut control = Control::new(&Settings::defaults(), place());
        control.on_wake(&view(0, 0));
        for i in 0..20 {
            arrive(&mut control, 15 * i, 3000, None);
        }
        control.on_tick(&view(300, 3000));
        // 20 packets, and 2 more wait all the time: 22 of 25.
        assert!((control.load - 0.88).abs() < 1e-9, "{}", control.load);
        assert_eq!(arrive(&mut control, 301, 0, None).load, 0.88);
    }

    /// Two packets back to back after an idle time are 2 of 25, and not a full link: a load is that of a whole
    /// t_p, which begins with the first of them.
    #[test]
    fn a_load_after_idleness_is_that_of_a_whole_interval() {
        let mut control = Control::new(&Settings::defaults(), place());
        for us in [7, 50_000] {
            assert_eq!(control.on_wake(&view(us, 0)), Some(Span::us(300)));
            assert_eq!(arrive(&mut control, us, 0, None).load, 0.0);
            // The first has left the queue by then.
            assert_eq!(arrive(&mut control, us + 12, 0, None).load, 0.0);
            assert_eq!(control.on_tick(&view(us + 300, 0)), Some(Span::us(300)));
            assert_eq!(arrive(&mut control, us + 301, 0, None).load, 0.08);
            // 1 of 25, which nobody learns about; then nothing, and it sleeps.
            assert_eq!(control.on_tick(&view(us + 600, 0)), Some(Span::us(300)));
            assert_eq!(control.load, 0.04);
            assert_eq!(control.on_tick(&view(us + 900, 0)), None);
        }
    }

    #[test]
    fn two_bits_tell_overload_and_little_else() {
        for (packets, load) in [(10, 0.0), (22, 0.8), (25, 1.0), (60, 1.0)] {
            let mut control = Control::new(&Settings::defaults(), place());
            control.on_wake(&view(0, 0));
            for _ in 0..packets {
                arrive(&mut control, 100, 0, None);
            }
            control.on_tick(&view(300, 0));
            let Feedback::Sdc(plain) = header(301, None) else { unreachable!() };
            let mut asked = Feedback::Sdc(Header { quantised: true, ..plain });
            control.on_arrive(&packet(1500), &mut asked, &view(301, 0));
            let Feedback::Sdc(answer) = asked else { unreachable!() };
            assert_eq!(answer.load, load);
            // The header of a packet of this size costs no bytes.
            assert_eq!(crate::port_control::Header::bytes(&answer, false), 0);
        }
    }

    #[test]
    fn classes_are_counted_from_syn_through_graduation_to_fin() {
        let mut control = Control::new(&Settings::defaults(), place());
        control.on_wake(&view(0, 0));
        assert_eq!(arrive(&mut control, 0, 0, Some((NO_CLASS, 2))).highest, 2);
        assert_eq!(arrive(&mut control, 0, 0, Some((NO_CLASS, 0))).highest, 0);
        assert_eq!(arrive(&mut control, 300, 0, Some((2, 1))).highest, 0);
        assert_eq!(arrive(&mut control, 300, 0, Some((0, NO_CLASS))).highest, 1);
        assert_eq!(arrive(&mut control, 600, 0, Some((1, NO_CLASS))).highest, NO_CLASS);
    }

    #[test]
    fn a_class_whose_fin_was_lost_fades_unless_told_otherwise() {
        for (expiry, left) in [(Some(Span::ms(10)), NO_CLASS), (None, 0)] {
            let mut control = Control::new(&Settings { expiry, ..Settings::defaults() }, place());
            arrive(&mut control, 0, 0, Some((NO_CLASS, 0)));
            assert_eq!(arrive(&mut control, 9_000, 0, None).highest, 0);
            assert_eq!(arrive(&mut control, 20_000, 0, None).highest, left);
        }
    }
}
