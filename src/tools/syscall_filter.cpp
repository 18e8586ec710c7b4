#include "tools/syscall_filter.h"

#include <array>
#include <cstring>
#include <span>
#include <vector>

namespace ruv {
namespace {

// The kernel's numbers of a call; -1: that processor has none.
struct ClosedCall {
  int x86_64;
  int aarch64;
};

constexpr ClosedCall kClosedCalls[] = {
    {101, 117},  // ptrace
    {310, 270},  // process_vm_readv
    {311, 271},  // process_vm_writev
    {438, 438},  // pidfd_getfd
    {312, 272},  // kcmp
    {165, 40},   // mount
    {166, 39},   // umount2
    {155, 41},   // pivot_root
    {161, 51},   // chroot
    {428, 428},  // open_tree
    {429, 429},  // move_mount
    {430, 430},  // fsopen
    {431, 431},  // fsconfig
    {432, 432},  // fsmount
    {433, 433},  // fspick
    {442, 442},  // mount_setattr
    {303, 264},  // name_to_handle_at
    {304, 265},  // open_by_handle_at
    {272, 97},   // unshare
    {308, 268},  // setns
    {250, 219},  // keyctl
    {248, 217},  // add_key
    {249, 218},  // request_key
    {321, 280},  // bpf
    {298, 241},  // perf_event_open
    {323, 282},  // userfaultfd
    {425, 425},  // io_uring_setup
    {426, 426},  // io_uring_enter
    {427, 427},  // io_uring_register
    {246, 104},  // kexec_load
    {320, 294},  // kexec_file_load
    {175, 105},  // init_module
    {313, 273},  // finit_module
    {176, 106},  // delete_module
    {167, 224},  // swapon
    {168, 225},  // swapoff
    {169, 142},  // reboot
    {164, 170},  // settimeofday
    {227, 112},  // clock_settime
    {305, 266},  // clock_adjtime
    {159, 171},  // adjtimex
    {163, 89},   // acct
    {179, 60},   // quotactl
    {443, 443},  // quotactl_fd
    {212, 18},   // lookup_dcookie
    {153, 58},   // vhangup
    {103, 116},  // syslog
    {180, 42},   // nfsservctl
    {135, 92},   // personality
    {300, 262},  // fanotify_init
    {256, 238},  // migrate_pages
    {279, 239},  // move_pages
    {170, 161},  // sethostname
    {171, 162},  // setdomainname
    {172, -1},   // iopl
    {173, -1},   // ioperm
    {154, -1},   // modify_ldt
    {134, -1},   // uselib
};
constexpr ClosedCall kClone{56, 220};
constexpr ClosedCall kClone3{435, 435};
constexpr ClosedCall kIoctl{16, 29};
constexpr ClosedCall kSocket{41, 198};

// New namespaces of every kind that clone has a flag for.
constexpr uint32_t kNamespaceFlags = 0x7E020000;
// Typing into a terminal: TIOCSTI, TIOCLINUX.
constexpr std::array<uint32_t, 2> kClosedRequests = {0x5412, 0x541C};
// AF_UNIX, AF_INET, AF_INET6, AF_NETLINK.
constexpr std::array<uint32_t, 4> kOpenSockets = {1, 2, 10, 16};
// Calls of x86's ABI with 32-bit pointers have this bit; none of them is needed.
constexpr uint32_t kOtherAbi = 0x40000000;

// Offsets in the kernel's struct seccomp_data, on a little-endian machine.
constexpr uint32_t kNumber = 0;
constexpr uint32_t kProcessor = 4;
constexpr uint32_t kFirstArgument = 16;
constexpr uint32_t kSecondArgument = 24;

constexpr uint32_t kAllow = 0x7FFF0000;
constexpr uint32_t kKill = 0x80000000;
constexpr uint32_t kNotPermitted = 0x00050000 | 1;
constexpr uint32_t kNoSuchCall = 0x00050000 | 38;
constexpr uint32_t kNoSuchFamily = 0x00050000 | 97;

// One instruction of classic BPF.
struct FilterInstruction {
  enum Code : uint16_t {
    load = 0x20,
    if_equal = 0x15,
    if_at_least = 0x35,
    if_any_bit = 0x45,
    answer = 0x06,
  };
  uint16_t code;
  uint8_t if_true;  // instructions to skip
  uint8_t if_false;
  uint32_t value;
};
static_assert(sizeof(FilterInstruction) == 8);

// Each test is followed by what is done when it is met, and skips that otherwise: no part needs to
// know where others are.
class FilterWriter {
 public:
  void load(uint32_t offset) { steps_.push_back({FilterInstruction::load, 0, 0, offset}); }
  void answer(uint32_t value) { steps_.push_back({FilterInstruction::answer, 0, 0, value}); }
  // What `then` does, if the loaded value fulfils the test.
  void when(FilterInstruction::Code test, uint32_t value, const FilterWriter& then) {
    steps_.push_back({test, 0, static_cast<uint8_t>(then.steps_.size()), value});
    steps_.insert(steps_.end(), then.steps_.begin(), then.steps_.end());
  }
  void answer_when(FilterInstruction::Code test, uint32_t value, uint32_t answer) {
    FilterWriter then;
    then.answer(answer);
    when(test, value, then);
  }
  std::string bytes() const {
    std::string out(steps_.size() * sizeof(FilterInstruction), '\0');
    std::memcpy(out.data(), steps_.data(), out.size());
    return out;
  }

