"""Messages, contacts and calls of a phone as documents, by consent for each. Knows no model and no schedule."""
