//! The facts that the check of an experiment finds, and the engine builds from.

use super::chosen::Chosen;
use super::lossless::Flow;
use crate::engine::timeline::Timeline;
use crate::experiment::SwitchSettings;
use crate::hosts::connections::Class;
use crate::routing::graph::Graph;
use crate::routing::ideal::Wire;
use crate::routing::table::Routing;
use crate::workload::Workload;
use shallows_units::Span;

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
    /// Lines for a reader of the results.
    pub notes: Vec<String>,
    /// Time in which a port of a switch sends its full buffer, where a timeout follows from it.
    pub drain: Span,
}
