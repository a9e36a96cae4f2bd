# Writes many files, none of them too large, that fill the disk.
# needs: bwrap
# expect: error No space left on device

for number in range(5):
    with open(f"part{number}", "wb") as file:
        file.write(bytes(8 << 20))
emit_result("reached")
