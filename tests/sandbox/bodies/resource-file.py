# Writes a file that fills the disk.
# needs: rlimits
# expect: error File too large

with open("big", "wb") as file:
    file.seek(20 << 20)
    file.write(b"x")
emit_result("reached")
