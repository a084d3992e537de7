"""Views of Gaussians that are quick to make and to render, and a prior that knows what the character should do."""

from dataclasses import replace

import torch

from gambol.character.anatomy import analyze
from gambol.character.rig import build_rig
from gambol.distillation.windows import lengthened, windows_for
from gambol.motion.rig_motion import RigMotion
from gambol.priors import gaussian_views
from gambol.priors.prior import Prompt, VideoFormat, VideoPrior
from gambol.priors.schedule import FlowSchedule
from gambol.render.splat import SplatConfig

SMALL_SPLATS = SplatConfig(gaussians=300, views=12, size=48, steps=20)
FRAMES, SECONDS = 9, 1.0


def small_views(character, monkeypatch, *, size=(40, 56), views=1, frames=FRAMES, glide=0.0, loops=False):
    """A renderer, its rig, its anatomy and the first motion. glide: in heights of the character."""
    monkeypatch.setattr(gaussian_views, "SPLATS", SMALL_SPLATS)
    anatomy = analyze(character)
    rig = build_rig(anatomy)
    way = glide * anatomy.height * anatomy.forward
    start = RigMotion.at_rest(len(rig.nodes), frames, SECONDS, loops, way)
    return gaussian_views.gaussian_views(character, anatomy, rig, size, start, views), rig, anatomy, start


def raised(rig_motion, rig, height):
    """The same motion higher up [file units]."""
    up = torch.as_tensor(rig.root_axes[:, 0], dtype=torch.float32)
    return replace(rig_motion, root_translation=rig_motion.root_translation + height * up)


class RecordingRenderer:
    """A renderer that remembers what was rendered last, and from which cameras."""

    def __init__(self, renderer, last=None):
        self.renderer, self.last = renderer, [] if last is None else last

    def __getattr__(self, name):
        return getattr(self.renderer, name)

    def render(self, T_world_joint, views=None):
        cameras = self.renderer if self.renderer._path is not None else self.renderer.following(T_world_joint.detach())
        self.last[:] = [cameras, views]
        return self.renderer.render(T_world_joint, views)

    def following(self, T_world_joint):
        return RecordingRenderer(self.renderer.following(T_world_joint), self.last)


class OraclePrior(VideoPrior):
    """Whatever the noise, it sees the character do what it should, as the cameras of the last rendering see it."""

    name, schedule = "oracle", FlowSchedule()

    def __init__(self, renderer, wanted, length=None, reference="none"):
        """renderer: a RecordingRenderer. wanted: T_world_joint. length: of its videos [frames], if not of all."""
        self.renderer, self.wanted, self.reference = renderer, wanted, reference
        self.format = VideoFormat(frames=(length or len(wanted),), sizes=(renderer.size,), fps=8)
        self.asked = []
        """How many videos at which level, and with which pictures to begin with, in each call."""

    def embed(self, text):
        return Prompt(text, torch.zeros(1))

    def encode(self, video):
        self.format.check(*video.shape[1:4])
        return 4 * video - 2

    def decode(self, latents):
        return (latents.detach() + 2) / 4

    @torch.no_grad()
    def estimates(self, noisy, level, prompts, reference=None):
        self.asked.append((noisy.clone(), level, reference))
        aimed, views = self.renderer.last
        windows = windows_for(self, len(self.wanted))
        seen = windows.cut(aimed.render(lengthened(self.wanted, windows.frames), views))
        if len(seen) != len(noisy):  # asked for the first windows, or for the others
            first = torch.arange(len(seen)) % len(windows) == 0
            seen = seen[first if reference is not None else ~first]
        return tuple(self.encode(seen) for _ in prompts)