 private:
  std::vector<FilterInstruction> steps_;
};

// The answer to one call: `when_met` if the argument at the offset fulfils the test with one of the
// values, else `otherwise`.
struct ArgumentRule {
  ClosedCall call;
  uint32_t argument;
  FilterInstruction::Code test;
  std::span<const uint32_t> values;
  uint32_t when_met;
  uint32_t otherwise;
};

constexpr ArgumentRule kArgumentRules[] = {
    {kClone,
     kFirstArgument,
     FilterInstruction::if_any_bit,
     {&kNamespaceFlags, 1},
     kNotPermitted,
     kAllow},
    {kIoctl, kSecondArgument, FilterInstruction::if_equal, kClosedRequests, kNotPermitted, kAllow},
    {kSocket, kFirstArgument, FilterInstruction::if_equal, kOpenSockets, kAllow, kNoSuchFamily},
};

FilterWriter steps_of(const ArgumentRule& rule) {
  FilterWriter steps;
  steps.load(rule.argument);
  for (const uint32_t value : rule.values) steps.answer_when(rule.test, value, rule.when_met);
  steps.answer(rule.otherwise);
  return steps;
}

// The call's number there; negative: it has none.
int number_on(FilterProcessor processor, const ClosedCall& call) {
  return processor == FilterProcessor::x86_64 ? call.x86_64 : call.aarch64;
}

}  // namespace

Result<FilterProcessor> this_processor() {
#if defined(__x86_64__) && !defined(__ILP32__)
  return FilterProcessor::x86_64;
#elif defined(__aarch64__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  return FilterProcessor::aarch64;
#else
  return fail(Code::unsupported, "sandbox: there is no filter of system calls for this processor");
#endif
}

std::string syscall_filter(FilterProcessor processor) {
  const bool is_x86 = processor == FilterProcessor::x86_64;
  FilterWriter calls;
  calls.load(kNumber);
  if (is_x86) calls.answer_when(FilterInstruction::if_at_least, kOtherAbi, kNotPermitted);
  for (const ClosedCall& call : kClosedCalls) {
    const int number = number_on(processor, call);
    if (number < 0) continue;
    calls.answer_when(FilterInstruction::if_equal, static_cast<uint32_t>(number), kNotPermitted);
  }
  const auto clone3 = static_cast<uint32_t>(number_on(processor, kClone3));
  calls.answer_when(FilterInstruction::if_equal, clone3, kNoSuchCall);
  for (const ArgumentRule& rule : kArgumentRules) {
    const auto number = static_cast<uint32_t>(number_on(processor, rule.call));
    calls.when(FilterInstruction::if_equal, number, steps_of(rule));
  }
  calls.answer(kAllow);

  FilterWriter out;
  out.load(kProcessor);
  out.when(FilterInstruction::if_equal, is_x86 ? 0xC000003E : 0xC00000B7, calls);
  out.answer(kKill);
  return out.bytes();
}

}  // namespace ruv
