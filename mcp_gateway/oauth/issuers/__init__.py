"""Tokens of an authorization server elsewhere, at the endpoints that ``ZOLINGA["ISSUERS"]`` names.

`principal_of` is the only way in: what a token says comes from its signature (`tokens`, `keys`) or from its issuer
(`introspection`), and is judged in one place (`judge`), whichever it was.
"""

from mcp_gateway.oauth.issuers.judge import principal_of
from mcp_gateway.oauth.issuers.refusals import IssuerUnavailable, Untrusted

__all__ = ["IssuerUnavailable", "Untrusted", "principal_of"]
