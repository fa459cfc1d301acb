"""Turn parameters into a bound plan (contract 4); ``selection`` reads its rows, ``answers`` writes its answer."""
