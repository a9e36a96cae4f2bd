# A second process, by the library.
# needs: seccomp
# expect: error PermissionError

import multiprocessing

multiprocessing.set_start_method("fork")
multiprocessing.Process(target=int).start()
emit_result("reached")
