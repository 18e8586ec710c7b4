#include "train_log.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "base/file.h"
#include "loss_plot.h"
#include "output_file.h"
#include "terminal.h"
#include "transfer_progress.h"

namespace ruv {
namespace {

constexpr std::string_view kCsvHead = "step,loss,gradient_norm,rate,tokens,seconds\n";
constexpr int64_t kRedrawNs = 250'000'000;
constexpr size_t kPlotLines = 8;

// The lines of an earlier log up to a step, its head included.
Result<std::string> kept_lines(const std::string& path, int64_t last_step) {
  const std::string text = TRY(read_text_file(path));
  if (!text.starts_with(kCsvHead)) {
    return fail(Code::invalid, "{}: is not the log of a training run", path);
  }
  std::string kept(kCsvHead);
  for (size_t at = kept.size(); at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = std::string_view(text).substr(at, end - at);
    int64_t step = 0;
    const auto [after, error] = std::from_chars(line.data(), line.data() + line.size(), step);
    if (error != std::errc() || step > last_step || !line.ends_with('\n')) break;
    kept += line;
    at = end;
  }
  return kept;
}

}  // namespace

TrainLog::TrainLog(int64_t first_step, int64_t n_steps)
    : first_step_(first_step),
      n_steps_(n_steps),
      redraws_(can_redraw(stderr) && !is_quiet()),
      start_ns_(clock_.now_ns()) {}

// What may be written over is asked of the same function as for other files, which then is made
// longer with each step, so that a run that is killed leaves its lines.
Status TrainLog::open(const TrainLogFiles& files, const Model& model) {
  if (!files.csv.empty()) {
    const bool continues = files.continues && file_exists(files.csv);
    const std::string head =
        continues ? TRY(kept_lines(files.csv, first_step_)) : std::string(kCsvHead);
    FileWriter file =
        TRY(create_output(files.csv, files.replaces || continues, model, *files.input));
    TRY(file.write(as_bytes(head)));
    TRY(file.commit());
    csv_.emplace(TRY(AppendFile::open(files.csv)));
  }
  if (!files.events.empty()) {
    events_.emplace(TRY(EventFile::create(files.events, first_step_ + 1)));
  }
  return {};
}

Status TrainLog::add(const StepReport& report) {
  n_tokens_ += report.n_targets;
  const double seconds = static_cast<double>(clock_.now_ns() - start_ns_) * 1e-9;
  if (!is_quiet()) show(report, seconds);
  if (csv_) {
    TRY(csv_->append(
        {as_bytes(fmt::format("{},{},{},{},{},{:.3f}\n", report.step, report.loss,
                              report.gradient_norm, report.rate, report.n_targets, seconds))}));
  }
  if (!events_) return {};
  const std::array<EventNumber, 4> numbers = {
      {{"train/loss", report.loss},
       {"train/gradient_norm", report.gradient_norm},
       {"train/rate", report.rate},
       {"train/tokens_per_second", static_cast<double>(n_tokens_) / seconds}}};
  return events_->add(report.step, numbers);
}

void TrainLog::show(const StepReport& report, double seconds) {
  const auto n_done = static_cast<double>(report.step - first_step_);
  const double left = seconds / n_done * static_cast<double>(n_steps_ - report.step);
  last_line_ =
      fmt::format("step {}/{}: loss {:.4f}, {:.1f} tokens/s, {} left", report.step, n_steps_,
                  report.loss, static_cast<double>(n_tokens_) / seconds, readable_seconds(left));
  if (!redraws_) {
    fmt::print(stderr, "{}\n", last_line_);
    return;
  }
  losses_.push_back(report.loss);
  const int64_t now = clock_.now_ns();
  if (was_drawn_ && now - drawn_ns_ < kRedrawNs) return;
  drawn_ns_ = now;
  draw(last_line_);
}

void TrainLog::draw(const std::string& line) {
  if (was_drawn_) fmt::print(stderr, "\x1b[{}A", kPlotLines + 1);
  was_drawn_ = true;
  for (const std::string& row : loss_plot(losses_, text_width(), kPlotLines)) {
    fmt::print(stderr, "\r\x1b[K{}\n", row);
  }
  fmt::print(stderr, "\r\x1b[K{}\n", line);
}

void TrainLog::close() {
  if (redraws_ && !losses_.empty()) draw(last_line_);
}

}  // namespace ruv
