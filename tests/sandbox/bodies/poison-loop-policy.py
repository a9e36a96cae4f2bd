# Replaces event loops by invalid ones.
# needs: process
# expect: done
# control: insane

import asyncio


class Evil(asyncio.DefaultEventLoopPolicy):
    def new_event_loop(self):
        raise RuntimeError("evil")


asyncio.set_event_loop_policy(Evil())
