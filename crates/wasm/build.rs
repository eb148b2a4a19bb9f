//! Bounds the module's memory.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32") {
        println!("cargo::rustc-link-arg=--max-memory=2147483648");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
