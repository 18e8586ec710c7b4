// Linux's keyrings by system calls, as the C library has none for them. Other systems of POSIX keep
// keys for programs of their own, and are refused.
#include "base/user_keyring.h"

#ifdef __linux__
#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cerrno>

namespace ruv {
#ifdef __linux__
namespace {

tl::unexpected<Status> keyring_failure(const std::string& name, int error) {
  switch (error) {
    case ENOKEY:
      return fail(Code::not_found, "keyring:{}: no such key; `keyctl add user {} … @u` adds one",
                  name, name);
    case EACCES:
      return fail(Code::invalid, "keyring:{}: the key may not be read by this process", name);
    case EKEYEXPIRED:
    case EKEYREVOKED:
      return fail(Code::invalid, "keyring:{}: the key has expired or was revoked", name);
    default:
      return fail(Code::unsupported, "keyring:{}: this system keeps no keys (error {})", name,
                  error);
  }
}

}  // namespace

// The process's own keyrings come first, as what is found there may be read by possession.
Result<std::string> read_user_key(const std::string& name) {
  long key = ::syscall(SYS_request_key, "user", name.c_str(), nullptr, 0);
  if (key < 0 && errno == ENOKEY) {
    key = ::syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", name.c_str(), 0);
  }
  if (key < 0) return keyring_failure(name, errno);
  std::string payload(4096, '\0');
  const long n = ::syscall(SYS_keyctl, KEYCTL_READ, key, payload.data(), payload.size());
  if (n < 0) return keyring_failure(name, errno);
  if (n > static_cast<long>(payload.size())) {
    return fail(Code::invalid, "keyring:{}: {} bytes are too many for a key", name, n);
  }
  payload.resize(static_cast<size_t>(n));
  return payload;
}
#else
Result<std::string> read_user_key(const std::string& name) {
  return fail(Code::unsupported, "keyring:{}: only Linux keeps keys for programs", name);
}
#endif

}  // namespace ruv
