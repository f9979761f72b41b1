"""The headers of NVIDIA's packages, or of the toolkit if no package has them."""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path("/usr/local/cuda")  # where NVIDIA's installer puts the toolkit


def include_folders() -> list[Path]:
    """The folders for `#include <cuda_fp16.h>` and `#include <cuda/barrier>`."""
    tops = [Path(folder, "nvidia/cu13/include") for folder in sys.path if folder] + [FOLDER / "include"]
    found = [top for top in tops if (top / "cuda_fp16.h").is_file()][:1]
    return [folder for top in found for folder in (top, top / "cccl") if folder.is_dir()]
