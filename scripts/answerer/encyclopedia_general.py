"""Rules for topics of any kind: the sentence patterns of an encyclopedia, and the questions that such sentences
answer.
"""

from scripts.answerer.encyclopedia_rules import table

GENERAL = table(
    r"""
done when : @sentence
    ^<SUBJ> (?P<be>was|were) (?:first |originally |officially )?(?P<v><PARTICIPLE>)(?: by <NAMES>)? (?:in
    |on) (?P<a><DATE>)
    - When {be} {s} {v}? / In what year {be} {s} {v}? / When exactly {be} {s} {v}?
done by : @sentence
    ^<SUBJ> (?P<be>is|was|were|are) (?:first |originally |officially )?(?P<v><PARTICIPLE>) (?:in <DATE> )?by
    [ ](?:(?:the )?(?:<DEMONYM> )?[a-z]+ )??(?P<a>(?:the )?<NAMES>)<END>
    - By whom {be} {s} {v}? / Who {be} {s} {v} by?
done where : @sentence
    ^<SUBJ> (?P<be>is|was|were|are) (?P<v>held|located|situated|based|headquartered|built|found|fought|played)
    [ ]in (?P<a>(?:the )?<PLACE>)<END>
    - Where {be} {s} {v}? / In what place {be} {s} {v}?
takes place : @sentence
    ^<SUBJ> (?:takes|took) place (?:in|at|on) (?P<a>(?:the )?(?:<DATE>|<PLACE>))<END>
    - Where or when did {s} take place?
named after : @sentence
    ^<SUBJ> (?P<be>is|was|were|are) named (?:after|for|in honou?r of) (?P<a>(?:the )?(?:[a-z]+ )*<NAME>)<END>
    - Who or what {be} {s} named after? / After whom or what {be} {s} named?
because : @sentence
    ^<SUBJ> (?P<be>is|was|were|are) (?P<r>[a-z][^,.;()]{3,60}?),? because (?!of )(?P<a>[a-z][^,.;()]{5,80})(?=[.;])
    - Why {be} {s} {r}? / For what reason {be} {s} {r}?
due to : @sentence
    ^<SUBJ> (?P<be>is|was|were|are) (?P<r>[a-z][^,.;()]{3,60}?),? (?:due to|because of|as a result of|owing to)
    [ ](?P<a>[^.,;()]{5,80})(?=[.,;])
    - Why {be} {s} {r}? / What was the reason that {s} {be} {r}?
stands for : @sentence
    ^<SUBJ>,? (?:which )?stands for (?P<a>[^.,;()]{4,60})(?=[.,;])
    - What does {s} stand for? / What is the meaning of {s}?
means : @sentence
    ^<SUBJ> (?:means|refers to|is defined as) (?P<a>[^.,;()]{4,90})(?=[.;])
    - What does {s} mean? / What does {s} refer to? / What is meant by {s}?
there are : @sentence
    ^(?:<AS>)?[Tt]here (?P<be>are|were) (?:about |approximately |over |more than |some |currently
    |a total of )?(?P<a><NUMBER>)
    [ ](?!million|billion|thousand|hundred|percent)(?P<k>[a-z][a-z -]{3,40}s)(?P<w> (?:in|of|on
    |within) (?:the )?<NAME>)(?=[.,;])
    - How many {k} {be} there {w}? / What is the number of {k} {w}?
has : @sentence
    ^<SUBJ> (?P<h>has|had|contains|consists of|comprises
    |includes) (?:about |approximately |over |more than |a total of )?
    (?P<a><NUMBER>) (?!million|billion|thousand|hundred|percent)(?P<k>[a-z][a-z -]{2,30}s)(?=[.,;:]
    | and | in | of | on )
    - How many {k} are there in {s}? / How many {k} belong to {s}?
of is who : @sentence
    ^The (?:current |present )(?P<n>[a-z]+(?: [a-z]+)?(?: of (?:the )?<NAME>)?) is (?P<a><NAME> <NAME>|<NAME>)(?=[.,;])
    - Who is the current {n}? / Who is {n} at present?
capital is : @sentence
    ^(?:The|Its) capital(?: city)? of (?P<n>(?:the )?<NAME>) is (?P<a><NAME>)(?=[.,;])
    - What is the capital of {n}? / Which city is the capital of {n}?
first : @sentence
    ^(?P<a><NAME>) (?P<be>is|was) the (?P<n>(?:first|second|third|only|last|youngest|oldest|largest|longest|highest
    |tallest
    |smallest) (?:[A-Z]?[a-z-]+ ){1,3}
    (?:to|in the|of the|in|of) [^.,;()]{4,60})(?=[.,;])
    - Who or what {be} the {n}? / Which {be} the {n}?
played by : @sentence
    ^(?P<r><NAME>)(?: ?,| is| was)? (?:played|portrayed|voiced) by (?P<a><NAME>)(?=[.;)(]| (?:in|from|who
    |until|as)\b)
    - Who plays {r}? / Who played {r}? / Who is {r} played by?
actor brackets : @sentence
    ^(?P<r><NAME>) \((?P<a><NAME> <NAME>)\)
    - Who plays {r}? / Who played {r}? / Which actor plays {r}?
plays role : @sentence
    ^(?P<a><NAME> <NAME>|<NAME>) (?:plays|played|portrays|portrayed|voices|voiced) (?P<r><NAME>)(?=[.,;]
    | in | on | from )
    - Who plays {r}? / Who played {r}? / Which actor plays {r}?
capable of : @sentence
    ^<SUBJ> (?P<be>is|are) (?:mainly |often |commonly |usually |widely |also )?used (?P<a>(?:for|to) [^.,;()]{4,80})
    (?=[.,;])
    - What {be} {s} used for? / How {be} {s} used?
known as : @sentence
    ^<SUBJ>,? (?P<be>is|was|are|were)? ?(?:also|commonly|formerly|originally|sometimes|officially) (?:known as|called)
    [ ](?P<a>"[^"]+"|(?:the )?<NAME>)(?=[.,;]| (?:is|was)\b)
    - What is {s} also called? / What is another name for {s}? / By what other name is {s} known?
named : @sentence
    ^<SUBJ> (?P<be>is|was|are|were) (?:called|named) (?P<a>"[^"]+"|<NAME>)(?=[.,;])
    - What {be} {s} called? / What {be} the name of {s}?
made of : @sentence
    ^<SUBJ> (?P<be>is|was|are|were) made (?:up )?(?:of|from) (?P<a>[^.,;()]{4,60})(?=[.,;])
    - What {be} {s} made of? / Of what {be} {s} made?
examples : @sentence
    \b<NOT>(?P<k>[a-z]+ <NOT>(?:[a-z]+ )?<NOT>[a-z]+s),? such as (?P<a><NAME>(?: ?, <NAME>)*(?:,? (?:and
    |or) <NAME>))(?=[.;]|$)
    - What are some examples of {k}? / Which {k} are named as examples?
"""
)
