# Maps a file of its own as executable.
# needs: seccomp
# expect: error PermissionError

import mmap

with open("code", "wb") as file:
    file.write(b"\xc3" * 4096)
with open("code", "rb") as file:
    mmap.mmap(file.fileno(), 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
emit_result("reached")
