//! x
use crate::bench::{run, with};
use serde_json::json;
#[test]
fn explore() {
    for (rtt_us, k, n) in [(100u64,65u64,1u64),(100,65,2),(100,65,4),(400,65,1),(400,65,2),(400,65,10),(400,52,5),(400,2,1),(400,2,2),(400,2,5),(400,10,1),(400,10,2)] {
        let ms = 300+400*rtt_us/200; let wu=200+ms/4;
        let nn=n as f64; let kk=k as f64;
        let c_rtt = 10e9*(rtt_us as f64*1e-6 + 1.2e-6+0.12e-6+0.035e-6)/12000.0;
                let w=(c_rtt+kk)/nn; let alpha=(2.0/w).sqrt();
        // exact alpha
        let (mut lo, mut hi)=(0.0f64,1.0f64);
        for _ in 0..60 { let m=(lo+hi)/2.0; if m*m*(1.0-m/4.0) < (2.0*w+1.0)/((w+1.0)*(w+1.0)) {lo=m} else {hi=m} }
        let g=1.386/(2.0*(c_rtt+kk)).sqrt()/4.0;
        let d = json!({"duration": format!("{}ms", ms), "warmup": format!("{}ms", wu),
            "topology":{"kind":"star","senders":n,"rate":"10Gbps","sender_rate":"100Gbps","delay":format!("{}us", rtt_us/4)},
            "queue":{"kind":"threshold","limit":"none","mark_at":format!("{k}pkt"),"measure":"after"},
            "transport":{"opening":"established","cc":{"kind":"dctcp","g":g,"initial_alpha":lo},"initial_ssthresh":format!("{}B",(w*1460.0*0.9) as u64)},
            "probe":{"waits":false,"flow_trace":"53us"},
            "traffic":{"x":{"kind":"bulk","from":"s*","to":"r0"}}});
        let r = run(with(d, json!({})));
        let p=|c: &str| r.port("switch->r0", c);
        let amp=0.5*(2.0*nn*(c_rtt+kk)).sqrt();
        let red: f64=r.column("flows","ecn_reductions").iter().sum();
        let al={let a=r.column("flow_trace","alpha"); let t=r.column("flow_trace","time_ps"); let v: Vec<f64>=a.iter().zip(&t).filter(|x| *x.1>wu as f64*1e9).map(|x| *x.0).collect(); vec![v.iter().sum::<f64>()/v.len() as f64]};
        let period_rtt=(w+1.0)*lo/2.0;
        let meas_s=(ms as f64-wu as f64)*1e-3;
        let reds_th = nn*meas_s/(period_rtt.max(1.0)*(c_rtt+kk)*1.2e-6);
        println!("rtt {rtt_us} K {k} N {n}: max {} (th {}) p99 {} min {} p5 {} (th {:.1}) amp {:.1} alpha {:.4?} th {:.4} ex {:.4} red {red} th {:.0} util {:.5} mean {:.2} th {:.2} sd {:.2} th {:.2}", p("max_packets"), k+n, p("p99_packets"), p("min_packets"), p("p5_packets"), kk+nn-amp, amp, &al[..al.len().min(2)], alpha, lo, reds_th, p("utilisation"), p("mean_packets"), kk+nn-amp/2.0, p("sd_packets"), amp/12f64.sqrt());
    }
}
