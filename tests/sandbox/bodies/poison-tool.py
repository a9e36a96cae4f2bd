# Replaces a tool by another function.
# needs: process
# expect: done
# control: insane

add.__code__ = (lambda a, b: 666).__code__
