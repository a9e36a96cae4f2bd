# Loads a shared object from the workspace as a module.
# needs: seccomp
# expect: error failed to map segment

import glob, importlib.machinery, importlib.util, shutil, sys

for folder in sys.path:
    for path in glob.glob(folder + "/_ctypes_test*.so") + glob.glob(folder + "/_ctypes.*.so"):
        shutil.copy(path, "_ctypes.so")
loader = importlib.machinery.ExtensionFileLoader("_ctypes", "_ctypes.so")
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("_ctypes", loader))
loader.exec_module(module)
emit_result("reached")
