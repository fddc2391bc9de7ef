/* NVML's functions that have answers. Those that say that there is none are in `unsupported.c`. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "asking.h"

#define NEEDS(condition)                                   \
  do {                                                     \
    if (!(condition)) return NVML_ERROR_INVALID_ARGUMENT;  \
  } while (0)
/* The second name of a function that is the same. */
#define ALSO(name, of, ...) SHOWN nvmlReturn_t name(__VA_ARGS__) __attribute__((alias(#of)))

static nvmlReturn_t copied(const char *words, char *to, unsigned int room) {
  NEEDS(to);
  if (strlen(words) >= room) return NVML_ERROR_INSUFFICIENT_SIZE;
  strcpy(to, words);
  return NVML_SUCCESS;
}

/* ------------------------------------------------------------------------------------------- begin, end, versions */

SHOWN nvmlReturn_t nvmlInit_v2(void) { return rvm_begin(); }
ALSO(nvmlInit, nvmlInit_v2, void);
SHOWN nvmlReturn_t nvmlInitWithFlags(unsigned int flags) {
  (void)flags;
  return rvm_begin();
}
SHOWN nvmlReturn_t nvmlShutdown(void) { return rvm_end(); }

SHOWN const char *nvmlErrorString(nvmlReturn_t code) {
  switch (code) {
    case NVML_SUCCESS: return "Success";
    case NVML_ERROR_UNINITIALIZED: return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT: return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
    case NVML_ERROR_NO_PERMISSION: return "Insufficient Permissions";
    case NVML_ERROR_NOT_FOUND: return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE: return "Insufficient Size";
    case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case NVML_ERROR_TIMEOUT: return "Timeout";
    case NVML_ERROR_GPU_IS_LOST: return "GPU is lost";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH: return "Driver/library version mismatch";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH: return "Argument version mismatch";
    default: return "Unknown Error";
  }
}

SHOWN nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length) {
  struct rvm_answer answer;
  MUST(rvm_ask(RVM_HELLO, 0, RVM_VERSION, NULL, &answer));
  return copied(answer.as.text, version, length);
}
ALSO(nvmlSystemGetNVMLVersion, nvmlSystemGetDriverVersion, char *version, unsigned int length);

SHOWN nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version) {
  NEEDS(version);
  return NVML_ERROR_NOT_SUPPORTED;
}
ALSO(nvmlSystemGetCudaDriverVersion_v2, nvmlSystemGetCudaDriverVersion, int *version);

SHOWN nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length) {
  struct rvm_answer answer;
  MUST(rvm_ask(RVM_PROCESS_NAME, 0, pid, NULL, &answer));
  return copied(answer.as.text, name, length);
}

/* ------------------------------------------------------------------------------------------------------ which GPUs */

SHOWN nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count) {
  struct rvm_answer answer;
  NEEDS(count);
  MUST(rvm_ask(RVM_COUNT, 0, 0, NULL, &answer));
  *count = (unsigned int)answer.as.values[0];
  return NVML_SUCCESS;
}
ALSO(nvmlDeviceGetCount, nvmlDeviceGetCount_v2, unsigned int *count);

static nvmlReturn_t found(enum rvm_asked how, unsigned int number, const char *text, nvmlDevice_t *device) {
  struct rvm_answer answer;
  NEEDS(device);
  MUST(rvm_ask(how, 0, number, text, &answer));
  *device = rvm_device(answer.number);
  return NVML_SUCCESS;
}

SHOWN nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
  return found(RVM_BY_INDEX, index, NULL, device);
}
ALSO(nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2, unsigned int index, nvmlDevice_t *device);

SHOWN nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device) {
  NEEDS(uuid);
  return found(RVM_BY_UUID, 0, uuid, device);
}

SHOWN nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device) {
  NEEDS(serial);
  return found(RVM_BY_SERIAL, 0, serial, device);
}

SHOWN nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvmlDevice_t *device) {
  NEEDS(bus);
  return found(RVM_BY_BUS, 0, bus, device);
}
ALSO(nvmlDeviceGetHandleByPciBusId, nvmlDeviceGetHandleByPciBusId_v2, const char *bus, nvmlDevice_t *device);

