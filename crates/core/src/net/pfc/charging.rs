//! Packets are charged to the ports by which they came, which closes and opens accounts.

use super::ingress::Ingress;
use crate::net::port::Port;
use crate::net::{Directory, Network};
use crate::packet::Packet;
use shallows_units::Index;

impl Port {
    fn ingress(&mut self) -> Option<&mut Ingress> {
        self.pausing_mut()?.ingress.as_deref_mut()
    }
}

impl Network {
    /// The port and priority that are charged for `packet`, which comes to its switch now.
    pub(in crate::net) fn charged(&self, packet: &Packet, directory: &Directory) -> Option<(u32, u8)> {
        let pausing = self.ports.get(self.came_by.at())?.pausing()?;
        let priority = directory.priority(packet);
        let lossless = pausing.ingress.is_some() && pausing.lossless >> priority & 1 != 0;
        lossless.then_some((self.came_by.get()?, priority))
    }

    /// Charges `size` bytes; whether there was room. `number` is the port by which they will leave.
    pub(in crate::net) fn charge(&mut self, number: u32, of: (u32, u8), size: u16) -> bool {
        let size = u64::from(size);
        let share = self.ports[number as usize].share;
        let Some(ingress) = self.ports[of.0 as usize].ingress() else { return true };
        let room = ingress.law.headroom[usize::from(of.1)];
        let account = &mut ingress.accounts[usize::from(of.1)];
        if account.closed {
            if account.headroom + size > room {
                return false;
            }
            account.headroom += size;
            account.most_headroom = account.most_headroom.max(account.headroom);
            self.buffers.use_headroom(share, size);
        } else {
            account.shared += size;
        }
        account.most = account.most.max(account.shared + account.headroom);
        if let Some(pausing) = self.ports[number as usize].pausing_mut() {
            pausing.charged += size;
        }
        true
    }

    /// Closes an account whose charge has reached XOFF, with the packet in the queue of port `number`.
    pub(in crate::net) fn close_if_full(&mut self, number: u32, of: (u32, u8), directory: &Directory) {
        let now = self.now;
        let share = self.ports[number as usize].share;
        let free = self.buffers.free(share);
        let Some(ingress) = self.ports[of.0 as usize].ingress() else { return };
        let xoff = ingress.xoff(free);
        let account = &mut ingress.accounts[usize::from(of.1)];
        if account.closed || account.shared < xoff {
            return;
        }
        (account.closed, account.closed_at) = (true, now);
        account.closings += 1;
        self.buffers.closed(share).push(of);
        self.send_frame_about(of.0, of.1, directory);
    }

    /// A packet of `size` bytes has left port `number` or was dropped there; `of` is charged for it, if any account is.
    pub(in crate::net) fn release(&mut self, number: u32, of: (u8, Index), size: u16, directory: &Directory) {
        let (priority, came_by) = of;
        let share = self.ports[number as usize].share;
        if let Some(came_by) = came_by.get()
            && let Some(ingress) = self.ports[came_by as usize].ingress()
        {
            let size = u64::from(size);
            let account = &mut ingress.accounts[usize::from(priority)];
            let held_back = account.headroom.min(size);
            account.headroom -= held_back;
            account.shared -= size - held_back;
            self.buffers.free_headroom(share, held_back);
            if let Some(pausing) = self.ports[number as usize].pausing_mut() {
                pausing.charged -= size;
            }
        }
        self.count(number);
        self.open_accounts(share, directory);
    }

    /// Opens the accounts of a switch that may be open again.
    fn open_accounts(&mut self, share: Index, directory: &Directory) {
        if self.buffers.closed(share).is_empty() {
            return;
        }
        let free = self.buffers.free(share);
        let mut closed = std::mem::take(self.buffers.closed(share));
        let mut opened = vec![];
        closed.retain(|(port, priority)| {
            let Some(ingress) = self.ports[*port as usize].ingress() else { return false };
            let account = ingress.accounts[usize::from(*priority)];
            let opens = ingress.may_open(&account, free);
            if opens {
                ingress.accounts[usize::from(*priority)].closed = false;
                opened.push((*port, *priority));
            }
            !opens
        });
        *self.buffers.closed(share) = closed;
        opened.into_iter().for_each(|(port, priority)| self.send_frame_about(port, priority, directory));
    }
}
