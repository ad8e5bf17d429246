"""``OAUTH2_PROVIDER``: what the gateway needs of django-oauth-toolkit."""

from __future__ import annotations

from typing import Any

from mcp_gateway.conf.addresses import checked_url

# django-oauth-toolkit refuses an empty SCOPES; what is really on offer are the Scope rows.
SCOPES_PLACEHOLDER = {"mcp:tools": "Use the tools of this site"}

# What the gateway needs of django-oauth-toolkit and the toolkit only offers for all clients of a site.
PROVIDER_OPTIONS: dict[str, Any] = {
    "SCOPES_BACKEND_CLASS": "mcp_gateway.oauth.scopes.GatewayScopes",
    "COMPLIANT_BCP_RFC9700_TOKEN_STORAGE": True,
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "ALLOW_LOCALHOST_LOOPBACK": True,
}

# Who may change a client that acts as somebody (`mcp_gateway.admin.applications`), and what was issued to it.
_ADMIN_OPTIONS = {
    "APPLICATION_ADMIN_CLASS": "mcp_gateway.admin.applications.GuardedApplicationAdmin",
    "ACCESS_TOKEN_ADMIN_CLASS": "mcp_gateway.admin.issued.GuardedAccessTokenAdmin",
    "REFRESH_TOKEN_ADMIN_CLASS": "mcp_gateway.admin.issued.GuardedRefreshTokenAdmin",
    "GRANT_ADMIN_CLASS": "mcp_gateway.admin.issued.GuardedGrantAdmin",
    "ID_TOKEN_ADMIN_CLASS": "mcp_gateway.admin.issued.GuardedIDTokenAdmin",
}

#: The toolkit's switches that refuse, for every client of the site, what RFC 9700 advises against. For a site
#: without older clients: ``oauth2_provider(public_url, **RFC_9700)``. At our own endpoints it is refused anyway.
RFC_9700: dict[str, Any] = {
    "COMPLIANT_BCP_RFC9700_IMPLICIT_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PASSWORD_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PKCE_METHOD": True,
    "COMPLIANT_BCP_RFC9700_ACCESS_TOKEN_TRANSPORT": True,
    "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
    "COMPLIANT_BCP_RFC9700_REFRESH_TOKEN": True,
    "COMPLIANT_BCP_RFC9700_REDIRECT_URI_MATCHING": True,
    "COMPLIANT_BCP_RFC9700_PKCE_REQUIRED": True,
}


def oauth2_provider(public_url: str, **own: Any) -> dict[str, Any]:
    """The ``OAUTH2_PROVIDER`` of a project that protects tools, for its ``settings.py``.

    ::

        from mcp_gateway.conf import oauth2_provider

        OAUTH2_PROVIDER = oauth2_provider(public_url="https://mcp.example.com", SCOPES={"read": "Read your posts"})

    Parameters: ``public_url``, the address clients use, which is also ``ZOLINGA["PUBLIC_URL"]`` where that is not
    set (empty where the site does not know its address yet); ``own``, options of django-oauth-toolkit, which all
    win. Only such options are set as the gateway needs and the toolkit has for a whole site alone; everything else
    is decided per request, so that a project's other clients go on as before. Raises ``ImproperlyConfigured`` for
    an address that is none.
    """
    options: dict[str, Any] = {"SCOPES": dict(SCOPES_PLACEHOLDER), **PROVIDER_OPTIONS, **_ADMIN_OPTIONS}
    if public_url:
        # The toolkit reads only the options it knows; this one is for us.
        options["PUBLIC_URL"] = checked_url(public_url, "oauth2_provider(public_url=…)")
    return {**options, **own}
