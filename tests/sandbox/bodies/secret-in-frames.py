# Looks for secrets in the frames of its callers.
# needs: process
# expect: result []
# secrets: KEYTURN_DECLARED

import os, sys, types


def code_names(code):
    yield from (code.co_name, *code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars)
    for one in code.co_consts:
        if isinstance(one, str):
            yield one
        elif isinstance(one, types.CodeType):
            yield from code_names(one)


def names(table):
    for name, value in list(table.items()):
        yield name
        if isinstance(value, types.FunctionType):
            yield from code_names(value.__code__)
        elif isinstance(value, dict) and value is not own:
            yield from (key for key in value if isinstance(key, str))


own, word, found = globals(), "".join(["sec", "ret"]), []
value = os.environ.get("KEYTURN_DECLARED", "\0")
frame = sys._getframe().f_back
while frame:
    for place in (frame.f_locals, frame.f_globals):
        found += [name for name in names(place) if word in name.lower()]
        # Nor is the value left there, in which it was handed to us.
        found += [name for name, held in place.items() if held is not own and value in repr(held)]
    found += [name for name in code_names(frame.f_code) if word in name.lower()]
    frame = frame.f_back
emit_result("reached" if found else [])
