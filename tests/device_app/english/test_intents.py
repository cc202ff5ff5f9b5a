"""Which requests need no file, and which hold a text of their own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english.intents import holds_text, needs_no_file

NO_FILE = (
    "Write a poem about autumn",
    "write a birthday card for my sister",
    "Please write an email to my landlord asking for a new lock",
    "Translate good morning into French",
    "Translate into German: The drill is in the boathouse.",
    "Translate this text into Norwegian:\nThe drill is in the boathouse, and the key is under the mat.",
    "Explain quantum entanglement",
    "Explain photosynthesis to a child",
    "Explain the difference between a virus and a bacterium",
    "Describe the process of fermentation",
    "Could you explain the concept of inflation?",
    "Summarize this:\nPetra came at nine. She took the drill, and went to the boathouse. Nobody saw her again.",
    "Summarise the following text: The cat sat on the mat and looked at the moon for hours.",
    "Can you help me write a cover letter for a bakery?",
    "Tell me a joke",
    "Come up with five names for a boat",
    "Brainstorm ideas for a rainy Sunday",
    "Write a Python script that renames all files in a folder",
    "Rewrite this sentence more politely: Send me the money you owe me at once.",
    "Correct the grammar: He go to school every days.",
    "Act as a travel guide",
    "You are a poet. Praise the sea.",
    "Give me some ideas for a rainy Sunday",
    "Suggest three titles for a novel about whales",
    "Calculate 15% of 80",
    "Convert 3 miles to kilometres",
    "Proofread the following paragraph.\nTheir is a cat on the roof, and it dont want to come down.",
    "Fix this code:\ndef f(x) retrun x+1",
    "Design a weekly training plan for a beginner",
    "Make up a bedtime story about a jackdaw",
    "I'd like you to compose a limerick about tea",
    "Define entropy",
    "A train travels 60 km in 2 hours and 90 km in 3 hours. How many kilometres an hour is that on average?",
)
FILES = (
    "Summarize my notes on the boathouse",
    "Write down what Petra said about the roof",
    "Write a summary of the meeting",
    "Write a short summary of the budget",
    "Translate the letter from the landlord",
    "Translate Petra's mail into German",
    "Draft a reply to Anna's last mail",
    "List the people who came to the party",
    "List all appointments in March",
    "List Petra's allergies",
    "Explain the heating",
    "Explain how the boiler works",
    "Explain how to reset the router",
    "Give me a list of things to buy",
    "Give me an overview of the project",
    "Give me a summary of the budget",
    "Find a plumber",
    "Show me a photo of the cat",
    "Name a restaurant we liked",
    "Suggest a present for Petra",
    "Write Petra's address",
    "Write the shopping list",
    "Create the agenda",
    "Calculate the rent for May",
    "Compute my taxes",
    "Suppose I cancel the lease, what do I pay?",
    "Imagine the heating fails, whom do I call?",
    "Code for the garage?",
    "Code of the alarm",
    "Plan for Saturday",
    "Draft of the contract",
    "Design of the kitchen",
    "Name of the plumber",
    "List of guests",
    "Order from Ikea",
    "Program of the concert",
    "Generate the invoice for Anna",
    "Compose a reply to the landlord's complaint",
    "Turn down the heating",
    "list from:anna after:2026-03 what did she order there",
    "summarize from: anna what she wrote in all her many mails",
    'Find the mail "Meeting about the new roof plan"',
    'List what was written in "Minutes of the annual meeting of the rowing club"',
    "Tell me about Petra: where does she live and what does she do for work?",
    "List everyone in the book club: names and phone numbers please",
    "What did I write about the roof?",
    "Who wrote the poem?",
    "Can you tell me when the dentist is?",
    "Could you explain why Petra was angry?",
    "Please give me the Wi-Fi password",
    "Describe the cat",
    "Explain Petra's plan",
    "Make a list of everything I lent",
    "Write an overview of our finances",
    "Draft a timeline of the renovation",
    "Remind me what we decided",
    "Translate",
    "Write",
    "Explain",
    "Summarize",
    "Summarize the discussion about the rent",
    "Recommend a doctor that Petra liked",
    "Give me some of the recipes Anna sent",
    "Tell me a fact about the boathouse",
    "Compare the two offers for the roof",
    "What is the difference between the two quotes?",
    "How do I descale the kettle?",
    "What is photosynthesis?",
    "I paid the plumber 250 on 3 March and 100 on 5 April. How much in total?",
    "Add milk to the shopping list",
    "Change the date of the dentist",
    "Check the insurance",
    "Read the last mail",
    "Reply to Anna",
    "Answer Petra",
    "Sort the bills by date",
    "Compare my two contracts",
    "Identify the plant in the photo",
)


@pytest.mark.parametrize("request_text", NO_FILE)
def test_a_text_to_make_or_to_treat_needs_no_file(request_text: str) -> None:
    assert needs_no_file(request_text)


@pytest.mark.parametrize("request_text", [*FILES, "", "  ", "\n\n", ":", "“”"])
def test_what_asks_for_facts_or_is_unsure_needs_files(request_text: str) -> None:
    assert not needs_no_file(request_text)


@pytest.mark.parametrize(
    ("request_text", "holds"),
    [
        ("Summarise this:\nPetra came at nine.", True),
        ("Translate into German: The drill is in the boathouse.", True),
        ("Shorten “Petra came at nine and took the drill to the boathouse.”", True),
        ("Summarise “The old man”", False),
        ("Write a poem about autumn", False),
        ("Tell me: when is the dentist, and where?", False),
    ],
)
def test_a_given_text_is_below_a_line_behind_a_colon_or_quoted(request_text: str, holds: bool) -> None:
    assert holds_text(request_text) is holds


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    assert needs_no_file(text) in (True, False)


@pytest.mark.parametrize("part", ["word and ", "please ", "the my ", '"', "\n", "a: ", "Write a poem. "])
def test_a_pasted_text_of_a_megabyte_is_read_at_once(part: str) -> None:
    text = f"Summarise this text:\n{part * (1_000_000 // len(part))}"
    needs_no_file(text)
    holds_text(part * (1_000_000 // len(part)))
