/* The tools every session has, in the order the model is told of them: looking before writing. */

#include "tool.h"

const struct tool *const builtin_tools[] = {
    &tool_list_dir,
    &tool_read_file,
    &tool_search_files,
    &tool_get_context_pack,
    &tool_write_file,
    &tool_edit_file,
    &tool_delete_file,
    &tool_move_file,
    &tool_run_script,
    &tool_workspace_exec,
    &tool_workspace_write_stdin,
    &tool_workspace_kill,
    &tool_run_code,
    &tool_stage_input,
    &tool_collect_outputs,
    &tool_bring_back,
    &tool_save_artifact,
    &tool_load_artifact,
    &tool_skill_list,
    &tool_skill_load,
    &tool_skill_run,
    &tool_web_search,
    NULL,
};
