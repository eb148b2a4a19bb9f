//! The laboratory as a WebAssembly module with a plain C interface: JSON in, JSON or the chunk of a film out.
//!
//! The caller writes a request of so many bytes where [`take`] says, calls [`ask`], and reads [`answered`] bytes
//! where [`answer`] says. A panic ends the module; its message goes to the imported function `said`.
#![allow(unsafe_code)] // exported names, and the import; nothing else

use serde_json::Value;
use shallows_lab::Session;
use shallows_lab::session::Answer;
use std::cell::RefCell;

#[derive(Default)]
struct Module {
    session: Session,
    request: Vec<u8>,
    answer: Vec<u8>,
}

thread_local! {
    static MODULE: RefCell<Module> = RefCell::default();
}

#[cfg(target_arch = "wasm32")]
unsafe extern "C" {
    fn said(text: *const u8, length: usize);
}

/// Reports panics to the page.
#[unsafe(no_mangle)]
pub extern "C" fn start() {
    #[cfg(target_arch = "wasm32")]
    std::panic::set_hook(Box::new(|info| {
        let text = info.to_string();
        unsafe { said(text.as_ptr(), text.len()) };
    }));
}

/// Room for a request of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn take(length: usize) -> *mut u8 {
    MODULE.with_borrow_mut(|module| {
        module.request.clear();
        module.request.resize(length, 0);
        module.request.as_mut_ptr()
    })
}

/// Answers the request: 1 for JSON, 2 for a chunk.
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> u32 {
    MODULE.with_borrow_mut(|module| {
        let request: Value = serde_json::from_slice(&module.request).unwrap_or_default();
        let (kind, bytes) = match module.session.answer(&request) {
            Answer::Text(value) => (1, value.to_string().into_bytes()),
            Answer::Chunk(bytes) => (2, bytes),
        };
        module.answer = bytes;
        kind
    })
}

/// Where the answer is.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    MODULE.with_borrow(|module| module.answer.as_ptr())
}

/// Bytes of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn answered() -> usize {
    MODULE.with_borrow(|module| module.answer.len())
}
