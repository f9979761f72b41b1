"""Modules, libraries, functions, fat binaries and linking."""

import glob
import importlib.metadata
import shutil
import subprocess

import pytest

from tests.driver.conftest import environment

ADD_ONE = """extern "C" __global__ void add_one(int *p) { p[threadIdx.x] += 1; if (!threadIdx.x) printf("from %d\\n", p[0]); }"""
LAUNCH = """
  address at; int got[32]; void *params[] = {&at};
  CHECK(cuMemAlloc_v2(&at, sizeof got)); CHECK(cuMemsetD32_v2(at, 41, 32));
  CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
  CHECK(cuMemcpyDtoH_v2(got, at, sizeof got)); printf("%d %d\\n", got[0], got[31]);
"""
CONTEXT = """
  handle context, module, function;
  CHECK(cuInit(0)); CHECK(cuDevicePrimaryCtxRetain(&context, 0)); CHECK(cuCtxSetCurrent(context));
"""


def test_functions_and_variables_of_a_module(run):
    text = run("""
      handle module = begin(), function; address counter, at; size_t bytes, offset; u32 value = 9, by = 1, got; const char *name;
      void *params[] = {&at, &by};
      TELL(cuModuleGetFunction(&function, module, "nothing")); TELL(cuModuleGetGlobal_v2(&counter, &bytes, module, "nothing"));
      CHECK(cuModuleGetGlobal_v2(&counter, &bytes, module, "counter")); printf("%zu ", bytes);
      CHECK(cuMemcpyDtoH_v2(&got, counter, 4)); printf("%u ", got); CHECK(cuMemcpyHtoD_v2(counter, &value, 4));
      function = function_of(module, "count"); CHECK(cuFuncGetName(&name, function)); printf("%s ", name);
      CHECK(cuFuncGetParamInfo(function, 1, &offset, &bytes)); printf("%zu %zu ", offset, bytes);
      printf("%u ", cuFuncGetParamInfo(function, 2, &offset, &bytes));
      CHECK(cuMemAlloc_v2(&at, 4)); CHECK(cuMemsetD32_v2(at, 0, 1));
      CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
      CHECK(cuMemcpyDtoH_v2(&got, at, 4)); printf("%u\\n", got);
      CHECK(cuModuleUnload(module)); TELL(cuModuleUnload(module)); TELL(cuMemcpyDtoH_v2(&got, counter, 4));
      TELL(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
      handle again; CHECK(cuModuleLoadData(&again, PTX));
      CHECK(cuModuleGetGlobal_v2(&counter, &bytes, again, "counter"));
      CHECK(cuMemcpyDtoH_v2(&got, counter, 4)); printf("%u\\n", got);
    """)
    lines = text.splitlines()
    assert [line.rpartition(" ")[2] for line in lines[:2]] == ["500", "500"]
    assert lines[2].split() == ["4", "5", "count", "8", "4", "1", "9"]
    assert [line.rpartition(" ")[2] for line in lines[3:]] == ["400", "1", "400", "5"]


def test_a_library_and_its_kernels(run):
    text = run(
        CONTEXT
        + """
      handle library, kernel; u32 count;
      CHECK(cuLibraryLoadData(&library, PTX, NULL, NULL, 0, NULL, NULL, 0)); CHECK(cuLibraryGetKernelCount(&count, library));
      CHECK(cuLibraryGetKernel(&kernel, library, "fail")); CHECK(cuKernelGetFunction(&function, kernel)); printf("%u\\n", count);
      CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL)); TELL(cuCtxSynchronize());
      CHECK(cuLibraryUnload(library)); TELL(cuLibraryGetKernelCount(&count, library));
    """
    )
    assert text.startswith("4\n") and "cuCtxSynchronize(): 715" in text and "library): 400" in text


