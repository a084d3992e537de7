import random
import subprocess
import sys
from pathlib import Path

import pytest

from gambol import GambolError
from gambol.actions import ACTIONS
from gambol.creatures.species import SPECIES
from gambol.creatures.words import COLORS, SIZES, SYNONYMS
from gambol.language import action_of_clip, parse_intent, require_intent
from gambol.language.english import LEXICON, forms_of
from gambol.language.vocabulary import MANNERS, is_misspelling, verbs
from gambol.motion.styles import STYLES

SMALL = "a the not to and , . that is while with its 's as - stops at which ... turn- -s too 7 left never or by an"
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def action(text):
    return getattr(parse_intent(text), "action", None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a fox walks", "walk (from 'walks')"),
        ("The old king strode in.", "walk, old, fast (from 'strode')"),
        ("goes for a walk in the park", "walk (from 'goes for a walk')"),
        ("takes a stroll", "walk, slow (from 'takes a stroll')"),
        ("breaks into a gallop", "run (from 'breaks into a gallop')"),
        ("is on the run", "run (from 'on the run')"),
        ("sets off at a trot", "trot (from 'at a trot')"),
        ("sneaks", "sneak (from 'sneaks')"),
        ("sprints away", "run, fast (from 'sprints')"),
        ("walks and then jumps", "walk, then jump (from 'walks')"),
        ("stands there waving", "wave (from 'waving')"),
        ("spins around", "turn left (from 'spins around')"),
        ("turns to its right, then walks off", "turn right, then walk (from 'turns to its right')"),
        ("a robot that runs, jumps and dances", "run (from 'runs'); left out: jump, dance"),
    ],
)
def test_what_is_said_of_a_sentence(text, said):
    assert str(parse_intent(text)) == said


def test_the_sentences_it_was_developed_with():
    lines = Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8").splitlines()
    cases = [line.split("\t") for line in lines if line[0] != "#"]
    assert len(cases) > 1000
    assert {wanted for wanted, _ in cases} == {"none", *ACTIONS}
    wrong = [(wanted, text, action(text)) for wanted, text in cases if (action(text) or "none") != wanted]
    assert not wrong


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a running shoe is standing", "stand"),
        ("a walking stick jumps", "jump"),
        ("a jumping spider walks", "walk"),
        ("the flying fox runs", "run"),
        ("a fly is walking", "walk"),
        ("flies walk on the wall", "walk"),
        ("a frog eats flies", "eat"),
        ("a duck swims", "swim"),
        ("a horse trots across a run-down bridge", "trot"),
        ("a dolphin swims in the waves", "swim"),
        ("the horse jumps fences", "jump"),
        ("a fish", None),
        ("a walking stick", None),
        ("a fox beside a galloping horse", None),
        ("an animation of a galloping horse", "run"),
        ("a walking robot sings", None),
        ("a walking robot waves", "wave"),
        ("a cat watches the birds fly", None),
        ("sings while walking", "walk"),
        ("the man bitten by a dog", None),
    ],
)
def test_the_verb_of_the_sentence_counts_not_what_describes(text, wanted):
    assert action(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("does not move", "stand"),
        ("isn't moving", "stand"),
        ("hardly moves", "stand"),
        ("refuses to budge", "stand"),
        ("too tired to move", "stand"),
        ("is not walking but running", "run"),
        ("doesn't walk, it runs", "run"),
        ("does not walk or run but hops", "hop"),
        ("neither walks nor runs; it trots", "trot"),
        ("instead of walking, it crawls", "crawl"),
        ("stops running", "stand"),
        ("stops running and walks", "walk"),
        ("never stops running", "run"),
        ("stops to eat", "eat"),
        ("runs without stopping", "run"),
        ("not only walks but also jumps", "walk"),
        ("does not walk", None),
        ("refuses to walk", None),
        ("walks no more", None),
    ],
)
def test_denials(text, wanted):
    assert action(text) == wanted


