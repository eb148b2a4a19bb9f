//! Queue disciplines: one file each, and the list below.
//!
//! There are two kinds. An [`Admission`] decides when a packet arrives (drop-tail, threshold marking,
//! RED); the port then serves in order of arrival, and needs one event a packet. A [`QueueDisc`]
//! also decides at departure (CoDel, priorities, two queues) and holds its packets itself.
//! [`parts::fifo::Fifo`] turns the first kind into the second, which the tests use to hold the two paths
//! against each other.
//!
//! A discipline never counts or logs: the port counts the fates that it returns.

pub mod parts;
#[cfg(test)]
pub(crate) mod test_bench;

use crate::events::random::Stream;
use crate::packet::Packet;
pub use crate::packet::{Backlog, DropWhy, Verdict};
use crate::params::{Faults, Kind, Param, Params};
use parts::gauge::Level;
use serde_json::{Map, Value};
use shallows_units::{Index, Rate, Time};
use std::collections::HashMap;
use std::sync::LazyLock;

/// A setting's name and the value that it has under a profile, unless the file says otherwise.
pub type Habit = (&'static str, &'static str);

/// Where a discipline works.
#[derive(Debug, Clone)]
pub struct Place {
    /// Rate of the port.
    pub rate: Rate,
    /// It is a switch's port to a host.
    pub last_hop: bool,
    /// Random numbers of this queue alone.
    pub random: Stream,
}

/// Decides at arrival; called once for each packet, before it joins the queue.
pub trait Admission {
    /// The fate of `packet`, arriving at `now` when `backlog` stands in the queue.
    fn admit(&mut self, packet: &Packet, backlog: Backlog, now: Time) -> Verdict;
    /// The port sends at another rate from now on. Thresholds stay as they were set.
    fn rate_changes(&mut self, _rate: Rate) {}
    /// It passes every packet whatever the backlog, so that the port need not work it out.
    fn takes_all(&self) -> bool {
        false
    }
    /// Values that a sampler may record.
    fn observe(&self, _put: &mut dyn FnMut(&'static str, f64)) {}
}

/// The context of a discipline: its means, and the place of its reports.
pub struct QueueCx<'a> {
    /// The present.
    pub now: Time,
    /// Bytes of the packet being transmitted, 0 when idle: it has left the discipline.
    pub serving: u64,
    /// When the transmission under way ends, or the last one ended.
    pub free_at: Time,
    /// At an arrival: bytes from the packet's first one to the end of the data that its flow has to send, as far as that
    /// is known; 0 for an acknowledgement.
    pub remaining: u64,
    /// Packets and bytes that wait in the line in front.
    pub line: (u64, u64),
    /// The priority of the arriving packet, or of the one that [`QueueDisc::dequeue`] gives.
    pub priority: u8,
    /// The port by which this packet came to its switch, where that port is charged for it; none for one that was made here.
    pub came_by: Index,
    /// Priorities that may not send, a bit each.
    pub paused: u8,
    dropped: &'a mut Vec<(Packet, DropWhy)>,
    marked: u64,
    /// Flow of the packet that was trimmed in this call, and bytes cut off.
    trimmed: Option<(u32, u16)>,
}

impl<'a> QueueCx<'a> {
    /// A context whose drops go to `dropped`.
    pub fn new(now: Time, serving: u64, free_at: Time, dropped: &'a mut Vec<(Packet, DropWhy)>) -> Self {
        let came_by = Index::NONE;
        let (remaining, line, priority, paused) = (0, (0, 0), 0, 0);
        let (marked, trimmed) = (0, None);
        QueueCx {
            now,
            serving,
            free_at,
            remaining,
            line,
            priority,
            came_by,
            paused,
            dropped,
            marked,
            trimmed,
        }
    }

    /// Gives `packet` up.
    pub fn drop(&mut self, packet: Packet, why: DropWhy) {
        self.dropped.push((packet, why));
    }

