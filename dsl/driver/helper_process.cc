#include "helper_process.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena.h"

namespace driver {
namespace {

constexpr char PYTHON[] = "GPU_REPRO_HELPER_PYTHON";
constexpr u64 STACK_BYTES = 64 << 10, PATH_BYTES = 4096;
// What a program sets for itself, and what would let the helper load this library.
const char *const NOT_INHERITED[] = {"LD_PRELOAD=", "LD_LIBRARY_PATH=", "PYTHON", "VIRTUAL_ENV=", "COV_CORE_"};
constexpr int FIRST_FILE = 3;  // in the helper: the socket; the next ones are the arena and the eventfd

struct Start {
  char **argv, **environment;
  int files[3];
  sigset_t mask;
};

// The path of this library.
const char *own_path() {
  Dl_info about;
  return dladdr((void *)&own_path, &about) ? about.dli_fname : nullptr;
}

// The interpreter: by the environment, else as `library_folder` has noted in a file next to this library.
const char *interpreter() {
  static char path[PATH_BYTES];
  const char *chosen = getenv(PYTHON);
  if (chosen && *chosen) return chosen;
  char name[PATH_BYTES];
  snprintf(name, sizeof name, "%s", own_path() ? own_path() : "");
  char *slash = strrchr(name, '/');
  if (!slash) return nullptr;
  snprintf(slash + 1, sizeof name - (size_t)(slash + 1 - name), "python.txt");
  FILE *file = fopen(name, "re");
  if (!file) return nullptr;
  u64 count = fread(path, 1, sizeof path - 1, file);
  fclose(file);
  path[count] = 0;
  path[strcspn(path, "\n")] = 0;
  return *path ? path : nullptr;
}

char **environment() {
  static Vector<char *> kept;
  kept.clear();
  for (char **each = environ; each && *each; ++each) {
    bool is_inherited = true;
    for (const char *prefix : NOT_INHERITED) is_inherited = is_inherited && strncmp(*each, prefix, strlen(prefix)) != 0;
    if (is_inherited) kept.add(*each);
  }
  kept.add(nullptr);
  return kept.data;
}

// In the helper, before it becomes Python. It shares memory with the program, which waits.
int become(void *argument) {
  Start *start = (Start *)argument;
  for (int &each : start->files) each = fcntl(each, F_DUPFD, 64);
  for (int i = 0; i < 3; ++i)
    if (dup2(start->files[i], FIRST_FILE + i) < 0) _exit(127);
  int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, 0);
  dup2(nothing, 1);
  if (syscall(SYS_close_range, FIRST_FILE + 3, ~0u, 0)) {
    for (int each = FIRST_FILE + 3; each < 4096; ++each) close(each);
  }
  sigprocmask(SIG_SETMASK, &start->mask, nullptr);
  execve(start->argv[0], start->argv, start->environment);
  _exit(127);
}

// A process between, which ends at once: so the helper is not a child of the program, which may wait for its own.
int become_apart(void *argument) {
  static u8 stack[STACK_BYTES];
  _exit(clone(become, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, argument) < 0);
}

bool spawn(Start *start) {
  static u8 stack[STACK_BYTES];
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &start->mask);
  int child = clone(become_apart, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, start), status = 0;
  if (child > 0)
    while (waitpid(child, &status, __WCLONE) < 0 && errno == EINTR) {}
  pthread_sigmask(SIG_SETMASK, &start->mask, nullptr);
  return child > 0 && !status;
}

}  // namespace

int start_helper(int *wake) {
  if (!arena()) return -1;
  const char *python = interpreter();
  if (!python || access(python, X_OK)) {
    tell("kernels need gpu-repro's Python, and `%s` is none; fix: set %s to the Python that gpu-repro is installed in",
         python ? python : "", PYTHON);
    return -1;
  }
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return -1;
  char place[32], owner[32];
  snprintf(place, sizeof place, "%llx", (unsigned long long)arena());
  snprintf(owner, sizeof owner, "%d", getpid());
  *wake = eventfd(0, EFD_CLOEXEC);
  const char *argv[] = {python, "-I", "-m", "dsl.driver.helper", place, owner, own_path(), nullptr};
  Start start = {(char **)argv, environment(), {pair[1], arena_file(), *wake}, {}};
  bool is_started = spawn(&start);
  close(pair[1]);
  if (is_started) return pair[0];
  close(pair[0]);
  tell("the helper process cannot be started: %s", strerror(errno));
  return -1;
}

}  // namespace driver
