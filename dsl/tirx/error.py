"""tvm.error: the classes that TVM's tests expect. What is wrong with a program is a DiagnosticError."""

from dsl.core.errors import DSLUserCodeError as DiagnosticError

InternalError = DiagnosticError
TVMError = DiagnosticError
