use super::*;
use crate::packet::DropWhy;
use crate::packet::tests::packet;
use crate::params::Params;
use crate::queue::{Place, Queue, drop_tail, ramp, red, threshold};
use shallows_units::Size;

/// A lane with a drop-tail FIFO of at most `limit` packets.
fn lane(priority: u8, quantum: Option<u64>, lossless: bool, limit: Option<u64>) -> LaneOf {
    let settings = drop_tail::Settings { limit: limit.map(Size::Packets), ..drop_tail::Settings::defaults() };
    let queue = Queue::DropTail(settings).build(crate::queue::tests::place());
    LaneOf { priority, quantum, lossless, queue }
}

/// Puts a packet of `size` bytes into the lane of `priority`; returns the drops.
fn put(lanes: &mut Lanes, priority: u8, size: u16) -> usize {
    let mut dropped = vec![];
    let mut cx = QueueCx::new(Time::ZERO, 0, Time::ZERO, &mut dropped);
    (cx.priority, cx.came_by) = (priority, Index::new(u32::from(priority) + 10));
    lanes.enqueue(packet(size), &mut cx);
    dropped.len()
}

/// The priorities of the next packets, while those of `paused` wait.
fn take(lanes: &mut Lanes, packets: usize, paused: u8) -> Vec<u8> {
    let mut dropped = vec![];
    let mut one = || {
        let mut cx = QueueCx::new(Time::ZERO, 0, Time::ZERO, &mut dropped);
        cx.paused = paused;
        lanes.dequeue(&mut cx).map(|_| cx.priority)
    };
    (0..packets).map_while(|_| one()).collect()
}

#[test]
fn strict_lanes_go_first_by_number() {
    let mut lanes = Lanes::new(
        vec![lane(0, Some(1500), false, None), lane(2, None, false, None), lane(6, None, false, None)],
        Rate::gbps(10),
    );
    for priority in [0, 2, 6, 0, 2, 6] {
        put(&mut lanes, priority, 1000);
    }
    assert_eq!(lanes.backlog().packets, 6);
    assert_eq!(take(&mut lanes, 9, 0), [6, 6, 2, 2, 0, 0]);
}

/// Deficit round robin: the bytes of lanes that always have packets are as their quanta, whatever the packets' sizes.
#[test]
fn the_others_share_by_their_quanta() {
    let all = [(0, 1500, 1500), (1, 3000, 400), (2, 4500, 9000)];
    let of = |(priority, quantum, _): (u8, u64, u16)| lane(priority, Some(quantum), false, None);
    let mut lanes = Lanes::new(all.into_iter().map(of).collect(), Rate::gbps(10));
    for (priority, _, size) in all {
        (0..5000).for_each(|_| _ = put(&mut lanes, priority, size));
    }
    let mut bytes = [0u64; 3];
    for priority in take(&mut lanes, 4000, 0) {
        bytes[usize::from(priority)] += u64::from(all[usize::from(priority)].2);
    }
    let unit = bytes.iter().sum::<u64>() / 6;
    for (sent, share) in bytes.into_iter().zip([1, 2, 3]) {
        // A lane is at most a quantum and a packet ahead of or behind the others (theorem 2 of the paper).
        assert!(sent.abs_diff(share * unit) <= 4500 + 2 * 9000, "{bytes:?}");
    }
}

/// A paused lane waits with all its packets; the others go on, and it has its turn when the pause is over.
#[test]
fn a_paused_lane_waits() {
    let mut lanes = Lanes::new(
        vec![lane(1, Some(1500), false, None), lane(3, None, true, None), lane(5, Some(1500), false, None)],
        Rate::gbps(10),
    );
    for priority in [1, 3, 5, 1, 3, 5] {
        put(&mut lanes, priority, 1500);
    }
    assert_eq!(take(&mut lanes, 2, 1 << 3 | 1 << 1), [5, 5]);
    assert_eq!(take(&mut lanes, 2, 1 << 3 | 1 << 1), [0; 0]);
    assert_eq!(take(&mut lanes, 9, 1 << 3), [1, 1]);
    assert_eq!(take(&mut lanes, 9, 0), [3, 3]);
    assert_eq!(lanes.backlog(), Backlog::default());
}

