//! Ports at which not the discipline alone decides: a controller looks at packets, or a switch's memory is shared.

use crate::net::Network;
use crate::net::port::ALONE;
use crate::net::port::Service;
use crate::net::shared::Commons;
use crate::packet::{Flags, Packet};
use crate::port_control::{AnyPortControl, Feedback, PortControl, PortView};
use shallows_units::Span;

impl Network {
    #[inline(never)]
    pub(in crate::net) fn arrive_apart(&mut self, number: u32, packet: &Packet, commons: &Commons) {
        if self.ports[number as usize].dead {
            return self.arrive_dead(number, packet, commons);
        }
        if self.ports[number as usize].control.as_ref().is_some_and(|c| !c.ticking) {
            self.strike(number, AnyPortControl::on_wake);
        }
        if self.ports[number as usize].control.is_some() {
            self.consult(number, packet, false, AnyPortControl::on_arrive);
        }
        let shared = self.ports[number as usize].share != ALONE;
        let charged = self.charged(packet, commons);
        let fits = |net: &mut Self| match charged {
            Some(of) => net.charge(number, of, packet.size),
            None => net.has_room(number, packet, commons),
        };
        if shared && !fits(self) {
            return self.refuse(number, packet, commons);
        }
        self.decide(number, packet, commons);
        if shared {
            self.count(number);
        }
        if let Some(of) = charged {
            self.judge(number, of, commons);
        }
    }

    /// The port's discipline decides about `packet`, which nothing else has refused.
    fn decide(&mut self, number: u32, packet: &Packet, commons: &Commons) {
        let port = &mut self.ports[number as usize];
        match port.service {
            Service::Departure(_) => self.arrive_scheduled(number, *packet, commons),
            Service::Lined(_) => {
                let slot = self.store.put(packet);
                self.arrive_lined(number, slot, commons);
            }
            Service::Arrival(_) => {
                let serving = port.backlog(&self.store).serving;
                let slot = self.store.put(packet);
                match port.admit(slot, serving, &mut self.store, self.now, |packet| commons.class(packet)) {
                    Ok(Some(at)) => self.expect(number, at),
                    Ok(None) => {}
                    Err(why) => self.refuse_at(number, slot, why, commons),
                }
            }
        }
    }

    /// A packet has come along the wire of `number`: the controller of the port that sends the other way
    /// sees the returning packets.
    pub(in crate::net) fn come_back(
        &mut self,
        number: u32,
        packet: Packet,
        came_by: u32,
        commons: &Commons,
    ) -> Option<Packet> {
        if let Some(opposite) = self.ports[number as usize].opposite
            && packet.flags.any(Flags::REVERSE)
        {
            self.consult(opposite, &packet, true, AnyPortControl::on_return);
        }
        let slot = self.store.put(&packet);
        self.onward_by(came_by, self.ports[number as usize].leads_to, slot, commons)
    }

    /// Shows `packet` to the controller of a port, with its header unless that is an echo on its way past
    /// ports that have no part in it.
    pub(in crate::net) fn consult(
        &mut self,
        number: u32,
        packet: &Packet,
        returning: bool,
        hook: fn(&mut AnyPortControl, &Packet, &mut Feedback, &PortView),
    ) {
        let port = &mut self.ports[number as usize];
        let view = port.view(self.now, &self.store);
        let Some(controlled) = &mut port.control else { return };
        let mine = packet.flags.any(Flags::REVERSE) == returning;
        let header = if mine { self.extensions.feedback(packet.extension) } else { None };
        hook(&mut controlled.control, packet, header.unwrap_or(&mut Feedback::None), &view);
    }

    /// A controller's clock strikes.
    pub fn tick(&mut self, number: u32) {
        self.strike(number, AnyPortControl::on_tick);
    }

    /// The same, or it is wound up.
    fn strike(&mut self, number: u32, hook: fn(&mut AnyPortControl, &PortView) -> Option<Span>) {
        let now = self.now;
        let port = &mut self.ports[number as usize];
        port.settle(now, &self.store);
        let view = port.view(now, &self.store);
        let Some(controlled) = &mut port.control else { return };
        let next = hook(&mut controlled.control, &view);
        controlled.ticking = next.is_some();
        if let Some(after) = next {
            self.events.schedule(controlled.source, now + after);
        }
    }
}
