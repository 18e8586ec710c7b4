// The subcommands of the program, one file each. argv[0] is the subcommand's own name. Each returns
// the process's exit code: 0 done, 1 the job failed, 2 the call was wrong, 130 ended by Ctrl-C.
#pragma once

namespace ruv {

// What a model is used for.
int run_command(int argc, char** argv);
int chat_command(int argc, char** argv);
int serve_command(int argc, char** argv);
int mcp_command(int argc, char** argv);
int embed_command(int argc, char** argv);
int rerank_command(int argc, char** argv);
// Getting models, giving them, and those that are here.
int pull_command(int argc, char** argv);
int push_command(int argc, char** argv);
int list_command(int argc, char** argv);
int rm_command(int argc, char** argv);
int tag_command(int argc, char** argv);
// What is kept, and what files hold.
int sessions_command(int argc, char** argv);
int memory_command(int argc, char** argv);
int audit_command(int argc, char** argv);
int cache_command(int argc, char** argv);
int info_command(int argc, char** argv);
int tokenize_command(int argc, char** argv);
int template_command(int argc, char** argv);
int eval_command(int argc, char** argv);
int perplexity_command(int argc, char** argv);
int logits_command(int argc, char** argv);
int quantize_command(int argc, char** argv);
int convert_command(int argc, char** argv);
int imatrix_command(int argc, char** argv);
int train_command(int argc, char** argv);
int learn_command(int argc, char** argv);
int lora_command(int argc, char** argv);
int kv_gate_command(int argc, char** argv);
int bench_command(int argc, char** argv);
// About the program itself.
int config_command(int argc, char** argv);
int completion_command(int argc, char** argv);
int man_command(int argc, char** argv);
int reference_command(int argc, char** argv);

}  // namespace ruv
