// Systems without keyrings: a key is refused by name, not looked for elsewhere.
#include "base/user_keyring.h"

namespace ruv {

Result<std::string> read_user_key(const std::string& name) {
  return fail(Code::unsupported, "keyring:{}: only Linux keeps keys for programs", name);
}

}  // namespace ruv
