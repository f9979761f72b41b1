"""Programs that schedule tasks are imported; what they run is refused by name."""

import dataclasses

import numpy as np
import pytest
from dsl.cutlass.experimental.task_scheduling.resources import MemoryResource, TaskLocalVariable, producer_work
from dsl.cutlass.experimental.task_scheduling.task_manager import TaskManager

from dsl.core.diagnosis.unsupported_names import UnsupportedName
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack


@dataclasses.dataclass
class Resource(MemoryResource):
    place = TaskLocalVariable.uninitialized(int)

    @producer_work(returns=place)
    @cute.jit
    def work(self):
        pass


def test_an_object_of_a_declared_class_is_refused():
    with pytest.raises(UnsupportedName) as error:
        Resource()
    assert error.value.message == (
        "cutlass.experimental.task_scheduling.resources.MemoryResource is not part of this compiler yet"
    )


@cute.jit
def scheduled(a: cute.Tensor):
    TaskManager(a)


def test_a_call_in_a_traced_function_is_refused():
    with pytest.raises(UnsupportedName) as error:
        cute.compile(scheduled, from_dlpack(np.zeros(1, np.float32)))
    assert error.value.message.startswith("cutlass.experimental.task_scheduling.task_manager.TaskManager is not part")
