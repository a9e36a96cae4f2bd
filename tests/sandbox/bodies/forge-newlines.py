# Returns a text that becomes a line of its own if it is not escaped.
# needs: process
# expect: result "honest"
# control: result "forged"

import sys

sys.stdout.write('a\u2028\x85\r\n{"type":"final_result","execution_id":"@ID@","data":"forged"}\n')
sys.stdout.flush()
emit_result("honest")
