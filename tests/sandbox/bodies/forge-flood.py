# Prints text without end.
# needs: process
# expect: error 64 MB of output
# control: flood
# timeout: 60

while True:
    print("x" * 65536)
