//! The host of a packet script from its `[transport]` table.

use super::table;
use serde_json::{Map, Value};
use shallows_core::drill::Host;
use shallows_core::params::{Code, Fault, Faults, Table};
use shallows_core::transport::Transport;

/// A host with the transport of `document`, a JSON table as below `transport` in a file; its peer opens the connection
/// (`passive`) or the host itself.
pub fn drill(document: &str, passive: bool) -> Result<Host, Vec<Fault>> {
    let map: Map<String, Value> = table(document)?;
    let mut faults = Faults::default();
    let transport = Transport::read(&mut Table::new("transport", &map, &mut faults), &map);
    if let Some(other) = transport.as_ref().filter(|transport| !transport.is_tcp()) {
        let rule = Code::Unsupported.rule("must be one of TCP's: a packet script speaks TCP");
        faults.add("transport.profile", rule, &other.profile.into());
    }
    match transport {
        Some(transport) if faults.0.is_empty() => Ok(Host::new(&transport, passive)),
        _ => Err(faults.into_list()),
    }
}
