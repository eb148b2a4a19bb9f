//! Packets of Ultra Ethernet's transport: their kinds as header bits, and what an answer says.
//!
//! Source: UE 1.0.3 s.3.5: acknowledgements with a cumulative number, a map of 64 packets, received bytes, and the mark of the packet
//! that they are about; NACKs with the codes 1, trimmed, and 2, trimmed at the last hop.

use crate::packet::{Extension, Flags, Packet};

/// On the way there: asks for an answer.
pub const ASKS: Flags = Flags::ECE;
/// On the way there: a header alone that asks for an answer.
pub const PROBE: Flags = Flags::ECE.with(Flags::PROBE);
/// On the way there: what a header alone in the class of control has beside [`PROBE`].
pub const CONTROL: Flags = Flags::LAST_HOP;
/// On the way back: grants credit, and reports nothing.
pub const PULL: Flags = Flags::FIN;
/// On the way back: the packet that begins at this number came without its payload.
pub const NACK: Flags = Flags::ACK.with(Flags::PROBE);
/// On the way back: the packet was marked.
pub const MARK: Flags = Flags::ECE;
/// On the way back: it was trimmed at the last hop.
pub const AT_LAST_HOP: Flags = Flags::CWR;

/// Received bytes are counted in units of so many (UE 1.0.3 s.3.6.13).
pub const UNIT: u64 = 256;
/// Packets that the map of an answer shows.
pub const MAP: u64 = 64;

/// The header by which a source states the units of credit that it wants. As a [`Report`] it grants none: it comes back with a packet of
/// the source's own.
pub fn want(units: u64) -> Extension {
    let mut extension = Extension::default();
    extension.sack[0].0 = units;
    extension
}

/// The units that it states.
pub fn wanted(extension: &Extension) -> u64 {
    extension.sack[0].0
}

/// Whether it reports that a packet came without its payload.
pub fn is_nack(packet: &Packet) -> bool {
    packet.flags.any(Flags::REVERSE) && packet.flags.any(Flags::PROBE) && !packet.trimmed()
}

/// The report of an acknowledgement beside its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// First byte of the packet that it is about, and the one beyond its last.
    pub about: (u64, u64),
    /// Received, in units of [`UNIT`], rounded up.
    pub units: u64,
    /// The map's first byte.
    pub base: u64,
    /// A bit for each full packet from there that is there.
    pub map: u64,
    /// Full packets, rounded up, that are there beyond a gap.
    pub ahead: u64,
    /// Units of credit that the receiver has granted.
    pub granted: u64,
    /// Ports of the receiver's card that are down, a bit each, where it says so.
    pub down: u64,
}

/// The lower and the upper half of a number.
fn halves(number: u64) -> [u64; 2] {
    [number & u64::from(u32::MAX), number >> 32]
}

impl Report {
    /// As an extension carries it. Tables show the packet that it answers alone, and a pull answers none.
    pub fn put(&self) -> Extension {
        // Above each half of the map stands one of the ports.
        let ([low, high], [first, second]) = (halves(self.map), halves(self.down));
        let maps = (first << 32 | low, second << 32 | high);
        let sack = [self.about, (self.units, self.base), maps, (self.ahead, self.granted)];
        Extension { sack, blocks: (self.about.0 < self.about.1).into(), ..Extension::default() }
    }

    /// As it was put.
    pub fn of(extension: &Extension) -> Report {
        let [about, (units, base), (first, second), (ahead, granted)] = extension.sack;
        let ([low, one], [high, two]) = (halves(first), halves(second));
        Report { about, units, base, map: high << 32 | low, ahead, granted, down: two << 32 | one }
    }

    /// Whether the map says that bytes from `first` to `beyond` are there, in packets of `mtu` bytes.
    pub fn shows(&self, (first, beyond): (u64, u64), mtu: u64) -> bool {
        let places = first.checked_sub(self.base).map(|from| (from / mtu, (beyond - 1 - self.base) / mtu));
        places.is_some_and(|(from, to)| to < MAP && (from..=to).all(|place| self.map >> place & 1 == 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report comes back as it was put, and shows whole packets alone.
    #[test]
    fn a_report_is_kept_and_read() {
        let report = Report {
            about: (5000, 6000),
            units: 77,
            base: 2000,
            map: 1 << 63 | 0b1010,
            ahead: 3,
            granted: 9,
            down: 1 << 40 | 0b101,
        };
        assert_eq!(Report::of(&report.put()), report);
        for (first, beyond, there) in [
            (2000, 3000, false),
            (3000, 4000, true),
            (3000, 4001, false),
            (3500, 3700, true),
            (1000, 2000, false),
            (65_000, 66_000, true),
            (66_000, 67_000, false),
        ] {
            assert_eq!(report.shows((first, beyond), 1000), there, "{first}");
        }
    }

    /// A want that comes back to its source is no grant.
    #[test]
    fn a_want_grants_nothing() {
        assert_eq!(wanted(&want(77)), 77);
        assert_eq!(Report::of(&want(77)).granted, 0);
    }
}
