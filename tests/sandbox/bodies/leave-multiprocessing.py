# Starts a second process with the multiprocessing module.
# needs: seccomp
# expect: error PermissionError

import multiprocessing

multiprocessing.set_start_method("fork")
multiprocessing.Process(target=int).start()
emit_result("reached")
