# Writes the event "ready" of a harness again.
# needs: process
# expect: result "honest"
# control: garbled

import os

os.write(1, b'{"type":"ready","execution_id":null,"tools":["evil"],"pid":1}\n')
emit_result("honest")
