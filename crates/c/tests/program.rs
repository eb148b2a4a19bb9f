//! The C interface from a program's side: matching, times, faults, and the example in C beside the load `collective`.
#![allow(unsafe_code)] // a foreign interface

use shallows::*;
use std::ffi::{CStr, CString, c_void};
use std::path::Path;
use std::process::Command;
use std::ptr::null_mut;

const STAR: &str = r#"
duration = "10ms"
topology = { kind = "star", senders = 3, rate = "10Gbps", delay = "1us" }
queue = { kind = "drop-tail", limit = "1MB" }
transport = { profile = "roce", cc = "line-rate", mtu = "1000B" }
"#;

fn network(text: &str) -> Result<*mut Network, String> {
    let (text, mut error) = (CString::new(text).unwrap(), [0; 2000]);
    let made = unsafe { shallows_new(text.as_ptr(), error.as_mut_ptr(), error.len()) };
    if made.is_null() {
        return Err(unsafe { CStr::from_ptr(error.as_ptr()) }.to_string_lossy().into_owned());
    }
    Ok(made)
}

fn error(net: *mut Network) -> String {
    unsafe { CStr::from_ptr(shallows_error(net)) }.to_string_lossy().into_owned()
}

/// The notes of a test's functions.
struct Notes {
    net: *mut Network,
    seen: Vec<(&'static str, u64)>,
}

unsafe extern "C" fn sent(notes: *mut c_void) {
    note(notes, "sent");
}

unsafe extern "C" fn received(notes: *mut c_void) {
    note(notes, "received");
}

unsafe extern "C" fn late(notes: *mut c_void) {
    note(notes, "late");
    let notes = notes.cast::<Notes>();
    unsafe {
        assert_eq!(shallows_run((*notes).net, u64::MAX), -1); // it runs already
        assert_eq!(shallows_recv((*notes).net, 1, 0, 5000, 7, Some(received), notes.cast()), 0);
    }
}

fn note(notes: *mut c_void, what: &'static str) {
    let notes = unsafe { &mut *notes.cast::<Notes>() };
    notes.seen.push((what, unsafe { shallows_now(notes.net) }));
}

#[test]
fn a_message_is_matched_before_and_after_it_has_come() {
    let net = network(STAR).unwrap();
    let mut notes = Notes { net, seen: vec![] };
    let about = (&raw mut notes).cast();
    unsafe {
        assert_eq!(CStr::from_ptr(shallows_host(net, 0)).to_str(), Ok("s0"));
        assert_eq!((shallows_hosts(net), shallows_host(net, 4).is_null()), (4, true));
        assert_eq!([0, 3, 4].map(|host| shallows_host_rate(net, host)), [10_000_000_000, 10_000_000_000, 0]);
        assert_eq!(shallows_send(net, 0, 1, 5000, 7, Some(sent), about), 0);
        assert_eq!(shallows_recv(net, 1, 0, 5000, 7, Some(received), about), 0);
        assert_eq!(shallows_send(net, 0, 1, 5000, 7, None, null_mut()), 0);
        assert_eq!(shallows_schedule(net, 1_000_000_000, Some(late), about), 0);
        assert_eq!(shallows_run(net, u64::MAX), 0);
        assert_eq!((shallows_under_way(net), shallows_waiting(net)), (0, 0));
    }
    // Five packets of 1000 bytes and their headers over two links: by hand from the packets' size on the wire.
    let [(first, came), (second, matched), (third, woken), (fourth, again)] = notes.seen[..] else {
        panic!("{:?}", notes.seen)
    };
    assert_eq!([first, second, third, fourth], ["sent", "received", "late", "received"]);
    assert_eq!((came, woken, again), (matched, 1_000_000_000, 1_000_000_000));
    // Two links of 1 us and six transmissions of 1058 to 1100 bytes at 10 Gb/s.
    assert!((7_078_000..7_300_000).contains(&came), "{came}");
    unsafe { shallows_free(net) };
}

#[test]
fn a_run_stops_and_goes_on_without_a_difference() {
    let mut ends = vec![];
    for stops in [vec![], vec![1_000_000, 3_000_000, 3_000_001]] {
        let net = network(STAR).unwrap();
        let mut notes = Notes { net, seen: vec![] };
        let about = (&raw mut notes).cast();
        unsafe {
            shallows_send(net, 0, 2, 50_000, 1, Some(sent), about);
            shallows_send(net, 1, 2, 50_000, 1, Some(sent), about);
            for stop in stops {
                assert_eq!((shallows_run(net, stop), shallows_now(net)), (1, stop));
            }
            assert_eq!(shallows_run(net, u64::MAX), 0);
            // A message after all has happened leaves at once.
            let before = shallows_now(net);
            shallows_send(net, 0, 1, 1000, 2, Some(received), about);
            assert_eq!(shallows_run(net, u64::MAX), 0);
            let (_, came) = *notes.seen.last().unwrap();
            assert!(came > before && came < before + 5_000_000, "{before} {came}");
            shallows_free(net);
        }
        ends.push(notes.seen[..2].to_vec());
    }
    assert_eq!(ends[0], ends[1]);
}

#[test]
fn wrong_calls_and_files_are_told() {
    let faults = network("duration = \"1ms\"\ntopology = { kind = \"sta\" }\n").unwrap_err();
    assert!(faults.contains("topology") && faults.contains("star"), "{faults}");
    assert!(network("{\"duration\": ").unwrap_err().contains("no JSON"));
    let net = network(STAR).unwrap();
    unsafe {
        for (src, dst, bytes, why) in [(0, 9, 1, "0 to 3"), (2, 2, 1, "another one"), (0, 1, 0, "one byte")] {
            assert_eq!(shallows_send(net, src, dst, bytes, 0, None, null_mut()), -1);
            assert!(error(net).contains(why), "{}", error(net));
        }
        assert_eq!(shallows_schedule(net, 0, None, null_mut()), -1);
        shallows_recv(net, 1, 0, 200, 3, None, null_mut());
        shallows_send(net, 0, 1, 100, 3, None, null_mut());
        assert_eq!(shallows_run(net, u64::MAX), -1);
        assert!(error(net).contains("a receive of 200 bytes"), "{}", error(net));
        assert!(shallows_counts(net).is_null());
        shallows_free(net);
    }
}

#[test]
fn what_the_duration_cuts_off_is_told() {
    let net = network(&STAR.replace("10ms", "10us")).unwrap();
    unsafe {
        shallows_recv(net, 1, 0, 1_000_000, 3, None, null_mut());
        shallows_recv(net, 1, 0, 1, 4, None, null_mut());
        shallows_send(net, 0, 1, 1_000_000, 3, None, null_mut());
        assert_eq!(shallows_run(net, u64::MAX), 2);
        assert_eq!((shallows_under_way(net), shallows_waiting(net)), (1, 2));
        assert_eq!(shallows_send(net, 0, 1, 1, 3, None, null_mut()), -1);
        shallows_free(net);
    }
}

/// The first round of the same operation as a load of the simulator, in us.
fn as_a_load() -> f64 {
    let document = serde_json::json!({
        "duration": "1ms",
        "topology": {"kind": "star", "senders": 7, "rate": "100Gbps", "delay": "500ns"},
        "queue": {"kind": "threshold", "limit": "1MB", "mark_at": "100KB"},
        "transport": {"profile": "roce", "cc": "dcqcn"},
        "traffic": {"all": {"kind": "collective", "operation": "all-reduce", "algorithm": "ring", "bytes": "1MB",
            "hosts": "*"}},
    });
    let mut simulation = shallows_spec::load(&document.to_string()).unwrap();
    simulation.run(&shallows_core::Control::new()).unwrap();
    let tables = simulation.tables();
    let rounds = tables.iter().find(|table| table.name == "rounds").unwrap();
    let time = |name: &str| match &rounds.columns.iter().find(|column| column.name == name).unwrap().data {
        shallows_core::probe::ColumnData::U64(values) => values[0],
        _ => panic!("{name} is a time"),
    };
    (time("end_ps") - time("start_ps")) as f64 / 1e6
}

#[test]
fn the_example_in_c_takes_as_long_as_the_load() {
    let build = std::env::current_exe().unwrap().ancestors().nth(1).unwrap().to_path_buf();
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(found) = Command::new("cc").arg("--version").output() else { return };
    assert!(found.status.success());
    let program = build.join("shallows-c-ring");
    let compiled = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-std=c11", "-I"])
        .arg(home)
        .arg(home.join("examples/ring.c"))
        .args(["-o".as_ref(), program.as_os_str(), "-L".as_ref(), build.as_os_str(), "-lshallows".as_ref()])
        .arg(format!("-Wl,-rpath,{}", build.display()))
        .status()
        .unwrap();
    assert!(compiled.success());
    // Cargo's own path may hold an older library.
    let ran = Command::new(&program).env("LD_LIBRARY_PATH", &build).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{said} {}", String::from_utf8_lossy(&ran.stderr));
    let load = as_a_load();
    assert!(said.starts_with(&format!("8 ranks, 1000000 bytes: {load:.3} us\n")), "{said} {load}");
    let hash = said.lines().nth(2).unwrap();
    assert!(hash.len() == 64 && hash.chars().all(|c| c.is_ascii_hexdigit()), "{said}");
}
