/* The part of NVML's C interface that has answers here: its types and codes, as public bindings of it have them. */
#ifndef RINGHIL_NVML_TYPES_H
#define RINGHIL_NVML_TYPES_H

typedef struct nvml_device *nvmlDevice_t;

typedef enum {
  NVML_SUCCESS = 0,
  NVML_ERROR_UNINITIALIZED = 1,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_NO_PERMISSION = 4,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
  NVML_ERROR_DRIVER_NOT_LOADED = 9,
  NVML_ERROR_TIMEOUT = 10,
  NVML_ERROR_GPU_IS_LOST = 15,
  NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
  NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
  NVML_ERROR_UNKNOWN = 999
} nvmlReturn_t;

typedef struct {
  unsigned long long total, free, used;
} nvmlMemory_t;

typedef struct {
  unsigned int version;
  unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;

typedef struct {
  unsigned int gpu, memory;
} nvmlUtilization_t;

typedef struct {
  unsigned int version;
  int sensor, temperature;
} nvmlTemperature_v1_t;

enum { NVML_UNSIGNED_INT = 1, NVML_UNSIGNED_LONG_LONG = 3 };

/* `stamp` and `latency`: microseconds. */
typedef struct {
  unsigned int id, scope;
  long long stamp, latency;
  int type;
  nvmlReturn_t status;
  union {
    unsigned int whole;
    unsigned long long large;
  } value;
} nvmlFieldValue_t;

typedef struct {
  unsigned int pid;
  unsigned long long used;
} nvmlProcessInfo_v1_t;

/* Of v3, too. */
typedef struct {
  unsigned int pid;
  unsigned long long used;
  unsigned int gpu_instance, compute_instance;
} nvmlProcessInfo_v2_t;

typedef struct {
  unsigned int pid;
  unsigned long long stamp;
  unsigned int sm, memory, encoder, decoder;
} nvmlProcessUtilizationSample_t;

typedef struct {
  char bus_legacy[16];
  unsigned int domain, bus, device, pci_device, pci_subsystem;
  char bus_id[32];
} nvmlPciInfo_t;

/* As old as the first version: without the subsystem and the long address. */
typedef struct {
  char bus_legacy[16];
  unsigned int domain, bus, device, pci_device;
} nvmlPciInfo_v1_t;

#endif