@pytest.mark.parametrize(
    ("text", "pace"),
    [
        ("a fox walks", 0), ("walks slowly", -1), ("strolls", -0.6), ("plods", -0.6), ("strolls slowly", -1),
        ("dashes", 0.6), ("runs fast", 1), ("runs as fast as it can", 1), ("a fast fox walks", 0),
        ("the quick brown fox walks", 0), ("takes a brisk walk", 0.5), ("strolls at full speed", 0.4), ("sneaks", 0),
        ("walks quickly and then slowly jumps", 1), ("walks, then quickly jumps", 0), ("runs not very fast", 0),
        ("at a snail's pace the bear walks", -1), ("a lazy cat walks", 0), ("gallops in slow motion", -1),
    ],
)  # fmt: skip
def test_pace(text, pace):
    assert parse_intent(text).pace == pytest.approx(pace)


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("turns", "left"), ("turns round", "left"), ("turns right", "right"), ("turns to its left", "left"),
        ("spins clockwise", "right"), ("rotates anti-clockwise", "left"), ("makes a right turn", "right"),
        ("turns right round", "left"), ("turns around right now", "left"), ("turned and left the room", "left"),
        ("faces right", "right"), ("turn 90 degrees to the right", "right"), ("a quarter turn left", "left"),
    ],
)  # fmt: skip
def test_sides(text, side):
    assert action(text) == f"turn {side}"


@pytest.mark.parametrize("text", ["a happy fox", "a beautiful fox in the snow", "", "!?", "a fly", "42", "el zorro"])
def test_no_action_is_told_not_guessed(text):
    assert parse_intent(text) is None
    with pytest.raises(GambolError) as error:
        require_intent(text)
    assert f"no action was recognised in '{text}'" in str(error.value)
    assert f"knows: {', '.join(ACTIONS)}." in str(error.value)
    assert "gambol priors" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_long_text_makes_a_short_message():
    with pytest.raises(GambolError) as error:
        require_intent("a fox\n" * 1000)
    assert len(str(error.value)) < 600
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["a fox walks backwards", "she strolls backward", "walking in reverse"])
def test_backwards_is_not_forwards(text):
    assert parse_intent(text).action == "walk backwards"


@pytest.mark.parametrize("text", ["she runs backward", "swims backwards", "trotting in reverse"])
def test_whatever_travels_may_go_backwards(text):
    assert parse_intent(text).manner.backwards and not parse_intent(text).manner.ignored


def test_a_walk_backwards_is_a_walk_played_backwards_to_who_knows_no_better():
    intent = require_intent("a dog walks backwards", ["walk"])
    assert intent.action == "walk" and intent.manner.backwards and not intent.note


def test_the_name_of_an_action_means_it():
    for name in ACTIONS:
        assert action(name) == action(f"{name}!".capitalize()) == name
        assert action(f"{name} animation") == action(f"knight {name} cycle") == action(f"a {name} animation") == name


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("knight roll", "roll"), ("angry stretch", "stretch"), ("fox climb", "climb"), ("wolf roar", "roar"),
        ("a cake stand", None), ("angry fly", None), ("knight with sword", None), ("an angry wave", None),
        ("crow takes off", "take off"), ("fly rubbing its hands", "rub hands"), ("fly!", "fly"), ("fly away", "fly"),
        ("relaxed walk", "walk"), ("injured walk cycle", "limp"), ("limped home", "limp"),
        ("jumps and lands", "jump"), ("the acrobat lands", "land"), ("lands a punch", "punch"), ("looks sad", None),
    ],
)  # fmt: skip
def test_a_few_bare_words(text, wanted):
    assert action(text) == wanted


def test_a_gap_is_never_one_of_several_words():
    steps = " ".join(text for row in LEXICON["actions"].values() for text in row.values() if isinstance(text, str))
    assert not [step for step in steps.split() if "|_" in step or "_|" in step]


