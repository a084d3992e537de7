"""What a clip shows, by its name or by the words of a motion-capture index: the labels the prior learns."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Label:
    """One thing that bodies do."""

    name: str
    pattern: str
    """Regular expression of clip names that mean it, in lower case with blanks between words."""
    loops: bool = True
    """Whether it is cyclic: of a clip that does not loop, any part will do."""
    gait: bool = False
    """Whether feet carry the body somewhere: clips that do not say how far are not learned from."""
    afloat: float = 0.0
    """How far a cycle in place of a swimmer or flier is taken to lead [lengths of the body]."""
    four_legs: str = ""
    """The label that it is of a body on four legs, if another: who has no arms kicks backwards."""
    whole: bool = False
    """Whether a clip is one cycle, even if parts of it are alike."""


# fmt: off
LABELS = (
    Label("draw bow", r"\bbow (draw|shoot|attack)|draw(ing)? bow$|shoot(ing)? arrow", loops=False),
    Label("shoot", r"^(pistol|gun) (fire|shoot|shooting)$", loops=False),
    Label("", r"t ?pose|a ?pose|rest pose|pose$|static|reset|clip \d|take|scene|experimental|transform|wheelchair"
              r"|holding|gun|pistol|shoot|rifle|reload|aim|ranged|crossbow|jump (idle|loop|start|land|landing|down|up)$"
              r"|jump (start|land)|noheight|fire$|inactive|emerge|immerse|spawn|awaken|levitate|torch|dualwield"
              r"|block"
              r"|flying forward super|individuals|poses|new custom|action \d+|^(up|down|float|repel|warn|pulse|keow)$"
              r"|drive|driving|idle attack|run attack|run (slash|stab|arms|jump)|gallop jump|running jump|walk jump"
              r"|(sit|sitting|lie|chair|floor) (talk|talking|eating)|floating|out of water|end$|resurrect|weapon"),
    Label("talk", r"^(idle )?(talk|talking|conversation|argue|arguing)( \w)?( loop)?$", whole=True),
    Label("salute", r"salut", loops=False),
    Label("catch", r"\bcatch", loops=False),
    Label("pull", r"^pull(ing)?$|pull (rope|loop)", whole=True),
    Label("yawn", r"yawn", loops=False),
    Label("cry", r"\bcry(ing)?\b|weep|sobbing", whole=True),
    Label("shrug", r"shrug", loops=False),
    Label("facepalm", r"face ?palm", loops=False),
    Label("pray", r"\bpray", whole=True),
    Label("beckon", r"beckon|come here", loops=False),
    Label("think", r"\bthink", whole=True),
    Label("rub hands", r"(rub|warm)(bing|ing)? hands", whole=True),
    Label("lift", r"weight ?lift|dead ?lift|lift(ing)? (box|weights?|heavy)", loops=False),
    Label("kneel", r"kneel(ing)? ?down|^kneel$", loops=False),
    Label("surrender", r"surrender|hands up", loops=False),
    Label("hug", r"\bhug", loops=False),
    Label("knock", r"\bknock(ing)?$|knock(ing)? (on )?door", loops=False),
    Label("stomp", r"^stomp(ing)?$|stamp(ing)? foot", loops=False),
    Label("shiver", r"shiver|freezing", whole=True),
    Label("play guitar", r"guitar", whole=True),
    Label("play drums", r"\bdrum", whole=True),
    Label("type", r"\btyping", whole=True),
    Label("phone", r"\bphone", whole=True),
    Label("chop wood", r"chop(ping)? (wood|tree)|wood ?(chop|cut)", whole=True),
    Label("lunge", r"^lunges?$", loops=False),
    Label("squat", r"\b(air )?squats?$", whole=True),
    Label("flex", r"\bflex", loops=False),
    Label("cough", r"\bcough", loops=False),
    Label("blow kiss", r"\bkiss", loops=False),
    Label("beg", r"\bbeg(ging)?\b", loops=False),
    Label("paw", r"paw(ing|s)? (the )?ground", whole=True),
    Label("take off", r"take ?off", loops=False),
    Label("land", r"^(fly|bird) land(ing)?$", loops=False),
    Label("perch", r"\bperch|\broost", loops=False),
    Label("flap wings", r"flap(ping)? wings", whole=True),
    Label("hit", r"hit|recieve|flinch|react|hurt", loops=False),
    Label("die", r"death|die$|dead|defeat", loops=False),
    Label("cartwheel", r"cartwheel", loops=False),
    Label("flip", r"flip", loops=False),
    Label("zombie walk", r"zombie (walk|run|crawl)|^zombie$", gait=True),
    Label("walk backwards", r"walk\w* back|backwards", gait=True),
    Label("sidestep", r"sidestep|strafe|run (left|right)|dodge (left|right)"),
    Label("dodge", r"dodge", loops=False),
    Label("limp", r"limp|uneven", gait=True),
    Label("march", r"march|formal", gait=True),
    Label("stiff walk", r"stiff walk", gait=True),
    Label("stagger", r"drunk|stagger|dizzy", gait=True),
    Label("carry", r"carry"),
    Label("sneak", r"sneak|crouch fwd|sneaking", gait=True),
    Label("crouch", r"crouch|duck", loops=False),
    Label("jumping jacks", r"jumping jacks", whole=True),
    Label("dance", r"dance|samba|ymca|charleston|the ?wave$|keow", whole=True),
    Label("shake off", r"shake (off|body|dry)|shaking off", loops=False),
    Label("roll", r"roll(?! h)", loops=False),
    Label("crawl", r"crawl|slither"),
    Label("swim", r"swim", afloat=0.5),
    Label("climb", r"climb|stairs"),
    Label("get up", r"stand ?up|get up|sitting exit|sit exit|lay to idle|^(fe)?(male|man) standing$", loops=False),
    Label("sit down", r"sit ?down|sitting enter|sit enter|sitting start|(chair|floor) down|^sit$", loops=False),
    Label("push up", r"push ?ups?$"),
    Label("sit up", r"sit ?ups"),
    Label("sit", r"\bsit|(chair|floor) idle|meditate|kneel", whole=True),
    Label("lie down", r"lie ?down|sit to lie|^lie$", loops=False),
    Label("sleep", r"sleep|lie idle|lie", whole=True),
    Label("drink", r"drink|consume", whole=True),
    Label("eat", r"\beat|graze", whole=True),
    Label("pick up", r"pick ?up|pickup", loops=False),
    Label("push", r"push ?loop|^push$"),
    Label("golf", r"golf", loops=False),
    Label("dribble", r"basketball|dribbl"),
    Label("cast spell", r"spell|magic|blast|\bcast", loops=False),
    Label("throw", r"throw", loops=False),
    Label("kick back", r"kick back|hind kick|back kick", loops=False),
    Label("bucking", r"\bbuck", loops=False),
    Label("kick", r"kick|soccer", loops=False, four_legs="kick back"),
    Label("punch", r"punch|jab|box", loops=False),
    Label("sword", r"sword(?! idle)|slash|chop|slice|stab|melee (?!idle|unarmed idle)(?!.*idle)", loops=False),
    Label("headbutt", r"head ?but", loops=False),
    Label("tail strike", r"tail (attack|strike|whip|swipe)", loops=False),
    Label("attack", r"attack|bite|slam", loops=False),
    Label("wave", r"wave|waving|hello|greeting", loops=False),
    Label("point", r"point", loops=False),
    Label("bow", r"bow$", loops=False),
    Label("clap", r"clap", whole=True),
    Label("cheer", r"cheer|victory|fist pump|taunt|power up", loops=False),
    Label("nod", r"^yes$|nod|emote yes|gesture positive", loops=False),
    Label("shake head", r"^no$|emote no|gesture negative|reject", loops=False),
    Label("wash", r"\bwash"),
    Label("conduct", r"conduct"),
    Label("interact", r"interact|use item|working|fixing", loops=False),
    Label("look", r"look|confused|listening|survey", loops=False),
    Label("stretch", r"stretch", loops=False),
    Label("laugh", r"laugh", whole=True),
    Label("balance", r"balance", whole=True),
    Label("rear", r"\brear", loops=False),
    Label("hiss", r"hiss(es|ing)?", loops=False),
    Label("howl", r"howl", loops=False),
    Label("bark", r"bark"),
    Label("roar", r"roar", loops=False),
    Label("scratch", r"scratch", loops=False),
    Label("sniff", r"sniff|smell", whole=True),
    Label("dig", r"\bdig", whole=True),
    Label("pounce", r"pounce|leap attack", loops=False),
    Label("wag tail", r"\bwag|tail wag", whole=True),
    Label("peck", r"peck", whole=True),
    Label("preen", r"preen|groom", loops=False),
    Label("spread wings", r"spread|open wings", loops=False),
    Label("play dead", r"play dead", loops=False),
    Label("coil", r"coil", loops=False),
    Label("fall", r"fall", loops=False),
    Label("turn left", r"turn left"),
    Label("turn right", r"turn right"),
    Label("hover", r"hover|flying idle"),
    Label("glide", r"glide|soar", afloat=1.5),
    Label("fly", r"fly|flap|flying", afloat=1.5),
    Label("jump", r"jump", loops=False),
    Label("hop", r"hop"),
    Label("trot", r"trot|jog", gait=True),
    Label("run", r"run|gallop|sprint", gait=True),
    Label("walk", r"walk", gait=True),
    Label("stand", r"idle|stand|breath|talking|tired", whole=True),
)
# fmt: on
ACTION_NAMES = ("any", *(label.name for label in LABELS if label.name))
"""Names of what the prior learns, in the order of its embedding; the first stands for whatever it is."""


CYCLIC = frozenset(label.name for label in LABELS if label.loops)


def label_of(name: str, legs: int = 2) -> Label | None:
    """The label of a clip by its name, None if there is none. legs: their number."""
    words = re.sub(r"([a-z\d])([A-Z])", r"\1 \2", name.split("|")[-1])
    spoken = " ".join(re.findall(r"[a-z]+", words.lower()))
    found = next((label for label in LABELS if re.search(label.pattern, spoken)), None)
    if found and legs == 4 and found.four_legs:
        found = next(label for label in LABELS if label.name == found.four_legs)
    return found if found and found.name else None
