"""Recognises small talk, and questions about the program itself. A whole text has to match.

A text that says more than its phrase, such as "Hi, when is the dentist?", is no small talk.
"""

from __future__ import annotations

import re
from typing import Final

from device_app.english.phrases import Phrases

_MOST_CHARACTERS: Final = 160
_MOST_PARTS: Final = 4

_NAMES: Final = {
    "you": "you|u|jackdaw|this app|this program|this tool|the app|the program|the assistant",
    "file": "file|document|note|folder|directory|mail|e-mail|email|mailbox|chat|calendar|pdf|whatsapp chat",
    "files": "files|documents|notes|data|stuff|things|folders|mails|e-mails|emails|chats|messages|pdfs|calendars",
    "change": "delete|change|modify|edit|move|rename|remove|alter|touch|overwrite|damage|write to|erase",
    "whose": "my|the|any|our|my own|my private|my personal|any of my|all my|all of my|of my|of the",
    "good": "helpful|great|good|awesome|amazing|clever|smart|nice|wonderful|useful|the best|brilliant|kind|lovely",
    "very": "very|so|really|super|quite|too|pretty|that|just",
    "sofar": "so far|now|in total|already|altogether|at all|of mine|currently|right now",
    "kind": "pdf|word|excel|ics|docx|xlsx|text|markdown|csv|whatsapp|my|any|the|all|also|libreoffice|powerpoint|epub|mp3|zip",
    "formats": "pdf|pdfs|docx|xlsx|pptx|odt|ods|csv|ics|epub|rtf|html|json|zip|mp3|mp4|jpg|png|markdown|excel|word|powerpoint",
    "better": "better|larger|bigger|other|another|different|new",
    "send": "send|share|upload|leak|sell|transmit|post|give away|store|save|spy on|track|collect",
}

