"""What ``resources/list`` and ``prompts/list`` show, apart from the wire: URIs, templates, MIME types, entries."""
