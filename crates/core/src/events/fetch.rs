//! A hint to the processor: lines that are needed soon come into its second cache meanwhile. Asked into the first
//! instead, large trees were some 2 % slower; the cause was not looked for.
//!
//! In a large network the other cells' work pushes a cell's lines out of the caches between two windows. A line takes
//! as long to come back as a hundred instructions do, unless it was asked for before.

/// Bytes that come together on the processors for which this matters.
pub const LINE: usize = 64;

/// Asks for the first `lines` cache lines from `at` on, wherever that is. Nothing that a program could see changes.
#[inline(always)]
pub fn fetch<T>(at: *const T, lines: usize) {
    let start = at.cast::<i8>();
    for line in 0..lines {
        hint(start.wrapping_add(LINE * line));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn hint(at: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
    // SAFETY: PREFETCHT1 belongs to SSE, which every x86-64 has. It loads no register, writes no memory and faults at
    // no address, valid or not (Intel, "Software Developer's Manual", volume 2, PREFETCHh).
    #[allow(unsafe_code)]
    unsafe {
        _mm_prefetch::<_MM_HINT_T1>(at);
    }
}

/// Other processors have to do without.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn hint(_at: *const i8) {}
