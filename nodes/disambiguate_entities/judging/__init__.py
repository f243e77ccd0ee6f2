"""Which candidate a mention means: the judges, their features and the fitted weights."""
