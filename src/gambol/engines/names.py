"""Names of clips and joints, as the importers of engines read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from gambol.character.lookup import free_clip_name, short_name
from gambol.engines.targets import Engine


def clip_name(name: str, loops: bool, taken: Iterable[str], engine: Engine) -> str:
    """The name under which an engine gets a clip: what people call it, with a mark that it loops if the engine reads
    one, different from those taken also without that mark."""
    safe = "".join("_" if letter in engine.unsafe_in_clips else letter for letter in short_name(name)).strip()
    others = [_unmarked(each, engine) for each in taken]
    bare = _unmarked(safe, engine)
    if loops and engine.loop_ending:  # 'walk loop' is what `gambol clip --loop` calls it
        bare = re.sub(r"(?<=\S)[ _]loop$", "", bare, flags=re.IGNORECASE)
    if not loops and _seems_to_loop(bare, engine):
        bare += "-once"
    room = engine.longest_name - len(engine.loop_ending.encode()) - 4  # for a number
    bare = free_clip_name(bare.encode()[:room].decode(errors="ignore") or "clip", others, numbered="{}_{}")
    if not loops or not engine.loop_ending:
        return bare
    return bare + engine.loop_ending


def _unmarked(name: str, engine: Engine) -> str:
    ending = engine.loop_ending
    return name[: -len(ending)] if ending and name.lower().endswith(ending) and len(name) > len(ending) else name


def _seems_to_loop(name: str, engine: Engine) -> bool:
    lower = name.lower()
    return lower.startswith(engine.loop_words) or lower.endswith(engine.loop_words)


def joint_name(name: str, engine: Engine) -> str:
    """What an engine calls a joint."""
    return "".join(engine.in_their_place if letter in engine.unsafe_in_joints else letter for letter in name)


def joint_notes(names: Sequence[str], engine: Engine) -> Iterator[str]:
    """What happens to the names of joints, in sentences."""
    called: dict[str, str] = {}
    for name in dict.fromkeys(names):
        there = joint_name(name, engine)
        if there in called:
            yield (
                f"joints '{called[there]}' and '{name}' are both '{there}' there, and one gets a number: rename one of "
                "them if you need their names, or files of joints alone"
            )
        called.setdefault(there, name)
    changed = [(name, there) for there, name in called.items() if there != name]
    if changed:
        name, there = changed[0]
        yield f"{len(changed)} joints have other names there, as '{there}' for '{name}'"
