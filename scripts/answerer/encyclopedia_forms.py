"""Regular expressions for the parts of encyclopedia sentences: names, dates, places, trades."""

import re

UPPER = "A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĖĘĚĞĢĪİĶĹĻĽŁŃŅŇŌŐŒŘŚŞŠŢŤŪŮŰŹŻŽȘȚḤṢ"
CAPITAL = rf"[{UPPER}][\w’'‘]*(?:\.(?= ?[{UPPER}]|[\w]))?(?:- ?[\w’'‘]+)*"
PARTICLE = (
    "(?:of|the|de|da|do|dos|del|della|di|du|des|la|le|les|von|van|der|den|zu|y|al|el|bin|ibn|mac|ap|af|av|upon|sur|en)"
)
MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
DEMONYM = (
    "(?:American|British|English|Scottish|Welsh|Irish|French|German|Italian|Spanish|Portuguese|Dutch|Belgian|Swiss|"
    "Austrian|Swedish|Norwegian|Danish|Finnish|Icelandic|Polish|Czech|Slovak|Hungarian|Romanian|Bulgarian|Greek|"
    "Turkish|Russian|Soviet|Ukrainian|Belarusian|Lithuanian|Latvian|Estonian|Croatian|Serbian|Bosnian|Slovenian|"
    "Slovene|Macedonian|Albanian|Montenegrin|Georgian|Armenian|Azerbaijani|Kazakhstani|Uzbek|Iranian|Iraqi|Israeli|"
    "Lebanese|Syrian|Egyptian|Moroccan|Algerian|Tunisian|Libyan|Nigerian|Ghanaian|Kenyan|Ethiopian|Ugandan|"
    "Tanzanian|Zimbabwean|Zambian|Senegalese|Cameroonian|Ivorian|Malian|Congolese|Angolan|Namibian|Sudanese|Indian|"
    "Pakistani|Bangladeshi|Nepalese|Nepali|Bhutanese|Chinese|Japanese|South Korean|Korean|Taiwanese|Vietnamese|Thai|"
    "Filipino|Indonesian|Malaysian|Singaporean|Burmese|Cambodian|Mongolian|Afghan|Canadian|Mexican|Cuban|Jamaican|"
    "Haitian|Dominican|Puerto Rican|Costa Rican|Colombian|Venezuelan|Ecuadorian|Peruvian|Bolivian|Chilean|Argentine|"
    "Argentinian|Uruguayan|Paraguayan|Brazilian|Australian|South African|Fijian|Samoan|Maltese|Cypriot|"
    "Luxembourgish|Yugoslav|Sri Lankan|Trinidadian|Barbadian|Guyanese|Palestinian|Jordanian|Kuwaiti|Saudi|Yemeni|"
    "Venetian|Flemish|Catalan)"
)
_TRADE = "(?>(?!who |from |and )[a-z]+(?:[- ](?!who |from |and |best |known |active |born |in |for |of )[a-z]+){0,3})"

