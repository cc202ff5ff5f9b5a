"""Facts that encyclopedias often state about a topic: the words that state a fact, and the questions about it for
passages without such words.
"""

from scripts.answerer.encyclopedia_rules import table

# The patterns match words that state a fact, in lower-case text: if nothing matches, the passage cannot answer the
# question.
UNTOLD = table(
    r"""
untold : person
    \bborn\b|native|birth|hometown|from|raised|grew up|hails
    - Where was {x} born? / What is the birthplace of {x}?
untold : person
    died|death|dead|\bd\.|\blate\b|kill|murder|execut|assassin|buried|until|surviv|fell in|fallen|suicide|posthum
    |\([^()]*\d{3}[^()]*\d{3}|\d{4} ?[-–]|[-–] ?(?:\w+ ){0,2}\d{1,4}|\d{4} ?[a-z]+ \d{1,2}, \d{4}|\d{4,6} [a-z]+ \d{4}
    - When did {x} die? / How did {x} die? / Where did {x} die?
untold : person
    bur(?:y|ied|ial)|grave|tomb|cemetery|interred|cremat|ashes
    - Where was {x} buried? / Where is the grave of {x}?
untold : person
    married|marri|wife|husband|spouse|widow|wed|consort|partner|queen|divorc|fianc|couple|daughter-in-law
    - Who did {x} marry? / Who is the spouse of {x}?
untold : person
    \bsons?\b|daughter|child|father of|mother of|parent|offspring|heir|issue|famil
    - How many children did {x} have? / What are the names of {x}'s children?
untold : person
    \bson\b|daughter|father|mother|parent|born to|famil
    - Who was the father of {x}? / What was the name of {x}'s mother?
untold : person
    educat|school|universit|college|stud(?:y|ied|ent)|graduat|degree|academ|train|learn|ph\.?d|conservator|seminar
    |institut
    - Where did {x} study? / Which school did {x} attend? / What did {x} study?
untold : person
    award|prize|medal|honou?r|oscar|grammy|won\b|winn|nobel|title|champion|trophy|nominat
    - What award did {x} win? / Which prize was {x} given?
untold : person
    brother|sister|sibling|twin|famil|daughter|\bson\b
    - How many siblings did {x} have? / What is the name of {x}'s brother?
untold : person
    tall|height|\d ?(?:cm|ft|m)\b|inches
    - How tall is {x}?
untold : person
    worth|fortune|\$|£|€|million|salary|earn|wealth
    - What is the net worth of {x}? / How much money did {x} earn?
untold : person
    language|speak|fluent|translat
    - Which languages did {x} speak?
untold : person
    religio|church|cathol|christian|jew|islam|muslim|protestant|faith|hindu|buddh|bishop|priest
    - What was the religion of {x}?
untold : film
    minute|hour|running|length|\blong
    - How long is {x}? / What is the running time of {x}?
untold : film
    budget|cost|\$|£|€|million|crore|lakh
    - What was the budget of {x}? / How much did {x} cost to make?
untold : film
    gross|box.office|earn|million|\$|crore|commercial
    - How much did {x} earn at the box office? / What did {x} gross worldwide?
untold : film
    music|compos|score|scored|soundtrack|songs?\b|musical
    - Who composed the music of {x}? / Who wrote the score for {x}?
untold : film
    produc
    - Who produced {x}? / Who was the producer of {x}?
untold : film
    cinematograph|photograph|camera|shot|lens
    - Who was the cinematographer of {x}? / Who did the cinematography of {x}?
untold : film
    direct
    - Who directed {x}? / Who was the director of {x}?
untold : film
    star|cast|actor|actress|play|role|perform|featur|portray|lead
    - Who stars in {x}? / Who plays the lead in {x}?
untold : film
    edit
    - Who edited {x}? / Who was the editor of {x}?
untold : film
    shot|film(?:ed|ing)|locat|set in|photograph
    - Where was {x} filmed? / Where was {x} shot?
untold : film
    distribut|releas|studio|pictures|company|by
    - Which company distributed {x}?
untold : film
    wrote|writ|screenplay|script|story|novel|book|play|based|adapt
    - Who wrote {x}? / Who wrote the screenplay of {x}?
untold : film
    award|prize|won\b|nominat|oscar|festival|honou?r
    - What award did {x} win? / How many awards did {x} win?
untold : film
    sequel|follow|second|part|series|franchise
    - What is the name of the sequel to {x}?
untold : song
    wrote|writ|compos|author|by
    - Who wrote {x}?
untold : song
    produc
    - Who produced {x}?
untold : song
    chart|number|no\.|#|top|peak|reach|hit
    - What position did {x} reach on the charts? / How high did {x} get on the charts?
untold : song
    album|lp\b|\bep\b|record
    - Which album is {x} on?
untold : song
    label|records
    - Which label released {x}?
untold : song
    video|direct
    - Who directed the video of {x}?
untold : song
    second|minute|long|length|duration
    - How long is {x}?
untold : album
    sold|copies|sales|million|platinum|gold|certif|unit
    - How many copies did {x} sell?
untold : album
    tracks?\b|songs?
    - How many tracks are on {x}?
untold : album
    produc
    - Who produced {x}?
untold : album
    chart|number|peak|reach|no\.|#|top|hit
    - What position did {x} reach on the charts?
untold : album
    studio|recorded (?:in|at)
    - Where was {x} recorded?
untold : book
    pages?
    - How many pages does {x} have?
untold : book
    publish|press|books
    - Who published {x}?
untold : book
    illustrat|cover|art
    - Who illustrated {x}?
untold : book
    sold|copies|sales|million|best.?sell
    - How many copies of {x} were sold?
untold : series
    episode
    - How many episodes does {x} have?
untold : series
    network|channel|air|broadcast|premier|abc|nbc|cbs|bbc|fox|tv
    - On which network did {x} air?
untold : place
    population|people|inhabitant|resident|census|live|stadium|airport|bridge|station|church|castle|school|cemetery|museum|building|hotel|mountain|peak|river|lake
    |theatre|park|house|tower|palace|hospital|road|street|arena|temple|mosque|cathedral|abbey|highway|dam\b|hill|bay
    - What is the population of {x}? / How many people live in {x}?
untold : place
    area|square|hectare|acre|km2|km²|cover
    - What is the area of {x}?
untold : place
    elevation|altitude|sea level|high|height|metres above|feet
    - What is the elevation of {x}?
untold : place
    mayor|govern|administ|council|leader|stadium|airport|bridge|station|church|castle|school|cemetery|museum|building|hotel|mountain|peak|river|lake
    |theatre|park|house|tower|palace|hospital|road|street|arena|temple|mosque|cathedral|abbey|highway|dam\b|hill|bay
    - Who is the mayor of {x}?
untold : place
    founded|establish|built|settled|origin|centur|creat|construct|\d{4}
    - When was {x} founded? / When was {x} built?
untold : place
    named|name|called|after|known|roman
    - Who is {x} named after?
untold : place
    distance|km|mile|kilomet
    - How far is {x} from the capital?
untold : organisation
    founded|establish|found|start|creat|form|began|since|origin
    - When was {x} founded? / Who founded {x}?
untold : organisation
    employ|staff|worker|people
    - How many people work for {x}?
untold : organisation
    headquarter|based|locat|office|from|in
    - Where are the headquarters of {x}?
untold : organisation
    chief|ceo|president|director|chair|head|manager|coach|leader|led
    - Who is the head of {x}?
untold : organisation
    \$|£|€|revenue|profit|income|million|billion
    - What is the revenue of {x}?
"""
)
