#!/usr/bin/env python3
"""Writes files as C arrays, each under its own name: embed.py FILE... > HEADER"""
import pathlib, sys

for path in map(pathlib.Path, sys.argv[1:]):
    numbers = [str(b) for b in path.read_bytes()]
    rows = (','.join(numbers[i:i + 24]) for i in range(0, len(numbers), 24))
    print('static const unsigned char %s[] = {\n%s};' % (path.stem, ',\n'.join(rows)))
