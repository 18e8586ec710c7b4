#include "tools/command_tool.h"

#include <algorithm>

#include "base/file.h"

namespace ruv {
namespace {

// The signal for more processor time than allowed; SIGKILL follows a program that ignores it.
constexpr int kProcessorTimeSignal = 24;
// The signal for a file larger than allowed.
constexpr int kFileSizeSignal = 25;

// Why the program was stopped or failed; empty: it did neither.
std::string complaint_about(const ProgramOutcome& outcome, const CommandSpec& spec,
                            int64_t timeout_ms) {
  switch (outcome.stop) {
    case ProgramStop::timeout:
      return fmt::format("the program was stopped after {} ms", timeout_ms);
    case ProgramStop::output:
      return fmt::format("the program was stopped because it wrote more than {} bytes",
                         spec.program.max_output_bytes);
    case ProgramStop::memory:
      return fmt::format("the program was stopped because it used more than {} bytes of memory",
                         spec.program.max_memory_bytes);
    case ProgramStop::cancelled:
    case ProgramStop::none:
      break;
  }
  if (outcome.end.ok()) return {};
  // A sandbox reports the signal that ended its program as 128 and its number.
  const int code = outcome.end.exit_code;
  const int signal = code > 128 ? code - 128 : outcome.end.signal;
  if (signal == kProcessorTimeSignal)
    return fmt::format("the program was stopped after {} s of processor time",
                       spec.process.cpu_seconds);
  if (signal == kFileSizeSignal)
    return fmt::format("the program was stopped because a file became larger than {} bytes",
                       spec.process.file_bytes);
  return fmt::format("the program ended with {}", describe(outcome.end));
}

}  // namespace

// A failure of the program is an answer for the model, which may call it otherwise; what the
// program wrote is part of it.
Result<ToolReply> CommandTool::call(const Json& arguments, const ToolCallTerms& terms) {
  ProcessOptions options{
      .argv = spec_.argv, .environment = spec_.environment, .limits = spec_.process};
  if (sandbox_ != nullptr) {
    options = sandbox_->wrap(spec_.sandbox, std::move(options));
  } else {
    options.folder = spec_.sandbox.folder;
  }
  ProgramLimits limits = spec_.program;
  limits.timeout_ms = std::min(limits.timeout_ms, terms.timeout_ms);
  const ProgramOutcome outcome =
      TRY(run_program(options, arguments.dump() + "\n", limits, terms.cancellation));
  if (outcome.stop == ProgramStop::cancelled)
    return fail(Code::cancelled, "the call was cancelled and the program was stopped");
  const std::string complaint = complaint_about(outcome, spec_, limits.timeout_ms);
  if (complaint.empty()) return ToolReply{.text = outcome.output};
  std::string text = "error: " + complaint;
  for (const std::string* said : {&outcome.errors, &outcome.output}) {
    if (!said->empty()) text += "\n" + *said;
  }
  return ToolReply{.text = std::move(text), .is_error = true};
}

Result<std::vector<std::shared_ptr<Tool>>> open_command_tools(const std::string& path,
                                                              bool unsandboxed) {
  std::vector<CommandSpec> specs = TRY(read_command_specs(TRY(read_text_file(path)), path));
  std::shared_ptr<const Sandbox> sandbox;
  if (!unsandboxed) sandbox = std::make_shared<const Sandbox>(TRY(Sandbox::open()));
  std::vector<std::shared_ptr<Tool>> tools;
  tools.reserve(specs.size());
  for (CommandSpec& spec : specs) {
    spec.tool.needs_consent = spec.tool.needs_consent || unsandboxed;
    tools.push_back(std::make_shared<CommandTool>(std::move(spec), sandbox));
  }
  return tools;
}

}  // namespace ruv
