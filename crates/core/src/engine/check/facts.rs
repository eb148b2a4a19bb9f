//! The facts that the check of an experiment finds, and the engine builds from.

use super::lossless::Flow;
use crate::engine::timeline::Timeline;
use crate::experiment::{PortSettings, SwitchSettings};
use crate::hosts::connections::Class;
use crate::port_control::Protocol;
use crate::queue::Queue;
use crate::routing::graph::Graph;
use crate::routing::ideal::Wire;
use crate::routing::table::Routing;
use crate::workload::Workload;

/// An experiment without faults, and the facts found on the way.
pub struct Checked<'a> {
    /// Its network, with the rates and delays of its ports.
    pub graph: Graph,
    /// Tables to the hosts that its loads name.
    pub routing: Routing,
    /// By link: its port's settings.
    pub chosen: Vec<Chosen<'a>>,
    /// Classes of connections.
    pub classes: Vec<Class>,
    /// By load: its class.
    pub class_of: Vec<u16>,
    /// Shared memories with their ports.
    pub buffers: Vec<(SwitchSettings, Vec<u32>)>,
    /// Ports that the traces cover.
    pub traced: Vec<u32>,
    /// Ports whose packets are recorded.
    pub tapped: Vec<u32>,
    /// By link: its port's part in flow control. Empty without lossless priorities.
    pub flow_control: Vec<Option<Flow>>,
    /// Changes of links.
    pub timeline: Timeline,
    /// By link: the best rate and delay of the run.
    pub best: Vec<Wire>,
    /// The sources of data.
    pub loads: Vec<Box<dyn Workload>>,
    /// By load: whether packets of one queue pair may take several paths.
    pub parted: Vec<bool>,
}

/// A port's parts: its own settings, its discipline's, and its controller's, which hosts have none of.
pub struct Chosen<'a> {
    /// The port's own.
    pub settings: PortSettings,
    /// Its discipline's.
    pub queue: &'a Queue,
    /// Its controller's.
    pub control: Option<&'a Protocol>,
}

impl Chosen<'_> {
    /// Its controller's protocol.
    pub fn kind(&self) -> &str {
        self.control.map_or("none", Protocol::kind)
    }
}
