# Opens its own memory as a file, where pages are not protected.
# needs: landlock readonly
# expect: error PermissionError | Read-only file system
# control needs: root

with open("/proc/self/mem", "r+b"):
    pass
emit_result("reached")
