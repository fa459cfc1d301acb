"""Who may ask, and how often: authorisation, rate limits, last use, and expiry letters."""
