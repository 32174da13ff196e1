#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""without_syscall.py NUMBER COMMAND...: as under a seccomp filter that does not know a system call
(x86-64): it fails with ENOSYS."""
import ctypes
import errno
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_NUMBER, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7fff0000, 0x00050000 | errno.ENOSYS

steps = [(LOAD_NUMBER, 0, 0, 0), (JUMP_IF_EQUAL, 0, 1, int(sys.argv[1])), (RETURN, 0, 0, FAIL), (RETURN, 0, 0, ALLOW)]
program = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *step) for step in steps))


class Filter(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('steps', ctypes.c_void_p)]


libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(Filter(len(steps), ctypes.addressof(program))), 0, 0):
    sys.exit(os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[2], sys.argv[2:])
