"""`quadrants.lang.misc`: which architectures there are."""

from dsl.quadrants.extension import is_extension_enabled, is_extension_supported
from dsl.quadrants.hints import loop_unique
from dsl.quadrants.runtime import Arch, cpu

__all__ = ["Arch", "cpu", "get_host_arch_list", "is_extension_enabled", "is_extension_supported", "loop_unique"]


def get_host_arch_list() -> list[Arch]:
    """The architectures of this machine's processor."""
    return [cpu]
