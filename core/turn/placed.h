#pragma once
/* What happens in the session's workspace, as events: workspace.op, workspace.state, program.*, network.connected. They
 * belong to the turn that runs when they happen; a program may go on when there is none. */

struct engine;

/* From now on the engine hears of it, until `placed_deaf`. */
void placed_listen(struct engine *engine);
/* A recording is gone on with: the names that programs have in it are not given again, for the model remembers them. */
void placed_resume(struct engine *engine);
void placed_deaf(struct engine *engine);
