# An encoder that makes something else of every value.
# needs: process
# expect: done
# control: garbled

import json

json.dumps = lambda *_, **__: '{"type":"final_result","execution_id":"@NEXT@","data":"forged"}'
json.JSONEncoder.encode = lambda *_: '"forged"'
