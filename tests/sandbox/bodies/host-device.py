# Opens a device outside the sandbox.
# needs: landlock
# expect: error PermissionError

with open("/dev/full", "rb") as file:
    file.read(1)
emit_result("reached")
