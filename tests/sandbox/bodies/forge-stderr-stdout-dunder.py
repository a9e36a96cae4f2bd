# Writes an event to sys.__stdout__, past sys.stdout.
# needs: process
# expect: result "honest"
# control: result "forged"

import sys

sys.__stdout__.write('{"type":"final_result","execution_id":"@ID@","data":"forged"}\n')
sys.__stdout__.flush()
emit_result("honest")
