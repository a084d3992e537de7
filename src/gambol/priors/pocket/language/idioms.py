"""The idioms by which English speakers ask for each action of the pocket prior.

They are separated by semicolons. `*` marks a verb in any of its forms, `a|b` either word, `_` up to three words that
are neither prepositions nor conjunctions, capitals one of a group. The longest idiom at a word wins, also over the
single word.
"""

from __future__ import annotations

GROUPS = {
    "SELF": "itself himself herself themselves myself yourself ourselves oneself",
    "HIM": "him her them us me you someone somebody",
    "FOE": "enemy enemies foe foes prey victim opponent opponents attacker attackers intruder intruders rival hunter "
    "knight matador throat",
    "ALONG": "along across past through down up off away out over around about by after into onto forward forwards "
    "towards toward from home back",
    "AIR": "air sky skies clouds cloud heavens treetops rooftops",
    "WATER": "water waters waves sea ocean lake pond river pool depths reef coral kelp seaweed surface aquarium tank "
    "lagoon stream current deep",
    "GROUND": "ground floor earth dirt dust grass mat knees",
    "HURDLE": "fence fences hurdle hurdles wall gate bar obstacle obstacles log ditch stream hedge puddle gap crate "
    "stile railing",
    "MUSIC": "music beat rhythm tune song drums band",
    "MEAL": "meal breakfast lunch dinner supper brunch tea snack feast picnic food",
    "FOOD": "apple apples sandwich burger steak pizza carrot carrots cake pie meat peach melon banana bread cookie "
    "biscuit cheese hay grass oats leaf leaves corn salad fruit food meal dinner lunch breakfast snack bone "
    "honey hotdog donut doughnut berries nuts nut acorn seeds bamboo",
    "WEAPON": "sword swords axe ax club hammer mace bat blade staff weapon stick spear scythe flail dagger knife lance",
    "FIST": "fist fists knuckles glove gloves",
    "FOOT": "foot feet leg legs hoof hooves heel heels boot",
    "BLOW": "punch punches jab jabs hook hooks uppercut uppercuts haymaker left right swing",
    "FACE": "face nose jaw stomach gut eye chin ribs belly mouth head",
    "HAND": "hand hands arm arms paw paws",
    "HELLO": "hello goodbye hi bye farewell greetings goodnight adieu goodbyes hellos welcome",
    "FINS": "fins fin flippers flukes",
    "SMALL": "little small short tiny quick light",
    "LEAPS": "leaps hops jumps bounds bounces leap hop jump",
    "HOPPER": "kangaroo rabbit bunny frog hare toad grasshopper",
    "LEGLESS": "snake serpent worm caterpillar snail slug python cobra viper anaconda larva maggot earthworm adder "
    "rattlesnake boa",
    "CREEPER": "insect baby infant beetle centipede millipede bug lizard gecko",
    "FLIER": "bird eagle hawk owl falcon dragon bat butterfly bee wasp dragonfly pigeon crow raven sparrow swan goose "
    "gull seagull parrot pterodactyl pterosaur vulture condor moth swallow swift dove stork heron fairy angel griffin "
    "phoenix pegasus wyvern gryphon albatross robin hummingbird kestrel kite ladybird ladybug mosquito",
    "SWIMMER": "fish shark whale dolphin manta eel trout salmon goldfish turtle seal otter orca minnow tuna stingray "
    "octopus squid jellyfish mermaid puffer anglerfish piranha tadpole carp porpoise barracuda swordfish",
    "RUNNER": "dog hound horse deer wolf wolves fox foxes lion tiger cheetah leopard puppy cat gazelle stag panther "
    "greyhound labrador pony zebra antelope retriever collie",
    "SIDE": "left right",
    "DEGREES": "30 45 60 90 120 180 270 360",
    "GLIDE": "glide move float drift dart cruise zip race shoot speed slip streak slice cut weave sail power plough "
    "plow undulate travel snake wriggle slither rush flit go zoom hurtle skim",
    "THROUGH": "through under in on beneath below across along over into above among",
    "SWAY": "move sway rock bounce bop groove step jump shuffle wiggle shake swing twist spin jiggle gyrate jam stomp "
    "twirl whirl hop skip",
    "STILL": "still motionless stationary immobile unmoving frozen rooted upright",
}  # fmt: skip

