/* Starts the program of the tarball with the libraries that came with it, so that it runs whatever
   C library the system has, or none: DIR/bin/ruvllm, this file's program, becomes
     DIR/lib/ld-linux-*.so --library-path DIR/lib DIR/lib/ruvllm-program …
   Linked statically. Links to it may be anywhere: the kernel says where the file itself is. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The name of the dynamic loader, from tools/make_tarball. */
#ifndef RUV_LOADER
#error "RUV_LOADER: the name of the file that loads shared libraries"
#endif

static int fail(const char *what) {
  perror(what);
  return 127;
}

/* Cuts the last component off. 0: there is none. */
static int to_parent(char *path) {
  char *slash = strrchr(path, '/');
  if (slash == NULL) return 0;
  *slash = '\0';
  return 1;
}

int main(int argc, char **argv) {
  char folder[PATH_MAX - 64], loader[PATH_MAX], libraries[PATH_MAX], program[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
  if (n < 0 || n == (ssize_t)sizeof(folder) - 1) return fail("ruvllm: /proc/self/exe");
  folder[n] = '\0';
  if (!to_parent(folder) || !to_parent(folder)) return fail("ruvllm: the program's folder");
  snprintf(loader, sizeof(loader), "%s/lib/%s", folder, RUV_LOADER);
  snprintf(libraries, sizeof(libraries), "%s/lib", folder);
  snprintf(program, sizeof(program), "%s/lib/ruvllm-program", folder);

  /* loader, 4 arguments, the program, the caller's arguments but for the first, the end */
  char **all = calloc((size_t)argc + 6, sizeof(char *));
  if (all == NULL) return fail("ruvllm");
  char **at = all;
  *at++ = loader;
  *at++ = "--argv0";
  *at++ = argc > 0 ? argv[0] : "ruvllm";
  *at++ = "--library-path";
  *at++ = libraries;
  *at++ = program;
  for (int i = 1; i < argc; ++i) *at++ = argv[i];
  execv(loader, all);
  return fail(loader);
}
