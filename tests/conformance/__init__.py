"""The official MCP conformance suite against the real server: ``uv run python -m tests.conformance``.

==================  ====================================================================================
``toolchain.py``    Node and the suite's npm package, in a cache folder outside the repository.
``server.py``       The site's own server on a database and a port of its own.
``settings.py``     The site's settings with the modules of ``modules/`` and nothing else.
``modules/``        What the suite expects to find: a module like any other.
``suite.py``        The sets that are run, how they are run and what came out.
``floors.py``       What passed before, in ``floors.json``, and must go on passing.
==================  ====================================================================================

The suite judges some things loosely; those have tests of their own that judge them by the specification's text.
"""
