// The door between the engine and the template interpreter.
#include "chat/chat_template.h"

#include <algorithm>

#include "base/json.h"
#include "base/once.h"
#include "chat/jinja/run.h"

namespace ruv {

struct ChatTemplate::Program {
  jinja::TemplateProgram parsed;
  mutable Once asked;
  mutable TemplateCapabilities capabilities;
  std::string source;
  DeclaredFormat declared;
  mutable Once asked_dialect;
  mutable FoundDialect dialect;
};

ChatTemplate::ChatTemplate(std::unique_ptr<const Program> program) : program_(std::move(program)) {}
ChatTemplate::~ChatTemplate() = default;

Result<std::shared_ptr<const ChatTemplate>> ChatTemplate::parse(std::string_view source,
                                                                DeclaredFormat declared) {
  auto parsed = jinja::parse_template(source);
  if (!parsed) return failure(with_context("template", std::move(parsed.error())));
  auto program = std::make_unique<Program>();
  program->parsed = std::move(*parsed);
  program->source = source;
  program->declared = std::move(declared);
  return std::shared_ptr<const ChatTemplate>(new ChatTemplate(std::move(program)));
}

const TemplateCapabilities& ChatTemplate::capabilities() const {
  program_->asked.run([this] {
    program_->capabilities = find_capabilities(*this);
    program_->capabilities.generation_blocks = program_->parsed.has_generation;
  });
  return program_->capabilities;
}

const FoundDialect& ChatTemplate::dialect() const {
  program_->asked_dialect.run([this] { program_->dialect = find_dialect(*this); });
  return program_->dialect;
}

const DeclaredFormat& ChatTemplate::declared() const { return program_->declared; }

std::string_view ChatTemplate::source() const { return program_->source; }

namespace {

// The text in parts of equal marks.
std::vector<RenderedPart> parts_of(const jinja::MarkedText& text,
                                   const std::vector<std::pair<size_t, size_t>>& generations) {
  std::vector<RenderedPart> parts;
  auto range = generations.begin();
  size_t at = 0;
  text.for_each_run([&](std::string_view run, bool from_user) {
    while (!run.empty()) {
      while (range != generations.end() && range->second <= at) ++range;
      const bool assistant = range != generations.end() && range->first <= at;
      size_t size = run.size();
      if (range != generations.end())
        size = std::min(size, (assistant ? range->second : range->first) - at);
      parts.push_back({std::string(run.substr(0, size)), from_user, assistant});
      run.remove_prefix(size);
      at += size;
    }
  });
  return parts;
}

Result<std::vector<RenderedPart>> run_program(const jinja::TemplateProgram& program,
                                              const Json& context, const RenderOptions& options) {
  using jinja::Datum;
  if (!context.is_object())
    return fail(Code::invalid, "the context must be an object, not {}", context.type_name());
  jinja::RenderMeter meter(options.max_steps, options.max_output_bytes);
  jinja::TemplateRun run(program, meter, options.now_unix_s);
  run.define("bos_token", Datum::text(options.bos_token));
  run.define("eos_token", Datum::text(options.eos_token));
  // Templates test "tools is not none", so these exist even when the caller sets none.
  run.define("tools", Datum::none());
  run.define("documents", Datum::none());
  // The context is the caller's; only what the template does with it is limited.
  jinja::RenderMeter unlimited(INT64_MAX, INT64_MAX);
  for (const auto& [name, value] : context.items()) {
    if (run.mentions(name)) run.define(name, TRY(jinja::datum_from_json(value, unlimited)));
  }
  const jinja::MarkedText text = TRY(run.render());
  return parts_of(text, run.generations());
}

}  // namespace

Result<std::vector<RenderedPart>> ChatTemplate::render(const Json& context,
                                                       const RenderOptions& options) const {
  auto parts = run_program(program_->parsed, context, options);
  if (!parts) return failure(with_context("template", std::move(parts.error())));
  return parts;
}

std::string joined(const std::vector<RenderedPart>& parts) {
  std::string out;
  for (const RenderedPart& part : parts) out += part.text;
  return out;
}

}  // namespace ruv
