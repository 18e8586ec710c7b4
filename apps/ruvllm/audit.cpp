// ruvllm audit: what a server's audit log has, whether it is as it was written, and its answers run
// again.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "audit/audit_proof.h"
#include "audit/audit_query.h"
#include "audit/audit_verify.h"
#include "audit_flags.h"
#include "audit_rerun.h"
#include "base/file.h"
#include "command_line.h"
#include "commands.h"
#include "consent.h"
#include "data_folder.h"
#include "iso_time.h"
#include "shown_text.h"
#include "terminal.h"

namespace ruv {
namespace {

constexpr const char* kAuditActions =
    "verify, replay, list, show, stats, export, head, prove, check-proof, prune or keygen";

struct AuditAction {
  std::string action;
  std::vector<std::string> words;
  std::string folder;
  std::string public_key, head, key_file, seal_key;
  std::string since, until, older;
  AuditFilter filter;
  int64_t slower_than_ms = 0;
  int64_t rated_percent = 0;  // 0: whatever the rating
  int64_t most = 20;
  int64_t spike_percent = 300;
  bool all = false;
  bool contents = false;
  bool csv = false;
  bool json = false;
  bool yes = false;
  RerunCall rerun;
};

Result<int64_t> number_of(const std::string& word) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc() && end == word.data() + word.size() && number > 0) return number;
  return fail(Code::invalid, "'{}' is not the number of an entry", shown_text(word, 40));
}

// The times and places that a call gives.
Status complete_filter(AuditAction& call) {
  if (!call.since.empty()) call.filter.since_ms = TRY(parse_iso_time(call.since)) * 1000;
  if (!call.until.empty()) call.filter.until_ms = TRY(parse_iso_time(call.until)) * 1000;
  call.filter.slower_than_us = call.slower_than_ms * 1000;
  if (call.rated_percent > 0) {
    call.filter.rated_below = static_cast<double>(call.rated_percent) / 100;
  }
  return {};
}

Result<AuditExpectation> expectation_of(const AuditAction& call) {
  AuditExpectation expectation;
  if (!call.public_key.empty())
    expectation.key = TRY(digest_from_hex(call.public_key, "--public-key"));
  if (!call.head.empty()) expectation.head = TRY(digest_from_hex(call.head, "--head"));
  return expectation;
}

// The log, with sealed contents opened where the call has their key.
Result<AuditStore> opened_log(const AuditAction& call) {
  AuditStore store = TRY(AuditStore::read(call.folder));
  if (!call.seal_key.empty()) store.open_contents_with(TRY(AuditSealKey::read(call.seal_key)));
  return store;
}

void print_fault(const AuditFault& fault) {
  const std::string place = fault.entry != 0  ? fmt::format("entry {}", fault.entry)
                            : fault.head != 0 ? fmt::format("head {}", fault.head)
                                              : "the log";
  fmt::print("{}: {}\n", place, fault.what);
}

Json verdict_json(const AuditVerdict& verdict) {
  Json faults = Json::array();
  for (const AuditFault& fault : verdict.faults)
    faults.push_back(Json{{"entry", fault.entry}, {"head", fault.head}, {"what", fault.what}});
  Json json{{"intact", verdict.faults.empty()}, {"entries", verdict.n_entries},
            {"heads", verdict.n_heads},         {"removed", verdict.n_removed},
            {"lost", verdict.n_lost},           {"with_contents", verdict.n_with_contents},
            {"sealed", verdict.n_sealed},       {"without_contents", verdict.n_without_contents}};
  json["faults"] = std::move(faults);
  if (verdict.last) json["head"] = hex_of(verdict.last->digest());
  return json;
}

Result<int> verify(const AuditAction& call) {
  const AuditStore store = TRY(opened_log(call));
  const AuditExpectation expectation = TRY(expectation_of(call));
  AuditVerdict verdict;
  {
    ProgressBar bar("verifying");
    verdict = TRY(verify_audit(store, expectation, [&](double share) { bar.update(share); }));
  }
  const int code = verdict.faults.empty() ? kDone : kJobFailed;
  if (call.json) {
    print_json_line(verdict_json(verdict));
    return code;
  }
  for (const AuditFault& fault : verdict.faults) print_fault(fault);
  if (verdict.faults.size() == kMaxAuditFaults) fmt::print("perhaps more\n");
  fmt::print(
      "{}: {} entries in {} batches, {} removed on purpose, {} lost; contents of {}, sealed of {}, "
      "not of {}\n",
      verdict.faults.empty() ? "intact" : "not intact", verdict.n_entries, verdict.n_heads,
      verdict.n_removed, verdict.n_lost, verdict.n_with_contents, verdict.n_sealed,
      verdict.n_without_contents);
  if (!expectation.key) fmt::print("signed by {}\n", hex_of(store.public_key()));
  if (verdict.last) fmt::print("head {}\n", hex_of(verdict.last->digest()));
  return code;
}

