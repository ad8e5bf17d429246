"""Characters in a text for models that the people who read it do not see."""

from __future__ import annotations

import re

# Controls, marks that reverse text, blanks without width, tags. What scripts and most emoji need is not among them.
_UNSEEN = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")
_NAMED = 5


def unseen(text: str) -> str:
    """What to warn of in a text, or nothing: instructions can be hidden there, and an order of words turned round."""
    found = sorted(set(_UNSEEN.findall(text)))
    if not found:
        return ""
    names = ", ".join(f"U+{ord(character):04X}" for character in found[:_NAMED])
    return f"holds {names}{', …' if len(found) > _NAMED else ''}: models read it, people do not see it. Take it out."
