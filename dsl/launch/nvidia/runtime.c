/* A CUDA runtime without a GPU, for the host functions that nvidia-cutlass-dsl compiles (CUTE_DSL_LIBS).
 *
 * Each function is named after one of the CUDA runtime or driver and takes its arguments. Modules, launches and memory
 * go to the device set by `use_device`, whose functions are Python's; a stream is in order, so what waits for one
 * returns at once. A function that does nothing of the kind tells its name to `missing`. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum error { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_HANDLE = 400, UNKNOWN = 999 };

struct launch_config;  /* cudaLaunchConfig_t, which Python reads */
struct library;

struct device {  /* as nvidia_hook.py fills it; each returns an enum error */
    int (*load)(const void *image, struct library **library);
    int (*find)(struct library *library, const char *kernel);
    int (*launch)(struct library *library, const char *kernel, const struct launch_config *, void **arguments);
    int (*allocate)(size_t bytes, void **address);
    int (*release)(void *address);
    int (*attribute)(int attribute, int *value);
    int (*occupancy)(const char *kernel, int threads, size_t smem_bytes, int *blocks);
    int (*raised)(int error);
    int (*missing)(const char *function);
};

static struct device device;

void use_device(const struct device *chosen)
{
    device = *chosen;
    setvbuf(stdout, NULL, _IONBF, 0);  /* printf of host functions, print() and kernels share one order */
}

/* Modules and kernels. A kernel's handle holds where it comes from. */

struct kernel {
    struct library *library;
    char name[];
};

int _cudaLibraryLoadData(struct library **library, const void *image)
{
    return device.load ? device.load(image, library) : NO_DEVICE;
}

int _cuLibraryLoadData(struct library **library, const void *image) { return _cudaLibraryLoadData(library, image); }

int _cudaLibraryGetKernel(struct kernel **kernel, struct library *library, const char *name)
{
    int error = device.find ? device.find(library, name) : NO_DEVICE;
    *kernel = NULL;
    if (error)
        return error;
    *kernel = malloc(sizeof **kernel + strlen(name) + 1);
    if (!*kernel)
        return OUT_OF_MEMORY;
    (*kernel)->library = library;
    strcpy((*kernel)->name, name);
    return SUCCESS;
}

int _cuLibraryGetKernel(struct kernel **kernel, struct library *library, const char *name)
{
    return _cudaLibraryGetKernel(kernel, library, name);
}

int _cudaLaunchKernelEx(const struct launch_config *config, struct kernel *kernel, void **arguments)
{
    if (!device.launch)
        return NO_DEVICE;
    return kernel ? device.launch(kernel->library, kernel->name, config, arguments) : INVALID_HANDLE;
}

int _cudaLibraryUnload(void) { return SUCCESS; }
int _cuLibraryUnload(void) { return SUCCESS; }
int _cuKernelGetAttribute(int *value) { *value = 0; return SUCCESS; }  /* registers, local bytes: not the emulator's */
int _cudaFuncSetAttribute(void) { return SUCCESS; }
int _cudaKernelSetAttributeForDevice(void) { return SUCCESS; }

int _cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, struct kernel *kernel, int threads, size_t smem_bytes)
{
    return device.occupancy ? device.occupancy(kernel->name, threads, smem_bytes, blocks) : NO_DEVICE;
}

/* `init` and `load` are compiled with the host function: one loads its module, the other asks for the kernels. */
int cuda_dialect_init_library_once(struct library **library, int (*init)(struct library **),
                                   int (*load)(struct library **))
{
    int error = *library ? SUCCESS : init(library);
    if (!error)
        error = load(library);
    if (error && device.raised)
        device.raised(error);  /* the caller is TVM FFI's and raises no error of its own here */
    return error;
}

int cuda_dialect_unload_library_once(void) { return SUCCESS; }

/* The device. */

int _cudaGetDevice(int *ordinal) { *ordinal = 0; return SUCCESS; }
int _cuDeviceGet(int *ordinal) { *ordinal = 0; return SUCCESS; }
int _cudaGetDeviceCount(int *count) { *count = 1; return SUCCESS; }
int _cudaSetDevice(void) { return SUCCESS; }
int _cudaDeviceSynchronize(void) { return SUCCESS; }

int _cudaDeviceGetAttribute(int *value, int attribute)
{
    return device.attribute ? device.attribute(attribute, value) : NO_DEVICE;
}

/* Memory. */

int _cudaMalloc(void **address, size_t bytes)
{
    return device.allocate ? device.allocate(bytes, address) : NO_DEVICE;
}

int _cudaMallocAsync(void **address, size_t bytes) { return _cudaMalloc(address, bytes); }
int _cudaMallocHost(void **address, size_t bytes) { return _cudaMalloc(address, bytes); }
int _cudaMallocManaged(void **address, size_t bytes) { return _cudaMalloc(address, bytes); }
int _cudaFree(void *address) { return address && device.release ? device.release(address) : SUCCESS; }
int _cudaFreeAsync(void *address) { return _cudaFree(address); }
int _cudaFreeHost(void *address) { return _cudaFree(address); }
int _cudaMemcpy(void *to, const void *from, size_t bytes) { memmove(to, from, bytes); return SUCCESS; }
int _cudaMemcpyAsync(void *to, const void *from, size_t bytes) { return _cudaMemcpy(to, from, bytes); }
int _cudaMemset(void *to, int byte, size_t bytes) { memset(to, byte, bytes); return SUCCESS; }
int _cudaMemsetAsync(void *to, int byte, size_t bytes) { return _cudaMemset(to, byte, bytes); }

