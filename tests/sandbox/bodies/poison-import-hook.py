# Adds a hook that replaces every import.
# needs: process
# expect: done
# control: insane

import sys


class Evil:
    def find_spec(self, name, path=None, target=None):
        raise ImportError("evil")


sys.meta_path.insert(0, Evil())
