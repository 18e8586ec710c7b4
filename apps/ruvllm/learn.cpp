// ruvllm learn: learns from feedback, shows what was learned, and takes it back. The folder is that
// of `serve --learn`, whose instances this command reads and continues.
#include <fmt/format.h>

#include <iostream>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "command_line.h"
#include "commands.h"
#include "json_lines.h"
#include "learn_flags.h"
#include "open_model.h"
#include "terminal.h"

namespace ruv {
namespace {

struct LearnCommand {
  LearnCall learn;
  std::string model, name, jsonl;
  int64_t undo = 0;
  bool journal = false, json = false;
  int n_threads = 1;
};

// Says of each feedback that it was taken, once it is in the journal.
Status take_line(const LearnCommand& call, Learner& learner, const std::string& text,
                 int64_t number) {
  const Json line = TRY(parse_json_line(text, number));
  constexpr std::string_view kOthers[] = {"name"};
  const FieldResult<AdaptFeedback> feedback = read_feedback(line, kOthers);
  if (!feedback) return with_context(fmt::format("line {}", number), status_of(feedback.error()));
  const std::string name = line.contains("name") ? TRY(text_member(line, "name")) : call.name;
  Result<uint64_t> taken = learner.adapt(name, *feedback);
  // A full queue empties by itself.
  while (!taken && taken.error().code() == Code::unavailable &&
         learner.summary(name).value_or(InstanceSummary()).failure.empty()) {
    learner.wait();
    taken = learner.adapt(name, *feedback);
  }
  if (!taken) return with_context(fmt::format("line {}", number), taken.error());
  if (call.json) {
    print_json_line({{"name", name}, {"taken", *taken}});
    std::fflush(stdout);
  }
  return {};
}

Status take_lines(const LearnCommand& call, Learner& learner) {
  std::istringstream file;
  if (call.jsonl != "-") file.str(TRY(read_text_file(call.jsonl)));
  std::istream& in = call.jsonl == "-" ? std::cin : file;
  std::string text;
  for (int64_t number = 1; std::getline(in, text); ++number) {
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    TRY(take_line(call, learner, text, number));
  }
  return {};
}

void print_summaries(const LearnCommand& call, const std::vector<InstanceSummary>& all) {
  if (!call.json && all.empty()) fmt::print("nothing was learned yet\n");
  for (const InstanceSummary& s : all) {
    if (call.json) {
      print_json_line(summary_json(s));
      continue;
    }
    fmt::print("{}: generation {}, {} feedbacks, {} accepted, {} refused, {} waiting\n", s.name,
               s.generation, s.n_feedback, s.n_accepted, s.n_refused, s.n_pending);
    if (!s.refusal.empty()) fmt::print("  last refused: {}\n", s.refusal);
    if (!s.failure.empty()) fmt::print("  learns no more: {}\n", s.failure);
  }
}

Status print_journal(const LearnCommand& call) {
  return read_journal(fmt::format("{}/{}/journal", call.learn.folder, call.name),
                      [](const Json& entry) {
                        print_json_line(entry);
                        return Status();
                      });
}

Status learn(const LearnCommand& call) {
  if (call.journal) return print_journal(call);
  const ChosenModel chosen = TRY(chosen_model(call.model));
  const std::unique_ptr<Learner> learner =
      TRY(Learner::open(chosen.path, TRY(learn_options(call.learn, chosen.path, call.n_threads))));
  if (call.undo > 0) TRY(learner->undo(call.name, static_cast<uint64_t>(call.undo)));
  if (!call.jsonl.empty()) TRY(take_lines(call, *learner));
  learner->wait();
  print_summaries(call, learner->summaries());
  return {};
}

std::string wrong_learn_call(const CommandLine& line, const LearnCommand& call) {
  if (call.learn.folder.empty()) return "give --folder: where instances are kept";
  if (line.given("--undo") && !call.jsonl.empty()) return "--undo and --jsonl do not go together";
  if (call.journal && (line.given("--undo") || !call.jsonl.empty())) {
    return "--journal shows only: it takes no --undo and no --jsonl";
  }
  return "";
}

}  // namespace

int learn_command(int argc, char** argv) {
  LearnCommand call;
  call.name = "default";
  CommandLine line("learn", "Learns from what users say of answers, and takes it back.");
  line.example("ruvllm learn --folder learned --jsonl feedback.jsonl",
               "Learns each line and says what the gate let pass");
  line.example("ruvllm learn --folder learned --undo 1", "Takes the last step back");
  line.text("--model,-m", call.model, kModelHelp);
  line.text("--folder", call.learn.folder,
            "Folder of all that is learned, a folder for each instance; made if need be");
  line.text("--name", call.name, "The instance, where a line has no \"name\"");
  line.text("--jsonl", call.jsonl,
            "Lines {\"messages\" or \"prompt\", \"correction\"}, {…, \"answer\", \"rating\": -1 to "
            "1} or {\"ids\", \"score\": [0 or 1, …]}, perhaps with \"rating\", \"task\" and "
            "\"name\"; -: standard input");
  line.integer("--undo", call.undo, 1, int64_t{1} << 40, "Accepted steps to take back");
  line.flag("--journal", call.journal, "Print all that happened to the instance as lines of JSON");
  line.flag("--json", call.json, "Print a JSON object for each feedback and for each instance");
  add_learn_flags(line, call.learn);
  line.threads(call.n_threads);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (const std::string wrong = wrong_learn_call(line, call); !wrong.empty()) {
    return line.wrong_call(wrong);
  }
  const Status status = learn(call);
  return status.ok() ? kDone : line.failed(status);
}

}  // namespace ruv