SHOWN nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length) {
  struct rvm_answer answer;
  MUST(rvm_ask_of(device, RVM_GPU, 0, &answer));
  return copied(answer.as.gpu.name, name, length);
}

SHOWN nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length) {
  struct rvm_answer answer;
  MUST(rvm_ask_of(device, RVM_GPU, 0, &answer));
  return copied(answer.as.gpu.uuid, uuid, length);
}

SHOWN nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned int length) {
  struct rvm_answer answer;
  MUST(rvm_ask_of(device, RVM_GPU, 0, &answer));
  return copied(answer.as.gpu.serial, serial, length);
}

SHOWN nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index) {
  struct rvm_answer answer;
  NEEDS(index);
  MUST(rvm_ask_of(device, RVM_GPU, 0, &answer));
  *index = answer.as.gpu.index;
  return NVML_SUCCESS;
}

SHOWN nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci) {
  struct rvm_answer answer;
  const struct rvm_gpu *gpu = &answer.as.gpu;
  NEEDS(pci);
  MUST(rvm_ask_of(device, RVM_GPU, 0, &answer));
  memset(pci, 0, sizeof *pci);
  pci->domain = gpu->domain;
  pci->bus = gpu->bus;
  pci->device = gpu->device;
  snprintf(pci->bus_legacy, sizeof pci->bus_legacy, "%04X:%02X:%02X.0", gpu->domain, gpu->bus, gpu->device);
  snprintf(pci->bus_id, sizeof pci->bus_id, "%08X:%02X:%02X.0", gpu->domain, gpu->bus, gpu->device);
  return NVML_SUCCESS;
}
ALSO(nvmlDeviceGetPciInfo_v2, nvmlDeviceGetPciInfo_v3, nvmlDevice_t device, nvmlPciInfo_t *pci);

SHOWN nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_v1_t *pci) {
  nvmlPciInfo_t whole;
  NEEDS(pci);
  MUST(nvmlDeviceGetPciInfo_v3(device, &whole));
  memcpy(pci, &whole, sizeof *pci);
  return NVML_SUCCESS;
}

/* ----------------------------------------------------------------------------------------------------- their values */

/* Here what is reserved counts as used. */
SHOWN nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory) {
  struct rvm_answer answer;
  NEEDS(memory);
  MUST(rvm_ask_of(device, RVM_MEMORY, 0, &answer));
  memory->total = answer.as.values[0];
  memory->free = answer.as.values[1];
  memory->used = answer.as.values[2] + answer.as.values[3];
  return NVML_SUCCESS;
}

SHOWN nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory) {
  struct rvm_answer answer;
  NEEDS(memory);
  if (memory->version != (2U << 24 | sizeof *memory)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  MUST(rvm_ask_of(device, RVM_MEMORY, 0, &answer));
  memory->total = answer.as.values[0];
  memory->free = answer.as.values[1];
  memory->used = answer.as.values[2];
  memory->reserved = answer.as.values[3];
  return NVML_SUCCESS;
}

/* How busy the memory is nobody measures: it is told as 0. */
SHOWN nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates) {
  struct rvm_answer answer;
  NEEDS(rates);
  MUST(rvm_ask_of(device, RVM_UTILISATION, 0, &answer));
  rates->gpu = (unsigned int)answer.as.values[0];
  rates->memory = 0;
  return NVML_SUCCESS;
}

/* `*count` goes in as room, and comes out as what there is; nothing is written when there isn't enough room. */
static nvmlReturn_t room_for(const struct rvm_answer *answer, unsigned int *count, const void *list) {
  unsigned int room = *count;
  *count = answer->number;
  if (answer->number > RVM_MOST) return NVML_ERROR_UNKNOWN;
  if (answer->number > room) return NVML_ERROR_INSUFFICIENT_SIZE;
  return answer->number && !list ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS;
}

