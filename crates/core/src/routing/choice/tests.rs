use super::*;

const SIZE: u32 = 4;
const GROUP: Group<'static> = Group { number: 0, links: &[3, 5, 6, 9] };

/// A switch at rest: its time, and the work of each link.
pub(crate) struct Still(pub Time, pub [u64; 10]);

impl Sight for Still {
    fn now(&self) -> Time {
        self.0
    }
    fn work(&self, link: u32) -> Span {
        Span::ns(self.1[link as usize])
    }
}

impl<S: Sight> Sight for &S {
    fn now(&self) -> Time {
        (*self).now()
    }
    fn work(&self, link: u32) -> Span {
        (*self).work(link)
    }
}

pub(crate) const STILL: Still = Still(Time::ZERO, [0; 10]);

impl Chooser {
    /// Chooses in `group`.
    fn pick(&mut self, label: u32, group: Group<'_>, sight: &impl Sight) -> u32 {
        self.choose(label, group.size(), || group, || sight)
    }
}

/// How often each of four next hops is chosen for `labels`.
fn counts(chooser: &mut Chooser, labels: impl Iterator<Item = u32>) -> [i64; SIZE as usize] {
    let mut counts = [0; SIZE as usize];
    labels.for_each(|l| counts[chooser.pick(l, GROUP, &STILL) as usize] += 1);
    counts
}

fn chooser(ecmp: Ecmp, seed: u64, node: u32) -> Chooser {
    Chooser::new(Place { sharing: &Sharing::by(ecmp, seed), node })
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
    let group = GROUP;
    let mut through = (0..).filter(|label| first.pick(*label, group, &STILL) == 0);
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
    let mut turn = |number| rule.pick(0, Group { number, ..GROUP }, &STILL);
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
            let choose = |i: u32| chooser.pick(i, Group { number: i % 16, ..GROUP }, &STILL);
            (0..64).map(choose).collect::<Vec<_>>()
        };
        assert_eq!(run(1, 7), run(1, 7));
        assert_ne!(run(1, 7), run(2, 7), "{ecmp:?}");
        assert_ne!(run(1, 7), run(1, 8), "{ecmp:?}");
    }
}

/// With weights 1, 0, 3 and 4 of eight: shares of flows, binomial with five standard deviations; a flow keeps its way.
#[test]
fn weights_share_flows() {
    let mut weights = vec![0; 10];
    (weights[3], weights[6], weights[9]) = (1, 3, 4);
    let sharing = Sharing { weights: weights.into(), ..Sharing::by(Ecmp::Weighted, 1) };
    let mut rule = Chooser::new(Place { sharing: &sharing, node: 7 });
    let found = counts(&mut rule, 0..8000);
    for (count, weight) in found.iter().zip([1.0, 0.0, 3.0, 4.0]) {
        let p = weight / 8.0;
        assert!((*count as f64 - 8000.0 * p).abs() <= 5.0 * (8000.0 * p * (1.0 - p)).sqrt(), "{found:?}");
    }
    assert_eq!(counts(&mut rule, 0..8000), found);
    // Equal weights are ECMP.
    let even = Sharing::by(Ecmp::Weighted, 1);
    let mut plain = chooser(Ecmp::Flow, 1, 7);
    assert_eq!(
        counts(&mut Chooser::new(Place { sharing: &even, node: 7 }), 0..8000),
        counts(&mut plain, 0..8000)
    );
}

/// Packets at most a gap apart keep their next hop; after a longer pause a flow draws again. Links that have left the
/// group are left.
#[test]
fn flowlets_keep_their_way_within_the_gap() {
    let sharing = Sharing { gap: Span::us(10), ..Sharing::by(Ecmp::Flowlet, 1) };
    let mut rule = Chooser::new(Place { sharing: &sharing, node: 7 });
    let mut at = |us: u64, label: u32, group: Group<'_>| {
        rule.pick(label, group, &Still(Time::ZERO + Span::us(us), [0; 10]))
    };
    let first = at(0, 1, GROUP);
    assert!((1..100).all(|i| at(10 * i, 1, GROUP) == first));
    let later: Vec<u32> = (0..4000).map(|i| at(1000 + 11 * i, 1, GROUP)).collect();
    let counts: Vec<usize> = (0..4).map(|way| later.iter().filter(|one| **one == way).count()).collect();
    assert!(counts.iter().all(|n| (*n as f64 - 1000.0).abs() < 5.0 * 750f64.sqrt()), "{counts:?}");
    let way = at(100_000, 2, GROUP);
    let others: Vec<u32> = (0..4).filter(|i| *i != way).map(|i| GROUP.links[i as usize]).collect();
    let next = at(100_001, 2, Group { number: 0, links: &others });
    assert!(next < 3 && at(100_002, 2, Group { number: 0, links: &others }) == next);
}