IDIOMS = {
    ("stand", 0): """
    stand* up straight; stand* up tall; be* stood; keep* _ STILL; keep* watch|guard|vigil; keep* _ post;
    hold* _ still; hold* _ pose|position|ground; do* nothing; do* absolutely nothing; mark* time; bide* _ time;
    catch* _ breath; get* _ breath back; hang* around|about|out; kill* time; take* five; take* it easy;
    stop* moving; cease* moving; cease* to move; be* STILL to the spot; frozen|glued|nailed|rooted to the spot;
    frozen|rooted in place|time|fear; rooted to the spot;
    be* motionless|stationary|immobile|unmoving|frozen|inactive|idle; still as a|_ statue|stone|rock|post;
    be* like a statue; imitate* a statue; pretend* to be a statue; cool* _ heels; twiddle* _ thumbs; strike* _ pose;
    lean* against; on standby; on guard; on sentry duty; stock still; stone still;
    perfectly|completely|absolutely|totally still; stockstill; motionless; draw* breath; go* nowhere;
    nothing but breathe|stand|wait; shift* _ weight; come* to rest; come* to a _ stop|halt|standstill;
    grind*|screech*|skid* to a halt; pull* up short; make* no move|movement; without moving|movement; not a muscle;
    at a standstill; to a standstill; to a halt; in _ idle pose|stance|position; have* _ breather; queue* up;
    queue* for
    """,
    ("walk", 0): """
    go* on foot; make* _ way; wind* _ way; pick* _ way; thread* _ way; work* _ way; find* _ way;
    stretch* _ legs|paws; take* the air; take* _ steps|paces; put*|place* one foot in front of the other;
    one foot in front of the other; one foot after the other; pound* the beat; hit* the road|trail;
    head* home|out|off; on the prowl; on patrol; set* off on foot; set* out on foot; foot* it; hoof* it;
    step by step; one step at a time; do*|make* the rounds; do* _ rounds; go* walkies|walkabout; on walkabout;
    storm* off|out|away|in|through|past; bowl* along; move* on _ legs|feet; cover* _ ground|miles|distance;
    trip* along; squelch*|slosh*|splash*|splosh* through|along|across; plough*|plow* through _ snow|mud|grass;
    file* past|in|out|by; sally* forth; up and about
    """,
    ("walk", -1): """
    creep* up on; drag* _ FOOT; on tiptoe|tiptoes; on tip toe|toes; tip toe*; tippy toe*; on the tips of _ toes;
    tread* carefully|softly|lightly|warily; stalk* _ prey; steal* past|away|up|out|off|along|through|into|down;
    crab* along; move* stealthily; ease* along|forward|past
    """,
    ("walk", 1): """
    power walk*; speed walk*; race walk*; walk* with purpose; step* lively; frog march*; goose step*; quick march*
    """,
    ("trot", 0): """
    run* at an|a easy|gentle|moderate|relaxed|steady pace; at an easy lope; at _ jogging|trotting pace;
    at a dog trot; at the double; on the trot; clip clop*; clop* along; half walk*; half run*;
    between a walk and a run; faster than a walk; slower than a gallop|run; run* lightly; run* gently
    """,
    ("run", 0): """
    on the run; on the lam; take* to _ heels; take* to the hills; leg* it; show* _ heels;
    show* _ clean pair of heels; turn* tail; make* off; make* tracks; make* _ escape|getaway; make* good _ escape;
    take* off running; take* off on foot; take* off after|down|along|across; go* after; give* chase;
    beat* a _ retreat; cut* and run*; do* a runner; head* for the hills; hit* the ground running; get* away;
    pick* up _ heels; in hot pursuit; do* _ laps around; take* part in a race; clear* off; in full cry; play* tag;
    bound* across|through the meadow|field|plain|plains|grass|savanna|savannah|prairie|lawn;
    turn* and run*|flee*|bolt*; break* away|loose; at a run|gallop
    """,
    ("run", -1): """
    at _ canter; at an easy|gentle gallop; at a lope; at a slow run
    """,
    ("run", 1): """
    make* a _ run|break|dash|bolt|beeline for; go* like the wind|clappers; go* hell for leather; go* flat out;
    go* full tilt|pelt|throttle; run* for _ life|lives; run* for dear life; run* like the wind;
    run* like mad|hell|crazy; at full tilt|pelt|gallop|sprint; full tilt|pelt; hell for leather;
    hell bent for leather; at a dead run; in full gallop; burn* rubber; put* _ skates on; get* a move on;
    step* on it; floor* it; shoot* off|past|by|across|down|along|away|forward; take* off like;
    fly* down|along|up _ street|road|stairs|steps|path|hill|hallway|corridor; fly* out of the door;
    fly* across _ pitch|track|playground; as fast as _ legs|FOOT|paws;
    hare*|tear*|barrel*|career*|careen*|speed*|belt*|bomb*|blaze*|rip* ALONG; thunder*|streak*|rocket*|zip* ALONG;
    make* haste; beat* feet; kick* up dust; leave* _ trail of dust; eat* up the ground|miles;
    put* on a burst of speed; put* on a spurt
    """,
    ("hop", 0): """
    jump* on one leg|foot; bounce* ALONG; jump*|leap*|spring* along|about; bunny hop*; in|with _ SMALL LEAPS;
    in|with SMALL LEAPS; by|in|with leaps and bounds; make*|take*|do* _ SMALL LEAPS; move*|jump*|go* like a HOPPER;
    move* _ like a HOPPER; boing* ALONG; pogo* along; jump* rope; play* hopscotch; from one foot to the other;
    from foot to foot; hippity|hoppity hop*; hip hop* along; in a series of LEAPS; on a pogo stick;
    jump* forward in; bound* along|about|around|off|away;
    from stone|rock|branch|twig|pad to stone|rock|branch|twig|pad; from lily pad to
    """,
    ("jump", 0): """
    jump*|bounce*|hop* up and down;
    fling*|hurl*|launch*|throw*|propel*|catapult* SELF into|over|up|off|from|skyward|skywards|high|upward|upwards;
    shoot* up into the air; spring* up|into|over|onto|off|from; clear* _ HURDLE; take* _ HURDLE;
    push* off the ground; push* off from; get* some air|height; do* jumping jacks|jack; do* star jumps;
    do* _ high jump; long|high|broad jump*; in mid LEAPS; bound* over|onto|into|up|from; skip* over; hop* over|onto;
    take* a flying|running leap|jump; pounce* into|over|across; soar*|fly*|sail* over _ HURDLE;
    with both feet off the ground; with all four feet|paws off the ground; go* over the jumps|hurdles|fence;
    slam dunk*; bounce* high|up|into; on a trampoline; jump* around
    """,
    ("turn left", 0): """
    turn* on the spot; turn* on _ heel|heels; turn* on a dime|sixpence; turn* around|round|about|back|away;
    turn* right round|around|about; turn*|shift*|pivot*|swivel*|spin* to face*; turn* and face*; turn* _ back;
    face* about|left|right; face* the other|opposite way|direction; about face*|turn*; aboutface;
    do*|make* an about face|turn; do*|make*|perform*|execute*|pull* a u turn; u turn; do*|make*|pull* a DEGREES;
    do* a one eighty; do* a three sixty; turn*|spin* in _ circle|circles|place; go* round|around in circles;
    go* round and round; go* around and around; spin* like a top; spin* round|around; chase* _ tail;
    swing*|twist*|whip*|wheel* round|around|about|SIDE; hang* a SIDE; bear* SIDE; bear* to _ SIDE;
    take*|make* a SIDE; change*|reverse*|switch* direction; twist* to _ SIDE;
    turn*|spin*|rotate*|twirl*|whirl*|pivot* _ circle|circles|turn|turns|degrees;
    turn* a quarter|half|full|complete; turn* _ corner|bend; turn* _ body|torso|SELF; turn* the other|opposite way;
    turn* full circle; turn*|rotate*|spin*|pivot* DEGREES; double* back; circle* on the spot; circle* in place;
    turn* to _ SIDE; SIDE face; SIDE turn; SIDE about turn; do* _ spin|twirl; turn* toward|towards; turn* sharply;
    turn* a little|bit
    """,
    ("fly", 0): """
    take* flight|wing; take* to the AIR|wing; take* off; lift* off; be*|get*|become*|go* airborne; on the wing;
    in flight; in full|mid flight; spread* _ wings; flap*|beat*|work*|pump*|move*|flutter* _ wings;
    flapping|beating wings; wings flapping|beating; wing* _ way; wing* ALONG;
    ride*|catch* the wind|thermals|thermal|breeze|updraft|updrafts; ride* on the wind;
    rise*|climb*|ascend*|shoot*|lift*|launch* into|toward|towards _ AIR; rise*|shoot*|lift* up into _ AIR;
    launch* SELF into the sky; circle* overhead|above; hang* in the air; GLIDE* _ THROUGH _ AIR; flap* _ way;
    loop* the loop; buzz* ALONG; leave* the nest; migrate* south; get* off the ground;
    with _ wings outstretched|spread
    """,
    ("swim", 0): """
    dog|doggy|doggie paddle*; skinny dip*; tread* water;
    do*|swim* _ breaststroke|backstroke|butterfly|sidestroke|crawl|freestyle;
    do* _ front|back|dog|doggy|breast|side crawl|stroke|paddle; do*|swim* _ lengths|length; do* _ laps in|of _ pool;
    front|back crawl*; breast|back|butterfly stroke*; take* _ plunge; splash* about|around; scuba|skin|free dive*;
    float* on _ back; flap*|beat*|flick*|move*|swish* _ FINS; take* to the water; fight* the current;
    against the current; GLIDE* _ THROUGH _ WATER; make* _ way through|under|across _ WATER;
    propel*|pull* SELF through the water; move*|glide* underwater; go* snorkelling|snorkeling|diving|bathing
    """,
    ("crawl", 0): """
    worm*|inch*|snake* _ way; drag*|haul*|heave*|pull* SELF ALONG; drag* SELF;
    belly|army|commando|leopard|bear crawl*;
    creep*|move*|slide*|travel*|shuffle*|go*|scoot*|inch*|advance*|get* _ on _ belly|stomach|tummy;
    creep*|move*|go*|travel*|advance*|proceed*|scuttle*|scramble*|scoot*|get* _ on all fours;
    creep*|move*|go*|travel*|advance*|proceed*|get* _ on _ hands and knees; move*|go*|travel* _ like a LEGLESS;
    slide* along|across|over _ GROUND|sand|leaves; snake*|worm*|wiggle* ALONG; get* down on _ hands and knees;
    drop* to _ hands and knees; drop* to all fours; keep* low to the ground; belly to the ground
    """,
    ("dance", 0): """
    bust* a move|groove; bust*|show* _ moves; break* out _ moves; cut* a rug|caper;
    shake* _ booty|hips|thing|butt|bum|bottom; shake* _ tail feather; trip* the light fantastic;
    get* _ groove|boogie on; throw* _ shapes; strut* _ stuff; SWAY* _ to|with _ MUSIC;
    move*|sway*|step* in time to|with; move*|sway*|bop* _ along to _ MUSIC;
    sway*|swing*|wiggle*|move*|gyrate*|swivel* _ hips; rock* out;
    do* the twist|macarena|robot|moonwalk|floss|worm|conga|cancan|locomotion|hustle|limbo|shuffle|bump;
    do* the hokey cokey|pokey; cha cha*; can can*;
    break|tap|belly|line|square|pole|ice|river|morris|rain|slow|ballroom dance*; hip hop dance*;
    do*|perform*|practise*|practice* ballet; on the dance floor; hit*|fill* the dance floor;
    tear*|burn*|light* up the dance floor; take* to the dance floor; moon walk*; spin* _ partner; get* jiggy;
    kick* up _ heels; kick* _ heels up; take* the floor; perform*|do* _ choreography|routine|pirouette|pirouettes;
    do* the cha|can
    """,
    ("eat", 0): """
    have*|get*|grab*|take* _ MEAL|bite|mouthful|nibble|munch|sandwich|FOOD; have*|find*|get*|grab* something to eat;
    take* _ bite|bites|mouthful|mouthfuls|nibble|nibbles of|from|out; bite* into; tuck* into|in;
    dig* into _ FOOD|plate|bowl; dig* in; chow* down; polish* off; wolf*|scarf*|gulp* down; wolf*|scarf* _ down;
    wolf* _ MEAL; pig* out; feed* on|from|at|off|in; feed* SELF; crop* _ grass|pasture; pick* at _ FOOD|plate;
    peck* at; peck* _ seeds|grain|corn|crumbs|food|bread; peck* for food; help* SELF to; stuff* _ face|cheeks|SELF;
    fill* _ belly|stomach|face; satisfy* _ hunger|appetite; break* bread; have* _ fill;
    tear* at|into _ FOOD|carcass|flesh|prey|kill; tear* off a piece|chunk; pull* at _ grass;
    pluck*|tear*|strip* _ grass|leaves; root* for|around; enjoy* _ FOOD|MEAL; sink* _ teeth into _ FOOD;
    put* away _ FOOD; demolish*|finish* _ FOOD|plate; shovel* _ food|it into; lick* _ plate clean; clear* _ plate;
    sit* down to eat|MEAL; sit* down to _ MEAL; fill* up on; make* short work of _ FOOD; lick* up
    """,
    ("attack", 0): """
    go* for _ throat|throats|kill|jugular; go* on the attack|offensive; go*|move*|come*|close* in for the kill;
    ram* into|the|a|an|HIM|his|its|their; snap* at; snap* _ jaws|teeth;
    swing* _ WEAPON|claws|claw|paw|tail|cane|broom; swing* _ at HIM; swing* with _ WEAPON|claws;
    sink*|dig* _ teeth|fangs|claws|talons into; sink* _ teeth|fangs;
    launch*|mount*|make* _ attack|assault|offensive|strike; launch* into _ attack;
    throw*|hurl*|fling*|launch*|cast* SELF at|upon|on|onto; fly* at HIM; fly*|leap*|jump* at _ FOE|throats|FACE;
    leap*|jump* on|upon|onto _ FOE; spring* at|upon; tear*|rip* into; tear*|rip* _ apart;
    tear*|rip* _ to pieces|shreds; lay* into; set* upon; set* on HIM; fall* upon; turn* on HIM;
    turn* on _ FOE|master|owner|trainer|handler|keeper; beat* up; beat* _ up; beat* HIM; bring* down _ WEAPON;
    bring* _ WEAPON|paw down; take*|make* a _ swipe|lunge|stab at; take* _ swipe;
    land*|deal*|strike*|deliver* _ blow|blows|hit|hits; rain* blows; lock* horns; head butt*; charge* at;
    charge* into battle; charge* with _ horns|head|WEAPON; charge* _ FOE; go* into battle; do*|give* battle;
    put* up a fight; pick*|start* a fight; get* into _ fight|brawl|scrap; join* the fight|fray|battle;
    bite* down on; bite* at; take* a chunk out of; take* a bite out of _ leg|arm|hand|postman|mailman|ankle|FOE;
    give* _ bite|nip; swoop* down on|upon _ FOE|mouse|rabbit; draw* blood; jab*|thrust* at; go* on a rampage;
    scratch* at _ FOE|face; let* fly at; come* at HIM with; whip*|lash*|swing* _ tail at; peck* HIM; cross* swords;
    nip* at; rush* at _ FOE|HIM; go* at HIM; plunge*|drive* _ WEAPON|horns|fangs|teeth|claws into; bear* down on;
    take* down _ FOE
    """,
    ("kick", 0): """
    drop|high|karate|roundhouse|spin|side|free|flying|penalty|scissor|bicycle|front|back kick*; kung fu kick*;
    lash*|strike* out with _ FOOT; lash*|strike* out with _ hind|back|rear FOOT;
    strike*|hit*|attack* with _ FOOT|kick; hit*|strike* _ with _ FOOT; swing* _ FOOT; put*|stick* the boot in;
    thrash* _ legs; throw* out _ leg|hoof; let* fly with _ FOOT|hind; let* fly with _ hind|back FOOT;
    strike* the ball; take* a penalty; take* a free kick; with a roundhouse|kick;
    send* _ flying with _ kick|foot|boot; throw* up _ heels|hooves|hind; volley* _ ball;
    lash* out backwards|backward
    """,
    ("punch", 0): """
    throw* _ SIDE hook|jab|cross|punch|uppercut; throw* hands; throw*|swing* _ BLOW|FIST; take* _ swing;
    hit*|strike*|smash*|pound*|fight*|attack*|lash*|beat* _ with _ FIST|punch; lash* out with _ FIST|BLOW;
    land* _ SIDE hook|jab|cross|uppercut|punch; land*|deliver* _ BLOW|fist;
    hit*|strike*|smack*|sock*|bop*|slug*|clock*|belt*|clout*|thump*|pop*|bash*|whack* _ in|on _ FACE;
    slam*|drive*|ram*|bury*|plant*|smash*|thrust* _ FIST; knock* _ out; use* _ fists; shadow box*;
    spar* in the ring; hit*|pound*|work*|strike* _ punching|heavy bag; let* fly a punch;
    let* fly with a punch|right|left; trade*|exchange* blows|punches; knuckle sandwich; fist fight*;
    SIDE hook|cross|jab; bunch of fives; fists flying; put* up _ dukes; slug* it out;
    slug*|sock*|deck*|cuff*|belt*|wallop*|clobber*|clock* HIM; slug*|sock*|deck*|clock* _ FOE|guy|man|bully;
    give* _ black eye; practise*|practice* _ BLOW; go* _ rounds in the ring
    """,
    ("wave", 0): """
    say*|signal*|gesture*|motion*|bid*|wish*|shout* _ HELLO; say* bye bye; bye bye; bid* _ good;
    raise*|lift*|hold* _ HAND in _ HELLO|greeting|wave; raise*|lift* _ HAND to|and greet*|say*; flag* down;
    hail* _ cab|taxi|friend|rickshaw; shake* _ hand in the air; motion*|gesture* to HIM;
    move*|swing*|swish*|shake* _ HAND from side to side; move*|swing*|shake* _ HAND back and forth;
    move*|swing*|shake* _ HAND to and fro; move*|swing*|shake* _ HAND left and right;
    wag*|waggle*|flutter*|wiggle*|flourish* _ HAND|handkerchief|fingers; give*|offer* _ wave; send* greetings;
    welcome* HIM|everyone; welcome* _ guests|visitors; hand in greeting
    """,
    ("die", 0): """
    drop* dead; drop* down dead; drop* like flies; drop* like a fly|stone; drop* to _ GROUND; drop* lifeless;
    pass* away|out; kick* the bucket; bite* the dust; bite* the big one; give* up the ghost;
    breathe*|draw*|take*|gasp* _ last|final breath|breaths; breathe* _ last;
    meet* _ end|maker|death|doom|demise|fate; buy* the farm; pop* _ clogs; push* up daisies; push* up the daisies;
    play* dead|possum; lose* consciousness; lose* _ life|balance|footing; black* out; sink* to _ GROUND;
    sink* lifeless; hit* the deck|GROUND; be* dead; fall* dead;
    be*|get* killed|slain|murdered|slaughtered|executed|assassinated|felled|electrocuted|poisoned|shot;
    be*|get* shot|struck|cut|knocked|gunned|mown dead|down|out|over; be* done for; be* no more; be* a goner;
    bleed* out; bleed*|freeze*|starve*|choke*|burn* to death; roll* over dead; roll* over and die*;
    crash*|crumple*|slump*|flop*|tumble*|topple*|plummet*|plunge*|thud* to|onto|into _ GROUND|death; tip* over;
    flop* over; go* limp; lie* dead|dying|lifeless; lie* down and die*; shuffle* off this|_ mortal coil;
    join* the choir invisible; cross* the rainbow bridge; go* to meet _ maker; depart* this life|world|earth;
    cash* in _ chips; come* to a sticky|bad end; trip*|stumble*|slip* and fall*|collapse*|topple*; trip* over;
    slip* over; breathe* no more; have*|suffer* _ heart attack; suffer* _ stroke; cark* it; snuff* it; peg* out;
    conk* out; curl* up and die*; end* it all; go* belly up; turn* up _ toes; go* the way of the dodo;
    fatally|mortally wounded; slip* away; leave* this world; sag* to _ GROUND; stone dead; perform* _ death scene;
    fall*|drop* off the perch; sleep* with the fishes; go* to a better place; give* _ life; crash* down;
    rest* in peace; fall* to _ death
    """,
}
"""By action and pace: -1 slow, 1 fast."""

