//! Congestion controls: one file each, and the list below.
//!
//! The transport decides *when*: it finds losses, reports congestion once a round trip, and counts
//! rounds. The algorithm decides *how much* may be in flight, and how fast it is sent.

pub mod window;

use shallows_units::{Bytes, Rate, Span, Time};
pub use window::{Window, WindowRules};

/// An acknowledgement of new data, as an algorithm sees it.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    /// Bytes newly acknowledged, cumulatively or by SACK.
    pub acked: u64,
    /// It carries ECN-Echo.
    pub ece: bool,
    /// A window of data has been acknowledged since the last such moment (RFC 8257 s.3.3 step 3).
    pub round_ended: bool,
    /// The window may grow: no recovery under way, and the window is what limits the sender.
    pub may_grow: bool,
    /// This acknowledgement's round-trip time, where it gives one.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time (RFC 6298), zero before the first sample.
    pub srtt: Span,
    /// Bytes in flight before it came.
    pub flight: u64,
    /// Bytes of the stream sent so far, each counted once.
    pub sent: u64,
}

/// Why the window should shrink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Congestion {
    /// A segment is lost and is being recovered. Once a window.
    Loss,
    /// The same, in a window that has been reduced for ECN already. RFC 3168 s.6.1.2 does not reduce it
    /// again; RFC 8257 s.3.5 does, since its own reduction may have been slight.
    LossAfterEcn,
    /// ECN-Echo. Once a window.
    Ecn,
    /// The retransmission timer expired.
    Timeout,
}

/// The flow, as an algorithm may know it when it starts.
#[derive(Debug, Clone)]
pub struct FlowInfo<'a> {
    /// Declared class.
    pub class: &'a str,
    /// Bytes the application has announced, where it has.
    pub bytes: Option<u64>,
}

/// What an algorithm is told with every call.
#[derive(Debug, Clone, Copy)]
pub struct Cx<'a> {
    /// The present.
    pub now: Time,
    /// Segment size, growth rule, bounds.
    pub rules: &'a WindowRules,
}

/// How much may be in flight, and how fast.
pub trait CongestionControl: Send {
    /// Required. Every acknowledgement of new data, before any [`CongestionControl::on_congestion`]
    /// that it causes.
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>);
    /// Required. Loss and ECN at most once a window of data each, and no ECN after a loss's.
    /// `flight` is what was outstanding in bytes.
    fn on_congestion(&mut self, why: Congestion, flight: u64, cx: &Cx<'_>);
    /// Required. Bytes that may be in flight; at least one segment.
    fn cwnd(&self) -> Bytes;
    /// Slow-start threshold in bytes, where the algorithm has one.
    fn ssthresh(&self) -> Option<f64> {
        None
    }
    /// Greatest sending rate; none lets acknowledgements clock the packets.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// The sender was idle for longer than a retransmission timeout and is about to send
    /// (RFC 5681 s.4.1).
    fn on_idle(&mut self, _cx: &Cx<'_>) {}
    /// What a sampler may record, such as `alpha`.
    fn observe(&self, _put: &mut dyn FnMut(&'static str, f64)) {}
}

/// What an algorithm's settings say beyond themselves.
pub trait CcSettings {
    /// A setting that names declared classes, and the classes, which some traffic must then declare.
    fn classes(&self) -> Option<(&'static str, &crate::params::Names)> {
        None
    }
}

/// What an algorithm needs from the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnUse {
    /// Works on loss alone unless told otherwise.
    Off,
    /// Needs each mark reported (RFC 8257 s.3.2).
    PerPacket,
}

/// The list of algorithms: `"name" => Variant(file)` adds one.
macro_rules! algorithms {
    ( $( $word:literal => $variant:ident($file:ident) ),* $(,)? ) => {
        $( pub mod $file; )*

        $crate::components! {
            /// A congestion control with its settings.
            pub enum Algorithm, "congestion control" { $( $word => $variant($file::Settings) ),* }
        }

        /// Every congestion control, and any other behind a pointer.
        #[allow(missing_docs)]
        pub enum AnyCc {
            $( $variant($file::Control), )*
            /// From outside this crate.
            Custom(Box<dyn CongestionControl>),
        }

        impl Algorithm {
            /// The control of one flow.
            pub fn start(&self, flow: &FlowInfo<'_>, cx: &Cx<'_>) -> AnyCc {
                match self { $( Algorithm::$variant(s) => AnyCc::$variant($file::Control::start(s, flow, cx)) ),* }
            }

            /// What it needs of ECN.
            pub fn ecn(&self) -> EcnUse {
                match self { $( Algorithm::$variant(_) => $file::Control::ECN ),* }
            }

            /// Classes that its settings name, which some traffic should declare.
            pub fn classes(&self) -> Option<(&'static str, &crate::params::Names)> {
                match self { $( Algorithm::$variant(s) => s.classes() ),* }
            }
        }

        macro_rules! each {
            ($on:expr, $cc:ident => $call:expr) => {
                match $on {
                    $( AnyCc::$variant($cc) => $call, )*
                    AnyCc::Custom($cc) => $call,
                }
            };
        }
    };
}

algorithms! {
    "newreno" => NewReno(newreno),
    "cubic" => Cubic(cubic),
    "dctcp" => Dctcp(dctcp),
    "xdctcp" => XDctcp(xdctcp),
}

impl CongestionControl for AnyCc {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        each!(self, cc => cc.on_ack(ack, cx));
    }
    fn on_congestion(&mut self, why: Congestion, flight: u64, cx: &Cx<'_>) {
        each!(self, cc => cc.on_congestion(why, flight, cx));
    }
    #[inline]
    fn cwnd(&self) -> Bytes {
        each!(self, cc => cc.cwnd())
    }
    fn ssthresh(&self) -> Option<f64> {
        each!(self, cc => cc.ssthresh())
    }
    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        each!(self, cc => cc.pacing_rate())
    }
    fn on_idle(&mut self, cx: &Cx<'_>) {
        each!(self, cc => cc.on_idle(cx));
    }
    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        each!(self, cc => cc.observe(put));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_fits_two_cache_lines() {
        assert!(size_of::<AnyCc>() <= 128, "{}", size_of::<AnyCc>());
    }
}
