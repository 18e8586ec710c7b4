#include "base/user_keyring.h"

#include <gtest/gtest.h>

#ifdef __linux__
#include <linux/keyctl.h>
#include <sys/syscall.h>
#endif
#include <unistd.h>

namespace ruv {
namespace {

TEST(UserKeyring, NamesAKeyThatIsNotThere) {
  const auto key = read_user_key("ruvllm-test-no-such-key");
  ASSERT_FALSE(key);
  const Code code = key.error().code();
  EXPECT_TRUE(code == Code::not_found || code == Code::unsupported) << key.error().message();
  EXPECT_NE(key.error().message().find("keyring:ruvllm-test-no-such-key"), std::string::npos);
}

#ifdef __linux__
TEST(UserKeyring, ReadsAKeyOfTheProcess) {
  const std::string name = "ruvllm-test-" + std::to_string(::getpid());
  const std::string payload = "0123456789abcdef";
  const long key = ::syscall(SYS_add_key, "user", name.c_str(), payload.data(), payload.size(),
                             KEY_SPEC_PROCESS_KEYRING);
  if (key < 0) GTEST_SKIP() << "the system keeps no keys for this process";
  EXPECT_EQ(read_user_key(name), payload);
  EXPECT_EQ(::syscall(SYS_keyctl, KEYCTL_REVOKE, key), 0);
  EXPECT_FALSE(read_user_key(name));
}
#endif

}  // namespace
}  // namespace ruv
