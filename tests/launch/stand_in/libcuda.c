/* A stand-in for the CUDA driver's library: below it is no GPU but `stand_in_driver.py`, which runs PTX on
 * the emulator.
 *
 * The host process must be Python: cuInit imports stand_in_driver, which fills `table`. Errors of kernels are
 * asynchronous and sticky, as the driver's are. STAND_IN_FAIL="cuLaunchKernelEx=1,..." makes functions fail.
 * Prototypes: CUDA driver API, cuda.h.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
typedef uint64_t CUdeviceptr;
typedef struct { int id; char pad[4]; unsigned value[16]; } Attribute;
typedef struct {
    unsigned grid[3], block[3], smem_bytes;
    void *stream;
    Attribute *attributes;
    unsigned attribute_count;
} Config;

enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_INITIALIZED = 3, NO_DEVICE = 100, NOT_FOUND = 500 };

struct {
    int (*load)(const char *ptx, char *log, unsigned log_bytes, uint64_t *module);
    int (*function)(uint64_t module, const char *name, uint64_t *function);
    int (*function_attribute)(uint64_t function, int attribute, int *value, int set);
    int (*launch)(uint64_t function, unsigned *shape, uint64_t stream, int programmatic, void **params);
    int (*allocate)(uint64_t nbytes, CUdeviceptr *address);
    int (*release)(CUdeviceptr address);
    int (*holds)(CUdeviceptr address);
    int (*tiled_map)(void *map, int dtype, unsigned rank, CUdeviceptr address, const uint64_t *extents,
                     const uint64_t *strides, const unsigned *box, const unsigned *steps, const int *modes);
    int (*im2col_map)(void *map, int dtype, unsigned rank, CUdeviceptr address, const uint64_t *extents,
                      const uint64_t *strides, const int *lower, const int *upper, const unsigned *column,
                      const unsigned *steps, const int *modes);
} table;
static CUresult sticky;
static int ready;

__attribute__((visibility("default"))) void *stand_in_table(void) { return &table; }

static int wanted(const char *name, int otherwise) {
    const char *text = getenv("STAND_IN_FAIL");
    const char *at = text ? strstr(text, name) : NULL;
    return at && at[strlen(name)] == '=' ? atoi(at + strlen(name) + 1) : otherwise;
}

static int number(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

#define ENTER() do { \
    int code = wanted(__func__, 0); \
    if (code) return code; \
    if (!ready) return NOT_INITIALIZED; \
    if (sticky) return sticky; \
} while (0)

CUresult cuInit(unsigned flags) {
    int code = wanted("cuInit", 0);
    if (code) return code;
    if (ready) return SUCCESS;
    int (*ensure)(void) = dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    void (*leave)(int) = dlsym(RTLD_DEFAULT, "PyGILState_Release");
    int (*run)(const char *) = dlsym(RTLD_DEFAULT, "PyRun_SimpleString");
    if (!ensure || !leave || !run) return NO_DEVICE;
    int state = ensure();
    ready = run("import stand_in_driver; stand_in_driver.connect()") == 0;
    leave(state);
    return ready ? SUCCESS : NO_DEVICE;
}

CUresult cuDriverGetVersion(int *version) { *version = number("STAND_IN_VERSION", 13000); return SUCCESS; }
CUresult cuDeviceGetCount(int *count) { ENTER(); *count = number("STAND_IN_DEVICES", 1); return SUCCESS; }
CUresult cuDeviceGet(int *device, int index) {
    ENTER();
    if (index >= number("STAND_IN_DEVICES", 1)) return 101;
    *device = index;
    return SUCCESS;
}
CUresult cuDeviceGetName(char *name, int size, int device) {
    ENTER();
    const char *other = getenv("STAND_IN_NAME");
    snprintf(name, size, "%s", other ? other : "Stand-in GPU");
    return SUCCESS;
}
/* With STAND_IN_NAME it is taken for that GPU: its UUID and its driver's version are such as NVIDIA's are. */
CUresult cuDeviceGetUuid(void *uuid, int device) {
    ENTER();
    for (int i = 0; i < 16; i++) ((unsigned char *)uuid)[i] = getenv("STAND_IN_NAME") ? (unsigned char[]){0xc0, 0xff, 0xee, 0}[i % 4] : 7;
    return SUCCESS;
}
int nvmlInit_v2(void) { return getenv("STAND_IN_NAME") ? 0 : 9; }
int nvmlSystemGetDriverVersion(char *version, unsigned size) { snprintf(version, size, "580.65.06"); return 0; }
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) { return 6; }
CUresult cuDeviceGetUuid_v2(void *uuid, int device) { return cuDeviceGetUuid(uuid, device); }
CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
    ENTER();
    *value = attribute == 75 ? 9 : attribute == 97 ? 232448 : 0;      /* capability 9.0; shared memory, opt in */
    return SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(void **context, int device) { ENTER(); *context = &table; return SUCCESS; }