PHRASES: Final = {
    "greeting": """
        (hi|hiya|hey|hello|hallo|howdy|yo|greetings|good day|gday|morning|good (morning|afternoon|evening))
        (nice|good|great|pleased) to (meet|see) you
        (hi|hello|hey) [there|you|again|all|my friend|everyone]*
        (happy (new year|birthday|christmas|easter)|merry christmas)
        """,
    "how are you": """
        how (are|r) (you|u|things) [doing|today|feeling|going]*
        (how is|how's|hows) (it going|your day|life|everything) [going|today]
        (what's up|whats up|what is up|sup|you ok|you good|how do you do|how have you been)
        (are|r) (you|u) (ok|okay|well|fine|good|happy|tired|busy)
        (how's|hows|how is) (life|work|everything|you)
        how are things [with you|going]*
        (what are you (doing|up to)|are you busy|did you sleep well|do you (sleep|dream|eat))
        """,
    "thanks": """
        [many|ok|oh|great] (thanks|thank you|thank u|thx|ty|cheers|much appreciated|merci|danke)
            [a lot|so much|very much|a million|again|a bunch|you|anyway|for …]*
        [i] [really] appreciate (it|that|this|your help|you)
        (that's|that is|thats|that was) (all|it|everything) [i needed|for now|for today]
        ta [very much|mate]
        (that|this|it) (helped|helps|was helpful|worked) [a lot|me]*
        """,
    "praise": """
        (you're|you are|youre|ur|jackdaw is) [<very>]* <good>
        [that's|that is|that was|this is] [very|really|so|super|how]* (well done|good job|good work|good bird|great|
            great job)
        [that's|that is|that was|this is] [very|really|so|super|how]* (nice|nice one|perfect|awesome|excellent|
            brilliant)
        [that's|that is|that was|this is] [very|really|so|super|how]* (amazing|cool|wonderful|lovely|helpful|
            impressive|wow)
        i [really] (like|love) (you|this app|jackdaw|it)
        (good|clever|smart|nice) (bird|bot|boy|girl|one|work|answer)
        (that|this) (was|is) (a|an) (good|great|nice|perfect|excellent) answer
        """,
    "apology": """
        [i'm|im|i am] [so|very] sorry [about that|to bother you|my (mistake|bad|fault)|for …]
        [that|this|it] [was] [meant|intended] for (someone|somebody) else
        (wrong (window|chat|person)|my bad|oops|whoops|nevermind|never mind|nvm)
        (forget (it|that|i asked)|ignore (that|this|me|my last message)|that was (a mistake|a typo|not for you|my
            cat))
        """,
    "farewell": """
        (goodbye|good bye|bye|bye bye|see you|see ya|good night|goodnight|cu|ciao|so long|take care|farewell) [later|
            soon|
            tomorrow|around|then]
        have a (nice|good|great|lovely) (day|evening|one|weekend|night|time)
        (talk to you|until|till) (later|soon|tomorrow)
        (i'm|im|i am) (off|done|leaving) [now|for today|to bed]*
        (good night|goodnight|gn|nighty night|night night|nite|sleep well|sweet dreams|night)
        (see you|see u|cya|later|laters|catch you later|ttyl|until next time)
        """,
    "agreement": """
        (ok|okay|k|alright|all right|fine|i see|got it|understood|sure|yes|no|yep|yeah|nope|makes sense|good to know|
            right)
        (hm|hmm|ah|oh|aha|lol|haha|ha)
        (test|testing|test test|ping|are you (there|awake|here|listening)|(anybody|anyone) (there|home))
        """,
    "who are you": """
        (who|what) [exactly] (are|r) (you|u) [exactly|anyway|again|called|actually|really]*
        (what is|what's|whats) (your name|jackdaw|this (app|program|thing|tool))
        who is jackdaw
        who (made|built|wrote|created|programmed|developed) (you|jackdaw|this app|this program)
        are you [a|an] (human|robot|bot|ai|person|real|chatgpt|program|machine|bird|real person|computer) [or …]
        (do you have a name|introduce yourself|why are you called jackdaw|what does jackdaw mean)
        tell me [something|a bit|more] about (you|yourself|jackdaw)
        """,
    "what can you do": """
        what [all|else|kind of things|sort of things|things] (can|could|do|does|will|would) <you> [actually|all] (do|
            answer|
            know|offer|understand|find|help with|help me with|tell me|know about me) [for me|exactly|here]
        (what|which) [kind of|kinds of|sort of|sorts of|types of] (question|questions|things|stuff) (can|could|may|
            should) (i|
            you|we) (ask|answer|do|understand|know|say|try) [you|here|jackdaw|about]*
        what (can|could|should|may) i (ask|do|say|type|try) [you|here|jackdaw|with you|with this|about|first|now]*
        how (can|could|do|does|will) <you> (help|assist) [me|us] [today|here]*
        how (does|do) (you|this|jackdaw|this app) work
        (what is|what's|whats|what are) (your|jackdaw's) (purpose|features|capabilities|job|abilities|functions|
            skills)
        what (are|is) <you> (for|good at|good for|able to do|capable of)
        (can|could) you help [me] [with something]
        (i need [some] help|show me what you can do|what do you do|tell me what you can do|what now)
        give me [some] (examples|ideas) [of (questions|what i can ask)]
        what (could|can|might|should) i ask you [for example|for instance|about]*
        (show|give|tell) me [some|a few|more]* (example questions|examples|sample questions|questions i can ask|
            things i can ask)
        (example questions|examples|sample questions|what are you able to do|what else can you do) [for me|please]*
        what are you able to (do|answer|help with|tell me) [for me|with]*
        """,
    "help": """
        (help|help me|h|man|usage|getting started|where do i start)
        how do i (use|start|begin|get started) [you|this|jackdaw|with jackdaw|the app|with this]
        how (do|can|should) i (get started|ask [you] [a|some] (question|questions)|search [for something])
        (what|which) commands (are there|do you have|do you know|exist|can i use)
        what are the commands
        i (need|want|would like) [some] help [using|with|to use]* [this|you|jackdaw|the app|the program|it]*
        help [me] [how does this work|how does it work|please|using this]*
        how (does|do) (this|it|the app|the program) work
        (how do i|how to) (use|operate|work with) (this|it|jackdaw|the app|the program)
        what (are|is) the (filters|filter|shortcuts|keys|options)
        (which|what) filters (are there|can i use|exist|do you know)
        """,
    "how to add": """
        (how|where) (do|can|could|should|would) i (add|import|load|index|include|read in|put in|connect|give you|let
            you read|
            make you read|get you to read|teach you|show you) [more|other|another|new|some|my|a|the|an|your|our]*
            [[…] (<file>|
            <files>)] [of …|with …|from …|to …|in …|into …|here]
        (can|could) (i|you) (add|import|index|read|load) [more|other|another|new|my|a|the|also]* (<file>|<files>)
            [too|as well|
            from …]
        (which|what) [kind of|kinds of|types of|sorts of] (files|formats|file types|file formats|documents) (can|do|
            could) (you|
            i|jackdaw) (read|understand|open|support|know|add|handle|import)
        (can|could|do|does) <you> [also] (read|open|understand|handle|support|know|process|index|import) [<kind>]*
            (files|documents|<formats>|
            attachments|calendars|mails|emails|chats|notes|spreadsheets|tables|presentations|books|images|photos|web
            pages) [too|as well|also]
        (what|which) (formats|file formats|file types|files|kinds of files|types of files) (are supported|are
            readable|do you support|work)
        """,
    "how many files": """
        how (many|much) [of] [<whose>] <files> (do you (know|know about|have|read|hold|see|remember)|have you (read|
            got|seen|
            indexed|stored)|did you read|are (there|indexed|known|stored|loaded|read)|can you see) [<sofar>]*
        (which|what) [of] [<whose>] <files> (do you (know|know about|have|have access to|see|read)|have you (read|
            got|seen|
            indexed)|did you read|are (indexed|known|loaded)|can you (see|read|access)) [<sofar>]*
        what (do you know about me|have you read|did you read|have you indexed|do you know) [<sofar>]
        how big is (your|the) (index|store|knowledge)
        """,
    "files safe": """
        (can|could|do|does|will|would|did) <you> [ever] <change> [or|and] [<change>] [<whose>] <files>
        (are|is|will) [<whose>] <files> [ever|be]* (changed|safe|deleted|modified|touched|altered|moved) [with you|
            by you|by
            jackdaw]
        """,
    "private": """
        (do|does|will|would|can|did) <you> [ever] <send> [<whose>] (<files>|questions|anything|it|them|what i (ask|
            type)) [to …|
            with …|anywhere|online|in …|over …]
        (do|does|will) [<whose>] (<files>|questions|anything) [ever] (leave|get sent|stay|go) [on] [this|my|the]
            [computer|
            device|phone|laptop|machine|cloud|internet|to …]
        (is|are) (this|it|everything|jackdaw|[<whose>] <files>) [ever|kept]* (private|secure|confidential|safe|sent
            anywhere|
            uploaded|shared|stored in the cloud) [here|with you]
        (who|who else|what) (can|could) (see|read) (this|what i (ask|type|write)|[<whose>] (<files>|questions))
        where (is|are) [<whose>] (<files>|questions|answers) (stored|kept|sent|saved) [to]
        how private (is|are) (this|it|you|jackdaw)
        """,
    "offline": """
        (do|does|can|will) <you> (work|run) (offline|online|without [the|an|a] (internet|network|wifi|connection|
            server))
        (do|does|will) <you> (need|require|use) [the|an|a] (internet|network|wifi|connection|cloud|server)
            [connection|access]
            [to work]
        are you (online|offline|in the cloud|connected)
        (do|will) i need [the|an|a] (internet|server|connection|account) [connection] [for (this|you|jackdaw)]
        where do you run
        """,
    "which model": """
        (which|what) [language] (model|llm|ai|ai model) [version] (do|are|is|does) <you> [use|using|run|running|
            based on|powered
            by|now]*
        (which|what) model is (this|in use|used|running)
        what are you (based on|running on|powered by)
        can i (use|choose|pick|install|get) [a|an] <better> model
        how do i (get|use|choose|install|change|switch|switch to|change to) [a|an|the] [<better>] model
        """,
    "version": """
        (what|which) version [of jackdaw] (is (this|it)|are you|do i have|do you have|am i running|is running|is
            installed)
        (version|your version|jackdaw version|what's your version|what is your version|which version|are you up to
            date)
        [is there|are there] [a|an|any]* (newer version|update|updates|new version) [available]
        how do i update [you|jackdaw|this]
        """,
    "forget": """
        how (do|can|could) i (remove|delete|forget|make you forget|exclude|clear|erase|get rid of) [a|my|the|our|all|
            some|
            from …]* (<file>|<files>|history|conversation|conversations|answers|everything|index) [again|from …]
        can (you|i) (forget|remove|clear|erase) [a|my|the|our]* (<file>|history|conversation|conversations|
            everything) [again|
            from …]
        how (do|can|could) i (remove|take|delete|drop|exclude) [a|my|the|this|that|one]* (folder|file|<files>) [out|
            from your index|from the index|
            again|out again|out of the index]*
        (forget|remove|delete) [a|my|the|this]* (folder|file|<files>) [from the index|from your index]
        """,
    "wrong": """
        how (do|can) i (tell you [that] (an|the|your) answer is wrong|mark (an|the) answer [as wrong]|correct you)
        what (if|when|do i do if|do i do when) (you are|you're|an answer is|the answer is|your answer is) wrong
        """,
}
"""The phrases of each topic."""

