"""tvm.error: the classes that TVM's tests expect. Errors of a program are DiagnosticErrors."""

from dsl.core.errors import DSLUserCodeError as DiagnosticError

InternalError = DiagnosticError
TVMError = DiagnosticError
