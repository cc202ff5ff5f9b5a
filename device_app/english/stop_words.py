"""Stop words, which carry no meaning for an answer, and words that are ignored for one purpose each."""


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, split at spaces."""
    return frozenset(text.split())


STOP_WORDS = word_set(
    """a about above after again all also am an and any are as at be because been before being below between
    both but by can could d did do does doing down during each few for from further had has have
    having he her here hers him his how i if in into is it its itself just ll m me more most my no
    nor not now of off on once only or other our ours out over own please re s same she should so
    some such t tell than that the their theirs them then there these they this those through to too
    under until up us ve very was we were what when where which while who whom whose why will with
    would you your yours"""
)
"""Words that only form questions or join words; "s", "ll" … are the remains of contractions."""

LANGUAGES = word_set(
    """arabic chinese czech danish dutch english finnish french german greek hindi hungarian italian japanese korean
    latin norwegian polish portuguese russian spanish swedish turkish ukrainian"""
)
"""Names of languages in which a text may be written."""

OF_ANY_DAY = word_set(
    """agenda anything appointment appointments calendar diary event events everything going happen happened
    happening happens plan planned plans schedule scheduled something"""
)
"""Words of questions that ask for any event on a day."""

HOW_ASKED = word_set(
    """according answer april ask asked asking aspect aspects august came come comes comment concerning current
    date day days december describe described detail details discuss discussed discussing discussion
    explain explained far february first friday gave get gets give gives go goes going got january july
    june kind kinds know last latest like long made main make makes many march may mention mentioned
    message might monday month much must name named need needs new next november october often old one
    people person plan plans propose proposed purpose put question reason recommend recommended
    regarding reply said saturday say saying says send sent september shall soon sort suggest suggested
    suggests summarize summary sunday take taken takes talk talked talking tell telling thing things
    think thought thursday time today told tomorrow took tuesday two type types use used want wanted
    wants way ways wednesday week went would year yesterday"""
)
"""Words that ask, report, count or name a time: common in any question, so that the files need not contain them."""

SMALL_TALK = word_set(
    """actually anyone anything awesome bit came catch cool come day definitely enjoy everyone ever feel fun get
    getting give go going gonna good got great guys haha hello help hey hi hmm hope idea keep know let like little
    ll look looking lot lots love make makes many maybe mean might mm much need new next nice ok okay one perfect
    people pretty quick really right say see something soon sort sounds still super sure take talk tell thank thanks
    thing things think time today tomorrow totally try two uh um use ve wait want wanted way well yeah yes yet"""
)
"""Words of small talk, which name no topic."""

CHANGES_NO_ANSWER = word_set("able many much possible thing things time way")
"""Content words that do not distinguish two questions."""
