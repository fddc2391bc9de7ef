/* The line to the server: a Unix socket, whose path is in RINGHIL_NVML. Who asks, the server sees by itself.
 *
 * A process that was forked asks over a connection of its own, or it would be taken for its parent. */
#define _GNU_SOURCE
#include "asking.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATIENCE = 20 /* seconds */, FIRST_DEVICE = 0x72000000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int begun;
static int line = -1;
static pid_t owner;

static void take(void) { pthread_mutex_lock(&lock); }
static void give(void) { pthread_mutex_unlock(&lock); }

/* Nobody is in the middle of something when a process is forked. */
__attribute__((constructor)) static void keep_whole(void) { pthread_atfork(take, give, give); }

static void hang_up(void) {
  if (line >= 0) close(line);
  line = -1;
}

/* One packet there and one back. */
static nvmlReturn_t exchange(const struct rvm_request *request, struct rvm_answer *answer) {
  ssize_t came;
  do came = send(line, request, sizeof *request, MSG_NOSIGNAL);
  while (came < 0 && errno == EINTR);
  if (came != (ssize_t)sizeof *request) return NVML_ERROR_DRIVER_NOT_LOADED;
  memset(answer, 0, sizeof *answer);
  do came = recv(line, answer, sizeof *answer, 0);
  while (came < 0 && errno == EINTR);
  if (came < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return NVML_ERROR_TIMEOUT;
  if (came < (ssize_t)(sizeof *answer - sizeof answer->as) || answer->magic != RVM_MAGIC)
    return NVML_ERROR_DRIVER_NOT_LOADED;
  answer->as.text[sizeof answer->as.text - 1] = 0;
  return NVML_SUCCESS;
}

static nvmlReturn_t dial(void) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  struct timeval patience = {.tv_sec = PATIENCE};
  struct rvm_request hello = {RVM_MAGIC, RVM_HELLO, 0, RVM_VERSION, ""};
  struct rvm_answer answer;
  const char *path = secure_getenv("RINGHIL_NVML");
  nvmlReturn_t done;
  if (!path || !*path || strlen(path) >= sizeof to.sun_path) return NVML_ERROR_DRIVER_NOT_LOADED;
  strcpy(to.sun_path, path);
  line = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (line < 0) return NVML_ERROR_DRIVER_NOT_LOADED;
  owner = getpid();
  setsockopt(line, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(line, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (connect(line, (struct sockaddr *)&to, sizeof to) != 0) {
    done = errno == EACCES ? NVML_ERROR_NO_PERMISSION : NVML_ERROR_DRIVER_NOT_LOADED;
    hang_up();
    return done;
  }
  done = exchange(&hello, &answer);
  if (done == NVML_SUCCESS) done = (nvmlReturn_t)answer.status;
  if (done != NVML_SUCCESS) hang_up();
  return done;
}

/* A server that was started again is found again. */
static nvmlReturn_t ask_it(const struct rvm_request *request, struct rvm_answer *answer) {
  nvmlReturn_t done;
  int old;
  if (line >= 0 && owner != getpid()) hang_up();
  old = line >= 0;
  if (!old && (done = dial()) != NVML_SUCCESS) return done;
  done = exchange(request, answer);
  if (done == NVML_SUCCESS) return (nvmlReturn_t)answer->status;
  hang_up(); /* an answer that comes late would be taken for another one's */
  if (done == NVML_ERROR_TIMEOUT || !old) return done;
  return ask_it(request, answer);
}

nvmlReturn_t rvm_begin(void) {
  nvmlReturn_t done = NVML_SUCCESS;
  take();
  if (!begun) done = dial();
  if (done == NVML_SUCCESS) begun++;
  give();
  return done;
}

nvmlReturn_t rvm_end(void) {
  nvmlReturn_t done = NVML_ERROR_UNINITIALIZED;
  take();
  if (begun) {
    done = NVML_SUCCESS;
    if (!--begun) hang_up();
  }
  give();
  return done;
}

nvmlReturn_t rvm_ask(enum rvm_asked what, uint32_t gpu, uint32_t number, const char *text, struct rvm_answer *answer) {
  struct rvm_request request = {RVM_MAGIC, (uint32_t)what, gpu, number, ""};
  nvmlReturn_t done = NVML_ERROR_UNINITIALIZED;
  if (text) {
    if (strlen(text) >= sizeof request.text) return NVML_ERROR_INVALID_ARGUMENT;
    strcpy(request.text, text);
  }
  take();
  if (begun) done = ask_it(&request, answer);
  give();
  return done;
}

nvmlReturn_t rvm_ask_of(nvmlDevice_t device, enum rvm_asked what, uint32_t number, struct rvm_answer *answer) {
  return rvm_ask(what, (uint32_t)((uintptr_t)device - FIRST_DEVICE), number, NULL, answer);
}

nvmlDevice_t rvm_device(uint32_t gpu) { return (nvmlDevice_t)((uintptr_t)FIRST_DEVICE + gpu); }
