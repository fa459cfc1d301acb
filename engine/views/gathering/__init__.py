"""The page views of many machines → one set of counts and rows in a bucket."""
