//! The backend of ASTRA-sim beside closed forms, compiled against a stand-in for ASTRA-sim's header.

use std::path::Path;
use std::process::Command;

/// A ring of four hosts, joined without switches: 1 byte/ns and 500 ns. 62 bytes of headers a packet of 1000.
const RING: &str = r#"
duration = "10ms"
queue = { kind = "drop-tail", limit = "1MB" }
transport = { profile = "roce", cc = "line-rate", mtu = "1000B", verb = "send" }
[topology]
kind = "graph"
hosts = "h0..h3"
links = [
    { from = "h0", to = "h1", rate = "8Gbps", delay = "500ns" },
    { from = "h1", to = "h2", rate = "8Gbps", delay = "500ns" },
    { from = "h2", to = "h3", rate = "8Gbps", delay = "500ns" },
    { from = "h3", to = "h0", rate = "8Gbps", delay = "500ns" },
]
"#;

/// The lines that the program prints; none without a compiler of C++.
fn printed(experiment: &str) -> Option<Vec<String>> {
    Command::new("c++").arg("--version").output().ok()?;
    let build = std::env::current_exe().unwrap().ancestors().nth(1).unwrap().to_path_buf();
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = build.join("shallows-c-astra-sim");
    let compiled = Command::new("c++")
        .args(["-Wall", "-Wextra", "-Werror", "-std=c++17", "-I"])
        .arg(home)
        .arg("-I")
        .arg(home.join("astra-sim"))
        .arg("-I")
        .arg(home.join("tests/astra-sim"))
        .arg(home.join("tests/astra-sim/program.cc"))
        .args(["-o".as_ref(), program.as_os_str(), "-L".as_ref(), build.as_os_str(), "-lshallows".as_ref()])
        .arg(format!("-Wl,-rpath,{}", build.display()))
        .status()
        .unwrap();
    assert!(compiled.success());
    // Cargo's own path may hold an older library.
    let ran = Command::new(&program).arg(experiment).env("LD_LIBRARY_PATH", &build).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{said} {}", String::from_utf8_lossy(&ran.stderr));
    Some(said.lines().map(str::to_owned).collect())
}

#[test]
fn a_ring_takes_its_closed_form_and_calls_come_when_they_should() {
    let Some(lines) = printed(RING) else { return };
    let all = |name: &str| -> Vec<f64> {
        let found = lines.iter().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.map(|number| number.parse().unwrap()).collect()
    };
    // Three steps, each of five packets and a delay.
    let step = 500_000.0 + 5.0 * 1_062_000.0;
    assert_eq!((all("run"), all("unfinished")), (vec![0.0], vec![4.0, 0.0]));
    assert_eq!(all("finished"), [3.0 * step; 4], "{lines:?}");
    // Two links of 1 GB/s of 10^9 bytes leave each host.
    assert_eq!(all("bandwidth"), [(2e9 / f64::from(1 << 30) * 1e9).round() / 1e9]);
    // The small message is first on the link, though its receive is second.
    let [first, second] = all("began")[..] else { panic!("{lines:?}") };
    let times = |name: &str, began: f64| -> Vec<f64> {
        all(name).iter().map(|ns| (ns * 1e3 - began).round()).collect()
    };
    assert_eq!(times("small", first), [1_562_000.0]);
    assert_eq!(times("large", first), [3_686_000.0]);
    // Femtoseconds are rounded to whole ps; equal times keep their order.
    assert_eq!(times("scheduled", second), [0.0, 1.0, 3_250.0, 2_000_000.0, 1_000_000_000.0]);
    assert_eq!(all("rank"), [2.0]);
    assert!(lines.last().unwrap().contains("from a host to another one, got 2 twice"), "{lines:?}");
}
