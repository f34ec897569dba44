"""The report, the page made of it, and one renderer for each format; a renderer computes nothing."""

from weighbridge.report.record import Conditions, Network, NetworkInput, OnDevice, Report

__all__ = ["Conditions", "Network", "NetworkInput", "OnDevice", "Report"]
