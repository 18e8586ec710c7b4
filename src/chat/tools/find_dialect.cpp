// The probes are the same conversations that clients send, so a template is asked in the way that
// it will be used. What it writes for the assistant begins where its own prompt for an answer ends.
#include "chat/tools/find_dialect.h"

#include <algorithm>
#include <optional>

#include "base/json.h"
#include "chat/chat_template.h"
#include "chat/rendered_chat.h"
#include "chat/tools/derive_dialect.h"
#include "chat/tools/text_cursor.h"
#include "chat/tools/tool_parser.h"
#include "chat/tools/write_calls.h"

namespace ruv {
namespace {

constexpr const char* kProbeUser = "zquserword";
constexpr const char* kProbeText = "zqanswerword";
constexpr size_t kMaxTail = 4096;

Json probe_tool(const char* name) {
  const Json properties = {{"zqcity", {{"type", "string"}, {"description", "a word"}}},
                           {"zqcount", {{"type", "integer"}, {"description", "a number"}}}};
  return {{"type", "function"},
          {"function",
           {{"name", name},
            {"description", "does something"},
            {"parameters",
             {{"type", "object"}, {"properties", properties}, {"required", Json::array()}}}}}};
}

Json probe_tools() { return Json::array({probe_tool("zqfirst"), probe_tool("zqsecond")}); }

std::vector<ToolCall> probe_calls(size_t n) {
  std::vector<ToolCall> calls = {{"zqfirst", "zqcallid1", R"({"zqcity": "zqplace", "zqcount": 7})"},
                                 {"zqsecond", "zqcallid2", R"({"zqcity": "zqother"})"}};
  calls.resize(n);
  return calls;
}

Json call_json(const ToolCall& call) {
  return {{"id", call.id},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

// An answer as the template writes it, and the prompt that comes before.
struct Probe {
  std::string tail;    // the end of the prompt
  std::string answer;  // and what the template writes after an answer
};

// Templates write a mark in one piece, so an answer does not begin inside one.
size_t outside_mark(std::string_view text, size_t at) {
  const size_t begin = text.substr(0, at).find_last_of("<[");
  if (begin == std::string_view::npos || at - begin > 64) return at;
  const std::string_view between = text.substr(begin, at - begin);
  return between.find_first_of(">]\n") == std::string_view::npos ? begin : at;
}

class DialectProbe {
 public:
  DialectProbe(const ChatTemplate& chat_template, std::span<const ToolDialect> known)
      : template_(chat_template),
        source_(chat_template.source()),
        declared_(chat_template.declared()),
        known_(known) {}

  FoundDialect run() const {
    FoundDialect found;
    const ReasoningMarks reasoning = find_reasoning();
    for (const size_t n_calls : {size_t{2}, size_t{1}}) {
      const auto probe = answer_of(probe_calls(n_calls), "");
      if (!probe) continue;
      found.source = find_rendered(known_, *probe, n_calls, reasoning, found.dialect)
                         ? DialectSource::rendered
                     : find_rendered(declared_calls(), *probe, n_calls, reasoning, found.dialect)
                         ? DialectSource::declared
                         : DialectSource::none;
      if (found.source == DialectSource::none) continue;
      found.dialect.parallel = n_calls == 2;
      return with_template_habits(std::move(found));
    }
    if (find_derived(reasoning, found.dialect)) {
      found.source = DialectSource::derived;
      return with_template_habits(std::move(found));
    }
    found.source = find_declared(found.dialect) ? DialectSource::declared
                   : find_hinted(found.dialect) ? DialectSource::hinted
                                                : DialectSource::none;
    found.dialect.reasoning = reasoning;
    return found;
  }

 private:
  // What the template writes around calls, and wants of their ids.
  FoundDialect with_template_habits(FoundDialect found) const {
    found.dialect.gap = find_gap();
    found.dialect.has_ids |= refuses_long_ids();
    return found;
  }

  std::span<const ToolDialect> declared_calls() const {
    if (!declared_.calls) return {};
    return {&*declared_.calls, 1};
  }

  // The declared dialect, if it can read what it writes itself.
  bool find_declared(ToolDialect& found) const {
    if (!declared_.calls) return false;
    const std::vector<ToolCall> calls = probe_calls(declared_.calls->parallel ? 2 : 1);
    const auto answer = write_calls(*declared_.calls, calls);
    const ToolParserOptions options = {.tools = ToolSchemas(probe_tools()), .prompt_tail = ""};
    if (!answer || !gives_calls(*declared_.calls, options, *answer, calls)) return false;
    found = *declared_.calls;
    return true;
  }

  std::optional<std::string> rendered(const Json& messages, bool opens) const {
    const Json object = {
        {"messages", messages}, {"tools", probe_tools()}, {"add_generation_prompt", opens}};
    const auto conversation = parse_conversation(object.dump());
    if (!conversation) return std::nullopt;
    RenderOptions options;
    options.max_steps = 1'000'000;
    options.max_output_bytes = 1 << 20;
    const auto chat = render_conversation(template_, options, *conversation);
    if (!chat) return std::nullopt;
    return joined(chat->parts);
  }

  // Whether the template fails for calls and answers with ids of a usual length, as some do that
  // want nine letters and digits.
  bool refuses_long_ids() const {
    const auto renders = [&](const std::string& id) {
      std::vector<ToolCall> calls = probe_calls(1);
      calls[0].id = id;
      const Json user = {{"role", "user"}, {"content", kProbeUser}};
      const Json asks = {{"role", "assistant"},
                         {"content", ""},
                         {"tool_calls", Json::array({call_json(calls[0])})}};
      const Json result = {{"role", "tool"}, {"content", kProbeText}, {"tool_call_id", id}};
      return rendered(Json::array({user, asks, result}), true).has_value();
    };
    return !renders("call_zqcallid1zqcallid1") && renders("zqcallid1");
  }

  std::optional<Probe> answer_of(const std::vector<ToolCall>& calls, const char* content) const {
    const Json user = {{"role", "user"}, {"content", kProbeUser}};
    Json list = Json::array();
    for (const ToolCall& call : calls) list.push_back(call_json(call));
    const Json message = {{"role", "assistant"}, {"content", content}, {"tool_calls", list}};
    const auto whole = rendered(Json::array({user, message}), false);
    const auto prompt = rendered(Json::array({user}), true);
    if (!whole || !prompt) return std::nullopt;
    const auto [in_prompt, in_whole] = std::ranges::mismatch(*prompt, *whole);
    const auto n = static_cast<size_t>(in_prompt - prompt->begin());
    const size_t user_at = whole->rfind(kProbeUser, n);
    const size_t at = n == prompt->size() ? n : outside_mark(*whole, n);
    if (user_at == std::string::npos || at < user_at) return std::nullopt;
    return Probe{whole->substr(user_at, at - user_at), whole->substr(at)};
  }

  // The first dialect by which the rendered calls are the calls that went in.
  static bool find_rendered(std::span<const ToolDialect> known, const Probe& probe, size_t n_calls,
                            const ReasoningMarks& reasoning, ToolDialect& found) {
    const std::vector<ToolCall> calls = probe_calls(n_calls);
    for (const ToolDialect& row : known) {
      ToolDialect dialect = row;
      dialect.reasoning = reasoning;
      const ToolParserOptions options = {.tools = ToolSchemas(probe_tools()),
                                         .prompt_tail = probe.tail};
      if (!gives_calls(dialect, options, probe.answer, calls)) continue;
      found = dialect;
      return true;
    }
    return false;
  }

  // A dialect that is made from the rendered calls and gives them.
  bool find_derived(const ReasoningMarks& reasoning, ToolDialect& found) const {
    const std::vector<ToolCall> calls = probe_calls(2);
    const auto probe = answer_of(calls, "");
    if (!probe) return false;
    auto dialect = derive_dialect(without_reasoning(probe->answer, reasoning), turn_end(), calls);
    if (!dialect) return false;
    dialect->reasoning = reasoning;
    const ToolParserOptions options = {.tools = ToolSchemas(probe_tools()),
                                       .prompt_tail = probe->tail};
    if (!gives_calls(*dialect, options, probe->answer, calls)) return false;
    found = *dialect;
    return true;
  }

  // Templates write empty reasoning before calls.
  static std::string_view without_reasoning(std::string_view answer, const ReasoningMarks& marks) {
    const std::string_view end = mark_core(marks.end);
    if (end.empty()) return answer;
    const size_t at = answer.substr(0, answer.find("zqfirst")).find(end);
    if (at == answer.npos) return answer;
    answer.remove_prefix(at + end.size());
    while (!answer.empty() && is_mark_space(answer.front())) answer.remove_prefix(1);
    return answer;
  }

  // What the template writes after an answer that is text.
  std::string turn_end() const {
    const Json user = {{"role", "user"}, {"content", kProbeUser}};
    const Json answer = {{"role", "assistant"}, {"content", kProbeText}};
    const std::string text = rendered(Json::array({user, answer}), false).value_or("");
    const size_t at = text.rfind(kProbeText);
    return at == text.npos ? std::string() : text.substr(at + std::string(kProbeText).size());
  }

  // … without a warning, and with no text before the last call's end. Members that say nothing,
  // such as ids, may be there.
  static bool gives_calls(const ToolDialect& dialect, const ToolParserOptions& options,
                          std::string_view answer, const std::vector<ToolCall>& calls) {
    ToolParser parser(dialect, options);
    std::vector<ToolDelta> deltas;
    parser.feed(answer, deltas);
    parser.finish(deltas);
    ToolMessage message;
    std::string text_between;
    for (const ToolDelta& delta : deltas) {
      message.add(delta);
      if (delta.kind == ToolDelta::Kind::call_end) text_between = message.content();
    }
    const bool clean = std::ranges::all_of(parser.warnings(), [](const ToolWarning& warning) {
      return warning.kind == ToolWarning::Kind::unknown_member;
    });
    return clean && text_between.empty() && same_calls(message.calls(), calls);
  }

  static bool same_calls(const std::vector<ToolCall>& a, const std::vector<ToolCall>& b) {
    return std::ranges::equal(a, b, [](const ToolCall& x, const ToolCall& y) {
      const auto left = parse_json(x.arguments, "arguments");
      const auto right = parse_json(y.arguments, "arguments");
      return x.name == y.name && left && right && *left == *right;
    });
  }

  bool find_hinted(ToolDialect& found) const {
    for (const ToolDialect& row : known_) {
      const bool hinted =
          !row.hints.empty() && std::ranges::all_of(row.hints, [&](const std::string& hint) {
            return source_.find(hint) != std::string_view::npos;
          });
      if (!hinted) continue;
      found = row;
      return true;
    }
    return false;
  }

  // Marks are in the template's text, or made from parts that are.
  ReasoningMarks find_reasoning() const {
    const Json user = {{"role", "user"}, {"content", kProbeUser}};
    const std::string prompt = rendered(Json::array({user}), true).value_or("");
    const auto in_source = [&](const std::string& mark) {
      const std::string_view core = mark_core(mark);
      return source_.find(core) != std::string_view::npos || prompt.find(core) != prompt.npos;
    };
    for (const ReasoningMarks& marks : reasoning_marks()) {
      if (in_source(marks.begin) && in_source(marks.end)) return marks;
    }
    for (const ReasoningMarks& marks : reasoning_marks()) {
      if (!marks.anywhere && in_source(marks.end)) return marks;
    }
    return declared_.reasoning;
  }

  // Whitespace that the template adds before the first call, unless it trims the text anyway.
  std::string find_gap() const {
    const auto plain = answer_of(probe_calls(1), kProbeText);
    const auto spaced = answer_of(probe_calls(1), (std::string(kProbeText) + "\n").c_str());
    if (!plain || !spaced || plain->answer == spaced->answer) return {};
    const size_t at = plain->answer.find(kProbeText);
    if (at == std::string::npos) return {};
    const std::string_view behind =
        std::string_view(plain->answer).substr(at + std::string_view(kProbeText).size());
    size_t n = 0;
    while (n < behind.size() && (behind[n] == '\n' || behind[n] == ' ')) ++n;
    return std::string(behind.substr(0, n));
  }

  const ChatTemplate& template_;
  std::string_view source_;
  const DeclaredFormat& declared_;
  std::span<const ToolDialect> known_;
};

}  // namespace

FoundDialect find_dialect(const ChatTemplate& chat_template, std::span<const ToolDialect> known) {
  return DialectProbe(chat_template, known).run();
}

std::string prompt_tail(std::span<const RenderedPart> parts) {
  size_t end = parts.size();
  while (end > 0 && parts[end - 1].from_user) --end;
  size_t begin = end;
  while (begin > 0 && !parts[begin - 1].from_user) --begin;
  std::string tail;
  for (; begin < end; ++begin) tail += parts[begin].text;
  if (tail.size() > kMaxTail) tail.erase(0, tail.size() - kMaxTail);
  return tail;
}

}  // namespace ruv
