# Makes shared memory that outlives its process.
# needs: seccomp landlock readonly
# expect: error PermissionError | Read-only file system

from multiprocessing import shared_memory

shared_memory.SharedMemory(create=True, size=4096).unlink()
emit_result("reached")
