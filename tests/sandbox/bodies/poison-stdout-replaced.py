# A stdout that swallows what is printed.
# needs: process
# expect: done
# control: hung
# timeout: 1

import io, sys

sys.stdout = sys.__stdout__ = io.StringIO()
