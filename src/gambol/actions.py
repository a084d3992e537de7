"""The table of actions: one row for each action that gambol knows, with its properties.

To add an action, add its row here, its words to language/lexicon.toml, a label to priors/tracks/training/labels.py, and
either a formula (creatures/deeds/*.toml), by which bodies of that build do it at once, or clips to the training of the
prior. If the prior pixels is to learn it, add a row to priors/pixels/actions.py.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

Feature = Literal["legs", "arms", "wings"]
LegRule = Literal["still", "alternate", "diagonals", "gallop", "aloft"]
"""What the legs must do: swing little; left and right by turns; also diagonal legs together; front legs together and
hind legs together; all feet off the ground at some time."""

Hallmark = Literal["foot up", "hand up", "hand out", "head down", "hips down", "lying", "over"]
"""What must be seen: one foot rises; a hand gets above its shoulder, or reaches ahead; the head, of who has no hands,
or the hips come down; the body lies; it turns over."""


@dataclass(frozen=True)
class Action:
    """One row of the table."""

    name: str
    meaning: str
    """Verbs that describe the action in help texts: 'walks, strolls, strides'."""
    seconds: float
    """Usual duration of a cycle, or of the whole action if it does not loop, of a body 1 m high without an analytic
    gait of that name [s]: medians of 187 clips by artists, their characters taken to be 1.7 m high, as the units of
    their files say little; guesses for what they did not show."""
    loops: bool = True
    """Whether a clip is one cycle that begins again, rather than one action from start to end."""
    travels: bool = False
    """Whether the action moves the body over the ground."""
    turns: int = 0
    """Whether the body turns: 1 to its left, -1 to its right."""
    sideways: bool = False
    """Whether the action moves the body to a side."""
    airborne: bool = False
    """Whether all feet leave the ground between strides, so that only a foot's height tells whether it bears weight."""
    afloat: bool = False
    """Whether no foot ever bears weight."""
    falls: bool = False
    """Whether the body comes to lie or rolls, so that its skin, and not its feet, is on the ground."""
    needs: tuple[Feature, ...] = ()
    """What a body must have to do it."""
    gaits: tuple[str, ...] = ()
    """Names of the analytic gaits (`gambol.creatures.gaits`) that show it, in order of preference; may be empty."""
    legs: LegRule | None = None
    """What the legs must do (`gambol.quality.rules`); None if nothing can be said."""
    four_legs: LegRule | None = None
    """What the legs of a four-legged body must do, if it differs from `legs`."""
    shows: Hallmark | None = None
    """What must be seen of it (`gambol.motion.hallmarks`)."""
    armed: bool = False
    """Whether the hand that holds a weapon does it, if one does."""
    weak: bool = False
    """Whether the prior tracks does it badly on people, by the grades in docs/priors.md: it is called experimental."""
    kind_of: str = ""
    """The more general action that stands for it where it is not known: sneaking is walking."""
    kind_pace: float = 0.0
    """How fast it is as one of that kind, from -1 (slow) to 1 (fast): limping is walking slowly."""
    kind_style: str = ""
    """The style of the more general action that shows it (`motion.styles.STYLES`, or 'backwards'). The prior tracks
    shows it so even where it knows it: by eye, people who walk sneakily sneak better than those sampled."""

    @property
    def evaluated(self) -> bool:
        """Whether measurements can tell it from the others: it has a rule for its legs, and priors are tested on it."""
        return self.legs is not None and not self.kind_of

    def leg_rule(self, legs: int) -> LegRule | None:
        """What the legs of a body with that many must do."""
        return self.four_legs if legs == 4 and self.four_legs else self.legs

    @property
    def on_legs(self) -> bool:
        """Whether a body needs legs for it."""
        return "legs" in self.needs

    @property
    def steps(self) -> bool:
        """Whether legs carry the body somewhere, some foot bearing weight for most of the time: walk, trot, run."""
        return self.on_legs and self.travels and not self.airborne

    @property
    def upright(self) -> bool:
        """Whether people stand or go on straight legs in it, at least at times: who sneaks, sits or climbs does not."""
        low = self.falls or self.afloat or self.shows in ("hips down", "lying", "over")
        return not low and self.kind_pace >= 0 and self.name not in ("crawl", "climb", "get up")


