"""`quadrants.lang.misc`: which architectures there are."""

from dsl.quadrants.runtime import Arch, cpu


def get_host_arch_list() -> list[Arch]:
    """The architectures of this machine's processor."""
    return [cpu]