@pytest.mark.parametrize(
    ("text", "vocabulary", "wanted", "pace"),
    [
        ("a fox sneaks", None, "sneak", 0), ("a fox sneaks", {"sneak", "walk"}, "sneak", 0),
        ("a fox limps", {"walk"}, "walk", -0.6), ("a fox limps quickly", {"walk"}, "walk", 0.4),
        ("limps slowly", {"walk"}, "walk", -1), ("a goat headbutts", {"attack"}, "attack", 0),
        ("a knight swings his sword", {"attack"}, "attack", 0), ("falls over", {"die"}, "die", 0),
        ("punches", {"attack"}, "attack", 0), ("marches", {"walk"}, "walk", 0),
    ],
)  # fmt: skip
def test_who_does_not_know_an_action_knows_a_more_general_one(text, vocabulary, wanted, pace):
    intent = require_intent(text, vocabulary)
    assert intent.action == wanted and intent.pace == pytest.approx(pace)
    meant = parse_intent(text).action
    assert intent.instead_of == (meant if meant != wanted else "")
    assert (f"does not know '{meant}': '{wanted}' is shown instead" in intent.note) == (meant != wanted)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a fox sneaks", "walk, sneaky"),
        ("a tired man sneaks", "walk, tired, sneaky"),
        ("he staggers quickly", "walk, drunk, fast"),
        ("she walks backwards", "walk, backwards"),
    ],
)
def test_a_style_of_the_more_general_action_shows_it(text, meaning):
    intent = require_intent(text, {"walk"})
    assert (intent.meaning, intent.asked, intent.note) == (meaning, parse_intent(text).action, "")


def test_the_more_general_action_is_not_left_out_as_well():
    intent = require_intent("sneaks in, walks about and jumps", {"walk", "jump"})
    assert [each.action for each in (intent, *intent.then)] == ["walk", "walk", "jump"] and not intent.left_out
    intent = require_intent("a robot that sneaks, walks and jumps", {"walk", "jump"})
    assert intent.action == "walk" and intent.left_out == ("jump",)
    assert intent.note.endswith("only 'walk' is shown, not jump")
    assert not parse_intent("a fox walks").note


@pytest.mark.parametrize("text", ["a cat sits", "a man cartwheels", "walks"])
def test_what_a_prior_does_not_know_is_refused(text):
    with pytest.raises(GambolError) as error:
        require_intent(text, ("jump", "run"))
    assert f"cannot show '{action(text)}'" in str(error.value)
    assert "with a body like this; the prior knows: jump, run. " in str(error.value)
    needs = ACTIONS[action(text)].needs
    assert ("which needs" in str(error.value)) == bool(needs) and all(each in str(error.value) for each in needs)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("the cat climbs? no, it walks", "walk"), ("it runs... no, it jumps", "jump"), ("no, it walks", "walk"),
     ("it walks, and there is no stopping it", "walk")],
)  # fmt: skip
def test_corrections_count(text, wanted):
    assert action(text) == wanted


def test_an_action_is_required_and_there():
    assert require_intent("a fox walks") == parse_intent("a fox walks")


def test_every_verb_means_one_action_in_all_its_forms():
    seen = set()
    for wanted, words in LEXICON["actions"].items():
        for verb in " ".join(words.get(f"{manner}verbs", "") for manner in MANNERS).split():
            assert verb not in seen
            seen.add(verb)
            for spelling, kinds in forms_of(verb).items():
                helper = {"s": "it", "ing": "it is", "base": "it can", "past": "it", "participle": "it has"}
                text = next(f"{helper[kind]} {spelling}" for kind in helper if kind in kinds)
                assert action(text) == wanted, text
    assert len(seen) > 300


def example(idiom):
    """The first phrase that fits an idiom, its first verb in the third person."""
    said = []
    for step in idiom.split():
        name = step.split("|")[0]
        word = LEXICON["groups"].get(name.removesuffix("*"), name.removesuffix("*")).split()[0]
        if name.endswith("*"):
            word = next(spelling for spelling, kinds in forms_of(word).items() if "s" in kinds)
        said += [word] if word != "_" else []
    return " ".join(said)


