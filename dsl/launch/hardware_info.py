"""Properties of the device that runs kernels: multiprocessors, L2 cache, clusters at once."""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeValueError
from dsl.launch import session

MOST_BLOCKS_IN_CLUSTER = 32


class HardwareInfo:
    """The running device, which is the only one."""

    def __init__(self, device_id: int = 0):
        session.refuse_other_device(device_id)
        self.device_id = device_id

    def get_device_multiprocessor_count(self) -> int:
        return session.current().device.multiprocessors()

    def get_l2_cache_size_in_bytes(self) -> int:
        return session.current().device.l2_cache_bytes()

    def get_max_active_clusters(self, cluster_size: int, stream: Any = None) -> int:
        """How many clusters of `cluster_size` blocks, one block a multiprocessor, run at once."""
        if not 1 <= cluster_size <= MOST_BLOCKS_IN_CLUSTER:
            raise DSLUserCodeValueError(
                f"cluster_size must be 1-{MOST_BLOCKS_IN_CLUSTER}, got {cluster_size}", fix="cluster_size=2"
            )
        return self.get_device_multiprocessor_count() // cluster_size
