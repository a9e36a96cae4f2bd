# Reads the addresses of its own memory.
# needs: landlock
# expect: error PermissionError
# control needs: root

with open("/proc/self/maps") as file:
    file.read()
emit_result("reached")
