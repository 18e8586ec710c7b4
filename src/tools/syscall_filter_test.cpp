#include "tools/syscall_filter.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <cstring>
#include <vector>

namespace ruv {
namespace {

// The answer of the program to one call, as the kernel would compute it.
uint32_t answer_to(const std::string& program, const seccomp_data& call) {
  std::vector<sock_filter> steps(program.size() / sizeof(sock_filter));
  std::memcpy(steps.data(), program.data(), program.size());
  uint32_t loaded = 0;
  for (size_t at = 0; at < steps.size(); ++at) {
    const sock_filter& step = steps[at];
    bool holds = false;
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&loaded, reinterpret_cast<const char*>(&call) + step.k, sizeof(loaded));
        continue;
      case BPF_RET | BPF_K:
        return step.k;
      case BPF_JMP | BPF_JEQ | BPF_K:
        holds = loaded == step.k;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        holds = loaded >= step.k;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        holds = (loaded & step.k) != 0;
        break;
      default:
        ADD_FAILURE() << "unknown instruction " << step.code;
        return 0;
    }
    at += holds ? step.jt : step.jf;
  }
  ADD_FAILURE() << "no answer";
  return 0;
}

constexpr uint32_t kX86 = 0xC000003E;
constexpr uint32_t kArm = 0xC00000B7;
constexpr uint32_t kDenied = SECCOMP_RET_ERRNO | 1;

seccomp_data call_of(uint32_t processor, int number, uint64_t first = 0, uint64_t second = 0) {
  return {number, processor, 0, {first, second, 0, 0, 0, 0}};
}

TEST(SyscallFilter, ClosesWhatLeadsOutAndNothingElse) {
  const std::string x86 = syscall_filter(FilterProcessor::x86_64);
  const std::string arm = syscall_filter(FilterProcessor::aarch64);
  EXPECT_LT(x86.size() / 8, 256u);  // no jump is longer than the kernel allows
  EXPECT_EQ(answer_to(x86, call_of(kX86, 0)), SECCOMP_RET_ALLOW);    // read
  EXPECT_EQ(answer_to(x86, call_of(kX86, 101)), kDenied);            // ptrace
  EXPECT_EQ(answer_to(arm, call_of(kArm, 117)), kDenied);            // ptrace
  EXPECT_EQ(answer_to(arm, call_of(kArm, 101)), SECCOMP_RET_ALLOW);  // nanosleep
  EXPECT_EQ(answer_to(x86, call_of(kX86, 134)), kDenied);            // uselib, the last
  EXPECT_EQ(answer_to(x86, call_of(kX86, 435)), SECCOMP_RET_ERRNO | 38u);
  EXPECT_EQ(answer_to(x86, call_of(kX86, 0x40000000)), kDenied);
  // Another processor's calls, as of 32-bit x86, have other numbers.
  EXPECT_EQ(answer_to(x86, call_of(0x40000003, 0)), SECCOMP_RET_KILL_PROCESS);
  EXPECT_EQ(answer_to(arm, call_of(kX86, 0)), SECCOMP_RET_KILL_PROCESS);
}

TEST(SyscallFilter, LooksAtArguments) {
  const std::string x86 = syscall_filter(FilterProcessor::x86_64);
  EXPECT_EQ(answer_to(x86, call_of(kX86, 56, 0x00010F00)), SECCOMP_RET_ALLOW);  // a thread
  EXPECT_EQ(answer_to(x86, call_of(kX86, 56, 0x10000011)), kDenied);            // CLONE_NEWUSER
  EXPECT_EQ(answer_to(x86, call_of(kX86, 16, 0, 0x5401)), SECCOMP_RET_ALLOW);   // TCGETS
  EXPECT_EQ(answer_to(x86, call_of(kX86, 16, 0, 0x5412)), kDenied);             // TIOCSTI
  EXPECT_EQ(answer_to(x86, call_of(kX86, 16, 0, 0xABCDEF00005412)), kDenied);
  EXPECT_EQ(answer_to(x86, call_of(kX86, 41, 2)), SECCOMP_RET_ALLOW);         // AF_INET
  EXPECT_EQ(answer_to(x86, call_of(kX86, 41, 40)), SECCOMP_RET_ERRNO | 97u);  // AF_VSOCK
}

TEST(SyscallFilter, HasThisMachinesNumbers) {
  const Result<FilterProcessor> here = this_processor();
  if (!here) GTEST_SKIP() << here.error().message();
  const std::string program = syscall_filter(*here);
  const uint32_t processor = *here == FilterProcessor::x86_64 ? kX86 : kArm;
  for (const int number : {SYS_ptrace,           SYS_mount,
                           SYS_umount2,          SYS_pivot_root,
                           SYS_unshare,          SYS_setns,
                           SYS_keyctl,           SYS_add_key,
                           SYS_request_key,      SYS_bpf,
                           SYS_perf_event_open,  SYS_kexec_load,
                           SYS_finit_module,     SYS_reboot,
                           SYS_userfaultfd,      SYS_io_uring_setup,
                           SYS_process_vm_readv, SYS_open_by_handle_at,
                           SYS_open_tree,        SYS_personality,
                           SYS_setdomainname})
    EXPECT_EQ(answer_to(program, call_of(processor, number)), kDenied) << number;
  for (const int number : {SYS_read, SYS_write, SYS_mmap, SYS_execve, SYS_exit_group, SYS_futex,
                           SYS_wait4, SYS_connect, SYS_clone, SYS_getrandom, SYS_openat,
                           SYS_rt_sigaction, SYS_sched_yield, SYS_prlimit64})
    EXPECT_EQ(answer_to(program, call_of(processor, number)), SECCOMP_RET_ALLOW) << number;
}

}  // namespace
}  // namespace ruv