WEAK_IDIOMS = {
    "stand": "at attention; at ease; at rest; immobile; stationary",
    "walk": """
    on|by foot; on the march; in lockstep; go* home|along|forward|forwards|ahead|forth|onward|onwards|away|off;
    go* to _ shop|shops|river|house|door|forest|village|town|castle|market|park|lake|beach;
    go* up|down|through|across|past; come* home|closer|nearer|along|over|forward;
    come* towards|toward|through|down|up; move* forward|forwards|ahead|along|onward|onwards|away|closer;
    move* towards|toward|through|across|past|down|up;
    head* for|towards|toward|down|up|into|north|south|east|west|back; set* out|off; stroke* across
    """,
    "run": "on the rampage; make* for",
    "turn left": "clockwise; counterclockwise; anticlockwise",
    "fly": "airborne; up in the AIR",
    "crawl": "on all fours; on _ hands and knees; on _ belly|stomach|tummy",
}
"""What only hints at an action, and gives way to any verb that names one."""

OTHER_IDIOMS = """
    turn* into;
    turn* on|off|up|down _
    light|lights|tv|television|radio|lamp|computer|music|tap|switch|engine|volume|heating|phone; turn* out;
    turn* red|pale|green|blue|white|black|grey|gray|purple|pink|orange|cold|violent|sour|invisible|human;
    turn* to stone|dust|gold|ice|ash|salt; turn* _ page|pages|key|handle|knob|wheel|dial|head|tap|crank|lock;
    turn* _ somersault|cartwheel|somersaults|cartwheels; turn* heads; turn* over; stand* up; stand* out|for|down;
    stand* on _ head|hands; run* out of _ time|money|food|patience|steam|fuel|power|battery|luck;
    run* _ shop|business|company|farm|bath|hotel|restaurant|store|school|fever|errand|errands|program|kingdom;
    run* for office|president|mayor; fall* asleep|ill|silent|behind|pregnant|short; fall* in love; fall* out with;
    time flies; bolt* the|a|_ door|gate|window; rest* _ case|head; rest* assured; stop* by for;
    jump* to conclusions; jump* the queue; jump* start*;
    hit* the gym|sack|hay|brakes|books|jackpot|bottle|switch|button; hit* _ note|notes; kick* off _ shoes|boots;
    kick* _ habit; kick* back; get* a kick out of; strike* a match|deal|chord|bargain; strike* gold|oil;
    bite* _ nails|lip|lips|tongue; beat* _ drum|drums|egg|eggs|chest|record;
    take* off _ hat|coat|shoes|clothes|helmet|jacket|shirt|glasses|mask|armour|armor|boots|gloves; step* on the gas;
    take*|have* a _ seat|nap|shower|bath|photo|picture|selfie|look|drink|sip|call|bow|chat|dream; take* turns;
    take* a turn for; skip* school|class|work|lunch|breakfast|dinner; skip* _ stone|stones; bounce* _ ball;
    lie*|sit* still|motionless|down|idle; lie* in wait; lie* at rest; pass* _ test|exam;
    punch* _ ticket|numbers|code|clock|hole; eat* _ heart out; eat* _ words; sleep*|doze* standing;
    drop* off _ letter|package|kids|parcel; wait* tables; freeze* _ food; stop* _ clock|car|bus|train|traffic|ball;
    look* like; wave* _ wand; set* _ table; break* _ vase|window|leg|arm;
    make* _ cake|tea|coffee|dinner|lunch|breakfast|supper|bed;
    do* _ homework|laundry|dishes|yoga|exercises|handstand|cartwheel|backflip|somersault|flip|pushups|situps;
    walk on part; run of the mill; dead end; dead tired; death metal|star|trap; bus|truck|pit stop; stop sign|watch;
    heat|ocean|sea|sound|tidal|radio|shock|light|brain wave|waves;
    taxi|bus|bike|music|lemonade|umbrella|cake|night|fruit|news stand; hot dog stand; last stand;
    punch line|bag|bags|card|bowl; punching bag|bags; kick drum; jump suit|rope;
    dance floor|hall|class|music|studio|partner|shoes|teacher|school|team; swim suit|wear|trunks|cap|team|ring;
    race car|cars|track|course|horse|horses|bike; attack dog|dogs|helicopter|ship;
    lunch|dinner|breakfast|picnic|snack|supper
    table|plate|jacket|party|time|box|break|room|bar|basket|blanket|machine|cereal; fall colours|colors|leaves;
    the fall; in spring; the spring; spring flowers|onion|roll|cleaning; rest room|area|stop;
    step ladder|mother|father|sister|brother|son; march hare; in march; chase scene; fight club;
    battle axe|field|ship|armour|armor|ground; flight attendant|deck|suit|jacket|simulator; flight of stairs|steps;
    leap year; dive bar|suit; signal box|tower|fire; greeting card|cards; salsa sauce|dip; polka dot|dots|dotted;
    tap water; ballet shoes|dress|skirt|slippers; dead leaves|tree|trees|wood|grass|branch|serious|ahead;
    fly swatter|fishing; strike force; pet rock; hip hop; hook and line; rush hour; bolt of lightning; right hand;
    left hand; right behind|beside|next; front door
"""
"""What looks like an action and is none; a verb among them is a deed the prior was not taught."""

