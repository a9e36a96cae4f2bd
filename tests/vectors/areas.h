#pragma once
/* Every area the runner knows. A new one is a row here and a function in the file of its group. */

struct vector;

#define AREAS(AREA)                                     \
    AREA("codeblock.extract", area_codeblock_extract)   \
    AREA("block.spec", area_block_spec)                 \
    AREA("result.string", area_result_string)           \
    AREA("cwd.normalize", area_cwd_normalize)           \
    AREA("env.merge", area_env_merge)                   \
    AREA("session.cursor", area_session_cursor)         \
    AREA("session.hint", area_session_hint)             \
    AREA("exec.window", area_exec_window)               \
    AREA("run.program", area_run_program)               \
    AREA("run.inline", area_run_inline)                 \
    AREA("session.write", area_session_write)           \
    AREA("session.kill", area_session_kill)             \
    AREA("session.start", area_session_start)           \
    AREA("session.wait", area_session_wait)             \
    AREA("session.close", area_session_close)           \
    AREA("exec.tool", area_exec_tool)                   \
    AREA("schedule.waves", area_schedule_waves)         \
    AREA("replay.key", area_replay_key)                 \
    AREA("replay.decide", area_replay_decide)           \
    AREA("budget", area_budget)                         \
    AREA("budget.per_tool", area_budget_deadlines)      \
    AREA("budget.token", area_budget_deadlines)         \
    AREA("thinking", area_thinking)                     \
    AREA("preparer", area_preparer)                     \
    AREA("finalizer", area_finalizer)                   \
    AREA("reflection", area_reflection)                 \
    AREA("compact", area_compact)                       \
    AREA("artifact.store", area_artifact_store)         \
    AREA("artifact.threshold", area_artifact_threshold) \
    AREA("latewrite.gate", area_latewrite_gate)         \
    AREA("webmode.gate", area_webmode_gate)             \
    AREA("glob.match", area_glob_match)                 \
    AREA("glob.normalize", area_glob_normalize)         \
    AREA("artifact.ref", area_artifact_ref)             \
    AREA("dir.digest", area_dir_digest)                 \
    AREA("outputspec.json", area_outputspec_json)       \
    AREA("mime.is_text", area_mime_is_text)             \
    AREA("mime.sniff", area_mime_sniff)                 \
    AREA("workspace.create", area_workspace_create)     \
    AREA("registry.acquire", area_registry_acquire)     \
    AREA("layout.ensure", area_layout_ensure)           \
    AREA("metadata.load", area_metadata_load)           \
    AREA("metadata.save", area_metadata_save)           \
    AREA("metadata.tempname", area_metadata_tempname)   \
    AREA("stage.default_to", area_stage_default_to)     \
    AREA("stage.inputs", area_stage_inputs)             \
    AREA("stage.directory", area_stage_directory)       \
    AREA("put.files", area_put_files)                   \
    AREA("collect.files", area_collect_files)           \
    AREA("collect.outputs", area_collect_outputs)       \
    AREA("confirm.flow", area_confirm_flow)             \
    AREA("loop.invariants", area_loop_invariants)       \
    AREA("latewrite.effects", area_latewrite_effects)   \
    AREA("pool", area_pool)                             \
    AREA("executor.run", area_executor_run)             \
    AREA("harness.protocol", area_harness_protocol)

#define AREA(name, function) void function(struct vector *v);
AREAS(AREA)
#undef AREA
