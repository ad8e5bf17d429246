"""The order of modules: whatever a module depends on comes before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mcp_gateway.manifest.discovery import same_id


def in_dependency_order(dependencies: Mapping[str, Iterable[str]]) -> tuple[list[str], list[list[str]]]:
    """Module ids, each after those it depends on and else by name, and the circles that make this impossible.

    Parameters: the ids that each module names. Those that are not here are skipped; ``-`` and ``_`` are the same.
    A circle is the list of ids that lead around it; where there is one its first module in order goes last.
    """
    known = {same_id(module_id): module_id for module_id in dependencies}
    ordered: list[str] = []
    circles: list[list[str]] = []
    done: set[str] = set()
    for start in sorted(dependencies):
        # Without recursion: a chain of dependencies may be longer than Python's stack.
        path: list[tuple[str, list[str]]] = []
        waiting = [start]
        while True:
            if waiting:
                module_id = waiting.pop(0)
                on_path = [name for name, _rest in path]
                if module_id in on_path:
                    circles.append(on_path[on_path.index(module_id) :])
                elif module_id not in done:
                    path.append((module_id, waiting))
                    named = (known.get(same_id(name)) for name in dependencies[module_id])
                    waiting = sorted({name for name in named if name is not None})
            elif path:
                module_id, waiting = path.pop()
                done.add(module_id)
                ordered.append(module_id)
            else:
                break
    return ordered, circles