SHOWN nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int *count,
                                                        nvmlProcessInfo_v1_t *list) {
  struct rvm_answer answer;
  NEEDS(count);
  MUST(rvm_ask_of(device, RVM_PROCESSES, 0, &answer));
  MUST(room_for(&answer, count, list));
  for (unsigned int i = 0; i < *count; i++)
    list[i] = (nvmlProcessInfo_v1_t){answer.as.uses[i].pid, answer.as.uses[i].memory};
  return NVML_SUCCESS;
}

SHOWN nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
                                                           nvmlProcessInfo_v2_t *list) {
  struct rvm_answer answer;
  NEEDS(count);
  MUST(rvm_ask_of(device, RVM_PROCESSES, 0, &answer));
  MUST(room_for(&answer, count, list));
  for (unsigned int i = 0; i < *count; i++)
    list[i] = (nvmlProcessInfo_v2_t){answer.as.uses[i].pid, answer.as.uses[i].memory, ~0U, ~0U};
  return NVML_SUCCESS;
}
ALSO(nvmlDeviceGetComputeRunningProcesses_v2, nvmlDeviceGetComputeRunningProcesses_v3, nvmlDevice_t device,
     unsigned int *count, nvmlProcessInfo_v2_t *list);

/* There is no other kind of work than that for the compute engine. */
SHOWN nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, void *list) {
  struct rvm_answer answer;
  (void)list;
  NEEDS(count);
  MUST(rvm_ask_of(device, RVM_GPU, 0, &answer));
  *count = 0;
  return NVML_SUCCESS;
}
ALSO(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlDevice_t device,
     unsigned int *count, void *list);
ALSO(nvmlDeviceGetGraphicsRunningProcesses, nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlDevice_t device,
     unsigned int *count, void *list);
ALSO(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlDevice_t device,
     unsigned int *count, void *list);
ALSO(nvmlDeviceGetMPSComputeRunningProcesses_v2, nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlDevice_t device,
     unsigned int *count, void *list);
ALSO(nvmlDeviceGetMPSComputeRunningProcesses, nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlDevice_t device,
     unsigned int *count, void *list);

/* The last sample of each, if it is later than `since`. */
SHOWN nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t *list,
                                                   unsigned int *count, unsigned long long since) {
  struct rvm_answer answer;
  unsigned int late = 0;
  NEEDS(count);
  MUST(rvm_ask_of(device, RVM_PROCESSES, 0, &answer));
  if (answer.number > RVM_MOST) return NVML_ERROR_UNKNOWN;
  for (unsigned int i = 0; i < answer.number; i++)
    if (answer.as.uses[i].stamp > since) answer.as.uses[late++] = answer.as.uses[i];
  if (!late) return NVML_ERROR_NOT_FOUND;
  answer.number = late;
  MUST(room_for(&answer, count, list));
  for (unsigned int i = 0; i < late; i++)
    list[i] = (nvmlProcessUtilizationSample_t){
        .pid = answer.as.uses[i].pid, .stamp = answer.as.uses[i].stamp, .sm = answer.as.uses[i].share};
  return NVML_SUCCESS;
}

/* ------------------------------------------------------------------------------------- meters, where the GPU has one */

static nvmlReturn_t metered(nvmlDevice_t device, enum rvm_meter meter, unsigned long long *value) {
  struct rvm_answer answer;
  NEEDS(value);
  MUST(rvm_ask_of(device, RVM_METER, (uint32_t)meter, &answer));
  *value = answer.as.values[0];
  return NVML_SUCCESS;
}

SHOWN nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *energy) {
  return metered(device, RVM_ENERGY, energy);
}

SHOWN nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power) {
  unsigned long long value;
  NEEDS(power);
  MUST(metered(device, RVM_POWER, &value));
  *power = (unsigned int)value;
  return NVML_SUCCESS;
}

/* Nothing limits it below what it takes at most. */
SHOWN nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *limit) {
  unsigned long long value;
  NEEDS(limit);
  MUST(metered(device, RVM_POWER_LIMIT, &value));
  *limit = (unsigned int)value;
  return NVML_SUCCESS;
}
ALSO(nvmlDeviceGetPowerManagementLimit, nvmlDeviceGetEnforcedPowerLimit, nvmlDevice_t device, unsigned int *limit);
ALSO(nvmlDeviceGetPowerManagementDefaultLimit, nvmlDeviceGetEnforcedPowerLimit, nvmlDevice_t device,
     unsigned int *limit);