# fmt: off
TABLE = (
    Action("stand", "stands still, breathing, or idles", seconds=2.2, gaits=("idle",), legs="still"),
    Action("walk", "walks, strolls, strides", seconds=0.9, travels=True, needs=("legs",),
           gaits=("walk",), legs="alternate"),
    Action("trot", "trots or jogs", seconds=0.7, travels=True, needs=("legs",), gaits=("trot", "jog"),
           legs="alternate", four_legs="diagonals"),
    Action("run", "runs, gallops, sprints", seconds=0.6, travels=True, needs=("legs",), gaits=("gallop", "run"),
           legs="alternate", four_legs="gallop"),
    Action("hop", "hops along in small leaps", seconds=0.8, travels=True, airborne=True, needs=("legs",),
           gaits=("hop",)),
    Action("jump", "jumps up high", seconds=1.0, travels=True, airborne=True, needs=("legs",), gaits=("jump",),
           legs="aloft"),
    Action("turn left", "turns to its left in place", seconds=1.4, turns=1, gaits=("turn left", "turn")),
    Action("turn right", "turns to its right in place", seconds=1.4, turns=-1, gaits=("turn right",)),
    Action("fly", "flies, flapping its wings", seconds=0.4, travels=True, afloat=True, needs=("wings",)),
    Action("swim", "swims", seconds=1.4, travels=True, afloat=True),
    Action("crawl", "crawls or slithers", seconds=0.8, travels=True),
    Action("dance", "dances", seconds=1.5),
    Action("eat", "eats or grazes", seconds=3.3, shows="head down"),
    Action("attack", "attacks: bites, claws, strikes", seconds=0.8, armed=True, loops=False),
    Action("kick", "kicks", seconds=0.8, loops=False, needs=("legs",), kind_of="attack", shows="foot up"),
    Action("punch", "punches", seconds=0.75, loops=False, needs=("arms",), kind_of="attack", shows="hand out"),
    Action("wave", "waves a hand", seconds=1.5, loops=False, needs=("arms",), shows="hand up"),
    Action("die", "dies, collapses", seconds=0.9, loops=False, falls=True, shows="lying"),
    Action("sit", "sits, stays seated", seconds=3.0, shows="hips down"),
    Action("sit down", "sits down, takes a seat", seconds=1.2, loops=False, shows="hips down"),
    Action("get up", "gets up, rises to its feet", seconds=1.3, loops=False),
    Action("lie down", "lies down", seconds=2.0, loops=False, falls=True, shows="lying"),
    Action("crouch", "crouches, squats, ducks", seconds=0.8, loops=False, shows="hips down"),
    Action("roll", "rolls, rolls over", seconds=0.9, loops=False, falls=True, shows="over"),
    Action("throw", "throws, hurls, tosses something", seconds=1.0, loops=False, needs=("arms",)),
    Action("sword", "strikes with a sword or another weapon", seconds=0.9, armed=True, loops=False, needs=("arms",),
           kind_of="attack"),
    Action("pick up", "picks something up", seconds=1.3, loops=False, needs=("arms",)),
    Action("hit", "is hit, flinches", seconds=0.6, loops=False),
    Action("cheer", "cheers, celebrates", seconds=1.5, loops=False, needs=("arms",), shows="hand up"),
    Action("nod", "nods", seconds=1.1, loops=False),
    Action("shake head", "shakes its head", seconds=1.3, loops=False),
    Action("cartwheel", "turns a cartwheel", seconds=1.2, loops=False, needs=("legs", "arms"), shows="over"),
    Action("climb", "climbs", seconds=1.1),
    Action("sneak", "sneaks, creeps, tiptoes", seconds=1.3, travels=True, needs=("legs",), legs="alternate",
           kind_of="walk", kind_style="sneaky"),
    Action("march", "marches", seconds=0.9, travels=True, needs=("legs",), legs="alternate", kind_of="walk"),
    Action("limp", "limps, hobbles", seconds=1.1, travels=True, needs=("legs",), kind_of="walk", kind_pace=-0.6),
    Action("push", "pushes, shoves something", seconds=1.1, needs=("arms",)),
    Action("clap", "claps, applauds", seconds=0.5, needs=("arms",)),
    Action("bow", "bows, takes a bow", seconds=1.8, loops=False),
    Action("point", "points at something", seconds=1.3, loops=False, needs=("arms",), shows="hand out"),
    Action("look", "looks around", seconds=2.2, loops=False),
    Action("stretch", "stretches", seconds=2.5, loops=False),
    Action("laugh", "laughs, giggles", seconds=1.5),
    Action("fall", "falls, trips, tumbles", seconds=1.0, loops=False, falls=True, kind_of="die"),
    Action("flip", "does a flip or a somersault", seconds=1.0, loops=False, needs=("legs",), shows="over"),
    Action("walk backwards", "walks backwards, backs away", seconds=1.0, travels=True, needs=("legs",),
           legs="alternate", kind_of="walk", kind_style="backwards"),
    Action("sidestep", "sidesteps, walks sideways", seconds=0.9, travels=True, sideways=True, needs=("legs",),
           kind_of="walk"),
    Action("roar", "roars", seconds=1.7, loops=False),
    Action("headbutt", "butts with its head", seconds=0.8, loops=False, kind_of="attack"),
    Action("sleep", "sleeps", seconds=4.0, shows="lying"),
    Action("drink", "drinks", seconds=2.0, shows="head down"),
    Action("shake off", "shakes itself, as when wet", seconds=1.5, loops=False),
    Action("scratch", "scratches itself", seconds=2.6, loops=False),
    Action("sniff", "sniffs at the ground", seconds=2.2, shows="head down"),
    Action("hiss", "hisses", seconds=1.8, loops=False, kind_of="roar"),
    Action("howl", "howls", seconds=2.8, loops=False, kind_of="roar"),
    Action("bark", "barks", seconds=0.9),
    Action("dig", "digs", seconds=0.6),
    Action("rear", "rears up", seconds=2.0, loops=False),
    Action("kick back", "kicks with its hind legs", seconds=1.0, loops=False, needs=("legs",), kind_of="attack",
           shows="foot up"),
    Action("bucking", "bucks", seconds=1.5, loops=False, needs=("legs",)),
    Action("pounce", "pounces", seconds=1.5, loops=False, kind_of="attack"),
    Action("wag tail", "wags its tail", seconds=1.0),
    Action("tail strike", "strikes with its tail", seconds=1.2, loops=False, kind_of="attack"),
    Action("play dead", "plays dead", seconds=2.4, loops=False, falls=True, kind_of="die", shows="lying"),
    Action("peck", "pecks", seconds=1.2, kind_of="eat", shows="head down"),
    Action("preen", "preens its feathers", seconds=2.6, loops=False, needs=("wings",)),
    Action("spread wings", "spreads its wings", seconds=1.8, loops=False, needs=("wings",)),
    Action("glide", "glides through the air", seconds=2.0, travels=True, afloat=True, needs=("wings",), kind_of="fly"),
    Action("hover", "hovers in place", seconds=0.4, afloat=True, needs=("wings",), kind_of="fly"),
    Action("coil", "coils up", seconds=2.2, loops=False),
    Action("zombie walk", "walks like a zombie", seconds=1.4, travels=True, needs=("legs",), legs="alternate",
           kind_of="walk", kind_pace=-0.6),
    Action("stiff walk", "walks stiffly", seconds=1.1, travels=True, needs=("legs",), legs="alternate",
           kind_of="walk"),
    Action("stagger", "staggers, reels as if drunk", seconds=1.3, travels=True, needs=("legs",), kind_of="walk",
           kind_style="drunk"),
    Action("carry", "walks carrying something", seconds=0.9, travels=True, needs=("legs", "arms"), legs="alternate",
           kind_of="walk"),
    Action("push up", "does push-ups", seconds=1.2, needs=("legs", "arms"), shows="hips down"),
    Action("sit up", "does sit-ups", seconds=1.6, needs=("legs", "arms"), shows="hips down"),
    Action("jumping jacks", "does jumping jacks", seconds=0.9, needs=("legs", "arms"), shows="hand up"),
    Action("interact", "uses, operates, repairs something", seconds=1.2, loops=False, needs=("arms",)),
    Action("dodge", "dodges", seconds=0.7, loops=False, needs=("legs",), weak=True),
    Action("balance", "balances", seconds=1.5, needs=("legs", "arms")),
    Action("wash", "washes, wipes something", seconds=1.2, needs=("arms",)),
    Action("golf", "swings a golf club", seconds=1.6, loops=False, needs=("arms",)),
    Action("dribble", "dribbles a ball", seconds=0.7, needs=("arms",)),
    Action("conduct", "conducts an orchestra", seconds=1.4, needs=("arms",)),
    Action("cast spell", "casts a spell", seconds=1.3, loops=False, needs=("arms",)),
    Action("salute", "salutes", seconds=1.6, loops=False, needs=("arms",), shows="hand up"),
    Action("catch", "catches something", seconds=1.4, loops=False, needs=("arms",)),
    Action("pull", "pulls something, as a rope", seconds=1.4, needs=("arms",)),
    Action("yawn", "yawns", seconds=2.6, loops=False),
    Action("cry", "cries, weeps, sobs", seconds=2.0, needs=("arms",)),
    Action("shrug", "shrugs", seconds=1.5, loops=False, needs=("arms",)),
    Action("facepalm", "buries its face in a hand", seconds=2.1, loops=False, needs=("arms",), shows="hand up"),
    Action("pray", "prays, hands together", seconds=3.4, needs=("arms",)),
    Action("beckon", "beckons someone to come", seconds=1.9, loops=False, needs=("arms",), kind_of="wave"),
    Action("think", "thinks, a hand at its chin", seconds=3.8, needs=("arms",)),
    Action("rub hands", "rubs, warms its hands", seconds=0.7, needs=("arms",)),
    Action("lift", "lifts something heavy overhead", seconds=3.0, loops=False, needs=("arms",), shows="hand up"),
    Action("kneel", "kneels down on one knee", seconds=1.6, loops=False, needs=("legs", "arms"), shows="hips down"),
    Action("surrender", "puts its hands up, surrenders", seconds=1.5, loops=False, needs=("arms",), shows="hand up"),
    Action("hug", "hugs, embraces someone", seconds=2.3, loops=False, needs=("arms",)),
    Action("knock", "knocks at a door", seconds=1.7, loops=False, needs=("arms",), kind_of="interact"),
    Action("stomp", "stamps its foot", seconds=1.2, loops=False, needs=("legs",), shows="foot up"),
    Action("shiver", "shivers, trembles with cold", seconds=1.3, needs=("arms",)),
    Action("play guitar", "plays the guitar", seconds=1.0, needs=("arms",)),
    Action("play drums", "plays the drums", seconds=0.8, needs=("arms",)),
    Action("type", "types on a keyboard", seconds=1.5, needs=("arms",), kind_of="interact"),
    Action("phone", "talks on the phone", seconds=3.4, needs=("arms",), shows="hand up"),
    Action("chop wood", "chops wood", seconds=1.8, armed=True, needs=("arms",)),
    Action("lunge", "does lunges", seconds=2.0, loops=False, needs=("legs", "arms"), shows="hips down"),
    Action("squat", "does squats", seconds=1.8, needs=("legs", "arms"), shows="hips down"),
    Action("flex", "flexes its muscles", seconds=2.0, loops=False, needs=("arms",), shows="hand up"),
    Action("cough", "coughs", seconds=1.6, loops=False, needs=("arms",)),
    Action("blow kiss", "blows a kiss", seconds=1.9, loops=False, needs=("arms",)),
    Action("talk", "talks, with its hands", seconds=3.6, needs=("arms",)),
    Action("draw bow", "draws a bow and shoots an arrow", seconds=2.6, loops=False, needs=("arms",), shows="hand out"),
    Action("shoot", "fires a gun", seconds=1.4, armed=True, loops=False, needs=("arms",), shows="hand out"),
    Action("beg", "sits up and begs", seconds=2.6, loops=False, needs=("legs",)),
    Action("paw", "paws the ground", seconds=1.4, needs=("legs",)),
    Action("take off", "takes off from the ground", seconds=1.4, loops=False, airborne=True, needs=("legs", "wings"),
           kind_of="fly"),
    Action("land", "lands on its feet", seconds=1.6, loops=False, airborne=True, needs=("legs", "wings"),
           kind_of="fly"),
    Action("perch", "settles down, wings folded", seconds=1.8, loops=False, needs=("wings",)),
    Action("flap wings", "flaps its wings where it stands", seconds=0.6, needs=("wings",)),
)
# fmt: on
ACTIONS = {action.name: action for action in TABLE}
"""The rows by name, in the order of the table."""
ACTION_OF_GAIT = {gait: action.name for action in TABLE for gait in action.gaits}
"""The action that each analytic gait shows."""


def gait_names(name: str) -> tuple[str, ...]:
    """The analytic gaits that do for an action or a gait, one of that very name first: ('run', 'gallop') for 'run'."""
    action = ACTIONS.get(ACTION_OF_GAIT.get(name, name))
    return tuple(dict.fromkeys((name, *(action.gaits if action else ()))))


def mirrored_action(name: str) -> str:
    """What the mirror image of an action shows: a turn to the other side, else the same."""
    turns = ACTIONS[name].turns if name in ACTIONS else 0
    return next((action.name for action in TABLE if turns and action.turns == -turns), name)


def known_action(name: str, vocabulary: Collection[str] | None) -> str | None:
    """The action itself if it is in a vocabulary, else the first more general one that is: 'walk' for 'sneak'; None if
    there is none. vocabulary: names of actions; None if all are known."""
    while name and vocabulary is not None and name not in vocabulary:
        name = ACTIONS[name].kind_of
    return name or None


def general_action(name: str) -> str:
    """The most general action that an action is a kind of; the action itself if it is none."""
    while kind := ACTIONS[name].kind_of:
        name = kind
    return name


def listing() -> str:
    """The actions and what each means, for help and messages."""
    return "; ".join(f"{action.name} ({action.meaning})" for action in TABLE)
