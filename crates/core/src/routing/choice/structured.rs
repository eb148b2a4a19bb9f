//! By value: each tier of nodes reads its own field of a packet's entropy value, so that the value alone names the path.
//!
//! Source: third-party notes on MRC 1.0 (OCP, 2026): a structured entropy value has a field for each tier, and switches are static. A link
//! that fails then concerns the values through it alone.
//! Ours: fields are mixed-radix digits. The first one chooses the host's port, the second one belongs to switches next to hosts, and so on;
//! the width of a field is the most next hops that a node of its tier has upwards. Packets without a value have the hash of
//! their connection in its place.

use super::{Choice, Field, Group, Place, Sight};

/// At work in one switch.
#[derive(Debug)]
pub struct Rule {
    field: Field,
}

impl Choice for Rule {
    const SPRAYS: bool = false;

    fn new(place: Place<'_>) -> Self {
        let whole = Field { mask: u32::MAX, divisor: 1, width: u32::MAX };
        Rule { field: place.sharing.fields.get(place.node as usize).copied().unwrap_or(whole) }
    }

    fn choose(&mut self, label: u32, group: Group<'_>, _: &impl Sight) -> u32 {
        let Field { mask, divisor, width } = self.field;
        (label & mask) / divisor % width % group.size()
    }
}
