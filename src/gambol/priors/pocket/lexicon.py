"""The words by which English speakers ask for each action of the pocket prior. Verbs stand in their base form.

The phrases are in `gambol.priors.pocket.idioms`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """What one action is called."""

    verbs: str
    slow: str = ""
    """Verbs that also say 'slowly'."""
    fast: str = ""
    nouns: str = ""
    """What one can 'take', 'go for' or 'break into'."""
    slow_nouns: str = ""
    fast_nouns: str = ""


LEXICON = {
    "stand": Words(
        verbs="""stand wait idle rest pause halt stop freeze stay remain linger loiter pose breathe relax chill
        tarry hesitate loll lounge dally laze vegetate await respire""",
        nouns="rest break breather pause halt standstill stop pose idle wait stand",
    ),
    "walk": Words(
        verbs="""walk step tread pad wade stalk patrol hike trek tramp waddle wobble totter teeter lurch stagger
        reel perambulate ambulate promenade sashay mince roam rove wander ramble prowl sidestep footslog yomp
        sleepwalk shamble jaywalk spacewalk wend peregrinate troop parade pace""",
        slow="""stroll amble saunter meander mosey plod trudge shuffle sneak creep tiptoe slink skulk pussyfoot
        dodder limp hobble lumber traipse slog slouch straggle plodge schlep trundle inch edge sidle bimble pootle
        toddle maunder falter mooch stump potter putter clump clomp hirple galumph stumble""",
        fast="stride march strut swagger stomp powerwalk speedwalk bustle goosestep racewalk",
        nouns="""walk walkabout hike trek tramp wander ramble roam prowl step steps patrol constitutional
        promenade walkies parade pace waddle stagger""",
        slow_nouns="stroll amble saunter meander plod trudge shuffle limp hobble crawl tiptoe mosey",
        fast_nouns="march stride strides strut swagger powerwalk",
    ),
    "trot": Words(
        verbs="trot jog dogtrot jogtrot piaffe lollop prance",
        nouns="trot jog jogtrot dogtrot prance",
    ),
    "run": Words(
        verbs="""run gallop race flee escape scamper scurry scuttle skitter stampede chase pursue abscond
        skedaddle scoot scram scarper outrun hightail vamoose""",
        slow="canter lope",
        fast="""sprint dash dart bolt rush hurtle zoom hasten hurry charge pelt hie whizz whiz zip rocket streak
        hotfoot thunder outsprint outpace""",
        nouns="run gallop chase race stampede scamper escape",
        slow_nouns="canter lope",
        fast_nouns="sprint dash bolt rush dart",
    ),
    "hop": Words(
        verbs="""hop skip bunnyhop hopscotch bounce frisk frolic gambol caper romp rollick leapfrog cavort lollop
        pronk stot hippityhop bound""",
        nouns="hop skip bounce hops skips bounces bunnyhop frolic romp gambol",
    ),
    "jump": Words(
        verbs="jump leap spring vault hurdle overleap outjump highjump trampoline pogo",
        nouns="jump leap spring vault jumps leaps bound bounds hurdle",
    ),
    "turn left": Words(
        verbs="turn rotate pivot spin swivel twirl whirl revolve wheel gyrate veer swerve reorient slew",
        nouns="turn spin twirl pivot rotation whirl revolution u-turn pirouette",
    ),
    "fly": Words(
        verbs="fly soar hover flap flutter flit swoop glide",
        nouns="flight",
    ),
    "swim": Words(
        verbs="swim paddle dive snorkel backstroke breaststroke sidestroke skinnydip dogpaddle doggypaddle outswim",
        nouns="swim dip paddle breaststroke backstroke dive plunge lengths",
    ),
    "crawl": Words(
        verbs="crawl slither wriggle squirm undulate scrabble bellycrawl squiggle commandocrawl scooch",
        nouns="crawl slither wriggle",
    ),
    "dance": Words(
        verbs="""dance waltz tango boogie jig jive samba rumba salsa mambo polka twerk breakdance tapdance foxtrot
        quickstep groove jitterbug shimmy charleston headbang moonwalk linedance bop conga krump lindy mosh
        poledance slamdance bellydance cancan pirouette cakewalk lambada merengue twostep""",
        nouns="""dance jig waltz tango boogie samba rumba salsa mambo polka foxtrot quickstep jive twerk
        breakdance ballet moonwalk macarena cha-cha charleston flamenco pirouette cancan shimmy shuffle-dance hula
        conga""",
    ),
    "eat": Words(
        verbs="""eat graze munch chew nibble gobble devour dine snack feast chomp crunch browse feed gulp swallow
        scoff consume ingest gnaw nosh sup lunch breakfast brunch picnic forage ruminate gorge masticate guzzle
        slurp binge overeat banquet engorge gormandise gormandize chaw ingurgitate victual rootle""",
        nouns="meal snack lunch dinner breakfast supper feast bite bites nibble munch brunch picnic graze",
    ),
    "attack": Words(
        verbs="""attack bite butt headbutt strike hit slash stab claw maul gore sting pounce lunge assault assail
        swipe thrust ram savage fight battle duel brawl clobber smash chop hack slice spear tackle whack thwack
        batter ambush mug swat slap lash smite bash skewer impale thrash clash wallop combat harpoon behead cudgel
        club scuffle skirmish tussle trounce smack spar pommel bludgeon bayonet cleave wrestle raid besiege
        aggress horsewhip flog whip lambaste thwap swordfight""",
        nouns="""attack assault strike slash stab blow blows lunge swipe fight battle headbutt raid pounce duel
        swordfight ambush""",
    ),
    "kick": Words(
        verbs="kick dropkick punt boot roundhouse buck karatekick",
        nouns="kick kicks dropkick roundhouse penalty punt",
    ),
    "punch": Words(
        verbs="punch jab uppercut box shadowbox pummel thump clout counterpunch",
        nouns="punch punches jab jabs uppercut uppercuts haymaker hook hooks clout thump",
    ),
    "wave": Words(
        verbs="wave beckon greet gesticulate signal",
        nouns="wave waves greeting salutation",
    ),
    "die": Words(
        verbs="""die perish expire collapse croak topple crumple succumb faint swoon keel slump drown decease fall
        suffocate starve tumble flatline asphyxiate""",
        nouns="death demise tumble fall collapse",
    ),
}  # fmt: skip
"""A turn goes to the left unless the sentence says otherwise."""
