# Reads the environment of the supervisor, which has the secrets.
# needs: landlock
# expect: error PermissionError
# control needs: root

import os

with open(f"/proc/{os.getppid()}/stat") as file:
    supervisor = file.read().rpartition(")")[2].split()[1]
with open(f"/proc/{supervisor}/environ", "rb") as file:
    assert b"KEYTURN" in file.read()
emit_result("reached")
