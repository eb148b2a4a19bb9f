//! Which packets a discipline with two treatments takes for low-latency traffic.

use crate::net::packet::{Flags, Packet};

crate::choices! {
    /// Which packets are low-latency traffic.
    pub enum Classifier {
        /// All that are ECN-capable: ECT(0), ECT(1) and CE, as in "Data Center to the Home".
        AnyEct = "any_ect",
        /// ECT(1) and CE, as RFC 9331 s.5.1 has it.
        Ect1 = "ect1",
    }
}

/// Whether `packet` is low-latency traffic.
#[inline]
pub fn is_low_latency(packet: &Packet, classifier: Classifier) -> bool {
    match classifier {
        Classifier::AnyEct => packet.ecn_capable(),
        Classifier::Ect1 => packet.flags.any(Flags(Flags::ECT1.0 | Flags::CE.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::packet::tests::packet;

    #[test]
    fn each_codepoint_has_its_side() {
        let sides = |flags| {
            let packet = Packet { flags, ..packet(1500) };
            [Classifier::AnyEct, Classifier::Ect1].map(|by| is_low_latency(&packet, by))
        };
        assert_eq!(sides(Flags::default()), [false, false]);
        assert_eq!(sides(Flags::ECT0), [true, false]);
        assert_eq!(sides(Flags::ECT1), [true, true]);
        assert_eq!(sides(Flags::CE), [true, true]);
    }
}
