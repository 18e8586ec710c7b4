// ruvllm push: files into a repository of a hub, with a README.md that says what they are.
#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "command_line.h"
#include "commands.h"
#include "hub_access.h"
#include "model_card.h"
#include "terminal.h"
#include "transfer_progress.h"

namespace ruv {
namespace {

constexpr const char* kCardPath = "README.md";
// The hub may take minutes to look at what it was sent before it answers.
constexpr int64_t kStallSeconds = 300;

struct PushCall {
  std::vector<std::string> words;  // files, then the repository
  CardFacts facts;
  std::string card;
  bool no_card = false;
  bool dry_run = false;
  bool progress_lines = false;
  bool json = false;
  PushOptions options;
};

bool push_continues() { return !interrupt_seen(); }

Result<std::vector<PushFile>> files_of(const PushCall& call) {
  std::vector<PushFile> files;
  for (size_t i = 0; i + 1 < call.words.size(); ++i) {
    const std::string& from = call.words[i];
    if (is_directory(from))
      return fail(Code::invalid, "{}: a folder; name the files that are to be sent", from);
    PushFile file{.path = file_name_of(from), .from = from};
    if (std::ranges::find(files, file.path, &PushFile::path) != files.end())
      return fail(Code::invalid, "two files have the name {}", file.path);
    files.push_back(std::move(file));
  }
  if (!call.card.empty()) files.push_back({.path = kCardPath, .from = call.card});
  for (PushFile& file : files) TRY(describe_file(file, push_continues));
  return files;
}

bool has_card(const std::vector<PushFile>& files) {
  return std::ranges::find(files, kCardPath, &PushFile::path) != files.end();
}

// What a dry run says.
void print_plan(const PushCall& call, const PushTarget& target,
                const std::vector<PushFile>& files) {
  if (!target.exists) {
    fmt::print("{} would be made, {}\n", target.repo,
               call.options.is_private ? "private" : "public");
  }
  for (const PushFile& file : files) {
    const bool is_there = std::ranges::find(target.there, file.path) != target.there.end();
    fmt::print("{} {} {} {}\n", is_there ? "is there:" : "would be sent:", file.path,
               readable_bytes(static_cast<int64_t>(file.n_bytes)), file.sha256);
    if (file.from.empty() && !is_there) fmt::print("\n{}\n", file.text);
  }
}

void print_done(const PushCall& call, const PushTarget& target, const PushedModel& done,
                const std::string& url) {
  if (call.json) {
    print_json_line({{"repo", target.repo},
                     {"url", url},
                     {"commit", done.commit},
                     {"is_new", done.is_new},
                     {"n_committed", done.n_committed},
                     {"n_sent", done.n_sent}});
    return;
  }
  fmt::print("{}\n", url);
  if (done.n_committed == 0) {
    fmt::print("all of it was there\n");
    return;
  }
  fmt::print("{} file{} in commit {}, {} sent\n", done.n_committed,
             done.n_committed == 1 ? "" : "s", done.commit.substr(0, 12),
             readable_bytes(static_cast<int64_t>(done.n_sent)));
}

Status push(PushCall& call) {
  if (hub_is_offline()) return fail(Code::invalid, "a push needs the hub: unset HF_HUB_OFFLINE");
  TRY(HttpClient::check_available());
  const std::string repo = call.words.back();
  TRY(check_repo(repo));
  const std::unique_ptr<HubAccess> hub = TRY(open_hub(kStallSeconds));
  const InterruptScope ctrl_c;
  std::vector<PushFile> files = TRY(files_of(call));
  PushTarget target = TRY(look_at_target(hub->http, repo, files));
  if (!call.no_card && !has_card(files) && !target.has_card) {
    call.facts.repo = repo;
    const Result<std::string> card = model_card(call.facts, files);
    if (!card)
      return with_context("README.md (--card gives one, --no-card leaves it out)", card.error());
    files.push_back({.path = kCardPath, .text = *card});
    TRY(describe_file(files.back(), push_continues));
  }
  if (call.dry_run) {
    print_plan(call, target, files);
    return {};
  }
  PushedModel done;
  {
    TransferProgress progress(call.progress_lines);
    call.options.watch = [&](const TransferState& state) {
      progress.show(state);
      return push_continues();
    };
    done = TRY(push_model(hub->http, target, files, call.options));
  }
  print_done(call, target, done, hub->http.options().endpoint + "/" + repo);
  return {};
}

}  // namespace

int push_command(int argc, char** argv) {
  PushCall call;
  call.options.summary = "Upload with ruvllm";
  CommandLine line("push",
                   "Sends files to a repository of a hub, which is made where it does not exist. "
                   "What the hub has already is not sent again.");
  line.words("files", call.words, "Files, then owner/repo");
  line.flag("--private", call.options.is_private, "A repository that is made is private");
  line.text("--message", call.options.summary, "Summary of the commit");
  line.text("--license", call.facts.license,
            "Licence for the README.md that is written; what the file says when absent");
  line.text("--base-model", call.facts.base_model,
            "owner/repo that the model was made of, for the README.md; what the file says when "
            "absent");
  line.text("--card", call.card, "This file becomes README.md, also where there is one");
  line.flag("--no-card", call.no_card, "Write no README.md where there is none");
  line.flag("--dry-run", call.dry_run, "Only say what would be sent");
  line.flag("--progress", call.progress_lines,
            "Print lines of progress where there is no terminal");
  line.flag("--json", call.json, "Print one JSON object");
  line.example("ruvllm push model-Q4_K_M.gguf owner/repo", "With a README.md where there is none");
  line.example("ruvllm push --dry-run *.gguf owner/repo", "What would be sent");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (call.words.size() < 2) return line.wrong_call("name files, then a repository: owner/repo");
  if (call.no_card && !call.card.empty()) return line.wrong_call("--card and --no-card are two");
  if (call.dry_run && call.json) return line.wrong_call("--json cannot be used with --dry-run");
  const Status status = push(call);
  return status.ok() ? kDone : line.failed(status);
}

}  // namespace ruv
