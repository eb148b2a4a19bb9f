//! A packet's fate at a port: the waiting queue, and the discipline's verdict.

use shallows_units::Time;

/// The content of a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets, the one being transmitted included.
    pub packets: u64,
    /// Bytes, the packet being transmitted included whole.
    pub bytes: u64,
    /// Bytes of the packet being transmitted; 0 when the transmitter is idle.
    pub serving: u64,
    /// When the transmitter will have sent all that stands, or since when it has been idle.
    pub free_at: Time,
}

/// The place at which a packet is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostAt {
    /// At a port, before its transmission ended.
    Port,
    /// On the wire: the packet had left its port.
    Wire,
}

/// Declares the causes of a loss: `Variant = "column", place, "in words";` adds one. The table `queues` has a
/// column for each, and `inner_queues` for each at the port; all counts, laws and pages follow from this list.
macro_rules! drop_causes {
    (
        any port { $( $(#[doc = $doc:literal])* $variant:ident = $column:literal, $at:ident, $why:literal; )* }
        links that change { $( $(#[doc = $late_doc:literal])* $late:ident = $late_column:literal, $late_at:ident, $late_why:literal; )* }
    ) => {
        /// Why a packet was dropped.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum DropWhy {
            $( $(#[doc = $doc])* $variant, )*
            $( $(#[doc = $late_doc])* $late, )*
            /// Not lost: a header for which there was no room, on its way back to its sender. No port counts it as a drop.
            Returned,
        }

        impl DropWhy {
            /// The causes of a loss, in the order of their columns: first those that any port may have.
            pub const ALL: [DropWhy; DropWhy::COUNT] = [$( DropWhy::$variant, )* $( DropWhy::$late, )*];
            /// How many causes of a loss there are.
            pub const COUNT: usize = DropWhy::COMMON + [$( DropWhy::$late ),*].len();
            /// How many of them, the first ones, any port may have.
            pub const COMMON: usize = [$( DropWhy::$variant ),*].len();

            /// Its column in the tables.
            pub const fn column(self) -> &'static str {
                match self {
                    $( DropWhy::$variant => $column, )*
                    $( DropWhy::$late => $late_column, )*
                    DropWhy::Returned => "returned",
                }
            }

            /// The place of the loss.
            pub const fn lost_at(self) -> LostAt {
                match self {
                    $( DropWhy::$variant => LostAt::$at, )*
                    $( DropWhy::$late => LostAt::$late_at, )*
                    DropWhy::Returned => LostAt::Port,
                }
            }

            /// The cause in words, behind "packets were dropped".
            pub const fn why(self) -> &'static str {
                match self {
                    $( DropWhy::$variant => $why, )*
                    $( DropWhy::$late => $late_why, )*
                    DropWhy::Returned => "to go back to their senders",
                }
            }
        }
    };
}

drop_causes! {
    any port {
        /// The queue's limit.
        Full = "drops_full", Port, "because the queue was full";
        /// The discipline's law.
        Aqm = "drops_aqm", Port, "by the discipline's law";
        /// Removed after it had been accepted, for another's sake.
        Evicted = "drops_evicted", Port, "to make room for another packet";
        /// Lost on the wire (an injected fault).
        Wire = "drops_wire", Wire, "on a wire, by an injected fault";
        /// Refused by the buffer that the ports of the switch share.
        Buffer = "drops_buffer", Port, "because the shared buffer was full";
    }
    links that change {
        /// At a port whose link is down: it waited there, was being transmitted, or came.
        Dead = "drops_dead", Port, "at a port whose link was down";
        /// On a wire as its link went down.
        Cut = "drops_cut", Wire, "on a wire whose link went down";
    }
}

impl DropWhy {
    /// The packet had left its port.
    pub fn on_wire(self) -> bool {
        self.lost_at() == LostAt::Wire
    }
}

/// The fate of an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Queued as it is.
    Pass,
    /// Queued, and marked CE if it is ECN-capable.
    Mark,
    /// Dropped.
    Drop(DropWhy),
}
