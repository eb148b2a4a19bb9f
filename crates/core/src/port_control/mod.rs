//! Switches' halves of protocols with explicit feedback: one file each, and the list below.
//!
//! A controller stands at an output port beside whatever discipline queues there. It sees every packet
//! that arrives, reads and writes the protocol's header on data packets, and has a clock of its own.
//! The receiver echoes the header; the sender's half is a congestion control (`cc/`), which fills the
//! header in as a packet leaves and receives the echo. A header costs bytes on the wire and is lost with
//! its packet.
//!
//! A controller never counts or logs, and keeps no state per flow: its sums over flows are a
//! [`soft::SoftSum`], from which every claim that is not renewed fades.

pub mod soft;

use crate::packet::{Backlog, Packet};

use shallows_units::{Rate, Span, Time};

/// Facts about its port for a controller.
#[derive(Debug, Clone, Copy)]
pub struct PortView {
    /// The present.
    pub now: Time,
    /// Rate of the port.
    pub rate: Rate,
    /// The content of its queue.
    pub backlog: Backlog,
}

/// Where a controller stands.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Rate of the port.
    pub rate: Rate,
    /// Number of the switch in the network.
    pub switch: u32,
}

/// The switch's half of a protocol, at one port.
pub trait PortControl: Send {
    /// Required. Each packet that arrives, before the discipline decides about it; one that the
    /// discipline drops has been seen too. `header` is [`Feedback::None`] on packets without one and on
    /// acknowledgements, whose echo belongs to the ports of the other direction.
    fn on_arrive(&mut self, packet: &Packet, header: &mut Feedback, port: &PortView);
    /// Each packet whose transmission begins, at such a port as [`PortControl::on_depart`]'s. The backlog has the packet.
    fn on_begin(&mut self, _packet: &Packet, _header: &mut Feedback, _port: &PortView) {}
    /// Each packet whose transmission has ended, at a port whose controller asks for it by
    /// `DEPARTURES`; such a port takes two events a packet.
    fn on_depart(&mut self, _packet: &Packet, _header: &mut Feedback, _port: &PortView) {}
    /// Each acknowledgement that comes back along this port's cable, with the echoed header.
    fn on_return(&mut self, _packet: &Packet, _header: &mut Feedback, _port: &PortView) {}
    /// The controller's clock; says when it ticks next. None lets it sleep.
    fn on_tick(&mut self, _port: &PortView) -> Option<Span> {
        None
    }
    /// A packet has come while the clock slept, the first of all too, and is about to be shown. Says when
    /// the clock ticks: measurements until then cover a whole interval. None: it sleeps on.
    fn on_wake(&mut self, _port: &PortView) -> Option<Span> {
        None
    }
    /// Values for a test or a sampler at `now`, such as the rate on offer.
    fn observe(&self, _now: Time, _put: &mut dyn FnMut(&'static str, f64)) {}
}

/// Bytes that a header takes at most.
pub const MOST_BYTES: u64 = 64;

/// A protocol's header.
pub trait Header {
    /// Bytes that it takes on the wire: on the way to the receiver, or `back` as its echo; at most
    /// [`MOST_BYTES`].
    fn bytes(&self, back: bool) -> u16;
}

crate::params! {
    /// No controller. The port forwards, queues and marks, as without a protocol of its own.
    pub struct NoSettings {
    }
}

/// The list of protocols: `"name" => Variant(file)` adds one.
macro_rules! port_controls {
    ( $( $word:literal => $variant:ident($file:ident) ),* $(,)? ) => {
        $( pub mod $file; )*

        $crate::components! {
            /// A controller with its settings.
            pub enum Protocol, "port control" {
                "none" => None(NoSettings),
                $( $word => $variant($file::Settings), )*
            }
        }

        /// The header of one of the protocols.
        #[derive(Debug, Clone, Copy, Default, PartialEq)]
        #[allow(missing_docs)]
        pub enum Feedback {
            /// None.
            #[default]
            None,
            $( $variant($file::Header), )*
        }

        impl Feedback {
            /// Bytes that it takes on the wire: on the way to the receiver, or `back` as its echo.
            pub fn bytes(&self, back: bool) -> u16 {
                match self {
                    Feedback::None => 0,
                    $( Feedback::$variant(header) => header.bytes(back), )*
                }
            }
        }

        /// Any of the controllers.
        #[allow(missing_docs)]
        pub enum AnyPortControl {
            $( $variant($file::Control), )*
            /// From outside this crate.
            Custom(Box<dyn PortControl>),
        }

        impl Protocol {
            /// The controller of a port; none where there is to be none.
            pub fn build(&self, at: Place) -> Option<AnyPortControl> {
                match self {
                    Protocol::None(_) => None,
                    $( Protocol::$variant(s) => Some(AnyPortControl::$variant($file::Control::new(s, at))), )*
                }
            }

            /// It must see departures, so that its port takes two events a packet.
            pub fn departures(&self) -> bool {
                match self {
                    Protocol::None(_) => false,
                    $( Protocol::$variant(_) => $file::Control::DEPARTURES, )*
                }
            }

            /// The protocols that have a sender's half, by name.
            pub fn words() -> &'static [&'static str] {
                &[$( $word ),*]
            }
        }

        macro_rules! each {
            ($on:expr, $control:ident => $call:expr) => {
                match $on {
                    $( AnyPortControl::$variant($control) => $call, )*
                    AnyPortControl::Custom($control) => $call,
                }
            };
        }
    };
}

port_controls! {
    "rcp" => Rcp(rcp),
    "sdc" => Sdc(sdc),
    "racs" => Racs(racs),
    "d3" => D3(d3),
    "hpcc" => Hpcc(hpcc),
}

impl Default for Protocol {
    /// No controller.
    fn default() -> Self {
        Protocol::None(NoSettings {})
    }
}

impl PortControl for AnyPortControl {
    fn on_arrive(&mut self, packet: &Packet, header: &mut Feedback, port: &PortView) {
        each!(self, control => control.on_arrive(packet, header, port));
    }
    fn on_begin(&mut self, packet: &Packet, header: &mut Feedback, port: &PortView) {
        each!(self, control => control.on_begin(packet, header, port));
    }
    fn on_depart(&mut self, packet: &Packet, header: &mut Feedback, port: &PortView) {
        each!(self, control => control.on_depart(packet, header, port));
    }
    fn on_return(&mut self, packet: &Packet, header: &mut Feedback, port: &PortView) {
        each!(self, control => control.on_return(packet, header, port));
    }
    fn on_tick(&mut self, port: &PortView) -> Option<Span> {
        each!(self, control => control.on_tick(port))
    }
    fn on_wake(&mut self, port: &PortView) -> Option<Span> {
        each!(self, control => control.on_wake(port))
    }
    fn observe(&self, now: Time, put: &mut dyn FnMut(&'static str, f64)) {
        each!(self, control => control.observe(now, put));
    }
}
