"""Which English words say the same as far as an answer goes, and which exclude each other. Knows no question."""

import re
from collections.abc import Iterable

# A field of meaning a line. Words of one alternative say the same, as far as an answer is concerned; alternatives
# exclude each other.
_FIELDS = """
begin start commence initiate | end finish stop expire terminate fall
open | close shut
arrive reach | leave left depart
send | receive
early earliest | late latest
before prior preceding | after afterwards | during
first initially | last final finally
old former previous past | current present | new | next upcoming future
morning breakfast | noon lunch | afternoon | evening dinner | night midnight
am | pm
hourly hour | daily day | weekly week | monthly month | quarterly quarter | yearly annual annually year
spring | summer | autumn fall | winter
christmas | easter | eve
weekday | weekend | holiday
buy purchase | sell
lend loan | borrow
give | get receive obtain
pay | owe | receive
income earn | expense expenditure
up increase raise rise grow | down decrease reduce fall drop
maximum most highest | minimum least lowest
more | less fewer
big large biggest largest larger | small smallest smaller
expensive | cheap cheapest cheaper
fast quick quickly rapid rapidly faster quicker | slow slower slowly
upper | lower
left | right
in | out
on | off
go | come
hot warm | cold
internal inner inside | external outer outside
import | export
upload push | download pull
load | save store
add | remove delete drop
enable | disable
encode | decode
lock | unlock
input | output
advantage benefit | disadvantage drawback problem
like love enjoy | hate dislike
support favour favor | oppose
accept approve | reject refuse decline
possible | impossible
mother mum mom | father dad | sister | brother
son boy | daughter girl
husband | wife
aunt | uncle
red | blue | green | yellow | black | white | brown | grey gray | orange | purple | pink
height tall high | width wide | length long | depth deep | thickness thick | weight heavy | age old | size
colour color | size
number | address | title name | date | author | subject topic | password | price cost charge fee
phone telephone | mail email | postal
net | gross
born birth | die dead death
symptom | cause
teach teacher | learn learner student
train training | test testing | validation
remote | local
online | offline
public | private
north | south | east | west
win winner | lose loser
cat | dog
use utilize employ apply leverage usage utilization
provide offer furnish supply give
let allow permit enable possible
contain include comprise consist encompass cover incorporate
create generate build construct produce make
show display
find locate
obtain acquire gain get
require necessary need
change modify alter adjust
say tell mention state
talk discuss speak
call phone ring
attend come participate
aim purpose goal objective intent
guide guidance instruction manual tutorial
different various multiple several
kind type sort variety
way method technique approach
part section portion division
keep save store retain
specify indicate designate set provide
choose select pick
fix repair
kid child
doctor physician
flat apartment
film movie
car automobile
trip journey travel
picture photo image vision visual
sound audio
example instance illustration
access retrieve fetch load
check verify
connect link
complete entire whole
simple easy simply easily
information data detail
main principal primary
run execute
process manipulate handle
evaluate assess
share distribute
instead rather
additional extra new other
suggest recommend
allergy allergic
"""
# Words that carry an answer's form rather than its matter; what one question lacks of them hardly counts.
_LIGHT = """
use utilize employ apply leverage usage utilization provide offer furnish supply give present serve act
allow let permit enable possible able capable can order contain include comprise consist encompass cover hold
such create generate build construct produce make require need necessary must may might want wish like
way means also well available get take have go do become see look please
follow accord according via through within inside regard regarding upon
"""
_IRREGULAR = {
    form: verb
    for verb, forms in {
        "bring": "brought", "build": "built", "buy": "bought", "child": "children", "choose": "chose chosen",
        "come": "came", "die": "died dying", "drive": "drove driven", "eat": "ate eaten", "find": "found",
        "get": "got gotten", "give": "gave given", "go": "went gone", "hold": "held", "keep": "kept",
        "know": "knew known", "lend": "lent", "lose": "lost", "make": "made", "meet": "met",
        "pay": "paid", "person": "people", "rise": "rose risen", "run": "ran", "say": "said", "see": "saw seen",
        "sell": "sold", "send": "sent", "speak": "spoke spoken", "spend": "spent", "begin": "began begun",
        "take": "took taken", "teach": "taught", "tell": "told", "think": "thought", "use": "used uses using",
        "win": "won", "write": "wrote written",
    }.items()
    for form in forms.split()
}  # fmt: skip


_ENDINGS = (
    *("ations", "ation", "ingly", "edly", "ments", "ment", "ings", "ing", "ions", "ion", "ied", "ies", "ers", "er"),
    *("ed", "es", "ly", "s"),
)
_NEGATING = ("un", "in", "im", "il", "ir", "dis", "non")


def stemmed(word: str) -> str:
    """The word without an English ending, in a form that its relatives share."""
    word = _IRREGULAR.get(word, word)
    for ending in _ENDINGS:
        bare = word.removesuffix(ending)
        if bare != word and len(bare) >= 3 and re.search("[aeiouy]", bare):
            word = bare
            break
    if len(word) > 3 and word[-1] in "eiy":
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return f"{word[:-1]}z" if word.endswith("is") else word  # organise, organize


def _meanings() -> dict[str, frozenset[tuple[int, int]]]:
    """For each stem its (field, alternative)s."""
    places: dict[str, set[tuple[int, int]]] = {}
    for field, line in enumerate(_FIELDS.strip().splitlines()):
        for alternative, words in enumerate(line.split("|")):
            for word in words.split():
                places.setdefault(stemmed(word), set()).add((field, alternative))
    return {stem: frozenset(held) for stem, held in places.items()}


_MEANINGS = _meanings()
_NO_MEANING: frozenset[tuple[int, int]] = frozenset()
_LIGHT_STEMS = frozenset(map(stemmed, _LIGHT.split()))


def weight(stems: Iterable[str]) -> float:
    """How many words of matter these are; those of form count a quarter."""
    return sum(0.25 if stem in _LIGHT_STEMS else 1.0 for stem in stems)


def same(stem: str, other: str) -> bool:
    """Whether two stems say the same: equal, synonyms, or forms of one long word (expire, expiry)."""
    if stem == other or _MEANINGS.get(stem, _NO_MEANING) & _MEANINGS.get(other, _NO_MEANING):
        return True
    shorter = min(len(stem), len(other))
    start = max(5, 3 * shorter // 4)
    return shorter >= 5 and stem[:start] == other[:start] and abs(len(stem) - len(other)) <= 4


def excludes(stem: str, other: str) -> bool:
    """Whether one stem says the opposite of the other: open and close, red and blue, paid and unpaid."""
    own, others = _MEANINGS.get(stem, _NO_MEANING), _MEANINGS.get(other, _NO_MEANING)
    if not own & others and {field for field, _ in own} & {field for field, _ in others}:
        return True
    shorter, longer = sorted((stem, other), key=len)
    return longer.endswith(shorter) and longer.removesuffix(shorter) in _NEGATING