def test_every_idiom_is_understood():
    for wanted, words in LEXICON["actions"].items():
        for idiom in ";".join(words[f"{manner}idioms"] for manner in MANNERS if f"{manner}idioms" in words).split(";"):
            said = f"it {example(idiom)}" if "*" in idiom else f"a fox {example(idiom)}"
            assert action(said) == wanted, said
    for idiom in LEXICON["idioms"]["other"].split(";"):
        said = f"it {example(idiom)}" if "*" in idiom else f"a fox near {example(idiom)}"
        assert action(said) is None, said


def test_no_animal_of_the_zoo_is_mistaken_for_an_action():
    for name in [*SPECIES, *SYNONYMS]:
        for text in (f"a {name}", f"{name}", f"the {name} in the snow", f"two small {name}s"):
            assert action(text) is None, text
        assert action(f"a {name} trots") == "trot"
        assert action(f"the {name} is swimming") == "swim"
        assert action(f"make the {name} dance") == "dance"
    for word in [*COLORS, *SIZES]:
        assert action(f"a {word} fox") is None
        assert action(f"a {word} fox jumps") == "jump"


def slips(word, seed):
    """One letter left out, put in, wrong, doubled, or swapped; the first is left alone."""
    draw = random.Random(seed)
    at, letter = draw.randrange(2, len(word)), draw.choice(LETTERS)
    swapped = word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :]
    return [word[:at] + word[at + 1 :], word[:at] + letter + word[at:], word[:at] + letter + word[at + 1 :], swapped]


def test_slips_of_the_pen_are_mended_or_reach_nothing():
    right = total = 0
    for wanted, words in LEXICON["actions"].items():
        for seed, verb in enumerate(words.get("verbs", "").split()[:8]):
            doing = next(spelling for spelling, kinds in forms_of(verb).items() if "ing" in kinds)
            for slip in slips(doing, seed) if len(doing) >= 6 else ():
                assert is_misspelling(slip, doing)
                if slip in verbs():
                    continue  # 'hurling' for 'hurdling'
                assert action(f"it is {slip}") in (wanted, None), slip
                right, total = right + (action(f"it is {slip}") == wanted), total + 1
    assert right > 0.85 * total


@pytest.mark.parametrize(
    "word",
    ["nothing", "tuning", "sharing", "waking", "stripes", "attach", "princess", "checks", "covers", "stoves"],
)
def test_like_words_are_no_slips(word):
    assert action(f"it is {word}") is None
    assert action(f"the fox {word}") is None


@pytest.mark.parametrize("seed", range(20))
def test_nonsense_is_survived(seed):
    draw = random.Random(seed)
    known = [word for words in LEXICON["actions"].values() for word in words.get("verbs", "").split()]
    text = " ".join(draw.choice([*known, *SMALL.split(), *SMALL.split()]) for _ in range(draw.randrange(60)))
    intent = parse_intent(text)
    assert intent is None or (intent.action in ACTIONS and -1 <= intent.pace <= 1)


