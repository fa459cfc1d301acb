"""Write what searches read from the cache: the search file of each part, and the vocabulary of all."""
