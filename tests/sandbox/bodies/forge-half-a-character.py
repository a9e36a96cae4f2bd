# Returns half of a surrogate pair, which no encoding has.
# needs: process
# expect: result "honest"
# control: garbled

emit_log("\ud800")
emit_result("honest")
