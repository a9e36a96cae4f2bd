# Catches every exception, including the timeout.
# needs: process
# expect: error Script timed out after 1s
# control: hung
# timeout: 1

while True:
    try:
        while True:
            pass
    except BaseException:
        pass
