"""The doctor: walks a deployment as a client would, and says what it saw, what that means and how to mend it.

``walk`` takes the steps in order: ``entering`` those at the endpoint's door, ``sharing`` one about its workers,
``discovery`` the metadata, ``elsewhere`` those where another issuer is trusted, ``documents`` one for clients that are
known by a document, ``login`` the authorization server, ``calling`` those with a token. ``web`` asks over HTTP as
clients do (no redirects followed, certificates judged), ``visit`` is what the steps know so far, ``report`` what was
found. What settings alone can tell is in `mcp_gateway.checks`.
"""
