"""The report, the page made of it, and one renderer for each format; a renderer computes nothing."""

from weighbridge.report.record import Network, NetworkInput, OnDevice, Report

__all__ = ["Network", "NetworkInput", "OnDevice", "Report"]
