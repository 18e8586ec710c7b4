// ruvllm template: renders conversations with a model's chat template or one from a file, a JSON
// context a line, so that other programs can compare what comes out byte by byte.
#include <chrono>
#include <iostream>

#include "base/file.h"
#include "base/json.h"
#include "chat/chat_template.h"
#include "command_line.h"
#include "commands.h"
#include "iso_time.h"
#include "json_lines.h"
#include "open_model.h"

namespace ruv {
namespace {

struct TemplateCall {
  std::string model;
  std::string file;
  std::string now;
  std::string bos_token;
  std::string eos_token;
  bool jsonl = false;
};

struct TemplateSource {
  std::string text;
  std::string bos_token;
  std::string eos_token;
};

std::string text_of(const TokenizerSpec& spec, std::optional<Token> id) {
  if (!id || *id < 0 || static_cast<size_t>(*id) >= spec.tokens.size()) return "";
  return spec.tokens[static_cast<size_t>(*id)];
}

Result<TemplateSource> template_source(const TemplateCall& call) {
  if (!call.file.empty()) return TemplateSource{TRY(read_text_file(call.file)), "", ""};
  const std::unique_ptr<ModelFile> file = TRY(open_model_file(call.model));
  TemplateSource source{file->chat_template(), "", ""};
  if (source.text.empty())
    return fail(Code::not_found, "{}: the model has no chat template: give one with --file",
                file->path());
  // A tokenizer we cannot run does not hinder rendering; its bos and eos are then empty.
  if (const Result<TokenizerSpec> spec = file->tokenizer_spec()) {
    source.bos_token = text_of(*spec, spec->bos);
    source.eos_token = text_of(*spec, spec->eos);
  }
  return source;
}

int64_t unix_now_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// What transformers' apply_chat_template passes too: tools and documents are none, not undefined,
// and bos_token and eos_token of the context win over the model's.
Result<Json> render_line(const ChatTemplate& chat, RenderOptions options, Json context) {
  for (const char* name : {"tools", "documents"}) {
    if (!context.contains(name)) context[name] = nullptr;
  }
  if (context.contains("bos_token")) options.bos_token = TRY(text_member(context, "bos_token"));
  if (context.contains("eos_token")) options.eos_token = TRY(text_member(context, "eos_token"));
  return Json{{"text", joined(TRY(chat.render(context, options)))}};
}

}  // namespace

int template_command(int argc, char** argv) {
  TemplateCall call;
  CommandLine line("template", "Renders conversations with a chat template.");
  line.text("--model,-m", call.model, kModelHelp);
  line.text("--file,-f", call.file, "Take the template from this file instead of a model");
  line.flag("--jsonl", call.jsonl,
            "Read contexts from stdin, a JSON object with \"messages\" a line; print "
            "{\"text\": …} or {\"error\": …} for each (always so: this is the only form)");
  line.text("--now", call.now, "Time the template sees, like 2025-03-14T15:09:26 (UTC)");
  line.text("--bos-token", call.bos_token, "Text of bos_token; the model's when absent");
  line.text("--eos-token", call.eos_token, "Text of eos_token; the model's when absent");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (line.given("--file") && line.given("--model"))
    return line.wrong_call("give either --model or --file");
  RenderOptions options;
  const Result<int64_t> now = call.now.empty() ? unix_now_s() : parse_iso_time(call.now);
  if (!now) return line.wrong_call("--now: " + now.error().message());
  options.now_unix_s = *now;

  const Result<TemplateSource> source = template_source(call);
  if (!source) return line.failed(source.error());
  options.bos_token = line.given("--bos-token") ? call.bos_token : source->bos_token;
  options.eos_token = line.given("--eos-token") ? call.eos_token : source->eos_token;
  const auto chat = ChatTemplate::parse(source->text);
  // A template that does not parse fails every context, which is what a comparison wants to see.
  answer_json_lines(std::cin, [&](const Json& context) -> Result<Json> {
    if (!chat) return tl::unexpected<Status>(chat.error());
    return render_line(**chat, options, context);
  });
  if (!chat) return line.failed(chat.error());
  return kDone;
}

}  // namespace ruv
