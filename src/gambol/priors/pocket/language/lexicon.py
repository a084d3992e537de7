"""The words by which English speakers ask for each action of the pocket prior. Verbs stand in their base form.

The phrases are in `gambol.priors.pocket.language.idioms`.
"""

from __future__ import annotations

from dataclasses import dataclass

from gambol.priors.pocket.language.grammar import word_set


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
        verbs="""walk march step tread pad wade stalk patrol hike trek tramp waddle wobble totter teeter lurch stagger
        reel perambulate ambulate promenade sashay mince roam rove wander ramble prowl sidestep footslog yomp
        sleepwalk shamble jaywalk spacewalk wend peregrinate troop parade pace""",
        slow="""stroll amble saunter meander mosey plod trudge shuffle sneak creep tiptoe slink skulk pussyfoot
        dodder limp hobble lumber traipse slog slouch straggle plodge schlep trundle inch edge sidle bimble pootle
        toddle maunder falter tippytoe mooch stump potter putter clump clomp hirple galumph stumble""",
        fast="stride strut swagger stomp powerwalk speedwalk bustle goosestep racewalk flounce",
        nouns="""walk walkabout hike trek tramp wander ramble roam prowl step steps patrol constitutional
        promenade walkies spacewalk parade waddle stagger""",
        slow_nouns="stroll amble saunter meander plod trudge shuffle limp hobble crawl tiptoe mosey",
        fast_nouns="march stride strides strut swagger powerwalk",
    ),
    "trot": Words(
        verbs="trot jog dogtrot jogtrot piaffe prance",
        nouns="trot jog jogtrot dogtrot prance",
    ),
    "run": Words(
        verbs="""run gallop race flee escape scamper scurry scuttle skitter stampede chase pursue abscond
        skedaddle scoot scram scarper outrun hightail vamoose""",
        slow="canter lope",
        fast="""sprint dash dart bolt rush hurtle zoom hasten hurry charge pelt hie whizz whiz hotfoot
        outsprint outpace""",
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
        verbs="turn rotate pivot spin swivel twirl whirl revolve wheel gyrate veer swerve swirl spiral yaw reorient",
        nouns="turn spin twirl pivot rotation whirl revolution uturn",
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
        breakdance ballet moonwalk macarena chacha charleston flamenco pirouette cancan shimmy hula
        conga""",
    ),
    "eat": Words(
        verbs="""eat graze munch chew nibble gobble devour dine snack feast chomp crunch browse feed gulp swallow
        scoff consume ingest gnaw nosh sup lunch breakfast brunch picnic forage ruminate gorge masticate guzzle
        slurp binge overeat banquet engorge gormandise gormandize chaw ingurgitate victual rootle peck suckle""",
        nouns="meal snack lunch dinner breakfast supper feast bite bites nibble munch brunch picnic graze",
    ),
    "attack": Words(
        verbs="""attack counterattack retaliate bite butt headbutt strike hit slash stab claw maul gore sting pounce
        lunge assault assail swipe thrust savage fight battle duel brawl clobber smash chop hack slice
        spear tackle whack thwack batter ambush mug swat slap lash smite bash skewer impale thrash clash
        wallop combat harpoon behead cudgel club scuffle skirmish tussle trounce smack spar pommel bludgeon
        bayonet cleave wrestle raid besiege aggress horsewhip flog whip lambaste thwap swordfight""",
        nouns="""attack assault strike slash stab blow blows lunge swipe fight battle headbutt raid pounce duel
        swordfight ambush""",
    ),
    "kick": Words(
        verbs="kick dropkick punt boot roundhouse buck karatekick",
        nouns="kick kicks dropkick roundhouse penalty punt",
    ),
    "punch": Words(
        verbs="punch jab uppercut box shadowbox pummel thump clout biff counterpunch",
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

WEAK = {"walk": "approach advance proceed cross follow"}
"""Verbs that only hint at an action, and give way to any that names one."""

MOVING = "move budge stir flinch twitch"
"""Verbs of moving at all: denied, they mean standing still."""

STOPPING = word_set("stop cease quit finish")
"""What they govern is not done: 'stops running'."""

REFUSING = word_set("refuse decline fail forget neglect")
"""What they are followed by is not done: 'refuses to walk'."""

POSTURE = word_set("stand wait stay remain pause be stood")
"""What one does while doing something else: 'stands there waving'."""

LIGHT = """
    be have do go take make give break burst launch set throw land deliver perform execute come get embark ease
    settle slow drop switch change shift head swing aim unleash travel cut slide put lead slip bring pick
"""
"""Verbs that need a noun to say what is done: 'takes a stroll'."""

CATENATIVES = """
    start begin keep continue try attempt love like enjoy hate prefer want wish hope need decide plan learn help
    resume seem appear let intend manage tend commence practise practice see spot catch show film picture imagine
    animate render generate visualise visualize create depict ask tell force cause order command allow train use
    happen dare end prepare
"""
"""Verbs that need another verb to say what is done: 'starts walking'."""

CHANGING = word_set("slow drop change switch shift come speed ease settle")
"""Light verbs that lead from one deed to another: 'slows to a walk'."""

CAUSING = word_set("make let have help see watch want get like love need ask tell force order command allow train show")
"""What makes someone do something: 'makes the fox run'."""

PERCEIVING = word_set("""
    watch see hear notice observe photograph paint draw film spot sketch record admire find study
""")
"""What follows them is done by someone else: 'watches the birds fly'."""

OTHERS = """
    sit lie sleep nap snooze doze dream kneel squat crouch climb clamber ride drive sail row ski skate surf cycle
    bike pedal sing talk speak whisper shout yell scream cry weep laugh smile grin frown giggle bark meow purr growl
    howl roar hiss neigh moo bleat quack chirp crow snort yawn sneeze cough sniff smell lick drink sip listen hear
    look watch stare gaze glance peer observe read write draw paint sketch cook bake fry boil wash clean scrub sweep
    mop dry iron sew knit weave build repair fix dig plant garden mow play study teach think ponder wonder meditate
    pray work type phone call text buy sell shop pay carry lift pull push drag toss juggle hold hug kiss cuddle pet
    stroke scratch groom brush shave dress undress wear open close lock unlock ring shoot fire reload hide search
    find fish bury roll flip somersault backflip stretch bend bow curtsy nod shake shrug point clap applaud cheer
    celebrate salute blink wink vomit sweat shiver tremble wag sway rock shine glow burn melt explode grow shrink
    transform become vanish disappear live belong win lose score argue marry meet visit camp photograph record
    program calculate count measure weigh notice admire float drift circle cruise crash own guard protect discover
    rob steal knock pour serve chat gossip preach conduct vote invent explore mine weld hammer saw lecture narrate
    negotiate tickle polish decorate wrap unwrap sniffle hum whistle snore hiccup burp blush sulk pout recite
    translate compose edit print scan sculpt carve tattoo milk shear plough plow harvest fetch blow inflate balance
    hang dangle swing quiver pant drool bathe shower
"""
"""Deeds that the pocket prior was not taught."""

OBJECTLESS = word_set("turn spin rotate twirl whirl revolve wheel pivot swivel feed fly paddle stop rest halt pose")
"""With an object they are other deeds: 'flies a kite', 'turns the page'."""
MEASURES = word_set("""
    moment while bit minute second little few couple day night whole time way distance mile miles lap laps hour last
    full half quarter complete circle
""")
"""What follows them without being an object: 'rests a while'."""

THINGS = word_set("""
    shoe shoes boot boots stick sticks pool pools room rooms bag bags board boards water track tracks place places
    point points table tables suit suits machine machines trail trails station stations ring rings band bands trunks
    costume costumes cap caps frame frames cane canes hall halls glove gloves time partner lesson lessons car cars
    bike bikes gear shorts ground grounds land course back mate joke tap engine nose stream river commentary gag
    saucer carpet stone stones ovation order orders desk wheel wheels trough wind snow rain leaves star stars rocks
    ivy thistle flag flags grass wheat light sun embers heart match distance tour party school class club road sign
    jacks wall
""")
"""Running shoes do not run, nor does a swimming pool swim."""
NAMES = frozenset(
    name.strip()
    for name in """
    jumping spider, jumping spiders, jumping mouse, flying fox, flying foxes, flying fish, flying squirrel, flying
    squirrels, flying lemur, flying dragon, walking leaf, walking dead, walking fish, fighting fish, hopping mouse,
    spinning top, praying mantis, wandering albatross, wandering spider, stalking horse, racing pigeon, racing
    driver, rocking horse, wading bird, wading birds, diving beetle, diving duck
    """.replace("\n", " ").split(",")
)
"""Creatures that are called after what they do."""
LOOKS = word_set("striking dashing")
"""Participles that describe how a thing is rather than what it does now."""
CARRIERS = word_set("""
    pace gait speed step steps stride strides motion movement style fashion leaps manner gallop wings
""")
"""'at a walking pace', 'with bouncing steps'."""
PICTURES = word_set("""
    animation clip video movie film picture image gif cycle loop scene shot sequence footage render drawing
""")
"""'an animation of a galloping horse'."""
THING_NOUNS = word_set("""
    race stop break hook fall battle meal snack lunch dinner breakfast supper feast picnic brunch bite pose wait
    stand hurdle penalty spring step parade patrol pace greeting wave escape chase dip dive lengths raid blow
""")
"""Nouns that say what is done only with a verb: 'takes a break', but not 'a coffee break'."""
BETTER_NOUNS = word_set("""
    flies waves boxes stands steps springs bolts darts races punches turns swallows bucks paces clubs spears mugs
    pads edges stumps clumps potters hooks butts signals rests stops poses falls trips bounds dives
""")
"""At the start of a sentence that has a verb they are nouns: 'flies walk on the wall'."""

BARE_NOUNS = word_set("buck box boot club spear mug edge pad bolt butt harpoon")
"""By themselves they are things, not commands."""

SENSES = {
    "glide": (("after", "ice rink skates", ""), ("after", "WATER", "swim"), ("before", "SWIMMER", "swim"),
              ("before", "LEGLESS CREEPER", "crawl")),
    "creep": (("before", "LEGLESS CREEPER", "crawl"),),
    "inch": (("before", "LEGLESS CREEPER", "crawl"),),
    "slide": (("before", "LEGLESS CREEPER", "crawl"),),
    "dart": (("before", "SWIMMER", "swim"), ("before", "FLIER", "fly")),
    "dash": (("before", "SWIMMER", "swim"),),
    "zoom": (("before", "SWIMMER", "swim"), ("before", "FLIER", "fly")),
    "race": (("before", "SWIMMER", "swim"),),
    "dive": (("before", "FLIER", "fly"), ("after", "AIR", "fly")),
    "circle": (("before", "FLIER", "fly"), ("after", "AIR overhead", "fly")),
    "float": (("after", "WATER", "swim"), ("after", "AIR", "fly"), ("before", "SWIMMER", "swim")),
    "drift": (("after", "WATER", "swim"), ("after", "AIR", "fly")),
    "cruise": (("before", "SWIMMER", "swim"), ("before", "FLIER", "fly")),
    "bite": (("after", "FOOD", "eat"),),
    "chop": (("after", "FOOD wood log logs tree onion vegetable", ""),),
    "slice": (("after", "FOOD onion vegetable", ""),),
    "bound": (("before", "RUNNER", "run"),),
    "charge": (("after", "battery phone", ""),),
    "fall": (("before", "snow rain night darkness leaves dusk", ""), ("after", "snow rain star snowflake", "")),
    "run": (("before", "river water nose engine tap", ""),),
    "fly": (("before", "time flag", ""),),
    "flap": (("before", "flag curtain sail", ""),),
    "wave": (("before", "flag grass wheat corn", ""),),
    "rush": (("before", "river wind water stream", ""),),
    "breathe": (("after", "fire flame smoke", ""),),
    "strike": (("before", "clock lightning", ""),),
    "croak": (("before", "frog toad raven crow", ""),),
    "freeze": (("before", "water lake river pond", ""),),
    "browse": (("after", "web internet shelf book shop", ""),),
    "whip": (("after", "cream egg", ""),),
    "take off": (("after", "hat coat", ""),),
}  # fmt: skip
"""What other words, before or after it, make of a verb."""

PACES = {
    1.0: """fast quickly rapidly swiftly hurriedly speedily hastily furiously frantically frenziedly headlong fleetly
        madly lightning faster fastest quicker double-quick apace pell-mell wildly feverishly""",
    0.5: """briskly energetically vigorously eagerly excitedly urgently nimbly lively smartly purposefully quick rapid
        swift brisk hurried speedy hasty frantic urgent powerfully forcefully violently aggressively""",
    -0.5: """gently softly quietly carefully cautiously gingerly calmly casually idly silently heavily stiffly
        thoughtfully warily lightly gentle relaxed careful cautious weary casual easy stealthily furtively steadily""",
    -1.0: """slowly lazily leisurely sluggishly wearily tiredly sleepily languidly ploddingly unhurriedly slow slower
        lazy sluggish unhurried lethargically drowsily listlessly laboriously painfully""",
}
"""What one word says about pace."""
PACE_ADJECTIVES = word_set("""
    fast quick rapid swift brisk hurried speedy hasty frantic urgent gentle relaxed careful cautious weary casual
    easy slow lazy sluggish leisurely unhurried lively lightning
""")
"""They say something about a deed only beside it: 'runs fast', 'a brisk walk', but not 'a quick fox'."""
