# Runs bytecode that reads beyond its constants.
# needs: process
# expect: error SIGSEGV | SIGBUS | SIGABRT | SIGILL
# control: died
# not: sanitizer

def f():
    return 1


f.__code__ = f.__code__.replace(co_code=bytes([100, 255] * 40), co_consts=())
f()
f.__code__ = f.__code__.replace(co_code=bytes([144, 255, 144, 255, 144, 255, 100, 255] * 40))
f()