    /// Marks `packet` CE if it is ECN-capable; says whether it is.
    pub fn mark(&mut self, packet: &mut Packet) -> bool {
        use crate::packet::Flags;
        let able = packet.ecn_capable();
        if able && !packet.flags.any(Flags::CE) {
            packet.flags = packet.flags.with(Flags::CE);
            self.marked += 1;
        }
        able
    }

    /// Packets marked in this call.
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// Cuts the payload of `packet` off, so that `header` bytes are left. One packet a call.
    pub fn trim(&mut self, packet: &mut Packet, header: u16) {
        use crate::packet::Flags;
        debug_assert!(self.trimmed.is_none(), "an arrival trims one packet");
        let left = packet.size.min(header);
        self.trimmed = Some((packet.flow, packet.size - left));
        (packet.size, packet.flags) = (left, packet.flags.with(Flags::PROBE));
    }

    /// The flow of the packet that was trimmed in this call, if one was, and the bytes cut off.
    pub fn trimmed(&self) -> Option<(u32, u16)> {
        self.trimmed
    }
}

/// The answer to a packet that comes to a free transmitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passing {
    /// It is to be transmitted now.
    Sent,
    /// It was given up with `cx.drop`.
    Dropped,
    /// Nothing was done: the packet has to be queued.
    No,
}