SHOWN nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned int *temperature) {
  unsigned long long value;
  NEEDS(temperature && sensor == 0);
  MUST(metered(device, RVM_TEMPERATURE, &value));
  *temperature = (unsigned int)value;
  return NVML_SUCCESS;
}

SHOWN nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_v1_t *temperature) {
  unsigned int value;
  NEEDS(temperature);
  if (temperature->version != (1U << 24 | sizeof *temperature)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  MUST(nvmlDeviceGetTemperature(device, temperature->sensor, &value));
  temperature->temperature = (int)value;
  return NVML_SUCCESS;
}

SHOWN nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t device, unsigned int *state) {
  unsigned long long value;
  NEEDS(state);
  MUST(metered(device, RVM_PERFORMANCE, &value));
  *state = (unsigned int)value;
  return NVML_SUCCESS;
}

SHOWN nvmlReturn_t nvmlDeviceGetPowerState(nvmlDevice_t device, unsigned int *state) {
  return nvmlDeviceGetPerformanceState(device, state);
}

/* Each field has a status of its own. A scope is another part of the board than the GPU, as its memory. */
static nvmlReturn_t field(nvmlDevice_t device, nvmlFieldValue_t *it) {
  static const struct {
    unsigned int id;
    enum rvm_meter meter;
    int type;
  } known[] = {
      {83, RVM_ENERGY, NVML_UNSIGNED_LONG_LONG},       {191, RVM_ENERGY, NVML_UNSIGNED_LONG_LONG},
      {185, RVM_POWER, NVML_UNSIGNED_INT},             {186, RVM_POWER_NOW, NVML_UNSIGNED_INT},
      {188, RVM_POWER_LIMIT, NVML_UNSIGNED_INT},       {189, RVM_POWER_LIMIT, NVML_UNSIGNED_INT},
      {190, RVM_POWER_LIMIT, NVML_UNSIGNED_INT},
  };
  for (unsigned int i = 0; i < sizeof known / sizeof *known; i++) {
    unsigned long long value;
    if (known[i].id != it->id || it->scope) continue;
    MUST(metered(device, known[i].meter, &value));
    it->type = known[i].type;
    if (it->type == NVML_UNSIGNED_INT)
      it->value.whole = (unsigned int)value;
    else
      it->value.large = value;
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_SUPPORTED;
}

SHOWN nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values) {
  struct rvm_answer answer;
  struct timespec now;
  NEEDS(values && count > 0);
  MUST(rvm_ask_of(device, RVM_GPU, 0, &answer));
  for (int i = 0; i < count; i++) {
    memset(&values[i].value, 0, sizeof values[i].value);
    values[i].status = field(device, &values[i]);
    clock_gettime(CLOCK_REALTIME, &now);
    values[i].stamp = now.tv_sec * 1000000LL + now.tv_nsec / 1000;
    values[i].latency = 0;
  }
  return NVML_SUCCESS;
}

/* ----------------------------------------------------------------------------------------------------- what it is */

SHOWN nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, unsigned int *architecture) {
  struct rvm_answer answer;
  NEEDS(architecture);
  MUST(rvm_ask_of(device, RVM_ARCHITECTURE, 0, &answer));
  *architecture = (unsigned int)answer.as.values[0];
  return NVML_SUCCESS;
}

/* No GPU is divided, and each may have several contexts, which is the default mode: both are 0. */
SHOWN nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *divided) {
  struct rvm_answer answer;
  NEEDS(divided);
  MUST(rvm_ask_of(device, RVM_GPU, 0, &answer));
  *divided = 0;
  return NVML_SUCCESS;
}
ALSO(nvmlDeviceGetComputeMode, nvmlDeviceIsMigDeviceHandle, nvmlDevice_t device, unsigned int *mode);
