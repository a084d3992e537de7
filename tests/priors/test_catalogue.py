import json
import shutil

import pytest
import torch
from priors.full_size_models import VIDEO_MODELS
from safetensors.torch import load_file, save_file
from tiny_models import write_cogvideox, write_wan

from gambol.errors import GambolError
from gambol.priors.catalogue import PRIORS, open_prior
from gambol.priors.video_models import model_folder
from gambol.priors.video_models.components import ModelComponents


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Whole folders, not to be changed."""
    root = tmp_path_factory.mktemp("models")
    return {"cogvideox": write_cogvideox(root / "cogvideox", "5b"), "wan": write_wan(root / "wan", "a14b")}


@pytest.fixture
def broken(made, tmp_path):
    """Copies to break."""
    return {name: shutil.copytree(folder, tmp_path / name) for name, folder in made.items()}


def edit(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def refused(name, **options) -> str:
    with pytest.raises(GambolError) as caught:
        open_prior(str(name), **options)
    return str(caught.value)


def test_every_big_prior_is_described():
    names = {name for name, prior in PRIORS.items() if prior.hub}
    assert names == set(VIDEO_MODELS)
    for name in names:
        assert model_folder.is_hub_id(PRIORS[name].hub)
        assert PRIORS[name].memory > PRIORS[name].offloaded


@pytest.mark.parametrize(
    ("name", "frames", "size", "fps", "multiple", "wrong"),
    [
        ("cogvideox-2b", 49, (480, 720), 8, 16, 45),
        ("cogvideox-5b", 49, (480, 720), 8, 16, 57),
        ("cogvideox-1.5-5b", 81, (768, 1360), 16, 16, 73),
        ("wan-2.1-1.3b", 81, (480, 832), 16, 16, 80),
        ("wan-2.1-14b", 81, (720, 1280), 16, 16, 79),
        ("wan-vace-1.3b", 81, (480, 832), 16, 16, 82),
        ("wan-vace-14b", 81, (720, 1280), 16, 16, 80),
        ("wan-2.2-5b", 121, (704, 1280), 24, 32, 120),
        ("wan-2.2-a14b", 81, (720, 1280), 16, 16, 83),
    ],
)
def test_formats_are_those_of_the_cards(name, frames, size, fps, multiple, wrong):
    taken = VIDEO_MODELS[name].format
    assert PRIORS[name].video == (taken.frames[0], *taken.sizes[0][::-1])
    assert (taken.frames[0], taken.fps, taken.multiple) == (frames, fps, multiple)
    assert size in taken.sizes
    assert len(set(taken.frames)) == len(taken.frames)
    taken.check(frames, *size)
    taken.check(17, 2 * multiple, 3 * multiple)
    with pytest.raises(GambolError, match=f"not {wrong}"):
        taken.check(wrong, *size)


def test_opens_by_the_class_in_the_folder(made):
    assert {name: type(open_prior(str(folder))).__name__ for name, folder in made.items()} == {
        "cogvideox": "CogVideoXPrior",
        "wan": "WanPrior",
    }


def test_unknown_names_are_told_the_known_ones():
    assert (
        "there is no prior 'cogvideo'; gambol knows tracks, pixels, pixels-ground, pixels-shadow, cogvideox-2b"
        in refused("cogvideo")
    )
    assert refused("./models/cogvideo") == "the folder ./models/cogvideo does not exist"
    assert "no option precision; there are checkpoint, device" in refused("cogvideox-5b", precision="half")
    assert "pixels has no option dtype" in refused("pixels", dtype="float32")


def test_options_that_cannot_be_are_refused(made):
    assert "there is no device 'gpu'" in refused(made["wan"], device="gpu")
    assert "offload" in refused(made["wan"], offload=True, checkpoint=False)
    if not torch.cuda.is_available():
        assert "no device 'cuda' on this machine; use cpu" in refused(made["wan"], device="cuda")


def test_says_how_to_install_what_is_missing(made, monkeypatch):
    monkeypatch.setattr(model_folder, "NEEDED", ("diffusers", "no_such_package", "no.such.package"))
    for name in (made["wan"], "cogvideox-5b"):
        message = "big video models need no_such_package, no.such.package; pip install 'gambol[diffusers]'"
        assert refused(name) == message


def test_folders_that_are_no_models(tmp_path, broken):
    assert "has no model_index.json" in refused(tmp_path)
    index = broken["wan"] / "model_index.json"
    edit(index, _class_name="StableDiffusionPipeline")
    assert (
        "is a model for StableDiffusionPipeline; gambol takes text-to-video models for CogVideoXPipeline or WanP"
        in (refused(broken["wan"]))
    )
    index.write_text("{")
    assert "model_index.json is not JSON" in refused(broken["wan"])
    index.write_text("[]")
    assert "model_index.json is not a JSON object" in refused(broken["wan"])


@pytest.mark.parametrize("name", ["cogvideox", "wan"])
def test_models_that_animate_pictures_are_refused(name, broken):
    edit(broken[name] / "transformer" / "config.json", in_channels=8)
    assert "is an image-to-video model" in refused(broken[name])


@pytest.mark.parametrize(
    ("lost", "message"),
    [
        ("vae", "the folder .*vae is missing"),
        ("transformer/config.json", "config.json is missing"),
        ("text_encoder/model.safetensors", "text_encoder holds no weights"),
        ("scheduler/scheduler_config.json", "scheduler_config.json is missing"),
    ],
)
def test_half_a_model_is_refused(lost, message, broken):
    path = broken["cogvideox"] / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(GambolError, match=f"{message}; fetch the model again"):
        open_prior(str(broken["cogvideox"]))


def test_a_missing_shard_is_named(broken):
    from diffusers import WanTransformer3DModel

    folder = broken["wan"] / "transformer_2"
    network = WanTransformer3DModel.from_pretrained(folder)
    shutil.rmtree(folder)
    network.save_pretrained(folder, max_shard_size="10KB")
    shards = sorted(folder.glob("*.safetensors"))
    assert len(shards) > 1
    open_prior(str(broken["wan"]))
    shards[-1].unlink()
    assert shards[-1].name in refused(broken["wan"])


def test_a_boundary_needs_two_experts(broken):
    edit(broken["wan"] / "model_index.json", transformer_2=[None, None])
    shutil.rmtree(broken["wan"] / "transformer_2")
    assert "has no transformer_2" in refused(broken["wan"])


def test_broken_weights_are_told_when_they_are_read(broken):
    prior = open_prior(str(broken["wan"]))
    weights = next((broken["wan"] / "text_encoder").glob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(GambolError, match="text_encoder cannot be loaded as UMT5EncoderModel: "):
        prior.embed("a fox walks")


@pytest.mark.parametrize("part", ["text_encoder", "transformer", "vae"])
def test_missing_tensors_are_refused_not_made_up(part, broken):
    path = next((broken["cogvideox"] / part).glob("*.safetensors"))
    tensors = load_file(path)
    lost = sorted(tensors)[0]
    save_file({name: value for name, value in tensors.items() if name != lost}, path, {"format": "pt"})
    prior = open_prior(str(broken["cogvideox"]))
    with pytest.raises(GambolError, match=f"{part} lacks 1 tensors, {lost} among them"):
        prior.components.use(part)


def test_takes_models_from_the_hubs_cache(made, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    for name in ("hf_hub_download", "snapshot_download"):  # they ask the network even with local_files_only
        monkeypatch.setattr(f"huggingface_hub.{name}", lambda *_, **__: pytest.fail("the hub was asked"))
    hub = PRIORS["cogvideox-5b"].hub
    assert model_folder.find_in_cache(hub) is None
    assert "is not on this machine and the hub was not reached" in refused("cogvideox-5b", download=False)
    kept = tmp_path / "models--zai-org--CogVideoX-5b"
    (kept / "refs").mkdir(parents=True)
    (kept / "refs" / "main").write_text("0" * 40)
    snapshot = shutil.copytree(made["cogvideox"], kept / "snapshots" / ("0" * 40))
    assert model_folder.find_in_cache(hub) == snapshot
    assert open_prior("cogvideox-5b", download=False).name == "cogvideox-5b"
    assert open_prior(hub, download=False).name == hub
    next((snapshot / "transformer").glob("*.safetensors")).unlink()  # a download that was stopped
    assert model_folder.find_in_cache(hub) is None


def test_without_the_hub_an_id_is_refused_with_a_way_out(tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    message = "somebody/some-model is not on this machine and the hub was not reached; connect, or give the folder"
    assert message in refused("somebody/some-model")


def test_offload_keeps_one_component_on_the_device(made, monkeypatch):
    """There is one device here, so the moves are written down instead."""
    places = {}
    prior = open_prior(str(made["wan"]), offload=True)
    names = {}
    monkeypatch.setattr(
        "gambol.priors.video_models.components._move",
        lambda module, device: places.__setitem__(names.get(id(module), "new"), device.type),
    )
    monkeypatch.setattr(prior.components, "device", torch.device("meta"))
    for name in ("text_encoder", "transformer", "transformer_2", "vae", "transformer"):
        names[id(prior.components.use(name))] = name
        prior.components.use(name)
        places.pop("new", None)
        assert [other for other, place in places.items() if place == "meta"] == [name]


def test_components_are_frozen(made):
    prior = open_prior(str(made["cogvideox"]))
    assert isinstance(prior.components, ModelComponents)
    for name in ("transformer", "vae", "text_encoder"):
        part = prior.components.use(name)
        assert not part.training and not any(parameter.requires_grad for parameter in part.parameters())


def test_precision_is_as_asked(made):
    prior = open_prior(str(made["cogvideox"]), dtype="bfloat16", vae_dtype="float32")
    kinds = {name: prior.components.use(name).dtype for name in ("transformer", "vae", "text_encoder")}
    assert kinds == {"transformer": torch.bfloat16, "vae": torch.float32, "text_encoder": torch.bfloat16}
    latents = prior.encode(torch.rand(1, 9, 32, 48, 3))
    clean = prior.denoise(latents, 0.5, prior.embed("a fox walks"), 3.0)
    assert (latents.dtype, clean.dtype) == (torch.float32, torch.float32)
    exact = open_prior(str(made["cogvideox"]), dtype="float64")
    wanted = exact.denoise(latents.double(), 0.5, exact.embed("a fox walks"), 3.0)
    assert (clean - wanted).norm() < 0.05 * wanted.norm()