/// A lossless lane passes the limit of its discipline and remembers by which port each packet came.
#[test]
fn a_lossless_lane_drops_nothing() {
    let mut lossy = Lanes::new(vec![lane(3, None, false, Some(2))], Rate::gbps(10));
    assert_eq!((0..5).map(|_| put(&mut lossy, 3, 1500)).sum::<usize>(), 3);
    let mut lossless = Lanes::new(vec![lane(3, None, true, Some(2))], Rate::gbps(10));
    assert_eq!((0..5).map(|_| put(&mut lossless, 3, 1500)).sum::<usize>(), 0);
    assert!(lossless.holds_from(3, Index::new(13)) && !lossless.holds_from(3, Index::new(12)));
    let mut dropped = vec![];
    let mut cx = QueueCx::new(Time::ZERO, 0, Time::ZERO, &mut dropped);
    assert!(lossless.dequeue(&mut cx).is_some());
    assert_eq!((cx.priority, cx.came_by), (3, Index::new(13)));
}

/// A discipline that gives all that it holds up when it is asked for a packet.
#[derive(Default)]
struct GivesUp(VecDeque<Packet>);

impl QueueDisc for GivesUp {
    fn enqueue(&mut self, packet: Packet, _: &mut QueueCx<'_>) {
        self.0.push_back(packet);
    }
    fn dequeue(&mut self, cx: &mut QueueCx<'_>) -> Option<Packet> {
        self.0.drain(..).for_each(|packet| cx.drop(packet, DropWhy::Aqm));
        None
    }
    fn backlog(&self) -> Backlog {
        let bytes = self.0.iter().map(|packet| u64::from(packet.size)).sum();
        Backlog { packets: self.0.len() as u64, bytes, ..Backlog::default() }
    }
}

/// The transmitter never idles while a lane has a packet for it: where the discipline of one gives up all that it holds, the next one has its
/// turn at once. Whether a lane is strict or has a quantum, and whether it is the first, the last or all.
#[test]
fn a_lane_that_gives_all_up_leaves_its_turn_to_the_others() {
    let gives_up = |priority, quantum| LaneOf {
        priority,
        quantum,
        lossless: false,
        queue: Built::Departure(Box::new(GivesUp::default())),
    };
    for quantum in [None, Some(1500)] {
        for empty in [vec![7], vec![5], vec![3], vec![7, 5], vec![7, 3], vec![5, 3], vec![7, 5, 3]] {
            let of = |priority| match empty.contains(&priority) {
                true => gives_up(priority, quantum),
                false => lane(priority, quantum, false, None),
            };
            let mut lanes = Lanes::new([7, 5, 3].map(of).into(), Rate::gbps(10));
            for priority in [7, 5, 3, 7, 5, 3] {
                put(&mut lanes, priority, 1500);
            }
            let mut left = take(&mut lanes, 9, 0);
            left.sort_unstable();
            let kept: Vec<u8> =
                [3, 3, 5, 5, 7, 7].into_iter().filter(|priority| !empty.contains(priority)).collect();
            assert_eq!(left, kept, "{quantum:?} {empty:?}");
            assert_eq!(lanes.backlog(), Backlog::default());
        }
    }
}

/// Each lane marks by its own queue: a threshold in one does not see the packets of the other.
#[test]
fn each_lane_marks_by_its_own_length() {
    let settings = threshold::Settings { mark_at: Size::Packets(3), ..threshold::Settings::defaults() };
    let marking = |priority| LaneOf {
        priority,
        quantum: None,
        lossless: false,
        queue: Queue::Threshold(settings.clone())
            .build(Place { rate: Rate::gbps(10), ..crate::queue::tests::place() }),
    };
    let mut lanes = Lanes::new(vec![marking(0), marking(7)], Rate::gbps(10));
    let mut marked = [0; 2];
    for round in 0..12 {
        let (mut dropped, lane) = (vec![], usize::from(round >= 10));
        let mut cx = QueueCx::new(Time::ZERO, 0, Time::ZERO, &mut dropped);
        cx.priority = [0, 7][lane];
        lanes.enqueue(packet(1500), &mut cx);
        marked[lane] += cx.marked();
    }
    assert!(marked[0] >= 6 && marked[1] == 0, "{marked:?}");
}

