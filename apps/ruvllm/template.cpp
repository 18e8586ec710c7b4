// ruvllm template: a chat template from a model or a file: what it can show, what it makes of
// messages, and where it fails. With --jsonl other programs compare what comes out byte by byte.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iostream>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "chat/chat_template.h"
#include "chat/read_conversation.h"
#include "chat/rendered_chat.h"
#include "command_line.h"
#include "commands.h"
#include "iso_time.h"
#include "json_lines.h"
#include "open_model.h"
#include "standard_input.h"

namespace ruv {
namespace {

struct TemplateCall {
  std::string model;
  std::string file;
  std::string messages;
  std::string now;
  std::string bos_token;
  std::string eos_token;
  bool jsonl = false;
  bool json = false;
};

struct TemplateSource {
  std::string name;  // the file it comes from
  std::string text;
  std::string bos_token;
  std::string eos_token;
  DeclaredFormat declared = {};
  Status unused_response_template = {};
};

std::string text_of(const TokenizerSpec& spec, std::optional<Token> id) {
  if (!id || *id < 0 || static_cast<size_t>(*id) >= spec.tokens.size()) return "";
  return spec.tokens[static_cast<size_t>(*id)];
}

Result<TemplateSource> template_source(const TemplateCall& call) {
  if (!call.file.empty()) return TemplateSource{call.file, TRY(read_text_file(call.file)), "", ""};
  const std::unique_ptr<ModelFile> file = TRY(open_model_file(call.model));
  TemplateSource source{file->path(), file->chat_template(), "", ""};
  if (source.text.empty())
    return fail(Code::not_found, "{}: the model has no chat template: give one with --file",
                file->path());
  if (auto declared = read_response_template(file->response_template())) {
    source.declared = std::move(*declared);
  } else {
    source.unused_response_template = declared.error();
  }
  // A tokenizer we cannot run does not hinder rendering; its bos and eos are then empty.
  if (const Result<TokenizerSpec> spec = file->tokenizer_spec()) {
    source.bos_token = text_of(*spec, spec->bos);
    source.eos_token = text_of(*spec, spec->eos);
  }
  return source;
}

// What transformers' apply_chat_template passes too: tools and documents are none, not undefined,
// and bos_token and eos_token of the context win over the model's.
Result<std::vector<RenderedPart>> render_context(const ChatTemplate& chat, RenderOptions options,
                                                 Json context) {
  for (const char* name : {"tools", "documents"}) {
    if (!context.contains(name)) context[name] = nullptr;
  }
  // A null stays one, as in Python.
  const auto gives = [&](const char* name) {
    return context.contains(name) && !context[name].is_null();
  };
  if (gives("bos_token")) options.bos_token = TRY(text_member(context, "bos_token"));
  if (gives("eos_token")) options.eos_token = TRY(text_member(context, "eos_token"));
  return chat.render(context, options);
}

Result<Json> render_line(const ChatTemplate& chat, const RenderOptions& options,
                         const Json& context) {
  const std::vector<RenderedPart> parts = TRY(render_context(chat, options, context));
  return Json{{"text", joined(parts)}};
}

// An array is what a client sends to a server, and is fitted to the template as a server does; an
// object is the template's context, unchanged.
Result<std::vector<RenderedPart>> render_given(const ChatTemplate& chat,
                                               const RenderOptions& options, const Json& given) {
  if (given.is_array()) {
    auto messages = read_messages(given);
    if (!messages) return tl::unexpected<Status>(status_of(messages.error()));
    return TRY(render_conversation(chat, options, {std::move(*messages)})).parts;
  }
  if (!given.is_object())
    return fail(Code::invalid, "expected an array of messages or an object with \"messages\"");
  return render_context(chat, options, given);
}

// The number after `word` in a message such as "line 3, column 7: …".
std::optional<size_t> number_after(std::string_view message, std::string_view word) {
  const size_t at = message.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  size_t value = 0;
  const char* begin = message.data() + at + word.size();
  const auto [end, code] = std::from_chars(begin, message.data() + message.size(), value);
  if (code != std::errc() || end == begin) return std::nullopt;
  return value;
}

// Line `number` of the template, which counts from 1. Line breaks are \n, \r\n or \r.
std::string_view line_of(std::string_view source, size_t number) {
  while (--number > 0) {
    const size_t end = source.find_first_of("\r\n");
    if (end == std::string_view::npos) return {};
    const bool two = source.substr(end).starts_with("\r\n");
    source.remove_prefix(end + (two ? 2 : 1));
  }
  return source.substr(0, source.find_first_of("\r\n"));
}

// The place that an error names, with a caret under it; empty when it names none.
std::string shown_place(std::string_view source, std::string_view message) {
  const auto line = number_after(message, "line ");
  const auto column = number_after(message, "column ");
  if (!line || !column || *line == 0 || *column == 0) return "";
  const std::string_view text = line_of(source, *line);
  const size_t at = std::min(*column - 1, text.size());
  // Templates are often a single line of thousands of characters.
  constexpr size_t kAround = 60;
  const auto inside_character = [&](size_t i) {
    return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80;
  };
  size_t begin = at > kAround ? at - kAround : 0;
  size_t end = std::min(at + kAround, text.size());
  while (inside_character(begin)) ++begin;
  while (inside_character(end)) ++end;
  std::string before;
  for (size_t i = begin; i < at; ++i)
    if (!inside_character(i)) before += text[i] == '\t' ? '\t' : ' ';
  const std::string label = fmt::format("{:>5} | ", *line);
  const std::string_view head = begin > 0 ? "… " : "";
  return fmt::format("{}{}{}{}\n{:>5} | {}{}^\n", label, head, text.substr(begin, end - begin),
                     end < text.size() ? " …" : "", "", begin > 0 ? "  " : "", before);
}

int failed_with_place(const CommandLine& line, const TemplateSource& source, const Status& status) {
  const int code = line.failed(with_context(source.name, status));
  std::cerr << to_valid_utf8(shown_place(source.text, status.message()));
  return code;
}

std::string yes_or_no(bool yes) { return yes ? "yes" : "no"; }

void row(const char* name, std::string_view value) {
  std::cout << fmt::format("{:<22} {}\n", name, to_valid_utf8(value));
}

void print_capabilities(const TemplateCapabilities& can) {
  const auto name_or_no = [](const std::string& name) { return name.empty() ? "no" : name; };
  const auto either = [](bool a, const char* first, bool b, const char* second) -> std::string {
    if (a && b) return fmt::format("{} or {}", first, second);
    return a ? first : b ? second : "none";
  };
  row("renders", can.needs_tools ? "only with tools" : yes_or_no(can.renders));
  row("content", either(can.content_text, "text", can.content_parts, "parts"));
  row("images", yes_or_no(can.images));
  row("system role", yes_or_no(can.system_role));
  row("tools", yes_or_no(can.tools));
  row("tool calls", can.parallel_tool_calls ? "several in a message" : yes_or_no(can.tool_calls));
  if (can.tool_calls) {
    row("  arguments as", either(can.arguments_object, "object", can.arguments_text, "JSON text"));
    row("  content beside them", can.calls_need_null_content   ? "null"
                                 : can.calls_need_text_content ? "text"
                                                               : "text or null");
  }
  row("tool results", yes_or_no(can.tool_results));
  row("reasoning shown from", name_or_no(can.reasoning_field));
  row("thinking switch", name_or_no(can.thinking_switch));
  row("reasoning effort", yes_or_no(can.reasoning_effort));
  row("generation prompt", yes_or_no(can.generation_prompt));
  row("alternating roles", yes_or_no(can.alternating_roles));
  row("writes bos", yes_or_no(can.writes_bos));
  row("generation blocks", yes_or_no(can.generation_blocks));
}

// Where the form of calls is known from.
std::string_view source_name(DialectSource source) {
  switch (source) {
    case DialectSource::rendered:
      return "as the template writes them";
    case DialectSource::derived:
      return "made from what the template writes";
    case DialectSource::declared:
      return "from the response template";
    case DialectSource::hinted:
      return "from marks in the template's text";
    case DialectSource::none:
      break;
  }
  return "unknown";
}

void print_answer_format(const FoundDialect& found) {
  const bool has_calls = found.source != DialectSource::none;
  row("calls in answers", has_calls
                              ? fmt::format("{}, {}", found.dialect.name, source_name(found.source))
                              : std::string("unknown"));
  const std::string_view end = mark_core(found.dialect.reasoning.end);
  row("reasoning ends with", end.empty() ? "no mark" : end);
}

int show_capabilities(const TemplateCall& call, const ChatTemplate& chat) {
  const FoundDialect& found = chat.dialect();
  if (call.json) {
    Json shown = to_json(chat.capabilities());
    shown["calls_in_answers"] = {{"format", found.dialect.name},
                                 {"found", source_name(found.source)}};
    shown["reasoning_end"] = mark_core(found.dialect.reasoning.end);
    print_json_line(shown);
  } else {
    print_capabilities(chat.capabilities());
    print_answer_format(found);
  }
  return kDone;
}

Result<std::string> messages_text(const std::string& path) {
  if (path != "-") return read_text_file(path);
  return read_stdin();
}

int render_messages(const CommandLine& line, const TemplateCall& call, const TemplateSource& source,
                    const ChatTemplate& chat, const RenderOptions& options) {
  const std::string where = call.messages == "-" ? "stdin" : call.messages;
  const Result<std::string> text = messages_text(call.messages);
  if (!text) return line.failed(text.error());
  const Result<Json> given = parse_json(*text, where);
  if (!given) return line.failed(given.error());
  const auto parts = render_given(chat, options, *given);
  if (!parts) {
    // Only the template's own errors have a place in it.
    if (parts.error().message().starts_with("template: "))
      return failed_with_place(line, source, parts.error());
    return line.failed(with_context(where, parts.error()));
  }
  if (!call.json) {
    std::cout << joined(*parts) << std::flush;
    return kDone;
  }
  Json shown = Json::array();
  for (const RenderedPart& part : *parts)
    shown.push_back(
        {{"text", part.text}, {"from_user", part.from_user}, {"assistant", part.assistant}});
  print_json_line({{"text", joined(*parts)}, {"parts", std::move(shown)}});
  return kDone;
}

int answer_lines(const CommandLine& line, const TemplateSource& source,
                 const Result<std::shared_ptr<const ChatTemplate>>& chat,
                 const RenderOptions& options) {
  // A template that does not parse fails every context, which is what a comparison wants to see.
  answer_json_lines(std::cin, [&](const Json& context) -> Result<Json> {
    if (!chat) return tl::unexpected<Status>(chat.error());
    return render_line(**chat, options, context);
  });
  if (!chat) return failed_with_place(line, source, chat.error());
  return kDone;
}

}  // namespace

int template_command(int argc, char** argv) {
  TemplateCall call;
  CommandLine line("template",
                   "Shows what a chat template can do; with --messages, what it makes of them.");
  line.example("ruvllm template -m qwen.gguf", "Whether it knows tools, system messages, thinking");
  line.alternatives({"--file", "--model"});
  line.text("--model,-m", call.model, kModelHelp);
  line.text("--file,-f", call.file, "Take the template from this file instead of a model");
  line.text("--messages", call.messages,
            "Render this JSON file (- is stdin): an array of messages as clients send them, or an "
            "object with every variable of the template");
  line.flag("--json", call.json,
            "Print JSON: what it can do, or the text and which parts of it came from the user and "
            "from generation blocks");
  line.flag("--jsonl", call.jsonl,
            "Read contexts from stdin, a JSON object with \"messages\" a line; print "
            "{\"text\": …} or {\"error\": …} for each");
  line.text("--now", call.now, "Time the template sees, like 2025-03-14T15:09:26 (UTC)");
  line.text("--bos-token", call.bos_token, "Text of bos_token; the model's when absent");
  line.text("--eos-token", call.eos_token, "Text of eos_token; the model's when absent");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (line.given("--file") && line.given("--model"))
    return line.wrong_call("give either --model or --file");
  if (call.jsonl && (line.given("--messages") || call.json))
    return line.wrong_call("--jsonl goes with neither --messages nor --json");
  RenderOptions options;
  const Result<int64_t> now = call.now.empty() ? unix_seconds() : parse_iso_time(call.now);
  if (!now) return line.wrong_call("--now: " + now.error().message());
  options.now_unix_s = *now;

  const Result<TemplateSource> source = template_source(call);
  if (!source) return line.failed(source.error());
  options.bos_token = line.given("--bos-token") ? call.bos_token : source->bos_token;
  options.eos_token = line.given("--eos-token") ? call.eos_token : source->eos_token;
  const auto chat = ChatTemplate::parse(source->text, source->declared);
  if (call.jsonl) return answer_lines(line, *source, chat, options);
  if (!chat) return failed_with_place(line, *source, chat.error());
  if (!source->unused_response_template.ok()) {
    std::cerr << to_valid_utf8(
        fmt::format("not used: {}\n", source->unused_response_template.message()));
  }
  if (line.given("--messages")) return render_messages(line, call, *source, **chat, options);
  return show_capabilities(call, **chat);
}

}  // namespace ruv