Status print_row(const AuditRow& row, bool json) {
  if (json) {
    Json line = TRY(parse_json(row.body, fmt::format("entry {}", row.number), {.depth = 64}));
    if (line.is_object()) line["number"] = row.number;
    if (line.is_object() && row.quality) line["quality"] = *row.quality;
    print_json_line(line);
    return {};
  }
  const EntryColumns& columns = row.columns;
  fmt::print("{:>7}  {}  {:<9}  {:>8.0f} ms  {}  {}{}{}\n", row.number,
             utc_text(columns.time_ms / 1000),
             columns.kind == "answer" ? columns.finish : columns.kind,
             static_cast<double>(columns.total_us) / 1000, shown_text(columns.model, 40),
             shown_text(columns.request_id, 60),
             columns.tenant.empty() ? "" : "  " + shown_text(columns.tenant, 60),
             row.quality ? fmt::format("  rated {:.0f} %", *row.quality * 100) : "");
  return {};
}

Status list(const AuditAction& call) {
  const AuditStore store = TRY(AuditStore::read(call.folder));
  AuditFilter filter = call.filter;
  filter.with_notes = true;
  filter.most = call.most;
  filter.newest_first = true;
  return for_each_entry(store, filter,
                        [&](const AuditRow& row) { return print_row(row, call.json); });
}

// An entry as a person reads it. Its texts are those of clients, and JSON leaves characters as they
// are that act on a terminal.
std::string shown_json(const Json& body) {
  const std::string text = body.dump(2);
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const size_t first = std::min(text.find_first_not_of(' ', at), end);
    shown += text.substr(at, first - at) + shown_text(text.substr(first, end - first), kWholeText);
    shown += '\n';
    at = end + 1;
  }
  return shown;
}

