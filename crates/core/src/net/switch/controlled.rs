//! Ports whose controller or shared buffer may refuse a packet.

use crate::net::Network;
use crate::net::port::Service;
use crate::net::shared::Directory;
use crate::packet::{Flags, Packet};
use crate::port_control::{AnyPortControl, Feedback, PortControl, PortView};
use shallows_units::Span;

impl Network {
    /// `packet` comes to a port, settled, that a controller watches, that shares a buffer, or whose link is down.
    #[inline(never)]
    pub(in crate::net) fn arrive_controlled(&mut self, number: u32, packet: &Packet, directory: &Directory) {
        if self.ports[number as usize].flags.down {
            return self.arrive_down(number, packet, directory);
        }
        if self.ports[number as usize].control.as_ref().is_some_and(|c| !c.ticking) {
            self.run_clock(number, AnyPortControl::on_wake);
        }
        if self.ports[number as usize].control.is_some() {
            self.show_controller(number, packet, false, AnyPortControl::on_arrive);
        }
        let pausing = self.ports[number as usize].pausing();
        if pausing.is_some_and(|pausing| pausing.drops(directory.priority(packet))) {
            return self.drop_in_storm(number, packet, directory);
        }
        let shared = self.ports[number as usize].share.is_some();
        let charged = self.charged(packet, directory);
        let fits = |net: &mut Self| match charged {
            Some(of) => net.charge(number, of, packet.size),
            None => net.has_room(number, packet, directory),
        };
        if shared && !fits(self) {
            return self.lose_for_buffer(number, packet, directory);
        }
        self.decide(number, packet, directory);
        if shared {
            self.count(number);
        }
        if let Some(of) = charged {
            self.close_if_full(number, of, directory);
        }
    }

    /// The port's discipline decides about `packet`, which nothing else has refused.
    fn decide(&mut self, number: u32, packet: &Packet, directory: &Directory) {
        let port = &mut self.ports[number as usize];
        match port.service {
            Service::Departure(_) => self.arrive_scheduled(number, *packet, directory),
            Service::Lined(_) => {
                let slot = self.store.put(packet);
                self.arrive_lined(number, slot, directory);
            }
            Service::Arrival(_) => {
                let serving = port.backlog(&self.store).serving;
                let slot = self.store.put(packet);
                match port.admit(slot, serving, &mut self.store, self.now, |packet| directory.class(packet)) {
                    Ok(Some(at)) => self.expect(number, at),
                    Ok(None) => {}
                    Err(why) => self.lose_arrival(number, slot, why, directory),
                }
            }
        }
    }

    /// Shows `packet` to the controller of a port, with its header unless that is an echo on its way past
    /// ports that have no part in it.
    pub(in crate::net) fn show_controller(
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

    /// `packet` has come along a wire: the controller of the port that sends the other way, `opposite`, sees it if it returns.
    #[cold]
    pub(in crate::net) fn show_return(&mut self, opposite: u32, packet: &Packet) {
        if packet.flags.any(Flags::REVERSE) {
            self.show_controller(opposite, packet, true, AnyPortControl::on_return);
        }
    }

    /// The time of a controller's clock has come.
    pub fn tick(&mut self, number: u32) {
        self.run_clock(number, AnyPortControl::on_tick);
    }

    /// Calls the controller at the time of its clock, or to start it, and sets the clock again.
    fn run_clock(&mut self, number: u32, hook: fn(&mut AnyPortControl, &PortView) -> Option<Span>) {
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