def test_bad_ptx_is_explained_to_the_program_too(run):
    text = run(
        CONTEXT
        + """
      char log[200] = ""; u32 options[] = {5, 6}; void *values[] = {log, (void *)sizeof log};
      TELL(cuModuleLoadDataEx(&module, ".version 8.0\\n.target sm_90\\n.visible .entry k() { frob; ret; }", 2, options, values));
      TELL(cuModuleLoadDataEx(&module, ".version 8.0\\n.target sm_90\\n.visible .entry k( {", 2, options, values));
      printf("log: %s\\n", log); TELL(cuModuleLoadData(&module, "neither")); TELL(cuModuleLoad(&module, "/no/such/file"));
    """
    )
    assert (
        "values): 218" in text
        and "log: PTX line" in text
        and '"neither"): 200' in text
        and '"/no/such/file"): 301' in text
    )


def test_occupancy(run):
    text = run("""
      handle function = function_of(begin(), "count"); int blocks, block, grid;
      int threads[] = {32, 96, 1024, 1025}; size_t smem[] = {0, 100000, 0, 0};
      for (int i = 0; i < 4; i++) {
        CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads[i], smem[i])); printf("%d ", blocks);
      }
      CHECK(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, NULL, 0, 0)); printf("%d %d\\n", grid, block);
    """)
    assert [int(each) for each in text.split()] == [32, 2, 2, 0, 264, 1024]


def test_texts_are_linked(run):
    callee = r".version 8.0\n.target sm_90\n.address_size 64\n.visible .func (.param .b32 r) one() { .reg .b32 %a; mov.u32 %a, 1; st.param.b32 [r], %a; ret; }"
    caller = (
        r".version 8.0\n.target sm_90\n.address_size 64\n.extern .func (.param .b32 r) one();\n"
        r".visible .entry add_one(.param .u64 p) { .reg .b64 %d<3>; .reg .b32 %r<5>; ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x;"
        r" mad.wide.u32 %d2, %r1, 4, %d1; { .param .b32 q; call.uni (q), one, (); ld.param.b32 %r2, [q]; }"
        r" ld.global.u32 %r3, [%d2]; add.u32 %r4, %r3, %r2; st.global.u32 [%d2], %r4; ret; }"
    )
    text = run(CONTEXT + f"""
      handle link; void *image; size_t bytes; char *texts[] = {{"{caller}", "{callee}"}};
      CHECK(cuLinkCreate_v2(0, NULL, NULL, &link));
      for (int i = 0; i < 2; i++) CHECK(cuLinkAddData_v2(link, 1, texts[i], strlen(texts[i]) + 1, "t", 0, NULL, NULL));
      CHECK(cuLinkComplete(link, &image, &bytes)); CHECK(cuModuleLoadData(&module, image)); CHECK(cuLinkDestroy(link));
      function = function_of(module, "add_one"); {LAUNCH}
    """)  # fmt: skip
    assert text == "42 42\n"


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("mode", ["none", "speed", "size"])
def test_fat_binaries_of_nvcc(run, tmp_path, mode):
    (tmp_path / "k.cu").write_text(f"#include <cstdio>\n{ADD_ONE}\n")
    how = ["-fatbin", f"-compress-mode={mode}", "-gencode", "arch=compute_75,code=[sm_75,compute_75]"]
    how += ["-gencode", "arch=compute_90,code=[sm_90,compute_90]", "-gencode", "arch=compute_100,code=compute_100"]
    subprocess.run(["nvcc", *how, "-o", tmp_path / "k.fatbin", tmp_path / "k.cu"], check=True)
    text = run(CONTEXT + f"""
      CHECK(cuModuleLoad(&module, "{tmp_path}/k.fatbin")); function = function_of(module, "add_one");
      printf("before\\n"); {LAUNCH}
    """)  # fmt: skip
    assert text == "before\nfrom 42\n42 42\n"


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_machine_code_alone_is_refused_with_the_fix(run, tmp_path):
    (tmp_path / "k.cu").write_text(f"#include <cstdio>\n{ADD_ONE}\n")
    subprocess.run(["nvcc", "-cubin", "-arch=sm_90", "-o", tmp_path / "k.cubin", tmp_path / "k.cu"], check=True)
    new = ["nvcc", "-fatbin", "-gencode", "arch=compute_100,code=[sm_100,compute_100]"]
    subprocess.run([*new, "-o", tmp_path / "k.fatbin", tmp_path / "k.cu"], check=True)
    text = run(CONTEXT + f"""
      TELL(cuModuleLoad(&module, "{tmp_path}/k.cubin")); TELL(cuModuleLoad(&module, "{tmp_path}/k.fatbin"));
    """)  # fmt: skip
    assert text.count('"): 209\n') == 2 and text.count("fix: build PTX into it: nvcc -gencode") == 2
    text = run(CONTEXT + f"""
      CHECK(cuModuleLoad(&module, "{tmp_path}/k.fatbin")); function = function_of(module, "add_one"); {LAUNCH}
    """, GPU_REPRO_GPU_MODEL="b200")  # fmt: skip
    assert text == "from 42\n42 42\n"