Status show(const AuditAction& call) {
  const AuditStore store = TRY(opened_log(call));
  for (const std::string& word : call.words) {
    const int64_t number = TRY(number_of(word));
    const Json body = TRY(parse_json(TRY(store.body(number)), "entry", {.depth = 64}));
    fmt::print("{}", shown_json(body));
    if (const auto contents = TRY(store.contents(number))) {
      fmt::print("answer:\n{}", shown_lines(contents->text));
    } else if (TRY(store.sealed(number))) {
      fmt::print("prompt and answer are sealed: give --seal-key\n");
    }
  }
  return {};
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

constexpr std::string_view kAuditColumns =
    "number,time_ms,request_id,tenant,model,finish,total_ms,queue_ms,prefill_ms,decode_ms,"
    "prompt_tokens,cached_tokens,answer_tokens,error\n";

// A member of a member as JSON; empty: there is none.
std::string member_text(const Json& body, std::string_view group, std::string_view name) {
  const Json* object = body.find(group);
  const Json* value = object != nullptr && object->is_object() ? object->find(name) : nullptr;
  if (value == nullptr) return {};
  return value->is_string() ? value->get<std::string>() : value->dump();
}

Status print_csv(const AuditRow& row) {
  const Json body = TRY(parse_json(row.body, fmt::format("entry {}", row.number), {.depth = 64}));
  const EntryColumns& columns = row.columns;
  fmt::print("{},{},{},{},{},{}", row.number, columns.time_ms, csv_field(columns.request_id),
             csv_field(columns.tenant), csv_field(columns.model), csv_field(columns.finish));
  for (const auto& [group, name] : {std::pair{"times", "total_ms"},
                                    {"times", "queue_ms"},
                                    {"times", "prefill_ms"},
                                    {"times", "decode_ms"},
                                    {"tokens", "prompt"},
                                    {"tokens", "cached"},
                                    {"tokens", "answer"},
                                    {"error", "code"}})
    fmt::print(",{}", csv_field(member_text(body, group, name)));
  fmt::print("\n");
  return {};
}

Status export_entries(const AuditAction& call) {
  const AuditStore store = TRY(AuditStore::read(call.folder));
  AuditFilter filter = call.filter;
  filter.with_notes = !call.csv;
  if (call.csv) fmt::print("{}", kAuditColumns);
  return for_each_entry(store, filter, [&](const AuditRow& row) {
    return call.csv ? print_csv(row) : print_row(row, true);
  });
}

void print_times(const char* name, const AuditTimes& times) {
  fmt::print("  {:<8} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f}\n", name, times.p50, times.p90,
             times.p99, times.most);
}

void print_figures(const AuditFigures& figures) {
  for (const auto& [name, model] : figures.models) {
    fmt::print("{}: {} answers, {} + {} tokens, {} from the cache\n", shown_text(name, 60), model.n,
               model.n_prompt_tokens, model.n_answer_tokens, model.n_cached_tokens);
    for (const auto& [finish, n] : model.finishes)
      fmt::print("  {} {}\n", shown_text(finish, 20), n);
    fmt::print("  {:<8} {:>10} {:>10} {:>10} {:>10}\n", "ms", "p50", "p90", "p99", "max");
    print_times("queue", model.queue);
    print_times("prefill", model.prefill);
    print_times("decode", model.decode);
    print_times("total", model.total);
  }
  for (const AuditErrorGroup& group : figures.errors) {
    fmt::print("error {}, {} times (entries {} to {}): {}\n", group.code, group.n, group.first,
               group.last, shown_text(group.message, 200));
  }
  for (const auto& spike : figures.spikes)
    fmt::print("slow: entry {}, {:.0f} ms, {:.1f} times the median\n", spike.number, spike.ms,
               spike.times);
}

Status stats(const AuditAction& call) {
  const AuditStore store = TRY(AuditStore::read(call.folder));
  const double spike = static_cast<double>(call.spike_percent) / 100;
  const AuditFigures figures = TRY(audit_figures(store, call.filter, spike));
  if (call.json) {
    print_json_line(figures_json(figures));
  } else {
    print_figures(figures);
  }
  return {};
}

Status head(const AuditAction& call) {
  const AuditStore store = TRY(AuditStore::read(call.folder));
  const auto last = TRY(store.last_head());
  if (!last) return fail(Code::not_found, "{}: the log is empty", call.folder);
  if (call.json) {
    print_json_line(Json{{"public_key", hex_of(store.public_key())},
                         {"head", hex_of(last->digest())},
                         {"entries", last->last},
                         {"time_ms", last->unix_ms}});
    return {};
  }
  fmt::print("public key {}\nhead       {}\nentries    {}\ntime       {} UTC\n",
             hex_of(store.public_key()), hex_of(last->digest()), last->last,
             utc_text(last->unix_ms / 1000));
  return {};
}

Status prove(const AuditAction& call) {
  const AuditStore store = TRY(opened_log(call));
  const int64_t number = TRY(number_of(call.words[0]));
  print_json_line(TRY(audit_proof(store, number, call.contents)));
  return {};
}

Status make_seal_key(const AuditAction& call) {
  const std::string& file = call.words[0];
  TRY(AuditSealKey::draw(file));
  fmt::print(
      "{0}      opens what is sealed; keep it away from the server\n"
      "{0}.pub  for `ruvllm serve --audit-contents kept --audit-seal {0}.pub`\n",
      file);
  return {};
}

Status check(const AuditAction& call) {
  const std::string text = TRY(read_text_file(call.words[0]));
  const ProvenEntry proven =
      TRY(check_proof(TRY(parse_json(text, call.words[0], {.depth = 64, .values = 100'000}))));
  const AuditExpectation expectation = TRY(expectation_of(call));
  if (expectation.key && *expectation.key != proven.key) {
    return fail(Code::invalid, "{}: signed by {}, not by --public-key", call.words[0],
                hex_of(proven.key));
  }
  fmt::print("entry {} was in the log, in batch {}, signed by {}\n{}", proven.number, proven.head,
             hex_of(proven.key), shown_json(proven.body));
  return {};
}

Result<int> prune(const CommandLine& line, const AuditAction& call) {
  if (call.older.empty()) return line.wrong_call("prune: give --older TIME");
  const int64_t before = TRY(parse_iso_time(call.older)) * 1000;
  const char* const what = call.contents ? "contents of entries" : "entries";
  if (!has_consent(line, fmt::format("Remove {} from before {}?", what, call.older), call.yes))
    return kJobFailed;
  TRY(AuditStore::read(call.folder));
  AuditStore store = TRY(AuditStore::open({.folder = call.folder, .key_file = call.key_file}));
  const int64_t n = call.contents ? TRY(store.remove_contents_before(before))
                                  : TRY(store.remove_before(before, unix_milliseconds()));
  fmt::print("{} {} removed\n", n, call.contents ? "contents" : "entries");
  return kDone;
}

void declare_filter(CommandLine& line, AuditAction& call) {
  const OptionGroup group(line, "Which entries");
  line.text("--since", call.since, "From this time on: 2026-03-14 or 2026-03-14T15:09:26, UTC");
  line.text("--until", call.until, "Before this time");
  line.text("--of-model", call.filter.model, "Answers of this model");
  line.text("--tenant", call.filter.tenant, "Answers for this user");
  line.text("--finish", call.filter.finish, "That ended so: stop, length, cancelled or error");
  line.text("--request", call.filter.request_id, "Answers to the request with this X-Request-Id");
  line.integer("--slower-than", call.slower_than_ms, 0, INT32_MAX, "That took more milliseconds");
  line.integer("--rated-below", call.rated_percent, 1, 101,
               "Answers whose newest rating (POST /v1/audit/ratings) is below N percent");
  line.integer("--most,-n", call.most, 1, INT32_MAX, "How many list shows, the newest first");
  line.flag("--all", call.all, "replay: all that the other options allow");
}

void declare(CommandLine& line, AuditAction& call) {
  line.example("ruvllm audit verify", "Whether the log is as it was written");
  line.example("ruvllm audit replay 17 -m qwen.gguf", "Whether the model gives that answer");
  line.example("ruvllm audit stats --since 2026-03-14", "Times, ends and errors of a day on");
  line.text("action", call.action, kAuditActions);
  line.choices({"verify", "replay", "list", "show", "stats", "export", "head", "prove",
                "check-proof", "prune", "keygen"});
  line.words("what", call.words,
             "Numbers of entries for replay, show and prove; a file for check-proof and keygen");
  line.text("--log", call.folder,
            "The folder of the log; $XDG_DATA_HOME/ruvllm/audit or ~/.local/share/ruvllm/audit "
            "when absent");
  line.flag("--json", call.json, "Lines of JSON");
  declare_filter(line, call);
  {
    const OptionGroup group(line, "Trust");
    line.text("--public-key", call.public_key,
              "verify, check-proof: the key that must have signed, as head shows it");
    line.text("--head", call.head, "verify: a head seen earlier that must still be in the log");
    line.text("--key", call.key_file,
              "replay, prune: the file of the signing key, where it is not in the folder");
    line.text("--seal-key", call.seal_key,
              "verify, show, replay, prove: the file of keygen that opens sealed contents");
  }
  {
    const OptionGroup group(line, "Actions");
    line.integer("--spike", call.spike_percent, 101, 100'000,
                 "stats: what is slow, in percent of the model's median time");
    line.flag("--csv", call.csv, "export: a table in place of lines of JSON");
    line.flag("--contents", call.contents,
              "prove: with prompt and answer; prune: only these, entries stay");
    line.text("--older", call.older, "prune: what ended before this time");
    line.flag("--yes,-y", call.yes, "Remove without asking");
  }
  add_rerun_flags(line, call.rerun);
}

Result<int> replay(AuditAction& call) {
  std::vector<int64_t> numbers;
  for (const std::string& word : call.words) numbers.push_back(TRY(number_of(word)));
  call.rerun.key_file = call.key_file;
  call.rerun.json = call.json;
  const AuditStore store = TRY(opened_log(call));
  if (call.all) {
    TRY(for_each_entry(store, call.filter, [&](const AuditRow& row) {
      numbers.push_back(row.number);
      return Status();
    }));
  }
  return rerun_entries(store, call.folder, numbers, call.rerun);
}

Result<int> act(const CommandLine& line, AuditAction& call) {
  if (call.folder.empty()) call.folder = default_data_folder() + "/audit";
  TRY(complete_filter(call));
  if (call.action == "verify") return verify(call);
  if (call.action == "replay") return replay(call);
  if (call.action == "prune") return prune(line, call);
  Status status;
  if (call.action == "list") status = list(call);
  if (call.action == "show") status = show(call);
  if (call.action == "stats") status = stats(call);
  if (call.action == "export") status = export_entries(call);
  if (call.action == "head") status = head(call);
  if (call.action == "prove") status = prove(call);
  if (call.action == "check-proof") status = check(call);
  if (call.action == "keygen") status = make_seal_key(call);
  if (!status.ok()) return tl::unexpected(status);
  return kDone;
}

// What is wrong with the words of an action; empty: nothing.
std::string wrong_words(const AuditAction& call) {
  const std::string& action = call.action;
  constexpr std::array kAll{"verify", "replay", "list",        "show",  "stats", "export",
                            "head",   "prove",  "check-proof", "prune", "keygen"};
  if (std::ranges::find(kAll, action) == kAll.end())
    return fmt::format("{}: give {}", action.empty() ? "no action" : action, kAuditActions);
  const bool wants_file = action == "check-proof" || action == "keygen";
  const bool wants_one = action == "prove" || wants_file;
  const bool wants = wants_one || action == "show" || (action == "replay" && !call.all);
  if (wants && call.words.empty())
    return action + (wants_file ? ": give a file" : ": give the number of an entry");
  if (wants_one && call.words.size() > 1) return action + " takes one, not " + call.words[1];
  if (!wants && !call.words.empty()) return action + " takes no " + call.words[0];
  return {};
}

}  // namespace

int audit_command(int argc, char** argv) {
  AuditAction call;
  CommandLine line("audit", "Shows a server's audit log, checks it, and runs its answers again.");
  declare(line, call);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (const std::string wrong = wrong_words(call); !wrong.empty()) return line.wrong_call(wrong);
  const Result<int> code = act(line, call);
  return code ? *code : line.failed(code.error());
}

}  // namespace ruv
