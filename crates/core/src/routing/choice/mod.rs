//! Equal-cost multipath: which of several equally near next hops a switch gives a packet to. One rule, one file.
//!
//! A rule keeps its state in each switch that chooses, and draws random numbers from a stream of that switch alone.
//! Rules that send the packets of one flow over several paths let them overtake each other, and the transport sees
//! it: nothing puts them in order again.
//! Left out: weights, flowlets, adaptive choices.

/// Several next hops that are equally near to a destination.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    /// Its number among the groups of its switch.
    pub number: u32,
    /// How many next hops it has, at least two.
    pub size: u32,
}

/// The chooser of a next hop.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Seed of the run.
    pub seed: u64,
    /// Number of the node.
    pub node: u32,
}

/// A rule at work in one switch.
pub trait Choice {
    /// Whether packets of one flow may take several paths.
    const SPRAYS: bool;
    /// In the switch at `place`, which has chosen nothing yet.
    fn new(place: Place) -> Self;
    /// The place in `group` of the next hop for a packet with this label.
    fn choose(&mut self, label: u32, group: Group) -> u32;
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
            /// The rule `ecmp` in the switch at `place`.
            pub fn new(ecmp: Ecmp, place: Place) -> Self {
                match ecmp { $( Ecmp::$variant => Chooser::$variant(Choice::new(place)) ),* }
            }

            /// Whether a choice depends on earlier choices.
            #[inline]
            pub fn sprays(&self) -> bool {
                match self { $( Chooser::$variant(_) => <$file::Rule as Choice>::SPRAYS ),* }
            }

            /// The place in `group` of the next hop for a packet with this label.
            #[inline]
            pub fn choose(&mut self, label: u32, group: Group) -> u32 {
                match self { $( Chooser::$variant(rule) => rule.choose(label, group) ),* }
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
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u32 = 4;

    /// How often each of four next hops is chosen for `labels`.
    fn counts(chooser: &mut Chooser, labels: impl Iterator<Item = u32>) -> [i64; SIZE as usize] {
        let mut counts = [0; SIZE as usize];
        labels.for_each(|l| counts[chooser.choose(l, Group { number: 0, size: SIZE }) as usize] += 1);
        counts
    }

    fn chooser(ecmp: Ecmp, seed: u64, node: u32) -> Chooser {
        Chooser::new(ecmp, Place { seed, node })
    }

    /// Binomial with p = 1/4 of 8000: standard deviation 38.7; five of them.
    fn even(counts: &[i64]) -> bool {
        counts.iter().all(|n| (n - 2000).abs() < 194)
    }

    #[test]
    fn flows_spread_and_each_keeps_its_way() {
        // Labels as they are: one destination or many, counted or scattered.
        let (dense, high) = ((0..8000), (0..8000).map(|i| i << 16));
        let scattered = (0..8000u32).map(|i| i.wrapping_mul(0x9e37_79b9));
        for labels in [dense.collect::<Vec<u32>>(), high.collect(), scattered.collect()] {
            let mut first = chooser(Ecmp::Flow, 1, 7);
            let found = counts(&mut first, labels.iter().copied());
            assert!(even(&found), "{found:?}");
            assert_eq!(counts(&mut first, labels.iter().copied()), found);
            assert_eq!(counts(&mut first, std::iter::repeat_n(labels[17], 100)).iter().max(), Some(&100));
        }
    }

    /// A switch's choice is independent of the next one's: of the flows that one gives to its first next hop, the
    /// next spreads all over again.
    #[test]
    fn switches_choose_apart() {
        let (mut first, mut second) = (chooser(Ecmp::Flow, 1, 7), chooser(Ecmp::Flow, 1, 8));
        let group = Group { number: 0, size: SIZE };
        let mut through = (0..).filter(|label| first.choose(*label, group) == 0);
        let found = counts(&mut second, through.by_ref().take(8000));
        assert!(even(&found), "{found:?}");
    }

    #[test]
    fn turns_are_exact_and_chances_even() {
        let found = counts(&mut chooser(Ecmp::RoundRobin, 1, 7), 0..8000);
        assert_eq!(found, [2000; 4]);
        let found = counts(&mut chooser(Ecmp::Random, 1, 7), 0..8000);
        assert!(even(&found) && found != [2000; 4], "{found:?}");
    }

    #[test]
    fn groups_take_their_own_turns() {
        let mut rule = chooser(Ecmp::RoundRobin, 1, 7);
        let mut turn = |number| rule.choose(0, Group { number, size: SIZE });
        let (one, two) = (turn(3), turn(5));
        let next = |place: u32| (place + 1) % SIZE;
        assert_eq!([turn(3), turn(5)], [next(one), next(two)]);
        assert_eq!([turn(3), turn(5)], [next(next(one)), next(next(two))]);
    }

    /// The seed and the switch decide, nothing else.
    #[test]
    fn choices_repeat_with_the_seed_and_the_switch() {
        for ecmp in [Ecmp::RoundRobin, Ecmp::Random] {
            let run = |seed, node| {
                let mut chooser = chooser(ecmp, seed, node);
                let choose = |i: u32| chooser.choose(i, Group { number: i % 16, size: SIZE });
                (0..64).map(choose).collect::<Vec<_>>()
            };
            assert_eq!(run(1, 7), run(1, 7));
            assert_ne!(run(1, 7), run(2, 7), "{ecmp:?}");
            assert_ne!(run(1, 7), run(1, 8), "{ecmp:?}");
        }
    }
}
