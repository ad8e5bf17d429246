"""JSON Schema: read, judged and made self-contained at import; compiled and asked at every call."""

from mcp_gateway.schemas.documents import Note, Refused, SchemaRefused
from mcp_gateway.schemas.faults import Fault, listing
from mcp_gateway.schemas.mirrored import mirrored_parameters
from mcp_gateway.schemas.prepare import Prepared, Role, prepare
from mcp_gateway.schemas.validator import Validator, validator

__all__ = [
    "Fault",
    "Note",
    "Prepared",
    "Refused",
    "Role",
    "SchemaRefused",
    "Validator",
    "listing",
    "mirrored_parameters",
    "prepare",
    "validator",
]
