"""The model of this device, as a source of tokens: what it reads, and how sure it is of what it writes."""
