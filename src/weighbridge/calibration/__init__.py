"""Fits what a device expects of networks to what was measured on it: rates by class, efficiencies, and how far they are off."""