/// Decides at arrival and at departure, and holds its packets.
pub trait QueueDisc: Send {
    /// Takes `packet`: holds it, or gives it or another up with `cx.drop`.
    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx<'_>);
    /// The next packet to transmit; called when the transmitter is free. May drop and mark.
    fn dequeue(&mut self, cx: &mut QueueCx<'_>) -> Option<Packet>;
    /// The held packets, without the packet in transmission.
    fn backlog(&self) -> Backlog;
    /// A packet comes to a free transmitter, and nothing is held: does at once all that `enqueue` and the `dequeue` after it
    /// would do, where it knows a short way.
    fn pass(&mut self, _packet: &mut Packet, _cx: &mut QueueCx<'_>) -> Passing {
        Passing::No
    }
    /// The port sends at another rate from now on. Thresholds stay as they were set.
    fn rate_changes(&mut self, _rate: Rate) {}
    /// It holds nothing, and [`QueueDisc::dequeue`] would give and change nothing.
    fn rests(&self) -> bool {
        false
    }
    /// Where [`QueueDisc::dequeue`] gave nothing though packets are held: when to ask again.
    fn ready_at(&self) -> Option<Time> {
        None
    }
    /// It reads [`QueueCx::remaining`], which only the sender knows: such a run stays in one cell.
    fn reads_remaining(&self) -> bool {
        false
    }
    /// A line in order of arrival that its port keeps in front of it.
    fn line(&self) -> Option<Line> {
        None
    }
    /// It decides about a packet as it comes, and packets leave in their order.
    fn decides_at_arrival(&self) -> bool {
        false
    }
    /// It has a lane for each priority.
    fn has_lanes(&self) -> bool {
        false
    }
    /// Bytes held of `priority`; a discipline without priorities has one queue for all.
    fn held_of(&self, _priority: u8) -> u64 {
        self.backlog().bytes
    }
    /// A packet of `priority` is held that came by the port `came_by`, which is charged for it.
    fn holds_from(&self, _priority: u8, _came_by: Index) -> bool {
        false
    }
    /// The queues inside, where there are several.
    fn inner(&self) -> Option<&dyn InnerQueues> {
        None
    }
    /// Values that a sampler may record.
    fn observe(&self, _put: &mut dyn FnMut(&'static str, f64)) {}
}

/// A line in front of a discipline. A packet joins it while the discipline holds nothing and the line has room.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// Most packets that wait in it.
    pub most: u64,
    /// Most that the port may hold.
    pub limit: Level,
}

impl Line {
    /// A packet of any size may join while fewer than these stand in the port, the one in transmission included.
    pub fn takes(&self) -> u32 {
        match self.limit {
            Level::NEVER => u32::try_from(self.most).unwrap_or(u32::MAX).saturating_add(1),
            _ => u32::from(self.has_room(Backlog::default(), u16::MAX)),
        }
    }

    /// Whether a packet of `size` bytes may join when `backlog` stands in the line and the transmitter.
    #[inline]
    pub fn has_room(&self, backlog: Backlog, size: u16) -> bool {
        let waiting = backlog.packets - u64::from(backlog.serving > 0);
        waiting < self.most && !self.limit.is_below((backlog.packets + 1, backlog.bytes + u64::from(size)))
    }
}

/// The queues inside a discipline that has several, for counts of each.
pub trait InnerQueues {
    /// How many.
    fn count(&self) -> usize;
    /// The name of queue `number` in tables.
    fn name(&self, number: usize) -> String;
    /// The queue of `packet` with `priority`: the same answer before it is taken, when it is dropped and when it leaves.
    fn of(&self, packet: &Packet, priority: u8) -> usize;
    /// Packets held in queue `number`.
    fn len(&self, number: usize) -> u64;
}

/// The lists of disciplines: `"name" => Variant(file)` adds one. `in order` behind one that decides at departure says that it
/// serves in order of arrival and, without a limit, drops nothing.
macro_rules! disciplines {
    (@order $word:literal) => {
        $word
    };
    (
        arrival { $( $aword:literal => $avariant:ident($afile:ident) ),* $(,)? }
        departure { $( $dword:literal => $dvariant:ident($dfile:ident) $(in $order:ident)? $(with $habits:ident)? ),* $(,)? }
    ) => {
        $( pub mod $afile; )*
        $( pub mod $dfile; )*

        $crate::components! {
            /// A queue discipline with its settings.
            pub enum Queue, "queue" {
                $( $aword => $avariant($afile::Settings), )*
                $( $dword => $dvariant($dfile::Settings), )*
            }
        }

        /// Every discipline that decides at arrival.
        #[derive(Debug, Clone)]
        #[allow(missing_docs)]
        pub enum AnyAdmission { $( $avariant($afile::Discipline) ),* }

        impl Admission for AnyAdmission {
            #[inline(always)] // it has cold callers too, for which the compiler would make it a call
            fn admit(&mut self, packet: &Packet, backlog: Backlog, now: Time) -> Verdict {
                match self { $( AnyAdmission::$avariant(d) => d.admit(packet, backlog, now) ),* }
            }
            fn rate_changes(&mut self, rate: Rate) {
                match self { $( AnyAdmission::$avariant(d) => d.rate_changes(rate) ),* }
            }
            fn takes_all(&self) -> bool {
                match self { $( AnyAdmission::$avariant(d) => d.takes_all() ),* }
            }
            fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
                match self { $( AnyAdmission::$avariant(d) => d.observe(put) ),* }
            }
        }

        impl Queue {
            /// The discipline, ready to run.
            pub fn build(&self, place: Place) -> Built {
                match self {
                    $( Queue::$avariant(s) => Built::Arrival(AnyAdmission::$avariant($afile::Discipline::new(s, place))), )*
                    $( Queue::$dvariant(s) => Built::Departure(Box::new($dfile::Discipline::new(s, place))), )*
                }
            }

            /// Names of those that serve in order of arrival.
            const ORDERLY: &[&str] = &[$($aword,)* $( $( disciplines!(@$order $dword), )? )*];

            /// Whether it serves in order of arrival, and drops nothing by force.
            pub fn keeps_order(&self) -> bool {
                Self::in_order().any(|kind| kind == self.kind())
            }

            /// Names of those that serve in order of arrival, and drop nothing by force.
            pub fn in_order() -> impl Iterator<Item = &'static str> {
                Self::ORDERLY.iter().copied().filter(|kind| *kind != Self::POLICER)
            }

            /// Settings of the discipline `kind` that the transport's `profile` changes if the file does not say
            /// otherwise: the habits of the stack that the profile stands for.
            pub fn habits(kind: &str, profile: &str) -> &'static [Habit] {
                match kind {
                    $( $( $dword => $dfile::Settings::$habits(profile), )? )*
                    _ => &[],
                }
            }

            /// Bytes of memory that the discipline takes at a port, held packets excluded.
            pub fn memory(&self) -> u64 {
                match self {
                    // Their state stands apart, where it is large.
                    $( Queue::$avariant(_) => ARRIVAL_BYTES, )*
                    $( Queue::$dvariant(_) => (SCHEDULED_BYTES + size_of::<$dfile::Discipline>()) as u64, )*
                }
            }

            /// Checks across settings of one discipline; `path` is where it stands in the file.
            pub fn check(&self, path: &str, faults: &mut Faults) {
                match self {
                    $( Queue::$avariant(s) => s.check(path, faults), )*
                    $( Queue::$dvariant(s) => s.check(path, faults), )*
                }
            }
        }
    };
}

