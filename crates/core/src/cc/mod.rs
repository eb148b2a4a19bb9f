//! Congestion controls: one file each, and the list below.
//!
//! The transport decides *when*: it finds losses, reports congestion once a round trip, and counts
//! rounds. The algorithm decides *how much* may be in flight, and how fast it is sent.

mod facts;
pub mod parts;

use crate::params::Beyond;
use crate::port_control::Feedback;
pub use facts::{
    Ack, Congestion, Cx, FlowInfo, Kind, LostPacket, MessageInfo, Outgoing, RateSample, Transmit, Trim,
};
pub use parts::path::PathInfo;
pub use parts::rate_paced::RatePaced;
pub use parts::window::{Window, WindowRules};
use shallows_units::{Bytes, Rate, Span, Time};

/// How much may be in flight, and how fast.
pub trait CongestionControl: Send {
    /// Required. Every acknowledgement of new data, before any [`CongestionControl::on_congestion`]
    /// that it causes.
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>);
    /// The growth of an acknowledgement that reduces first, where the transport's `ece_growth` says so. Its
    /// [`CongestionControl::on_ack`] did not let the window grow.
    fn grow(&mut self, _ack: &Ack, _cx: &Cx<'_>) {}
    /// Required. Loss and ECN at most once a window of data each, and no ECN after a loss's.
    /// `flight` is the outstanding data in bytes.
    fn on_congestion(&mut self, why: Congestion, flight: u64, cx: &Cx<'_>);
    /// Required. Bytes that may be in flight; at least one segment.
    fn cwnd(&self) -> Bytes;
    /// Slow-start threshold in bytes, where the algorithm has one.
    fn ssthresh(&self) -> Option<f64> {
        None
    }
    /// Greatest sending rate, counted in payload; none lets acknowledgements clock the packets.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// Careful resume sets the window, and the threshold where it says so (RFC 9959). Only for algorithms whose settings say that they
    /// can resume ([`CcSettings::resumes`]).
    fn set_window(&mut self, _cwnd: f64, _ssthresh: Option<f64>) {}
    /// The sender was idle for longer than a retransmission timeout and is about to send (RFC 5681 s.4.1). `timeouts`
    /// of them have passed, of which the last may not be whole.
    fn on_idle(&mut self, _timeouts: u32, _cx: &Cx<'_>) {}
    /// All data have been acknowledged, and new ones leave now; the last ones left at `last_sent` (Linux's CA_EVENT_TX_START).
    fn on_transmit_start(&mut self, _last_sent: Time, _cx: &Cx<'_>) {}
    /// The handshake lost so many SYNs (the transport's `lost_syns`) that the first window is one segment
    /// (RFC 5681 s.3.1). Called once, before any data leave.
    fn on_lost_syn(&mut self, _cx: &Cx<'_>) {}
    /// A congestion notification packet has come: over RoCEv2, where acknowledgements report no marks.
    fn on_cnp(&mut self, cx: &Cx<'_>) {
        self.on_congestion(Congestion::Ecn, 0, cx);
    }
    /// Over UEC, a packet came without its payload. Only for algorithms whose settings say so ([`CcSettings::takes_trims`]); the next
    /// one too.
    fn on_trim(&mut self, _trim: &Trim, _cx: &Cx<'_>) {}
    /// Over UEC, a packet of so many bytes is taken for lost.
    fn on_lost_packet(&mut self, _bytes: u64, _cx: &Cx<'_>) {}
    /// Over UEC, a probe has measured the round trip of a full packet over the empty path.
    fn on_base_rtt(&mut self, _round_trip: Span, _cx: &Cx<'_>) {}
    /// The base round trip and the delay beyond it that it aims at, where it works by delay over UEC's transport.
    fn delays(&self) -> Option<(Span, Span)> {
        None
    }
    /// Over RoCEv2, before a packet leaves and before any answer: a card's clock goes on by itself, and so may a rate.
    /// `sent` are the bytes of the stream sent so far, each counted once.
    fn keep_time(&mut self, _sent: u64, _cx: &Cx<'_>) {}
    /// A packet leaves; returns its header for the switches. Only for algorithms whose settings
    /// name a protocol ([`CcSettings::protocol`]); the next three too.
    fn on_send(&mut self, _packet: &Outgoing, _cx: &Cx<'_>) -> Feedback {
        Feedback::None
    }
    /// The receiver's echo of a header has come, with whatever packet: SYN+ACK, acknowledgement of new
    /// data (then before [`CongestionControl::on_ack`]) or not.
    fn on_feedback(&mut self, _header: &Feedback, _srtt: Span, _cx: &Cx<'_>) {}
    /// Whether a mark reported at `now` makes the window shrink. If not, the transport counts no reduction, and asks again
    /// at the next mark; else it asks after a round trip (RFC 3168 s.6.1.2).
    fn answers_marks(&self, _now: Time) -> bool {
        true
    }
    /// No data may leave until an echo says otherwise.
    fn paused(&self) -> bool {
        false
    }
    /// When a header must leave, if need be in a packet of its own, while data remains. Each
    /// [`CongestionControl::on_send`] may move it.
    fn request_at(&self) -> Time {
        Time::MAX
    }
    /// The application is about to write a message: once for each, before the first of its bytes is sent,
    /// and before the SYN where the connection is opened for it.
    fn on_message(&mut self, _message: &MessageInfo, _cx: &Cx<'_>) {}
    /// A packet is about to leave. This and the next four only where the settings ask for samples ([`CcSettings::samples`]).
    fn on_transmit(&mut self, _packet: &Transmit, _cx: &Cx<'_>) {}
    /// A packet is found lost, after the [`CongestionControl::on_congestion`] that it may cause.
    fn on_packet_lost(&mut self, _packet: &LostPacket, _cx: &Cx<'_>) {}
    /// The retransmission timer expired, `on_packet_lost` has had its losses, and so many bytes are still in flight.
    fn on_timeout(&mut self, _in_flight: u64, _cx: &Cx<'_>) {}
    /// The repair under way was needless: the original has been delivered.
    fn on_needless_repair(&mut self, _cx: &Cx<'_>) {}
    /// Every acknowledgement at its end; returns whether the control limits the sender of itself, so that samples of packets
    /// that leave now tell as little as those that the application limits.
    fn on_sample(&mut self, _sample: &RateSample, _cx: &Cx<'_>) -> bool {
        false
    }
    /// Values that a sampler may record, such as `alpha`.
    fn observe(&self, _put: &mut dyn FnMut(&'static str, f64)) {}
}

/// Makes the controls of an algorithm from outside this crate.
pub trait MakeControl: Send + Sync {
    /// The connection that is about to start has this running number in the run.
    fn announce(&self, serial: u32);
    /// Whether its controls may work in any thread, each in one at a time. Python's hold the interpreter's lock.
    fn works_in_any_thread(&self) -> bool {
        false
    }
    /// Whether its controls get samples of the delivery rate.
    fn samples(&self) -> bool {
        false
    }
    /// The control of that connection.
    fn start(&self, flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Box<dyn CongestionControl>;
}

impl Beyond for dyn MakeControl {}

/// Room for switches in a header to which each of them adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Most switches that a path may have.
    pub most: u64,
    /// The setting that would say how much room there is, where the path at a connection's opening decides.
    pub sized_by_path: Option<&'static str>,
}

/// Consequences of an algorithm's settings.
pub trait CcSettings {
    /// A setting that names declared classes, and the classes, which some traffic must then declare.
    fn classes(&self) -> Option<(&'static str, &crate::params::Names)> {
        None
    }
    /// The protocol in `port_control/` whose sender's half this is.
    fn protocol(&self) -> Option<&'static str> {
        None
    }
    /// Whether its pacing rate is that of the wire, headers included, and not of the payload.
    fn paces_wire(&self) -> bool {
        self.protocol().is_some()
    }
    /// Whether its window may more than double in a round trip, so that the estimate of memory has no bound for it.
    fn opens_freely(&self) -> bool {
        false
    }
    /// Most bytes that congestion avoidance adds to a `window` within a round trip, where acknowledgements let it grow and it
    /// knows a bound.
    fn round_gain(&self, _window: f64, _mss: f64) -> Option<f64> {
        None
    }
    /// Whether it can begin from a saved window (RFC 9959), by [`CongestionControl::set_window`].
    fn resumes(&self) -> bool {
        false
    }
    /// Whether it gets samples of the delivery rate, and keeps its own window while losses are repaired.
    fn samples(&self) -> bool {
        false
    }
    /// The rate that it keeps whatever happens, if it does.
    fn steady_rate(&self) -> Option<Rate> {
        None
    }
    /// Whether it sends at the rate of its link until a notification slows it down.
    fn begins_at_line_rate(&self) -> bool {
        false
    }
    /// Time between two changes of its rate, where a clock of its own makes them.
    fn changes_every(&self) -> Option<Span> {
        None
    }
    /// Whether it slows down after marks, losses or notifications.
    fn reacts(&self) -> bool {
        true
    }
    /// Room for switches in its header, where it has one that they add to.
    fn header_room(&self) -> Option<Room> {
        None
    }
    /// Whether it compares what successive packets met at each hop, so that they must keep to a path.
    fn compares_hops(&self) -> bool {
        false
    }
    /// Its settings that follow from the path at a connection's opening.
    fn path_settings(&self) -> Vec<&'static str> {
        vec![]
    }
    /// Whether it was made for queue pairs: it gets notifications, or its header comes back with their acknowledgements.
    fn rdma(&self) -> bool {
        false
    }
    /// Whether it works without acknowledgements: by the clock, or by notifications.
    fn needs_no_acks(&self) -> bool {
        false
    }
    /// Whether it learns of each packet that was trimmed or lost, as UEC's transport tells it.
    fn takes_trims(&self) -> bool {
        false
    }
    /// Checks of settings that mean nothing over RoCEv2; they stand at `path`.
    fn check_over_roce(&self, _path: &str, _faults: &mut crate::params::Faults) {}
    /// Checks across the settings, which stand at `path`.
    fn check(&self, _path: &str, _faults: &mut crate::params::Faults) {}
}

/// The needs of an algorithm at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnUse {
    /// Works on loss alone unless a setting asks for ECN.
    Off,
    /// Needs each mark reported (RFC 8257 s.3.2).
    PerPacket,
    /// Needs the marks counted (AccECN, RFC 9768), and sends ECT(1) (RFC 9331 s.4.1).
    Counted,
}

/// The list of algorithms: `"name" => Variant(file)` adds one; `on "linux"` behind it says that only that backend
/// runs it.
macro_rules! algorithms {
    ( $( $word:literal => $variant:ident($file:ident) $(on $backend:literal)? ),* $(,)? ) => {
        $( pub mod $file; )*

        $crate::components! {
            /// A congestion control with its settings.
            pub enum Algorithm, "congestion control", open Cc(dyn MakeControl) { $( $word => $variant($file::Settings) $(on $backend)? ),* }
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
            #[allow(unreachable_code)] // a component of another backend has no instance
            pub fn start(&self, flow: &FlowInfo<'_>, cx: &Cx<'_>) -> AnyCc {
                match self {
                    $( Algorithm::$variant(s) => AnyCc::$variant($file::Control::start(s, flow, cx)), )*
                    Algorithm::Custom(custom) => {
                        let made = custom.made.as_ref().expect("a run is built with the makers of its controls");
                        AnyCc::Custom(made.start(flow, cx))
                    }
                }
            }

            /// Its need of ECN.
            pub fn ecn(&self) -> EcnUse {
                match self {
                    $( Algorithm::$variant(_) => $file::Control::ECN, )*
                    Algorithm::Custom(custom) if custom.declared().ecn => EcnUse::PerPacket,
                    Algorithm::Custom(_) => EcnUse::Off,
                }
            }

            /// The switches' protocol that it takes part in.
            pub fn protocol(&self) -> Option<&'static str> {
                match self {
                    $( Algorithm::$variant(s) => s.protocol(), )*
                    Algorithm::Custom(_) => None,
                }
            }

            /// Whether it gets samples of the delivery rate.
            pub fn samples(&self) -> bool {
                match self {
                    $( Algorithm::$variant(s) => s.samples(), )*
                    Algorithm::Custom(custom) => custom.made.as_ref().is_some_and(|made| made.samples()),
                }
            }

            /// Whether its pacing rate is that of the wire, headers included.
            pub fn paces_wire(&self) -> bool {
                match self {
                    $( Algorithm::$variant(s) => s.paces_wire(), )*
                    Algorithm::Custom(_) => false,
                }
            }

            /// The rate that it keeps whatever happens, if it does.
            pub fn steady_rate(&self) -> Option<Rate> {
                match self {
                    $( Algorithm::$variant(s) => s.steady_rate(), )*
                    Algorithm::Custom(_) => None,
                }
            }

            /// Whether it sends at the rate of its link until a notification slows it down.
            pub fn begins_at_line_rate(&self) -> bool {
                match self {
                    $( Algorithm::$variant(s) => s.begins_at_line_rate(), )*
                    Algorithm::Custom(_) => false,
                }
            }

            /// Time between two changes of its rate, where a clock of its own makes them.
            pub fn changes_every(&self) -> Option<Span> {
                match self {
                    $( Algorithm::$variant(s) => s.changes_every(), )*
                    Algorithm::Custom(_) => None,
                }
            }

            /// Whether it slows down after marks, losses or notifications.
            pub fn reacts(&self) -> bool {
                match self {
                    $( Algorithm::$variant(s) => s.reacts(), )*
                    Algorithm::Custom(_) => true,
                }
            }

            /// Whether its window may more than double in a round trip.
            pub fn opens_freely(&self) -> bool {
                match self {
                    $( Algorithm::$variant(s) => s.opens_freely(), )*
                    Algorithm::Custom(_) => false,
                }
            }

            /// Most bytes that congestion avoidance adds to a `window` within a round trip, where it knows a bound.
            pub fn round_gain(&self, window: f64, mss: f64) -> Option<f64> {
                match self {
                    $( Algorithm::$variant(s) => s.round_gain(window, mss), )*
                    Algorithm::Custom(_) => None,
                }
            }

            /// Whether it can begin from a saved window.
            pub fn resumes(&self) -> bool {
                match self {
                    $( Algorithm::$variant(s) => s.resumes(), )*
                    Algorithm::Custom(_) => false,
                }
            }

            /// Whether it runs over RoCEv2: it was made for queue pairs, or needs neither marks in acknowledgements nor a header.
            pub fn runs_over_roce(&self) -> bool {
                let made_for_it = match self {
                    $( Algorithm::$variant(s) => s.rdma(), )*
                    Algorithm::Custom(_) => false,
                };
                made_for_it || self.ecn() == EcnUse::Off && !self.samples() && self.protocol().is_none() && self.backend().is_none()
            }

            /// Whether it runs over UEC's transport, which reports each packet that was trimmed or lost.
            pub fn runs_over_uec(&self) -> bool {
                match self {
                    $( Algorithm::$variant(s) => s.takes_trims(), )*
                    Algorithm::Custom(_) => false,
                }
            }

            /// Whether it runs over READ, whose data nobody acknowledges.
            pub fn runs_over_read(&self) -> bool {
                match self {
                    $( Algorithm::$variant(s) => s.needs_no_acks(), )*
                    Algorithm::Custom(_) => false,
                }
            }

            /// Room for switches in its header, where it has one that they add to.
            pub fn header_room(&self) -> Option<Room> {
                match self {
                    $( Algorithm::$variant(s) => s.header_room(), )*
                    Algorithm::Custom(_) => None,
                }
            }

            /// Whether it compares what successive packets met at each hop, so that they must keep to a path.
            pub fn compares_hops(&self) -> bool {
                match self {
                    $( Algorithm::$variant(s) => s.compares_hops(), )*
                    Algorithm::Custom(_) => false,
                }
            }

            /// Its settings that follow from the path at a connection's opening.
            pub fn path_settings(&self) -> Vec<&'static str> {
                match self {
                    $( Algorithm::$variant(s) => s.path_settings(), )*
                    Algorithm::Custom(_) => vec![],
                }
            }

            /// Checks across its settings, which stand at `path`.
            pub fn check(&self, path: &str, faults: &mut crate::params::Faults) {
                match self {
                    $( Algorithm::$variant(s) => s.check(path, faults), )*
                    Algorithm::Custom(_) => {}
                }
            }

            /// Checks of settings that mean nothing over RoCEv2; they stand at `path`.
            pub fn check_over_roce(&self, path: &str, faults: &mut crate::params::Faults) {
                match self {
                    $( Algorithm::$variant(s) => s.check_over_roce(path, faults), )*
                    Algorithm::Custom(_) => {}
                }
            }

            /// Classes that its settings name, which some traffic should declare.
            pub fn classes(&self) -> Option<(&'static str, &crate::params::Names)> {
                match self {
                    $( Algorithm::$variant(s) => s.classes(), )*
                    Algorithm::Custom(_) => None,
                }
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
    "cbr" => Cbr(cbr),
    "cubic" => Cubic(cubic),
    "dctcp" => Dctcp(dctcp),
    "xdctcp" => XDctcp(xdctcp),
    "d2tcp" => D2tcp(d2tcp),
    "aimd" => Aimd(aimd),
    "dt-cwa" => DtCwa(dt_cwa),
    "rcp" => Rcp(rcp),
    "sdc" => Sdc(sdc),
    "racs" => Racs(racs),
    "d3" => D3(d3),
    "prague" => Prague(prague),
    "dcqcn" => Dcqcn(dcqcn),
    "timely" => Timely(timely),
    "hpcc" => Hpcc(hpcc),
    "swift" => Swift(swift),
    "copa" => Copa(copa),
    "bbr1" => Bbr1(bbr1),
    "bbr3" => Bbr3(bbr3),
    "pfabric" => PFabric(pfabric),
    "nscc" => Nscc(nscc),
    "line-rate" => LineRate(line_rate),
    "kernel" => Kernel(kernel) on "linux",
}

impl CongestionControl for AnyCc {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        each!(self, cc => cc.on_ack(ack, cx));
    }
    fn grow(&mut self, ack: &Ack, cx: &Cx<'_>) {
        each!(self, cc => cc.grow(ack, cx));
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
    fn set_window(&mut self, cwnd: f64, ssthresh: Option<f64>) {
        each!(self, cc => cc.set_window(cwnd, ssthresh));
    }
    fn on_idle(&mut self, timeouts: u32, cx: &Cx<'_>) {
        each!(self, cc => cc.on_idle(timeouts, cx));
    }
    fn on_transmit_start(&mut self, last_sent: Time, cx: &Cx<'_>) {
        each!(self, cc => cc.on_transmit_start(last_sent, cx));
    }
    fn on_lost_syn(&mut self, cx: &Cx<'_>) {
        each!(self, cc => cc.on_lost_syn(cx));
    }
    fn on_send(&mut self, packet: &Outgoing, cx: &Cx<'_>) -> Feedback {
        each!(self, cc => cc.on_send(packet, cx))
    }
    fn on_feedback(&mut self, header: &Feedback, srtt: Span, cx: &Cx<'_>) {
        each!(self, cc => cc.on_feedback(header, srtt, cx));
    }
    fn answers_marks(&self, now: Time) -> bool {
        each!(self, cc => cc.answers_marks(now))
    }
    fn paused(&self) -> bool {
        each!(self, cc => cc.paused())
    }
    fn request_at(&self) -> Time {
        each!(self, cc => cc.request_at())
    }
    fn on_message(&mut self, message: &MessageInfo, cx: &Cx<'_>) {
        each!(self, cc => cc.on_message(message, cx));
    }
    fn on_trim(&mut self, trim: &Trim, cx: &Cx<'_>) {
        each!(self, cc => cc.on_trim(trim, cx));
    }
    fn on_base_rtt(&mut self, round_trip: Span, cx: &Cx<'_>) {
        each!(self, cc => cc.on_base_rtt(round_trip, cx));
    }
    fn on_lost_packet(&mut self, bytes: u64, cx: &Cx<'_>) {
        each!(self, cc => cc.on_lost_packet(bytes, cx));
    }

    fn delays(&self) -> Option<(Span, Span)> {
        each!(self, cc => cc.delays())
    }
    fn on_cnp(&mut self, cx: &Cx<'_>) {
        each!(self, cc => cc.on_cnp(cx));
    }
    fn keep_time(&mut self, sent: u64, cx: &Cx<'_>) {
        each!(self, cc => cc.keep_time(sent, cx));
    }
    fn on_transmit(&mut self, packet: &Transmit, cx: &Cx<'_>) {
        each!(self, cc => cc.on_transmit(packet, cx));
    }
    fn on_packet_lost(&mut self, packet: &LostPacket, cx: &Cx<'_>) {
        each!(self, cc => cc.on_packet_lost(packet, cx));
    }
    fn on_timeout(&mut self, in_flight: u64, cx: &Cx<'_>) {
        each!(self, cc => cc.on_timeout(in_flight, cx));
    }
    fn on_needless_repair(&mut self, cx: &Cx<'_>) {
        each!(self, cc => cc.on_needless_repair(cx));
    }
    fn on_sample(&mut self, sample: &RateSample, cx: &Cx<'_>) -> bool {
        each!(self, cc => cc.on_sample(sample, cx))
    }
    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        each!(self, cc => cc.observe(put));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::parts::window::tests::{ack, cx, rules};
    use std::sync::{Arc, Mutex};

    /// A control with what is required alone: its congestions, and a window of 7 bytes.
    #[derive(Default)]
    struct Plain(Vec<Congestion>);

    impl CongestionControl for Plain {
        fn on_ack(&mut self, _ack: &Ack, _cx: &Cx<'_>) {}
        fn on_congestion(&mut self, why: Congestion, _flight: u64, _cx: &Cx<'_>) {
            self.0.push(why);
        }
        fn cwnd(&self) -> Bytes {
            Bytes(7)
        }
    }

    fn sample() -> RateSample {
        RateSample::default()
    }

    const OUTGOING: Outgoing = Outgoing { kind: Kind::Data, again: false, remaining: 3, srtt: Span::us(9) };

    /// A control that says no more of itself sends by its window alone, as acknowledgements come, reacts to marks, and asks nothing of the
    /// transport. A notification is congestion by ECN (RoCEv2 annex A17).
    #[test]
    fn a_control_without_more_has_a_window_alone() {
        let (rules, mut plain) = (rules(), Plain::default());
        let cx = cx(&rules);
        assert_eq!((plain.ssthresh(), plain.pacing_rate(), plain.delays()), (None, None, None));
        assert_eq!((plain.answers_marks(Time::ZERO), plain.paused()), (true, false));
        assert_eq!(plain.request_at(), Time::MAX);
        assert!(matches!(plain.on_send(&OUTGOING, &cx), Feedback::None));
        assert!(!plain.on_sample(&sample(), &cx));
        let mut seen = 0;
        plain.observe(&mut |_, _| seen += 1);
        plain.on_cnp(&cx);
        assert_eq!((plain.0, seen), (vec![Congestion::Ecn], 0));
    }

    struct Maker;

    impl MakeControl for Maker {
        fn announce(&self, _serial: u32) {}
        fn start(&self, _flow: &FlowInfo<'_>, _cx: &Cx<'_>) -> Box<dyn CongestionControl> {
            Box::new(Plain::default())
        }
    }

    struct Silent;

    impl CcSettings for Silent {}

    struct Talks;

    impl CcSettings for Talks {
        fn protocol(&self) -> Option<&'static str> {
            Some("rcp")
        }
    }

    /// Settings that say nothing are those of a control over TCP that reacts; one whose headers switches read paces the wire.
    #[test]
    fn settings_without_more_are_a_window_controls() {
        assert!(!Maker.works_in_any_thread() && !Maker.samples());
        assert!(Silent.classes().is_none() && Silent.protocol().is_none() && Silent.steady_rate().is_none());
        assert!(Silent.round_gain(1.0, 1.0).is_none() && Silent.changes_every().is_none());
        assert!(Silent.header_room().is_none() && Silent.path_settings().is_empty());
        assert!(Silent.reacts());
        let yes = [
            Silent.paces_wire(),
            Silent.opens_freely(),
            Silent.resumes(),
            Silent.samples(),
            Silent.begins_at_line_rate(),
            Silent.compares_hops(),
            Silent.rdma(),
            Silent.needs_no_acks(),
            Silent.takes_trims(),
        ];
        assert_eq!(yes, [false; 9]);
        assert!(Talks.paces_wire());
    }

    /// A control that notes each call, and answers otherwise than one with what is required alone.
    struct Spy(Arc<Mutex<Vec<&'static str>>>);

    impl Spy {
        fn note(&self, call: &'static str) {
            self.0.lock().expect("one thread").push(call);
        }
    }

    impl CongestionControl for Spy {
        fn on_ack(&mut self, _ack: &Ack, _cx: &Cx<'_>) {
            self.note("on_ack");
        }
        fn grow(&mut self, _ack: &Ack, _cx: &Cx<'_>) {
            self.note("grow");
        }
        fn on_congestion(&mut self, _why: Congestion, _flight: u64, _cx: &Cx<'_>) {
            self.note("on_congestion");
        }
        fn cwnd(&self) -> Bytes {
            Bytes(7)
        }
        fn ssthresh(&self) -> Option<f64> {
            Some(8.5)
        }
        fn pacing_rate(&self) -> Option<Rate> {
            Some(Rate::bps(9))
        }
        fn set_window(&mut self, _cwnd: f64, _ssthresh: Option<f64>) {
            self.note("set_window");
        }
        fn on_idle(&mut self, _timeouts: u32, _cx: &Cx<'_>) {
            self.note("on_idle");
        }
        fn on_transmit_start(&mut self, _last_sent: Time, _cx: &Cx<'_>) {
            self.note("on_transmit_start");
        }
        fn on_lost_syn(&mut self, _cx: &Cx<'_>) {
            self.note("on_lost_syn");
        }
        fn on_cnp(&mut self, _cx: &Cx<'_>) {
            self.note("on_cnp");
        }
        fn on_trim(&mut self, _trim: &Trim, _cx: &Cx<'_>) {
            self.note("on_trim");
        }
        fn on_lost_packet(&mut self, _bytes: u64, _cx: &Cx<'_>) {
            self.note("on_lost_packet");
        }
        fn on_base_rtt(&mut self, _round_trip: Span, _cx: &Cx<'_>) {
            self.note("on_base_rtt");
        }
        fn delays(&self) -> Option<(Span, Span)> {
            Some((Span::us(1), Span::us(2)))
        }
        fn keep_time(&mut self, _sent: u64, _cx: &Cx<'_>) {
            self.note("keep_time");
        }
        fn on_send(&mut self, _packet: &Outgoing, _cx: &Cx<'_>) -> Feedback {
            self.note("on_send");
            Feedback::None
        }
        fn on_feedback(&mut self, _header: &Feedback, _srtt: Span, _cx: &Cx<'_>) {
            self.note("on_feedback");
        }
        fn answers_marks(&self, now: Time) -> bool {
            now > Time::ZERO
        }
        fn paused(&self) -> bool {
            self.0.lock().expect("one thread").is_empty()
        }
        fn request_at(&self) -> Time {
            Time::ZERO + Span::us(3)
        }
        fn on_message(&mut self, _message: &MessageInfo, _cx: &Cx<'_>) {
            self.note("on_message");
        }
        fn on_transmit(&mut self, _packet: &Transmit, _cx: &Cx<'_>) {
            self.note("on_transmit");
        }
        fn on_packet_lost(&mut self, _packet: &LostPacket, _cx: &Cx<'_>) {
            self.note("on_packet_lost");
        }
        fn on_timeout(&mut self, _in_flight: u64, _cx: &Cx<'_>) {
            self.note("on_timeout");
        }
        fn on_needless_repair(&mut self, _cx: &Cx<'_>) {
            self.note("on_needless_repair");
        }
        fn on_sample(&mut self, sample: &RateSample, _cx: &Cx<'_>) -> bool {
            self.note("on_sample");
            sample.ece
        }
        fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
            put("seen", 4.0);
        }
    }

    /// Each question and each piece of news reaches the control behind the common form, once, and its answer comes back.
    #[test]
    fn every_call_reaches_the_control() {
        let (rules, calls) = (rules(), Arc::new(Mutex::new(vec![])));
        let cx = cx(&rules);
        let mut any = AnyCc::Custom(Box::new(Spy(Arc::clone(&calls))));
        assert!(any.paused());
        any.on_ack(&ack(1), &cx);
        assert!(!any.paused());
        any.grow(&ack(1), &cx);
        any.on_congestion(Congestion::Loss, 1, &cx);
        any.set_window(1.0, None);
        any.on_idle(1, &cx);
        any.on_transmit_start(Time::ZERO, &cx);
        any.on_lost_syn(&cx);
        any.on_cnp(&cx);
        any.on_trim(&Trim { bytes: 1, sample: None, flight: 0, counts: true }, &cx);
        any.on_lost_packet(1, &cx);
        any.on_base_rtt(Span::us(1), &cx);
        any.keep_time(1, &cx);
        any.on_send(&OUTGOING, &cx);
        any.on_feedback(&Feedback::None, Span::us(1), &cx);
        any.on_message(&MessageInfo { end: 1, due: None }, &cx);
        any.on_transmit(&Transmit { in_flight: 1, app_limited: false, srtt: Span::us(1) }, &cx);
        let lost = LostPacket {
            bytes: 1,
            lost: 1,
            in_flight: 1,
            app_limited: false,
            begins_range: true,
            delivered: 1,
        };
        any.on_packet_lost(&lost, &cx);
        any.on_timeout(1, &cx);
        any.on_needless_repair(&cx);
        assert!(!any.on_sample(&sample(), &cx) && any.on_sample(&RateSample { ece: true, ..sample() }, &cx));
        let all = [
            "on_ack",
            "grow",
            "on_congestion",
            "set_window",
            "on_idle",
            "on_transmit_start",
            "on_lost_syn",
            "on_cnp",
            "on_trim",
            "on_lost_packet",
            "on_base_rtt",
            "keep_time",
            "on_send",
            "on_feedback",
            "on_message",
            "on_transmit",
            "on_packet_lost",
            "on_timeout",
            "on_needless_repair",
            "on_sample",
            "on_sample",
        ];
        assert_eq!(*calls.lock().expect("one thread"), all);
        assert_eq!(
            (any.cwnd(), any.ssthresh(), any.pacing_rate()),
            (Bytes(7), Some(8.5), Some(Rate::bps(9)))
        );
        assert_eq!(any.delays(), Some((Span::us(1), Span::us(2))));
        assert_eq!([Time::ZERO, Time::MAX].map(|now| any.answers_marks(now)), [false, true]);
        assert_eq!(any.request_at(), Time::ZERO + Span::us(3));
        let mut seen = vec![];
        any.observe(&mut |name, value| seen.push((name, value)));
        assert_eq!(seen, [("seen", 4.0)]);
    }

    #[test]
    fn a_control_fits_two_cache_lines() {
        assert!(size_of::<AnyCc>() <= 128, "{}", size_of::<AnyCc>());
    }
}
