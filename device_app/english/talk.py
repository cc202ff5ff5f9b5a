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
        (good|lovely|happy) (morning|afternoon|evening|day|monday|tuesday|wednesday|thursday|friday|saturday|sunday|
            weekend)
        (welcome|welcome back|long time no see|i'm back|im back|i am back|here i am|it's me|its me|me again)
        (good morning|good evening|hello|hi|hey) (to you|sunshine|assistant|computer|buddy|old friend|my dear)
        """,
    "how are you": """
        how (are|r) (you|u|things) [doing|today|feeling|going]*
        (how is|how's|hows) (it going|your day|life|everything) [going|today]
        (what's up|whats up|what is up|sup|you ok|you good|how do you do|how have you been)
        (are|r) (you|u) (ok|okay|well|fine|good|happy|tired|busy)
        (how's|hows|how is) (life|work|everything|you)
        how are things [with you|going]*
        (what are you (doing|up to)|are you busy|did you sleep well|do you (sleep|dream|eat))
        how (are|r) (you|u) [doing|feeling|today|this morning|this evening|tonight|now|then]*
        how (was|is) your (day|night|weekend|week|morning|evening) [so far|going]*
        (are|r) you (having a good day|all right|alright|still there|in a good mood|bored)
        how (do|are) you (feel|feeling) [today]
        """,
    "thanks": """
        [many|ok|oh|great] (thanks|thank you|thank u|thx|ty|cheers|much appreciated|merci|danke)
            [a lot|so much|very much|a million|again|a bunch|you|anyway|for …]*
        [i] [really] appreciate (it|that|this|your help|you)
        (that's|that is|thats|that was) (all|it|everything) [i needed|for now|for today]
        ta [very much|mate]
        (that|this|it) (helped|helps|was helpful|worked) [a lot|me]*
        (thanks|thank you|thx|many thanks|thanks a lot|thank you very much|cheers) [jackdaw|for [all|your|the]*
            (help|answer|everything|that|
            quick reply|quick answer|info|information)]*
        (i'm|i am|im) [very|so|really]* (grateful|thankful|much obliged|obliged)
        much obliged
        (that's|that is|thats|that was) [very|so|really|just]* (kind|what i needed|what i wanted|all i wanted|useful|
            great help)
        [that's|that was|you were|you are|you've been] [a|of]* [great|big|real|such a]* help
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
        you (rock|rule|are the best|are amazing|did well|did a (good|great) job|made my day|are a (genius|gem|
            lifesaver|star|treasure))
        (i'm|i am|im) (impressed|amazed|happy with you|so happy|very happy)
        (not bad|bravo|hooray|yay|congratulations|kudos|superb|great stuff|good stuff|neat|sweet|splendid|marvellous|
            terrific)
        (how|so|very|that's|that is|thats) (clever|nice|smart|kind|sweet|cool|neat|useful) [of you]
        i (love|like) (you|jackdaw) [so much|very much|a lot]*
        """,
    "apology": """
        [i'm|im|i am] [so|very] sorry [about that|to bother you|my (mistake|bad|fault)|for …]
        [that|this|it] [was] [meant|intended] for (someone|somebody) else
        (wrong (window|chat|person)|my bad|oops|whoops|nevermind|never mind|nvm)
        (forget (it|that|i asked)|ignore (that|this|me|my last message)|that was (a mistake|a typo|not for you|my
            cat))
        (sorry|apologies|pardon|pardon me|excuse me|i apologise|i apologize|forgive me|my apologies|my mistake|my
            fault) [about that|for that|
            for (the|my) …]
        (sorry|oops),? (wrong (window|chat|person|app|button)|my mistake|typo|that was a typo|i meant something else|
            i mistyped)
        (i|that) (didn't|did not|wasn't|was not) (mean|meant) [to|for]* [write|send|type|ask|you|that|this|it]*
        (scratch that|disregard that|disregard|cancel that|leave it|never mind that|don't worry|no worries|it
            doesn't matter|don't mind me)
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
        (bye|goodbye|see you|good night|so long|cheerio|ta ta|adieu|later|farewell|over and out) [for now|then|all|
            jackdaw|and thanks|my friend|
            next time|in the morning]*
        (i|we) (have|need|must|gotta|got) [to] (go|leave|run|sleep) [now|to bed|soon]*
        (i'm|im|i am) (going|off|leaving|heading) [to bed|to sleep|home|out|now|for lunch|for today]*
        (that will be|that's) all for (today|now|tonight)
        (have a|enjoy your|enjoy the) [nice|good|great|lovely]* (day|evening|weekend|night|one|time|rest of the day)
        """,
    "agreement": """
        (ok|okay|k|alright|all right|fine|i see|got it|understood|sure|yes|no|yep|yeah|nope|makes sense|good to know|
            right)
        (hm|hmm|ah|oh|aha|lol|haha|ha)
        (test|testing|test test|ping|are you (there|awake|here|listening)|(anybody|anyone) (there|home))
        (ok|okay|alright|fine|sure|right|yes|no|yeah) (then|thanks|thank you|cool|great|good|i see|got it|sure|fine|
            please|jackdaw)
        (i (understand|know|agree|don't know|do not know|think so|guess so|hope so|see)|of course|exactly|indeed|
            absolutely|true|fair enough)
        (interesting|really|oh really|oh no|too bad|what a pity|no way|whatever|hmmm|wow|huh|mm|mhm|uh|uhm|nothing|
            cool story|so what)
        (anyone (here|there|home)|hello (is anybody|is anyone) (there|here)|are you (listening|working|on|alive|
            ready|up)|do you hear me|can you hear me)
        i (am|'m) (bored|tired|happy|sad|hungry|lonely|sleepy|fine|ok|okay|good|great|busy|stressed|back|ill|sick)
        """,
    "joke": """
        (tell me|do you know|say|know) [a|an|any|some|another]* (joke|jokes|something funny|story|poem|riddle|
            secret) [please]
        (sing|dance|make me laugh|entertain me|amuse me|surprise me|say something|talk to me|let's talk|let's chat)
        what is the (meaning of life|answer to everything)
        """,
    "who are you": """
        (who|what) [exactly] (are|r) (you|u) [exactly|anyway|again|called|actually|really]*
        (what is|what's|whats) (your name|jackdaw|this (app|program|thing|tool))
        who is jackdaw
        who (made|built|wrote|created|programmed|developed) (you|jackdaw|this app|this program)
        are you [a|an] (human|robot|bot|ai|person|real|chatgpt|program|machine|bird|real person|computer) [or …]
        (do you have a name|introduce yourself|why are you called jackdaw|what does jackdaw mean)
        tell me [something|a bit|more] about (you|yourself|jackdaw)
        (what|who) [kind of|sort of]* [a]* (thing|program|app|assistant|tool|bird|being)* (are|r) (you|u)
        (what|which) (name|language) (do you have|are you called|are you written in)
        (do|does) (you|jackdaw) have (a name|feelings|a body|a birthday|friends|a mind|parents)
        how old are you
        (where|what) (do|are) you (live|from|come from)
        (are|r) you (chatgpt|gpt|siri|alexa|claude|gemini|open source|free|a real person|human|an ai|an assistant|
            alive|conscious)
        (who|which company) (owns|develops|maintains|runs|is behind) (you|jackdaw|this)
        what is (jackdaw|this) [for|about|good for]*
        (explain|describe) (yourself|jackdaw|what you are|what jackdaw is)
        (what's|what is|whats) (this|jackdaw) (app|program|tool|thing) [for|about]*
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
        what (can|could) (you|u|i|one|we) [actually|really|all|possibly]* (do|use) [with|for|here|in]* [you|me|this|
            jackdaw|it|this app|this program|
            my files|the app]*
        what (is|are) [all|some of|the]* (things|questions|stuff) [that|which]* (you|i) can (do|answer|ask|find|help
            with) [you|for me]*
        (what|which) [of my|of the]* (questions|things) (do|can|will) you (answer|understand|know)
        (what|how) (else|more) (can|could|do) you (do|offer|know|answer)
        how (can|could|may|do) (you|i) (help|be of help|be useful|use you|make use of you|get the most out of you|
            profit from you) [me|us|today|with this]*
        (tell|show) me (your (features|capabilities|abilities|skills|functions)|what (you|this|jackdaw) (can|could|
            does|do) [do|for me|offer]*|how you work|
            how to use you|what you are able to do|what you know)
        (what are|list|show) your (features|capabilities|abilities|skills|functions|talents|options|commands)
        what should i (ask|try|do|type) [you|first|now|here]*
        (i (don't|do not) know what to ask|any (ideas|suggestions|tips)|suggest something|give me a hint|inspire me|
            what would you suggest)
        (are you|is jackdaw) able to (help|answer questions|find things|search) [me]
        what (can't|can not|cannot) you do
        (what are your limits|what are your limitations|is there anything you can't do)
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
        (how|where) (do|can|could|should) (i|one|you) (use|start|begin|search|find help|get help|find the manual|
            read the manual|look something up)
            [with|in|for]* [you|this|jackdaw|it|the app|my files|something|files|help|words]*
        (is there|where is|where's) [a|the|any]* (manual|help|help page|documentation|guide|tutorial|handbook|readme|
            faq)
        (can|could) (you|someone|somebody) (help me|explain how this works|show me how this works|explain yourself)
        (explain|show) [me] (how (this|it|jackdaw|you) (works|work)|the commands|all commands)
        (list|show) [me|all|the]* commands
        (i'm|i am|im) (lost|stuck|new here|new|confused|a beginner)
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
        (how|where) (do|can|could|should|would|must) i (tell you|point you|connect you|get|put|drop|attach|upload|
            feed you|save|place|set up|give) [about|at|to|you]*
            [more|other|another|new|some|my|a|the|an|your|our]* (<file>|<files>|mailbox|gmail|google calendar|
            outlook|telegram|signal|inbox) [to|into|in|here|so that
            you read them|for you to read]* [read|you|them|it|jackdaw|see]*
        (i want|i would like|i'd like|i need|please|can i|could i|may i) [to] (add|import|index|load) [more|other|
            another|new|some|my|a|the]* (<file>|<files>)
        (add|import|index|read|load) [more|other|another|new|some|my|a|the|this|these|all]* (<file>|<files>)
        (do|will|does) <you> (notice|see|read|pick up|find|detect|update|reread) [new|changed|my|the|when]* (<files>|
            changes|new files|a file changes) [automatically|by
            itself|too|on your own]*
        (where|from where) do you (get|read|take) [your|my|the]* (<files>|information|knowledge|answers) [from]
        (which|what) [of my]* (<files>|folders) do you (read|index|use|look at)
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
        (how many|what number of) [of my|my|the|different]* (<files>|passages|words|things|items) (are|is|do|did|
            have|can)* (you|there|in|been)* [read|know|known|
            indexed|stored|have|your|the|my|index|store|library|collection|knowledge|seen|search|see|about]* [<sofar>]
        (what|which) (have you|did you|do you) (read|know|indexed|learned|seen|have) [about me|of me|of mine|from me|
            <sofar>]*
        (show|list|name) [me|all|the|my]* (folders|files|sources|documents) [that|which]* (you|are)* (know|read|have
            read|indexed|use|see|have)
        (are|is|have) [all]* [<whose>] <files> [been|already]* (read|indexed|loaded|known|imported|up to date) [yet|
            now|already|by you]*
        (what's|what is|whats) in (your|the) (index|store|memory|knowledge|library)
        (what|how much) do you know [about me|about my life|of my files]*
        """,
    "files safe": """
        (can|could|do|does|will|would|did) <you> [ever] <change> [or|and] [<change>] [<whose>] <files>
        (are|is|will) [<whose>] <files> [ever|be]* (changed|safe|deleted|modified|touched|altered|moved) [with you|
            by you|by
            jackdaw]
        (can|could|do|does|will|would|did|might) <you> [ever|accidentally|also|really]* <change> (something|anything|
            stuff|things|them|it) [in|on|of|from]* [<whose>] [<files>|
            computer|disk|phone]*
        (is|are) (it|you|jackdaw) (safe|read only|read-only|harmless) [to use|for my files]*
        (what|which) (do|does|will) <you> do (to|with) [<whose>] <files>
        (do|does|will|can) <you> [only] (read|write) [to] [<whose>] <files>
        (can|could|may|will) <you> (reply to|answer|send|write) [my|a|an|the]* (mails|emails|mail|email|messages)
            [for me]
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
        (do|does|will|would|can|did|are|is) <you> [ever|going to|secretly]* (<send>|sending|sharing|uploading) [of|
            any of|out|all|anything about]* [<whose>|me|myself]*
            (<files>|questions|anything|it|them|something|information|information about me|everything|what i (ask|
            type|write)) [to …|with …|anywhere|online|in …|over …|out|
            elsewhere|somewhere]
        (is|are|do|does|will|can) [<whose>|any of my|my personal]* (<files>|questions|anything|it|answers|
            information|conversations) [ever|kept|really|being|get|be|staying|stay]*
            (leave|leaving|sent|shared|uploaded|private|secure|safe|local|offline|encrypted|here|seen|read|stored)
            [with|to|by|on|in|online|off|from]* [anyone|anybody|others|
            other people|the cloud|the internet|a server|my device|this device|this computer|my computer|this
            machine|my phone|someone else|companies|you]*
        (who|who else|whom|what|can anyone|can anybody|can someone|can others|can other people) [can|could|else|
            may]* (see|read|access|look at|know) [what|of]* [i|<whose>]*
            (ask|type|write|<files>|questions|this|data|them|it|conversations)
        (where|how) (do|are|is|does) (you|it|this|jackdaw|my|<whose>)* (store|keep|save|put|stored|kept|saved|live|
            located) [<whose>|what|the]* [<files>|questions|answers|i ask|it|them|
            index]*
        (what about|how about|tell me about|what is) [my|your|the]* (privacy|data protection|security|privacy policy|
            confidentiality)
        (does|do|will) (anything|something|data|my data|any data) (leave|get out of|go out of) [my|this|the]*
            (device|computer|phone|laptop|machine|house|network)
        (is|are) (you|jackdaw|this|it) (private|confidential|secure|safe|trustworthy|spying on me|listening to me|
            tracking me|gdpr compliant|trusted)
        can i trust (you|jackdaw|this)
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
        (do|does|can|could|will|would|are|is) <you> [still|also|even|always]* (work|working|run|running|function|
            usable|answer|available) [offline|on a plane|on the train|without …|when …|if …]
        (do|does|will) (i|you|we|jackdaw|this|it) (need|require|use|have) [to have|to be|a|an|the|any]* (internet|
            wifi|network|connection|cloud|server|account|subscription|login|password|
            online|connected|api key|internet connection|gpu|graphics card) [connection|access|for this|to work|to
            use you|for that|to ask]*
        (where|on what|on which) [computer|machine|device]* (do|are|is) (you|this|jackdaw) (run|running|located|
            installed|hosted) [on]
        (are|is) (you|this|jackdaw|it) [running]* (local|locally|on my device|on this device|on my computer|in the
            cloud|online|on a server|offline|connected to the internet)
        (what|how much) (does|do) (jackdaw|you|this|it) cost
        (do i have to pay|is this free|is it free|are you free|is jackdaw free)
        """,
    "which model": """
        (which|what) [language] (model|llm|ai|ai model) [version] (do|are|is|does) <you> [use|using|run|running|
            based on|powered
            by|now]*
        (which|what) model is (this|in use|used|running)
        what are you (based on|running on|powered by)
        can i (use|choose|pick|install|get) [a|an] <better> model
        how do i (get|use|choose|install|change|switch|switch to|change to) [a|an|the] [<better>] model
        (what|which|whose) [kind of|large|local|small|sort of]* [language]* (model|llm|ai|engine|neural network)
            [version]* (do|are|is|does|powers|runs|drives|answers)* [you|jackdaw|this|it|
            behind|inside|me|here|we|i]* [use|using|run|running|based on|powered by|now|on|loaded|installed|active|
            in use]*
        (how|where) (do|can|could) i (change|switch|choose|pick|select|replace|set|update|upgrade|get) [to|your|the|
            a|an|another|my]* [<better>|language]* (model|llm|brain) [you use]*
        (what|which) (models|llms) (are there|can i use|do you support|are available|do you have|exist)
        (are|is) (you|there) [a|an]* (smart|smarter|bigger|better|larger|intelligent) [model|version|enough]*
        (what|which) (is|are) (under the hood|your brain|your model|the model)
        how (big|large|smart) (are you|is your model|is the model)
        why are you so (slow|dumb|stupid|small|fast)
        (can|could) you (get|be) (smarter|better|faster)
        """,
    "version": """
        (what|which) version [of jackdaw] (is (this|it)|are you|do i have|do you have|am i running|is running|is
            installed)
        (version|your version|jackdaw version|what's your version|what is your version|which version|are you up to
            date)
        [is there|are there] [a|an|any]* (newer version|update|updates|new version) [available]
        how do i update [you|jackdaw|this]
        (how|when|where) (do|can|should|were|was) (i|you|jackdaw)* (update|upgrade|updated|install|installed|get the
            newest version) [you|jackdaw|this|last|the app|a new version]*
        (is|are) (there|you|jackdaw) [a|an|any]* (update|updates|new version|newer version|up to date|outdated|
            current) [available|for you|of you|of jackdaw]*
        (tell|show|give) me (your|the) version [number]
        what (is|'s) (your|the|jackdaw's) version [number]
        """,
    "languages": """
        (do|can|could) <you> (speak|understand|read|write|know|answer in|talk|handle) [any|other|also]* (german|
            french|spanish|italian|english|chinese|dutch|portuguese|russian|japanese|
            norwegian|slovenian|languages|other languages|another language|foreign languages|several languages)
        (which|what|how many) languages (do|can|could) <you> (speak|understand|read|know|write|support|handle)
        """,
    "server": """
        (how|where) (do|can|could) i (connect|set up|use|add|run|start|install|reach) [to|you|a|an|the|my|with]*
            [companion]* server
        (what is|what's|whats|do i need|is there|why would i need) [a|an|the]* companion server [for|good for]*
        (are|is) (you|jackdaw|this) connected [to (a|the|any) (server|companion server)]
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
        (how|where) (do|can|could|should) i (delete|remove|clear|erase|forget|reset|wipe|drop|uninstall|get rid of)
            [all|my|the|your|an|a|old|this|some|of|our|saved|everything|from]*
            (history|conversation|conversations|answer|answers|cache|data|memory|index|files|folder|file|chat|chats|
            everything|question|questions|jackdaw|you|documents|note|notes)
            [that you know|you know|again|from you|completely|of mine]*
        (forget|delete|clear|erase|wipe) [all|my|the|our|everything|that|this|last]* (history|conversation|
            conversations|data|everything|memory|questions|answers|what i (said|asked|wrote))
        (can|could|will|do) you [please|also|ever]* (forget|delete|unlearn|remember) [my|our|the|everything|all|what|
            of|last]* [history|conversation|conversations|questions|i (said|asked)|
            chat|chats|talk|things|about me]*
        """,
    "wrong": """
        how (do|can) i (tell you [that] (an|the|your) answer is wrong|mark (an|the) answer [as wrong]|correct you)
        what (if|when|do i do if|do i do when) (you are|you're|an answer is|the answer is|your answer is) wrong
        (that|this|your answer|the answer|it) (is|was|'s) (wrong|not right|incorrect|false|not true|nonsense|rubbish|
            not correct|a mistake|not what i asked|not what i meant)
        (wrong|that's wrong|thats wrong|that is wrong|no that's wrong|incorrect|false|wrong answer|bad answer|you
            are wrong|you're wrong|youre wrong|you made a mistake|not true)
        (how|where) (do|can|should) i (report|mark|flag|correct|tell you about) [a|an|the|your|that]* (wrong|bad|
            false|incorrect)* (answer|answers|mistake|error|errors|bug|problem) [is wrong|as wrong]*
        (can|do|could) you (be wrong|make mistakes|make things up|lie|hallucinate|err) [sometimes|often|too]*
        (how|can) (reliable|accurate|sure|i trust|do i know) (are|is|your|that|you)* [you|answers|your answers|are|
            is|right|correct|it|true]*
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
