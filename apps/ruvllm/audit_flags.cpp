#include "audit_flags.h"

#include <algorithm>

#include "audit/audited_engine.h"
#include "terminal.h"

namespace ruv {
namespace {

constexpr std::array kFlags{"--audit-contents", "--audit-key", "--audit-seal", "--audit-days",
                            "--audit-sync"};

}  // namespace

void add_audit_flags(CommandLine& line, AuditCall& call) {
  const OptionGroup group(line, "Audit log");
  line.text("--audit", call.folder,
            "Note every finished request in a signed log in this folder (`ruvllm audit`); absent: "
            "no log");
  line.text("--audit-contents", call.contents,
            "What of prompts and answers: off, hashed (digests, enough to run a request again with "
            "its prompt) or kept");
  line.choices({"off", "hashed", "kept"});
  line.text("--audit-key", call.key_file,
            "The file of the key that signs, made where it is missing; absent: audit.key in the "
            "folder");
  line.text("--audit-seal", call.seal_file,
            "Seal the contents that are kept, so that only the owner of the other half of this key "
            "reads them: the .pub file of `ruvllm audit keygen`");
  line.integer("--audit-days", call.keep_days, 0, 36'500,
               "Older entries are removed, which the log says; 0: never");
  line.flag("--audit-sync", call.syncs,
            "Wait for the disk with each batch, so that a loss of power loses nothing written");
}

bool has_audit_flags(const CommandLine& line) {
  return std::ranges::any_of(kFlags, [&](const char* flag) { return line.given(flag); });
}

Result<std::unique_ptr<AuditLog>> open_audit(const AuditCall& call) {
  if (call.folder.empty()) return nullptr;
  const std::optional<AuditContents> contents = find_audit_contents(call.contents);
  if (!contents)
    return fail(Code::invalid, "--audit-contents '{}' is none of off, hashed and kept",
                call.contents);
  AuditLogOptions options{.contents = *contents, .keep_days = call.keep_days};
  if (!call.seal_file.empty()) {
    if (*contents != AuditContents::kept)
      return fail(Code::invalid,
                  "--audit-seal goes with --audit-contents kept: else nothing is kept");
    options.seal = TRY(AuditSeal::read(call.seal_file));
  }
  AuditStore store = TRY(
      AuditStore::open({.folder = call.folder, .key_file = call.key_file, .syncs = call.syncs}));
  return AuditLog::start(std::move(store), options);
}

Result<std::string> shown_digest(const std::string& path, int n_threads) {
  WorkerPool pool(n_threads);
  ProgressBar bar("reading the model for the audit log");
  const Digest digest = TRY(files_digest(path, pool, [&](double share) { bar.update(share); }));
  return hex_of(digest);
}

Result<std::unique_ptr<Engine>> audited_engine(std::unique_ptr<Engine> engine, AuditLog& log,
                                               const std::string& path, const std::string& name,
                                               const EngineOptions& options) {
  AnsweringEngine about{.model = name,
                        .model_digest = TRY(shown_digest(path, options.n_threads)),
                        .kv_type = std::string(kv_type_name(engine->kv_stats().type)),
                        .n_ctx = engine->n_ctx(),
                        .isa = model_info(engine->model()).isa};
  return std::make_unique<AuditedEngine>(std::move(engine), std::move(about), options.adapters,
                                         log);
}

}  // namespace ruv
