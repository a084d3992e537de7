"""The forms of English verbs: walk, walks, walking, walked; stride, strode, stridden."""

from __future__ import annotations

from typing import Literal

Form = Literal["base", "s", "ing", "past", "participle"]

IRREGULAR = {
    "be": "was were / been", "have": "had", "do": "did / done", "go": "went / gone", "get": "got / got gotten",
    "take": "took / taken", "make": "made", "give": "gave / given", "come": "came / come", "keep": "kept",
    "set": "set", "let": "let", "put": "put", "throw": "threw / thrown", "break": "broke / broken", "burst": "burst",
    "hold": "held", "lose": "lost", "meet": "met", "buy": "bought", "lay": "laid", "lie": "lay / lain",
    "sit": "sat", "sleep": "slept", "stand": "stood", "hang": "hung", "freeze": "froze / frozen",
    "stride": "strode / stridden", "tread": "trod / trodden", "creep": "crept", "slink": "slunk",
    "sneak": "sneaked snuck", "wend": "wended", "wind": "wound", "run": "ran / run", "outrun": "outran / outrun",
    "speed": "sped speeded", "flee": "fled", "shoot": "shot", "tear": "tore / torn", "leap": "leapt leaped",
    "spring": "sprang sprung / sprung", "spin": "spun", "swing": "swung", "fly": "flew / flown",
    "swim": "swam / swum", "dive": "dived dove", "eat": "ate / eaten", "overeat": "overate / overeaten",
    "feed": "fed", "bite": "bit / bitten", "strike": "struck / struck stricken", "hit": "hit", "fight": "fought",
    "sting": "stung", "beat": "beat / beaten", "thrust": "thrust", "cut": "cut", "fall": "fell / fallen",
    "sink": "sank / sunk", "slay": "slew / slain", "bleed": "bled", "say": "said", "bid": "bade bid / bidden bid",
    "see": "saw / seen", "hear": "heard", "feel": "felt", "think": "thought", "tell": "told", "sing": "sang / sung",
    "speak": "spoke / spoken", "write": "wrote / written", "read": "read", "drive": "drove / driven",
    "ride": "rode / ridden", "draw": "drew / drawn", "build": "built", "drink": "drank / drunk", "find": "found",
    "catch": "caught", "bring": "brought", "teach": "taught", "sell": "sold", "send": "sent", "spend": "spent",
    "win": "won", "wear": "wore / worn", "wake": "woke / woken", "weep": "wept", "sweep": "swept",
    "hide": "hid / hidden", "dig": "dug", "blow": "blew / blown", "grow": "grew / grown", "know": "knew / known",
    "show": "showed / shown", "leave": "left", "begin": "began / begun", "become": "became / become", "bend": "bent",
    "kneel": "knelt kneeled",
    "slide": "slid", "shake": "shook / shaken", "rise": "rose / risen", "stick": "stuck", "cling": "clung",
    "dream": "dreamt dreamed", "hop": "hopped", "spit": "spat", "steal": "stole / stolen", "swear": "swore / sworn",
    "sew": "sewed / sewn", "knit": "knit knitted", "quit": "quit", "withdraw": "withdrew / withdrawn", "shut": "shut",
    "forget": "forgot / forgotten", "rend": "rent", "bust": "bust busted", "betake": "betook / betaken",
    "lead": "led", "pay": "paid", "light": "lit lighted", "shed": "shed", "arise": "arose / arisen",
}  # fmt: skip
"""Past tense / past participle; one list where both are alike."""
BE = {"is": "s", "am": "s", "are": "base", "be": "base", "being": "ing"}
VOWELS = "aeiou"


def forms(verb: str) -> dict[str, set[Form]]:
    """Every form of a verb, spelt as in Britain and in America, with what each may be."""
    found: dict[str, set[Form]] = {}

    def add(spelling: str, form: Form) -> None:
        found.setdefault(spelling, set()).add(form)

    if verb == "be":
        for spelling, form in BE.items():
            add(spelling, form)  # type: ignore[arg-type]
    else:
        add(verb, "base")
        add(_third_person(verb), "s")
        for stem in _stems(verb):
            add(stem + "ing", "ing")
    if verb in IRREGULAR:
        past, _, participle = IRREGULAR[verb].partition(" / ")
        for spelling in past.split():
            add(spelling, "past")
        for spelling in (participle or past).split():
            add(spelling, "participle")
    else:
        for stem in _stems(verb, before="e"):
            add(stem + "ed", "past")
            add(stem + "ed", "participle")
    return found


def _third_person(verb: str) -> str:
    if verb == "have":
        return "has"
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "go", "do")) and verb != "tango" else "s")


def _stems(verb: str, before: str = "i") -> list[str]:
    """What -ing and -ed are hung on to: several where spellings differ ('swiveling', 'swivelling')."""
    if before == "i" and verb.endswith("ie"):
        return [verb[:-2] + "y", verb]
    if verb.endswith("e") and (before == "e" or not verb.endswith(("ee", "oe", "ye"))):
        return [verb[:-1]]
    if before == "e" and verb.endswith("y") and verb[-2] not in VOWELS:
        return [verb[:-1] + "i"]
    if verb.endswith("c"):
        return [verb + "k"]
    sounds = verb.replace("qu", "qw")
    if verb[-1] in VOWELS + "wxyh" or sounds[-2] not in VOWELS or sounds[-3:-2] in VOWELS:
        return [verb]
    syllables = sum(now in VOWELS and last not in VOWELS for last, now in zip(" " + sounds, sounds, strict=False))
    return [verb + verb[-1]] if syllables == 1 else [verb, verb + verb[-1]]
