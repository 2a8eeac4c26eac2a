//! A library for a QEMU whose clock counts instructions. It keeps the host's time away from the guest. Loaded before the C
//! library, it replaces two of its behaviours.
//!
//! **The calendar clock stands still**, because QEMU sizes its cache of translated addresses by it.
//!
//! **The main loop and the CPU take turns.** A halting CPU announces the halt before it has counted its last instructions. A
//! main loop that looks at that moment skips idle time from an outdated clock, so the time of some hundred instructions passes
//! twice. Therefore the main loop, when it returns from `ppoll`, gets the shared lock only while the CPU's thread waits.
#![no_std]

use core::arch::asm;
use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering::SeqCst};

unsafe extern "C" {
    fn dlvsym(handle: *mut c_void, symbol: *const c_char, version: *const c_char) -> *mut c_void;
    fn pthread_mutex_unlock(mutex: *mut c_void) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
}

const NEXT: *mut c_void = -1_isize as *mut c_void;
const FUTEX: c_long = 202;
const WAIT_PRIVATE: c_int = 128;
const WAKE_PRIVATE: c_int = 129;

/// `struct timeval`
#[repr(C)]
pub struct Time {
    seconds: i64,
    microseconds: i64,
}

/// Always returns the first second of 2025.
///
/// # Safety
/// `time` is null or points to a `struct timeval`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(time: *mut Time, _zone: *mut u8) -> i32 {
    if !time.is_null() {
        // SAFETY: the caller's promise.
        unsafe { time.write(Time { seconds: 1_735_689_600, microseconds: 0 }) };
    }
    0
}

/// The main loop's thread, which loads this library.
static MAIN: AtomicUsize = AtomicUsize::new(0);
/// The CPU's thread: the first other thread that waits. A thread that writes a snapshot comes later.
static CPU: AtomicUsize = AtomicUsize::new(0);
/// Whether the main loop has returned from `ppoll` and does not have the lock yet.
static IS_BACK: AtomicBool = AtomicBool::new(false);
/// 1 while the CPU's thread waits or does not exist yet.
static CPU_WAITS: AtomicU32 = AtomicU32::new(1);
/// 1 while the main loop waits for the CPU's thread.
static MAIN_WAITS: AtomicU32 = AtomicU32::new(0);

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    MAIN.store(this_thread(), SeqCst);
}

/// Identifies this thread by the address of its thread-local memory.
fn this_thread() -> usize {
    let at: usize;
    // SAFETY: the C library keeps that address at fs:0.
    unsafe { asm!("mov {}, fs:0", out(reg) at, options(nostack, pure, readonly)) };
    at
}

fn is_main() -> bool {
    this_thread() == MAIN.load(SeqCst)
}

fn is_cpu() -> bool {
    let this = this_thread();
    !is_main() && CPU.compare_exchange(0, this, SeqCst, SeqCst).map_or_else(|cpu| cpu == this, |_| true)
}

type Ppoll = unsafe extern "C" fn(*mut c_void, u64, *const c_void, *const c_void) -> c_int;
type Lock = unsafe extern "C" fn(*mut c_void) -> c_int;
type Wait = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;

static PPOLL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static LOCK: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static WAIT: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// The C library's own function of that name. It exists, because the caller was linked to it.
fn original(known: &AtomicPtr<c_void>, name: &CStr, version: &CStr) -> *mut c_void {
    if known.load(SeqCst).is_null() {
        // SAFETY: both are strings.
        known.store(unsafe { dlvsym(NEXT, name.as_ptr(), version.as_ptr()) }, SeqCst);
    }
    known.load(SeqCst)
}

/// # Safety
/// That of the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ppoll(fds: *mut c_void, n: u64, time: *const c_void, mask: *const c_void) -> c_int {
    // SAFETY: this is its type, and the caller's promise.
    let ready = unsafe {
        let ppoll: Ppoll = transmute(original(&PPOLL, c"ppoll", c"GLIBC_2.4"));
        ppoll(fds, n, time, mask)
    };
    if is_main() {
        IS_BACK.store(true, SeqCst);
    }
    ready
}

/// # Safety
/// That of the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_lock(mutex: *mut c_void) -> c_int {
    // SAFETY: this is its type.
    let lock: Lock = unsafe { transmute(original(&LOCK, c"pthread_mutex_lock", c"GLIBC_2.2.5")) };
    // SAFETY: the caller's promise.
    let locked = unsafe { lock(mutex) };
    if !IS_BACK.load(SeqCst) || !is_main() {
        return locked;
    }
    IS_BACK.store(false, SeqCst);
    // A waiting CPU thread cannot continue before it has this lock.
    while CPU_WAITS.load(SeqCst) == 0 {
        MAIN_WAITS.store(1, SeqCst);
        // SAFETY: it is our word, which the kernel only compares.
        unsafe {
            pthread_mutex_unlock(mutex);
            syscall(FUTEX, CPU_WAITS.as_ptr(), WAIT_PRIVATE, 0, null_mut::<c_void>());
            lock(mutex);
        }
        MAIN_WAITS.store(0, SeqCst);
    }
    locked
}

/// # Safety
/// That of the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_wait(condition: *mut c_void, mutex: *mut c_void) -> c_int {
    // SAFETY: this is its type.
    let wait: Wait = unsafe { transmute(original(&WAIT, c"pthread_cond_wait", c"GLIBC_2.3.2")) };
    let is_cpu = is_cpu();
    if is_cpu {
        CPU_WAITS.store(1, SeqCst);
        if MAIN_WAITS.load(SeqCst) == 1 {
            // SAFETY: the kernel only looks for waiters at that address.
            unsafe { syscall(FUTEX, CPU_WAITS.as_ptr(), WAKE_PRIVATE, 1) };
        }
    }
    // SAFETY: the caller's promise.
    let woken = unsafe { wait(condition, mutex) };
    if is_cpu {
        CPU_WAITS.store(0, SeqCst);
    }
    woken
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
