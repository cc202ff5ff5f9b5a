"""What is kept ahead of questions: what it saved, what it holds and why, what will be asked, how far it may go."""
