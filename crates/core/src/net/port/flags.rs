//! The yes-or-no facts of a port. All packets that come or go read some of them, so they share a cache line with its times. They are
//! bytes, not bits: to test a bit takes a register more, and a packet-hop took 1.5 % more instructions.

/// Facts of a port. The first five are set; [`PortFlags::derive`] computes the others from them and from the port's equipment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortFlags {
    /// Belongs to a switch.
    pub switch: bool,
    /// Its wire leads to another cell.
    pub crosses: bool,
    /// Packets that leave are recorded.
    pub tapped: bool,
    /// Its link is down.
    pub down: bool,
    /// A packet that is certain to be taken may pass ([`super::Port::pass`]).
    pub short_ways: bool,
    /// Takes every packet and records nothing: its backlog need not be known at each arrival.
    pub plain: bool,
    /// Its discipline decides at arrival, and alone.
    pub at_arrival: bool,
    /// Not the discipline alone decides about arrivals: a controller looks at them, a buffer is shared, or the link is down.
    pub controlled: bool,
    /// Arrivals are counted by class.
    pub traced: bool,
    /// No fault is injected between this wire and the next port, no observer records the packets, and no frame pauses it.
    pub clear: bool,
    /// As `clear`, but pause frames may be among the packets.
    pub clear_of_packets: bool,
}

impl PortFlags {
    /// The facts of an empty port of a switch, or of a host.
    pub fn new(switch: bool) -> Self {
        let nothing = PortFlags {
            switch,
            crosses: false,
            tapped: false,
            down: false,
            short_ways: true,
            plain: false,
            at_arrival: false,
            controlled: false,
            traced: false,
            clear: false,
            clear_of_packets: false,
        };
        nothing.derive(&Equipment::default())
    }

    /// The facts of a port with this equipment; those that are set stay.
    pub fn derive(self, has: &Equipment) -> Self {
        let controlled = has.control || has.share || self.down;
        let clear_of_packets = !has.faults && !has.opposite && !self.tapped;
        PortFlags {
            plain: has.takes_all && !has.record && !has.arrivals && !controlled,
            at_arrival: has.at_arrival && !controlled,
            controlled,
            traced: has.arrivals,
            clear: clear_of_packets && !has.pausing,
            clear_of_packets,
            ..self
        }
    }
}

/// The parts of a port from which its flags follow.
#[derive(Debug, Clone, Copy, Default)]
pub struct Equipment {
    /// Its discipline decides at arrival.
    pub at_arrival: bool,
    /// Its discipline takes every packet.
    pub takes_all: bool,
    /// The queue is recorded.
    pub record: bool,
    /// Arrivals are counted by class.
    pub arrivals: bool,
    /// A controller.
    pub control: bool,
    /// A share of the switch's buffer.
    pub share: bool,
    /// Injected faults, or a link that changes.
    pub faults: bool,
    /// A controller at the port that sends back along the same cable.
    pub opposite: bool,
    /// A part in flow control.
    pub pausing: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_follow_from_the_equipment_and_set_ones_stay() {
        let tail = Equipment { at_arrival: true, takes_all: true, ..Equipment::default() };
        let set = PortFlags::new(true);
        let derived = |set: PortFlags, has: &Equipment| {
            let flags = set.derive(has);
            let stays =
                |flags: PortFlags| (flags.switch, flags.crosses, flags.tapped, flags.down, flags.short_ways);
            assert_eq!(stays(flags), stays(set));
            assert_eq!(flags.derive(has), flags, "once more changes nothing");
            [
                flags.plain,
                flags.at_arrival,
                flags.controlled,
                flags.traced,
                flags.clear,
                flags.clear_of_packets,
            ]
            .map(u8::from)
        };
        assert_eq!(derived(set, &tail), [1, 1, 0, 0, 1, 1]);
        assert_eq!(derived(set, &Equipment { record: true, ..tail }), [0, 1, 0, 0, 1, 1]);
        assert_eq!(derived(set, &Equipment { arrivals: true, ..tail }), [0, 1, 0, 1, 1, 1]);
        assert_eq!(derived(set, &Equipment { takes_all: false, ..tail }), [0, 1, 0, 0, 1, 1]);
        for has in [Equipment { control: true, ..tail }, Equipment { share: true, ..tail }] {
            assert_eq!(derived(set, &has), [0, 0, 1, 0, 1, 1]);
        }
        assert_eq!(derived(PortFlags { down: true, ..set }, &tail), [0, 0, 1, 0, 1, 1]);
        for has in [Equipment { faults: true, ..tail }, Equipment { opposite: true, ..tail }] {
            assert_eq!(derived(set, &has), [1, 1, 0, 0, 0, 0]);
        }
        assert_eq!(derived(PortFlags { tapped: true, ..set }, &tail), [1, 1, 0, 0, 0, 0]);
        let scheduled = Equipment { pausing: true, ..Equipment::default() };
        assert_eq!(derived(set, &scheduled), [0, 0, 0, 0, 0, 1]);
    }
}
