# Changes the codecs so that every byte is text.
# needs: process
# expect: done
# control: insane

import codecs

codecs.register_error("strict", lambda wrong: ("evil", wrong.end))
