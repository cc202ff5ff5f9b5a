"""Rules for places, organisations and objects: the sentence patterns of an encyclopedia, and the questions that such
sentences answer.
"""

from scripts.answerer.encyclopedia_rules import table

PLACES = table(
    r"""
located : place
    ^(?:is|was|lies|are) (?:located|situated|lying)? ?(?P<a>(?:on|at|near|along|between|north|south|east|west|just
    |about|\d+ ?km) <SPOT>)
    - Where is {x} located? / Where is {x}? / Where can one find {x}?
located : place organisation
    \b(?:located|situated) in (?P<a><SPOT>)
    - Where is {x} located? / Where is {x}? / Where is {x} situated? / In what place is {x}?
in : place organisation
    ^(?:is|was) an? (?:[a-z]+ ){0,3}(?P<k>village|town|city|commune|municipality|hamlet|suburb|township|river|lake
    |mountain|island|parish|county|district|station|church|castle|airport|school|university|museum|hospital|cemetery
    |neighborhood|neighbourhood|community|settlement|locality) (?:located |situated )?in (?P<a><SPOT>)
    - Where is {x} located? / Where is {x}? / In which area is the {k} {x}? / Where is {x} situated?
population : place
    \bpopulation (?:was|is|of) (?:estimated (?:at|to be) |about |around |approximately |nearly |over |some )?
    (?P<a>\d[\d,]*\d)\b(?! (?:families|square|in \d{4} and))
    - What is the population of {x}? / How many people live in {x}? / What was the population of {x}?
    - How large is the population of {x}?
families : place @sentence
    \bpopulation was [\d,]+, in (?P<a>\d[\d,]*) families
    - How many families lived in {x}? / How many families were there in {x}?
    - In how many families did the people of {x} live?
population : place @sentence
    \bits (?:existing )?population was (?P<a>\d[\d,]*), in\s
    - What was the population of {x}? / How many people lived in {x}?
census : place @sentence
    ^At the (?P<a>\d{4}) (?:\w+ )?census,
    - In what year was the census of {x} taken? / Which year's census tells the population of {x}?
area : place
    \b(?:area of|covers|covering) (?:an area of )?<AMOUNT>
    - What is the area of {x}? / How large is {x}? / How big is {x}?
elevation : place
    \b(?:elevation|altitude) of <AMOUNT>
    - What is the elevation of {x}? / How high does {x} lie? / At what altitude is {x}?
tall : things
    \b(?:height of) <AMOUNT>
    - How tall is {x}? / What is the height of {x}? / How high is {x}?
long : things
    ^is (?:about |approximately )?(?P<a>\d[\d,.]* ?(?:km|kilomet(?:er|re)s|miles|met(?:er|re)s|feet)
    (?: ?\([^)]*\))?) long
    - How long is {x}? / What is the length of {x}?
capital of : place
    ^(?:is|was) the (?:[a-z]+ (?:and )?){0,3}capital(?: city)?(?: and [a-z ]+?)? of (?P<a>(?:the )?<PLACE>)<END>
    - What is {x} the capital of? / Of which place is {x} the capital? / {x} is the capital of what?
capital : place @sentence
    \b(?:its|the) capital (?:city )?is (?P<a><NAME>)<END>
    - What is the capital of {x}? / Which city is the capital of {x}? / What city is the capital of {x}?
when founded : things
    <DONE>(?:founded|established|formed|created) <WHEN>
    - When was {x} founded? / In what year was {x} founded? / When was {x} established? / In what year was {x} set up?
when built : things
    <DONE>(?:built|constructed|erected) <WHEN>
    - When was {x} built? / In what year was {x} built? / When was {x} constructed?
when completed : things
    <DONE>completed <WHEN>
    - When was {x} completed? / In what year was {x} finished?
when opened : things
    <DONE>opened <WHEN>
    - When was {x} opened? / When did {x} open? / In what year did {x} open?
when introduced : things
    <DONE>introduced <WHEN>
    - When was {x} introduced? / In what year was {x} introduced?
when launched : things
    <DONE>launched <WHEN>
    - When was {x} launched? / In what year was {x} launched?
when abolished : things
    <DONE>abolished <WHEN>
    - When was {x} abolished? / In what year was {x} abolished?
when destroyed : things
    <DONE>destroyed <WHEN>
    - When was {x} destroyed? / In what year was {x} destroyed?
when discovered : things
    <DONE>discovered <WHEN>
    - When was {x} discovered? / In what year was {x} discovered?
when invented : things
    <DONE>invented <WHEN>
    - When was {x} invented? / In what year was {x} invented?
when adopted : things
    <DONE>adopted <WHEN>
    - When was {x} adopted? / In what year was {x} adopted?
when signed : things
    <DONE>signed <WHEN>
    - When was {x} signed? / On what date was {x} signed?
who founded : things
    <DONE>(?:founded|established|formed) <WHOM>
    - Who founded {x}? / By whom was {x} founded? / Who was the founder of {x}? / Who established {x}?
who built : things
    <DONE>(?:built|constructed|erected) <WHOM>
    - Who built {x}? / By whom was {x} built?
who designed : things
    <DONE>designed <WHOM>
    - Who designed {x}? / By whom was {x} designed? / Who was the designer of {x}?
who invented : things
    <DONE>invented <WHOM>
    - Who invented {x}? / Who is the inventor of {x}?
who discovered : things
    <DONE>discovered <WHOM>
    - Who discovered {x}? / By whom was {x} discovered?
who developed : things
    <DONE>developed <WHOM>
    - Who developed {x}? / By whom was {x} developed? / Who is the developer of {x}?
who created : things
    <DONE>created <WHOM>
    - Who created {x}? / By whom was {x} created? / Who was the creator of {x}?
who painted : things
    <DONE>painted <WHOM>
    - Who painted {x}? / By whom was {x} painted?
who owned : things
    <DONE>(?:owned|purchased|acquired|bought) <WHOM>
    - Who owned {x}? / By whom was {x} acquired?
who published : things
    <DONE>published <WHOM>
    - Who published {x}? / By whom is {x} published?
based in : organisation
    \b(?:based|headquartered) in (?P<a>(?:the )?<PLACE>)<END>
    - Where is {x} based? / Where are the headquarters of {x}? / In which city is {x} based?
owner : things
    ^(?P<be>is|was) (?:currently |wholly )?(?P<v>owned|operated|run|managed|administered) by (?P<a>
    (?:the )?<NAMES>)<END>
    - Who {be} {x} {v} by? / By whom {be} {x} {v}? / {x} {be} {v} by whom?
named after : place organisation
    (?:^|,? and |, )(?:is |was )?named (?:after|for|in honou?r of) (?P<a>(?:the )?(?:(?:[a-z]+ )*)?<NAME>)<END>
    - Who or what is {x} named after? / What is {x} named after? / After whom or what is {x} named?
known as : place organisation works
    \b(?:also|commonly|formerly|previously|originally|better|locally|popularly|sometimes) (?:known|called
    |referred to) (?:simply )?(?:as )?(?P<a>"[^"]+"|(?:the )?<NAME>)(?= ?[.,;)]| (?:is|was)\b|$)
    - What is another name for {x}? / What is {x} also called? / By what other name is {x} known?
known for : place organisation
    \b(?:best|well|widely|mainly|mostly|primarily)[- ]known for (?P<a>[^.;()]{3,80}?)(?= *(?:[.;(]|, (?:and|which|but
    |where|as|with|in|for|when)\b|$))
    - What is {x} best known for? / What is {x} known for? / What is {x} famous for?
consists : things
    ^(?:consists of|comprises|contains|has|had|includes) (?P<a><NUMBER>) (?P<k>[a-z]+(?: [a-z]+)?s)(?= ?[.,;:]| and\b
    | in\b| of\b| for\b)
    - How many {k} does {x} have? / How many {k} are there in {x}? / What is the number of {k} of {x}?
composed of : things
    ^(?:consists of|is composed of|is made (?:up )?of|comprises) (?P<a>[^.;()]{4,80}?)(?= ?(?:[.;(]|, (?:and|which
    |with)\b|$))
    - What does {x} consist of? / What is {x} made of? / What is {x} composed of?
used for : things
    \b(?:is|are) (?:mainly |often |commonly |usually |widely |also )?used (?P<a>(?:for|to|in) [^.;()]{4,80}?)(?= ?
    (?:[.;(]|, (?:and|which|but|as|with)\b|$)| and (?:is|are)\b)
    - What is {x} used for? / What can {x} be used for? / How is {x} used?
part of : things
    ^(?:is|was|are) (?:a )?part of (?P<a>(?:the )?(?:[a-z]+ of )?<NAME>(?: [a-z]+)?)(?= ?[.,;(]|$| and\b)
    - What is {x} part of? / {x} is part of what? / To what does {x} belong?
derived : things
    \b(?:is|was|are) derived from (?P<a>[^.;()]{4,70}?)(?= ?[.;(,]| and\b| which\b|$)
    - What is {x} derived from? / Where does {x} come from? / From what is {x} derived?
flows : place
    \bflows into (?P<a>(?:the )?<NAME>)<END>
    - What does {x} flow into? / Where does {x} flow to?
"""
)
