"""A snapshot version at an instant, for the people who write: its entries, their states, the next flips."""