CUresult cuDevicePrimaryCtxRelease_v2(int device) { return SUCCESS; }
CUresult cuCtxSetCurrent(void *context) { ENTER(); return SUCCESS; }
CUresult cuCtxGetCurrent(void **context) { ENTER(); *context = &table; return SUCCESS; }
CUresult cuCtxSynchronize(void) { ENTER(); return SUCCESS; }
CUresult cuStreamCreate(void **stream, unsigned flags) { ENTER(); *stream = (void *)0x5000; return SUCCESS; }
CUresult cuStreamSynchronize(void *stream) { ENTER(); return SUCCESS; }
CUresult cuStreamDestroy_v2(void *stream) { ENTER(); return SUCCESS; }

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t nbytes) { ENTER(); return table.allocate(nbytes, address); }
CUresult cuMemFree_v2(CUdeviceptr address) { ENTER(); return table.release(address); }
CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr address) {
    ENTER();
    if (attribute != 2 || !table.holds(address)) return INVALID_VALUE;
    *(unsigned *)value = 2;                                            /* CU_MEMORYTYPE_DEVICE */
    return SUCCESS;
}
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t n) {
    ENTER();
    memmove((void *)to, (void *)from, n);
    return SUCCESS;
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t n) {
    ENTER();
    memcpy((void *)to, from, n);
    return SUCCESS;
}
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t n) {
    ENTER();
    memcpy(to, (void *)from, n);
    return SUCCESS;
}
CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n) {
    ENTER();
    memset((void *)to, value, n);
    return SUCCESS;
}

CUresult cuTensorMapEncodeTiled(void *map, int dtype, unsigned rank, CUdeviceptr address, const uint64_t *extents,
                                const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave,
                                int swizzle, int l2_promotion, int fill) {
    ENTER();
    int modes[] = {interleave, swizzle, l2_promotion, fill};
    return table.tiled_map(map, dtype, rank, address, extents, strides, box, steps, modes);
}
CUresult cuTensorMapEncodeIm2col(void *map, int dtype, unsigned rank, CUdeviceptr address, const uint64_t *extents,
                                 const uint64_t *strides, const int *lower, const int *upper, unsigned channels,
                                 unsigned pixels, const unsigned *steps, int interleave, int swizzle,
                                 int l2_promotion, int fill) {
    ENTER();
    unsigned column[] = {channels, pixels};
    int modes[] = {interleave, swizzle, l2_promotion, fill};
    return table.im2col_map(map, dtype, rank, address, extents, strides, lower, upper, column, steps, modes);
}

CUresult cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
    ENTER();
    char *log = NULL;
    unsigned size = 0;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == 5) log = values[i];                          /* CU_JIT_ERROR_LOG_BUFFER */
        if (options[i] == 6) size = (unsigned)(uintptr_t)values[i];    /* ..._SIZE_BYTES */
    }
    uint64_t made = 0;
    CUresult code = table.load(image, log, size, &made);
    *module = (void *)made;
    return code;
}
CUresult cuModuleUnload(void *module) { ENTER(); return SUCCESS; }
CUresult cuModuleGetFunction(void **function, void *module, const char *name) {
    ENTER();
    uint64_t found = 0;
    CUresult code = table.function((uint64_t)module, name, &found);
    *function = (void *)found;
    return code;
}
CUresult cuFuncGetAttribute(int *value, int attribute, void *function) {
    ENTER();
    return table.function_attribute((uint64_t)function, attribute, value, 0);
}
CUresult cuFuncSetAttribute(void *function, int attribute, int value) {
    ENTER();
    return table.function_attribute((uint64_t)function, attribute, &value, 1);
}
CUresult cuLaunchKernelEx(const Config *config, void *function, void **params, void **extra) {
    ENTER();
    unsigned shape[10] = {config->grid[0], config->grid[1], config->grid[2], config->block[0], config->block[1],
                          config->block[2], 1, 1, 1, config->smem_bytes};
    int programmatic = 0;
    for (unsigned i = 0; i < config->attribute_count; i++) {
        if (config->attributes[i].id == 4) memcpy(shape + 6, config->attributes[i].value, 12);
        if (config->attributes[i].id == 6) programmatic = config->attributes[i].value[0];
    }
    CUresult code = table.launch((uint64_t)function, shape, (uint64_t)config->stream, programmatic, params);
    if (code < 700) return code;                                       /* the launch was refused */
    sticky = code;                                                     /* the kernel failed: told later */
    return SUCCESS;
}

static const struct { CUresult code; const char *name, *text; } errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {710, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
};

static CUresult error_text(CUresult code, const char **text, int name) {
    for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code) {
            *text = name ? errors[i].name : errors[i].text;
            return SUCCESS;
        }
    *text = NULL;
    return INVALID_VALUE;
}
CUresult cuGetErrorName(CUresult code, const char **text) { return error_text(code, text, 1); }
CUresult cuGetErrorString(CUresult code, const char **text) { return error_text(code, text, 0); }

CUresult cuGetProcAddress_v2(const char *name, void **found, int version, uint64_t flags, int *status) {
    char versioned[128];
    snprintf(versioned, sizeof versioned, "%s_v2", name);
    Dl_info self;
    dladdr((void *)cuGetProcAddress_v2, &self);
    void *library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    *found = dlsym(library, versioned);
    if (!*found) *found = dlsym(library, name);
    if (status) *status = *found ? 0 : 1;
    return *found ? SUCCESS : NOT_FOUND;
}
CUresult cuGetProcAddress(const char *name, void **found, int version, uint64_t flags) {
    return cuGetProcAddress_v2(name, found, version, flags, NULL);
}