@pytest.mark.parametrize(
    "text", ["Ça marche", "狐が走る", "\u0000", "run\u200b", "a" * 5000, "walk " * 500, "\U0001f98a"]
)
def test_any_text_may_come(text):
    intent = parse_intent(text)
    assert intent is None or intent.action in ACTIONS


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ("stand", "AnimalArmature|Idle_2, Idle_Headlow, 2H_Melee_Idle, Unarmed_Idle, Breathing Idle"),
        ("walk", "Walking, Walk RM, Walking_C, TRex_Walk, Lizard_Walk, walk_cycle, Walk_Loop, Armature|Walk|BaseLayer"),
        ("trot", "Trot, Jog_Fwd_Loop"),
        ("run", "AnimalArmature|Gallop, Running_A, Armature|TRex_Run, RunFast, Sprint_Loop"),
        ("jump", "Jump, AnimalArmature|Jump_toIdle, Jump_Full_Long, TRex_Jump"),
        ("turn left", "Turn_Left, Left Turn, Standing Turn Left 90"),
        ("turn right", "Turn_Right, Right Turn 90"),
        ("fly", "Flap, Fly Flap, Wasp_Flying"),
        ("swim", "Swimming_Fast, Swim Vertical"),
        ("crawl", "SnakeArmature|Snake_Walk, Crawling, Slither"),
        ("dance", "Dance, Samba, Hip Hop Dancing"),
        ("eat", "Eating"),
        ("attack", "Attack, Bite_InPlace, Tail Attack, Claw Attack"),
        ("kick", "Attack_Kick, Kick_Left, Unarmed_Melee_Attack_Kick, Roundhouse Kick"),
        ("punch", "Punch, Punch_Right, Unarmed_Melee_Attack_Punch_A"),
        ("wave", "Wave, Waving"),
        ("die", "Death, Death 2, Death_A, Stegosaurus_Death"),
        ("sit", "Sitting_Idle, Sit_Chair_Idle, SitIdle, Sitting"),
        ("sit down", "Sitting_Enter, Sit_Down, SitDown, Sit"),
        ("get up", "Sitting_Exit, StandUp, Get_Up, lay_to_idle"),
        ("lie down", "Lie_Down, LieDown, Lie"),
        ("crouch", "Crouch, Crouch_Idle, Duck"),
        ("roll", "Roll, Rolling, Roll_Left"),
        ("throw", "Throw, Throwing"),
        ("sword", "Sword_Slash, 1H_Melee_Attack_Chop, 2H_Melee_Attack_Spin, SwordSlash, Stab"),
        ("pick up", "PickUp, Pick_Up_Table"),
        ("hit", "Hit, HitReact, Idle_HitReact_Left, RecieveHit, Hit_Chest"),
        ("cheer", "Cheer, Cheering, Victory"),
        ("nod", "Yes, Nod"),
        ("shake head", "No, Emote_No"),
        ("cartwheel", "Cartwheel"),
        ("climb", "Climb, Climbing_Up"),
        ("sneak", "Sneak, Sneaking, Crouch_Fwd_Loop"),
        ("march", "March, Marching"),
        ("limp", "Limp, Limping"),
        ("push", "Push, Push_Loop"),
        ("clap", "Clap, Clapping"),
        ("bow", "Bow"),
        ("point", "Point, Pointing"),
        ("look", "LookAround, Survey, Looking"),
        ("stretch", "Stretch"),
        ("laugh", "Laugh, Laughing"),
        ("fall", "Fall, falling"),
        ("flip", "Backflip, Flip"),
        ("walk backwards", "WalkingBack, Walking_Backwards, Walk_Back"),
        ("sidestep", "Run_Left, Running_Strafe_Left, Sidestep"),
        ("roar", "Roar, Roaring"),
        ("headbutt", "Attack_Headbutt, Head_But, Headbutt"),
        (
            None,
            "Walk_Gun, Run_Shoot, Death_A_Pose, Jump_Land, Jump_Start, Jump_Idle, Jump_Loop, T-Pose, Rest Pose, "
            "Gallop_Jump, WalkJump, TheWave, Step Scale, Dead Floating, Fly Glide, Block_Attack, clip 0, Track0, "
            "Standing, Idle_Sword, Idle to Walk, mixamo.com, Sit_Talking, Zombie_Crouch, Run_Backwards, Jump_Fall, "
            "Aim_Bow, PushUp, White_Rabbit, ",
        ),
    ],
)
def test_names_of_clips(wanted, names):
    for name in names.split(", "):
        assert action_of_clip(name) == wanted, name


