//! Equal-cost multipath: which of several equally near next hops a switch gives a packet to. One rule, one file.
//!
//! A rule keeps its state in each switch that chooses, and draws random numbers from a stream of that switch alone.
//! Rules that send the packets of one flow over several paths let them overtake each other, and the transport sees
//! it: nothing puts them in order again.
//! Left out: choices by the load of the whole path (CONGA), or by marks that a flow has met (FlowBender).

use shallows_units::{Span, Time};
use std::sync::Arc;

/// Several next hops that are equally near to a destination.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    /// Its number among the groups of its switch.
    pub number: u32,
    /// The links to its next hops, at least two.
    pub links: &'a [u32],
}

impl Group<'_> {
    /// How many next hops it has.
    #[inline]
    pub fn size(&self) -> u32 {
        self.links.len() as u32
    }
}

/// How a run shares its paths.
#[derive(Debug, Clone)]
pub struct Sharing {
    /// The rule.
    pub ecmp: Ecmp,
    /// Seed of the run.
    pub seed: u64,
    /// Packets of a flow that are farther apart in time belong to different flowlets.
    pub gap: Span,
    /// By link: its weight. Empty where all have one.
    pub weights: Arc<[u32]>,
    /// By node: its field of a packet's value. Empty where values are hashed.
    pub fields: Arc<[Field]>,
}

/// A field of an entropy value, which a tier of nodes reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The bits of a label that hold the value.
    pub mask: u32,
    /// The product of the widths of the tiers below.
    pub divisor: u32,
    /// How many values the field has.
    pub width: u32,
}

impl Sharing {
    /// By `ecmp`, without settings.
    pub fn by(ecmp: Ecmp, seed: u64) -> Self {
        Sharing { ecmp, seed, gap: Span::ZERO, weights: Arc::default(), fields: Arc::default() }
    }
}

/// The chooser of a next hop.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The run's settings.
    pub sharing: &'a Sharing,
    /// Number of the node.
    pub node: u32,
}

/// The things that a rule may look at when it chooses.
pub trait Sight {
    /// The present.
    fn now(&self) -> Time;
    /// How long the port of `link`, one of the switch's own, takes to send all that it holds.
    fn work(&self, link: u32) -> Span;
}

/// A rule at work in one switch.
pub trait Choice {
    /// Whether packets of one flow may take several paths.
    const SPRAYS: bool;
    /// In the switch at `place`, which has chosen nothing yet.
    fn new(place: Place<'_>) -> Self;
    /// The place in `group` of the next hop for a packet with this label.
    fn choose(&mut self, label: u32, group: Group<'_>, sight: &impl Sight) -> u32;
}

/// The list of rules: `"name" => Variant(file)` adds one.
macro_rules! choices_of_next_hop {
    ( $( $(#[doc = $doc:literal])* $word:literal => $variant:ident($file:ident) ),* $(,)? ) => {
        $( pub mod $file; )*

        $crate::choices! {
            /// How several equally short paths are shared.
            pub enum Ecmp { $( $(#[doc = $doc])* $variant = $word ),* }
        }

        impl Ecmp {
            /// Whether packets of one flow may take several paths.
            pub fn sprays(self) -> bool {
                match self { $( Ecmp::$variant => <$file::Rule as Choice>::SPRAYS ),* }
            }
        }

        /// Any rule at work in one switch.
        #[derive(Debug)]
        #[allow(missing_docs)]
        pub enum Chooser { $( $variant($file::Rule) ),* }

        impl Chooser {
            /// The run's rule in the switch at `place`.
            pub fn new(place: Place<'_>) -> Self {
                match place.sharing.ecmp { $( Ecmp::$variant => Chooser::$variant(Choice::new(place)) ),* }
            }

            /// The place of the next hop for a packet with this label in `group`, which has `size` of them.
            #[inline(always)]
            pub fn choose<'a, S: Sight>(
                &mut self,
                label: u32,
                size: u32,
                group: impl FnOnce() -> Group<'a>,
                sight: impl FnOnce() -> S,
            ) -> u32 {
                match self {
                    // Most runs have it, and it need not look at the group.
                    Chooser::Flow(rule) => rule.of(label, size),
                    _ => self.choose_otherwise(label, group(), &sight()),
                }
            }

            #[inline(never)]
            fn choose_otherwise(&mut self, label: u32, group: Group<'_>, sight: &impl Sight) -> u32 {
                match self { $( Chooser::$variant(rule) => rule.choose(label, group, sight) ),* }
            }
        }
    };
}

choices_of_next_hop! {
    /// Flows: each keeps to one, by a hash.
    "flow" => Flow(flow_hash),
    /// Packets: a switch gives them to its next hops in turn.
    "round-robin" => RoundRobin(round_robin),
    /// Packets: each takes one at random.
    "random" => Random(random),
    /// Flows: each keeps to one, by a hash that gives a next hop as many flows as its weight says.
    "weighted" => Weighted(weighted),
    /// Bursts of flows: after a pause a flow takes another one at random.
    "flowlet" => Flowlet(flowlet),
    /// Packets: those of a flow take each next hop once, in random order, then in another.
    "permutation" => Permutation(permutation),
    /// Packets: each takes the one whose port has the least to send.
    "least-loaded" => LeastLoaded(least_loaded),
    /// Connections: both directions of each keep to one, by a hash that all switches share.
    "symmetric" => Symmetric(symmetric),
    /// Packets by their entropy values, which name the path: each tier of switches reads a field of its own.
    "structured" => Structured(structured),
}

#[cfg(test)]
pub(crate) mod tests;
