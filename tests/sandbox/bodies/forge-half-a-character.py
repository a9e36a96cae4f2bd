# Half of a surrogate pair: no text in any encoding.
# needs: process
# expect: result "honest"
# control: garbled

emit_log("\ud800")
emit_result("honest")