def test_words_are_understood_without_torch():
    code = "import sys; from gambol.language import parse_intent; parse_intent('a red fox runs')\n"
    code += "print([m for m in ('torch', 'warp', 'numpy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("text", "styles", "side", "ignored"),
    [
        ("a sad man walks slowly", ("sad",), "", ()),
        ("waves with his right hand", (), "right", ()),
        ("throws a left hook", (), "left", ()),
        ("an exhausted old woman walks with a cane", ("tired", "old"), "", ()),
        ("a knight walks with his sword", (), "", ("with his sword",)),
        ("walks backwards", (), "", ()),
        ("runs in circles", (), "", ()),
        ("a lion walks with its head held high", ("head high",), "", ()),
        ("is not angry and walks", (), "", ()),
        ("runs at full speed", (), "", ()),
        ("walks diligently", (), "", ("diligently",)),
        ("a king struts", ("proud",), "", ()),
        ("he storms out", ("angry",), "", ()),
        ("throws a jab cross combo", (), "", ()),
        ("sits cross legged", (), "", ()),
        ("does the robot", ("robotic",), "", ()),
    ],
)
def test_how_it_is_done(text, styles, side, ignored):
    manner = parse_intent(text).manner
    assert (manner.styles, manner.side, manner.ignored) == (styles, side, ignored)


def test_styles_of_the_lexicon_are_those_of_the_table():
    assert set(LEXICON["styles"]) == set(STYLES)


@pytest.mark.parametrize(
    ("text", "both"),
    [
        ("he waves while walking", ("walk", "wave")),
        ("a man walks and waves", ("walk", "wave")),
        ("he nods as he strolls past", ("walk", "nod")),
        ("a walking robot waves", ("wave", "")),
        ("walks and then waves", ("walk", "")),
        ("walks and jumps", ("walk", "")),
    ],
)
def test_two_at_once(text, both):
    intent = parse_intent(text)
    assert (intent.action, intent.meanwhile) == both
    assert intent.meanwhile not in intent.left_out


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a man walks and then sits down", "walk, then sit down"),
        ("she walks sadly, then runs", "walk, sad, then run"),
        ("a sad man walks and sits down slowly", "walk, sad, then sit down, sad, slow"),
        ("a dog runs, jumps and lies down", "run, then jump, then lie down"),
        ("a cat stretches before it lies down", "stretch, then lie down"),
        ("before jumping, the cat walks", "walk, then jump"),
        ("he walks; after that he sits down", "walk, then sit down"),
        ("a knight walks backwards and then kicks with his left foot", "walk backwards, then kick, left side"),
        # At the same time, or not at all.
        ("a man walks and waves", "walk and wave"),
        ("a girl stands and waves", "wave"),
        ("after walking, he sits down", "sit down"),
        ("a robot walks as if it were to fall", "walk"),
    ],
)
def test_actions_that_follow_each_other(text, meaning):
    assert parse_intent(text).meaning == meaning


def test_what_a_prior_does_not_know_does_not_follow():
    intent = require_intent("walks and then claps", {"walk", "jump"})
    assert not intent.then and intent.left_out == ("clap",)
    assert "only 'walk' is shown, not clap" in intent.note


@pytest.mark.parametrize(
    ("text", "course"),
    [
        ("a man walks in circles", "in a circle to the left"),
        ("a dog runs in a circle to the right", "in a circle to the right"),
        ("a horse trots in a circle clockwise", "in a circle to the right"),
        ("a man walks, turning left", "turning left"),
        ("she walks in a curve to the right", "turning right"),
        ("a man runs in circles and then sits down", "in a circle to the left"),
        ("a man turns left", ""),
        ("a knight walks with his right hand raised", ""),
    ],
)
def test_ways_that_are_not_straight(text, course):
    assert parse_intent(text).manner.course == course


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("a man steps to the left", "left"),
        ("he sidesteps to the right", "right"),
        ("she steps right", "right"),
        ("a crab walks sideways", ""),
        ("he waves, then steps to the left", "left"),
    ],
)
def test_steps_aside_go_to_the_side_that_is_named(text, side):
    intent = parse_intent(text)
    found = next(each for each in (intent, *intent.then) if each.action == "sidestep")
    assert found.manner.side == side
