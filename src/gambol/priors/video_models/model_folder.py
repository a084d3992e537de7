"""Model folders in the layout of `diffusers`: from the hub or the disk, checked before anything large is read.

model_index.json     the pipeline's class, and options such as the boundary between two experts
transformer/  vae/  text_encoder/     config.json and weights, in one file or in several with an index
tokenizer/    scheduler/
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gambol.errors import GambolError

INDEX = "model_index.json"
NEEDED = ("diffusers", "transformers", "accelerate", "sentencepiece", "google.protobuf", "ftfy")
"""Packages of the extra. diffusers needs accelerate to load Wan's network; transformers needs protobuf to read the
tokenizer of CogVideoX, which is a sentencepiece file."""
_WEIGHTS = ("transformer", "transformer_2", "vae", "text_encoder")


def missing_packages() -> list[str]:
    """Packages of the extra that are not installed."""
    return [name for name in NEEDED if not _installed(name)]


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # the parent package of a dotted name
        return False


def check_installed() -> None:
    """Raise GambolError if packages of the extra are missing."""
    missing = missing_packages()
    if missing:
        raise GambolError(f"big video models need {', '.join(missing)}; pip install 'gambol[diffusers]'")


def is_hub_id(name: str) -> bool:
    """Whether a text has the form of a hub id, owner/name."""
    return re.fullmatch(r"[\w.-]+/[\w.-]+", name) is not None and not name.startswith(".")


def read_index(folder: Path) -> dict[str, Any]:
    """Content of the model_index.json of a folder."""
    if not folder.is_dir():
        raise GambolError(f"the folder {folder} does not exist")
    if not (folder / INDEX).is_file():
        raise GambolError(f"{folder} has no {INDEX}: it is not a model folder of diffusers")
    return read_json(folder / INDEX)


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise GambolError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError:
        raise GambolError(f"{path} is not JSON; fetch the model again") from None
    if not isinstance(content, dict):
        raise GambolError(f"{path} is not a JSON object; fetch the model again")
    return content


def components(index: Mapping[str, Any]) -> list[str]:
    """Names of the components that a model_index.json lists, without those that are null."""
    return [name for name, value in index.items() if isinstance(value, list) and len(value) == 2 and value[1]]


def find_fault(folder: Path) -> str | None:
    """What is missing in a folder, in words, or None if it is complete; half-finished downloads are not."""
    for name in components(read_index(folder)):
        if not (folder / name).is_dir():
            return f"the folder {folder / name} is missing"
        wanted = "scheduler_config.json" if name == "scheduler" else "config.json"
        if name != "tokenizer" and not (folder / name / wanted).is_file():
            return f"{folder / name / wanted} is missing"
        fault = _weights_fault(folder / name) if name in _WEIGHTS else None
        if fault:
            return fault
    return None


def _weights_fault(folder: Path) -> str | None:
    indices = sorted(folder.glob("*.safetensors.index.json")) or sorted(folder.glob("*.bin.index.json"))
    if not indices:
        whole = [*folder.glob("*.safetensors"), *folder.glob("*.bin")]
        return None if whole else f"{folder} holds no weights"
    shards = set(read_json(indices[0]).get("weight_map", {}).values())
    lost = sorted(shard for shard in shards if not (folder / str(shard)).is_file())
    return f"{folder / lost[0]} is missing" if lost else None


def hub_cache() -> Path:
    """The folder where huggingface_hub keeps its downloads."""
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub").expanduser()


def find_in_cache(hub_id: str) -> Path | None:
    """The folder of a model that was downloaded completely, or None; needs neither the internet nor the extra."""
    kept = hub_cache() / f"models--{hub_id.replace('/', '--')}"
    try:
        folder = kept / "snapshots" / (kept / "refs" / "main").read_text().strip()
        return folder if find_fault(folder) is None else None
    except (OSError, GambolError):
        return None


def fetch(hub_id: str, pipelines: Collection[str], download: bool = True) -> Path:
    """Download a model from the hub and return its folder; its kind is checked before its gigabytes are fetched.

    download: whether the hub may be asked at all; else only what was downloaded before is found.
    """
    if not download:  # huggingface_hub asks the network for other things even with local_files_only
        folder = find_in_cache(hub_id)
        if folder is None:
            raise GambolError(f"{hub_id} is not on this machine and the hub was not reached; give --prior {hub_id}")
        check_pipeline(read_index(folder), hub_id, pipelines)
        return folder
    from huggingface_hub import hf_hub_download, snapshot_download
    from huggingface_hub.errors import GatedRepoError, LocalEntryNotFoundError, RepositoryNotFoundError

    try:
        index = Path(hf_hub_download(hub_id, INDEX, cache_dir=hub_cache()))
        content = read_json(index)
        check_pipeline(content, hub_id, pipelines)
        wanted = [INDEX, *(f"{name}/*" for name in components(content))]
        return Path(snapshot_download(hub_id, allow_patterns=wanted, cache_dir=hub_cache()))
    except GatedRepoError:
        raise GambolError(
            f"{hub_id} is gated: accept its licence at https://huggingface.co/{hub_id}, then log in"
        ) from None
    except RepositoryNotFoundError:
        raise GambolError(f"the hub knows no model {hub_id}") from None
    except LocalEntryNotFoundError:
        raise GambolError(
            f"{hub_id} is not on this machine and the hub was not reached; connect, or give the folder of a copy"
        ) from None
    except (OSError, ValueError) as error:
        raise GambolError(f"{hub_id} cannot be fetched: {first_line(error)}") from None


def check_pipeline(index: Mapping[str, Any], name: str | Path, pipelines: Collection[str]) -> str:
    """The pipeline class that a model was made for; raises GambolError if it is none of those given."""
    found = index.get("_class_name")
    if found not in pipelines:
        known = " or ".join(pipelines)
        raise GambolError(f"{name} is a model for {found}; gambol takes text-to-video models for {known}")
    return str(found)


def first_line(error: BaseException) -> str:
    """The first line of an error message; the lines below are advice on the use of the library."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
