//! The choice of packets for the low-latency queue, if a discipline has one.
//!
//! The choice is made packet by packet, from the ECN field alone. A flow that sends some packets with
//! another codepoint (RFC 3168 has retransmissions and SYNs not ECT) is spread over both queues, and its
//! packets may overtake each other; so may those of an ECT(0) flow marked CE upstream under `ect1`.

use crate::packet::{Flags, Packet};

crate::choices! {
    /// The packets that the low-latency queue takes.
    pub enum Classifier {
        /// Every ECN-capable one: the slides of document 003, where CUBIC is not ECT.
        AnyEct = "any_ect",
        /// ECT(1) and CE: RFC 9331 s.5.1, RFC 9332 s.2.3.
        Ect1 = "ect1",
    }
}

/// Whether `packet` goes to the low-latency queue.
#[inline]
pub fn is_low_latency(packet: &Packet, classifier: Classifier) -> bool {
    match classifier {
        Classifier::AnyEct => packet.ecn_capable(),
        // The mark replaces the codepoint in a real header, so a marked packet's earlier codepoint is not used.
        Classifier::Ect1 => packet.flags.any(Flags::ECT1) || packet.flags.any(Flags::CE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::packet;

    // req: RFC9332 s2.5.1 MUST l4s-node
    #[test]
    fn codepoints_decide() {
        let class = |flags: Flags| {
            let packet = Packet { flags, ..packet(1500) };
            [Classifier::AnyEct, Classifier::Ect1].map(|c| is_low_latency(&packet, c))
        };
        assert_eq!(class(Flags::default()), [false, false]);
        assert_eq!(class(Flags::ECT0), [true, false]);
        assert_eq!(class(Flags::ECT1), [true, true]);
        assert_eq!(class(Flags::ECT0.with(Flags::CE)), [true, true]);
    }
}
