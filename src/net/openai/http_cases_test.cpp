// Runs tests/cases/http/*.json: each case sends one request to a real server over TCP and compares
// the whole answer. RUV_UPDATE=1 rewrites the expectations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "net/openai/test_case_server.h"

namespace ruv {
namespace {

bool updating() { return std::getenv("RUV_UPDATE") != nullptr; }

class HttpCases : public ::testing::TestWithParam<std::string> {
 protected:
  CaseMemory memory_;
  CaseServer server_{nullptr, nullptr, "", memory_.get()};
};

TEST_P(HttpCases, EveryAnswerIsAsWritten) {
  const std::string path = RUV_SOURCE_DIR "/tests/cases/http/" + GetParam();
  auto cases = *parse_json(*read_text_file(path), path);
  for (Json& one : cases) {
    const Json answer = server_.answer(one);
    if (updating()) {
      one["answer"] = answer;
      continue;
    }
    EXPECT_EQ(one.value("answer", Json()), answer)
        << one.at("name") << "\nexpected: " << one.value("answer", Json()).dump(1)
        << "\ncame: " << answer.dump(1);
  }
  if (updating()) std::ofstream(path) << cases.dump(1) << "\n";
}

std::vector<std::string> case_files() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(RUV_SOURCE_DIR "/tests/cases/http")) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Files, HttpCases, ::testing::ValuesIn(case_files()), [](const auto& info) {
  return info.param.substr(0, info.param.find('.'));
});

}  // namespace
}  // namespace ruv
