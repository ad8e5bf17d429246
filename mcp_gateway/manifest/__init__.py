"""From ``zolinga.json`` on disk to rows in the database: discovery, reading, a plan, one transaction.

The parts are imported from their own files (``mcp_gateway.manifest.discovery``, ``…plan``, ``…apply``): this
package must stay importable from ``mcp_gateway.events.handlers``, which needs only the discovery.
"""
