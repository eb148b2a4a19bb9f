//! Flow control by priority: nothing is lost with the headroom that the link needs, something can be with a byte less;
//! shares go by ports; a ring stands still and a Clos never does.

mod common;
#[path = "pfc/deadlock.rs"]
mod deadlock;
#[path = "pfc/lossless.rs"]
mod lossless;
#[path = "pfc/reserve.rs"]
mod reserve;
#[path = "pfc/shares.rs"]
mod shares;
#[path = "pfc/storms.rs"]
mod storms;

use common::{Tables, faults};

fn sum(tables: &Tables, table: &str, column: &str) -> u64 {
    tables.u64(table, column).iter().filter(|value| **value != u64::MAX).sum()
}

/// The value of a row of `pauses`.
fn of(tables: &Tables, port: &str, column: &str) -> u64 {
    let row =
        tables.words("pauses", "port").iter().position(|name| *name == port).expect("a port of the table");
    tables.u64("pauses", column)[row]
}
