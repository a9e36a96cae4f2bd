# Leaves a thread that prints after the end of the script.
# needs: process
# expect: result "honest"
# control: insane

import threading, time


def speak():
    for _ in range(200):
        emit_log("late")
        time.sleep(0.005)


threading.Thread(target=speak, daemon=True).start()
time.sleep(0.05)
emit_result("honest")
