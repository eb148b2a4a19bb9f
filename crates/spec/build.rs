//! Hashes the sources that decide a result, so that stored runs of an edited core are never served.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// FNV-1a with 128 bits: no dependency, and nobody attacks his own build.
struct Fnv(u128);

impl Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
}

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("the crate's sources are readable") {
        let path = entry.expect("the crate's sources are readable").path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

fn main() {
    // The directory is asked for at run time, and cargo gets relative paths: a copied checkout brings this
    // program along compiled, and must hash its own sources.
    let package = env::var_os("CARGO_MANIFEST_DIR").expect("cargo names the package's directory");
    let crates = Path::new(&package).join("..");
    let mut found = vec![];
    for name in ["units", "core", "spec"] {
        println!("cargo::rerun-if-changed=../{name}/src");
        files(&crates.join(name).join("src"), &mut found);
        found.push(crates.join(name).join("Cargo.toml"));
    }
    found.sort();
    let mut hash = Fnv(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
    for path in &found {
        let name = path.strip_prefix(&crates).expect("found below crates/");
        println!("cargo::rerun-if-changed=../{}", name.display());
        let text = fs::read(path).expect("the crate's sources are readable");
        // Length first, so that moving text from one file to the next changes the hash.
        hash.write(name.to_string_lossy().replace('\\', "/").as_bytes());
        hash.write(&(text.len() as u64).to_le_bytes());
        hash.write(&text);
    }
    println!("cargo::rustc-env=SHALLOWS_SOURCE_HASH={:032x}", hash.0);
}
