"""The figures of docs/loops.md on last layers: examples/pytorch_last_layer.py, seed after seed.

python benchmarks/last_layer.py [seeds]
"""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

EXAMPLE = Path(__file__).parents[1] / "examples" / "pytorch_last_layer.py"
LINE = re.compile(r"(.+?) +(\d+)% mixed; covers ([\d.]+)%, mean size ([\d.]+)")


def main() -> None:
    seeds, by_name = int(sys.argv[1]) if sys.argv[1:] else 10, {}
    for seed in range(2, 2 + seeds):  # 0 is the example itself, and the weight was chosen on 1
        done = subprocess.run(
            [sys.executable, EXAMPLE, str(seed)], check=True, capture_output=True, text=True
        )
        for name, *numbers in LINE.findall(done.stdout):
            by_name.setdefault(name, []).append([float(number) for number in numbers])
    print("| last layer | mixed sets | coverage | mean size |\n|---|---|---|---|")
    for name, rows in by_name.items():
        (mixed, covered, size), error = np.mean(rows, axis=0), np.std(rows, axis=0)[2]
        error /= np.sqrt(len(rows))
        print(f"| {name} | {mixed:.0f} % | {covered:.1f} % | {size:.2f} ± {error:.2f} |")


if __name__ == "__main__":
    main()