/// The table of flowlets forgets those that are over.
#[test]
fn a_table_of_flowlets_stays_small() {
    let sharing = Sharing { gap: Span::us(10), ..Sharing::by(Ecmp::Flowlet, 1) };
    let mut rule = super::flowlet::Rule::new(Place { sharing: &sharing, node: 7 });
    for i in 0..10_000u64 {
        rule.choose(i as u32, GROUP, &Still(Time::ZERO + Span::us(i), [0; 10]));
        assert!(rule.flowlets() <= 64, "{} after {i}", rule.flowlets());
    }
}

#[test]
fn the_least_loaded_is_taken_and_ties_go_in_turn() {
    let mut rule = chooser(Ecmp::LeastLoaded, 1, 7);
    let mut work = [0; 10];
    let mut taken = [0; 4];
    // Each packet takes 5 ns: no port is ever more than one packet ahead of another.
    for _ in 0..1000 {
        let place = rule.pick(0, GROUP, &Still(Time::ZERO, work)) as usize;
        taken[place] += 1;
        work[GROUP.links[place] as usize] += 5;
        let held = [3, 5, 6, 9].map(|link| work[link]);
        assert!(held.iter().max().unwrap() - held.iter().min().unwrap() <= 5, "{held:?}");
    }
    assert_eq!(taken, [250; 4]);
    work[6] = 0;
    assert_eq!(rule.pick(0, GROUP, &Still(Time::ZERO, work)), 2);
}

/// Two groups of a switch break their ties apart: each goes through its own next hops in turn.
#[test]
fn groups_break_ties_apart() {
    let mut rule = chooser(Ecmp::LeastLoaded, 1, 7);
    let pair = Group { number: 1, links: &[3, 5] };
    let taken: Vec<[u32; 2]> =
        (0..8).map(|_| [rule.pick(0, GROUP, &STILL), rule.pick(0, pair, &STILL)]).collect();
    for (before, after) in taken.iter().zip(&taken[1..]) {
        assert_eq!(*after, [(before[0] + 1) % 4, (before[1] + 1) % 2], "{taken:?}");
    }
}

/// Handley 2017 s.3.1.1: of each four packets of a flow one takes each next hop, in an order that is drawn anew; flows in
/// between change nothing. All 24 orders come up: 1000 each of 24 000, within five standard deviations of 31.
#[test]
fn permutations_take_each_next_hop_once() {
    let mut rule = chooser(Ecmp::Permutation, 1, 7);
    let mut orders = std::collections::BTreeMap::new();
    for _ in 0..24_000 {
        let order: Vec<u32> = (0..4)
            .map(|_| {
                rule.pick(9, GROUP, &STILL);
                rule.pick(5, GROUP, &STILL)
            })
            .collect();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3]);
        *orders.entry(order).or_insert(0i64) += 1;
    }
    assert_eq!(orders.len(), 24);
    assert!(orders.values().all(|n| (n - 1000).abs() < 155), "{orders:?}");
    // A next hop that has left the group is left.
    let fewer = Group { number: 0, links: &GROUP.links[..2] };
    assert!((0..8).all(|_| rule.pick(5, fewer, &STILL) < 2));
}

/// The table of turns forgets flows that are silent.
#[test]
fn a_table_of_turns_stays_small() {
    let mut rule =
        super::permutation::Rule::new(Place { sharing: &Sharing::by(Ecmp::Permutation, 1), node: 7 });
    for i in 0..10_000u64 {
        rule.choose(i as u32, GROUP, &Still(Time::ZERO + Span::us(100 * i), [0; 10]));
        assert!(rule.flows() <= 64, "{} after {i}", rule.flows());
    }
}

/// Each node reads its own digit of the value: of 8 ports, 4 and 3 next hops, all 96 combinations come once.
#[test]
fn fields_of_a_value_name_a_path() {
    let mask = 0xfff;
    let field = |divisor, width| Field { mask, divisor, width };
    let fields = [field(1, 8), field(8, 4), field(32, 3)];
    let sharing = Sharing { fields: fields.into(), ..Sharing::by(Ecmp::Structured, 1) };
    let links: Vec<u32> = (0..8).collect();
    let mut tiers: Vec<Chooser> =
        (0..3).map(|node| Chooser::new(Place { sharing: &sharing, node })).collect();
    let mut path = |label: u32| {
        let sizes = tiers.iter_mut().zip([8, 4, 3]);
        let at = |(tier, size): (&mut Chooser, usize)| {
            tier.pick(label, Group { number: 0, links: &links[..size] }, &STILL)
        };
        sizes.map(at).collect::<Vec<u32>>()
    };
    let mut seen: Vec<Vec<u32>> = (0..96).map(&mut path).collect();
    // The destination in a label changes nothing.
    assert_eq!(path(7 << 12 | 53), seen[53]);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 96);
}