disciplines! {
    arrival {
        "drop-tail" => DropTail(drop_tail),
        "threshold" => Threshold(threshold),
        "red" => Red(red),
        "tc-red" => TcRed(tc_red),
        "double-threshold" => DoubleThreshold(double_threshold),
        "coupled" => Coupled(coupled),
        "pi2" => Pi2(pi2),
        "policer" => Policer(policer),
    }
    departure {
        "codel" => Codel(codel) with habits,
        "fq" => Fq(fq),
        "fq-codel" => FqCodel(fq_codel) with habits,
        "pie" => Pie(pie),
        "ramp" => Ramp(ramp) in order,
        "priority" => Priority(priority),
        "pfabric" => Pfabric(pfabric),
        "trimming" => Trimming(trimming),
        "credit" => Credit(credit),
        "dualpi2" => DualPi2(dualpi2),
        "dualq-curvy-red" => DualQCurvyRed(dualq_curvy_red),
    }
}

impl Queue {
    /// Name of the discipline that meters credits.
    pub const CREDIT: &str = "credit";
    /// Name of the discipline that cuts payloads off.
    pub const TRIMMING: &str = "trimming";
    /// The discipline that drops by a meter, whatever stands in the queue.
    const POLICER: &str = "policer";

    /// Whether a full queue cuts payloads off instead of dropping packets.
    pub fn trims(&self) -> bool {
        matches!(self, Queue::Trimming(settings) if settings.limit.is_some())
    }

    /// The limits of its own that it has, and could do without, with their names.
    pub fn limits(&self) -> Vec<(&'static str, Value)> {
        static OPTIONAL: LazyLock<HashMap<&str, Vec<&'static str>>> = LazyLock::new(optional_limits);
        let names = &OPTIONAL[self.kind()];
        let shown = if names.is_empty() { Map::new() } else { self.show() };
        let limits = names.iter().map(|name| (*name, shown[*name].clone()));
        limits.filter(|(_, limit)| limit != "none").collect()
    }
}

/// For each discipline the names of its limits that may be absent.
fn optional_limits() -> HashMap<&'static str, Vec<&'static str>> {
    let is_one = |param: &Param| param.name.ends_with("limit") && matches!(param.kind, Kind::OrNone(_));
    let names = |params: &[Param]| params.iter().filter(|p| is_one(p)).map(|p| p.name).collect();
    Queue::all().iter().map(|component| (component.name, names(&component.params))).collect()
}

impl Default for Queue {
    /// Drop-tail without a limit.
    fn default() -> Self {
        Queue::DropTail(drop_tail::Settings::defaults())
    }
}

/// Most that a discipline which decides at arrival keeps apart from its port.
const ARRIVAL_BYTES: u64 = 200;
/// Bytes that a port keeps of one that decides at departure, with the record of its inner queues.
const SCHEDULED_BYTES: usize = 600;

/// A discipline ready to run.
pub enum Built {
    /// Decides at arrival: one event a packet.
    Arrival(AnyAdmission),
    /// Decides at departure: two events a packet.
    Departure(Box<dyn QueueDisc>),
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::packet::tests::packet;
    use shallows_units::Size;

    /// A port of 10 Gb/s, for tests of one discipline alone.
    pub(crate) fn place() -> Place {
        Place { rate: Rate::gbps(10), last_hop: false, random: Stream::new(1, "queue", 0) }
    }

    /// A discipline with what is required alone, and 77 bytes of priority unknown.
    struct Plain;

