"""A table of English words that mean the same in a question, and of words that exclude each other."""

from device_app.english.stemming import stemmed

# One field of meaning per line. Words of one alternative mean the same for an answer; alternatives exclude each other.
_FIELDS = """
begin start commence initiate | end finish stop expire terminate fall
open | close shut
arrive reach | leave left depart
send | receive
sender | recipient receiver
early earliest earlier | late latest later
before prior preceding | after afterwards | during
first initially | last final finally
old former previous past | current present | new | next upcoming future
morning | noon | afternoon | evening | night | midnight
breakfast | lunch | dinner supper
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
rise sunrise | set sunset
maximum most highest | minimum least lowest | average
high higher tall | low lower
more | less fewer
many | few
big large biggest largest larger bigger | small smallest smaller
long longer longest | short shorter shortest
tall taller tallest | short shorter shortest
old older oldest | young younger youngest
heavy heavier heaviest | light lighter lightest
expensive | cheap cheapest cheaper
fast quick quickly rapid rapidly faster quicker | slow slower slowly
best better | worst worse
good | bad
strong | weak
easy simple | hard difficult
safe | dangerous
rich | poor
full | empty
same | different
correct right true | wrong false
free available | busy occupied
upper | lower
left | right
front | back | rear
top | bottom | middle
in | out
on | off
over | under
above | below
go | come
put | take
hot warm | cold cool
wet | dry
dark | bright
internal inner inside | external outer outside
import | export
upload push | download pull
load | save store
add | remove delete drop
include | exclude
enable | disable
encode | decode
lock | unlock
input | output
advantage benefit | disadvantage drawback problem
strength | weakness
like love enjoy praise | hate dislike criticise
support favour favor | oppose
for | against
accept approve agree | reject refuse decline deny disagree
allow permit | forbid prohibit ban
pass succeed success | fail failure
remember | forget
win winner | lose loser
keep | lose
cancel | confirm
break | fix repair
attend | miss skip
possible | impossible
always | sometimes rarely seldom | never
all every | some | none
both | either | neither
man | woman
male | female
boy | girl
mother mum mom | father dad | sister | brother
grandmother grandma | grandfather grandpa
son | daughter
husband | wife
aunt | uncle
nephew | niece
king | queen
teacher | learner student pupil
employer | employee
buyer customer | seller vendor
landlord owner | tenant
doctor | nurse | patient
dog | cat
red | blue | green | yellow | black | white | brown | grey gray | orange | purple | pink
height | width | length | depth | thickness | weight | age | size | colour color | volume
high tall | wide | long | deep | thick | heavy | old
number | address | title name | date | author | subject topic | password | price cost charge fee | username
phone telephone call | mail email | postal
net | gross
born birth | die dead death
symptom | cause
train training | test testing | validation
remote | local
online | offline
public | private
urban | rural
north northern | south southern | east eastern | west western
kitchen | bathroom bath | bedroom | basement cellar | garage | garden | attic | office
piano | guitar | violin | drum
biology | chemistry | physics | history
car | bike bicycle | bus | train | plane | boat
"""


def _numbered(text: str, first: int, step: int = 1) -> dict[str, str]:
    return {word: str(first + step * place) for place, word in enumerate(text.split())}


TENS = _numbered("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10)
NUMBERS = {
    **_numbered("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen", 0),
    **_numbered("fifteen sixteen seventeen eighteen nineteen", 15),
    **TENS,
    **{"hundred": "100", "thousand": "1000", "dozen": "12", "half": "1/2"},
    **_numbered("second third fourth fifth sixth seventh eighth ninth tenth", 2),
}
"""The digits for number words and ordinals."""

_NEGATING = ("un", "in", "im", "il", "ir", "dis", "non")


def _meanings() -> dict[str, frozenset[tuple[int, int]]]:
    """Map each stem to its meanings, pairs of a line of the table and the number of an alternative in the line."""
    places: dict[str, set[tuple[int, int]]] = {}
    for field, line in enumerate(_FIELDS.strip().splitlines()):
        for alternative, words in enumerate(line.split("|")):
            for word in words.split():
                places.setdefault(stemmed(word), set()).add((field, alternative))
    return {stem: frozenset(held) for stem, held in places.items()}


_MEANINGS = _meanings()
_NO_MEANING: frozenset[tuple[int, int]] = frozenset()


def synonymous(stem: str, other: str) -> bool:
    """Return whether two stems are equal or listed as synonyms."""
    return stem == other or bool(_MEANINGS.get(stem, _NO_MEANING) & _MEANINGS.get(other, _NO_MEANING))


def related(stem: str, other: str) -> bool:
    """Return whether two stems are synonymous or share a long beginning, as "expire" and "expiry" do."""
    shorter = min(len(stem), len(other))
    start = max(5, shorter - 1)
    alike = shorter >= 5 and stem[:start] == other[:start] and abs(len(stem) - len(other)) <= 4
    return alike or synonymous(stem, other)


def excludes(stem: str, other: str) -> bool:
    """Return whether one stem means the opposite of the other: open and close, red and blue, paid and unpaid."""
    own, others = _MEANINGS.get(stem, _NO_MEANING), _MEANINGS.get(other, _NO_MEANING)
    if not own & others and {field for field, _ in own} & {field for field, _ in others}:
        return True
    shorter, longer = sorted((stem, other), key=len)
    return len(shorter) > 2 and longer.endswith(shorter) and longer.removesuffix(shorter) in _NEGATING
