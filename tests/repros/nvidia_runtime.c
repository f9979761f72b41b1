/* A CUDA runtime without a GPU, for the host functions that nvidia-cutlass-dsl compiles (CUTE_DSL_LIBS).
 *
 * A kernel is its name; a launch goes to the callback set by `on_launch`. The symbols are those that the compiled
 * host functions ask for, each with the arguments of the CUDA runtime function it is named after. */
#include <string.h>

struct launch_config;  /* cudaLaunchConfig_t, which the callback reads */
typedef void launch_callback(const char *kernel, const struct launch_config *, void **arguments);

enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76, SMEM_OPTIN_BYTES = 97 };  /* cudaDeviceAttr */

static launch_callback *callback;

void on_launch(launch_callback *called) { callback = called; }

int _cudaLaunchKernelEx(const struct launch_config *config, void *kernel, void **arguments)
{
    callback(kernel, config, arguments);
    return 0;
}

int _cudaLibraryGetKernel(void **kernel, void *library, const char *name)
{
    (void)library;
    *kernel = strdup(name);
    return 0;
}

int _cudaDeviceGetAttribute(int *value, int attribute)
{
    switch (attribute) {
    case CAPABILITY_MAJOR: *value = 9; break;
    case CAPABILITY_MINOR: *value = 0; break;
    case SMEM_OPTIN_BYTES: *value = 227 * 1024; break;
    default: *value = 1;
    }
    return 0;
}

int _cudaGetDevice(int *device) { *device = 0; return 0; }
int _cudaLibraryLoadData(void **library) { *library = &callback; return 0; }
int _cuKernelGetAttribute(int *value) { *value = 0; return 0; }

/* `init` and `load` are compiled with the host function; each takes an array of pointers to its arguments. */
int cuda_dialect_init_library_once(void **library, void (*init)(void **), void (*load)(void **))
{
    int error = 0, device = 0;
    void *init_arguments[] = { &library, &error }, *load_arguments[] = { &library, &device, &error };
    if (*library)
        return 0;
    init(init_arguments);
    if (!error)
        load(load_arguments);
    return error;
}

/* What has nothing to do here succeeds. */
int _cudaFuncSetAttribute(void) { return 0; }
int _cudaKernelSetAttributeForDevice(void) { return 0; }
int _cudaLibraryUnload(void) { return 0; }
int _cudaSetDevice(void) { return 0; }
int cuda_dialect_unload_library_once(void) { return 0; }
int CuteDSLRT_TVMFFISetRaisedCudaError(void) { return 0; }
