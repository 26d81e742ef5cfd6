"""Numbers of system calls by architecture: from asm/unistd_64.h and asm-generic/unistd.h, where they never change."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SystemCalls:
    """An architecture's numbers of the calls in the filter."""

    audit_architecture: int
    """AUDIT_ARCH_*, which identifies the architecture of a call to a filter."""
    seccomp: int
    numbers: dict[str, int]


# fmt: off
BY_MACHINE = {
    "x86_64": SystemCalls(0xC000003E, 317, {
        "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7, "lseek": 8,
        "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14,
        "rt_sigreturn": 15, "ioctl": 16, "pread64": 17, "pwrite64": 18, "readv": 19, "writev": 20, "access": 21,
        "select": 23, "sched_yield": 24, "mremap": 25, "mincore": 27, "madvise": 28, "dup": 32, "nanosleep": 35,
        "getpid": 39, "sendto": 44, "clone": 56, "exit": 60, "kill": 62, "uname": 63, "fcntl": 72, "fsync": 74,
        "ftruncate": 77, "getcwd": 79, "readlink": 89, "gettimeofday": 96, "getrlimit": 97, "getrusage": 98,
        "sysinfo": 99, "times": 100, "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108, "getppid": 110,
        "sigaltstack": 131, "statfs": 137, "fstatfs": 138, "prctl": 157, "arch_prctl": 158, "gettid": 186,
        "time": 201, "futex": 202, "sched_getaffinity": 204, "getdents64": 217, "set_tid_address": 218,
        "restart_syscall": 219, "fadvise64": 221, "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230,
        "exit_group": 231, "tgkill": 234, "openat": 257, "newfstatat": 262, "readlinkat": 267, "faccessat": 269,
        "pselect6": 270, "ppoll": 271, "set_robust_list": 273, "pipe2": 293, "preadv": 295, "prlimit64": 302,
        "getcpu": 309, "getrandom": 318, "membarrier": 324, "statx": 332, "rseq": 334, "clone3": 435,
        "close_range": 436, "faccessat2": 439, "futex_waitv": 449,
    }),
    "aarch64": SystemCalls(0xC00000B7, 277, {
        "getcwd": 17, "dup": 23, "fcntl": 25, "ioctl": 29, "statfs": 43, "fstatfs": 44, "ftruncate": 46,
        "faccessat": 48, "openat": 56, "close": 57, "pipe2": 59, "getdents64": 61, "lseek": 62, "read": 63,
        "write": 64, "readv": 65, "writev": 66, "pread64": 67, "pwrite64": 68, "preadv": 69, "pselect6": 72,
        "ppoll": 73, "readlinkat": 78, "newfstatat": 79, "fstat": 80, "fsync": 82, "exit": 93, "exit_group": 94,
        "set_tid_address": 96, "futex": 98, "set_robust_list": 99, "nanosleep": 101, "clock_gettime": 113,
        "clock_getres": 114, "clock_nanosleep": 115, "sched_getaffinity": 123, "sched_yield": 124,
        "restart_syscall": 128, "kill": 129, "tgkill": 131, "sigaltstack": 132, "rt_sigaction": 134,
        "rt_sigprocmask": 135, "rt_sigreturn": 139, "times": 153, "uname": 160, "getrlimit": 163, "getrusage": 165,
        "prctl": 167, "getcpu": 168, "gettimeofday": 169, "getpid": 172, "getppid": 173, "getuid": 174,
        "geteuid": 175, "getgid": 176, "getegid": 177, "gettid": 178, "sysinfo": 179, "sendto": 206, "brk": 214,
        "munmap": 215, "mremap": 216, "clone": 220, "mmap": 222, "fadvise64": 223, "mprotect": 226, "mincore": 232,
        "madvise": 233, "prlimit64": 261, "getrandom": 278, "membarrier": 283, "statx": 291, "rseq": 293,
        "clone3": 435, "close_range": 436, "faccessat2": 439, "futex_waitv": 449,
    }),
}
# fmt: on
FIRST_UNKNOWN = 463
"""Calls from here on are newer than these tables."""