    impl QueueDisc for Plain {
        fn enqueue(&mut self, _packet: Packet, _cx: &mut QueueCx<'_>) {}
        fn dequeue(&mut self, _cx: &mut QueueCx<'_>) -> Option<Packet> {
            None
        }
        fn backlog(&self) -> Backlog {
            Backlog { packets: 2, bytes: 77, ..Backlog::default() }
        }
    }

    struct PassesAll;

    impl Admission for PassesAll {
        fn admit(&mut self, _packet: &Packet, _backlog: Backlog, _now: Time) -> Verdict {
            Verdict::Pass
        }
    }

    /// A discipline that says no more of itself has one queue for all priorities, no line, no lanes and no short way.
    #[test]
    fn a_discipline_without_more_is_one_queue() {
        let mut dropped = vec![];
        let mut cx = QueueCx::new(Time::ZERO, 0, Time::ZERO, &mut dropped);
        let mut plain = Plain;
        assert_eq!(plain.pass(&mut packet(100), &mut cx), Passing::No);
        assert_eq!((plain.ready_at(), plain.line().is_none(), plain.inner().is_none()), (None, true, true));
        let yes = [plain.rests(), plain.reads_remaining(), plain.decides_at_arrival(), plain.has_lanes()];
        assert_eq!((yes, plain.holds_from(0, Index::new(0))), ([false; 4], false));
        assert_eq!([0, 7].map(|priority| plain.held_of(priority)), [77, 77]);
        let mut seen = 0;
        plain.observe(&mut |_, _| seen += 1);
        PassesAll.observe(&mut |_, _| seen += 1);
        assert_eq!((seen, PassesAll.takes_all()), (0, false));
    }

    /// RFC 3168 s.5: CE is set where ECT(0) or ECT(1) is, and on no other packet; one that has it already is not marked again.
    #[test]
    fn a_mark_needs_a_capable_packet_and_counts_once() {
        use crate::packet::Flags;
        let mut dropped = vec![];
        let mut cx = QueueCx::new(Time::ZERO, 0, Time::ZERO, &mut dropped);
        let mut marked = |flags: Flags| {
            let before = cx.marked();
            let mut packet = Packet { flags, ..packet(100) };
            let able = cx.mark(&mut packet);
            (able, packet.flags.any(Flags::CE), cx.marked() - before)
        };
        assert_eq!(marked(Flags::default()), (false, false, 0));
        assert_eq!(marked(Flags::ECT0), (true, true, 1));
        assert_eq!(marked(Flags::ECT1), (true, true, 1));
        assert_eq!(marked(Flags::ECT0.with(Flags::CE)), (true, true, 0));
        cx.drop(packet(100), DropWhy::Full);
        assert_eq!((cx.marked(), cx.trimmed()), (2, None));
        assert_eq!(dropped.len(), 1);
    }

    /// Trimming leaves the header, or what is less, and says whose bytes were cut off.
    #[test]
    fn a_trimmed_packet_keeps_its_header() {
        use crate::packet::Flags;
        for (size, left, cut) in [(1500, 64, 1436), (64, 64, 0), (40, 40, 0)] {
            let mut dropped = vec![];
            let mut cx = QueueCx::new(Time::ZERO, 0, Time::ZERO, &mut dropped);
            let mut packet = Packet { flow: 9, flags: Flags::TRIMMABLE, ..packet(size) };
            cx.trim(&mut packet, 64);
            assert_eq!((packet.size, packet.trimmed(), cx.trimmed()), (left, true, Some((9, cut))));
        }
    }

    /// The line in front of a discipline has room for `most` packets beside the one in transmission, and for what the port may hold.
    #[test]
    fn a_line_has_room_up_to_its_places_and_the_limit() {
        let standing = |packets: u64, serving: u64| Backlog {
            packets,
            bytes: packets * 1000,
            serving,
            ..Backlog::default()
        };
        let room = |limit: Option<Size>, backlog: Backlog| {
            Line { most: 3, limit: Level::new(limit) }.has_room(backlog, 1000)
        };
        assert_eq!([2, 3].map(|packets| room(None, standing(packets, 0))), [true, false]);
        assert_eq!([3, 4].map(|packets| room(None, standing(packets, 1000))), [true, false]);
        let packets = |most| Some(Size::Packets(most));
        assert_eq!([3, 2].map(|most| room(packets(most), standing(2, 0))), [true, false]);
        assert_eq!([3, 2].map(|most| room(packets(most), standing(2, 1000))), [true, false]);
        let bytes = |most| Some(Size::Bytes(shallows_units::Bytes(most)));
        assert_eq!([3000, 2999].map(|most| room(bytes(most), standing(2, 0))), [true, false]);
    }

