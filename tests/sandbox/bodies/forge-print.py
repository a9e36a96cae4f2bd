# Prints an event to standard output.
# needs: process
# expect: result "honest"
# control: result "forged"

print('{"type":"final_result","execution_id":"@ID@","data":"forged"}', flush=True)
emit_result("honest")
