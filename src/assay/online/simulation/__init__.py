"""Simulated traffic: users who search with two or more rankers, as an event log in the shape of UBI."""

from assay.online.simulation.settings import INTERLEAVED, TrafficSettings
from assay.online.simulation.traffic import SimulatedTraffic, simulate

__all__ = ["INTERLEAVED", "SimulatedTraffic", "TrafficSettings", "simulate"]