/* Streams and events. */

struct event {
    struct timespec recorded;
};

int _cudaStreamCreate(void **stream) { *stream = malloc(1); return *stream ? SUCCESS : OUT_OF_MEMORY; }
int _cudaStreamDestroy(void *stream) { free(stream); return SUCCESS; }
int _cudaStreamSynchronize(void) { return SUCCESS; }
int _cudaStreamWaitEvent(void) { return SUCCESS; }

int _cudaEventCreate(struct event **event)
{
    *event = calloc(1, sizeof **event);
    return *event ? SUCCESS : OUT_OF_MEMORY;
}

int _cudaEventRecord(struct event *event)
{
    return clock_gettime(CLOCK_MONOTONIC, &event->recorded) ? UNKNOWN : SUCCESS;
}

int _cudaEventDestroy(struct event *event) { free(event); return SUCCESS; }

int _cudaEventElapsedTime(float *ms, const struct event *start, const struct event *end)
{
    *ms = (end->recorded.tv_sec - start->recorded.tv_sec) * 1e3f
        + (end->recorded.tv_nsec - start->recorded.tv_nsec) * 1e-6f;
    return SUCCESS;
}

int _cudaProfilerStart(void) { return SUCCESS; }
int _cudaProfilerStop(void) { return SUCCESS; }

/* Errors. */

int CuteDSLRT_TVMFFISetRaisedCudaError(int error) { return device.raised ? device.raised(error) : SUCCESS; }
int CuteDSLRT_TVMFFISetRaisedCudaLaunchError(int error) { return CuteDSLRT_TVMFFISetRaisedCudaError(error); }

/* What is missing says so. */

#define MISSING(name) int name(void) { return device.missing ? device.missing(#name) : NO_DEVICE; }
#define MISSING_TEXT(name) const char *name(void) { MISSING_CALL(name); return "unknown"; }
#define MISSING_CALL(name) do { if (device.missing) device.missing(#name); } while (0)

MISSING(CuteDSLRT_Function_Run)
MISSING_TEXT(CuteDSLRT_GetErrorName)
MISSING_TEXT(CuteDSLRT_GetErrorString)
MISSING(CuteDSLRT_Module_Create_From_Bytes)
MISSING(CuteDSLRT_Module_Destroy)
MISSING(CuteDSLRT_Module_Get_Function)
MISSING(CuteDSLRT_NvJaxCutlassCallExecute)
MISSING(CuteDSLRT_NvJaxCutlassCallExecuteNoCudaGraph)
MISSING(CuteDSLRT_NvJaxCutlassCallExecuteNoCudaGraph_v1)
MISSING(CuteDSLRT_NvJaxCutlassCallExecuteNoCudaGraph_v2)
MISSING(CuteDSLRT_NvJaxCutlassCallExecute_v1)
MISSING(CuteDSLRT_NvJaxCutlassCallExecute_v2)
MISSING(CuteDSLRT_NvJaxCutlassCallInstantiate_v2)
MISSING(CuteDSLRT_NvJaxCutlassCallPrepare)
MISSING(CuteDSLRT_NvJaxCutlassCallPrepare_v1)
MISSING(CuteDSLRT_NvJaxCutlassCallPrepare_v2)
MISSING(CuteDSLRT_NvJaxCutlassCallStateTypeId_v2)
MISSING(CuteDSLRT_NvJaxCutlassCallStateTypeInfo_v2)
MISSING(_cuLibraryGetGlobal)
MISSING(_cuLibraryGetKernelCount)
MISSING(_cuLibraryGetManaged)
MISSING(_cuLibraryGetModule)
MISSING(_cuLibraryGetUnifiedFunction)
MISSING(_cuLibraryLoadFromFile)
MISSING(_cuTensorMapEncodeTiled)
MISSING(_cudaGetDeviceProperties)
MISSING(_cudaGraphDestroy)
MISSING(_cudaGraphExecDestroy)
MISSING(_cudaGraphInstantiate)
MISSING(_cudaGraphLaunch)
MISSING(_cudaLaunchKernel)
MISSING(_cudaLibraryGetGlobal)
MISSING(_cudaLibraryGetKernelCount)
MISSING(_cudaLibraryGetManaged)
MISSING(_cudaLibraryGetUnifiedFunction)
MISSING(_cudaLibraryLoadFromFile)
MISSING(_cudaStreamAddCallback)
MISSING(_cudaStreamBeginCapture)
MISSING(_cudaStreamEndCapture)
MISSING(cuda_dialect_assert_success)
MISSING_TEXT(cuda_dialect_get_error_name)
MISSING(cuda_dialect_print_on_error)
