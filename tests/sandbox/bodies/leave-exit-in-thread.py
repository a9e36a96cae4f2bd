# Exits in a thread while the script waits.
# needs: process
# expect: error exit status 7
# control: died

import os, threading

threading.Thread(target=os._exit, args=(7,)).start()
threading.Event().wait()
