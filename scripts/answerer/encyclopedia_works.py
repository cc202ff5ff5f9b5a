"""Rules for films, songs, albums, books and series: the sentence patterns of an encyclopedia, and the questions that
such sentences answer.
"""

from scripts.answerer.encyclopedia_rules import table

WORKS = table(
    r"""
directed : film series
    \b(?<!co-)directed by <DESCRIBED><BY>
    - Who directed {x}? / Who was the director of {x}? / By whom was {x} directed? / Who is the director of {x}?
directed and : film series
    \bdirected and (?:co- ?)?(?:written|produced|edited) by <DESCRIBED><BY>
    - Who directed {x}? / Who was the director of {x}? / Who is the director of {x}?
directed : film series
    \b(?:written|produced|scripted)(?: ?, produced)?(?:,)? and directed by <DESCRIBED><BY>
    - Who directed {x}? / Who was the director of {x}?
written : film series
    \b(?<!co-)written and (?:directed|produced) by <DESCRIBED><BY>
    - Who wrote {x}? / Who was {x} written by? / Who is the writer of {x}?
written : works
    \b(?<!co-)(?:written|penned) by <DESCRIBED><BY>
    - Who wrote {x}? / By whom was {x} written? / Who was {x} written by? / Who is the author of {x}?
produced : works
    \b(?<!co-)produced by <DESCRIBED><BY>
    - Who produced {x}? / By whom was {x} produced? / Who was the producer of {x}?
composed : song album film
    \bcomposed by <DESCRIBED><BY>
    - Who composed the music for {x}? / Who was the composer of {x}? / By whom was {x} composed?
edited : film
    \bedited by <DESCRIBED><BY>
    - Who edited {x}? / Who was the editor of {x}?
distributed : film series
    \bdistributed by <DESCRIBED><BY>
    - Who distributed {x}? / Which company distributed {x}? / By whom was {x} distributed?
published : book
    \bpublished by <DESCRIBED><BY>
    - Who published {x}? / By whom was {x} published?
recorded : song album
    \b(?:recorded|performed|sung) by <DESCRIBED><BY>
    - Who recorded {x}? / Who performed {x}? / Who sings {x}? / Which artist recorded {x}?
released : song album
    \breleased by <DESCRIBED><BY>
    - Which label released {x}? / Who released {x}? / By whom was {x} released?
covered : song
    \b(?:covered) by <DESCRIBED><BY>
    - Who covered {x}? / By whom was {x} covered?
created : series
    \bcreated by <DESCRIBED><BY>
    - Who created {x}? / Who was the creator of {x}?
music : film
    \b(?:music|score|soundtrack) (?:was |is )?(?:composed )?by <DESCRIBED><BY>
    - Who composed the music of {x}? / Who did the music for {x}? / By whom is the music of {x}?
camera : film
    \bcinematography (?:was |is )?(?:handled |done )?by <BY>
    - Who did the cinematography of {x}? / Who was the cinematographer of {x}?
starring : film series
    \bstarring (?P<a><NAMES>)(?= ?[.;]|$| in (?:the )?(?:lead|main|title|leading|his|her)\b|,? and (?:with|directed
    |produced|written|released|distributed)\b)
    - Who stars in {x}? / Who starred in {x}? / Which actors star in {x}? / Who is in the cast of {x}?
stars : film series
    (?:^| and |\bfilm )stars (?P<a><NAMES>)(?= ?[.;]|$| in (?:the )?(?:lead|main|title|leading)\b)
    - Who stars in {x}? / Who plays in {x}? / Which actors star in {x}? / Who is in the cast of {x}?
role : film series
    (?:\bstars|\bstarring|\bfeatures|\bwith|,| and) (?P<a><NAME>) as (?P<r>(?:[a-z]+ )?<NAME>)(?= ?[.;,]| and\b|$
    | in\b)
    - Who plays {r} in {x}? / Who played {r} in {x}? / Which actor plays {r} in {x}? / Who was cast as {r} in {x}?
year : works
    ^(?:is|was) an? (?:upcoming )?(?P<a>\d{4}) (?!and|or)
    - In what year was {x} released? / When did {x} come out? / What year did {x} come out? / When was {x} released?
released : works
    \b(?:was|were|,|and) (?:first |originally |officially )?released(?: (?:theatrically|worldwide|digitally))? (?:
    (?:in (?:the )?<PLACE>|as [^.;,]{3,60}?|by <NAMES>|through <NAMES>) )?(?:on|in) (?P<a><DATE>)
    - When was {x} released? / When did {x} come out? / On what date was {x} released?
    - What is the release date of {x}?
published : book
    \b(?:was )?(?:first )?published (?:[a-z ]+)?(?:by <NAME> )?(?:in|on) (?P<a><DATE>)
    - When was {x} published? / In what year was {x} published? / When was {x} first published?
genre : film
    ^(?:is|was) an? (?:\d{4} )?(?:<DEMONYM>[- ]{0,2} ?)*(?:[A-Z]\w+-? (?:language )?)?(?P<a>[a-z]+
    (?:[ -]{1,2}[a-z]+){0,3}) film\b
    - What genre is {x}? / What kind of film is {x}? / What type of movie is {x}?
language : film series song
    ^(?:is|was) an? (?:\d{4} )?(?:(?:Indian|Bangladeshi|Pakistani|Sri Lankan) )?(?P<a>Hindi|Tamil|Telugu|Malayalam
    |Kannada|Bengali|Marathi|Punjabi|Gujarati|Urdu|Odia|Bhojpuri|Assamese|Sinhala|(?:[A-Z][a-z]+
    (?=[- ]{1,2}language)))\b
    - In what language is {x}? / What language is {x} in? / What is the language of {x}?
country : film
    ^(?:is|was) an? (?:\d{4} )?(?P<a><DEMONYM>(?:[- ]{1,2}<DEMONYM>)*) (?!language)
    - What is the nationality of {x}? / Of what nationality is {x}?
based on : works
    \bbased (?:up)?on (?P<a>(?:the|an?) [^.;()]{4,100}?)<TILL>
    - What is {x} based on? / What was {x} based on? / On what is {x} based? / Which source is {x} based on?
source by : film series
    \bbased (?:up)?on (?:the|an?) (?P<k>(?:<DEMONYM> )?(?:\d{4} )?[a-z ]*?(?:novel|play|book|story|comic|manga
    |memoir))s? ?(?:of the same (?:name|title)|"[^"]+"|[^.;,"]*?) ?by <DESCRIBED><BY>
    - Who wrote the {k} that {x} is based on? / Whose {k} is {x} based on? / By whom is the {k} on which {x} is based?
song by : song
    \b(?:song|single|ballad|track|hit|tune) (?:recorded |performed |sung |written and recorded )?by <DESCRIBED><BY>
    - Who sings {x}? / Who recorded {x}? / Which artist performed {x}? / Who is the singer of {x}?
album by : album
    \b(?:album|EP|soundtrack|compilation) (?:recorded |released )?(?:by|from) <DESCRIBED><BY>
    - Who recorded {x}? / Who made {x}? / Whose is {x}? / Which artist released {x}?
book by : book
    \b(?:novel|book|memoir|poem|play|novella|series|collection) (?:written )?by <DESCRIBED><BY>
    - Who wrote {x}? / Who is the author of {x}? / By whom was {x} written?
album of : song
    \b(?:from|on|off) (?:his|her|their|its) (?P<k>(?:[a-z0-9-]+ )*?)(?:studio )?album,? (?P<a>"[^"]+"
    |[A-Z][^.,;()"]{1,40}?)(?= ?[.;,(]| (?:and|in|on|by|as)\b)
    - On which album is {x}? / What album is {x} from? / Which album does {x} come from?
label : song album
    \breleased (?:[^.;,]*? )?(?:on|in) <DATE> ?,? <THROUGH> (?P<a>(?:the )?<NAMES>)<END>
    - Which label released {x}? / On what label was {x} released? / Through which label did {x} come out?
number of album : album
    ^(?:is|was) the (?P<a>(?:debut|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth
    |thirteenth)(?: and final)?) (?:[a-z]+ )?(?:album|EP) (?:by|from|of)\s
    - Which album in order is {x} for its artist? / Is {x} its artist's first album or a later one?
charted : song album
    \b(?:reached|peaked at|hit) (?:number|No\.|#) ?(?P<a>[a-z]+|\d+) (?:on|in) (?P<c>the [^.;,()]{4,60}?)(?= ?[.;,]
    | and\b| in \d)
    - What position did {x} reach on {c}? / How high did {x} get on {c}? / What number was {x} on {c}?
set : film book series
    \b(?:is|was|and|,) set in (?P<a>[^.;()]{3,60}?)(?= ?(?:[.;(]|, (?:and|which|where|the|it|when)\b)| and (?:was|is
    |stars|follows|tells|based|focus|deals|filmed|features)\b)
    - Where is {x} set? / What is the setting of {x}? / Where and when is {x} set?
shot : film series
    \b(?:shot|filmed) (?:on location |entirely |mainly )?(?:in|at) (?P<a>(?:the )?<PLACE>)<END>
    - Where was {x} filmed? / Where was {x} shot? / In what place was {x} filmed?
sequel : film book series
    \b(?:is|was) (?:the|a) (?:[a-z]+ )?sequel to (?P<a>(?:the )?[^.;()]{3,60}?)(?= ?(?:[.;(]|, )| and\b|$)
    - What is {x} a sequel to? / Which work does {x} follow? / {x} is the sequel to what?
remake : film
    \b(?:is|was) (?:the|a) (?:[A-Za-z-]+ )?remake of (?P<a>(?:the )?[^.;()]{3,70}?)(?= ?(?:[.;(]|, )| and\b|$)
    - What is {x} a remake of? / Of which film is {x} a remake?
premiered : film series
    \bpremiered (?:at [^.;,]*? )?(?:on [A-Z][\w ]*? )?(?:on|in) (?P<a><DATE>)
    - When did {x} premiere? / When was the premiere of {x}? / On what date did {x} first air?
premiered at : film
    \b(?:premiered|debuted|screened) at (?P<a>the [^.;,()]{4,60}?(?:Festival|Theatre|Theater))\b
    - Where did {x} premiere? / At which festival did {x} premiere? / Where was {x} first shown?
entered : film
    \b(?:was|were) (?:entered into|selected for|screened at|shown at) (?P<a>the [^.;,()]{4,70}?(?:Festival|Awards))\b
    - Which festival was {x} entered into? / At which festival was {x} shown?
nominated : film song album
    \bwas nominated for (?P<a>[^.;()]{4,70}?)(?= ?[.;,(]| at\b| in\b| but\b)
    - What was {x} nominated for? / For what award was {x} nominated?
grossed : film
    \b(?:grossed|grossing|earned) (?:over |about |approximately |nearly |around )?(?P<a>[$£€₹][\d.,]+(?: (?:million
    |billion|crore))?) (?P<w>worldwide|at the box office|domestically)
    - How much did {x} gross {w}? / How much money did {x} make {w}?
budget : film
    \bbudget of (?:over |about |approximately |nearly |around )?(?P<a>[$£€₹][\d.,]+(?: (?:million|billion|crore))?)
    - What was the budget of {x}? / How much did {x} cost to make? / How big was the budget of {x}?
episodes : series
    \b(?:consists of|consisting of|has|comprises|comprised|ran for|lasted for?) (?P<a><NUMBER>) (?P<k>episodes|seasons
    |series|parts)
    - How many {k} does {x} have? / How many {k} are there in {x}? / How many {k} of {x} are there?
network : series
    \b(?:aired|airs|broadcast|premiered|ran) on (?P<a>(?:the )?<NAME>)<END>
    - On which network did {x} air? / What channel was {x} on? / Which network broadcast {x}?
tells : film book series
    ^(?:tells the story of|follows|centers on|centres on|revolves around|deals with) (?P<a>(?:an?|the|two
    |three) [^.;,()]{4,70}?)(?= ?[.;,(]| who\b|$| as (?:he|she|they)\b)
    - What is {x} about? / What does {x} tell of? / What is the subject of {x}?
featured : film
    ^(?:also )?features (?P<a><NAMES>) in (?:a |the )?(?:lead|leading|title|main|pivotal|prominent) (?:role|part)
    - Who has a leading role in {x}? / Who features in {x}?
title track of : song
    \bis the title (?:track|song) (?:of|from|to) (?P<a>[^.;,()]{4,60}?)(?= ?[.;,]|$)
    - What is {x} the title track of? / Which work is {x} the title song of?
won by : works
    \bwon (?P<a>(?:the|an?) [^.;,()]{4,60}?(?:Award|Prize|Oscar|Grammy|Medal|Bear|Lion)s?)(?: for [^.;,()]{3,60}?)?
    (?= ?[.;,]| in\b| at\b)
    - What award did {x} win? / Which prize did {x} win? / What was {x} awarded?
"""
)
