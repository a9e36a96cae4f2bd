# Raises an error with a declared secret.
# needs: process
# expect: error ValueError
# control: error declared-a93e55
# secrets: KEYTURN_DECLARED

import os

raise ValueError(os.environ["KEYTURN_DECLARED"])
