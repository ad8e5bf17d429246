"""The Model Context Protocol, apart from HTTP and the database: what a body is, which era it speaks, what errors say.

Pure functions, one file per concern; ``methods/`` holds what answers each MCP method.
"""
