# Where everything is in our memory.
# needs: landlock
# expect: error PermissionError
# control needs: root

with open("/proc/self/maps") as file:
    file.read()
emit_result("reached")
