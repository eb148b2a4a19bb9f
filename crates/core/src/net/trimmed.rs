//! Headers without room: a switch sends them back to their senders.

use super::{Commons, Network};
use crate::packet::{DropWhy, Flags, Packet};

impl Network {
    /// The header `packet`, for which port `number` has no room, goes back to its sender by the switch's tables. A host has
    /// none: there it is lost.
    #[cold]
    pub(super) fn send_back(&mut self, number: u32, packet: Packet, commons: &Commons) {
        let port = &mut self.ports[number as usize];
        let is_switch = port.is_switch;
        let Some(scheduled) = port.service.scheduled_mut().filter(|_| is_switch) else {
            return self.lose(number, packet, DropWhy::Full, commons);
        };
        scheduled.trimming.returned += 1;
        port.counts.dropped_bytes += u64::from(packet.size);
        let label = commons.connections[packet.flow as usize].back;
        let packet = Packet { label, flags: packet.flags.with(Flags::REVERSE), ..packet };
        let node = commons.routing.leaves(self.links[number as usize]);
        let slot = self.store.put(&packet);
        self.onward(node, slot, commons);
    }
}
