//! `cwnd_mean_bytes` is the integral of the window that the trace of its changes shows. A control without a window has neither.

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
            // One profile bounds every window.
            if ["dcqcn", "timely"].contains(&case.cc) && case.profile != "ns2" {
                prop_assert!(mean.is_nan() && own.iter().all(|(_, cwnd)| cwnd.is_nan()), "a rate has no window");
                continue;
            }
            let until = own.iter().skip(1).map(|(at, _)| *at).chain([end]);
            let integral: f64 = own.iter().zip(until).map(|((at, cwnd), until)| cwnd * (until - at) as f64).sum();
            let want = integral / (end - start) as f64;
            prop_assert!((mean - want).abs() <= 1e-9 * want, "flow {id}: {mean} for {want}");
        }
    }
}

/// Rates have no window, over queue pairs, NDP and ExpressPass; a window over a rate is one.
#[test]
fn a_rate_has_no_window_unless_one_bounds_it() {
    let windows = |transport: serde_json::Value| {
        let document = json!({
            "duration": "2ms",
            "topology": {"kind": "star", "senders": 2, "delay": "2us"},
            "queue": match transport["profile"].as_str() {
                Some("ndp") => "trimming",
                Some("expresspass") => "credit",
                _ => "ramp",
            },
            "transport": transport,
            "traffic": {"load": {"kind": "bulk", "from": "s*", "to": "r0"}},
            "probe": {"flow_trace": "100us"},
        });
        let tables = Tables::of(&run(&document));
        let columns = [("flows", "cwnd_bytes"), ("flows", "cwnd_mean_bytes"), ("flow_trace", "cwnd_bytes")];
        let known = columns.map(|(table, column)| {
            let values = tables.f64(table, column);
            assert!(!values.is_empty());
            let known = values.iter().filter(|value| !value.is_nan()).count();
            assert!(known == 0 || known == values.len(), "{column}: {values:?}");
            known > 0
        });
        assert!(known.iter().all(|each| *each == known[0]), "{known:?}");
        known[0]
    };
    let roce = |cc: serde_json::Value| json!({"profile": "roce", "cc": cc});
    for cc in ["dcqcn", "timely", "line-rate"] {
        assert!(!windows(roce(json!(cc))), "{cc}");
        assert!(windows(roce(json!({"kind": cc, "window_rtt": "20us"}))), "{cc} with a window");
    }
    for profile in ["ndp", "expresspass"] {
        assert!(!windows(json!({"profile": profile, "cc": "line-rate"})), "{profile}");
    }
    assert!(windows(roce(json!("swift"))) && windows(json!({"cc": "newreno"})));
}
