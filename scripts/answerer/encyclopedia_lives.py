"""Rules for people's lives and families: the sentence patterns of an encyclopedia, and the questions that such
sentences answer.
"""

from scripts.answerer.encyclopedia_rules import table

LIVES = table(
    r"""
born : person @aside
    \bborn (?:<NAME>,? |on |in )?(?P<a><DATE>)
    - On what date was {x} born? / What is the date of birth of {x}? / When was {x} born?
born : person @aside
    ^\( ?(?P<a><DAY>) ?(?:in <PLACE> ?)?[-–]
    - When was {x} born? / What is the date of birth of {x}? / In what year was {x} born?
born : person
    ^was born (?:in <PLACE> )?(?:on|in) (?P<a><DATE>)
    - When was {x} born? / When did {x} come into the world?
birthplace : person
    (?:^was| and was) born (?:(?:on|in) <DATE>,? )?(?:in|at) (?P<a>(?:the \w+ of )?<PLACE>)<END>
    - Where was {x} born? / What is the birthplace of {x}? / In which place was {x} born? / Where was {x} from?
birthplace : person @aside
    \bborn (?:(?:on )?<DATE> ?,? )?in (?P<a><PLACE>)<END>
    - Where was {x} born? / What is {x}'s place of birth? / What is the birthplace of {x}?
birth name : person @aside
    \bborn (?P<a><NAME> <NAME>)(?= ?[,;)])
    - What was {x}'s name at birth? / What is {x}'s birth name? / What was {x} born as?
died : person @aside
    ^\([^()]*? ?[-–] ?(?:<PLACE>, )?(?P<a><DAY>) ?\)
    - When did {x} die? / On what date did {x} die? / What is the date of death of {x}? / In what year did {x} die?
died : person @aside
    \bdied (?:on |in )?(?P<a><DATE>)
    - When did {x} die? / What was the date of {x}'s death?
died : person
    <AND>(?:he |she )?died (?:(?:in|at) <PLACE> )?(?:on|in) (?P<a><DATE>)
    - When did {x} die? / When was the death of {x}?
deathplace : person
    <AND>died (?:(?:on|in) <DATE>,? )?(?:in|at) (?P<a>(?:the \w+ of )?<PLACE>)<END>
    - Where did {x} die? / In which place did {x} die? / What is the place of death of {x}?
cause : person
    <AND>died (?:of|from) (?P<a>(?:an? )?[a-z][a-z -]*?)(?= (?:in|on|at|aged|shortly|after)\b|[.,;])
    - What did {x} die of? / How did {x} die? / What was the cause of {x}'s death?
age : person
    \bdied\b[^.;]*?\b(?:at the age of|at age|aged) (?P<a>\d{1,3})\b
    - How old was {x} at death? / At what age did {x} die? / How old did {x} get to be?
buried : person
    \b(?:was|is|were) buried (?:in|at) (?P<a>(?:the )?<PLACE>)<END>
    - Where was {x} buried? / Where is the grave of {x}? / Where is {x} buried?
lives : person
    \b(?:lives|resides|living) in (?P<a><PLACE>)<END>
    - Where does {x} live? / What place does {x} live in?
raised : person
    \b(?:grew up|was raised) in (?P<a><PLACE>)<END>
    - Where did {x} grow up? / Where was {x} raised? / In which place did {x} grow up?
tall : person
    \b(?:stands|is) (?P<a>\d[\d.]* ?(?:m|cm|feet|ft)\b[^.;,]{0,20}?) tall
    - How tall is {x}?
child of : person
    (?:^|, | and )(?P<be>is|was) (?:the|an?) (?:[a-z]+ ){0,3}?(?P<k>son|daughter) of (?:[a-z -]+ )??(?P<a><NAMES>)
    (?= ?[.;]| \(|, (?:who|and (?:was|is|the)|king|duke|count)|$| and (?:was|is)\b)
    - Whose {k} {be} {x}? / Who {be} {x} the {k} of? / Of whom {be} {x} a {k}?
kin of : person
    (?:^|, | and )(?P<be>is|was) the (?P<k><KIN>) of (?:(?:the )?[a-z][a-z -]* )??(?P<a><NAMES>)(?= ?[.;]| \(|, (?:who
    |and (?:was|is|the))|$| and (?:was|is)\b)
    - Whose {k} {be} {x}? / Who {be} {x} the {k} of? / {x} {be} the {k} of whom?
married : person
    <AND>(?:later |then |also )?married (?:the )?(?:(?:<DEMONYM> )?[a-z]+ (?:and [a-z]+ )?)?(?P<a><NAME>)(?= ?[.;,]
    | \(| (?:in|on|at|from|with)\b|$| and (?:they|had|the|has|was|is)\b)
    - Who did {x} marry? / Who {be} {x} married to? / To whom {be} {x} married? / Who {be} the spouse of {x}?
married : person
    \b(?:is|was|been) married to (?:(?:fellow )?(?:<DEMONYM> )?[a-z]+ (?:and [a-z]+ )?)?(?P<a><NAME>)(?= ?[.;,]| \(
    | (?:in|on|at|from|with|since|until)\b|$| and (?:they|had|the|has|was|is)\b)
    - Who did {x} marry? / Who {be} {x} married to? / To whom {be} {x} married? / Who {be} {x}'s spouse?
married when : person
    <AND>(?:later )?married (?P<s><NAME>) (?:in|on) (?P<a><DATE>)
    - When did {x} marry {s}? / In what year did {x} marry {s}? / When did {s} and {x} get married?
relative : person
    ^'s (?P<k>father|mother|wife|husband|brother|sister|son|daughter|grandfather|uncle|teacher|coach|successor
    |predecessor) ?(?:, |(?:is|was) (?:the )?(?:<DEMONYM> )?(?:[a-z]+ ){0,2})(?P<a><NAME>)(?= ?[.,;(]| (?:who|and)\b)
    - Who is the {k} of {x}? / Who was {x}'s {k}? / What is the name of {x}'s {k}?
parents : person
    ^'s parents (?:are|were) (?P<a><NAMES>)(?= ?[.;,])
    - Who were the parents of {x}? / Who are {x}'s parents?
children : person
    \b(?:had|has|have) (?P<a><NUMBER>) (?P<k>children|sons|daughters|brothers|sisters|siblings)\b
    - How many {k} did {x} have? / What number of {k} did {x} have?
predecessor : person
    <AND>succeeded (?P<a>(?!to\b)<NAME>)(?= ?[.;,(]| (?:as|in|on|and)\b)
    - Who did {x} succeed? / Who came before {x}? / Who was the predecessor of {x}?
successor : person
    \bwas succeeded (?:as [^.;,]*? |in \d+ )?by (?:(?:his|her) [a-z -]+?,? )?(?P<a><NAME>)(?= ?[.;,(]| (?:as|in|on|and
    |who)\b|$)
    - Who succeeded {x}? / Who was the successor of {x}? / Who came after {x}?
named after : person
    (?:^| and )(?:is|was) named (?:after|for|in honou?r of) (?P<a><NAME>)<END>
    - Who {be} {x} named after? / After whom {be} {x} named?
"""
)
