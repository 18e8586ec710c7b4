// In test binaries that tools/mutate builds: writes for each test its milliseconds and the faults
// that it reaches, its suite's set-up included, to the file RUV_MUTANT_TRACE names.
#include <gtest/gtest.h>

#include <bitset>
#include <cstdlib>
#include <fstream>

#include "mutation/chosen.h"

namespace ruv::mutation {
namespace {

class Trace final : public testing::EmptyTestEventListener {
 public:
  explicit Trace(const char* path) : out_(path, std::ios::app) {}

  void OnTestSuiteStart(const testing::TestSuite& /*suite*/) override { of_suite_ = taken(); }
  void OnTestStart(const testing::TestInfo& /*test*/) override { of_suite_ |= taken(); }
  void OnTestEnd(const testing::TestInfo& test) override {
    const Ids ids = of_suite_ | taken();
    out_ << test.test_suite_name() << '.' << test.name() << '\t' << test.result()->elapsed_time()
         << '\t' << test.result()->Failed() << '\t';
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i]) out_ << i << ' ';
    }
    out_ << std::endl;
  }

 private:
  using Ids = std::bitset<kMaxMutants>;

  static Ids taken() {
    Ids ids;
    for (size_t i = 0; i < ids.size(); ++i) {
      ids[i] = reached[i].exchange(false, std::memory_order_relaxed);
    }
    return ids;
  }

  std::ofstream out_;
  Ids of_suite_;
};

const bool traced = [] {
  const char* const path = std::getenv("RUV_MUTANT_TRACE");
  if (path != nullptr) testing::UnitTest::GetInstance()->listeners().Append(new Trace(path));
  return path != nullptr;
}();

}  // namespace
}  // namespace ruv::mutation
