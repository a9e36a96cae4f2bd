"""Prints the median time in microseconds that a Jupyter kernel takes for `1`, from the request to the reply."""

import os
import statistics
import time

os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # otherwise the kernel complains on our stderr

from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")
times = []
for _ in range(300):
    start = time.perf_counter()
    client.execute_interactive("1", output_hook=lambda message: None)
    times.append((time.perf_counter() - start) * 1e6)
print(statistics.median(times), flush=True)
client.stop_channels()
manager.shutdown_kernel(now=True)
os._exit(0)  # its objects complain when they are collected at the end
