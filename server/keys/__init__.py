"""The admission of requests: authorisation, rate limits, last use, and expiry letters."""
