"""tvm.backend.cuda.lang.clc: cluster launch control, which this compiler does not have."""

from dsl.core.diagnosis.unsupported_names import refuser
from dsl.tirx.errors.unsupported import LISTED

NAMES = (
    "query_cancel_first_ctaid_x",
    "query_cancel_first_ctaid_y",
    "query_cancel_first_ctaid_z",
    "query_cancel_is_canceled",
    "try_cancel",
)
__getattr__ = refuser("tvm.backend.cuda.lang.clc", LISTED, dict.fromkeys(NAMES, LISTED))
