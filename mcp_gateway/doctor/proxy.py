"""The rules that a proxy needs where the site lives under a path prefix.

RFC 8414 section 3.1 and RFC 9728 section 3.1 put the metadata documents at the origin's root, where Django does not
answer then: the well-known part comes first and the path of the issuer or the endpoint behind it.
"""

from __future__ import annotations

from urllib.parse import urlsplit

#: Documents that are named after what they describe, and are at the root alone.
NAMES = ("oauth-protected-resource", "oauth-authorization-server", "openid-configuration")


def rules(base: str) -> str:
    """What to add for a site at ``base`` (``https://host/prefix``), for nginx and Caddy; empty without a prefix."""
    prefix = urlsplit(base).path.rstrip("/")
    if not prefix:
        return ""
    names = "|".join(NAMES)
    return "\n".join(
        [
            "nginx, beside the site's own location:",
            f"    location ~ ^/\\.well-known/({names})(/.*)?$ {{",
            f"        rewrite ^(.*)$ {prefix}$1 last;",
            "    }",
            "Caddy:",
            f"    @wellknown path_regexp ^/\\.well-known/({names})(/.*)?$",
            f"    rewrite @wellknown {prefix}{{uri}}",
        ]
    )
