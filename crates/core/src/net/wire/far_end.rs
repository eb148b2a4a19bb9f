//! The far end of a wire with injected faults, observers or a controller: packets are lost, marked, doubled, delayed and
//! recorded there.

use crate::events::Event;
use crate::net::Network;
use crate::net::shared::{Change, Directory, Happened};
use crate::packet::{Flags, Packet};
use crate::probe::traces::PacketRow;
use crate::queue::DropWhy;
use shallows_units::{Index, Span, Time};

impl Network {
    /// The head of a wire that is not clear reaches the far end.
    #[inline(never)]
    pub(in crate::net) fn land_checked(
        &mut self,
        number: u32,
        slot: u32,
        directory: &Directory,
    ) -> Option<Packet> {
        let port = &self.ports[number as usize];
        if port.flags.clear_of_packets && !self.store.at(slot).is_pause() {
            return self.forward_from(self.back(number, directory), port.leads_to, slot, directory);
        }
        let packet = self.store.take(slot);
        self.land_with_faults(number, packet, directory)
    }

    #[cold]
    #[inline(never)]
    pub(in crate::net) fn land_with_faults(
        &mut self,
        number: u32,
        mut packet: Packet,
        directory: &Directory,
    ) -> Option<Packet> {
        if let Some(varying) = self.ports[number as usize].varying_mut() {
            varying.lands();
        }
        if self.ends_frame(number, &packet) {
            self.receive_frame(self.back(number, directory), &packet, directory);
            return None;
        }
        let came_by = self.back(number, directory);
        let at = self.pass_wire(number, &mut packet, directory)?;
        let (twice, late) = self.disturb(number);
        if twice {
            let copy = self.double(&packet);
            self.stray(number, copy, at, came_by);
        }
        if late.is_some() || at > self.now {
            self.stray(number, packet, at + late.unwrap_or_default(), came_by);
            return None;
        }
        let port = &self.ports[number as usize];
        let (opposite, leads_to) = (port.opposite, port.leads_to);
        if let Some(opposite) = opposite {
            self.show_return(opposite, &packet);
        }
        let slot = self.store.put(&packet);
        self.forward_from(came_by, leads_to, slot, directory)
    }

    /// Loses or marks a packet at the far end of a watched wire and records it. Returns when it lands, if it does.
    pub(in crate::net) fn pass_wire(
        &mut self,
        number: u32,
        packet: &mut Packet,
        directory: &Directory,
    ) -> Option<Time> {
        let now = self.now;
        let port = &mut self.ports[number as usize];
        let jitter = port.faults.as_mut().and_then(|faults| faults.jitter.as_mut());
        let at = jitter.map_or(now, |jitter| jitter.lands(now));
        let class = directory.connections.get(packet.flow as usize).map(|connection| connection.class);
        let lost = port.faults.as_mut().is_some_and(|faults| faults.lose(packet.size, class));
        if !lost && port.faults.as_mut().is_some_and(|faults| faults.marks(packet)) {
            packet.flags = packet.flags.with(Flags::CE);
            // Its arrival is not in the counts either.
            if !port.left_early(now) {
                port.counts.marks += 1;
                if let Some(arrivals) = &mut port.arrivals {
                    arrivals[directory.class(packet)].marks += 1;
                }
            }
        }
        if port.flags.tapped {
            self.tap(number, *packet, at, lost, directory);
        }
        if lost {
            self.lose(number, *packet, DropWhy::Wire, directory);
        }
        (!lost).then_some(at)
    }

    /// Whether a packet of a watched wire comes twice, and how much later it comes, if it is held back.
    pub(in crate::net) fn disturb(&mut self, number: u32) -> (bool, Option<Span>) {
        let Some(faults) = &mut self.ports[number as usize].faults else { return (false, None) };
        let twice = faults.random.chance(faults.duplicate);
        let late = faults.random.chance(faults.reorder);
        let extra = faults.random.within(faults.reorder_delay);
        (twice, late.then_some(extra))
    }

    /// The copy of `packet` that an injected fault makes.
    pub(in crate::net) fn double(&mut self, packet: &Packet) -> Packet {
        self.totals.duplicated += 1;
        self.changes.push(Change { flow: packet.flow, what: Happened::Doubled, at: self.now });
        let flags = packet.flags.with_if(Flags::COPY, !packet.flags.any(Flags::REVERSE));
        Packet { extension: self.extensions.copy(packet.extension), flags, ..*packet }
    }

    /// Records a packet that has come to the far end of the port's wire.
    /// It lands at `at`, if the run lasts so long.
    pub(in crate::net) fn tap(
        &mut self,
        number: u32,
        packet: Packet,
        at: Time,
        lost: bool,
        directory: &Directory,
    ) {
        self.tapped.push(PacketRow {
            left: self.ports[number as usize].left_at(self.now),
            landed: Some(at).filter(|at| *at <= self.until),
            port: self.links[number as usize],
            flow: directory.connections[packet.flow as usize].serial,
            packet,
            extension: self.extensions.look(packet.extension),
            lost,
        });
    }

    /// The run ends: records the packets that have left tapped ports and are still on the wire.
    pub fn tap_wires(&mut self, directory: &Directory) {
        let mut found = vec![];
        for (port, link) in self.ports.iter().zip(&self.links).filter(|(port, _)| port.flags.tapped) {
            let packets = port.wire(&self.store).filter(|(_, packet)| !packet.is_pause());
            found.extend(packets.map(|(left, packet)| PacketRow {
                left,
                landed: None,
                port: *link,
                flow: directory.connections[packet.flow as usize].serial,
                packet,
                extension: self.extensions.look(packet.extension),
                lost: false,
            }));
        }
        self.tapped.append(&mut found);
    }

    fn stray(&mut self, number: u32, packet: Packet, at: Time, came_by: Index) {
        let packet = (packet, self.ports[number as usize].leads_to, came_by);
        let place = match self.free_strays.pop() {
            Some(place) => {
                self.strays[place as usize] = packet;
                place
            }
            None => {
                let place = self.strays.len() as u32;
                self.strays.push(packet);
                self.stray_sources.push(self.events.add(Event::Stray(place)));
                place
            }
        };
        self.events.schedule(self.stray_sources[place as usize], at);
    }
}
