//! The bytes of each connection that a host's port holds, where the port's discipline decides at departure.

use crate::packet::{Flags, Packet};

/// Bytes of each connection's data in a port whose discipline decides at departure, by the connections' numbers. Few have
/// some at once, so that a sorted list beats a tree, which asks for memory with each packet that comes to an idle card.
#[derive(Debug, Default)]
pub struct Sockets(Vec<Socket>);

#[derive(Debug)]
struct Socket {
    flow: u32,
    bytes: u64,
    /// Its sender waits until some of them have left.
    waits: bool,
}

impl Sockets {
    /// Where `flow` stands in the list, or would.
    fn place(&self, flow: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&flow, |socket| socket.flow)
    }

    /// `packet` has come.
    pub fn came(&mut self, packet: &Packet) {
        if !packet.flags.any(Flags::REVERSE) {
            let bytes = u64::from(packet.size);
            match self.place(packet.flow) {
                Ok(place) => self.0[place].bytes += bytes,
                Err(place) => self.0.insert(place, Socket { flow: packet.flow, bytes, waits: false }),
            }
        }
    }

    /// `packet` has left, or was dropped; whether its sender waits for that.
    #[must_use]
    pub fn left(&mut self, packet: &Packet) -> bool {
        if packet.flags.any(Flags::REVERSE) {
            return false;
        }
        let place = self.place(packet.flow).expect("a packet that leaves has come");
        let socket = &mut self.0[place];
        socket.bytes -= u64::from(packet.size);
        let waits = std::mem::take(&mut socket.waits);
        if socket.bytes == 0 {
            self.0.remove(place);
        }
        waits
    }

    /// So many bytes of a packet of `flow` here were cut off.
    pub fn shrank(&mut self, flow: u32, bytes: u16) {
        if let Ok(place) = self.place(flow) {
            self.0[place].bytes -= u64::from(bytes);
        }
    }

    /// Bytes of `flow` here.
    pub(in crate::net) fn bytes_of(&self, flow: u32) -> u64 {
        self.place(flow).map_or(0, |place| self.0[place].bytes)
    }

    /// The sender of `flow`, which has some bytes here, waits until some of them have left.
    pub(in crate::net) fn let_wait(&mut self, flow: u32) {
        if let Ok(place) = self.place(flow) {
            self.0[place].waits = true;
        }
    }
}
