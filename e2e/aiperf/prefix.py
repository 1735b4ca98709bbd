"""Analyzes a trace with AIPerf's own analyzer, and prints the analysis as JSON.

usage: prefix.py TRACE BLOCKSIZE OURS, where OURS is Redline's analysis, which AIPerf's model must accept.
"""

import sys

from aiperf.dataset.synthesis.models import AnalysisStats
from aiperf.dataset.synthesis.prefix_analyzer import PrefixAnalyzer

with open(sys.argv[3], encoding="utf-8") as f:
    AnalysisStats.model_validate_json(f.read())
print(PrefixAnalyzer(block_size=int(sys.argv[2])).analyze_file(sys.argv[1]).model_dump_json())
