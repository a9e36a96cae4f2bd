# Changes variables that other modules read.
# needs: process
# expect: done
# control: insane

import os

os.environ["EVIL"] = "1"
os.environ["PATH"] = "/evil"
os.putenv("LD_PRELOAD", "/workspace/evil.so")
