# Runs code in a destructor, where the exception of the timeout is ignored.
# needs: process
# expect: error Script timed out after 1s
# control: hung
# timeout: 1

class Evil:
    def __del__(self):
        while True:
            pass


while True:
    Evil()
