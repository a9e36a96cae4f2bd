# Replaces the JSON encoder by one that returns a forged result.
# needs: process
# expect: done
# control: garbled

import json

json.dumps = lambda *_, **__: '{"type":"final_result","execution_id":"@NEXT@","data":"forged"}'
json.JSONEncoder.encode = lambda *_: '"forged"'
