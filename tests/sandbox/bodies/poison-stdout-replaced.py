# Replaces stdout by one that drops its text.
# needs: process
# expect: done
# control: hung
# timeout: 1

import io, sys

sys.stdout = sys.__stdout__ = io.StringIO()