PLACES = ["/usr/local/cuda/lib64", "/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"]
NVRTC = """
  void *program, *library = dlopen("libnvrtc.so.13", RTLD_NOW); size_t bytes; char *image;
  int (*create)() = dlsym(library, "nvrtcCreateProgram"), (*compile)() = dlsym(library, "nvrtcCompileProgram");
  int (*size)() = dlsym(library, "nvrtcGetCUBINSize"), (*cubin)() = dlsym(library, "nvrtcGetCUBIN");
  const char *options[] = {"--gpu-architecture=sm_90"};
  printf("%d ", create(&program, source, "k.cu", 0, NULL, NULL)); printf("%d ", compile(program, 1, options));
"""


def nvrtc_folder() -> str:
    """The folder of NVIDIA's library of this environment."""
    file = importlib.metadata.distribution("nvidia-cuda-nvrtc").locate_file("nvidia/cu13/lib")
    return str(file)


def test_machine_code_of_nvrtc_is_ptx(run):
    libraries = f"{environment()['LD_LIBRARY_PATH']}:{nvrtc_folder()}"
    source = 'const char *source = "extern \\"C\\" __global__ void add_one(int *p) { p[threadIdx.x] += 1; }";'
    text = run(CONTEXT + source + NVRTC + f"""
      printf("%d ", size(program, &bytes)); image = malloc(bytes); printf("%d\\n", cubin(program, image));
      CHECK(cuModuleLoadData(&module, image)); function = function_of(module, "add_one"); {LAUNCH}
    """, "#include <dlfcn.h>\n#include <stdlib.h>", LD_LIBRARY_PATH=libraries)  # fmt: skip
    assert text == "0 0 0 0\n42 42\n"


@pytest.mark.skipif(any(glob.glob(f"{each}/libnvrtc.so.1[23]") for each in PLACES), reason="NVRTC is installed there")
def test_nvrtc_is_named_where_it_is_not(run):
    where = {"CUDA_HOME": "/nonexistent", "CUDA_PATH": "/nonexistent"}
    text = run('handle context, module, function; const char *source = "";' + NVRTC, "#include <dlfcn.h>", **where)
    assert text.startswith("11 11 gpu-repro: NVRTC is not where the dynamic linker searches; fix: add the folder of")


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_an_assertion_that_fails_is_error_710(run, tmp_path):
    source = tmp_path / "k.cu"
    source.write_text('#include <cassert>\nextern "C" __global__ void k(int *p) { assert(p[threadIdx.x] == 1); }\n')
    subprocess.run(["nvcc", "-ptx", "-lineinfo", "-arch=sm_90", "-o", tmp_path / "k.ptx", source], check=True)
    text = run(CONTEXT + f"""
      address at; void *params[] = {{&at}}; CHECK(cuModuleLoad(&module, "{tmp_path}/k.ptx")); function = function_of(module, "k");
      CHECK(cuMemAlloc_v2(&at, 128)); CHECK(cuMemsetD32_v2(at, 2, 32));
      CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL)); TELL(cuCtxSynchronize());
    """)  # fmt: skip
    assert "cuCtxSynchronize(): 710" in text and "assertion failed: " in text and "k.cu:2:" in text
