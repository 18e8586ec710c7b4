// Runs tests/cases/schedule/*.txt: each describes limits and requests, and below a line `---` says
// what each step does and when the requests end. RUV_UPDATE=1 writes the lower part anew.
//   max_sequences 2     one of the limits
//   pages 64            of the pool
//   quota 8             pages of each tenant
//   cost 10 1 0         ms of a step, of a row, of a row for 1024 tokens of context
//   request NAME at=0 prompt=9 answer=2 priority=high timeout=500 tenant=t prefix=p:64 drafts=3
//           accepted=2
// A step's rows are NAME:tokens+drafts; equal steps are counted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/test_plan_world.h"

namespace ruv {
namespace {

struct Scenario {
  SchedulerLimits limits;
  StepCost cost{10, 1, 0};
  int64_t n_pages = 1000;
  int64_t quota = 0;
  std::vector<PlanRequest> requests;
};

Priority priority_of(const std::string& name) {
  const std::vector<std::string> names = {"low", "normal", "high", "critical"};
  const auto found = std::ranges::find(names, name);
  EXPECT_NE(found, names.end()) << name;
  return static_cast<Priority>(found - names.begin());
}

PlanRequest parse_request(std::istringstream& line) {
  PlanRequest r;
  line >> r.name;
  for (std::string field; line >> field;) {
    const size_t equals = field.find('=');
    const std::string key = field.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : field.substr(equals + 1);
    const int64_t number = std::atoll(value.c_str());
    if (key == "at") {
      r.at_ms = number;
    } else if (key == "prompt") {
      r.n_prompt = number;
    } else if (key == "answer") {
      r.n_answer = number;
    } else if (key == "priority") {
      r.priority = priority_of(value);
    } else if (key == "timeout") {
      r.timeout_ms = number;
    } else if (key == "tenant") {
      r.tenant = value;
    } else if (key == "prefix") {
      r.prefix = value.substr(0, value.find(':'));
      r.n_prefix = std::atoll(value.substr(value.find(':') + 1).c_str());
    } else if (key == "drafts") {
      r.n_drafts = number;
    } else if (key == "accepted") {
      r.n_accepted = number;
    } else {
      ADD_FAILURE() << "unknown field " << field;
    }
  }
  return r;
}

void parse_line(const std::string& text, Scenario& scenario) {
  std::istringstream line(text);
  std::string key;
  line >> key;
  if (key.empty() || key[0] == '#') return;
  if (key == "request") {
    scenario.requests.push_back(parse_request(line));
  } else if (key == "cost") {
    line >> scenario.cost.fixed_ms >> scenario.cost.row_ms >> scenario.cost.context_ms;
  } else if (key == "pages") {
    line >> scenario.n_pages;
  } else if (key == "quota") {
    line >> scenario.quota;
  } else if (key == "max_sequences") {
    line >> scenario.limits.max_sequences;
  } else if (key == "max_batch_tokens") {
    line >> scenario.limits.max_batch_tokens;
  } else if (key == "ageing_ms") {
    line >> scenario.limits.ageing_ms;
  } else if (key == "step_target") {
    line >> scenario.limits.step_target;
  } else {
    ADD_FAILURE() << "unknown word " << key;
  }
}

std::string line_of_step(const PlanWorld& world) {
  const StepPlan& plan = world.plan();
  const auto n_running = static_cast<int64_t>(world.snapshot().running.size());
  std::string out;
  const auto list = [&](const char* verb, const std::vector<int64_t>& indexes, bool of_running) {
    if (indexes.empty()) return;
    out += fmt::format("  {}", verb);
    for (int64_t i : indexes) {
      out += " " + (of_running ? world.name_of_running(i) : world.name_of_waiting(i));
    }
  };
  list("expire", plan.expire_running, true);
  list("expire", plan.expire_waiting, false);
  list("preempt", plan.preempt, true);
  list("start", plan.start, false);
  for (size_t k = 0; k < plan.rows.size(); ++k) {
    const StepPlan::Rows& rows = plan.rows[k];
    const int64_t started = rows.sequence - n_running;
    out += k == 0 ? "  rows " : " ";
    out += started < 0 ? world.name_of_running(rows.sequence)
                       : world.name_of_waiting(plan.start[static_cast<size_t>(started)]);
    out += fmt::format(":{}", rows.n_tokens);
    if (rows.n_drafts > 0) out += fmt::format("+{}", rows.n_drafts);
  }
  if (!plan.admitting) out += "  (pages are short)";
  return out;
}

std::string trace_of(const Scenario& scenario) {
  PlanWorld world(scenario.limits, scenario.cost, scenario.n_pages, scenario.quota,
                  scenario.requests);
  world.reveal_cost();
  std::string out;
  std::string last;
  int n_equal = 0;
  double began_ms = 0;
  const auto flush = [&] {
    if (n_equal == 0) return;
    out += fmt::format("{:6.0f} ms{}", began_ms, last);
    out += n_equal > 1 ? fmt::format("  x {}\n", n_equal) : "\n";
    n_equal = 0;
  };
  const auto watch = [&] {
    const std::string line = line_of_step(world);
    if (line != last) flush();
    if (n_equal++ == 0) began_ms = world.now_ms();
    last = line;
  };
  for (int step = 0; !world.finished() && step < 10000; ++step) {
    EXPECT_TRUE(world.advance(watch)) << world.failure();
    if (!world.failure().empty()) break;
  }
  EXPECT_TRUE(world.finished());
  flush();
  for (size_t i = 0; i < world.requests().size(); ++i) {
    const PlanOutcome& o = world.outcomes()[i];
    out += fmt::format("{}: first token {} ms, {} {} ms", world.requests()[i].name,
                       o.first_token_ms, o.expired ? "expired" : "end", o.end_ms);
    out += o.n_preempted > 0 ? fmt::format(", preempted {} times\n", o.n_preempted) : "\n";
  }
  return out;
}

class ScheduleCase : public testing::TestWithParam<std::string> {};

TEST_P(ScheduleCase, PlansAsWritten) {
  const std::string path = RUV_SOURCE_DIR "/tests/cases/schedule/" + GetParam();
  std::ifstream file(path);
  std::string upper;
  std::string expected;
  Scenario scenario;
  bool below = false;
  for (std::string line; std::getline(file, line);) {
    if (below) {
      expected += line + "\n";
    } else if (line == "---") {
      below = true;
    } else {
      upper += line + "\n";
      parse_line(line, scenario);
    }
  }
  ASSERT_FALSE(scenario.requests.empty());
  const std::string trace = trace_of(scenario);
  if (std::getenv("RUV_UPDATE") != nullptr) {
    std::ofstream(path) << upper << "---\n" << trace;
  } else {
    EXPECT_EQ(trace, expected);
  }
}

std::vector<std::string> case_files() {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(RUV_SOURCE_DIR "/tests/cases/schedule")) {
    files.push_back(entry.path().filename());
  }
  std::ranges::sort(files);
  return files;
}

INSTANTIATE_TEST_SUITE_P(Files, ScheduleCase, testing::ValuesIn(case_files()),
                         [](const auto& one) { return one.param.substr(0, one.param.find('.')); });

}  // namespace
}  // namespace ruv