_BEFORE_THEM = (
    "jackdaw|there|ok|okay|oh|ah|so|well|please|um|umm|hey|hi|hello|but|and|sorry|excuse me|just asking|just "
    "curious|just wondering|tell me|(?:can|could|would) you (?:please )?tell me"
)
_BEHIND_THEM = (
    "jackdaw|there|everyone|friend|buddy|mate|my friend|dear|little bird|again|man|dude|folks|please|then|now|today|ok|"
    "okay|if i may ask|btw|by the way|actually|exactly|anyway|indeed"
)
_BEFORE = re.compile(rf"(?:(?:{_BEFORE_THEM})[,; ]+)+(?=\S)")
_BEHIND = re.compile(rf"(?:[,; ]+(?:{_BEHIND_THEM}))+$")
_EMOTICON = re.compile(r"(?<!\w)[:;]-?[()DPp](?!\w)|<3")
_SIGNS = re.compile(r"[^\w\s'?,;.!-]+")
_ENDS = re.compile(r"\s*(?:[.!?…]+(?=\s|$)|;)\s*")
_PARTS = re.compile(r"\s*[,;]\s*|\s+(?:and|-)\s+")


def topic(text: str) -> str | None:
    """Return what a text is about, a key of PHRASES, if it is talk; None for anything else."""
    if len(text) > _MOST_CHARACTERS or not text.strip():
        return None
    if not re.search(r"\w", text):
        return "help" if "?" in text else None if text.isascii() else "greeting"
    said = _SIGNS.sub(" ", _EMOTICON.sub(" ", re.sub(r"[’`´]", "'", text.lower())))
    said = " ".join(_ENDS.sub("; ", said).split()).strip(" ,;-")
    return _of(said) or _of_parts(said)


def _of(said: str) -> str | None:
    """Return the topic of a text, with or without a form of address or a polite word around it."""
    shorter = _BEFORE.sub("", said, 1) if _BEFORE.match(said) else said
    texts = dict.fromkeys((said, _BEHIND.sub("", said), shorter, _BEHIND.sub("", shorter)))
    return next(
        (topic for text in texts for topic, phrases in _COMPILED.items() if phrases.read(text) is not None), None
    )


def _of_parts(said: str) -> str | None:
    """Return the last topic of a text all of whose parts are small talk: "hi, how are you", "great, thanks"."""
    parts = [part for part in _PARTS.split(said) if part]
    topics = [_of(part) for part in parts]
    return topics[-1] if 1 < len(parts) <= _MOST_PARTS and all(topics) else None


_COMPILED: Final = {topic: Phrases.of(phrases, _NAMES) for topic, phrases in PHRASES.items()}