/// A packet that left: its number, the time, its flags, priority, and the port by which it came.
type Left = (u64, Time, u16, u8, Index);

/// Plays packets that arrive at these gaps in ns, with these sizes, priorities and pauses, at a port of 10 Gb/s. Returns the departures
/// in order, the drops, and how many passed. `short` takes the short way.
fn played(all: &[(u64, u16, u8, u8)], short: bool) -> (Vec<Left>, Vec<u64>, usize) {
    let rate = Rate::gbps(10);
    let of = |priority, quantum, lossless, queue: Queue| {
        let queue = queue.build(crate::queue::tests::place());
        LaneOf { priority, quantum, lossless, queue }
    };
    let (two, byte) = (Some(Size::Bytes(Bytes(2500))), Bytes(1));
    let ramp = ramp::Settings { kmin: byte, kmax: Bytes(4000), pmax: 0.5, limit: two };
    let red = red::Settings { min: Size::Bytes(byte), ecn: true, ..red::Settings::defaults() };
    let small =
        drop_tail::Settings { limit: Some(Size::Bytes(Bytes(1200))), ..drop_tail::Settings::defaults() };
    let mut lanes = Lanes::new(
        vec![
            of(0, None, false, Queue::Ramp(ramp)),
            of(1, None, true, Queue::Red(red)),
            of(2, None, false, Queue::DropTail(small)),
            of(3, Some(1500), true, Queue::Threshold(threshold::Settings::defaults())),
            of(4, Some(500), false, Queue::Codel(crate::queue::codel::Settings::defaults())),
        ],
        rate,
    );
    let (mut dropped, mut sent, mut passed) = (vec![], vec![], 0);
    let (mut now, mut free_at) = (Time::ZERO, Time::ZERO);
    let mut serving: Option<Packet> = None;
    let mut begin = |packet: Packet, cx: &QueueCx<'_>, free_at: &mut Time| {
        *free_at = cx.now + rate.transmit(Bytes(packet.size.into()));
        sent.push((packet.seq, cx.now, packet.flags.0, cx.priority, cx.came_by));
        packet
    };
    for (seq, (gap, size, priority, paused)) in (0..).zip(all.iter().copied()) {
        now += shallows_units::Span::ns(gap);
        while serving.is_some() && free_at <= now {
            let mut cx = QueueCx::new(free_at, 0, free_at, &mut dropped);
            serving = lanes.dequeue(&mut cx).map(|packet| begin(packet, &cx, &mut free_at));
        }
        let held = serving.map_or(0, |packet| packet.size.into());
        let mut cx = QueueCx::new(now, held, free_at, &mut dropped);
        (cx.priority, cx.came_by, cx.paused) = (priority, Index::new(u32::from(priority) + 10), paused);
        let mut packet = Packet { seq, at: now, flags: crate::packet::Flags::ECT0, ..packet(size) };
        let passing = if short && serving.is_none() { lanes.pass(&mut packet, &mut cx) } else { Passing::No };
        match passing {
            Passing::Sent => {
                passed += 1;
                serving = Some(begin(packet, &cx, &mut free_at));
            }
            Passing::Dropped => passed += 1,
            Passing::No => {
                lanes.enqueue(packet, &mut cx);
                if serving.is_none() {
                    let mut cx = QueueCx::new(now, 0, free_at, &mut dropped);
                    cx.paused = paused;
                    serving = lanes.dequeue(&mut cx).map(|packet| begin(packet, &cx, &mut free_at));
                }
            }
        }
    }
    (sent, dropped.iter().map(|(packet, _)| packet.seq).collect(), passed)
}

proptest::proptest! {
    /// A packet that finds the port idle goes on as though it had been queued and taken out.
    #[test]
    fn passing_is_queueing_and_taking(
        all in proptest::collection::vec((0u64..2500, 64u16..2000, 0u8..5, proptest::sample::select(vec![0u8, 0, 2, 9])), 1..200),
    ) {
        let (short, long) = (played(&all, true), played(&all, false));
        proptest::prop_assert_eq!(&short.0, &long.0);
        proptest::prop_assert_eq!(&short.1, &long.1);
        proptest::prop_assert!(long.2 == 0 && (all.len() < 60 || short.2 > 0));
    }
}
