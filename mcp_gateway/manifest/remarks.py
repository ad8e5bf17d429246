"""What an import has to say: one remark is one line of its report."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from mcp_gateway.manifest.discovery import MANIFEST_NAME


@dataclass(frozen=True, slots=True)
class Remark:
    """One line of a report.

    ``kind`` is ``module``, ``listener``, ``tool``, ``resource``, ``prompt``, ``schema``, ``scope`` or ``import``;
    ``name`` the thing's own name; ``file`` is relative to the module (a ``module://`` URI where it lies in another
    one), ``pointer`` a JSON pointer in it.
    """

    module: str
    kind: str
    name: str
    pointer: str
    message: str
    file: str = MANIFEST_NAME

    def as_dict(self) -> dict[str, Any]:
        """The remark as JSON has it."""
        return asdict(self)

    @property
    def place(self) -> str:
        """File and pointer, for a person."""
        return f"{self.file}#{self.pointer}" if self.pointer else self.file
