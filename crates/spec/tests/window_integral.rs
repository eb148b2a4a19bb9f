//! `cwnd_mean_bytes` is the integral of the window that the trace of its changes shows.

mod common;

use common::cases::{Load, cases};
use common::{Tables, run, set};
use proptest::prelude::*;
use serde_json::json;

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_mean_window_is_the_integral_of_its_trace(case in cases(&[Load::Kept, Load::Forever, Load::Incast])) {
        let mut document = case.document("30ms", "0s");
        set(&mut document, "probe.flow_trace", json!("change"));
        let simulation = run(&document);
        let tables = Tables::of(&simulation);
        let end = 30_000_000_000_u64;
        let (times, flows) = (tables.u64("flow_trace", "time_ps"), tables.u32("flow_trace", "flow"));
        let windows = tables.f64("flow_trace", "cwnd_bytes");
        let rows = tables.u32("flows", "id").iter().zip(tables.u64("flows", "start_ps"));
        for ((id, start), mean) in rows.zip(tables.f64("flows", "cwnd_mean_bytes")) {
            let own: Vec<(u64, f64)> =
                (0..times.len()).filter(|i| flows[*i] == *id).map(|i| (times[i], windows[i])).collect();
            prop_assert_eq!(own[0].0, *start, "the first row shows the first window");
            let until = own.iter().skip(1).map(|(at, _)| *at).chain([end]);
            let integral: f64 = own.iter().zip(until).map(|((at, cwnd), until)| cwnd * (until - at) as f64).sum();
            let want = integral / (end - start) as f64;
            prop_assert!((mean - want).abs() <= 1e-9 * want, "flow {id}: {mean} for {want}");
        }
    }
}