# As in the tables of rules, a space matches one white-space character; each piece may use earlier ones.
_PIECES = {
    "UPPER": UPPER,
    "NAME": rf"(?>{CAPITAL}(?: (?:{PARTICLE} ){{0,2}}{CAPITAL}| [IVX]+\b)*)",
    "NAMES": "(?><NAME>(?: ?, <NAME>)*(?:,? and <NAME>)?)",
    "PLACE": "(?><NAME>(?: ?, <NAME>)*)",
    # Text that may follow a name without belonging to it; without it, the name would be cut short.
    "END": (
        r"(?= *(?:[.;)]|,(?! ?and\b)|$)| (?:in|on|at|for|with|from|who|which|that|as|during|until|when|where|while"
        r"|to|but|after|before|starring|featuring|is|was|under|through|via|the|based|about)\b|,? and (?:was|is|are"
        r"|were|grew|raised|educated|studied|attended|died|moved|began|lived|has|had|spent|started|received|graduated"
        r"|played|worked|made|later|stars|starring|written|produced|directed|released|composed|featuring|based|edited"
        r"|distributed|published|features|to|in|on|currently|then|who|also|became|joined|won|a|an|the)\b)"
    ),
    "MONTH": MONTH,
    "YEAR": r"\d{4}",
    "DAY": (
        rf"(?>(?:c\. ?|ca\. ?|circa |around |about )?(?:\d{{1,2}}(?:st|nd|rd|th)? {MONTH},? \d{{3,4}}"
        rf"|{MONTH} \d{{1,2}}(?:st|nd|rd|th)? ?, \d{{3,4}}|{MONTH},? \d{{4}}|\d{{3,4}})\b(?: (?:BC|AD|BCE|CE)\b)?)"
    ),
    "DATE": r"<DAY>(?![\d,]\d|s\b| ?[-–/] ?\d)",
    "NUMBER": (
        r"(?:\d[\d,.]*\d|\d|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
        "|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|hundreds|thousands)"
    ),
    "DEMONYM": DEMONYM,
    "DEMONYMS": f"{DEMONYM}(?:[- ]{{1,2}}{DEMONYM})*",
    "NOCOUNTRY": (
        "(?! (?:football|rules|literature|language|Army|Navy|Air|Empire|Parliament|Revolution|Civil|War|Orthodox|Rugby"
        "|history)|-)"
    ),
    "BEFORE": "(?:(?:former|retired|noted|famous|prominent|professional|leading|renowned|amateur|young|popular) )*",
    "TRADES": f"{_TRADE}(?: ?, {_TRADE})*(?:,? and {_TRADE})?",
    # the topic itself, not another person mentioned in passing
    "WHO": r"(?:^|^(?:is|was) an? [^.;()]*?\bwho )",
    "AND": "(?:^|,? and )",
    "PHRASE": r"[^.;()]{3,80}?(?= *(?:[.;(]|, (?:and|which|who|but|where|as|with|in|for|when|a|the|he|she)\b|$))",
    "KIN": (
        "(?:(?:eldest|elder|younger|youngest|older|oldest|second|third|only|first|fourth|fifth|illegitimate|twin) )*"
        "(?:wife|husband|father|mother|brother|sister|nephew|niece|grandson|granddaughter|grandfather|grandmother"
        "|uncle|aunt|cousin|half- ?brother|half- ?sister|widow|son-in-law|father- ?in- ?law|mother- ?in- ?law"
        "|brother- ?in- ?law|great- ?grandson)"
    ),
    "ROLE": "(?:the )?[^.;(),]{4,60}?",
    # a description before a name, as in "the American rock band"
    "DESCRIBED": f"(?:(?:the )?(?:{DEMONYM}[ -]{{1,2}})*(?:[a-z]+(?:[-/ ]{{1,2}}[a-z]+)*? )?(?:, )?)??",
    "BY": "(?P<a><NAMES>)<END>",
    "TILL": (
        r"(?= *(?:[.;(]|, (?:and|which|directed|starring|with|written|it|the|who|by)\b|$)| (?:and (?:was|is|stars"
        r"|directed|starring|featur|produced|released)|starring|directed|featuring|produced|written|with|about)\b)"
    ),
    "THROUGH": "(?:through|via|by|under|on)",
    "SPOT": (
        r"[^.;()]{3,90}?(?= *(?:[.;(]|, (?:and|which|who|but|where|about|approximately|just|near|with|on|at|some|it|is"
        r"|in)\b|$)| and (?:is|was|has|had|the|it|about|forms|belongs|consists|covers|lies)\b"
        r"| (?:that|which|with|located)\b)"
    ),
    "AMOUNT": (
        r"(?:about |approximately |around |some |over |nearly )?(?P<a>\d[\d,.]* ?(?:square )?(?:km ?²|km2|sq\.?"
        r" ?(?:km|mi)|km|kilomet(?:er|re)s?|miles?|mi\b|hectares?|acres?|met(?:er|re)s?|m\b|feet|ft\b)(?: ?\([^)]*\))?)"
    ),
    # a subject that is a name, not a reference to earlier text
    "SUBJ": (
        r"(?P<s>(?:(?:The|An?) (?:[a-z]+ ){0,2})?(?!(?:The|An?|This|That|These|Those|His|Her|Its|He|She|It|They|Their"
        r"|There|In|On|At|As|However|When|While|After|Before|Both|Some|Many|Most|One|Each|All|If|For|By|From|With|Since"
        r"|During|Although|Another|Other|Such|No|We|You|I|Our|My|Who|What|Film|Filming|Production|Shooting)\b)<NAME>"
        r"(?: (?!is|was|are|were|has|had)[a-z]+)"
        "{0,2})"
    ),
    "PARTICIPLE": (
        "(?:founded|established|formed|created|built|constructed|erected|completed|opened|introduced|launched|abolished"
        "|destroyed|discovered|invented|adopted|signed|written|published|released|recorded|composed|designed|developed"
        "|painted|directed|produced|owned|won|held|issued|passed|ratified|elected|appointed|dissolved|renamed|enacted"
        "|dedicated|installed|filmed|broadcast|played|performed|sung|defeated|captured|announced|proposed|approved)"
    ),
    "NOT": r"(?!(?:for|and|to|of|in|on|with|by|from|as|the|or|at|including|various|popular|well)\b)",
    "AS": "(?:As of|In|By) (?:<MONTH> )?<YEAR>,? ",
    "DONE": r"(?:^|\b(?:was|were|and) |, )(?:originally |first |officially |formally )?",
    "WHEN": "(?:(?:at|in) <PLACE> )?(?:by <NAMES> )?(?:in|on) (?P<a><DATE>)",
    "WHOM": "(?:(?:in|on) <DATE> )?by (?:[a-z]+(?: [a-z]+)? )??(?P<a>(?:the )?<NAMES>)<END>",
}


def expanded(pattern: str) -> str:
    """Return the pattern with its named parts, such as `<NAME>`, replaced by their expressions, and with spaces that
    match any white space.
    """
    while (piece := re.search(r"<([A-Z]+)>", pattern)) is not None:
        pattern = pattern.replace(piece[0], _PIECES[piece[1]])
    return pattern.replace(" ", r"\s")
