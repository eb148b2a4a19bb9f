//! The priority that a packet itself says, in bits of its header that its transport has no other use for.

use super::Flags;

/// The bits; nothing else of a packet of Homa is read from them on its way there.
const LEVEL: [Flags; 3] = [Flags::CWR, Flags::PUSH, Flags(1 << 13)];

/// The bits for priority `level`.
pub fn stamp(level: u8) -> Flags {
    let bits = (0u8..).zip(LEVEL);
    bits.fold(Flags::default(), |all, (place, bit)| all.with_if(bit, level >> place & 1 == 1))
}

/// The priority that a packet's bits say.
pub fn stamped(flags: Flags) -> u8 {
    (0u8..).zip(LEVEL).map(|(place, bit)| u8::from(flags.any(bit)) << place).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_as_it_was_set() {
        let others = Flags::RETRANSMITTED.with(Flags::ECT0);
        assert!((0..8).all(|level| stamped(stamp(level).with(others)) == level));
    }
}
