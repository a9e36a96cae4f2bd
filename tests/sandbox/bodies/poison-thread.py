# Leaves a thread that waits for the next script.
# needs: process
# expect: done
# control: insane

import threading, time

threading.Thread(target=time.sleep, args=(3,), daemon=True).start()