MOVING_IDIOMS = "do* anything; go* anywhere; move* a muscle; lift* a finger|paw; do* a thing; take* another step"
"""They mean standing still when denied."""

PACE_IDIOMS = {
    1.0: """
    at full|top|high|great|maximum|lightning|breakneck|blistering speed|pace|tilt|pelt|stretch|throttle; at speed;
    at a _ great|fast|furious|breakneck|blistering|rapid|quick pace|speed; full speed|tilt|pelt|throttle; top speed;
    flat out; like the wind; like lightning; like a flash|shot; like mad|crazy|hell; like a bat out of hell;
    as fast|quick|quickly as; for _ life|lives; for dear life; hell for leather; in a hurry|rush|flash;
    in great haste; with all _ might|strength|speed; in double time; with great speed; at a rate of knots
    """,
    0.5: """
    at a brisk|good|lively pace; at a fair lick; with brisk|quick|hurried|rapid steps;
    with vigour|vigor|energy|purpose
    """,
    -0.5: """
    at an easy|unhurried|relaxed pace; at a gentle|moderate|relaxed|comfortable|steady pace;
    without hurry|hurrying|haste; in no hurry|rush; with care|caution
    """,
    -1.0: """
    at a snail 's pace; at a slow|leisurely|glacial|sedate|crawling pace; in slow motion|mo; take* _ time;
    with heavy|slow|weary|dragging|leaden steps|feet; little by little; bit by bit; at _ low speed;
    like a snail|tortoise|sloth; without making a sound; without a sound
    """,
}
"""From -1 slowly to 1 fast."""
