// The arguments of bwrap are carried out in their order: the root begins empty, folders are bound
// into it, and at last it becomes read-only.
#include "tools/sandbox.h"

#include "tools/cut_text.h"
#include "tools/run_program.h"
#include "tools/syscall_filter.h"

namespace ruv {
namespace {

constexpr uint32_t kUnprivilegedUser = 65534;
constexpr int64_t kTryOutMs = 10'000;
// The sandbox's own first process, and the one that becomes the program.
constexpr int64_t kOwnProcesses = 2;

// Programs and libraries. Where /bin is a link to /usr/bin, bwrap follows it.
constexpr const char* kSystemFolders[] = {"/usr",   "/bin",   "/sbin",   "/lib",
                                          "/lib32", "/lib64", "/libx32", "/nix/store"};
// What loaders, name look-ups and TLS read, and no more of /etc.
constexpr const char* kSystemFiles[] = {
    "/etc/ld.so.cache",     "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/alternatives",    "/etc/localtime",  "/etc/ssl",
    "/etc/ca-certificates", "/etc/pki",        "/etc/nsswitch.conf"};
constexpr const char* kNetworkFiles[] = {"/etc/resolv.conf", "/etc/hosts", "/etc/services"};

class SandboxArguments {
 public:
  explicit SandboxArguments(std::string bwrap) { words_.push_back(std::move(bwrap)); }
  void add(std::initializer_list<std::string> words) {
    words_.insert(words_.end(), words.begin(), words.end());
  }
  // The same path outside and inside.
  void bind(const char* how, const std::string& path) { add({how, path, path}); }
  std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

bool is_below_system_folders(const std::string& path) {
  for (const char* folder : kSystemFolders) {
    if (path.starts_with(std::string(folder) + "/")) return true;
  }
  return false;
}

// A user namespace of its own lets a program without rights have the others. With no network
// namespace of its own it uses the machine's.
void add_namespaces(SandboxArguments& out, const SandboxRules& rules) {
  out.add({"--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts",
           "--unshare-cgroup-try", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
           "--hostname", "sandbox"});
  if (!rules.network) out.add({"--unshare-net"});
}

// Folders of the caller come last, so that they may be inside /tmp. A program outside the system's
// folders is bound alone, without what is beside it.
void add_files(SandboxArguments& out, const SandboxRules& rules, const std::string& program) {
  for (const char* folder : kSystemFolders) out.bind("--ro-bind-try", folder);
  for (const char* file : kSystemFiles) out.bind("--ro-bind-try", file);
  if (rules.network) {
    for (const char* file : kNetworkFiles) out.bind("--ro-bind-try", file);
  }
  out.add({"--proc", "/proc", "--dev", "/dev"});
  for (const char* folder : {"/tmp", "/dev/shm"})
    out.add({"--size", std::to_string(rules.tmp_bytes), "--tmpfs", folder});
  out.add({"--remount-ro", "/dev"});
  for (const std::string& path : rules.read_only) out.bind("--ro-bind", path);
  for (const std::string& path : rules.writable) out.bind("--bind", path);
  if (program.starts_with('/') && !is_below_system_folders(program)) out.bind("--ro-bind", program);
  out.add({"--remount-ro", "/", "--chdir", rules.folder});
}

tl::unexpected<Status> no_sandbox(std::string_view reason) {
  return fail(Code::unsupported, "programs cannot be run in a sandbox here: {}", reason);
}

}  // namespace

ProcessOptions Sandbox::wrap(const SandboxRules& rules, ProcessOptions options) const {
  SandboxArguments out(bwrap_);
  add_namespaces(out, rules);
  add_files(out, rules, options.argv[0]);
  out.add({"--seccomp", "3", "--"});
  const std::string most = std::to_string(rules.max_processes + kOwnProcesses);
  out.add({prlimit_, "--nproc=" + most + ":" + most, "--"});
  std::vector<std::string> words = out.take();
  words.insert(words.end(), options.argv.begin(), options.argv.end());
  options.argv = std::move(words);
  options.files = {filter_};
  options.folder = "/";
  if (runs_as_root()) options.user = kUnprivilegedUser;
  return options;
}

Result<Sandbox> Sandbox::open() {
  const FilterProcessor processor = TRY(this_processor());
  Result<std::string> bwrap = find_program("bwrap", kDefaultProgramPath);
  if (!bwrap) return no_sandbox(bwrap.error().message() + " (package bubblewrap)");
  Result<std::string> prlimit = find_program("prlimit", kDefaultProgramPath);
  if (!prlimit) return no_sandbox(prlimit.error().message() + " (package util-linux)");
  const Sandbox sandbox(std::move(*bwrap), std::move(*prlimit), syscall_filter(processor));
  TRY(sandbox.try_out());
  return sandbox;
}

// Whether namespaces are permitted shows only by making some.
Status Sandbox::try_out() const {
  const Result<ProgramOutcome> outcome =
      run_program(wrap({}, {.argv = {"true"}}), {}, {.timeout_ms = kTryOutMs});
  if (!outcome) return no_sandbox(outcome.error().message());
  if (outcome->stop != ProgramStop::none) return no_sandbox("a first program did not end in time");
  if (!outcome->end.ok()) {
    std::string said = cut_text(outcome->errors, 500);
    said.erase(said.find_last_not_of('\n') + 1);
    return no_sandbox(fmt::format("bwrap could not make the namespaces that it needs: {}",
                                  said.empty() ? describe(outcome->end) : said));
  }
  return {};
}

}  // namespace ruv
