"""Charts of a report as Vega-Lite, made with altair: each says what a report holds, and computes nothing."""
