"""How programs find functions, names that are not here, and the link to the library."""

import subprocess

from dsl import driver


def test_functions_by_name_and_release(run):
    text = run("""
      void *found, *other; u32 status;
      CHECK(cuInit(0));
      CHECK(cuGetProcAddress_v2("cuMemAlloc", &found, 12000, 0, &status)); printf("%d %u\\n", found == cuMemAlloc_v2, status);
      CHECK(cuGetProcAddress_v2("cuMemAlloc", &found, 2000, 0, &status)); printf("%d\\n", found == cuMemAlloc_v2);
      TELL(cuGetProcAddress_v2("cuGreenCtxCreate", &found, 11000, 0, &status)); printf("%u %d\\n", status, found == NULL);
      TELL(cuGetProcAddress_v2("", &found, 0, 0, &status)); printf("%u\\n", status);
      CHECK(cuGetProcAddress_v2("cuStreamQuery", &found, 13000, 0, NULL));
      CHECK(cuGetProcAddress_v2("cuStreamQuery", &other, 13000, 2, NULL)); printf("%d\\n", other != found);
      handle context; CHECK(cuDevicePrimaryCtxRetain(&context, 0)); CHECK(cuCtxSetCurrent(context));
      printf("%u\\n", ((result (*)(handle))other)(NULL));
    """)
    assert [line.rpartition(": ")[2] for line in text.splitlines()] == ["1 0", "0", "500", "2 1", "500", "1", "1", "0"]


def test_missing_functions_are_named_once_at_the_end(run):
    text = run("""
      handle array;
      CHECK(cuInit(0));
      for (int i = 0; i < 3; i++) TELL(cuGreenCtxCreate(NULL, NULL, 0, 0));
      TELL(cuMipmappedArrayCreate(&array, NULL, 1)); printf("end\\n");
    """)
    *answers, end = text.splitlines()[:-1]
    assert [line.rpartition(": ")[2] for line in answers] == ["801"] * 4 and end == "end"
    assert text.count("cuGreenCtxCreate; cuMipmappedArrayCreate") == 1 and text.count("does not have") == 1


def test_a_program_with_nvidias_runtime_inside_gets_the_fix(run):
    text = run("""
      const void *table; unsigned char id[16] = {0xd4, 0x08, 0x20, 0x55}, other[16] = {0xda, 0x91};
      TELL(cuGetExportTable(&table, other)); TELL(cuGetExportTable(&table, id)); TELL(cuGetExportTable(&table, id));
    """)
    assert text.count(": 500") == 3 and text.count("nvcc -cudart shared") == 1


def test_every_name_of_the_api_is_exported(needs):
    needs("nm", "binutils")
    rows = (driver.library_folder().parents[1] / "names.inc").read_text().splitlines()
    names = {
        name for row in rows if row[:4] in ("NAME", "THRE") for name in row[row.index("(") + 1 : -1].split(", ")[2:]
    }
    told = subprocess.run(["nm", "-D", "--defined-only", driver.library_folder() / "libcuda.so.1"], capture_output=True)
    exported = {line.split()[2] for line in told.stdout.decode().splitlines()}
    assert len(names) > 660 and exported >= names
    others = {name for name in exported if not name.startswith(("cu", "__nvJitLink"))}
    in_process = {f"gpu_repro_{name}" for name in ("answer", "attach", "end", "is_module", "take_noted", "use_primary")}
    assert others == in_process | {"gpu_repro_finish", "gpu_repro_serve"} and "nvJitLinkVersion" not in exported
