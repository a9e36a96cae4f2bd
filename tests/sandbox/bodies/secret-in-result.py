# Returns a declared secret in a result.
# needs: process
# expect: done
# control: result {"declared-a93e55": ["declared-a93e55"]}
# secrets: KEYTURN_DECLARED

import os

emit_result({os.environ["KEYTURN_DECLARED"]: [os.environ["KEYTURN_DECLARED"]]})
