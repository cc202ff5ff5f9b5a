"""Rules for people's careers: the sentence patterns of an encyclopedia, and the questions that such sentences
answer.
"""

from scripts.answerer.encyclopedia_rules import table

CAREERS = table(
    r"""
nationality : person
    ^(?P<be>is|was) an? <BEFORE>(?P<a><DEMONYMS>)<NOCOUNTRY> [a-z]
    - What {be} the nationality of {x}? / What nationality {be} {x}? / What {be} {x}'s nationality?
trade : person
    ^(?P<be>is|was) an? <BEFORE><DEMONYMS><NOCOUNTRY> <BEFORE>(?P<a><TRADES>)(?= ?(?:[.;(]|, (?:who|known|best|and
    |active|born|most)|$)| (?:who|from|and (?:is|was)|best known|known|active|born)\b)
    - What {does} {x} do for a living? / What {be} the occupation of {x}? / What {be} {x}'s profession?
    - What {does} {x} do? / What {does} {x} work as?
position : person
    <WHO>(?:currently )?(?:plays|play)(?: \w+ball| cricket| hockey)? (?:as|at) an? (?P<a>[a-z]+
    (?:[- ]{1,2}[a-z]+)?)(?= (?:for|in|with|at)\b|[.,;])
    - What position does {x} play? / In which position does {x} play? / Which position is {x} known to play?
position : person
    <WHO>played (?:as|at) an? (?P<a>[a-z]+(?:[- ]{1,2}[a-z]+)?)(?= (?:for|in|with|at)\b|[.,;])
    - What position did {x} play? / In which position did {x} play?
club : person
    <WHO>(?:currently )?plays(?: as an? [a-z -]+)?(?: [a-z]+)? for (?P<a>(?:the )?(?:[A-Z]\w+ side )?<NAME>)<END>
    - Which team does {x} play for? / What club does {x} play for? / Who does {x} play for?
played for : person
    <WHO>played(?: [a-z ]+)? for (?P<a>(?:the )?<NAMES>)<END>
    - Who did {x} play for? / For whom did {x} play? / Which team did {x} play for?
known for : person
    \b(?:best|mainly|mostly|primarily|widely|perhaps best|chiefly|well|most notably
    |especially)[- ]known for (?P<a><PHRASE>)
    - What {be} {x} best known for? / What {be} {x} known for? / What {be} {x} famous for? / What made {x} famous?
known for : person
    ^(?P<be>is|was) (?:also )?known for (?P<a><PHRASE>)
    - What {be} {x} known for? / For what {be} {x} known?
known as : person
    \b(?:better|best|also|professionally|commonly|popularly|usually|sometimes) (?:known|called|referred to)
    (?: professionally| simply)? (?:as )?(?:the (?="))?(?P<a>"[^"]+"|<NAME>)(?= ?[,.;)]| (?:is|was|were)\b|$)
    - What {be} {x} also known as? / By what other name {be} {x} known? / What {be} another name of {x}?
member : person
    ^(?P<be>is|was) a (?:founding |former |leading )?member of (?P<a>(?:the )?(?:[a-z]+ )*<NAME>(?: party| band
    | family)?)<END>
    - What {be} {x} a member of? / Which group {be} {x} a member of? / What {be} {x} part of?
member since : person
    ^(?:is|was|has been) a member of (?P<g>(?:the )?<NAME>) (?P<a>(?:since|from) <DATE>(?: (?:to|until) <DATE>)?)
    - How long has {x} been a member of {g}? / For what time has {x} belonged to {g}?
served from : person
    <AND>(?:also )?(?:served|acted) as (?:an? )?(?P<r><ROLE>) (?P<a>from <DATE> (?:to|until|through) <DATE>
    |between <DATE> and <DATE>|for <NUMBER> years)
    - When did {x} serve as {r}? / How long did {x} serve as {r}? / During what period was {x} {r}?
served as : person
    <AND>(?:also )?(?:served|acted) as (?P<a><ROLE>) (?P<t>from <DATE> (?:to|until|through) <DATE>
    |between <DATE> and <DATE>|in <DATE>|until <DATE>)
    - What did {x} serve as {t}? / What office did {x} hold {t}? / What was the role of {x} {t}?
was from : person
    ^(?P<be>was) (?:the )?(?P<r>[^.;(),\d]{4,60}?) (?P<a>from <DATE> (?:to|until|till) (?:<DATE>|his death\b))
    - When was {x} {r}? / From when to when was {x} {r}? / During which years was {x} {r}?
serves as : person
    ^(?:currently )?serves as (?P<a><ROLE>(?: of [^.;,]+?)?)(?=[.;,]| (?:and|since|in)\b)
    - What does {x} serve as? / What is the current position of {x}?
elected : person
    ^was (?P<v>elected|appointed|named|made|crowned|ordained|promoted|chosen) (?:as )?(?!to )
    (?P<a>(?:an? |the )?[^.;,()]{4,50}?) in (?P<y>\d{4})(?=[.,; ])
    - What was {x} {v} in {y}? / To what position was {x} {v} in {y}? / In {y}, what was {x} {v}?
studied at : person
    <AND>(?:studied|was educated|trained)(?: [a-z ]+)? at (?P<a>(?:the )?<NAMES>)<END>
    - Where did {x} study? / Where was {x} educated? / At which school did {x} study? / Where did {x} go to school?
graduated : person
    <AND>graduated (?:from|at) (?P<a>(?:the )?<NAME>(?:, <NAME>)?)<END>
    - Where did {x} graduate? / From which school did {x} graduate? / What school did {x} graduate from?
attended : person
    <AND>attended (?P<a>(?:the )?<NAMES>)<END>
    - Which school did {x} attend? / What did {x} attend? / Where did {x} go to school?
subject : person
    \bstudied (?P<a>[a-z]+(?: [a-z]+)?(?: and [a-z]+)?) (?:at|under|in|with) (?:the )?[A-Z]
    - What did {x} study? / Which subject did {x} study?
studied under : person
    \b(?:studied|trained)(?: [a-z]+){0,2} (?:under|with) (?P<a><NAMES>)<END>
    - Who did {x} study under? / Under whom did {x} study? / Who was the teacher of {x}?
degree : person
    \b(?:received|earned|obtained|completed|holds|gained) (?:his|her|an?) (?P<d>(?:(?! at | from )[^.;,()]){2,50}?)
    [ ](?:from|at) (?P<a>(?:the )?<NAME>)<END>
    - From where did {x} receive a {d}? / Where did {x} get a {d}?
won : person
    <AND>(?:also )?won (?P<a>(?:the|an?|<NUMBER>) [^.;,()]{4,70}?) (?P<t>(?:in|at the) (?:\d{4}\b)
    (?: [A-Z][^.;,()]{3,40})?)(?= ?[.;,]| and\b)
    - What did {x} win {t}? / What was won by {x} {t}?
won for : person
    <AND>(?:also )?won (?P<w>(?:the|an?) [^.;,()]{4,60}?) for (?P<a>[^.;()]{3,60}?)(?= ?[.;]| in \d| at )
    - For what did {x} win {w}? / What did {x} win {w} for?
medal : person
    \bwon (?:the|an?) (?P<a>gold|silver|bronze) medal (?:in|at|for) (?P<t>[^.;,()]{4,60}?)(?= ?[.;,]| and\b| after\b
    | with\b)
    - Which medal did {x} win in {t}? / What colour was the medal that {x} won in {t}?
competed : person
    <AND>competed (?:in|at) (?P<a>(?:the )?(?:[^.;,()]*? (?:of|at|in) the )?\d{4} [A-Z][^.;,()]{3,40}?)(?= ?[.;,]
    | and\b| with| where| in\b)
    - In what games did {x} compete? / What did {x} compete in? / Which competition did {x} take part in?
competed event : person
    <AND>competed in (?P<a>(?:the )?(?:men
    |women) ?['’] ?s [^.;,]{3,50}?) (?:event )?at (?P<g>the \d{4} [A-Z][^.;,()]{3,40}?)(?= ?[.;,])
    - In which event did {x} compete at {g}? / What event did {x} compete in at {g}?
finished : person
    \b(?:finished|placed|came|ranked) (?:in )?(?P<a>first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth
    |eleventh|twelfth|thirteenth|\d+(?:st|nd|rd|th))(?: place)? (?:in|at) (?P<g>(?:the )[^.;,()]{4,60}?)(?= ?[.;,]
    | and\b| with\b)
    - In what place did {x} finish in {g}? / What was the rank of {x} in {g}? / What place did {x} get in {g}?
represented : person
    \brepresented (?P<a>(?:the )?<NAME>) (?:at|in) (?P<g>the [^.;,()]{4,50}?)(?= ?[.;,]| and\b)
    - Which team did {x} represent at {g}? / Who did {x} represent at {g}?
joined : person
    <AND>(?:then |later )?joined (?P<a>(?:the )?<NAME>) (?P<t>in <DATE>|on <DATE>)
    - What did {x} join {t}? / Which group did {x} join {t}?
signed : person
    \bsigned (?:with|for) (?P<a>(?:the )?<NAME>)<END>
    - Who did {x} sign with? / Which company or club did {x} sign with?
moved : person
    <AND>(?:later |then )?(?:moved|emigrated|relocated
    |immigrated) (?:from <PLACE> )?to (?P<a><PLACE>) (?P<t>in <DATE>)
    - Where did {x} move {t}? / To which place did {x} move {t}?
moved : person
    <AND>(?:later |then )?(?:emigrated|immigrated) (?:from <PLACE> )?to (?P<a>(?:the )?<PLACE>)<END>
    - Where did {x} emigrate to? / To which country did {x} emigrate?
debut : person
    \bmade (?:his|her) (?P<d>(?:[\w-]+ ){0,3}?)debut (?:[^.;,]*? )?(?:on|in) (?P<a><DATE>)
    - When did {x} make a {d} debut? / When was the {d} debut of {x}?
pseudonym : person
    \b(?:pseudonym|pen name|stage name|ring name|nickname|alias),? (?P<a>"[^"]+"|<NAME>)<END>
    - What pseudonym did {x} use? / Under what name did {x} also go?
"""
)
