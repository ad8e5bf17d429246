"""OAuth: what a token is good for, what a refusal tells a client, and the authorization server's own face.

django-oauth-toolkit issues and stores the tokens. This room judges them (`authentication`), names the resources
they are bound to (`audience`), writes the challenges and the metadata documents that clients act on
(`challenge`, `metadata`), offers the administrator's scopes (`scopes`) and tightens the toolkit's own views where
a request concerns one of our endpoints (`validator`, `views`, `urls`).

Clients make themselves known by registering (`registration`, `registration_views`) or by a document at their own URL
(`documents`, read through `fetch`); what either may say of a client is one list of rules (`client_metadata`,
`redirects`). They prove themselves by secret or signature (`client_authentication`, `assertions`). `audit` keeps the
trail of it all, and `cross_origin` lets web pages take part.
"""
