/* What launches kernels of exported functions, by the CUDA driver API: no header of CUDA and no library is needed. */
#ifndef CUTE_DSL_EXPORTED_LAUNCH
#define CUTE_DSL_EXPORTED_LAUNCH
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct CUstream_st; /* cudaStream_t and CUstream are pointers to it */

#define CUTE_DSL_NO_DRIVER 35 /* cudaErrorInsufficientDriver */

typedef struct {
    int32_t grid[3], block[3], cluster[3], smem_bytes;
    uint64_t stream;
    int32_t flags; /* 1: cooperative, 2: may start before the kernel ahead of it has ended, 4: records events */
    uint64_t events[2]; /* where all blocks run, and where all have let dependent kernels start; 0: none */
} cute_dsl_Record;

typedef struct { /* CUlaunchAttribute */
    uint32_t id, padding;
    union { uint32_t words[16]; } value;
} cute_dsl_Attribute;

typedef struct { /* CUlaunchConfig */
    uint32_t grid[3], block[3], smem_bytes, padding;
    void *stream;
    cute_dsl_Attribute *attributes;
    uint32_t attribute_count;
} cute_dsl_Config;

typedef struct { /* a call of an exported function; its address is what the function gives to each launch */
    void **kernels;
    int32_t code; /* the driver's last answer */
} cute_dsl_Call;

static inline void *cute_dsl_driver(const char *name) {
    static void *library;
    if (!library) library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    void *function = library ? dlsym(library, name) : NULL;
    if (!function) fprintf(stderr, "exported kernels need the CUDA driver: no %s in libcuda.so.1\n", name);
    return function;
}

/* Where the thread has no context: the primary one of the first GPU, which the CUDA runtime would take. */
static inline int32_t cute_dsl_context(void) {
    int32_t (*get)(void **) = (int32_t (*)(void **))cute_dsl_driver("cuCtxGetCurrent");
    int32_t (*retain)(void **, int32_t) = (int32_t (*)(void **, int32_t))cute_dsl_driver("cuDevicePrimaryCtxRetain");
    int32_t (*set)(void *) = (int32_t (*)(void *))cute_dsl_driver("cuCtxSetCurrent");
    if (!get || !retain || !set) return CUTE_DSL_NO_DRIVER;
    void *context = NULL;
    int32_t code = get(&context);
    if (code || context) return code;
    code = retain(&context, 0);
    return code ? code : set(context);
}

static inline int32_t cute_dsl_load(const char *ptx, int32_t count, const char *const *names, void **library,
                                    void **kernels) {
    *library = NULL;
    if (!count) return 0;
    int32_t (*init)(uint32_t) = (int32_t (*)(uint32_t))cute_dsl_driver("cuInit");
    if (!init) return CUTE_DSL_NO_DRIVER;
    int32_t (*load)(void **, const void *, void *, void **, uint32_t, void *, void **, uint32_t) =
        (int32_t (*)(void **, const void *, void *, void **, uint32_t, void *, void **, uint32_t))
            cute_dsl_driver("cuLibraryLoadData");
    int32_t (*get)(void **, void *, const char *) =
        (int32_t (*)(void **, void *, const char *))cute_dsl_driver("cuLibraryGetKernel");
    if (!load || !get) return CUTE_DSL_NO_DRIVER;
    int32_t code = init(0);
    if (!code) code = cute_dsl_context();
    if (!code) code = load(library, ptx, NULL, NULL, 0, NULL, NULL, 0);
    for (int32_t index = 0; index < count && !code; index++) code = get(&kernels[index], *library, names[index]);
    return code;
}

static inline int32_t cute_dsl_unload(void *library) {
    int32_t (*unload)(void *) = library ? (int32_t (*)(void *))cute_dsl_driver("cuLibraryUnload") : NULL;
    return unload ? unload(library) : 0;
}

/* Allow a kernel its dynamic shared memory, and a cluster of more than 8 blocks. */
static inline int32_t cute_dsl_allow(void *kernel, const cute_dsl_Record *record, int32_t cluster_blocks) {
    int32_t (*device)(int32_t *) = (int32_t (*)(int32_t *))cute_dsl_driver("cuCtxGetDevice");
    int32_t (*set)(int32_t, int32_t, void *, int32_t) =
        (int32_t (*)(int32_t, int32_t, void *, int32_t))cute_dsl_driver("cuKernelSetAttribute");
    if (!device || !set) return CUTE_DSL_NO_DRIVER;
    int32_t current = 0, code = device(&current);
    if (!code && record->smem_bytes) code = set(8, record->smem_bytes, kernel, current);
    if (!code && cluster_blocks > 8) code = set(14, 1, kernel, current);
    return code;
}

/* One launch of an exported function: 0, or 1 once a launch of this call has failed. */
static inline int32_t cute_dsl_launch(void *handle, int32_t index, const void *launch, void *params) {
    cute_dsl_Call *call = (cute_dsl_Call *)handle;
    const cute_dsl_Record *record = (const cute_dsl_Record *)launch;
    cute_dsl_Attribute attributes[5];
    cute_dsl_Config config;
    int32_t (*run)(const void *, void *, void **, void **) =
        (int32_t (*)(const void *, void *, void **, void **))cute_dsl_driver("cuLaunchKernelEx");
    if (!run) call->code = CUTE_DSL_NO_DRIVER;
    if (call->code) return 1;
    int32_t blocks = record->cluster[0] * record->cluster[1] * record->cluster[2];
    call->code = cute_dsl_allow(call->kernels[index], record, blocks);
    memset(attributes, 0, sizeof attributes);
    memset(&config, 0, sizeof config);
    memcpy(config.grid, record->grid, sizeof config.grid);
    memcpy(config.block, record->block, sizeof config.block);
    config.smem_bytes = (uint32_t)record->smem_bytes;
    memcpy(&config.stream, &record->stream, sizeof config.stream);
    config.attributes = attributes;
    if (blocks > 1) { /* CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION */
        cute_dsl_Attribute *cluster = &attributes[config.attribute_count++];
        cluster->id = 4;
        memcpy(cluster->value.words, record->cluster, sizeof record->cluster);
    }
    if (record->flags & 1) { /* CU_LAUNCH_ATTRIBUTE_COOPERATIVE */
        cute_dsl_Attribute *cooperative = &attributes[config.attribute_count++];
        cooperative->id = 2;
        cooperative->value.words[0] = 1;
    }
    if (record->flags & 2) { /* CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION */
        cute_dsl_Attribute *programmatic = &attributes[config.attribute_count++];
        programmatic->id = 6;
        programmatic->value.words[0] = 1;
    }
    for (int32_t which = 0; record->flags & 4 && which < 2; which++) {
        if (!record->events[which]) continue;
        cute_dsl_Attribute *event = &attributes[config.attribute_count++];
        event->id = which ? 7 : 12; /* CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, _LAUNCH_COMPLETION_EVENT */
        memcpy(event->value.words, &record->events[which], sizeof record->events[which]);
    }
    if (!call->code) call->code = run(&config, call->kernels[index], (void **)params, NULL);
    return call->code != 0;
}
#endif
