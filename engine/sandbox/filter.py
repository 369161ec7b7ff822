"""The system calls that a sandboxed process is refused: a seccomp program, as bytes. Pure.

Written out here, as the numbers never change and the one Python package that makes such programs needs a C library
and had its last release in 2021. A list of what is refused, not of what is allowed: a new system call of a newer
kernel is let through until it is named here.
"""

import errno
import struct
from collections.abc import Mapping

# uapi/linux/seccomp.h, uapi/linux/audit.h, uapi/linux/bpf_common.h
_ALLOW, _ERRNO = 0x7FFF_0000, 0x0005_0000
_LOAD, _EQUAL, _GREATER, _BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _MACHINE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data; little endian
_AUDIT = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
# On x86-64, numbers from here on are the x32 ones: the same calls by a second door.
_X32 = 0x4000_0000
# clone(2): a new user namespace, and with it a new set of privileges.
_NEW_USER = 0x1000_0000
# Address families of socket(2) that are let through: local, IPv4, IPv6 and netlink all end at the sandbox's own
# network. Others may not: a virtual machine's sockets reach its host.
_FAMILIES = (1, 2, 10, 16)

# Namespaces and mounts; looking into other processes; the kernel's programs, keys, modules and clocks; memory that
# no file-size limit and no work folder bounds.
_X86_64 = {
    "unshare": 272, "setns": 308, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161,
    "move_mount": 429, "open_tree": 428, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "mount_setattr": 442, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323,
    "keyctl": 250, "add_key": 248, "request_key": 249,
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "pidfd_getfd": 438,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_by_handle_at": 304, "name_to_handle_at": 303, "fanotify_init": 300,
    "kexec_load": 246, "kexec_file_load": 320, "init_module": 175, "finit_module": 313, "delete_module": 176,
    "quotactl": 179, "acct": 163, "swapon": 167, "swapoff": 168, "reboot": 169, "syslog": 103,
    "settimeofday": 164, "clock_settime": 227, "clock_adjtime": 305, "adjtimex": 159,
    "shmget": 29, "msgget": 68, "semget": 64, "memfd_create": 319, "memfd_secret": 447,
    "modify_ldt": 154, "iopl": 172, "ioperm": 173, "move_pages": 279, "migrate_pages": 256,
}  # fmt: skip
_AARCH64 = {
    "unshare": 97, "setns": 268, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51,
    "move_mount": 429, "open_tree": 428, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "mount_setattr": 442, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282,
    "keyctl": 219, "add_key": 217, "request_key": 218,
    "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "pidfd_getfd": 438,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_by_handle_at": 265, "name_to_handle_at": 264, "fanotify_init": 262,
    "kexec_load": 104, "kexec_file_load": 294, "init_module": 105, "finit_module": 273, "delete_module": 106,
    "quotactl": 60, "acct": 89, "swapon": 224, "swapoff": 225, "reboot": 142, "syslog": 116,
    "settimeofday": 170, "clock_settime": 112, "clock_adjtime": 266, "adjtimex": 171,
    "shmget": 194, "msgget": 186, "semget": 190, "memfd_create": 279, "memfd_secret": 447,
    "move_pages": 239, "migrate_pages": 238,
}  # fmt: skip
REFUSED: Mapping[str, Mapping[str, int]] = {"x86_64": _X86_64, "aarch64": _AARCH64}
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_SOCKET = {"x86_64": 41, "aarch64": 198}


def seccomp(machine: str) -> bytes:
    """The program for a processor as `os.uname().machine` names it. Raises KeyError for one that is not known."""
    refuse = _op(_RETURN, _ERRNO | errno.EPERM)
    allow = _op(_RETURN, _ALLOW)
    code = [_op(_LOAD, _MACHINE), _op(_EQUAL, _AUDIT[machine], yes=1), refuse, _op(_LOAD, _NUMBER)]
    if machine == "x86_64":
        code += [_op(_GREATER, _X32, no=1), refuse]
    # The flags of clone3 are behind a pointer; told that there is none, C libraries fall back to clone.
    code += [_op(_EQUAL, _CLONE3, no=1), _op(_RETURN, _ERRNO | errno.ENOSYS)]
    for number in sorted(REFUSED[machine].values()):
        code += [_op(_EQUAL, number, no=1), refuse]
    code += [
        _op(_EQUAL, _CLONE[machine], no=4),
        _op(_LOAD, _FIRST_ARGUMENT),
        _op(_BITS, _NEW_USER, no=1),
        refuse,
        allow,
    ]
    left = len(_FAMILIES)
    code += [_op(_EQUAL, _SOCKET[machine], no=left + 2), _op(_LOAD, _FIRST_ARGUMENT)]
    code += [_op(_EQUAL, family, yes=left - at) for at, family in enumerate(_FAMILIES)]
    code += [_op(_RETURN, _ERRNO | errno.EAFNOSUPPORT), allow]
    return b"".join(code)


def _op(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """One instruction: code with value; of a test, how many to skip if it holds and if it does not."""
    return struct.pack("<HBBI", code, yes, no, value)