    /// Where no limit is, packets of any size join while no more than `most` wait behind the one in transmission; else only an empty port
    /// takes one of any size, if the limit does.
    #[test]
    fn packets_of_any_size_join_by_number_where_no_limit_is() {
        let takes = |most, limit: Option<Size>| Line { most, limit: Level::new(limit) }.takes();
        assert_eq!([takes(7, None), takes(0, None), takes(1 << 40, None)], [8, 1, u32::MAX]);
        let packets = |most| takes(7, Some(Size::Packets(most)));
        assert_eq!([packets(0), packets(1), packets(9)], [0, 1, 1]);
        let bytes = |most| takes(7, Some(Size::Bytes(shallows_units::Bytes(most))));
        assert_eq!([bytes(65_534), bytes(65_535)], [0, 1]);
        assert_eq!(takes(0, Some(Size::Packets(9))), 0);
    }

    fn read(settings: Value) -> Queue {
        let map = settings.as_object().expect("a table").clone();
        let mut faults = Faults::default();
        let queue = Queue::read(&mut crate::params::Table::new("queue", &map, &mut faults));
        assert!(faults.0.is_empty(), "{:?}", faults.0);
        queue.expect("no fault")
    }

    /// A packet has a byte at least, so that none passes a limit of 0 bytes. Each discipline refuses each of its limits that is a size, by its path.
    #[test]
    fn no_limit_is_zero_bytes() {
        let mut limits = 0;
        for component in Queue::all() {
            for param in component.params.iter().filter(|param| param.name.ends_with("limit")) {
                let mut map: Map<String, Value> =
                    serde_json::from_str(component.facts.example).expect("a table");
                map.insert("kind".into(), component.name.into());
                map.insert(param.name.into(), "0B".into());
                let mut faults = Faults::default();
                let queue = Queue::read(&mut crate::params::Table::new("queue", &map, &mut faults));
                if !faults.0.is_empty() {
                    continue; // no size
                }
                limits += 1;
                queue.expect("no fault").check("queue", &mut faults);
                let paths: Vec<&str> = faults.0.iter().map(|fault| fault.path.as_str()).collect();
                assert_eq!(paths, [format!("queue.{}", param.name)], "{}", component.name);
            }
        }
        assert!(limits >= Queue::all().len(), "{limits}");
    }

    /// Limits of its own that a discipline has: those that are written, not the ones that are absent, nor settings that are no limits.
    #[test]
    fn limits_are_those_that_are_written() {
        use serde_json::json;
        let limits = |settings: Value| read(settings).limits();
        assert_eq!(limits(json!({"kind": "drop-tail"})), []);
        assert_eq!(limits(json!({"kind": "drop-tail", "limit": "none"})), []);
        assert_eq!(limits(json!({"kind": "drop-tail", "limit": "9pkt"})), [("limit", json!("9pkt"))]);
        let trimming = |limit: &str, headers: &str| {
            read(json!({"kind": "trimming", "limit": limit, "header_limit": headers}))
        };
        assert_eq!(trimming("none", "none").limits(), []);
        assert_eq!(trimming("none", "2000B").limits(), [("header_limit", json!("2KB"))]);
        let both = [("limit", json!("9pkt")), ("header_limit", json!("2KB"))];
        assert_eq!(trimming("9pkt", "2000B").limits(), both);
        // Only a full queue trims.
        assert!(trimming("9pkt", "none").trims() && !trimming("none", "9pkt").trims());
        assert!(!read(json!({"kind": "drop-tail", "limit": "9pkt"})).trims());
    }
}
