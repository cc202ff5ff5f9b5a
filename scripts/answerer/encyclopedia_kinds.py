"""Lists of nouns, by the kind of topic (film, place, …) that they denote."""

_NOUNS = """
film: film movie thriller comedy-drama drama-film documentary western
song: song single ballad hymn anthem carol
album: album ep soundtrack
book: novel book poem novella memoir play comic manga autobiography
series: series sitcom miniseries telenovela show program programme
place: village town city commune municipality hamlet suburb settlement community township county district province
    river lake mountain island neighbourhood neighborhood parish region country capital hill peninsula territory
    valley bay station church castle airport bridge stadium building hospital cemetery museum hotel cathedral
    house park school theatre palace dam temple mosque abbey monastery lighthouse tower highway road street canal
    arena
organisation: company university college band club team organization organisation label studio group publisher
    party bank airline brand newspaper magazine institute manufacturer agency charity association society
person: actor actress director writer author poet composer singer songwriter politician footballer player coach
    bishop king queen prince princess duke count earl emperor painter artist journalist lawyer producer
    screenwriter musician cricketer manager priest historian philosopher scientist physicist chemist mathematician
    engineer architect novelist playwright dramatist cinematographer photographer editor model rapper dancer
    comedian general soldier officer admiral businessman businesswoman entrepreneur swimmer athlete cyclist
    wrestler boxer racer driver golfer runner rower fencer gymnast sculptor designer illustrator cartoonist
    scholar theologian missionary nobleman noblewoman monarch ruler sultan khan baron baronet margrave landgrave
    elector abbot archbishop cardinal pope saint monk nun teacher professor educator economist psychologist
    physician surgeon doctor diplomat judge activist pianist violinist guitarist drummer cellist organist
    conductor bassist trumpeter saxophonist filmmaker presenter broadcaster critic translator essayist librettist
    lyricist linguist archaeologist botanist zoologist biologist astronomer geologist explorer pilot astronaut
    pharaoh empress duchess countess regent consort daughter son wife aristocrat statesman senator governor
    minister president mayor socialite personality sprinter skier skater jumper thrower weightlifter goalkeeper
    defender midfielder striker forward quarterback pitcher umpire referee jockey sailor canoeist biathlete judoka
    philanthropist banker merchant clergyman preacher suffragist feminist revolutionary spy criminal murderer
    gangster noble knight commander marshal chieftain chief executive performer entertainer youtuber host
    impresario volleyballer animator artisan engraver potter
"""

KINDS: dict[str, str] = {
    noun: kind
    for kind, _, nouns in (line.partition(": ") for line in _NOUNS.replace("\n    ", " ").strip().splitlines())
    for noun in nouns.split()
}
