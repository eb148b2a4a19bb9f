//! The yes-or-no facts of a port, a bit each: all packets that come or go read them, and they share a line with its times.

/// Facts of a port. The first five are set; [`PortFlags::derive`] computes the others from them and from the port's equipment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortFlags(u16);

impl PortFlags {
    /// Belongs to a switch.
    pub const SWITCH: PortFlags = PortFlags(1 << 0);
    /// Its wire leads to another cell.
    pub const CROSSES: PortFlags = PortFlags(1 << 1);
    /// Packets that leave are recorded.
    pub const TAPPED: PortFlags = PortFlags(1 << 2);
    /// Its link is down.
    pub const DOWN: PortFlags = PortFlags(1 << 3);
    /// A packet that is certain to be taken may pass ([`super::Port::pass`]).
    pub const SHORT_WAYS: PortFlags = PortFlags(1 << 4);
    /// Takes every packet and records nothing: its backlog need not be known at each arrival.
    pub const PLAIN: PortFlags = PortFlags(1 << 5);
    /// Its discipline decides at arrival, and alone.
    pub const AT_ARRIVAL: PortFlags = PortFlags(1 << 6);
    /// Not the discipline alone decides about arrivals: a controller looks at them, a buffer is shared, or the link is down.
    pub const CONTROLLED: PortFlags = PortFlags(1 << 7);
    /// Arrivals are counted by class.
    pub const TRACED: PortFlags = PortFlags(1 << 8);
    /// No fault is injected between this wire and the next port, no observer records the packets, and no frame pauses it.
    pub const CLEAR: PortFlags = PortFlags(1 << 9);
    /// The same, but for pause frames among the packets.
    pub const CLEAR_OF_PACKETS: PortFlags = PortFlags(1 << 10);

    /// The facts that are set, not derived.
    const SET: u16 = (1 << 5) - 1;

    /// The facts of a port of a switch, or of a host, before anything is set.
    pub fn new(at_switch: bool) -> Self {
        PortFlags(0).with(Self::SWITCH, at_switch).with(Self::SHORT_WAYS, true)
    }

    /// Whether all of `flag` holds.
    #[inline(always)]
    pub fn has(self, flag: PortFlags) -> bool {
        self.0 & flag.0 == flag.0
    }

    /// With `flag` set to `on`.
    pub fn with(self, flag: PortFlags, on: bool) -> Self {
        PortFlags(if on { self.0 | flag.0 } else { self.0 & !flag.0 })
    }

    /// 1 at a switch, 0 at a host.
    #[inline(always)]
    pub fn at_switch(self) -> u64 {
        u64::from(self.0 & Self::SWITCH.0)
    }

    /// The facts of a port with this equipment; those that are set stay.
    pub fn derive(self, has: &Equipment) -> Self {
        let controlled = has.control || has.share || self.has(Self::DOWN);
        let clear = !has.faults && !has.opposite && !self.has(Self::TAPPED);
        PortFlags(self.0 & Self::SET)
            .with(Self::PLAIN, has.takes_all && !has.record && !has.arrivals && !controlled)
            .with(Self::AT_ARRIVAL, has.at_arrival && !controlled)
            .with(Self::CONTROLLED, controlled)
            .with(Self::TRACED, has.arrivals)
            .with(Self::CLEAR, clear && !has.pausing)
            .with(Self::CLEAR_OF_PACKETS, clear)
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
        let set = PortFlags(0).with(PortFlags::SWITCH, true);
        let all = [
            PortFlags::PLAIN,
            PortFlags::AT_ARRIVAL,
            PortFlags::CONTROLLED,
            PortFlags::TRACED,
            PortFlags::CLEAR,
            PortFlags::CLEAR_OF_PACKETS,
        ];
        let derived = |set: PortFlags, has: &Equipment| {
            let flags = set.derive(has);
            assert_eq!(flags.0 & PortFlags::SET, set.0);
            assert_eq!(flags.derive(has), flags, "once more changes nothing");
            all.map(|flag| u8::from(flags.has(flag)))
        };
        assert_eq!(derived(set, &tail), [1, 1, 0, 0, 1, 1]);
        assert_eq!(derived(set, &Equipment { record: true, ..tail }), [0, 1, 0, 0, 1, 1]);
        assert_eq!(derived(set, &Equipment { arrivals: true, ..tail }), [0, 1, 0, 1, 1, 1]);
        assert_eq!(derived(set, &Equipment { takes_all: false, ..tail }), [0, 1, 0, 0, 1, 1]);
        for has in [Equipment { control: true, ..tail }, Equipment { share: true, ..tail }] {
            assert_eq!(derived(set, &has), [0, 0, 1, 0, 1, 1]);
        }
        assert_eq!(derived(set.with(PortFlags::DOWN, true), &tail), [0, 0, 1, 0, 1, 1]);
        for has in [Equipment { faults: true, ..tail }, Equipment { opposite: true, ..tail }] {
            assert_eq!(derived(set, &has), [1, 1, 0, 0, 0, 0]);
        }
        assert_eq!(derived(set.with(PortFlags::TAPPED, true), &tail), [1, 1, 0, 0, 0, 0]);
        let scheduled = Equipment { pausing: true, ..Equipment::default() };
        assert_eq!(derived(set, &scheduled), [0, 0, 0, 0, 0, 1]);
    }
}
