# Lowers the limit of descriptors for the next script.
# needs: process
# expect: error not allowed | PermissionError | Operation not permitted
# control: insane

import resource

resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))
