# Runs a finally block that never ends.
# needs: process
# expect: error Script timed out after 1s
# control: hung
# timeout: 1

try:
    while True:
        pass
finally:
    while True:
        pass
