# Reads the users of the host.
# needs: landlock
# expect: error PermissionError
# expect bwrap: error FileNotFoundError

with open("/etc/passwd") as file:
    file.read()
emit_result("reached")
